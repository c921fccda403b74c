"""One source position for each target piece: from links to positions, and from what a model says back to links.

Position j is source piece f_j counted from 1, because 0 is `<s>`. Training needs exactly one for each target piece. A
unit is what the aligner counted: a word or a piece. A target unit with several links takes the middle one; one without
takes the position of the nearest linked target unit, the right one of two that are equally near (Devlin et al., 2014).

The other way (paper, section 5), a target piece points at one source piece: at its position b_i in an assisted system,
at j(i), where its accumulated attention is greatest, in a baseline. Links of words are the pieces' links with doubles
removed. The confidence of a link is the share of its target word's attention, or probability, that lies on its source
word.

Dimensions: I target pieces, J source pieces; attention has J + 2 columns, those of `<s>` and `</s>` included.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from alidade.alignment.links import Alignment, Link
from alidade.text.subwords import Encoding

Unit = Literal["words", "pieces"]
Matrix = npt.NDArray[np.floating]


def positions_of_pieces(alignment: Alignment, source: Encoding, target: Encoding, unit: Unit) -> list[int]:
    """b_1 .. b_I of the target's pieces, in 1..J; `</s>` is left to the batches.

    A pair without links goes along the diagonal.
    """
    num_source, num_target = len(source.pieces), len(target.pieces)
    if unit == "pieces":
        sources = nearest_links(alignment.links, num_target)
        return diagonal(num_source, num_target) if sources is None else [piece + 1 for piece in sources]
    source_words = nearest_links(alignment.links, len(target.words))
    if source_words is None:
        return diagonal(num_source, num_target)
    positions: list[int] = []
    while len(positions) < num_target:
        word = target.word_of_piece[len(positions)]
        end = bisect.bisect_right(target.word_of_piece, word, len(positions))
        positions += _spread(source.pieces_of_word(source_words[word]), end - len(positions))
    return positions


def nearest_links(links: Iterable[Link], num_target: int) -> list[int] | None:
    """The one source unit of each target unit, or None if there is no link at all."""
    sources_of: dict[int, list[int]] = {}
    for source, target in links:
        sources_of.setdefault(target, []).append(source)
    if not sources_of:
        return None
    linked = [(target, _middle(sources_of[target])) for target in sorted(sources_of)]
    assert linked[-1][0] < num_target, "the links were not checked against the sentence"
    return _fill_from_nearest(linked, num_target)


def diagonal(num_source: int, num_target: int) -> list[int]:
    """Positions that walk evenly through the source: the guess when nothing is linked."""
    return [(2 * i + 1) * num_source // (2 * num_target) + 1 for i in range(num_target)]


def _middle(sources: list[int]) -> int:
    """The middle one; of two, the left, so that the rest of the phrase still lies ahead."""
    if len(sources) == 1:
        return sources[0]
    return sorted(sources)[(len(sources) - 1) // 2]


def _fill_from_nearest(known: list[tuple[int, int]], length: int) -> list[int]:
    """A value for each place from (place, value) pairs: the nearest, the right one of two that are equally near."""
    first, last = known[0], known[-1]
    filled = [first[1]] * first[0]
    for (left, left_value), (right, right_value) in itertools.pairwise(known):
        nearer_left = (right - left + 1) // 2
        filled += [left_value] * nearer_left
        filled += [right_value] * (right - left - nearer_left)
    filled += [last[1]] * (length - last[0])
    return filled


def _spread(source_pieces: range, num_target: int) -> list[int]:
    """Positions of a target word's pieces within its source word, from the first to the last in even steps.

    Always the first piece would make jumps easier to predict (by 0.2 bits a piece on German–English), but tell less of
    the target piece (by 0.4 bits): `experiments/alignment/jump_entropy.py`.
    """
    num_source = len(source_pieces)
    if num_source == 1:
        return [source_pieces.start + 1] * num_target
    return [source_pieces.start + k * num_source // num_target + 1 for k in range(num_target)]


def attended_positions(attention: Matrix) -> list[int]:
    """j(i) of each target piece, 1 .. J, from accumulated attention, (I, J + 2)."""
    if attention.shape[1] <= 2:
        return [1] * len(attention)
    positions: list[int] = (attention[:, 1:-1].argmax(axis=1) + 1).tolist()
    return positions


def links_of_words(positions: Sequence[int], source: Encoding, target: Encoding) -> Alignment:
    """The links of words that the target pieces' positions make."""
    pairs = {
        (source.word_of_piece[position - 1], word)
        for position, word in zip(positions, target.word_of_piece, strict=True)
        if 1 <= position <= len(source)
    }
    return Alignment.of(pairs)


def links_of_shares(shares: Matrix, threshold: float) -> Alignment:
    """The links of words whose share is at least the threshold; shares: (target words, source words)."""
    targets, sources = np.nonzero(shares >= threshold)
    return Alignment.of(zip(sources.tolist(), targets.tolist(), strict=True))


def links_of_mean_shares(shares: Matrix, threshold: float) -> Alignment:
    """Links from what several aligners think: those that more than half of them have, and beside these the best one of
    each word that would have none, if its share is at least the threshold; shares: (target words, source words)."""
    is_linked = shares > 0.5
    is_best = np.zeros_like(is_linked)
    if shares.size:
        is_best[np.arange(len(shares)), shares.argmax(axis=1)] = ~is_linked.any(axis=1)
        is_best[shares.argmax(axis=0), np.arange(shares.shape[1])] |= ~is_linked.any(axis=0)
    return links_of_shares(np.where(is_linked | is_best, shares, -1.0), threshold)


def shares_of_links(alignment: Alignment, shape: tuple[int, ...]) -> Matrix:
    """(target words, source words): 1 where there is a link, 0 elsewhere."""
    shares = np.zeros(shape)
    for source, target in alignment.links:
        shares[target, source] = 1.0
    return shares


def confidences_of_links(alignment: Alignment, shares: Matrix) -> dict[Link, float]:
    """From 0 to 1 for each link of words; shares: (target words, source words)."""
    return {link: float(shares[link.target, link.source]) for link in alignment}


def shares_of_words(attention: Matrix, source: Encoding, target: Encoding) -> Matrix:
    """(target words, source words): the share of a target word's attention, or probability, on each source word.

    attention: (I, J + 2). A target word's pieces count alike.
    """
    of_source_words = np.zeros((len(target), len(source.words)))
    np.add.at(of_source_words.T, np.asarray(source.word_of_piece, dtype=np.intp), attention[:, 1:-1].T)
    of_source_words /= np.maximum(of_source_words.sum(axis=1, keepdims=True), 1e-9)
    words = np.asarray(target.word_of_piece, dtype=np.intp)
    shares = np.zeros((len(target.words), len(source.words)))
    np.add.at(shares, words, of_source_words)
    return shares / np.maximum(np.bincount(words, minlength=len(shares)), 1)[:, None]
