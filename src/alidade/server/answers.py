"""What every interface may answer besides success, for the OpenAPI schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Message(BaseModel):
    """Something was not as it must be."""

    message: str = Field(examples=["target_lang: Field required"])


class Error(BaseModel):
    """The same as LibreTranslate says it."""

    error: str = Field(examples=["q: Field required"])


_MEANINGS = {
    400: "Something in the request is not as it must be",
    401: "A key is needed",
    403: "The key is not known, or the host is not this one",
    404: "There is no such thing",
    408: "The request took too long to arrive",
    413: "Too much at once",
    429: "Too much is waiting; Retry-After says when to come again",
    456: "The characters of this month are used up",
    503: "Not ready, or stopping; Retry-After says when to come again",
}


def answers(*statuses: int, model: type[BaseModel] = Message) -> dict[int | str, dict[str, Any]]:
    """For a route's `responses`."""
    return {status: {"model": model, "description": _MEANINGS[status]} for status in (*statuses, 408)}
