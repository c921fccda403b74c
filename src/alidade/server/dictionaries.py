"""Stored dictionaries through our own interface: with modes and inflection, from and to files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from alidade.dictionary.entries import Entry
from alidade.dictionary.files import read_entries, write_entries
from alidade.errors import AlidadeError
from alidade.server.answers import answers
from alidade.server.own import Asker, OwnModel, Served, TermEntry
from alidade.server.reading import MULTIPART, body_schema, check, one_of, read_values
from alidade.server.service import Refusal, Service, inline_entries
from alidade.server.store import Key, StoredDictionary
from alidade.text.languages import primary_language
from alidade.translator import Mode

router = APIRouter(prefix="/api/dictionaries", tags=["Dictionaries"])

LanguageCode = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$", max_length=35)]
_FORMATS = {"tsv": "text/tab-separated-values", "csv": "text/csv", "tbx": "application/x-tbx"}
_SUFFIXES = {".tsv": ".tsv", ".txt": ".tsv", ".tab": ".tsv", ".csv": ".csv", ".tbx": ".tbx", ".xml": ".tbx"}


class DictionaryRequest(OwnModel):
    name: str = Field(min_length=1, max_length=1024, examples=["Menu terms"])
    source_language: LanguageCode = Field(examples=["en"])
    target_language: LanguageCode = Field(examples=["ro"])
    mode: Mode = "suggest"
    inflect: bool = False
    entries: list[TermEntry] = Field(default=[])


class DictionaryChange(OwnModel):
    """What is to be different; what is not named stays."""

    name: str | None = Field(default=None, min_length=1, max_length=1024)
    mode: Mode | None = None
    inflect: bool | None = None
    entries: list[TermEntry] = Field(default=[], description="Added, in the place of those with the same source.")
    removed: list[str] = Field(default=[], description="The sources of entries to remove.")


class DictionaryInfo(BaseModel):
    id: str
    name: str
    mode: Mode
    inflect: bool
    source_language: str
    target_language: str
    num_entries: int


class DictionaryAnswer(DictionaryInfo):
    entries: list[TermEntry]


class ImportRequest(OwnModel):
    """A multipart form."""

    file: Annotated[object, Field(json_schema_extra={"type": "string", "format": "binary"})]
    name: str | None = Field(default=None, min_length=1, max_length=1024)
    source_language: LanguageCode
    target_language: LanguageCode
    mode: Mode = "suggest"
    inflect: bool = False


@router.get("", responses=answers(401, 403, 503))
def list_dictionaries(service: Served, key: Asker) -> list[DictionaryInfo]:
    """All of the key's dictionaries; one with several pairs of languages is there once for each."""
    return [info for one in service.store.dictionaries(key.id) for info in _infos(one)]


@router.post("", status_code=201, responses=answers(400, 401, 403, 413, 503))
def add_dictionary(asked: DictionaryRequest, service: Served, key: Asker) -> DictionaryInfo:
    """Store a dictionary."""
    section = asked.source_language, asked.target_language, _entries(asked.entries, service)
    return _add(service, key, asked.name, section, asked.mode, asked.inflect)


@router.post(
    "/import",
    status_code=201,
    openapi_extra=body_schema(ImportRequest, MULTIPART),
    responses=answers(400, 401, 403, 413, 503),
)
async def import_dictionary(request: Request, service: Served, key: Asker) -> DictionaryInfo:
    """Store a dictionary from a TSV, CSV or TBX file."""
    values = await read_values(request)
    file = one_of(values, "file")
    asked = check(ImportRequest, values)
    suffix = _SUFFIXES.get(Path(file.filename or "").suffix.lower())
    if suffix is None:
        raise Refusal(400, "file: a dictionary is a .tsv, .csv or .tbx file")
    languages = asked.source_language, asked.target_language
    entries = _read(await file.read(), suffix, languages)
    name = asked.name or Path(file.filename or "").stem[:1024] or "dictionary"
    return _add(service, key, name, (*languages, inline_entries(entries, service.limits)), asked.mode, asked.inflect)


@router.get("/{identity}", responses=answers(401, 403, 404, 503))
def read_dictionary(identity: str, service: Served, key: Asker) -> DictionaryAnswer:
    """A dictionary and its entries."""
    info = _only(service.dictionary(key, identity))
    entries = service.store.entries(identity, info.source_language, info.target_language)
    return DictionaryAnswer(**info.model_dump(), entries=[TermEntry.of(entry) for entry in entries])


