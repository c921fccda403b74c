"""Catalogues of keys and texts: JSON, ARB and YAML, Java's .properties, Apple's .strings."""

from __future__ import annotations

import functools
import json
import json.scanner
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import regex

from alidade.documents.document import Document, Edit, Fill, Filled, Unit, decode_text, has_letters, line_of
from alidade.errors import AlidadeError
from alidade.text.plurals import CATEGORIES, plural_categories

Languages = tuple[str, str]


def _replacing(start: int, end: int, write: Callable[[str], str]) -> Callable[[Filled], list[Edit]]:
    return lambda filled: [Edit(start, end, write(filled.texts[0]))]


def read_json_catalogue(path: Path, content: bytes, languages: Languages) -> Document:
    """The strings of a JSON file; keys, and what ARB and Chrome say about messages, stay."""
    text, encoding = decode_text(path, content)
    units = []
    write = functools.partial(_json_string, is_ascii=text.isascii() and "\\u" in text)
    strings = [*_JsonStrings(path, text).strings()]
    names = {one.keys for one in strings}
    for one in strings:
        if has_letters(one.value) and not _is_metadata(one.keys) and _is_message(one.keys, text):
            missing = _missing_keys(one.keys, names, languages[1])
            fill = functools.partial(_fill_json, text, one, missing, write)
            units.append(_with_categories(one.value, missing, fill, f"line {line_of(text, one.start)}"))
    edits = _arb_locale(text, languages)
    return Document(text, units, encoding, edits)


def _with_categories(value: str, missing: Sequence[str], fill: Fill, place: str) -> Unit:
    """A unit for the plural form "other", and for categories of the target language that are missing before it."""
    if not missing:
        return Unit((value,), fill, place)
    num_forms = len(missing) + 1
    return Unit((value,) * num_forms, fill, place, (), (True,) * num_forms)


class _JsonString(NamedTuple):
    """A string that is no key, quotes included, and where its key stands."""

    keys: tuple[str, ...]
    key_start: int
    start: int
    end: int
    value: str


def _missing_keys(keys: tuple[str, ...], names: Set[tuple[str, ...]], language: str) -> list[str]:
    """i18next's plurals are keys with an ending, files_one and files_other: those that the target language needs."""
    stem, _, ending = keys[-1].rpartition("_") if keys else ("", "", "")
    present = [name for name in CATEGORIES if (*keys[:-1], f"{stem}_{name}") in names]
    if ending != "other" or len(present) < 2:
        return []
    wanted = plural_categories(language, "ordinal" if stem.endswith("_ordinal") else "cardinal")
    return [f"{stem}_{name}" for name in wanted if name not in present]


def _fill_json(
    text: str, one: _JsonString, missing: Sequence[str], write: Callable[[str], str], filled: Filled
) -> list[Edit]:
    before = text[: one.key_start]
    gap = before[len(before.rstrip()) :] or " "
    added = [f"{write(name)}: {write(form)},{gap}" for name, form in zip(missing, filled.texts[:-1], strict=True)]
    return [Edit(one.key_start, one.key_start, "".join(added)), Edit(one.start, one.end, write(filled.texts[-1]))]


def _json_string(text: str, *, is_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)


def _is_metadata(keys: tuple[str, ...]) -> bool:
    return any(key.startswith(("@", "$")) for key in keys)


def _is_message(keys: tuple[str, ...], text: str) -> bool:
    """In Chrome's messages.json only "message" is text; "description" and "placeholders" are about it."""
    if not _CHROME.search(text):
        return True
    return len(keys) == 2 and keys[1] == "message"


_CHROME = regex.compile(r'^\s*\{\s*"[^"]+"\s*:\s*\{[^{}]*"message"\s*:')


def _arb_locale(text: str, languages: Languages) -> list[Edit]:
    match = regex.search(r'"@@locale"\s*:\s*"([^"]*)"', text)
    return [Edit(match.start(1), match.end(1), languages[1])] if match else []


