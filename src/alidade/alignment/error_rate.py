"""Alignment error rate against hand-made alignments (Och and Ney, 2000).

With links A of the aligner, sure links S and allowed links P (the sure ones among them) of a person:

    precision = |A ∩ P| / |A|    recall = |A ∩ S| / |S|    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All counts are summed over the corpus before dividing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from alidade.alignment.links import Alignment, GoldAlignment
from alidade.errors import AlidadeError


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
