"""Documents over HTTP: DeepL's way, which polls with a secret, and our own, with a list."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from alidade.errors import AlidadeError
from alidade.server.answers import answers
from alidade.server.deepl import Names
from alidade.server.documents import accept
from alidade.server.own import Asker, OwnModel, Served, choose
from alidade.server.reading import FORM, JSON, MULTIPART, body_schema, check, one_of, read_request, read_values
from alidade.server.segments import render
from alidade.server.service import Refusal, Service
from alidade.server.store import Key, SegmentState, StoredDocument

router = APIRouter()

BYTES = "application/octet-stream"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The translated file", "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}
}
File = Annotated[object, Field(json_schema_extra={"type": "string", "format": "binary"})]
Language = Annotated[str, Field(min_length=2, max_length=35)]


class DeeplDocumentRequest(BaseModel):
    """A multipart form; whatever else is sent is passed over."""

    model_config = ConfigDict(extra="ignore")

    file: File
    target_lang: Language
    source_lang: Language | None = None
    filename: str | None = Field(default=None, max_length=255)
    glossary_id: str | None = Field(default=None, max_length=64)
    glossary_ids: Names = []


class DocumentHandle(BaseModel):
    document_id: str
    document_key: str


class DocumentKey(BaseModel):
    document_key: str = Field(max_length=128)


class DocumentStatus(BaseModel):
    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int | None = None
    billed_characters: int | None = None
    error_message: str | None = None


@router.post(
    "/v2/document",
    tags=["DeepL documents"],
    openapi_extra=body_schema(DeeplDocumentRequest, MULTIPART),
    responses=answers(400, 401, 403, 404, 413, 429, 456, 503),
)
async def upload(request: Request, service: Served, key: Asker) -> DocumentHandle:
    """Send a file to be translated."""
    values = await read_values(request)
    file = one_of(values, "file")
    asked = check(DeeplDocumentRequest, values)
    pair, _ = choose(service, asked.source_lang, asked.target_lang, [])
    glossaries = [*([asked.glossary_id] if asked.glossary_id else []), *asked.glossary_ids]
    if len(glossaries) > 1:
        raise Refusal(400, "glossary_ids: a document can have one glossary")
    name, content = asked.filename or file.filename or "", await file.read()
    identity, secret = await run_in_threadpool(
        accept, service, key, name, content, pair, glossaries[0] if glossaries else None
    )
    return DocumentHandle(document_id=identity, document_key=secret)


@router.post(
    "/v2/document/{identity}",
    tags=["DeepL documents"],
    openapi_extra=body_schema(DocumentKey, JSON, FORM),
    responses=answers(400, 401, 403, 404, 413, 503),
)
async def status(identity: str, request: Request, service: Served, key: Asker) -> DocumentStatus:
    """What has become of a file."""
    asked = await read_request(request, DocumentKey)
    document = _find(service, key, identity, asked.document_key)
    is_waiting = document.state in ("queued", "translating")
    return DocumentStatus(
        document_id=document.id,
        status=document.state,
        seconds_remaining=5 * (1 + service.store.num_before(document.id)) if is_waiting else None,
        billed_characters=document.characters,
        error_message=document.message or None,
    )


@router.post(
    "/v2/document/{identity}/result",
    tags=["DeepL documents"],
    openapi_extra=body_schema(DocumentKey, JSON, FORM),
    response_class=Response,
    responses=_FILE | answers(400, 401, 403, 404, 413, 503),
)
async def result(identity: str, request: Request, service: Served, key: Asker) -> Response:
    """The translated file; 503 as long as there is none."""
    asked = await read_request(request, DocumentKey)
    return send(service, _find(service, key, identity, asked.document_key))


class DocumentRequest(OwnModel):
    """A multipart form."""

    file: File
    target_language: Language
    source_language: Language | None = None
    dictionary_id: str | None = Field(default=None, max_length=64)


class DocumentInfo(BaseModel):
    id: str
    name: str
    source_language: str
    target_language: str
    state: Literal["queued", "translating", "done", "error"]
    message: str
    characters: int
    num_segments: int
    num_translated: int
    """So far."""


@router.post(
    "/api/documents",
    tags=["Documents"],
    status_code=201,
    openapi_extra=body_schema(DocumentRequest, MULTIPART),
    responses=answers(400, 401, 403, 404, 413, 429, 456, 503),
)
async def add(request: Request, service: Served, key: Asker) -> DocumentInfo:
    """Send a file to be translated."""
    values = await read_values(request)
    file = one_of(values, "file")
    asked = check(DocumentRequest, values)
    pair, _ = choose(service, asked.source_language, asked.target_language, [])
    content = await file.read()
    identity, _secret = await run_in_threadpool(
        accept, service, key, file.filename or "", content, pair, asked.dictionary_id
    )
    return _info(service, _find(service, key, identity))


@router.get("/api/documents", tags=["Documents"], responses=answers(401, 403, 503))
def list_all(service: Served, key: Asker) -> list[DocumentInfo]:
    """All files of the key, the oldest first."""
    return [_info(service, one) for one in service.store.documents(key.id)]


@router.get("/api/documents/{identity}", tags=["Documents"], responses=answers(401, 403, 404, 503))
def read(identity: str, service: Served, key: Asker) -> DocumentInfo:
    """What has become of a file."""
    return _info(service, _find(service, key, identity))


@router.get(
    "/api/documents/{identity}/result",
    tags=["Documents"],
    response_class=Response,
    responses=_FILE | answers(401, 403, 404, 503),
)
def fetch(identity: str, service: Served, key: Asker) -> Response:
    """The translated file; 503 as long as there is none."""
    return send(service, _find(service, key, identity))


@router.delete("/api/documents/{identity}", tags=["Documents"], status_code=204, responses=answers(401, 403, 404, 503))
def remove(identity: str, service: Served, key: Asker) -> None:
    """Remove a file, unless it is being translated just now."""
    _find(service, key, identity)
    if not service.store.remove_document(key.id, identity):
        raise Refusal(503, "the document is being translated; try again when it is done", 5)


class AgainRequest(OwnModel):
    dictionary_id: str | None = Field(default=None, max_length=64)


@router.post(
    "/api/documents/{identity}/again", tags=["Documents"], responses=answers(400, 401, 403, 404, 413, 456, 503)
)
def translate_again(identity: str, asked: AgainRequest, service: Served, key: Asker) -> DocumentInfo:
    """Translate a document once more, with a dictionary that has grown perhaps; what people have done stays."""
    document = _find(service, key, identity)
    pair = document.source, document.target
    if asked.dictionary_id is not None and not service.dictionary(key, asked.dictionary_id).has(*pair):
        raise Refusal(400, f"dictionary {asked.dictionary_id} has no entries for {pair[0]} to {pair[1]}")
    service.bill(key, document.characters if document.state == "done" else 0)
    if not service.store.requeue_document(document.id, asked.dictionary_id):
        raise Refusal(400, "this document is not translated yet, or its file is gone: send it once more")
    service.documents.wake()
    return _info(service, _find(service, key, identity))


class SegmentAnswer(BaseModel):
    """A unit of a file and what has become of it."""

    number: int
    place: str
    sources: list[str] = Field(description="One text, or one for each plural form.")
    targets: list[str]
    state: SegmentState = Field(description='"file": was translated there already; "person": somebody\'s own.')
    confidence: float | None
    unused: list[str] = Field(description="Entries of the dictionary that apply and were not used.")


class SegmentList(BaseModel):
    total: int = Field(description="As many as the question fits.")
    segments: list[SegmentAnswer]


class SegmentChange(OwnModel):
    targets: list[Annotated[str, Field(max_length=50_000)]] = Field(min_length=1, max_length=16)


_SHOWN = {
    "all": "",
    "unsure": "AND confidence < 0.6 AND state = 'machine'",
    "unused": "AND unused <> '[]' AND state <> 'person'",
    "waiting": "AND state = 'waiting'",
    "person": "AND state = 'person'",
    "machine": "AND state IN ('machine', 'memory')",
}


@router.get("/api/documents/{identity}/segments", tags=["Documents"], responses=answers(400, 401, 403, 404, 503))
def list_segments(
    identity: str,
    service: Served,
    key: Asker,
    show: Literal["all", "unsure", "unused", "waiting", "person", "machine"] = "all",
    search: Annotated[str, Query(max_length=200)] = "",
    start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> SegmentList:
    """Some segments of a file, in their order."""
    document = _find(service, key, identity)
    where, values = _SHOWN[show], []
    if search:
        # Texts are stored as JSON.
        text = json.dumps(search)[1:-1].replace("!", "!!").replace("%", "!%").replace("_", "!_")
        where += " AND (sources LIKE ? ESCAPE '!' OR targets LIKE ? ESCAPE '!')"
        values = [f"%{text}%"] * 2
    found = service.store.segments(document.id, where, values, start, count)
    total = service.store.num_segments(document.id, where, values)
    return SegmentList(total=total, segments=[SegmentAnswer(**asdict(one)) for one in found])


@router.put(
    "/api/documents/{identity}/segments/{number}", tags=["Documents"], responses=answers(400, 401, 403, 404, 503)
)
def change_segment(
    identity: str,
    number: Annotated[int, PathParameter(ge=0, le=10_000_000)],
    asked: SegmentChange,
    service: Served,
    key: Asker,
) -> SegmentAnswer:
    """Put one's own translation into a file that has been translated; it counts as reviewed."""
    document = _find(service, key, identity)
    if document.state != "done":
        raise Refusal(400, "this document is not translated yet")
    found = service.store.segments(document.id, "AND number = ?", [number])
    if not found:
        raise Refusal(404, "there is no such segment")
    if len(asked.targets) != len(found[0].sources):
        raise Refusal(400, f"targets: this segment has {len(found[0].sources)} forms, not {len(asked.targets)}")
    changed = replace(found[0], targets=tuple(asked.targets), state="person")
    service.store.put_segments(document.id, [changed], is_synced=True)
    return SegmentAnswer(**asdict(changed))


def _find(service: Service, key: Key, identity: str, secret: str | None = None) -> StoredDocument:
    document = service.store.document(key.id, identity, secret)
    if document is None:
        raise Refusal(404, "there is no such document")
    return document


def send(service: Service, document: StoredDocument) -> Response:
    """A document's result as a download."""
    if document.state == "error":
        raise Refusal(404, f"the document could not be translated: {document.message}")
    try:
        changed = render(service.store, document) if document.state == "done" else None
    except AlidadeError as error:
        raise Refusal(400, str(error)) from None
    content = changed or service.store.result(document.id)
    if content is None:
        raise Refusal(503, "the document is not translated yet; try again soon", 5)
    disposition = f"attachment; filename*=UTF-8''{quote(document.name)}"
    return Response(content, media_type=BYTES, headers={"Content-Disposition": disposition})


def _info(service: Service, document: StoredDocument) -> DocumentInfo:
    return DocumentInfo(
        id=document.id,
        name=document.name,
        source_language=document.source,
        target_language=document.target,
        state=document.state,
        message=document.message,
        characters=document.characters,
        num_segments=service.store.num_segments(document.id),
        num_translated=service.store.num_segments(document.id, "AND state <> 'waiting'"),
    )
