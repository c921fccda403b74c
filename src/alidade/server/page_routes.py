"""The page that people see at `/`: ES modules and CSS from the folder `page`, as they are, with no build step.

Everything is read once, when the server starts: what is not among those files cannot be asked for. The page may load
nothing from elsewhere, run no script but these files and make no HTML of texts (trusted types refuse it).
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from alidade.server.service import Refusal

FOLDER = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "; ".join(
    [
        "default-src 'none'",
        *("script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
        *("require-trusted-types-for 'script'", "trusted-types 'none'"),
    ]
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page, ready to be sent."""

    kind: str
    content: bytes
    compressed: bytes
    tag: str

    @classmethod
    def read(cls, path: Path) -> PageFile:
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        return cls(KINDS[path.suffix], content, gzip.compress(content, 9, mtime=0), tag)

    def answer(self, request: Request) -> Response:
        headers = HEADERS | {"ETag": self.tag}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.compressed, media_type=self.kind, headers=headers | {"Content-Encoding": "gzip"})
        return Response(self.content, media_type=self.kind, headers=headers)


def read_page(folder: Path = FOLDER) -> dict[str, PageFile]:
    """All files of the page by their names: `style.css`, `vendor/preact-htm.js`."""
    return {
        path.relative_to(folder).as_posix(): PageFile.read(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in KINDS
    }


def make_router() -> APIRouter:
    """`/` and what it loads; no part of the interface that programs use."""
    files = read_page()
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:
        return files["index.html"].answer(request)

    @router.get("/page/{name:path}")
    async def file(name: str, request: Request) -> Response:
        if name not in files:
            raise Refusal(404, "there is no such file")
        return files[name].answer(request)

    return router
