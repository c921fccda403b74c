"""Links out of a model: from positions, from attention (paper, section 5), or from shares of words.

A target piece points at one source piece: at its position b_i in an assisted system, at j(i), where its accumulated
attention is greatest, in a baseline. Links of words are the pieces' links with doubles removed. The confidence of a
link is the share of its target word's attention, or probability, that lies on its source word.

Dimensions: I target pieces, J source pieces; attention has J + 2 columns, those of `<s>` and `</s>` included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from alidade.alignment.links import Alignment, Link
from alidade.text.subwords import Encoding

Matrix = npt.NDArray[np.floating]


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
