"""Mozilla's Fluent: messages, their attributes, and choices between variants.

A choice by number gets the plural categories of the target language. Text around a choice ("Close { $n -> … } now?")
goes into each of its variants, since sentences are translated whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from alidade.documents.document import Document, Edit, Filled, Unit, decode_text, has_letters, line_of
from alidade.errors import AlidadeError
from alidade.text.plurals import CATEGORIES, plural_categories

Languages = tuple[str, str]


def read_fluent(path: Path, content: bytes, languages: Languages) -> Document:
    """The texts of messages and attributes; of a choice, each variant's."""
    from fluent.syntax import FluentParser, ast

    text, encoding = decode_text(path, content)
    units: list[Unit] = []
    for entry in FluentParser().parse(text).body:
        if isinstance(entry, ast.Junk):
            line = line_of(text, entry.span.start if entry.span else 0)
            raise AlidadeError(f"{path}, line {line}: broken Fluent: {entry.annotations[0].message}")
        if isinstance(entry, ast.Message | ast.Term):
            patterns = [entry.value, *[attribute.value for attribute in entry.attributes]]
            for pattern in patterns:
                units += _units(text, pattern, languages[1]) if pattern is not None else ()
    return Document(text, units, encoding)


def _units(text: str, pattern: Any, language: str) -> Iterator[Unit]:
    choices = _choices(pattern)
    start, end = pattern.span.start, pattern.span.end
    if len(choices) == 1 and not any(_choices(variant.value) for variant in choices[0].expression.variants):
        space = len(text[start:end]) - len(text[start:end].lstrip())
        choice = _Choice(text, start + space, end, choices[0])
        if choice.is_counting or choice.is_inside:
            yield from choice.unit(choice.missing(language))
            return
    if choices:
        for choice in choices:
            for variant in choice.expression.variants:
                yield from _units(text, variant.value, language)
    elif _has_text(pattern):
        yield Unit((text[start:end],), lambda filled: [Edit(start, end, filled.texts[0])], _place(text, start))


def _choices(pattern: Any) -> list[Any]:
    from fluent.syntax import ast

    return [
        element
        for element in pattern.elements
        if isinstance(element, ast.Placeable) and isinstance(element.expression, ast.SelectExpression)
    ]


def _has_text(pattern: Any) -> bool:
    from fluent.syntax import ast

    return any(isinstance(element, ast.TextElement) and has_letters(element.value) for element in pattern.elements)


def _place(text: str, start: int) -> str:
    return f"line {line_of(text, start)}"


class _Choice(NamedTuple):
    """The only choice of a pattern, which stands from start to end."""

    text: str
    start: int
    end: int
    placeable: Any

    @property
    def variants(self) -> Sequence[Any]:
        return self.placeable.expression.variants  # type: ignore[no-any-return]

    @property
    def is_inside(self) -> bool:
        """Whether the pattern has text beside the choice."""
        return has_letters(self.before + self.after)

    @property
    def before(self) -> str:
        return self.text[self.start : self.placeable.span.start]

    @property
    def after(self) -> str:
        return self.text[self.placeable.span.end : self.end]

    @property
    def is_counting(self) -> bool:
        """Whether it chooses by number: all its variants are numbers or plural categories, the default is "other"."""
        from fluent.syntax import ast

        names = [variant.key.name for variant in self.variants if isinstance(variant.key, ast.Identifier)]
        is_default = any(variant.default and _name(variant) == "other" for variant in self.variants)
        return is_default and set(names) <= CATEGORIES

    def missing(self, language: str) -> list[str]:
        """The target language's categories that have no variant."""
        if not self.is_counting:
            return []
        selector = self.placeable.expression.selector
        is_ordinal = "ordinal" in self.text[selector.span.start : selector.span.end]
        present = [_name(variant) for variant in self.variants]
        return [
            name for name in plural_categories(language, "ordinal" if is_ordinal else "cardinal") if name not in present
        ]

    def unit(self, missing: Sequence[str]) -> Iterator[Unit]:
        """One unit for all variants; those that are missing stand before the default, and say what it says."""
        if not self.is_inside and not any(_has_text(variant.value) for variant in self.variants):
            return
        forms = [variant for one in self.variants for variant in ([one] * (1 + len(missing) * one.default))]
        sources = [self.before + self._text_of(variant) + self.after for variant in forms]
        several = [_name(variant) != "one" for variant in forms]
        is_plural = self.is_counting and forms[-1].default  # the last form is for the largest numbers
        place = _place(self.text, self.start)
        yield Unit(tuple(sources), lambda filled: self._fill(missing, filled), place, (), tuple(several) * is_plural)

    def _text_of(self, variant: Any) -> str:
        return self.text[variant.value.span.start : variant.value.span.end]

    def _fill(self, missing: Sequence[str], filled: Filled) -> list[Edit]:
        edits = [Edit(self.start, self.placeable.span.start, ""), Edit(self.placeable.span.end, self.end, "")]
        texts = iter(filled.texts)
        for variant in self.variants:
            for name in missing if variant.default else ():
                line = self.text.rfind("\n", 0, variant.span.start) + 1
                indentation = self.text[line : variant.span.start] + " "  # in the place of the default's star
                edits.append(Edit(line, line, f"{indentation}[{name}] {next(texts)}\n"))
            edits.append(Edit(variant.value.span.start, variant.value.span.end, next(texts)))
        return edits


def _name(variant: Any) -> str:
    return str(getattr(variant.key, "name", ""))
