"""Reading bitexts: two line-parallel files, TSV or TMX; plain, .gz or .xz; never more than a line in memory."""

from __future__ import annotations

import contextlib
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from alidade.config import BitextSettings
from alidade.errors import AlidadeError, suggest_name
from alidade.io import count_lines, open_bytes, open_text
from alidade.text.languages import primary_language

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NATIVE_CODE_TAGS = {"bpt", "ept", "it", "ph", "ut"}
"""What TMX wraps around formatting codes, which are no text."""


class Pair(NamedTuple):
    """A sentence and its translation, as they stand in the bitext."""

    number: int
    """Counted from 0 over the whole bitext, before any choice among its pairs."""
    source: str
    target: str


def read_bitext(settings: BitextSettings, languages: tuple[str, str]) -> Iterator[Pair]:
    """The pairs of a bitext that its settings choose: of some domains only, or at most `cap` in even steps.

    languages: source and target; TMX files say which text is which.
    """
    chosen = _choose_domains(settings, _read_all(settings, languages))
    if settings.cap is None:
        yield from chosen
        return
    size = count_pairs(settings, languages)
    for index, pair in enumerate(chosen):
        if _is_taken(index, size, settings.cap):
            yield pair


def count_pairs(settings: BitextSettings, languages: tuple[str, str]) -> int:
    """How many pairs `read_bitext` would choose from if there were no cap.

    Files that do not fit together are found here, before any work is done.
    """
    size = count_raw_pairs(settings, languages)
    if settings.domains is None or not settings.only:
        return size
    with open_text(settings.domains) as lines:
        counts = dict.fromkeys(settings.only, 0)
        others: set[str] = set()
        for line in lines:
            domain = line.strip()
            if domain in counts:
                counts[domain] += 1
            else:
                others.add(domain)
    for domain, count in counts.items():
        if count == 0:
            raise AlidadeError(f'{settings.domains}: no pair has the domain "{domain}"{suggest_name(domain, others)}')
    return sum(counts.values())


def count_raw_pairs(settings: BitextSettings, languages: tuple[str, str]) -> int:
    """How many pairs stand in a bitext's files."""
    if settings.format == "tmx":
        size = sum(1 for _ in _read_tmx(settings.source, languages))
    else:
        size = count_lines(settings.source)
    for other in (settings.target, settings.domains):
        if other is not None and (other_size := count_lines(other)) != size:
            raise AlidadeError(
                f"{settings.source} has {size} lines but {other} has {other_size}: each pair needs one line in both"
            )
    return size


def read_parallel_lines(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The lines of two files side by side; a NUL byte, or another number of lines, is an error."""
    with open_text(source) as source_lines, open_text(target) as target_lines:
        pairs = itertools.zip_longest(source_lines, target_lines)
        for number, (source_line, target_line) in enumerate(pairs, start=1):
            if source_line is None or target_line is None:
                raise AlidadeError(
                    f"{source} has {count_lines(source)} lines but {target} has {count_lines(target)}: "
                    "a bitext needs as many on both sides"
                )
            _refuse_nul(source_line, source, number)
            _refuse_nul(target_line, target, number)
            yield source_line, target_line


def _read_all(settings: BitextSettings, languages: tuple[str, str]) -> Iterator[Pair]:
    match settings.format:
        case "lines":
            assert settings.target is not None, "checked when the settings were read"
            texts = read_parallel_lines(settings.source, settings.target)
        case "tsv":
            texts = _read_tsv(settings.source)
        case "tmx":
            texts = _read_tmx(settings.source, languages)
    return itertools.starmap(Pair, ((number, *text) for number, text in enumerate(texts)))


def _read_tsv(path: Path) -> Iterator[tuple[str, str]]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            _refuse_nul(line, path, number)
            fields = line.split("\t")
            if len(fields) < 2:
                raise AlidadeError(f"{path}, line {number}: no tab; a line needs a source, a tab and a target")
            yield fields[0], fields[1]


def _read_tmx(path: Path, languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_bytes(path))
        try:
            # Expat refuses entities that blow up, and external ones are never fetched.
            events = ET.iterparse(file, events=("start", "end"))  # noqa: S314
            _, root = next(events)
            for event, element in events:
                if event == "end" and element.tag == "tu":
                    texts = _texts_of_unit(element)
                    yield _text_in(languages[0], texts), _text_in(languages[1], texts)
                    root.clear()
                    element.clear()
        except ET.ParseError as error:
            line, column = error.position
            raise AlidadeError(f"{path}, line {line}, column {column}: not valid TMX ({error})") from None


def _texts_of_unit(unit: ET.Element) -> dict[str, str]:
    texts: dict[str, str] = {}
    for variant in unit.iter("tuv"):
        language = variant.get(_XML_LANGUAGE) or variant.get("lang") or ""
        segment = variant.find("seg")
        if segment is not None:
            texts[primary_language(language)] = _text_of_segment(segment)
    return texts


def _text_in(language: str, texts: dict[str, str]) -> str:
    """The text in a language, or an empty one, which cleaning counts."""
    return texts.get(primary_language(language), "")


def _text_of_segment(element: ET.Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag not in _NATIVE_CODE_TAGS:
            parts.append(_text_of_segment(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _choose_domains(settings: BitextSettings, pairs: Iterator[Pair]) -> Iterator[Pair]:
    if settings.domains is None or not settings.only:
        yield from pairs
        return
    wanted = frozenset(settings.only)
    with open_text(settings.domains) as domains:
        for pair, domain in zip(pairs, domains, strict=False):
            if domain.strip() in wanted:
                yield pair


def _is_taken(index: int, size: int, cap: int) -> bool:
    """Whether pair `index` of `size` is among the `cap` that lie in even steps."""
    return (index + 1) * cap // size > index * cap // size if cap < size else True


def _refuse_nul(line: str, path: Path, number: int) -> None:
    if "\0" in line:
        raise AlidadeError(
            f"{path}, line {number}: there is a NUL byte, which no text has; is the file UTF-16, or no text at all?"
        )
