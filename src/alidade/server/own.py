"""Our own interface: what a page needs. Words with their places, links with confidences, alternatives, dictionaries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from alidade.dictionary.entries import Entry, make_entry
from alidade.dictionary.inflection import can_inflect
from alidade.errors import AlidadeError
from alidade.server.answers import answers
from alidade.server.catalogue import Languages, name_of
from alidade.server.reading import require_unicode
from alidade.server.service import Refusal, Service, inline_entries
from alidade.server.store import Key
from alidade.server.work import Kind, Text, Work
from alidade.text.placeholders import find_placeholders
from alidade.text.sentences import split_sentences
from alidade.translator import Mode

router = APIRouter(prefix="/api", tags=["Alidade"])

MOST_BEST = 16
AHEAD = 16
"""A stream has so many sentences in the queue at a time."""


class OwnModel(BaseModel):
    """What clients send."""

    model_config = ConfigDict(extra="forbid")

    _is_unicode = model_validator(mode="before")(require_unicode)


class TermEntry(OwnModel):
    """An entry of a dictionary."""

    source: str = Field(min_length=1, max_length=1000, examples=["disk"])
    targets: list[Annotated[str, Field(max_length=1000)]] = Field(
        default=[],
        max_length=100,
        description="Allowed forms; where there are several, the model chooses.",
        examples=[["disc"]],
    )
    forbidden: list[Annotated[str, Field(max_length=1000)]] = Field(
        default=[], max_length=100, description="Forms that must not be written."
    )
    is_kept: bool = Field(default=False, description="Never translated: written as it stands.")
    case: Literal["exact", "ignore"] | None = None
    occurrence: int | None = Field(default=None, ge=1, le=10_000, description="Only the n-th occurrence in the text.")
    inflect: bool = Field(default=False, description="Matches, and is written, in any inflected form.")

    def entry(self) -> Entry:
        return make_entry(
            self.source,
            self.targets,
            self.case,
            self.occurrence,
            inflect=self.inflect,
            forbidden=self.forbidden,
            is_kept=self.is_kept,
        )

    @classmethod
    def of(cls, entry: Entry) -> TermEntry:
        return cls(
            source=entry.source,
            targets=list(entry.targets),
            forbidden=list(entry.forbidden),
            is_kept=entry.is_kept,
            case=entry.case,
            occurrence=entry.occurrence,
            inflect=entry.inflect,
        )


class Asked(OwnModel):
    """What all questions have in common."""

    source_language: str | None = Field(default=None, max_length=35, description="Omitted: found out.", examples=["en"])
    target_language: str = Field(max_length=35, examples=["ro"])
    dictionary: list[TermEntry] = Field(default=[], description="Entries for this request.")
    dictionary_ids: list[Annotated[str, Field(max_length=64)]] = Field(
        default=[], max_length=16, description="Stored dictionaries; their `inflect` counts, their `mode` does not."
    )
    mode: Mode = Field(default="suggest", description="Take entries where they fit, or all of them.")
    inflect: bool = Field(default=False, description="All entries inflect.")


class TranslationRequest(Asked):
    text: str | list[str] = Field(examples=["The disk is full."])
    prefix: str | None = Field(
        default=None, description="Whole words that the translation begins with.", examples=[None]
    )
    num_best: int = Field(default=1, ge=1, le=MOST_BEST)
    with_attention: bool = False
    protect: bool = Field(default=True, description="Placeholders and tags come out as they are.")


class StreamRequest(Asked):
    text: str = Field(examples=["The disk is full. Remove some files."])


class SentencesRequest(OwnModel):
    text: str = Field(examples=["The disk is full. Remove some files."])
    source_language: str | None = Field(default=None, max_length=35, examples=["en"])
    target_language: str = Field(max_length=35, examples=["ro"])


class AlternativesRequest(Asked):
    text: str = Field(examples=["The disk is full."])
    prefix: str = Field(default="", description="The words before the place that is asked about.", examples=["Discul"])
    with_translations: bool = Field(default=True, description="False is quicker.")


class PairRequest(OwnModel):
    source: str = Field(examples=["The disk is full."])
    target: str = Field(examples=["Discul este plin."])
    source_language: str | None = Field(default=None, max_length=35, examples=["en"])
    target_language: str = Field(max_length=35, examples=["ro"])


class CheckRequest(PairRequest):
    dictionary: list[TermEntry] = []
    dictionary_ids: list[Annotated[str, Field(max_length=64)]] = Field(default=[], max_length=16)
    inflect: bool = False


class SourceWord(BaseModel):
    text: str
    start: int | None = Field(description="In characters of `source_text`; null where normalising left no way back.")
    end: int | None


class TargetWord(BaseModel):
    text: str
    start: int
    end: int
    is_from_dictionary: bool


class LinkedWords(BaseModel):
    source: int = Field(description="The number of a source word, from 0.")
    target: int
    confidence: float = Field(ge=0, le=1.001)


class Span(BaseModel):
    start: int
    end: int


class SentenceWords(BaseModel):
    source_words: list[int]
    target_words: list[int]


class EntryUse(BaseModel):
    model_config = ConfigDict(extra="allow")

    entry: str
    source_words: list[int]
    is_used: bool
    form: str | None
    target_words: list[int]
    reason: str


class Translated(BaseModel):
    """A text, its translation, and which word came from which."""

    text: str
    source_text: str
    source_words: list[SourceWord]
    target_words: list[TargetWord]
    links: list[LinkedWords]
    unlinked_source: list[int]
    unlinked_target: list[int]
    sentences: list[SentenceWords] = Field(description="Which words are which sentence's.")
    entries: list[EntryUse] = Field(description="The dictionary's entries that apply, used or not.")
    score: float
    lexical_score: float
    alignment_score: float
    confidence: float
    is_complete: bool
    notes: list[str]
    attention: list[list[float]] | None = Field(description="A row for each target word; null for texts in parts.")
    alternatives: list[Translated]


class TranslationAnswer(BaseModel):
    source_language: str
    target_language: str
    translations: list[Translated]


class Alternative(BaseModel):
    word: str
    share: float = Field(description="Of the probability of all that was found.")
    translation: str | None = Field(description="The best translation that goes on with this word, unless unwanted.")


class AlternativesAnswer(BaseModel):
    prefix: str
    alternatives: list[Alternative]


class Problem(BaseModel):
    kind: Literal["placeholder", "term"]
    text: str
    message: str


class CheckAnswer(Translated):
    unexplained: list[int] = Field(description="Target words that are very unlikely, whatever they are linked with.")
    problems: list[Problem]


class LanguagePair(BaseModel):
    source: str
    source_name: str
    target: str
    target_name: str
    can_inflect: bool


async def service_of(request: Request) -> Service:
    """Not waiting for anything, but async: FastAPI would start a thread for it otherwise."""
    service: Service = request.app.state.service
    return service


async def key_of(request: Request) -> Key:
    service: Service = request.app.state.service
    return service.authenticate(request)


Served = Annotated[Service, Depends(service_of)]
Asker = Annotated[Key, Depends(key_of)]


@router.get("/languages", responses=answers(401, 403))
def languages(service: Served) -> list[LanguagePair]:
    """The pairs of languages that can be translated."""
    return [
        LanguagePair(
            source=source,
            source_name=name_of(source),
            target=target,
            target_name=name_of(target),
            can_inflect=can_inflect(source) or can_inflect(target),
        )
        for source, target in service.catalogue.pairs
    ]


@router.post("/translate", responses=answers(400, 401, 403, 404, 413, 429, 456, 503))
async def translate(asked: TranslationRequest, request: Request, service: Served, key: Asker) -> TranslationAnswer:
    """Translate texts, with links of words, confidences and scores."""
    texts = [asked.text] if isinstance(asked.text, str) else asked.text
    pair, _ = choose(service, asked.source_language, asked.target_language, texts)
    work = work_of(
        service,
        key,
        "full",
        pair,
        asked,
        num_best=asked.num_best,
        with_attention=asked.with_attention,
        protect=asked.protect,
    )
    results = await service.run(request, key, work, [Text(text, asked.prefix or "") for text in texts])
    return TranslationAnswer(source_language=pair[0], target_language=pair[1], translations=results)


@router.post("/sentences", responses=answers(400, 401, 403, 413))
def sentences(asked: SentencesRequest, service: Served, _: Asker) -> list[Span]:
    """Where the sentences of a text are that would be translated one by one; white space between them is nobody's."""
    pair, _confidence = choose(service, asked.source_language, asked.target_language, [asked.text])
    service.check_texts([asked.text])
    return [Span(start=start, end=end) for start, end in _sentence_spans(asked.text, pair[0])]


