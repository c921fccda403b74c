"""DeepL's interface, as its official client and Weblate use it.

Formality, context and the like are accepted and change nothing: the model reads one sentence at a time. A glossary is
one of our dictionaries whose entries are required. What the client insists on: `billed_characters`, errors as strings,
`creation_time` with fractional seconds and a zone, and targets EN and PT by region.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Literal

import regex
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from alidade.server.answers import answers
from alidade.server.catalogue import name_of
from alidade.server.own import Asker, Served, choose
from alidade.server.reading import FORM, JSON, body_schema, read_request, read_values
from alidade.server.service import Refusal, Service
from alidade.server.store import Key
from alidade.server.work import Text, Work
from alidade.text.sentences import SENTENCES, Splitting
from alidade.translator import Mode

router = APIRouter(tags=["DeepL"])

REGIONS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-PT", "PT-BR")}
"""DeepL's client does not ask for the bare languages."""
UNLIMITED = 1_000_000_000_000
"""What DeepL says where there is no limit."""


def _split_names(value: object) -> object:
    """Tags come as a list in JSON, and separated by commas in a form."""
    if isinstance(value, str):
        return [name for name in value.split(",") if name]
    if isinstance(value, list):
        return [name for one in value for name in (one.split(",") if isinstance(one, str) else [one]) if name]
    return value


def _split_word(value: object) -> object:
    """In JSON, clients write 0 and 1 in whichever way."""
    return str(int(value)) if isinstance(value, bool | int) else value


Names = Annotated[list[Annotated[str, Field(max_length=200)]], BeforeValidator(_split_names), Field(max_length=1000)]
Language = Annotated[str, Field(min_length=2, max_length=35)]


class TranslateRequest(BaseModel):
    """What /v2/translate takes; whatever else is sent is passed over."""

    model_config = ConfigDict(extra="ignore")

    text: list[str] = Field(min_length=1, examples=[["The disk is full."]])
    target_lang: Language = Field(examples=["RO"])
    source_lang: Language | None = Field(default=None, examples=["EN"])
    glossary_id: str | None = Field(default=None, max_length=64)
    glossary_ids: list[Annotated[str, Field(max_length=64)]] | None = Field(default=None, max_length=16)
    tag_handling: Literal["xml", "html"] | None = None
    split_sentences: Annotated[Literal["0", "1", "nonewlines"] | None, BeforeValidator(_split_word)] = Field(
        default=None, description="0: the text is one sentence; nonewlines: line breaks end none.", examples=["1"]
    )
    outline_detection: bool | None = Field(default=None, description="false: only splitting_tags end sentences.")
    splitting_tags: Names = []
    non_splitting_tags: Names = []
    ignore_tags: Names = []
    show_billed_characters: bool | None = None


LISTS = ("text", "ignore_tags", "splitting_tags", "non_splitting_tags", "glossary_ids")


class Translation(BaseModel):
    detected_source_language: str
    text: str
    billed_characters: int


class TranslateAnswer(BaseModel):
    translations: list[Translation]


@router.post(
    "/v2/translate",
    openapi_extra=body_schema(TranslateRequest, JSON, FORM),
    responses=answers(400, 401, 403, 404, 413, 429, 456, 503),
)
async def translate(request: Request, service: Served, key: Asker) -> TranslateAnswer:
    """Translate texts."""
    asked = await read_request(request, TranslateRequest, LISTS)
    pair, _ = choose(service, asked.source_lang, asked.target_lang, asked.text)
    dictionaries, mode, inflect = glossaries_of(service, key, asked, pair)
    shielded = [Shielded(text, asked.ignore_tags if asked.tag_handling else ()) for text in asked.text]
    work = Work("text", pair, dictionaries, mode=mode, inflect=inflect, splitting=splitting_of(asked))
    results = await service.run(request, key, work, [Text(one.text) for one in shielded])
    return TranslateAnswer(
        translations=[
            Translation(
                detected_source_language=pair[0].upper(), text=one.restore(texts[0]), billed_characters=len(given)
            )
            for given, one, texts in zip(asked.text, shielded, results, strict=True)
        ]
    )