class _JsonStrings:
    """Finds the strings of a JSON text and where they stand."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.body = text.removeprefix("\ufeff")
        self.shift = len(text) - len(self.body)

    def strings(self) -> Iterator[_JsonString]:
        """Each string that is no key."""
        try:
            json.loads(self.body)
        except json.JSONDecodeError as error:
            raise AlidadeError(f"{self.path}, line {error.lineno}: broken JSON: {error.msg}") from None
        except RecursionError:
            raise AlidadeError(f"{self.path}: its values are nested too deep") from None
        stack: list[list[str | int]] = []  # the key, or the number of the item, in each container
        kinds: list[str] = []
        is_key = False
        key_start = 0
        for match in _JSON_LEXEME.finditer(self.body):
            lexeme = match[0]
            if lexeme in "{[":
                kinds.append(lexeme)
                stack.append(["" if lexeme == "{" else 0])
                is_key = lexeme == "{"
            elif lexeme in "}]":
                kinds.pop()
                stack.pop()
                is_key = False
            elif lexeme == ",":
                is_key = bool(kinds) and kinds[-1] == "{"
            elif lexeme == ":":
                is_key = False
            elif is_key:
                stack[-1][0] = json.loads(lexeme)
                key_start = match.start() + self.shift
            else:
                keys = tuple([str(level[0]) for level, kind in zip(stack, kinds, strict=True) if kind == "{"])
                start, end = match.start() + self.shift, match.end() + self.shift
                yield _JsonString(keys, key_start, start, end, json.loads(lexeme))


_JSON_LEXEME = regex.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]')


def read_yaml_catalogue(path: Path, content: bytes, languages: Languages) -> Document:
    """The texts of a YAML file, Rails' for instance; its one top key, if it names the language, is exchanged."""
    import yaml

    text, encoding = decode_text(path, content)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise AlidadeError(f"{path}, line {line}: broken YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise AlidadeError(f"{path}: broken YAML: {error}") from None
    units = []
    for node, key, missing in _yaml_texts(root, languages[1]):
        if has_letters(node.value):
            start = _yaml_start(text, node)
            before = text[text.rfind("\n", 0, start) + 1 : start]
            is_flow = "{" in before or "[" in before
            write = _yaml_writer(text, node, is_flow=is_flow)
            span = start, node.end_mark.index
            fill = functools.partial(_fill_yaml, span, key, [] if is_flow else missing, write)
            place = f"line {line_of(text, start)}"
            units.append(_with_categories(node.value, [] if is_flow else missing, fill, place))
    edits = []
    if isinstance(root, yaml.MappingNode) and len(root.value) == 1 and root.value[0][0].value == languages[0]:
        key = root.value[0][0]
        edits = [Edit(key.start_mark.index, key.end_mark.index, languages[1])]
    return Document(text, units, encoding, edits)


def _yaml_texts(root: Any, language: str) -> Iterator[tuple[Any, Any, list[str]]]:
    """The scalars that are values and texts, each once (aliases point at what has been seen), and their keys.

    Rails' plurals are mappings from categories: with "other" come those that the target language needs and lacks here.
    """
    import yaml

    seen: set[int] = set()
    pending: list[tuple[Any, Any, list[str]]] = [(root, None, [])]
    while pending:
        node, key, missing = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            present = [name.value for name, _ in node.value]
            is_plural = "other" in present and len(present) > 1 and CATEGORIES.issuperset(present)
            missing = [name for name in plural_categories(language) if name not in present] if is_plural else []
            pending += [(value, name, missing if name.value == "other" else []) for name, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            pending += [(value, None, []) for value in reversed(node.value)]
        elif isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            yield node, key, missing


def _yaml_start(text: str, node: Any) -> int:
    """Where a scalar begins, after its anchor and its tag."""
    start: int = _YAML_PROPERTIES.match(text, node.start_mark.index).end()  # type: ignore[union-attr]
    return start


_YAML_PROPERTIES = regex.compile(r"(?:[&!]\S*\s+)*+")


def _fill_yaml(
    span: tuple[int, int], key: Any, missing: Sequence[str], write: Callable[[str], str], filled: Filled
) -> list[Edit]:
    edits = [Edit(*span, write(filled.texts[-1]))]
    if missing:
        place, gap = key.start_mark.index, "\n" + " " * key.start_mark.column
        added = [f"{name}: {write(form).rstrip()}{gap}" for name, form in zip(missing, filled.texts[:-1], strict=True)]
        edits.append(Edit(place, place, "".join(added)))
    return edits


def _yaml_writer(source: str, node: Any, *, is_flow: bool) -> Callable[[str], str]:
    """A scalar in the style that it had, or in double quotes where that would be read as something else."""

    def write(text: str) -> str:
        if node.style in ("|", ">"):
            return _yaml_block(source[_yaml_start(source, node) : node.end_mark.index], node, text)
        if node.style == "'" and "\n" not in text:
            return "'" + text.replace("'", "''") + "'"
        if node.style is None and _is_plain_yaml(text, is_flow=is_flow):
            return text
        return json.dumps(text, ensure_ascii=False)

    return write


def _yaml_block(old: str, node: Any, text: str) -> str:
    """A block of lines with new ones; in a folded block a single line break is a space."""
    newline = "\r\n" if "\r\n" in old else "\n"
    header, _, body = old.partition("\n")
    first, value = [next(filter(str.strip, lines.splitlines())) for lines in (body, node.value)]
    indentation = " " * (len(first) - len(first.lstrip(" ")) - (len(value) - len(value.lstrip(" "))))
    lines = text.strip("\n").replace("\n", "\n\n" if node.style == ">" else "\n").split("\n")
    written = newline.join([indentation + line if line else "" for line in lines])
    return f"{header}\n{written}{old[len(old.rstrip()) :]}"


def _is_plain_yaml(text: str, *, is_flow: bool) -> bool:
    import yaml

    if "\n" in text or ": " in text or " #" in text:
        return False
    try:
        return bool(yaml.safe_load(f"[{text}]" if is_flow else f"- {text}") == [text])
    except yaml.YAMLError:
        return False


_PROPERTY = regex.compile(
    r"^[ \t\f]*(?P<key>(?:[^\s=:#!\\]|\\.)(?:[^\s=:\\]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*|(?<=[ \t\f]))"
    r"(?P<value>(?:[^\\\r\n]|\\\r?\n|\\.)*)$",
    regex.MULTILINE,
)


def read_properties(path: Path, content: bytes, _: Languages) -> Document:
    """Java's .properties."""
    try:
        text, encoding = decode_text(path, content)
    except AlidadeError:
        text, encoding = decode_text(path, content, "latin-1")  # what Java read before version 9
    is_escaped = encoding == "latin-1" or (text.isascii() and regex.search(r"\\u[0-9a-fA-F]{4}", text) is not None)
    units = []
    for match in _PROPERTY.finditer(text):
        value = _property_value(match["value"])
        if has_letters(value):
            write = functools.partial(_property_text, is_escaped=is_escaped)
            start, end = match.span("value")
            units.append(Unit((value,), _replacing(start, end, write), f"line {line_of(text, match.start())}"))
    return Document(text, units, encoding)


def _property_value(value: str) -> str:
    value = regex.sub(r"\\\r?\n[ \t\f]*", "", value)
    names = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}

    def character(match: regex.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else names.get(match[2], match[2])

    return regex.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", character, value)


def _property_text(text: str, *, is_escaped: bool) -> str:
    for character, written in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\f", "\\f")):
        text = text.replace(character, written)
    if text.startswith(" "):
        text = "\\" + text
    if not is_escaped:
        return text
    return "".join([c if c.isascii() else "".join(_utf16_escapes(c)) for c in text])


def _utf16_escapes(character: str) -> Iterator[str]:
    units = character.encode("utf-16-be")
    for place in range(0, len(units), 2):
        yield f"\\u{units[place]:02x}{units[place + 1]:02x}"


_APPLE_STRING = regex.compile(
    r"""(?:/\*.*?\*/|//[^\n]*)|(?P<key>"(?:[^"\\]|\\.)*"|[\w.]+)\s*=\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*;""", regex.DOTALL
)


def read_apple_strings(path: Path, content: bytes, _: Languages) -> Document:
    """Apple's .strings: UTF-16 with a mark, or UTF-8."""
    text, encoding = decode_text(path, content)
    units = []
    for match in _APPLE_STRING.finditer(text):
        if match["key"] is None:
            continue
        value = regex.sub(r'\\(["\'])', r"\1", match["value"])
        if has_letters(value):
            start, end = match.span("value")
            units.append(Unit((value,), _replacing(start, end, _apple_text), f"line {line_of(text, match.start())}"))
    return Document(text, units, encoding)


def _apple_text(text: str) -> str:
    return text.replace('"', '\\"').replace("\n", "\\n")
