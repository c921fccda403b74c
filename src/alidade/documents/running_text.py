"""Running text: HTML, Markdown, subtitles and plain text."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import regex

from alidade.documents.document import Document, Edit, Filled, Unit, decode_text, has_letters, line_of
from alidade.documents.xml import mend_markup
from alidade.errors import AlidadeError
from alidade.text.markup import VOID

Languages = tuple[str, str]


def _stretch(text: str, start: int, end: int) -> Iterator[Unit]:
    """A unit for a stretch of a file, without the white space around it; nothing if it has no letters."""
    stretch = text[start:end]
    inner_start = start + len(stretch) - len(stretch.lstrip())
    inner = stretch.strip()
    if has_letters(inner):

        def fill(filled: Filled) -> list[Edit]:
            return [Edit(inner_start, inner_start + len(inner), filled.texts[0])]

        yield Unit((inner,), fill, f"line {line_of(text, inner_start)}")


def read_plain_text(path: Path, content: bytes, _: Languages) -> Document:
    """Paragraphs between blank lines."""
    text, encoding = decode_text(path, content)
    units: list[Unit] = []
    start = 0
    for match in regex.finditer(r"\r?\n(?:[ \t]*\r?\n)+", text):
        units += _stretch(text, start, match.start())
        start = match.end()
    units += _stretch(text, start, len(text))
    return Document(text, units, encoding)


_OVERRIDES = regex.compile(r"\s*(?:\{\\[^{}]*\})*+")
"""Where on the screen a cue stands, which players of other subtitles understand here, too: {\\an8}."""
_CUE_TIME = regex.compile(r"^[ \t]*(?:\d+:)?\d+:\d+[.,]\d+[ \t]*-->.*$", regex.MULTILINE)


_CUE_END = regex.compile(r"\n[ \t]*\r?\n|(?:\n[ \t]*\d+[ \t]*\r?\n)?$")
"""A blank line, or the next cue and its number."""


def read_subtitles(path: Path, content: bytes, _: Languages) -> Document:
    """The cues of SubRip and WebVTT files: what stands between a line with times and the next blank line."""
    text, encoding = decode_text(path, content)
    units: list[Unit] = []
    cues = [*_CUE_TIME.finditer(text)]
    for match, following in itertools.zip_longest(cues, cues[1:]):
        end = _CUE_END.search(text, match.end(), following.start() if following else len(text))
        place = _OVERRIDES.match(text, match.end()).end()  # type: ignore[union-attr]
        units += _stretch(text, place, end.start() if end else place)
    return Document(text, units, encoding)


# ---- HTML


_BLOCKS = frozenset(
    [
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "button",
            "caption",
            "center",
            "dd",
            "details",
            "dialog",
        ),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option"),
        *(
            "p",
            "section",
            "select",
            "summary",
            "table",
            "tbody",
            "td",
            "textarea",
            "tfoot",
            "th",
            "thead",
            "title",
            "tr",
        ),
        *("ul", "meta", "link", "script", "style", "pre", "noscript", "template", "iframe", "video", "audio", "canvas"),
    ]
)
_SILENT = frozenset({"script", "style", "pre", "template", "textarea", "svg", "math"})
_READ_ATTRIBUTE = regex.compile(r"""\s(alt|title|placeholder|aria-label)\s*=\s*("([^"]*)"|'([^']*)')""")


def read_html(path: Path, content: bytes, languages: Languages) -> Document:
    """The texts of a page: what stands between the tags of blocks, inline tags included, and attributes to read."""
    declared = regex.search(_CHARSET.encode(), content[:2000], regex.IGNORECASE)
    text, encoding = decode_text(path, content, declared[1].decode() if declared else None)
    reader = _HtmlReader(text)
    reader.read(path)
    named = regex.search(_CHARSET, text, regex.IGNORECASE) if declared else None
    return Document(text, reader.units, encoding, _html_language(text, languages), named.span(1) if named else None)


_CHARSET = r"""<meta[^>]*charset\s*=\s*["']?([\w-]+)"""


