"""Word processors' files: runs keep their look, the archive its files, and what would burst is refused."""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

import pytest

from alidade.documents.document import Filled
from alidade.documents.office import OfficeDocument, read_office
from alidade.documents.translate import FileTranslator, Options
from alidade.errors import AlidadeError
from alidade.translator import Translator

LANGUAGES = ("en", "ro")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
BODY = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:document {W}><w:body><w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:t xml:space="preserve">Click </w:t></w:r>\
<w:r><w:rPr><w:b/></w:rPr><w:t>he</w:t></w:r><w:proofErr w:type="x"/><w:r><w:rPr><w:b/></w:rPr><w:t>re</w:t></w:r>\
<w:bookmarkStart w:id="1"/><w:r><w:t xml:space="preserve"> to continue.</w:t></w:r></w:p><w:p/><w:sectPr/></w:body>\
</w:document>"""


def archive(parts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return packed.getvalue()


def read(name: str, parts: dict[str, str]) -> OfficeDocument:
    return read_office(Path(name), archive(parts), LANGUAGES)


def part(content: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return file.read(name).decode()


def test_runs_that_look_like_most_of_a_paragraph_are_its_text() -> None:
    document = read("a.docx", {"[Content_Types].xml": "<x/>", "word/document.xml": BODY})
    [unit] = document.units
    assert unit.sources == ('Click <r1>here</r1><x n="0"/> to continue.',)


def test_a_run_keeps_its_look_and_the_rest_stays() -> None:
    document = read("a.docx", {"[Content_Types].xml": "<x/>", "word/document.xml": BODY, "word/media/a.png": "picture"})
    written = document.render({0: Filled(('Clic <x n="0"/><r1>aici</r1> acum.',))})
    text = part(written, "word/document.xml")
    assert '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">aici</w:t></w:r>' in text
    assert '<w:pPr><w:jc w:val="center"/></w:pPr>' in text
    assert '<w:bookmarkStart w:id="1"/>' in text
    assert text.endswith("<w:p/><w:sectPr/></w:body></w:document>")
    assert part(written, "word/media/a.png") == "picture"
    assert document.render({}) == document.content


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


FIELD = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
CODE = "<w:r><w:instrText>PAGEREF x</w:instrText></w:r>"


@pytest.mark.parametrize(
    ("paragraph", "sources"),
    [
        # a box with a paragraph of its own stays where it is, and both are translated
        (f"{run('One')}<w:r><w:pict><w:p>{run('Two')}</w:p></w:pict></w:r>", ["One", "Two"]),
        # what makes up a field stays together
        (f"{run('One ')}{FIELD[0]}{CODE}{FIELD[1]}{run('5')}{FIELD[2]}{run(' two')}", ["One <w0>5</w0> two"]),
        (f"{run('One ')}{FIELD[0]}{CODE}{FIELD[2]}", ['One <x n="0"/>']),
        (f"{run('One ')}{FIELD[0]}{CODE}", ['One <x n="0"/><x n="1"/>']),
        # a field of a form is text
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('One')}</w:sdtContent></w:sdt>", ["<w0>One</w0>"]),
    ],
)
def test_boxes_and_fields_in_a_paragraph(paragraph: str, sources: list[str]) -> None:
    text = f'<w:document xmlns:w="w"><w:body><w:p>{paragraph}</w:p></w:body></w:document>'
    document = read("a.docx", {"word/document.xml": text})
    assert [unit.sources[0] for unit in document.units] == sources
    filled = {number: Filled(unit.sources) for number, unit in enumerate(document.units)}
    assert part(document.render(filled), "word/document.xml") == text


def test_odt_paragraphs_have_their_spans_as_tags() -> None:
    paragraphs = '<text:h>Save</text:h><text:p>Click <text:span a="b">here</text:span></text:p>'
    text = f'<o:d xmlns:o="o" xmlns:text="t">{paragraphs}</o:d>'
    document = read("a.odt", {"mimetype": "x", "content.xml": text})
    assert [unit.sources[0] for unit in document.units] == ["Save", 'Click <text:span a="b">here</text:span>']
    written = document.render({0: Filled(("A & B",))})
    assert "<text:h>A &amp; B</text:h>" in part(written, "content.xml")


def test_notes_and_frames_of_odt_move_with_their_paragraph_and_are_translated() -> None:
    note = "<text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note>"
    body = '<o:d xmlns:o="o" xmlns:text="t"><text:p>{}</text:p></o:d>'
    text = body.format(f"One {note.format('Below')}<text:span>two</text:span>")
    document = read("a.odt", {"mimetype": "x", "content.xml": text})
    assert [unit.sources[0] for unit in document.units] == ['One <x n="0"/><text:span>two</text:span>', "Below"]
    written = document.render({0: Filled(('<text:span>doi</text:span> unu<x n="0"/>',)), 1: Filled(("Jos",))})
    assert part(written, "content.xml") == body.format(f"<text:span>doi</text:span> unu{note.format('Jos')}")
    only = document.render({0: Filled(('Unu<x n="0"/>',))})
    assert part(only, "content.xml") == body.format(f"Unu{note.format('Below')}")


@functools.cache
def translator() -> Translator:
    return Translator(threads=1)


def test_a_document_is_translated(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(archive({"[Content_Types].xml": "<x/>", "word/document.xml": BODY}))
    report = FileTranslator(translator(), Options()).translate(path)
    assert report.output == tmp_path / "a.ro.docx"
    text = part(report.output.read_bytes(), "word/document.xml")
    assert '<w:rPr><w:b/></w:rPr><w:t xml:space="preserve">aici</w:t>' in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "damaged"),
        (archive({"a.txt": "x"}), "no text"),
        (archive({"word/document.xml": "<a>" + " " * 10_000_000 + "</a>"}), "unpack"),
        (archive({"word/document.xml": "<a>\n<b>\n</a>"}), "line 3"),
    ],
)
def test_what_is_broken_or_would_burst_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(AlidadeError, match=message):
        read_office(Path("a.docx"), content, LANGUAGES)
