"""Given target words: a prefix to be completed, or a whole target to be aligned.

While the prefix lasts, every row can only write the given word, and the beam is over positions. A whole target
ends with `</s>`: forced alignment is the same search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from alidade.text.vocabulary import EOS

FREE = -1


class GivenWords:
    """The given words of B sentences."""

    def __init__(self, words: Sequence[Sequence[int]]) -> None:
        """words: for each sentence the words that it must begin with, `</s>` included if nothing may follow."""
        longest = max(map(len, words), default=0)
        self._words = torch.full((len(words), longest), FREE)
        for sentence, given in enumerate(words):
            self._words[sentence, : len(given)] = torch.tensor(given, dtype=torch.long)
            if given and given[-1] == EOS:
                self._words[sentence, len(given) :] = EOS

    @property
    def num_steps(self) -> int:
        """In how many steps some sentence's word is given."""
        return self._words.shape[1]

    def at(self, step: int) -> Tensor:
        """(B,) the word given in this step, or FREE."""
        return self._words[:, step]

    def are_all_given(self, step: int) -> bool:
        """Whether every sentence's word is given in this step."""
        return bool((self.at(step) != FREE).all())

    def keep(self, sentences: Tensor) -> None:
        self._words = self._words[sentences]


def allow_only(given: Tensor, word_logp: Tensor, end_logp: Tensor) -> tuple[Tensor, Tensor]:
    """The only word that each row may write, (R, 1), and its log-probability, (R, 1).

    given: (R,) a word or FREE; word_logp: (R, V); end_logp: (R,), `</s>`, which becomes -inf where it is not given.
    `</s>` is no candidate word (see `candidates.py`), so as a word it is -inf as well.
    """
    words = given.clamp(min=0)[:, None]
    logp = word_logp.gather(1, words).masked_fill_(words == EOS, -math.inf)
    end_logp.masked_fill_((given != FREE) & (given != EOS), -math.inf)
    return words, logp


def put_given(given: Tensor, only: tuple[Tensor, Tensor], words: Tensor, logp: Tensor) -> None:
    """Let the rows that have a given word, `only`, propose nothing else; words, logp: (R, k), overwritten."""
    is_given = (given != FREE)[:, None]
    words[:, :1] = torch.where(is_given, only[0], words[:, :1])
    logp.masked_fill_(is_given, -math.inf)
    logp[:, :1] = torch.where(is_given, only[1], logp[:, :1])