@router.put("/{identity}", responses=answers(400, 401, 403, 404, 413, 503))
def replace_dictionary(identity: str, asked: DictionaryRequest, service: Served, key: Asker) -> DictionaryInfo:
    """Replace all of a dictionary: name, mode and entries."""
    service.dictionary(key, identity)
    entries = _entries(asked.entries, service)
    service.store.put_section(identity, asked.source_language, asked.target_language, entries, merge=False)
    service.store.change_dictionary(identity, name=asked.name, mode=asked.mode, inflect=asked.inflect)
    pair = primary_language(asked.source_language), primary_language(asked.target_language)
    infos = _infos(service.dictionary(key, identity))
    return next(info for info in infos if (info.source_language, info.target_language) == pair)


@router.patch("/{identity}", responses=answers(400, 401, 403, 404, 413, 503))
def change_dictionary(identity: str, asked: DictionaryChange, service: Served, key: Asker) -> DictionaryInfo:
    """Change single entries of a dictionary, or its name and mode."""
    info = _only(service.dictionary(key, identity))
    pair = info.source_language, info.target_language
    entries = _entries(asked.entries, service)
    if info.num_entries + len(entries) > service.limits.dictionary_entries:
        raise Refusal(413, f"a dictionary has at most {service.limits.dictionary_entries} entries")
    if entries or asked.removed:
        service.store.put_section(identity, *pair, entries, merge=True, removed=asked.removed)
    service.store.change_dictionary(identity, name=asked.name, mode=asked.mode, inflect=asked.inflect)
    return _only(service.dictionary(key, identity))


@router.delete("/{identity}", status_code=204, responses=answers(401, 403, 404, 503))
def remove_dictionary(identity: str, service: Served, key: Asker) -> None:
    """Remove a dictionary."""
    if not service.store.remove_dictionary(key.id, identity):
        raise Refusal(404, "there is no such dictionary")


@router.get(
    "/{identity}/export",
    response_class=Response,
    responses=answers(400, 401, 403, 404, 503)
    | {200: {"content": {kind: {"schema": {"type": "string"}} for kind in _FORMATS.values()}}},
)
def export_dictionary(
    identity: str,
    service: Served,
    key: Asker,
    format: Annotated[Literal["tsv", "csv", "tbx"], Query()] = "tsv",  # noqa: A002
) -> Response:
    """A dictionary as a file."""
    info = _only(service.dictionary(key, identity))
    languages = info.source_language, info.target_language
    entries = service.store.entries(identity, *languages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"dictionary.{format}"
        try:
            write_entries(path, entries, languages=languages)
        except AlidadeError as error:
            raise Refusal(400, str(error).replace(str(path), "export")) from None
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="dictionary.{format}"'}
    return Response(content, media_type=_FORMATS[format], headers=headers)


def _read(content: bytes, suffix: str, languages: tuple[str, str]) -> list[Entry]:
    """The entries of an uploaded file, through one whose name is ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"dictionary{suffix}"
        path.write_bytes(content)
        try:
            return list(read_entries(path, languages=languages))
        except AlidadeError as error:
            raise Refusal(400, str(error).replace(str(path), "file")) from None


def _entries(terms: Sequence[TermEntry], service: Service) -> tuple[Entry, ...]:
    try:
        return inline_entries([term.entry() for term in terms], service.limits)
    except AlidadeError as error:
        raise Refusal(400, str(error)) from None


def _add(
    service: Service, key: Key, name: str, section: tuple[str, str, Sequence[Entry]], mode: Mode, inflect: bool
) -> DictionaryInfo:
    check_number(service, key)
    return _infos(service.store.add_dictionary(key.id, name, [section], mode, inflect))[0]


def check_number(service: Service, key: Key) -> None:
    if service.store.num_dictionaries(key.id) >= service.limits.dictionaries:
        raise Refusal(400, f"there are {service.limits.dictionaries} dictionaries already; remove some")


def _infos(stored: StoredDictionary) -> list[DictionaryInfo]:
    return [
        DictionaryInfo(
            id=stored.id,
            name=stored.name,
            mode=stored.mode,
            inflect=stored.inflect,
            source_language=section.source,
            target_language=section.target,
            num_entries=section.num_entries,
        )
        for section in stored.sections
    ]


def _only(stored: StoredDictionary) -> DictionaryInfo:
    infos = _infos(stored)
    if not infos:
        raise Refusal(404, "this dictionary has no entries for any languages")
    return infos[0]
