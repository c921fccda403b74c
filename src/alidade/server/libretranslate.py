"""LibreTranslate's interface, for the many programs that speak it. Errors are strings in `error`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from alidade.server.answers import Error, answers
from alidade.server.catalogue import detect, name_of
from alidade.server.document_routes import BYTES, File, send
from alidade.server.documents import accept, wait_for
from alidade.server.own import Served, choose
from alidade.server.reading import FORM, JSON, MULTIPART, body_schema, check, one_of, read_request, read_values
from alidade.server.service import RETRY_SECONDS, Refusal
from alidade.server.work import Text, Work

router = APIRouter(tags=["LibreTranslate"])

MOST_ALTERNATIVES = 15


class Keyed(BaseModel):
    """The key comes in the body here."""

    model_config = ConfigDict(extra="ignore")

    api_key: str | None = Field(default=None, max_length=200)


class LibreRequest(Keyed):
    """What /translate takes."""

    q: str | list[str] = Field(examples=["The disk is full."])
    source: str = Field(default="auto", max_length=35, examples=["en"])
    target: str = Field(max_length=35, examples=["ro"])
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(default=0, ge=0, le=MOST_ALTERNATIVES)


class DetectRequest(Keyed):
    q: str = Field(examples=["The disk is full."])


class FileRequest(Keyed):
    file: File
    source: str = Field(default="auto", max_length=35)
    target: str = Field(max_length=35)


class Detected(BaseModel):
    confidence: float
    language: str


class LibreAnswer(BaseModel):
    """`translatedText` is a list where `q` was one."""

    translatedText: str | list[str]  # noqa: N815  # LibreTranslate's names
    detectedLanguage: Detected | list[Detected] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class LibreLanguage(BaseModel):
    code: str
    name: str
    targets: list[str]


class FileAnswer(BaseModel):
    translatedFileUrl: str  # noqa: N815


@router.post(
    "/translate",
    openapi_extra=body_schema(LibreRequest, JSON, FORM),
    response_model_exclude_none=True,
    responses=answers(400, 401, 403, 413, 429, 456, 503, model=Error),
)
async def translate(request: Request, service: Served) -> LibreAnswer:
    """Translate a text or several; JSON, a form or a query."""
    values = await read_values(request, ["q"])
    if isinstance(values.get("q"), list) and len(values["q"]) == 1 and not _is_json(request):
        values["q"] = values["q"][0]
    asked = check(LibreRequest, values)
    key = service.authenticate(request, asked.api_key)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    source = None if asked.source == "auto" else asked.source
    pair, confidence = choose(service, source, asked.target, texts)
    work = Work("text", pair, num_best=asked.alternatives + 1)
    found = await service.run(request, key, work, [Text(text) for text in texts])
    detected = [Detected(confidence=round(100 * confidence, 1), language=pair[0])] * len(texts)
    is_single = isinstance(asked.q, str)
    return LibreAnswer(
        translatedText=found[0][0] if is_single else [one[0] for one in found],
        detectedLanguage=None if source else detected[0] if is_single else detected,
        alternatives=None if not asked.alternatives else found[0][1:] if is_single else [one[1:] for one in found],
    )


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith(JSON)


@router.get("/languages", responses=answers(403, model=Error))
@router.post("/languages", responses=answers(403, model=Error), include_in_schema=False)
def languages(service: Served) -> list[LibreLanguage]:
    """The languages, and what each can be translated to."""
    pairs = service.catalogue.pairs
    codes = sorted({code for pair in pairs for code in pair})
    return [
        LibreLanguage(code=code, name=name_of(code), targets=sorted({other for one, other in pairs if one == code}))
        for code in codes
    ]


@router.post(
    "/detect",
    openapi_extra=body_schema(DetectRequest, JSON, FORM),
    responses=answers(400, 401, 403, 413, 503, model=Error),
)
async def detect_language(request: Request, service: Served) -> list[Detected]:
    """The language of a text, among those that are served."""
    asked = await read_request(request, DetectRequest)
    service.authenticate(request, asked.api_key)
    service.check_texts([asked.q])
    codes = {code for pair in service.catalogue.pairs for code in pair}
    found = await run_in_threadpool(detect, [asked.q], sorted(codes))
    return [Detected(confidence=round(100 * share, 1), language=code) for code, share in found if share > 0]


@router.post(
    "/translate_file",
    openapi_extra=body_schema(FileRequest, MULTIPART),
    responses=answers(400, 401, 403, 413, 429, 456, 503, model=Error),
)
async def translate_file(request: Request, service: Served) -> FileAnswer:
    """Translate a file, and say where the result can be fetched."""
    values = await read_values(request)
    file = one_of(values, "file")
    asked = check(FileRequest, values)
    key = service.authenticate(request, asked.api_key)
    pair, _ = choose(service, None if asked.source == "auto" else asked.source, asked.target, [])
    name, content = file.filename or "", await file.read()
    identity, secret = await run_in_threadpool(accept, service, key, name, content, pair, None)
    document = await run_in_threadpool(wait_for, service, key, identity, service.limits.request_seconds)
    if document is None:
        raise Refusal(503, "translating the file takes too long; use /api/documents for large files", RETRY_SECONDS)
    if document.state == "error":
        raise Refusal(400, document.message)
    owner = key.id or "-"
    url = f"{service.settings.address}/download_file/{owner}/{identity}/{secret}"
    return FileAnswer(translatedFileUrl=url)


@router.get(
    "/download_file/{owner}/{identity}/{secret}",
    response_class=Response,
    responses=answers(403, 404, 503, model=Error)
    | {200: {"content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}},
)
def download_file(owner: str, identity: str, secret: str, service: Served) -> Response:
    """A translated file; whoever knows the address may fetch it."""
    document = service.store.document("" if owner == "-" else owner, identity, secret)
    if document is None:
        raise Refusal(404, "there is no such file")
    return send(service, document)


@router.get("/frontend/settings", responses=answers(403, model=Error))
def frontend_settings(service: Served) -> dict[str, object]:
    """What LibreTranslate's own page asks for."""
    from alidade.documents.formats import FORMATS

    source, target = service.catalogue.pairs[0]
    return {
        "apiKeys": bool(service.store.all_keys()),
        "charLimit": service.limits.text_characters,
        "filesTranslation": True,
        "frontendTimeout": 500,
        "keyRequired": bool(service.store.all_keys()),
        "language": {
            "source": {"code": source, "name": name_of(source)},
            "target": {"code": target, "name": name_of(target)},
        },
        "suggestions": False,
        "supportedFilesFormat": sorted(FORMATS),
    }


class Health(BaseModel):
    status: Annotated[str, Field(examples=["ok"])]


@router.get("/health", responses=answers(403, 503, model=Error))
def health(service: Served) -> Health:
    """The server can translate."""
    if not service.queue.is_ready:
        raise Refusal(503, "no worker is ready", RETRY_SECONDS)
    return Health(status="ok")
