"""A sentence pair and its links in a terminal: under each target word stands the source word that it comes from.

    source  Ein  Mann  schläft  tief  .
             1    2       3      4    5
    target   A   man   is  sound  asleep   .
    from    Ein  Mann  –   tief   schläft  .
             1    2          4       3     5

Words that belong together have one colour, but nothing is told by colour alone: the picture survives a pipe.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from alidade.alignment.links import Alignment, Link

if TYPE_CHECKING:
    from alidade.translation import Translation

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")
"""Neighbouring source words get neighbouring colours of this ring."""
NO_LINK = "–"
UNSURE = 0.5
"""Links with a lower confidence are dim."""

_GAP = 2
_MARGIN = len("target") + _GAP
_DIM = Style(dim=True)
_PLAIN = Style()


def picture_of(translation: Translation) -> LinkedPair:
    """A translation that has links, to be printed; words from the dictionary are starred."""
    assert translation.alignment is not None
    return LinkedPair(
        [word.text for word in translation.source.words],
        [word.text for word in translation.target.words],
        translation.alignment,
        translation.confidences,
        translation.target_words_from_dictionary,
    )


@dataclass(frozen=True, slots=True)
class LinkedPair:
    """A pair to print with a rich console: `Console().print(LinkedPair(source, target, alignment))`."""

    source: Sequence[str]
    target: Sequence[str]
    alignment: Alignment
    confidences: Mapping[Link, float] | None = None
    """From 0 to 1 for each link; printed in per cent below it."""
    fixed: Collection[int] = ()
    """Target words that a dictionary entry has fixed; they get a star."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield from _rows(["source", ""], self._source_columns(), width)
        labels = ["target", "from", "", "sure"] if self.confidences is not None else ["target", "from", ""]
        yield from _rows(labels, self._target_columns(), width)

    def _source_columns(self) -> Iterator[list[Text]]:
        linked = {link.source for link in self.alignment}
        for number, word in enumerate(self.source):
            style = _colour(number) if number in linked else _DIM
            yield [Text(word, style), Text(str(number + 1) if number in linked else NO_LINK, _DIM)]

    def _target_columns(self) -> Iterator[list[Text]]:
        links_of: list[list[Link]] = [[] for _ in self.target]
        for link in self.alignment:
            links_of[link.target].append(link)
        for number, (word, links) in enumerate(zip(self.target, links_of, strict=True)):
            style = _colour(links[0].source) if links else _DIM
            yield [
                Text(f"{word}*" if number in self.fixed else word, style + Style(bold=number in self.fixed)),
                Text(" ").join(Text(self.source[link.source], self._style(link)) for link in links)
                if links
                else Text(NO_LINK, _DIM),
                Text(" ".join(str(link.source + 1) for link in links), _DIM),
                *self._confidence_cell(links),
            ]

    def _confidence_cell(self, links: list[Link]) -> Iterator[Text]:
        if self.confidences is not None:
            known = [self.confidences[link] for link in links if link in self.confidences]
            yield Text(" ".join(f"{100 * confidence:.0f}" for confidence in known), _DIM)

    def _style(self, link: Link) -> Style:
        is_unsure = self.confidences is not None and self.confidences.get(link, 1.0) < UNSURE
        return _colour(link.source) + (_DIM if is_unsure else _PLAIN)


def _colour(source_word: int) -> Style:
    return Style(color=COLOURS[source_word % len(COLOURS)])


def _rows(labels: list[str], columns: Iterator[list[Text]], width: int) -> Iterator[Text]:
    """Columns of cells side by side, in as many blocks of rows as the width makes necessary."""
    for number_of_block, block in enumerate(_blocks(columns, width - _MARGIN)):
        if number_of_block > 0:
            yield Text("")
        for number, label in enumerate(labels):
            cells = [(cells[number], column_width) for cells, column_width in block]
            if any(cell.plain for cell, _ in cells):
                yield _row(label, cells)


def _row(label: str, cells: list[tuple[Text, int]]) -> Text:
    row = Text(no_wrap=True, overflow="ignore")
    row.append(label.ljust(_MARGIN), _DIM)
    for cell, width in cells:
        row.append_text(_centred(cell, width)).append(" " * _GAP)
    row.rstrip()
    return row


def _blocks(columns: Iterator[list[Text]], width: int) -> Iterator[list[tuple[list[Text], int]]]:
    block: list[tuple[list[Text], int]] = []
    used = 0
    for cells in columns:
        column_width = max(cell.cell_len for cell in cells)
        if block and used + column_width > width:
            yield block
            block, used = [], 0
        block.append((cells, column_width))
        used += column_width + _GAP
    if block:
        yield block


def _centred(cell: Text, width: int) -> Text:
    space = width - cell.cell_len
    return Text.assemble(" " * (space // 2), cell, " " * (space - space // 2))
