"""Links out of a model: from positions, or from attention (paper, section 5).

A target piece points at one source piece: at its position b_i in an assisted system, at j(i), where its accumulated
attention is greatest, in a baseline. Links of words are the pieces' links with doubles removed. The confidence of a
link is the share of its target word's attention that lies on its source word.

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


def confidences_of_links(
    alignment: Alignment, attention: Matrix, source: Encoding, target: Encoding
) -> dict[Link, float]:
    """From 0 to 1 for each link of words; attention: (I, J + 2)."""
    of_words = np.zeros((len(target), len(source.words)))
    np.add.at(of_words.T, np.asarray(source.word_of_piece, dtype=np.intp), attention[:, 1:-1].T)
    shares = of_words / np.maximum(of_words.sum(axis=1, keepdims=True), 1e-9)
    rows = {word: list(target.pieces_of_word(word)) for word in {link.target for link in alignment}}
    return {link: float(shares[rows[link.target], link.source].mean()) for link in alignment}