@router.post("/alternatives", responses=answers(400, 401, 403, 404, 413, 429, 456, 503))
async def alternatives(asked: AlternativesRequest, request: Request, service: Served, key: Asker) -> AlternativesAnswer:
    """Whole words that may stand after the given first words of a translation, each with its share."""
    pair, _ = choose(service, asked.source_language, asked.target_language, [asked.text])
    work = work_of(service, key, "alternatives", pair, asked, with_translations=asked.with_translations)
    [result] = await service.run(request, key, work, [Text(asked.text, asked.prefix)])
    return AlternativesAnswer.model_validate(result)


@router.post("/align", responses=answers(400, 401, 403, 413, 429, 456, 503))
async def align(asked: PairRequest, request: Request, service: Served, key: Asker) -> Translated:
    """The links of words of a translation that exists already."""
    pair, _ = choose(service, asked.source_language, asked.target_language, [asked.source])
    [result] = await service.run(request, key, Work("align", pair), [Text(asked.source, asked.target)])
    return Translated.model_validate(result)


@router.post("/check", responses=answers(400, 401, 403, 404, 413, 429, 456, 503))
async def check(asked: CheckRequest, request: Request, service: Served, key: Asker) -> CheckAnswer:
    """What is suspicious about a translation: placeholders, terms, words without links, its scores."""
    pair, _ = choose(service, asked.source_language, asked.target_language, [asked.source])
    work = work_of(service, key, "check", pair, asked)
    [result] = await service.run(request, key, work, [Text(asked.source, asked.target)])
    return CheckAnswer.model_validate(result)


