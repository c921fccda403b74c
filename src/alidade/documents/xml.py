"""XML without trees that are printed again: elements with the places where they stand in the file.

Python's expat says where everything begins; that is enough to replace a stretch and leave the rest as it was. Entities
are not expanded and nothing is loaded from elsewhere, so that a file cannot blow itself up or look around.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import regex

from alidade.documents.document import decode_text
from alidade.errors import AlidadeError

MOST_DEPTH = 200


@dataclass(slots=True)
class Element:
    """An element and where it stands: text[start:end], its content text[inner_start:inner_end]."""

    name: str
    attributes: dict[str, str]
    start: int
    inner_start: int
    inner_end: int = 0
    end: int = 0
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)

    @property
    def local_name(self) -> str:
        return self.name.rpartition(":")[2]

    @property
    def is_empty(self) -> bool:
        """Written as `<x/>`."""
        return self.inner_start == self.end

    def find(self, name: str) -> Element | None:
        """The first child with a name, without regard to its prefix."""
        return next((child for child in self.children if child.local_name == name), None)

    def walk(self) -> Iterator[Element]:
        """This element and all inside it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()

    def inner(self, text: str) -> str:
        """The content as it is written, tags and entities included."""
        return "" if self.is_empty else text[self.inner_start : self.inner_end]


@dataclass(frozen=True, slots=True)
class XmlFile:
    """An XML file's text and its root element."""

    text: str
    encoding: str
    root: Element
    declaration: tuple[int, int] | None
    """Where it names its encoding."""


def read_xml(path: Path, content: bytes) -> XmlFile:
    """Parse a file, or say in which line it is broken."""
    declared = regex.search(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""", content[:200])
    text, encoding = decode_text(path, content, declared[1].decode() if declared else None)
    return XmlFile(text, encoding, parse_xml(path, text), declared.span(1) if declared else None)


def parse_xml(path: Path, text: str) -> Element:
    """The root element of a text."""
    body = text.removeprefix("\ufeff")
    try:
        return _Parser(body, len(text) - len(body)).parse()
    except expat.ExpatError as error:
        raise AlidadeError(f"{path}, line {error.lineno}: broken XML: {expat.ErrorString(error.code)}") from None
    except (RecursionError, _TooDeepError):
        raise AlidadeError(f"{path}: its elements are nested more than {MOST_DEPTH} deep") from None


class _TooDeepError(Exception):
    pass


class _Parser:
    def __init__(self, text: str, shift: int) -> None:
        self.content = text.encode("utf-8", errors="surrogatepass")
        self.is_ascii = len(self.content) == len(text)
        self.shift = shift
        self.last_byte = self.last_place = 0
        self.stack: list[Element] = []
        self.root: Element | None = None
        self.opened: Element | None = None
        """An element whose start tag has been read last: its end is known with the next event."""

    def parse(self) -> Element:
        parser = expat.ParserCreate("utf-8")  # the text is decoded already, whatever it declares
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        # With this, internal entities are handed over as they are written.
        parser.DefaultHandler = lambda _: self._place()
        parser.CharacterDataHandler = lambda _: self._place()
        parser.buffer_text = False
        self.parser = parser
        parser.Parse(self.content, True)
        assert self.root is not None, "expat has seen an element"
        return self.root

    def _place(self) -> int:
        """Where the present event begins in the text."""
        byte = self.parser.CurrentByteIndex
        if self.is_ascii:
            place = byte + self.shift
        else:
            self.last_place += len(self.content[self.last_byte : byte].decode("utf-8", errors="surrogatepass"))
            self.last_byte = byte
            place = self.last_place + self.shift
        return place

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        start = self._place()
        if len(self.stack) >= MOST_DEPTH:
            raise _TooDeepError
        parent = self.stack[-1] if self.stack else None
        tag = self._tag()
        element = Element(name, attributes, start, start + len(tag), parent=parent)
        if tag.endswith("/>"):
            element.inner_end = element.end = element.inner_start
        if parent is not None:
            parent.children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def _tag(self) -> str:
        """The start tag at the present place."""
        byte = self.parser.CurrentByteIndex
        match = _START_TAG.match(self.content, byte)
        assert match is not None, "expat has read a start tag here"
        return match[0].decode("utf-8", errors="surrogatepass")

    def _end(self, _: str) -> None:
        element = self.stack.pop()
        if element.end:  # <x/>
            return
        place = self._place()
        element.inner_end = place
        tag_end = self.content.index(b">", self.parser.CurrentByteIndex) + 1
        element.end = place + len(self.content[self.parser.CurrentByteIndex : tag_end].decode())


_START_TAG = regex.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*+>""")


def escape_text(text: str) -> str:
    """Plain text as XML writes it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_text(text: str) -> str:
    """XML's own five entities and numbers as the characters that they mean."""
    return _ENTITY.sub(_character, text)


_ENTITY = regex.compile(r"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def _character(match: regex.Match[str]) -> str:
    if match[1]:
        return _CHARACTERS[match[1]]
    number = int(match[2]) if match[2] else int(match[3], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else match[0]


def readable(content: str) -> str:
    """The content of an element as it is to be translated: what stands in a CDATA section is a text of its own."""
    section = _CDATA.fullmatch(content)
    return section["text"] if section else content


_CDATA = regex.compile(
    r"(?P<start>\s*<!\[CDATA\[)(?P<text>(?:(?!\]\]>|<!\[CDATA\[).)*+)(?P<end>\]\]>\s*)", regex.DOTALL
)


def mend_markup(target: str, source: str) -> str:
    """A translation of an element's content, with everything escaped that XML would read as a new tag or entity."""
    section = _CDATA.fullmatch(source)
    if section:
        return section["start"] + target.replace("]]>", "]]]]><![CDATA[>") + section["end"]
    tags = set(_TAG.findall(source))
    parts = _TAG.split(target)
    found = _TAG.findall(target)
    texts = [_LONE_AMPERSAND.sub("&amp;", part).replace("<", "&lt;") for part in parts]
    kept = [tag if tag in tags else tag.replace("<", "&lt;") for tag in found]
    return "".join([piece for pair in zip(texts, [*kept, ""], strict=True) for piece in pair])


_TAG = regex.compile(r"""<!\[CDATA\[.*?\]\]>|</?[A-Za-z](?:[^"'<>]|"[^"<]*"|'[^'<]*')*+>|<!--.*?-->""", regex.DOTALL)
_LONE_AMPERSAND = regex.compile(r"&(?!(?:[A-Za-z][\w.]*|#\d+|#x[0-9a-fA-F]+);)")


def indentation(text: str, place: int) -> str:
    """The line break and white space before a place, if nothing else stands before it on its line."""
    start = text.rfind("\n", 0, place)
    if start < 0 or text[start:place].strip():
        return ""
    return text[start - 1 if text[start - 1 : start] == "\r" else start : place]
