"""Forced alignment: the links of given pairs, found by a translation system. Any bitext can be aligned with it.

An assisted system is asked how likely each position of the given target is under its lexical and its alignment model:
the search with the whole target given. Words whose probability is high enough are linked, others are not; or each
target piece is linked where the best path puts it. A baseline is asked where its attention is greatest (paper, section
5).

Two systems, one for each direction, have two opinions: the mean of their probabilities decides, or two alignments
are symmetrised as those of statistical aligners are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from alidade.alignment.links import Alignment
from alidade.alignment.positions import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_shares,
    links_of_words,
    shares_of_words,
)
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.errors import AlidadeError
from alidade.search.scoring import align_targets
from alidade.text.subwords import Encoding, Subwords
from alidade.text.tokenised import encode_tokenised
from alidade.translator import Translation, Translator

TextPair = tuple[str, str]
Evidence = Literal["posteriors", "path", "attention"]
"""What links words: how likely positions are, the best path of positions, or attention."""
Joining = Symmetrisation | Literal["mean"]
"""How two directions become one alignment."""

THRESHOLD = 0.3
"""Words are linked if their (mean) probability is at least this: the lowest alignment error on half of the
Romanian–English gold pairs (experiments/LOG.md)."""


def align_pairs(
    translator: Translator,
    pairs: Sequence[TextPair],
    *,
    is_tokenised: bool = False,
    by: Evidence | None = None,
    threshold: float = THRESHOLD,
) -> list[Translation]:
    """The given targets as translations of their sources, with links of words; scores are left at zero.

    is_tokenised: words are what stands between spaces, not what `split_words` says. by: None is what suits the system
    best, posteriors if it is assisted and attention if not. threshold: for posteriors.
    """
    return [one.linked(threshold) for one in _read(translator, pairs, is_tokenised, by)]


def align_both_ways(
    forward: Translator,
    reverse: Translator,
    pairs: Sequence[TextPair],
    joining: Joining | None = None,
    *,
    is_tokenised: bool = False,
    by: Evidence | None = None,
    threshold: float = THRESHOLD,
) -> list[Alignment]:
    """Links of words from a system for each direction; `reverse` translates target into source.

    joining: None is the mean of posteriors, or grow-diag-final-and of other evidence.
    """
    flipped = [(target, source) for source, target in pairs]
    there = _read(forward, pairs, is_tokenised, by)
    back = _read(reverse, flipped, is_tokenised, by)
    if joining is None:
        is_probable = all(one.by == "posteriors" for one in (*there, *back))
        joining = "mean" if is_probable else "grow-diag-final-and"
    if joining == "mean":
        return [
            links_of_shares((one.shares + other.shares.T) / 2, threshold)
            for one, other in zip(there, back, strict=True)
        ]
    return [
        symmetrise(one.links(threshold), other.links(threshold).transposed(), joining)
        for one, other in zip(there, back, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _GivenPair:
    """A pair and what a system knows of its links."""

    translation: Translation
    by: Evidence
    evidence: Matrix
    """(I, J + 2): posteriors or attention."""
    shares: Matrix
    """The same of words: (target words, source words)."""

    @classmethod
    def of(cls, translation: Translation, by: Evidence, evidence: Matrix) -> _GivenPair:
        return cls(translation, by, evidence, shares_of_words(evidence, translation.source, translation.target))

    def links(self, threshold: float) -> Alignment:
        if self.by == "posteriors":
            return links_of_shares(self.shares, threshold)
        positions = self.translation.positions if self.by == "path" else attended_positions(self.evidence)
        return links_of_words(positions, self.translation.source, self.translation.target)

    def linked(self, threshold: float) -> Translation:
        alignment = self.links(threshold)
        confidences = confidences_of_links(alignment, self.shares)
        return replace(self.translation, alignment=alignment, confidences=confidences)


def _read(
    translator: Translator, pairs: Sequence[TextPair], is_tokenised: bool, by: Evidence | None
) -> list[_GivenPair]:
    """Let a system read the pairs."""
    model = translator.model
    sources = [_encode(source, model.source_subwords, model.normalise_source, is_tokenised) for source, _ in pairs]
    targets = [_encode(target, model.target_subwords, model.normalise_target, is_tokenised) for _, target in pairs]
    filled = [number for number in range(len(pairs)) if len(sources[number]) and len(targets[number])]
    given = [Translation(source, target, (), 0.0, 0.0, 0.0) for source, target in zip(sources, targets, strict=True)]
    by = by or ("posteriors" if translator.is_assisted else "attention")
    if by != "attention" and not translator.is_assisted:
        raise AlidadeError(f"{model.path}: is a baseline, which has no positions; align by attention")
    evidence: list[Matrix] = [np.zeros((len(one.target), len(one.source) + 2)) for one in given]
    if translator.is_assisted:
        paths = align_targets(
            model.system,
            [sources[number].ids for number in filled],
            [targets[number].ids for number in filled],
            translator.settings,
            translator.batch_size,
        )
        for number, path in zip(filled, paths, strict=True):
            given[number] = replace(given[number], positions=path.positions)
            evidence[number] = path.posteriors.numpy()
    if by == "attention":
        attentions = translator.attention([given[number] for number in filled])
        for number, attention in zip(filled, attentions, strict=True):
            evidence[number] = attention
    return [_GivenPair.of(one, by, matrix) for one, matrix in zip(given, evidence, strict=True)]


def _encode(text: str, subwords: Subwords, normalise: Callable[[str], str], is_tokenised: bool) -> Encoding:
    if not is_tokenised:
        return subwords.encode(normalise(text))
    return encode_tokenised([normalise(word) or word for word in text.split()], subwords)  # none may vanish
