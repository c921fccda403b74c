"""Models that translate word by word from left to right: what a dictionary changes can be told by looking.

The source word f is written as f + 100, at its own position, nearly always; positions move on by one. They do what
`search/roles.py` asks, with attention that points at the position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from alidade.text.vocabulary import EOS, PAD

VOCABULARY = 256
OFFSET = 100


@dataclass
class Identity:
    """An output layer for features that are logits already."""

    weight: Tensor
    bias: Tensor


class WordByWordState:
    """Where in the source each hypothesis is: at its length, since every word takes one step."""

    def __init__(self, source: Tensor, beam_size: int, *, is_assisted: bool) -> None:
        self.source = source
        self.beam_size = beam_size
        self.is_assisted = is_assisted
        self.step = 0

    def advance(self, words: Tensor) -> None:
        self.step += 1

    def evaluate(self, hypotheses: Tensor, positions: Tensor) -> Tensor:
        source = self.source[hypotheses // self.beam_size]
        ends = (source == EOS).nonzero()[:, 1]
        self.pointed = positions if self.is_assisted else torch.minimum(torch.full_like(ends, self.step), ends)
        words = source.gather(1, self.pointed[:, None]).squeeze(1)
        translations = torch.where(words == EOS, EOS, words + OFFSET)
        return torch.zeros(len(source), VOCABULARY).scatter_(1, translations[:, None], math.log(100 * VOCABULARY))

    def attention(self) -> Tensor:
        return torch.zeros(len(self.pointed), self.source.shape[1]).scatter_(1, self.pointed[:, None], 1.0)

    def commit(self, rows: Tensor, parents: Tensor) -> None:
        self.beam_size = parents.shape[1]

    def keep(self, sentences: Tensor) -> None:
        self.source = self.source[sentences]


class WordByWord:
    """The lexical model."""

    def __init__(self, *, is_assisted: bool) -> None:
        self.is_assisted = is_assisted
        self.output = Identity(torch.eye(VOCABULARY), torch.zeros(VOCABULARY))

    def encode(self, source: Tensor) -> Tensor:
        return source

    def start(self, memory: Tensor, beam_size: int = 1, *, records_attention: bool = False) -> WordByWordState:
        return WordByWordState(memory, beam_size, is_assisted=self.is_assisted)


class LeftToRightState:
    def __init__(self, source: Tensor) -> None:
        self.source = source

    def position_logp(self, words: Tensor, previous_positions: Tensor) -> Tensor:
        num_positions = self.source.shape[1]
        distance = (torch.arange(num_positions) - previous_positions[:, :, None] - 1).abs()  # (B, K, S)
        logits = -5.0 * distance.float()
        logits[:, :, 0] = -math.inf
        return torch.log_softmax(logits.masked_fill((self.source == PAD)[:, None], -math.inf), dim=2)

    def commit(self, parents: Tensor) -> None:
        pass

    def keep(self, sentences: Tensor) -> None:
        self.source = self.source[sentences]


class LeftToRight:
    """The alignment model: the next word is by far the most probable."""

    encoder = None
    max_jump = 100

    def encode(self, source: Tensor) -> Tensor:
        return source

    def start(self, memory: Tensor, beam_size: int = 1) -> LeftToRightState:
        return LeftToRightState(memory)


@dataclass
class WordByWordSystem:
    """Both models, or the lexical one alone as a baseline."""

    lexical: WordByWord
    alignment: LeftToRight | None
    shares_encoder: bool = False


def word_by_word_system(*, is_assisted: bool) -> WordByWordSystem:
    return WordByWordSystem(WordByWord(is_assisted=is_assisted), LeftToRight() if is_assisted else None)