def _html_language(text: str, languages: Languages) -> list[Edit]:
    match = regex.search(r"""<html\b[^>]*?\blang\s*=\s*["']?([\w-]+)""", text, regex.IGNORECASE)
    return [Edit(match.start(1), match.end(1), languages[1])] if match else []


class _HtmlReader(HTMLParser):
    """Collects stretches between the tags of blocks."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.text = text
        self.units: list[Unit] = []
        self.start = 0
        """Where the present stretch begins."""
        self.attributes: list[Unit] = []
        """Attributes to read in the present stretch."""
        self.silent: list[str] = []
        """Open elements whose contents are not translated."""
        self.line_starts = [0, *[match.end() for match in regex.finditer("\n", text)]]

    def read(self, path: Path) -> None:
        try:
            self.feed(self.text)
            self.close()
        except AssertionError as error:  # the parser's way to say that a declaration is broken
            raise AlidadeError(f"{path}, line {self.getpos()[0]}: broken HTML: {error}") from None
        self._end_stretch(len(self.text))

    def _place(self) -> int:
        line, column = self.getpos()
        return self.line_starts[line - 1] + column

    def _end_stretch(self, end: int) -> None:
        """A stretch with text is a unit, its tags included; attributes count in one without."""
        units = [] if self.silent else [*_stretch(self.text, self.start, end)]
        units = [_mending(unit) for unit in units if has_letters(regex.sub(r"<[^>]*>", "", unit.sources[0]))]
        self.units += units or self.attributes
        self.attributes = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        place, source = self._place(), self.get_starttag_text() or ""
        is_silent = tag in _SILENT or (dict(attributes).get("translate") == "no" and tag in _BLOCKS)
        if self.silent:
            if tag == self.silent[-1] and tag not in VOID:
                self.silent.append(tag)
            return
        if tag in _BLOCKS or is_silent:
            self._end_stretch(place)
            self.start = place + len(source)
        found = [*self._read_attributes(place, source)]
        if tag in _BLOCKS:
            self.units += found
        else:
            self.attributes += found
        if is_silent and tag not in VOID and not source.endswith("/>"):
            self.silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        place = self._place()
        end = self.text.find(">", place) + 1 or len(self.text)
        if self.silent:
            if tag == self.silent[-1]:
                self.silent.pop()
                self.start = end
            return
        if tag in _BLOCKS:
            self._end_stretch(place)
            self.start = end

    def handle_comment(self, data: str) -> None:
        self._skip(len(data) + 7)

    def handle_decl(self, decl: str) -> None:
        self._skip(len(decl) + 3)

    def handle_pi(self, data: str) -> None:
        self._skip(len(data) + 3)

    def _skip(self, length: int) -> None:
        """Between blocks these end a stretch; inside a sentence they are marks like tags."""
        place = self._place()
        if not self.silent and not self.text[self.start : place].strip():
            self.start = place + length

    def _read_attributes(self, place: int, source: str) -> Iterator[Unit]:
        if regex.search(r"""translate\s*=\s*["']?no\b""", source):
            return
        for match in _READ_ATTRIBUTE.finditer(source):
            group = 3 if match[3] is not None else 4
            if has_letters(match[group]):
                start, end = place + match.start(group), place + match.end(group)
                yield from [_quoted(unit, match[2][0]) for unit in _stretch(self.text, start, end)]


def _mending(unit: Unit) -> Unit:
    """A unit whose translation is checked for tags that nobody wrote."""
    fill, source = unit.fill, unit.sources[0]

    def mended(filled: Filled) -> list[Edit]:
        text = mend_markup(filled.texts[0], source)
        return fill(Filled((text,), filled.origin, filled.confidence))

    return Unit(unit.sources, mended, unit.place)


def _quoted(unit: Unit, quote: str) -> Unit:
    fill = unit.fill
    entity = "&quot;" if quote == '"' else "&#39;"

    def quoted(filled: Filled) -> list[Edit]:
        return fill(Filled((filled.texts[0].replace(quote, entity),), filled.origin, filled.confidence))

    return Unit(unit.sources, quoted, unit.place)


# ---- Markdown


