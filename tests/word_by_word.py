"""Models that translate word by word from left to right: what a dictionary changes can be told by looking.

The source word f is written as f + 100, at its own position, nearly always, or as one of POSSIBLE; positions move on by
one. They do what `search/roles.py` asks, with attention that points at the position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alidade.search.roles import Asked, Floats, Ints, RowPieces
from alidade.text.vocabulary import EOS, PAD
from table_models import log_softmax, row_pieces

VOCABULARY = 256
OFFSET = 100
POSSIBLE = (200, 201, 202, 241)
"""What every word may be translated as, if need be."""


class WordByWordState:
    """Where in the source each hypothesis is: at its length, since every word takes one step."""

    def __init__(self, source: Ints, *, is_assisted: bool) -> None:
        self.source = source
        self.num_hypotheses = 1
        self.is_assisted = is_assisted
        self.step = 0

    def advance(self, pieces: Ints) -> None:
        self.step += 1
        self.rounds: list[Ints] = []

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        source = self.source[hypotheses // self.num_hypotheses]
        ends = np.argmax(source == EOS, axis=1)
        pointed = positions if self.is_assisted else np.minimum(self.step, ends)
        self.rounds.append(pointed)
        words = source[np.arange(len(source)), pointed]
        translations = np.where(words == EOS, EOS, words + OFFSET)
        logits = np.zeros((len(source), VOCABULARY), dtype=np.float32)
        logits[:, POSSIBLE] = math.log(2 * VOCABULARY)
        logits[np.arange(len(source)), translations] = math.log(100 * VOCABULARY)
        return row_pieces(logits, num_best, asked)

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        return self.evaluate(hypotheses, positions, 1, Asked(np.arange(len(pieces)), pieces)).asked_logp

    def attention(self, rows: Ints) -> Floats:
        pointed = np.concatenate(self.rounds)[rows]
        attention: Floats = (np.arange(self.source.shape[1]) == pointed[..., None]).astype(np.float32)
        return attention

    def commit(self, rows: Ints, parents: Ints) -> None:
        self.num_hypotheses = parents.shape[1]

    def keep(self, sentences: Ints) -> None:
        self.source = self.source[sentences]


class WordByWord:
    """The lexical model."""

    def __init__(self, *, is_assisted: bool) -> None:
        self.is_assisted = is_assisted

    def encode(self, source: Ints) -> Ints:
        return source

    def guess(self, memory: Ints, pieces: Ints) -> Floats:
        return np.zeros((*pieces.shape, memory.shape[1]), dtype=np.float32)

    def start(self, memory: Ints, *, same_pieces: bool = False) -> WordByWordState:
        return WordByWordState(memory, is_assisted=self.is_assisted)


class LeftToRightState:
    def __init__(self, source: Ints) -> None:
        self.source = source

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        num_positions = self.source.shape[1]
        distance = np.abs(np.arange(num_positions) - previous_positions[:, :, None] - 1)  # (B, K, S)
        logits = -5.0 * distance.astype(np.float32)
        logits[:, :, 0] = -np.inf
        return log_softmax(np.where((self.source == PAD)[:, None], np.float32(-np.inf), logits))

    def commit(self, parents: Ints) -> None:
        pass

    def keep(self, sentences: Ints) -> None:
        self.source = self.source[sentences]


class LeftToRight:
    """The alignment model: the next word is by far the most probable."""

    skip_cost: Floats = np.zeros(1000, dtype=np.float32)

    def encode(self, source: Ints) -> Ints:
        return source

    def start(self, memory: Ints) -> LeftToRightState:
        return LeftToRightState(memory)


@dataclass
class WordByWordSystem:
    """Both models, or the lexical one alone as a baseline."""

    lexical: WordByWord
    alignment: LeftToRight | None
    shares_encoder: bool = False


def word_by_word_system(*, is_assisted: bool) -> WordByWordSystem:
    return WordByWordSystem(WordByWord(is_assisted=is_assisted), LeftToRight() if is_assisted else None)