_STREAM_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `sentence` with JSON like a translation's, `start` and `end` (characters of the text) "
        "added; then an event `done`.",
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "event": {"type": "string", "enum": ["sentence", "done", "error"]},
                        "data": {"type": "string"},
                    },
                    "required": ["event", "data"],
                }
            }
        },
    }
}


@router.post(
    "/stream",
    response_class=StreamingResponse,
    responses=_STREAM_ANSWER | answers(400, 401, 403, 404, 413, 429, 456, 503),
)
async def stream(asked: StreamRequest, request: Request, service: Served, key: Asker) -> StreamingResponse:
    """Translate a long text sentence by sentence, as server-sent events."""
    return _stream(asked, request, service, key)


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses=_STREAM_ANSWER | answers(400, 401, 403, 404, 413, 429, 456, 503),
)
async def stream_query(
    request: Request,
    service: Served,
    key: Asker,
    text: str,
    target_language: Annotated[str, Field(max_length=35)],
    source_language: Annotated[str | None, Field(max_length=35)] = None,
) -> StreamingResponse:
    """The same for a browser's EventSource, which can only GET."""
    asked = StreamRequest(text=text, source_language=source_language, target_language=target_language)
    return _stream(asked, request, service, key)


def _stream(asked: StreamRequest, request: Request, service: Service, key: Key) -> StreamingResponse:
    pair, _ = choose(service, asked.source_language, asked.target_language, [asked.text])
    work = work_of(service, key, "full", pair, asked)
    request.state.num_texts, request.state.num_characters = 1, service.check_texts([asked.text])
    service.bill(key, len(asked.text))
    events = _events(service, work, asked.text, _sentence_spans(asked.text, pair[0]))
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """No sentence ends inside of a placeholder."""
    return list(split_sentences(text, language, [(one.start, one.end) for one in find_placeholders(text)]))


async def _events(service: Service, work: Work, text: str, spans: Sequence[tuple[int, int]]) -> AsyncIterator[str]:
    futures: list[Future[Any]] = []
    try:
        for number, (start, end) in enumerate(spans):
            while len(futures) < min(number + AHEAD, len(spans)):
                first, last = spans[len(futures)]
                futures += service.submit(work, [Text(text[first:last])])
            async with asyncio.timeout(service.limits.request_seconds):
                result = await asyncio.wrap_future(futures[number])
            yield _event("sentence", {"number": number, "start": start, "end": end} | result)
        yield _event("done", {"sentences": len(spans)})
    except Refusal as refusal:
        yield _event("error", {"message": refusal.message})
    except (AlidadeError, TimeoutError) as error:
        yield _event("error", {"message": str(error) or "translating took too long"})
    finally:
        service.queue.forget([future for future in futures if not future.done()])


def _event(name: str, values: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"


def choose(service: Service, source: str | None, target: str, texts: Sequence[str]) -> tuple[Languages, float]:
    try:
        return service.catalogue.choose(source, target, texts)
    except AlidadeError as error:
        raise Refusal(400, str(error)) from None


def work_of(
    service: Service, key: Key, kind: Kind, pair: Languages, asked: Asked | CheckRequest, **options: Any
) -> Work:
    """The work that a request means, with its dictionaries."""
    stored = [service.dictionary(key, identity) for identity in dict.fromkeys(asked.dictionary_ids)]
    try:
        entries = inline_entries([one.entry() for one in asked.dictionary], service.limits)
    except AlidadeError as error:
        raise Refusal(400, str(error)) from None
    return Work(
        kind,
        pair,
        tuple([(one.id, one.version) for one in stored]),
        entries,
        getattr(asked, "mode", "suggest"),
        asked.inflect or any(one.inflect for one in stored),
        **options,
    )
