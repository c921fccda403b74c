"""The edge: what happens to every request before and after an interface sees it.

Bodies are bounded in size and time; the Host header is believed by nobody, and where there are no keys only requests
for this machine are answered (a page in a browser could otherwise reach a server on loopback under a name of its own);
each answer is counted and written to the log, without texts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alidade.server.service import RETRY_SECONDS, Refusal, Service

access_log = logging.getLogger("alidade.access")

DRAINING_SECONDS = 2.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_QUEUED = ("/v2/translate", "/translate", "/api/translate", "/api/alternatives", "/api/align", "/api/check")
_UPLOADS = ("/v2/document", "/translate_file", "/api/documents", "/api/dictionaries/import")


def error_body(path: str, message: str) -> dict[str, str]:
    """LibreTranslate's clients read `error`, DeepL's (and ours) `message`."""
    own = ("/v2/", "/v3/", "/api/", "/metrics", "/healthz", "/readyz", "/docs", "/openapi.json")
    return {"message": message} if path.startswith(own) else {"error": message}


class Edge:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(self.service, scope, receive, send)
        try:
            exchange.check()
            await exchange.read_body()
            exchange.check_room()
            await self.app(scope, exchange.receive, exchange.send)
        except Refusal as refusal:
            await exchange.refuse(refusal)
        except Exception:
            await exchange.refuse(Refusal(500, "something went wrong here; the server's log says what"))
            raise
        finally:
            exchange.record()


class _Exchange:
    """One request and its answer."""

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self._service = service
        self._scope = scope
        self._receive = receive
        self._send = send
        self._start = time.monotonic()
        self._chunks: list[bytes] | None = []
        self._num_buffered = 0
        self._body_is_read = False
        self._status = 0
        scope.setdefault("state", {})

    def check(self) -> None:
        headers = Headers(scope=self._scope)
        self._check_host(headers.get("host", ""))
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._most_bytes:
            raise Refusal(413, f"a body of {length} bytes is too large; send at most {self._most_bytes}")

    def check_room(self) -> None:
        """Refuse before anything is parsed: when too much is asked for, this is what there is most to do of."""
        if self._service.queue.is_full and self._scope["path"] in _QUEUED:
            raise self._service.full_queue()

    def _check_host(self, host: str) -> None:
        name = urlsplit(f"//{host}").hostname if host and "@" not in host else None
        own = urlsplit(self._service.settings.address).hostname
        if name not in (*LOOPBACK, own) and not self._service.store.all_keys():
            raise Refusal(403, "a server without keys answers requests to localhost only")

    @property
    def _most_bytes(self) -> int:
        limits = self._service.limits
        return limits.upload_bytes if self._scope["path"].startswith(_UPLOADS) else limits.body_bytes

    async def read_body(self) -> None:
        """All of it before anything else happens: in time, no larger than allowed, and not too much of all clients'."""
        try:
            async with asyncio.timeout(self._service.limits.body_seconds):
                await self._read_body()
        except TimeoutError:
            raise Refusal(408, "the request took too long to arrive") from None

    async def _read_body(self) -> None:
        size = 0
        assert self._chunks is not None
        while not self._body_is_read:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refusal(499, "the client has gone away")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._most_bytes:
                raise Refusal(413, f"the body is too large; send at most {self._most_bytes} bytes")
            self._service.num_buffered += len(chunk)
            self._num_buffered += len(chunk)
            if self._service.num_buffered > self._service.limits.buffered_bytes:
                raise Refusal(503, "too many large requests at once; try again soon", RETRY_SECONDS)
            self._chunks.append(chunk)
            self._body_is_read = not message.get("more_body", False)

    async def receive(self) -> Message:
        if self._chunks is not None:
            body, self._chunks = b"".join(self._chunks), None
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._receive()  # whether the client goes away

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = [*message.get("headers", []), (b"x-content-type-options", b"nosniff")]
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self._status:  # the answer has begun
            return
        if refusal.status == 413:
            await self._drain()
        headers = refusal.headers | ({} if self._body_is_read else {"Connection": "close"})
        response = JSONResponse(error_body(self._scope["path"], refusal.message), refusal.status, headers)
        await response(self._scope, self._receive, self.send)

    async def _drain(self) -> None:
        """Let a client finish sending, within bounds: one whose connection is reset never reads why."""
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAINING_SECONDS):
                while not self._body_is_read and size < self._service.limits.upload_bytes:
                    message = await self._receive()
                    size += len(message.get("body", b""))
                    self._body_is_read = not message.get("more_body", False)

    def record(self) -> None:
        self._service.num_buffered -= self._num_buffered
        route = getattr(self._scope.get("route"), "path", None) or "other"
        seconds = time.monotonic() - self._start
        state = self._scope["state"]
        method = self._scope["method"] if self._scope["method"] in _METHODS else "other"
        self._service.metrics.saw_request(route, method, self._status, seconds)
        access_log.info(
            json.dumps(
                {
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "method": method,
                    "route": route,
                    "status": self._status,
                    "milliseconds": round(1000 * seconds, 1),
                    "texts": state.get("num_texts", 0),
                    "characters": state.get("num_characters", 0),
                    "key": state.get("key_name", ""),
                }
            )
        )


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