def glossaries_of(
    service: Service, key: Key, asked: TranslateRequest, pair: tuple[str, str]
) -> tuple[tuple[tuple[str, int], ...], Mode, bool]:
    """The dictionaries that a request names, how they are used, and whether they inflect."""
    ids = [*([asked.glossary_id] if asked.glossary_id else []), *(asked.glossary_ids or [])]
    if ids and not asked.source_lang:
        raise Refusal(400, "source_lang: is needed where a glossary is used")
    found = [service.dictionary(key, identity) for identity in dict.fromkeys(ids)]
    for one in found:
        if not one.has(*pair):
            raise Refusal(400, f"glossary {one.id} has no entries for {pair[0]} to {pair[1]}")
    mode: Mode = "require" if any(one.mode == "require" for one in found) else "suggest"
    return tuple([(one.id, one.version) for one in found]), mode, any(one.inflect for one in found)


def splitting_of(asked: TranslateRequest) -> Splitting:
    """Where sentences end: in HTML line breaks are white space."""
    how = asked.split_sentences or ("nonewlines" if asked.tag_handling == "html" else "1")
    if asked.tag_handling is None:
        return Splitting(at_marks=how != "0", at_lines=how == "1")
    found = SENTENCES.tags if asked.outline_detection in (None, True) and how != "0" else frozenset()
    never = frozenset([name.lower() for name in asked.non_splitting_tags])
    always = frozenset([name.lower() for name in asked.splitting_tags])
    return Splitting(how != "0", how == "1", (found - never) | always, never)


class Shielded:
    """A text whose elements of some names are not translated: each becomes a placeholder that the translator keeps."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._kept: dict[str, str] = {}
        self.text = text
        alternatives = "|".join([regex.escape(name) for name in names])
        if alternatives:
            element = rf"<({alternatives})(?:\s[^<>]*)?(?:/>|>.*?</\1\s*>)"
            self.text = regex.sub(element, lambda match: self._keep(match[0]), text, flags=regex.DOTALL, timeout=5)

    def _keep(self, element: str) -> str:
        number = len(self._kept)
        while (name := f"{{x{number}}}") in self.text:
            number += 1
        self._kept[name] = element
        return name

    def restore(self, translation: str) -> str:
        for name, element in self._kept.items():
            translation = translation.replace(name, element)
        return translation


class LanguagesRequest(BaseModel):
    type: Literal["source", "target"] = "source"


class LanguageName(BaseModel):
    language: str = Field(examples=["RO"])
    name: str = Field(examples=["Romanian"])
    supports_formality: bool = False


@router.get("/v2/languages", responses=answers(400, 401, 403))
async def languages(
    request: Request,
    service: Served,
    key: Asker,  # noqa: ARG001  # who has none is refused
    type: Annotated[Literal["source", "target"], Query()] = "source",  # noqa: A002, ARG001  # DeepL's name
) -> list[LanguageName]:
    """The languages; the client sends the type as a form (on GET), Weblate as a query."""
    values = dict(request.query_params) | await read_values(request)
    asked = (
        LanguagesRequest.model_validate(values) if values.get("type") in ("source", "target") else LanguagesRequest()
    )
    if asked.type == "source":
        return [LanguageName(language=one.upper(), name=name_of(one)) for one in service.catalogue.sources]
    return [
        LanguageName(language=code, name=f"{name_of(one)} ({code[3:]})" if "-" in code else name_of(one))
        for one in service.catalogue.targets
        for code in REGIONS.get(one, (one.upper(),))
    ]


class Usage(BaseModel):
    character_count: int
    character_limit: int


@router.get("/v2/usage", responses=answers(401, 403))
def usage(service: Served, key: Asker) -> Usage:
    """This month's characters."""
    limit = UNLIMITED if key.character_limit is None else key.character_limit
    return Usage(character_count=service.store.characters(key.id), character_limit=limit)


def timestamp(seconds: float) -> str:
    """With fractional seconds and a zone, without which the client fails."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="microseconds")
