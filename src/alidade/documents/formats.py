"""Which file is of which kind, by its name, and which reader reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from alidade.documents.data_files import (
    read_apple_strings,
    read_json_catalogue,
    read_properties,
    read_yaml_catalogue,
)
from alidade.documents.document import Document
from alidade.documents.fluent import read_fluent
from alidade.documents.mo import MoDocument, read_mo
from alidade.documents.office import OfficeDocument, read_office
from alidade.documents.po import read_po
from alidade.documents.running_text import read_html, read_markdown, read_plain_text, read_subtitles
from alidade.documents.xml_catalogues import read_xml_catalogue
from alidade.errors import AlidadeError

Languages = tuple[str, str]


AnyDocument = Document | OfficeDocument | MoDocument
Reader = Callable[[Path, bytes, Languages], AnyDocument]


class Format(NamedTuple):
    """A kind of file."""

    name: str
    read: Reader
    is_bilingual: bool
    """Whether it has a place for the translation beside each text; else the translation is another file."""


FORMATS: dict[str, Format] = {
    ".po": Format("PO", read_po, True),
    ".pot": Format("PO template", read_po, True),
    ".mo": Format("MO", read_mo, True),
    ".xlf": Format("XLIFF", read_xml_catalogue, True),
    ".xliff": Format("XLIFF", read_xml_catalogue, True),
    ".tmx": Format("TMX", read_xml_catalogue, True),
    ".ts": Format("Qt TS", read_xml_catalogue, True),
    ".xml": Format("Android strings", read_xml_catalogue, False),
    ".resx": Format("RESX", read_xml_catalogue, False),
    ".json": Format("JSON", read_json_catalogue, False),
    ".arb": Format("ARB", read_json_catalogue, False),
    ".yaml": Format("YAML", read_yaml_catalogue, False),
    ".yml": Format("YAML", read_yaml_catalogue, False),
    ".properties": Format("Java properties", read_properties, False),
    ".strings": Format("Apple strings", read_apple_strings, False),
    ".ftl": Format("Fluent", read_fluent, False),
    ".srt": Format("SubRip subtitles", read_subtitles, False),
    ".vtt": Format("WebVTT subtitles", read_subtitles, False),
    ".html": Format("HTML", read_html, False),
    ".htm": Format("HTML", read_html, False),
    ".xhtml": Format("HTML", read_html, False),
    ".md": Format("Markdown", read_markdown, False),
    ".markdown": Format("Markdown", read_markdown, False),
    ".docx": Format("DOCX", read_office, False),
    ".odt": Format("ODT", read_office, False),
    ".txt": Format("plain text", read_plain_text, False),
}


def read_document(path: Path, content: bytes, languages: Languages) -> AnyDocument:
    """The units of a file of any known kind."""
    try:
        return format_of(path).read(path, content, languages)
    except ModuleNotFoundError as error:
        raise AlidadeError(
            f"{path}: this kind of file needs {error.name}; `pip install alidade-mt[files]` brings it"
        ) from None


def format_of(path: Path) -> Format:
    """The kind of a file, or an error that lists those that are known."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        known = " ".join(sorted(FORMATS))
        raise AlidadeError(f"{path}: which kind of file this is cannot be told from its name; known are {known}")
    return found
