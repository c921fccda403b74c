"""Links and alignments: the type that the aligner, the positions, the metrics and the pictures share.

In files an alignment is a line of Pharaoh links, `0-0 1-2`: source word, hyphen, target word, counted from 0.
Gold alignments (Och and Ney, 2000) also have possible links, `2p3`, which a person may or may not draw, and
usually count from 1.


Alignment error rate against hand-made alignments (Och and Ney, 2000).

With links A of the aligner, sure links S and allowed links P (the sure ones among them) of a person:

    precision = |A ∩ P| / |A|    recall = |A ∩ S| / |S|    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All counts are summed over the corpus before dividing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

from alidade.errors import AlidadeError


class Link(NamedTuple):
    """A source word and a target word that translate each other, both counted from 0."""

    source: int
    target: int

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True, slots=True)
class Alignment:
    """A set of links between the words (or pieces) of a source and a target sentence."""

    links: frozenset[Link] = frozenset()

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Self:
        """An alignment from (source, target) pairs."""
        return cls(frozenset(map(Link._make, pairs)))

    @classmethod
    def parse(cls, line: str, *, one_based: bool = False) -> Self:
        """Read Pharaoh links, `0-0 1-2`; with `one_based` the first word is 1."""
        first = 1 if one_based else 0
        return cls(frozenset([_parse_link(text, "-", first) for text in line.split()]))

    def format(self, *, one_based: bool = False) -> str:
        """Write Pharaoh links, ordered by source and then target word."""
        first = 1 if one_based else 0
        return " ".join([f"{source + first}-{target + first}" for source, target in self])

    def transposed(self) -> Self:
        """The same links with source and target exchanged."""
        return type(self)(frozenset([Link(target, source) for source, target in self.links]))

    def require_inside(self, num_source: int, num_target: int, place: str) -> None:
        """Raise if a link points outside a pair of `num_source` and `num_target` units; `place` says where it stood."""
        for link in self.links:
            if link.source >= num_source or link.target >= num_target:
                raise AlidadeError(
                    f"{place}: link {link} is outside the pair, which has {num_source} source and {num_target} target "
                    "units counted from 0; was the file made from another text, or does it count from 1?"
                )

    def __iter__(self) -> Iterator[Link]:
        return iter(sorted(self.links))

    def __len__(self) -> int:
        return len(self.links)

    def __contains__(self, link: object) -> bool:
        return link in self.links

    def __str__(self) -> str:
        return self.format()


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """A hand-made alignment: sure links, and further links that are possible but not demanded."""

    sure: Alignment
    possible: Alignment
    """Without the sure links, which are possible too (`allowed`)."""

    @classmethod
    def parse(cls, line: str, *, one_based: bool = False) -> Self:
        """Read sure links `2-3` and possible links `2p3`."""
        first = 1 if one_based else 0
        fields = line.split()
        sure = frozenset([_parse_link(text, "-", first) for text in fields if "p" not in text])
        possible = frozenset([_parse_link(text, "p", first) for text in fields if "p" in text])
        return cls(Alignment(sure), Alignment(possible - sure))

    @property
    def allowed(self) -> frozenset[Link]:
        """Links that are no error: the sure and the possible ones."""
        return self.sure.links | self.possible.links

    def transposed(self) -> Self:
        """The same links with source and target exchanged."""
        return type(self)(self.sure.transposed(), self.possible.transposed())


@functools.lru_cache(maxsize=1 << 16)  # a corpus has millions of links, but few different ones
def _parse_link(text: str, separator: str, first: int) -> Link:
    source, _, target = text.partition(separator)
    if not (_is_number(source) and _is_number(target)):
        wanted = "a link is two numbers with a hyphen between, like 3-4" if separator == "-" else "like 3p4"
        raise AlidadeError(f'"{text}" is not a link: {wanted}')
    link = Link(int(source) - first, int(target) - first)
    if link.source < 0 or link.target < 0:
        raise AlidadeError(f'link "{text}" has a 0, but was read as counting from 1; read it as counting from 0')
    return link


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


@dataclass(frozen=True, slots=True)
class AlignmentErrorRate:
    """Counts over a corpus, and the rates they give. Prints itself with what it was counted on."""

    num_pairs: int
    num_links: int
    num_sure: int
    num_possible: int
    """Possible links that are not sure."""
    num_sure_found: int
    num_allowed_found: int

    @property
    def precision(self) -> float:
        """Share of the aligner's links that a person allows; 1 if there are none."""
        return _share(self.num_allowed_found, self.num_links)

    @property
    def recall(self) -> float:
        """Share of the sure links that the aligner found; 1 if there are none."""
        return _share(self.num_sure_found, self.num_sure)

    @property
    def error_rate(self) -> float:
        """The alignment error rate; 0 is perfect."""
        return 1.0 - _share(self.num_sure_found + self.num_allowed_found, self.num_links + self.num_sure)

    def __str__(self) -> str:
        return (
            f"AER = {100 * self.error_rate:.1f} (precision {100 * self.precision:.1f}, recall {100 * self.recall:.1f})"
            f" | pairs:{self.num_pairs} links:{self.num_links} sure:{self.num_sure} possible:{self.num_possible}"
        )


def alignment_error_rate(hypotheses: Iterable[Alignment], golds: Iterable[GoldAlignment]) -> AlignmentErrorRate:
    """Compare an aligner's links with gold links, pair by pair."""
    counts = [0] * 6
    try:
        for hypothesis, gold in zip(hypotheses, golds, strict=True):
            counts = [count + more for count, more in zip(counts, _counts_of_pair(hypothesis, gold), strict=True)]
    except ValueError as error:
        raise AlidadeError(
            f"the hypothesis and the gold alignments need as many lines; one ends after {counts[0]} pairs ({error})"
        ) from None
    return AlignmentErrorRate(*counts)


def _counts_of_pair(hypothesis: Alignment, gold: GoldAlignment) -> tuple[int, int, int, int, int, int]:
    sure_found = len(hypothesis.links & gold.sure.links)
    allowed_found = len(hypothesis.links & gold.allowed)
    return 1, len(hypothesis), len(gold.sure), len(gold.possible), sure_found, allowed_found


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
