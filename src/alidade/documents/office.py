"""Word processors' files, DOCX and ODT: archives of XML whose paragraphs are translated; everything else stays.

A paragraph of DOCX is a row of runs, each with its own look. For the translator a run is an element around its text;
the links put the runs around the words that theirs became, and the runs are written in that order. ODT has spans inside
paragraphs, which are tags already.
"""

from __future__ import annotations

import io
import itertools
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from alidade.documents.document import MOST_BYTES, Edit, Fill, Filled, Unit, apply_edits, has_letters
from alidade.documents.xml import Element, mend_markup, parse_xml
from alidade.errors import AlidadeError

MOST_RATIO = 200
"""Text packs to a tenth; what packs to a two-hundredth has been made to burst."""
_DOCX_PARTS = regex.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_ODT_PARTS = regex.compile(r"(?:content|styles)\.xml")

Languages = tuple[str, str]


@dataclass(slots=True)
class _Part:
    """An XML file of the archive and its units."""

    name: str
    text: str
    units: Sequence[Unit]


@dataclass(slots=True)
class OfficeDocument:
    """An archive with its units, ready to be written again."""

    content: bytes
    parts: Sequence[_Part]
    encoding: str = "utf-8"

    def changes_encoding(self, _: Mapping[int, Filled]) -> bool:
        """They are UTF-8 always."""
        return False

    @property
    def units(self) -> list[Unit]:
        return [unit for part in self.parts for unit in part.units]

    def render(self, filled: Mapping[int, Filled]) -> bytes:
        """The same archive with translated paragraphs: the same files in the same order, with the same dates."""
        changed: dict[str, bytes] = {}
        first = 0
        for part in self.parts:
            numbers = [number for number in filled if first <= number < first + len(part.units)]
            edits = [edit for number in numbers for edit in part.units[number - first].fill(filled[number])]
            if edits:
                changed[part.name] = apply_nested(part.text, edits).encode()
            first += len(part.units)
        return _repack(self.content, changed) if changed else self.content


def read_office(path: Path, content: bytes, _: Languages) -> OfficeDocument:
    """The paragraphs of a DOCX or an ODT file."""
    is_docx = path.suffix.lower() == ".docx"
    wanted = _DOCX_PARTS if is_docx else _ODT_PARTS
    parts = []
    for name, text in _texts(path, content, wanted):
        root = parse_xml(Path(f"{path} ({name})"), text)
        units = [*(_docx_units(text, root, name) if is_docx else _odt_units(text, root, name))]
        parts.append(_Part(name, text, units))
    if not parts:
        raise AlidadeError(f"{path}: there is no text in this archive; is it a {path.suffix[1:].upper()} file?")
    return OfficeDocument(content, parts)


