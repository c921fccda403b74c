"""Shortlists: the search writes only what the aligner's lexicon lists for the source, plus the most frequent pieces.

`sentence` allows what any piece of the sentence lists, as Marian and CTranslate2 do it. `position` restricts a row
further, to what the piece at its own position lists: b_i is known. The output layer is computed for the words of the
whole batch, a fraction of the vocabulary; what a sentence or a row may not write is then masked.

Probabilities are those among the sentence's words, in both: a row whose likely words are not at its position stays
unlikely, so rows of different positions are still compared fairly. log p_lex <= 0 holds, and what a row may write
depends on that row alone, so `exact` stays exact, and a batch is its sentences one by one.

Words that somebody asks for, a prefix or a dictionary's forms, may be written at every position of their sentence.

Dimensions: B sentences, S source positions, R rows, U words of the batch, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from alidade.search.lexicon import Integers, Lexicon
from alidade.search.words import NUM_SPECIAL, WordScorer

Table = npt.NDArray[np.bool_]


class Shortlist:
    """What the sentences of one batch may write, and the output layer for it."""

    def __init__(
        self,
        lexicon: Lexicon,
        scorer: WordScorer,
        sources: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[int]],
        *,
        by_position: bool,
    ) -> None:
        """sources: piece ids without `<s>` and `</s>`; wanted: what each sentence may write in any case."""
        anywhere = [np.union1d(lexicon.frequent, np.asarray(words, dtype=np.int64)) for words in wanted]
        at_pieces = [[lexicon.of_piece(piece) for piece in source] for source in sources]
        words = _words_of([*anywhere, *(listed for sentence in at_pieces for listed in sentence)])
        self._words = torch.from_numpy(words)
        self._scorer = scorer.among(self._words)
        column_of = np.zeros(scorer.num_words, dtype=np.int64)
        column_of[words] = np.arange(len(words))
        self.columns = torch.from_numpy(column_of)
        """(V,) where words are among the listed ones; 0, `<pad>`, if they are not."""
        is_listed = _table(at_pieces, anywhere, column_of, len(words))  # (B, S, U)
        is_foreign = np.logical_not(is_listed.any(axis=1))
        self._is_foreign = _padded_table(is_foreign, self._scorer) if is_foreign.any() else None
        """(B, U) what a sentence may not write; None if nothing."""
        self._is_elsewhere = _padded_table(~is_listed, self._scorer) if by_position else None
        """(B, S, U) what a position may not write."""
        self._num_words = scorer.num_words

    def word_logp(self, features: Tensor, sentences: Tensor, positions: Tensor) -> Tensor:
        """(R, D) -> (R, U) log p_lex among the sentence's words; -inf for those that a row may not write."""
        logits = self._scorer.logits(features)
        if self._is_foreign is not None:
            logits.masked_fill_(self._is_foreign.index_select(0, sentences), -math.inf)
        logp = torch.log_softmax(logits, dim=1, out=logits)
        if self._is_elsewhere is not None:
            cells = sentences * self._is_elsewhere.shape[1] + positions
            logp.masked_fill_(self._is_elsewhere.flatten(0, 1).index_select(0, cells), -math.inf)
        return logp

    def best_words(self, word_logp: Tensor, num_best: int) -> tuple[Tensor, Tensor]:
        """As `WordScorer.best_words`, from (R, U)."""
        columns, logp = self._scorer.best_words(word_logp, num_best)
        return self._words[columns.clamp_(max=len(self._words) - 1)], logp

    def over_vocabulary(self, word_logp: Tensor) -> Tensor:
        """(R, U) -> (R, V): -inf for words that are not listed."""
        whole = word_logp.new_full((len(word_logp), self._num_words), -math.inf)
        return whole.index_copy_(1, self._words, word_logp[:, : len(self._words)])

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences only; the words stay those of the whole batch."""
        if self._is_foreign is not None:
            self._is_foreign = self._is_foreign[sentences]
        if self._is_elsewhere is not None:
            self._is_elsewhere = self._is_elsewhere[sentences]


def _words_of(lists: Sequence[Integers]) -> Integers:
    """The special words first, as in the vocabulary, then all words of the lists once."""
    words = np.unique(np.concatenate(lists))
    return np.concatenate([np.arange(NUM_SPECIAL), words[words >= NUM_SPECIAL]])


def _table(at_pieces: list[list[Integers]], anywhere: list[Integers], column_of: Integers, num_words: int) -> Table:
    """(B, S, U): whether a sentence may write a word at a position; special words everywhere."""
    num_positions = max(map(len, at_pieces)) + 2
    table = np.zeros((len(at_pieces), num_positions, num_words), dtype=np.bool_)
    table[:, :, :NUM_SPECIAL] = True
    for sentence, (lists, words) in enumerate(zip(at_pieces, anywhere, strict=True)):
        table[sentence][:, column_of[words]] = True
        rows = np.repeat(np.arange(1, len(lists) + 1), [len(listed) for listed in lists])
        table[sentence][rows, column_of[np.concatenate(lists)]] = True
    return table


def _padded_table(table: Table, scorer: WordScorer) -> Tensor:
    """The table with a column for each of the scorer's, the ones past the words False."""
    padding = [(0, 0)] * (table.ndim - 1) + [(0, scorer.num_words - table.shape[-1])]
    return torch.from_numpy(np.pad(table, padding))
