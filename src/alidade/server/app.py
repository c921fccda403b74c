"""The application: all interfaces on one service, and how it starts and stops."""

from __future__ import annotations

import contextlib
import logging
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from alidade import __version__
from alidade.errors import AlidadeError
from alidade.server import deepl, deepl_glossaries, dictionaries, document_routes, libretranslate, own, page_routes
from alidade.server.answers import answers
from alidade.server.documents import DocumentRunner
from alidade.server.edge import LOOPBACK, Edge, error_body
from alidade.server.reading import sentence
from alidade.server.service import RETRY_SECONDS, Refusal, Service
from alidade.server.settings import ServerSettings
from alidade.server.workers import TextError

log = logging.getLogger("alidade.server")

STOPPING_SECONDS = 30
MOST_CONNECTIONS = 2000


def make_app(service: Service) -> FastAPI:
    """The application around a service, which it starts and stops."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.stop(STOPPING_SECONDS)

    app = FastAPI(
        title="Alidade",
        version=__version__,
        summary="Translation in which every target word points at the source word that it translates.",
        lifespan=lifespan,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    for interface in (own, dictionaries, document_routes, deepl, deepl_glossaries, libretranslate):
        app.include_router(interface.router)
    app.include_router(page_routes.make_router())
    _add_health(app, service)
    _add_error_handlers(app)
    _describe_truly(app)
    app.add_middleware(Edge, service=service)
    return app


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", tags=["Health"], responses=answers(403), response_class=PlainTextResponse)
    async def healthz() -> str:
        """The server is alive."""
        return "ok\n"

    @app.get("/readyz", tags=["Health"], responses=answers(403, 503), response_class=PlainTextResponse)
    async def readyz() -> str:
        """The server can translate."""
        if not service.queue.is_ready:
            raise Refusal(503, "no worker is ready", RETRY_SECONDS)
        return "ready\n"

    @app.get("/metrics", tags=["Health"], responses=answers(403), response_class=PlainTextResponse)
    async def metrics() -> Response:
        """For Prometheus."""
        return Response(service.metrics.render(), media_type="text/plain; version=0.0.4")


def _add_error_handlers(app: FastAPI) -> None:
    """Every error is a string: DeepL's client cannot read FastAPI's lists."""

    def answer(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
        return JSONResponse(error_body(request.url.path, message), status, headers)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> JSONResponse:
        return answer(request, error.status, error.message, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(request, 400, sentence(error.errors()))

    @app.exception_handler(AlidadeError)
    async def mistaken(request: Request, error: AlidadeError) -> JSONResponse:
        return answer(request, 400, str(error))

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> JSONResponse:
        return answer(request, error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(sqlite3.Error)
    async def unwritable(request: Request, error: sqlite3.Error) -> JSONResponse:
        log.error("the database: %s", error)
        return answer(
            request, 503, "the server's database cannot be used just now", {"Retry-After": str(RETRY_SECONDS)}
        )

    @app.exception_handler(TextError)
    async def broken(request: Request, _: TextError) -> JSONResponse:
        return answer(request, 500, "this text could not be translated; the server's log says why")


_READ_BY_HAND: tuple[type[BaseModel], ...] = (
    deepl.TranslateRequest,
    deepl_glossaries.GlossaryRequest,
    dictionaries.ImportRequest,
    document_routes.DeeplDocumentRequest,
    document_routes.DocumentKey,
    document_routes.DocumentRequest,
    libretranslate.LibreRequest,
    libretranslate.DetectRequest,
    libretranslate.FileRequest,
)
"""What comes as JSON or as a form, so that FastAPI does not know it."""


def _describe_truly(app: FastAPI) -> None:
    """The schema without the 422 that FastAPI adds everywhere and that we never answer."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        components = schema.setdefault("components", {}).setdefault("schemas", {})
        for name in ("HTTPValidationError", "ValidationError"):
            components.pop(name, None)
        for model in _READ_BY_HAND:
            described = model.model_json_schema(ref_template="#/components/schemas/{model}")
            components |= described.pop("$defs", {}) | {model.__name__: described}
        return schema

    app.openapi = openapi  # type: ignore[method-assign]


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or an error in one sentence."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise AlidadeError(f"{host}, port {port}: cannot be listened on: {error.strerror or error}") from None
    # Else the end of an answer waits up to 40 ms for the client to acknowledge its beginning. (asyncio does this only
    # for sockets that it has made.)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def check_host(host: str, has_keys: bool) -> None:
    """Whoever can reach a server without keys can use it: it is for this machine alone."""
    if host not in LOOPBACK and not has_keys:
        raise AlidadeError(
            f"{host}: without keys everybody who reaches this address could use the server; make a key first, with "
            "`alidade serve keys add NAME`, or listen on 127.0.0.1"
        )


def serve(service: Service, listening: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C; what is under way then is finished."""
    _start_log()
    config = uvicorn.Config(
        make_app(service),
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])


def make_service(settings: ServerSettings) -> Service:
    """A service that can translate texts and documents; it starts with the application."""
    service = Service(settings)
    service.documents = DocumentRunner(service)
    return service


def _start_log() -> None:
    """Both logs go to stderr: sentences about the server, and a line of JSON for each request."""
    for name, form in (("alidade.server", "alidade: %(message)s"), ("alidade.access", "%(message)s")):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(form))
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [handler]
