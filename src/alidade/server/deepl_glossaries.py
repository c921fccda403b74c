"""DeepL's glossaries, versions 2 and 3: our dictionaries, whose entries are required unless somebody says otherwise."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from alidade.dictionary.entries import Entry, make_entry
from alidade.errors import AlidadeError
from alidade.server.answers import answers
from alidade.server.deepl import timestamp
from alidade.server.dictionaries import LanguageCode, check_number
from alidade.server.own import Asker, Served
from alidade.server.reading import FORM, JSON, body_schema, read_request
from alidade.server.service import Refusal, Service, inline_entries
from alidade.server.store import Section, StoredDictionary

router = APIRouter(tags=["DeepL glossaries"])

TSV = "text/tab-separated-values"
Format = Literal["tsv", "csv"]


class SectionRequest(BaseModel):
    """The entries for one pair of languages."""

    source_lang: LanguageCode = Field(examples=["EN"])
    target_lang: LanguageCode = Field(examples=["RO"])
    entries: str = Field(examples=["disk\tdisc\nfile\tfișier"])
    entries_format: Format = "tsv"


class GlossaryRequest(SectionRequest):
    name: str = Field(min_length=1, max_length=1024, examples=["Menu terms"])


class MultilingualRequest(BaseModel):
    name: str = Field(min_length=1, max_length=1024, examples=["Menu terms"])
    dictionaries: list[SectionRequest] = Field(min_length=1, max_length=100)


class ChangeRequest(BaseModel):
    name: str | None = Field(default=None, min_length=1, max_length=1024)
    dictionaries: list[SectionRequest] = Field(default=[], max_length=100)


class Glossary(BaseModel):
    glossary_id: str
    name: str
    ready: bool = True
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class GlossaryList(BaseModel):
    glossaries: list[Glossary]


class SectionInfo(BaseModel):
    source_lang: str
    target_lang: str
    entry_count: int


class Multilingual(BaseModel):
    glossary_id: str
    name: str
    creation_time: str
    dictionaries: list[SectionInfo]


class MultilingualList(BaseModel):
    glossaries: list[Multilingual]


class SectionEntries(BaseModel):
    source_lang: str
    target_lang: str
    entries: str
    entries_format: Format = "tsv"


class EntriesAnswer(BaseModel):
    dictionaries: list[SectionEntries]


class PairOfLanguages(BaseModel):
    source_lang: str
    target_lang: str


class Pairs(BaseModel):
    supported_languages: list[PairOfLanguages]


@router.get("/v2/glossary-language-pairs", responses=answers(401, 403))
def language_pairs(service: Served, key: Asker) -> Pairs:  # noqa: ARG001  # who has no key is refused
    """The pairs for which a glossary can be used."""
    pairs = [PairOfLanguages(source_lang=source, target_lang=target) for source, target in service.catalogue.pairs]
    return Pairs(supported_languages=pairs)


@router.post(
    "/v2/glossaries",
    status_code=201,
    openapi_extra=body_schema(GlossaryRequest, JSON, FORM),
    responses=answers(400, 401, 403, 413, 503),
)
async def add_glossary(request: Request, service: Served, key: Asker) -> Glossary:
    """Store a glossary."""
    asked = await read_request(request, GlossaryRequest)
    check_number(service, key)
    return _glossary(service.store.add_dictionary(key.id, asked.name, [_section(asked, service)], "require"))


@router.get("/v2/glossaries", responses=answers(401, 403, 503))
def list_glossaries(service: Served, key: Asker) -> GlossaryList:
    """All glossaries of the key; of one with several pairs of languages the first."""
    return GlossaryList(glossaries=[_glossary(one) for one in service.store.dictionaries(key.id) if one.sections])


@router.get("/v2/glossaries/{identity}", responses=answers(401, 403, 404, 503))
def read_glossary(identity: str, service: Served, key: Asker) -> Glossary:
    """About a glossary."""
    return _glossary(service.dictionary(key, identity))


@router.get(
    "/v2/glossaries/{identity}/entries",
    response_class=Response,
    responses=answers(401, 403, 404, 503) | {200: {"content": {TSV: {"schema": {"type": "string"}}}}},
)
def read_glossary_entries(identity: str, service: Served, key: Asker) -> Response:
    """The entries as TSV."""
    first = _first_section(service.dictionary(key, identity))
    return Response(_tsv(service.store.entries(identity, first.source, first.target)), media_type=TSV)


@router.delete("/v2/glossaries/{identity}", status_code=204, responses=answers(401, 403, 404, 503))
@router.delete("/v3/glossaries/{identity}", status_code=204, responses=answers(401, 403, 404, 503))
def remove_glossary(identity: str, service: Served, key: Asker) -> None:
    """Remove a glossary."""
    if not service.store.remove_dictionary(key.id, identity):
        raise Refusal(404, "there is no such glossary")


@router.post("/v3/glossaries", status_code=201, responses=answers(400, 401, 403, 413, 503))
def add_multilingual(asked: MultilingualRequest, service: Served, key: Asker) -> Multilingual:
    """Store a glossary for several pairs of languages."""
    check_number(service, key)
    sections = [_section(one, service) for one in asked.dictionaries]
    return _multilingual(service.store.add_dictionary(key.id, asked.name, sections, "require"))


@router.get("/v3/glossaries", responses=answers(401, 403, 503))
def list_multilingual(service: Served, key: Asker) -> MultilingualList:
    """All glossaries of the key."""
    return MultilingualList(glossaries=[_multilingual(one) for one in service.store.dictionaries(key.id)])


@router.get("/v3/glossaries/{identity}", responses=answers(401, 403, 404, 503))
def read_multilingual(identity: str, service: Served, key: Asker) -> Multilingual:
    """About a glossary."""
    return _multilingual(service.dictionary(key, identity))


@router.patch("/v3/glossaries/{identity}", responses=answers(400, 401, 403, 404, 413, 503))
def change_multilingual(identity: str, asked: ChangeRequest, service: Served, key: Asker) -> Multilingual:
    """Change the name, and add entries; those with the same source are replaced."""
    service.dictionary(key, identity)
    for source, target, entries in [_section(one, service) for one in asked.dictionaries]:
        service.store.put_section(identity, source, target, entries, merge=True)
    if asked.name is not None:
        service.store.change_dictionary(identity, name=asked.name)
    return _multilingual(service.dictionary(key, identity))


@router.put("/v3/glossaries/{identity}/dictionaries", responses=answers(400, 401, 403, 404, 413, 503))
def replace_section(identity: str, asked: SectionRequest, service: Served, key: Asker) -> SectionInfo:
    """Replace the entries for a pair of languages."""
    service.dictionary(key, identity)
    source, target, entries = _section(asked, service)
    service.store.put_section(identity, source, target, entries, merge=False)
    return SectionInfo(source_lang=source.lower(), target_lang=target.lower(), entry_count=len(entries))


Language = Annotated[str, Query(max_length=35)]


@router.delete("/v3/glossaries/{identity}/dictionaries", status_code=204, responses=answers(400, 401, 403, 404, 503))
def remove_section(identity: str, source_lang: Language, target_lang: Language, service: Served, key: Asker) -> None:
    """Remove the entries for a pair of languages."""
    service.dictionary(key, identity)
    if not service.store.remove_section(identity, source_lang, target_lang):
        raise Refusal(404, "this glossary has no entries for these languages")


@router.get("/v3/glossaries/{identity}/entries", responses=answers(400, 401, 403, 404, 503))
def read_section(
    identity: str, source_lang: Language, target_lang: Language, service: Served, key: Asker
) -> EntriesAnswer:
    """The entries for a pair of languages."""
    if not service.dictionary(key, identity).has(source_lang, target_lang):
        raise Refusal(404, "this glossary has no entries for these languages")
    entries = _tsv(service.store.entries(identity, source_lang, target_lang))
    section = SectionEntries(source_lang=source_lang.lower(), target_lang=target_lang.lower(), entries=entries)
    return EntriesAnswer(dictionaries=[section])


def _section(asked: SectionRequest, service: Service) -> tuple[str, str, Sequence[Entry]]:
    try:
        entries = list(_parse(asked.entries, asked.entries_format))
    except AlidadeError as error:
        raise Refusal(400, str(error)) from None
    except csv.Error as error:
        raise Refusal(400, f"entries: not valid CSV: {error}") from None
    if not entries:
        raise Refusal(400, "entries: there are none")
    return asked.source_lang, asked.target_lang, inline_entries(entries, service.limits)


def _parse(text: str, kind: Format) -> Iterator[Entry]:
    """DeepL's terms are literal: a `|` in them is a `|`."""
    lines = text.split("\n")
    rows = csv.reader(lines) if kind == "csv" else (line.rstrip("\r").split("\t") for line in lines)
    for number, row in enumerate(rows, start=1):
        if not any(field.strip() for field in row):
            continue
        if len(row) < 2:
            separator = {"tsv": "tab", "csv": "comma"}[kind]
            raise AlidadeError(
                f"entries, line {number}: a source and a target term are needed, with a {separator} between"
            )
        yield make_entry(row[0], [row[1]], origin=f"entries, line {number}")


def _tsv(entries: Sequence[Entry]) -> str:
    """One target for each source; what DeepL has no place for is left out."""
    return "\n".join([f"{one.source}\t{(one.targets or (one.source,))[0]}" for one in entries])


def _first_section(stored: StoredDictionary) -> Section:
    if not stored.sections:
        raise Refusal(404, "this glossary has no entries")
    return stored.sections[0]


def _glossary(stored: StoredDictionary) -> Glossary:
    first = _first_section(stored)
    return Glossary(
        glossary_id=stored.id,
        name=stored.name,
        source_lang=first.source,
        target_lang=first.target,
        creation_time=timestamp(stored.created),
        entry_count=first.num_entries,
    )


def _multilingual(stored: StoredDictionary) -> Multilingual:
    sections = [
        SectionInfo(source_lang=one.source, target_lang=one.target, entry_count=one.num_entries)
        for one in stored.sections
    ]
    return Multilingual(
        glossary_id=stored.id, name=stored.name, creation_time=timestamp(stored.created), dictionaries=sections
    )