def read_markdown(path: Path, content: bytes, _: Languages) -> Document:
    """Paragraphs, headings, list items and table cells; code stays. markdown-it says where blocks are."""
    from markdown_it import MarkdownIt

    text, encoding = decode_text(path, content)
    front = regex.match(r"(?:---\r?\n.*?\n---\r?\n)", text, regex.DOTALL)
    shift = front.end() if front else 0
    starts = [shift, *[match.end() for match in regex.compile(r"\r\n?|\n").finditer(text, shift)], len(text)]
    units: list[Unit] = []
    done = shift
    for token in MarkdownIt("commonmark").enable("table").parse(text[shift:]):
        if token.type == "inline" and token.map and token.level <= 20:
            first, last = [starts[min(line, len(starts) - 1)] for line in token.map]
            for stretch in _stretches(text, max(done, first), last, token.content):
                units += _markdown_stretch(text, *stretch)
                done = stretch[1]
    return Document(text, units, encoding)


def _stretches(text: str, start: int, end: int, content: str) -> Iterator[tuple[int, int]]:
    """Where a block's text stands: as it is, or line by line where a quote or a list marks each of them."""
    place = text.find(content, start, end)
    if place >= 0:
        yield place, place + len(content)
        return
    for line in content.split("\n"):
        place = text.find(line, start, end) if line.strip() else -1
        if place >= 0:
            yield place, place + len(line)
            start = place + len(line)


def _markdown_stretch(text: str, start: int, end: int) -> Iterator[Unit]:
    for unit in _stretch(text, start, end):
        source, marks = tags_of_markdown(unit.sources[0])
        if has_letters(regex.sub(r"<[^>]*>", "", source)):
            yield Unit((source,), functools.partial(_fill_markdown, unit, marks), unit.place)


def _fill_markdown(unit: Unit, marks: dict[str, str], filled: Filled) -> list[Edit]:
    target = filled.texts[0]
    for tag, mark in marks.items():
        target = target.replace(tag, mark)
    return unit.fill(Filled((target,), filled.origin, filled.confidence))


_INLINE = regex.compile(
    r"""(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))
      | (?P<image>!\[[^\]]*\]\([^()\s]*(?:\s+"[^"]*")?\))
      | (?P<auto><(?:https?|mailto):[^<>\s]+>)
      | (?P<link>\[)(?=(?:[^\[\]]|\[[^\[\]]*\])+\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\]))
      | (?P<link_end>\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\]))
      | (?P<strong>\*\*|__(?=\w)|(?<=\w|[.!?)])__)
      | (?P<strike>~~)
      | (?P<em>(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<![\w_])_(?=\S)|(?<=\S)_(?![\w_]))""",
    regex.VERBOSE | regex.DOTALL,
)


def tags_of_markdown(text: str) -> tuple[str, dict[str, str]]:
    """Text with its inline marks as tags, and which tag stands for which mark: what a translation carries are tags."""
    matches = [*_INLINE.finditer(text)]
    tags = _paired_tags(matches)
    marks: dict[str, str] = {}
    parts, end = [], 0
    for number, match in enumerate(matches):
        tag = f"<code>{number}</code>" if match["code"] or match["image"] or match["auto"] else tags.get(number)
        if tag is not None:
            marks[tag] = match[0]
            parts += [text[end : match.start()], tag]
            end = match.end()
    return "".join([*parts, text[end:]]), marks


def _paired_tags(matches: list[regex.Match[str]]) -> dict[int, str]:
    """Tags for the marks that open and close something; what has no partner is ordinary text."""
    tags: dict[int, str] = {}
    opened: list[int] = []
    for number, match in enumerate(matches):
        if match["code"] or match["image"] or match["auto"]:
            continue
        opening = "[" if match["link_end"] else match[0]
        partner = next((other for other in reversed(opened) if matches[other][0] == opening), None)
        if partner is not None and not match["link"]:
            del opened[opened.index(partner) :]
            tags |= {partner: f"<m{partner}>", number: f"</m{partner}>"}
        elif not match["link_end"]:
            opened.append(number)
    return tags
