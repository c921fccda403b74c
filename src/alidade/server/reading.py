"""Requests as clients send them, JSON, a form or a query, read into one model, with errors that are sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

from alidade.server.service import Refusal

Model = TypeVar("Model", bound=BaseModel)
Values = dict[str, Any]

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


async def read_request(request: Request, model: type[Model], lists: Sequence[str] = ()) -> Model:
    """What a request's body (JSON or form) says or, if it has none, its query. lists: may be given repeatedly."""
    return check(model, await read_values(request, lists))


async def read_values(request: Request, lists: Sequence[str] = ()) -> Values:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind in (FORM, MULTIPART):
        try:
            form = await request.form(max_files=1, max_fields=20_000, max_part_size=4_000_000)
        except Refusal:
            raise
        except Exception as error:  # whatever the parser finds wrong
            raise Refusal(400, f"the form cannot be read: {getattr(error, 'detail', error)}") from None
        return _of_pairs(form.multi_items(), lists)
    if body.strip():
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "the body is neither JSON nor a form; is its content type right?") from None
        if not isinstance(values, dict):
            raise Refusal(400, "the body is no JSON object")
        return values
    return _of_pairs(request.query_params.multi_items(), lists)


def _of_pairs(pairs: Sequence[tuple[str, Any]], lists: Sequence[str]) -> Values:
    values: Values = {}
    for name, value in pairs:
        name = name.removesuffix("[]")
        if name in lists:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    return values


def is_unicode(value: object) -> bool:
    """Whether all texts in JSON values can be written as UTF-8: half of a surrogate pair cannot."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(is_unicode(key) and is_unicode(one) for key, one in value.items())
    return all(map(is_unicode, value)) if isinstance(value, list) else True


def require_unicode(values: Any) -> Any:
    """For models that FastAPI reads."""
    if not is_unicode(values):
        raise ValueError("half of a surrogate pair is no character; send UTF-8")
    return values


def check(model: type[Model], values: Mapping[str, Any]) -> Model:
    if not is_unicode(values):
        raise Refusal(400, "half of a surrogate pair is no character; send UTF-8")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Refusal(400, sentence(error.errors())) from None


def sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first thing that is wrong, for a person; never the value itself, which may be a text."""
    first = errors[0]
    place = ".".join([str(part) for part in first["loc"] if part not in ("body", "query", "path")])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def one_of(values: Values, name: str) -> UploadFile:
    """The file of a form."""
    file = values.get(name)
    if not isinstance(file, UploadFile):
        raise Refusal(400, f"{name}: a file is needed, in a multipart form")
    return file


def body_schema(model: type[BaseModel], *kinds: str) -> dict[str, Any]:
    """For `openapi_extra`: the same model as JSON or as a form."""
    content = {kind: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}