def _texts(path: Path, content: bytes, wanted: regex.Pattern[str]) -> Iterator[tuple[str, str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _refuse_bombs(path, archive)
            if archive.testzip() is not None:
                raise zipfile.BadZipFile
            for info in archive.infolist():
                if wanted.fullmatch(info.filename):
                    yield info.filename, archive.read(info).decode("utf-8")
    except (
        zipfile.BadZipFile,
        UnicodeDecodeError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        zlib.error,
    ):
        raise AlidadeError(f"{path}: damaged, or no {path.suffix[1:].upper()} file at all") from None


def _refuse_bombs(path: Path, archive: zipfile.ZipFile) -> None:
    size = sum(info.file_size for info in archive.infolist())
    packed = sum(info.compress_size for info in archive.infolist())
    if size > MOST_BYTES or size > MOST_RATIO * max(packed, 1000):
        raise AlidadeError(f"{path}: it would unpack from {packed} to {size} bytes; no document does")


def _repack(content: bytes, changed: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        for info in old.infolist():
            new.writestr(info, changed.get(info.filename, old.read(info)), compress_type=info.compress_type)
    return packed.getvalue()


# ---- ODT


def _odt_units(text: str, root: Element, name: str) -> Iterator[Unit]:
    for element in root.walk():
        if element.name in _ODT_PARAGRAPHS:
            boxes = {f'<x n="{number}"/>': box for number, box in enumerate(_odt_boxes(element))}
            shift = element.inner_start
            inner = apply_edits(
                element.inner(text), [Edit(box.start - shift, box.end - shift, tag) for tag, box in boxes.items()]
            )
            if has_letters(regex.sub(r"<[^>]*>", "", inner)):
                yield Unit((inner,), _filler(element, inner, boxes), f"{name}, paragraph at {element.start}")


_ODT_PARAGRAPHS = ("text:p", "text:h")


def _odt_boxes(element: Element) -> Iterator[Element]:
    """Frames and notes inside a paragraph, which have paragraphs of their own."""
    for child in element.children:
        if any(one.name in _ODT_PARAGRAPHS for one in child.walk()):
            if child.name in ("text:span", "text:a"):
                yield from _odt_boxes(child)
            else:
                yield child


def _filler(element: Element, source: str, boxes: Mapping[str, Element]) -> Fill:
    def fill(filled: Filled) -> list[Edit]:
        written = mend_markup(filled.texts[0], source)
        for tag, box in boxes.items():
            written = written.replace(tag, f"{_MOVED[0]}{box.start}:{box.end}{_MOVED[1]}")
        return [Edit(element.inner_start, element.inner_end, written)]

    return fill


_MOVED = "\ue000\ue001"
"""Around the place of a stretch of the file that goes here, with the edits inside it."""


def apply_nested(text: str, edits: Sequence[Edit], start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` with stretches replaced, some of which may stand in others that move them."""
    end = len(text) if end is None else end
    inside = [edit for edit in edits if start <= edit.start and edit.end <= end]
    outer: list[Edit] = []
    nested: list[Edit] = []
    for edit in sorted(inside, key=lambda edit: (edit.start, -edit.end)):
        is_nested = outer and edit.start < outer[-1].end
        (nested if is_nested else outer).append(edit)

    def moved(match: regex.Match[str]) -> str:
        return apply_nested(text, nested, int(match[1]), int(match[2]))

    pattern = regex.compile(rf"{_MOVED[0]}(\d+):(\d+){_MOVED[1]}")
    shifted = [Edit(one.start - start, one.end - start, pattern.sub(moved, one.text)) for one in outer]
    return apply_edits(text[start:end], shifted)


# ---- DOCX


def _docx_units(text: str, root: Element, name: str) -> Iterator[Unit]:
    for element in root.walk():
        if element.name == "w:p":
            paragraph = _Paragraph(text, element)
            if paragraph.runs and has_letters(regex.sub(r"<[^>]*>", "", paragraph.source)):
                yield Unit((paragraph.source,), paragraph.fill, f"{name}, paragraph at {element.start}")


class _Paragraph:
    """The text of a paragraph, with elements `<r1>…</r1>` around what does not look like most of it."""

    def __init__(self, text: str, element: Element) -> None:
        self.text = text
        self.marks: dict[str, str] = {}
        """Tags of the source and what they are written as."""
        self.looks: list[str] = []
        """The first is that of most of the text."""
        children = [child for child in element.children if child.name != "w:pPr"]
        self.gaps = [(group[0].start, group[-1].end) for group in _between_boxes(children)]
        """Where its text stands: boxes with paragraphs of their own stay where they are."""
        children = [child for group in _between_boxes(children) for child in group]
        self.runs = [one for child in children for one in _runs(child)]
        self.looks = self._looks_by_length()
        source = "".join([self._read(group) for group in _fields(children)])
        # Neighbouring runs that look alike are one: Word cuts text for reasons of its own.
        self.source = regex.sub(r"</r(\d+)><r\1>", "", source)

    def _looks_by_length(self) -> list[str]:
        lengths: Counter[str] = Counter()
        for run in self.runs:
            lengths[self._look(run)] += sum(
                len(child.inner(self.text)) for child in run.children if child.name == "w:t"
            )
        return [look for look, _ in lengths.most_common()]

    def _look(self, run: Element) -> str:
        look = run.find("rPr")
        return self.text[look.start : look.end] if look else ""

    def _read(self, group: Sequence[Element]) -> str:
        """A child of a paragraph, or all those that make up a field."""
        element = group[0]
        if len(group) > 1:
            return self._read_field(group)
        if element.name == "w:r" and _is_text(element):
            return self._read_run(element)
        if element.name in _AROUND_RUNS and [*_runs(element)]:
            content = _content(element)
            inner = "".join([self._read(one) for one in _fields(content.children)])
            return self._wrap((element.start, content.inner_start), inner, (content.inner_end, element.end))
        if element.name in _FORGOTTEN:
            return ""
        return self._mark("x", (element.start, element.end))

    def _read_field(self, group: Sequence[Element]) -> str:
        """What Word has computed, between what says how and where it ends: a page number, or the text of a link."""
        first = next((n for n, one in enumerate(group) if _field_mark(one) == "separate"), None)
        if first is None or any(_field_mark(one) == "begin" for one in group[1:]):
            return self._mark("x", (group[0].start, group[-1].end))
        inner = "".join([self._read([one]) for one in group[first + 1 : -1]])
        return self._wrap((group[0].start, group[first].end), inner, (group[-1].start, group[-1].end))

    def _wrap(self, opening: tuple[int, int], inner: str, closing: tuple[int, int]) -> str:
        """Something around runs as a pair of tags, of a name that is none of HTML's; from where to where both stand."""
        number = len(self.marks)
        self.marks[f"<w{number}>"] = self.text[slice(*opening)]
        self.marks[f"</w{number}>"] = self.text[slice(*closing)]
        return f"<w{number}>{inner}</w{number}>"

    def _read_run(self, run: Element) -> str:
        inner = []
        for child in run.children:
            if child.name == "w:t":
                inner.append(child.inner(self.text))
            elif child.name not in ("w:rPr", *_FORGOTTEN):
                inner.append(self._mark("y", (child.start, child.end)))
        number = self.looks.index(self._look(run))
        return f"<r{number}>{''.join(inner)}</r{number}>" if number else "".join(inner)

    def _mark(self, name: str, span: tuple[int, int]) -> str:
        tag = f'<{name} n="{len(self.marks)}"/>'
        self.marks[tag] = self.text[slice(*span)]
        return tag

    def fill(self, filled: Filled) -> list[Edit]:
        written = self._write(mend_markup(filled.texts[0], self.source))
        return [Edit(*gap, written if number == 0 else "") for number, gap in enumerate(self.gaps)]

    def _write(self, target: str) -> str:
        """Runs again, each stretch of text in the look of the element around it."""
        written: list[str] = []
        look = 0
        for piece in regex.splititer(r"(<[^<>]*>)", target):
            run = regex.fullmatch(r"<(/?)r(\d+)>", piece)
            if run:
                look = 0 if run[1] else int(run[2])
            elif piece in self.marks:
                mark = self.marks[piece]
                written.append(self._run(mark, look) if piece.startswith("<y ") else mark)
            elif piece:
                written.append(self._run(f'<w:t xml:space="preserve">{piece}</w:t>', look))
        return "".join(written)

    def _run(self, content: str, look: int) -> str:
        return f"<w:r>{self.looks[look]}{content}</w:r>"


def _between_boxes(children: Sequence[Element]) -> Iterator[list[Element]]:
    """The children of a paragraph in groups, without those that have paragraphs inside: text boxes float anyway."""
    for is_box, group in itertools.groupby(children, key=lambda child: any(one.name == "w:p" for one in child.walk())):
        if not is_box:
            yield [*group]


def _fields(children: Sequence[Element]) -> Iterator[list[Element]]:
    """The children of a paragraph one by one, but all from the beginning of a field to its end together."""
    group: list[Element] = []
    depth = 0
    for child in children:
        depth += {"begin": 1, "end": -1}.get(_field_mark(child), 0)
        group.append(child)
        if depth <= 0:
            yield group
            group, depth = [], 0
    yield from [[child] for child in group]  # a field that ends in another paragraph


def _field_mark(run: Element) -> str:
    mark = run.find("fldChar") if run.name == "w:r" else None
    return mark.attributes.get("w:fldCharType", "") if mark else ""


def _content(element: Element) -> Element:
    """Where the runs of something around runs are: a form's field has settings before them."""
    return (element.find("sdtContent") or element) if element.name == "w:sdt" else element


_AROUND_RUNS = ("w:hyperlink", "w:smartTag", "w:ins", "w:moveTo", "w:fldSimple", "w:sdt")
_FORGOTTEN = ("w:proofErr", "w:lastRenderedPageBreak")
"""What Word notes about the old text."""
_NO_TEXT = ("w:drawing", "w:pict", "w:object", "w:fldChar", "w:instrText", "mc:AlternateContent")


def _runs(element: Element) -> Iterator[Element]:
    """The runs of text in a child of a paragraph."""
    if element.name == "w:r" and _is_text(element):
        yield element
    elif element.name in _AROUND_RUNS:
        for child in _content(element).children:
            yield from _runs(child)


def _is_text(run: Element) -> bool:
    names = [child.name for child in run.children]
    return "w:t" in names and not any(name in _NO_TEXT for name in names)
