"""When hypotheses finish and sentences end.

The rule, the same as CTranslate2's (patience 1), so that the two can be compared word by word:

- a hypothesis finishes when its `</s>` is among the K best of all candidates of a step; it leaves the beam, which
  is filled up with the K best candidates that are words;
- at its length limit, all K best candidates of a sentence finish as they are;
- a sentence ends when K of its hypotheses have finished. Without length normalisation, longer can only be worse: it
  then ends as soon as no live hypothesis can beat the best finished ones, and not before. The same holds with
  normalisation, where a live hypothesis is judged by the best that it could become: its present score at the
  greatest length;
- other programs end a sentence otherwise, and a model that was imported from one of them keeps its way (`stopping`, for
  sentences with neither dictionary nor positions). Hugging Face goes on beyond K finished ones while the best live
  hypothesis is, at its present length, better than the worst of the K best finished ones ("attainable"). In Marian a
  hypothesis that finishes leaves its place in the beam empty, and the sentence ends with the last one ("shrinking");
- a sentence with a dictionary or with positions may have one hypothesis worth finishing, while others, with words or
  positions left out, fill its beam and finish early: it goes on beyond K finished ones while a live hypothesis is,
  at its present length, better than the best of them;
- a sentence whose hypotheses can neither go on nor end (a required jump is wider than the alignment model's widest)
  ends with the best that it had, cut off;
- a finished hypothesis's score is divided by its length, `</s>` counted, to the power of `length_normalisation`. What
  it was credited with for given pieces is paid back, divided by the source's length: a hypothesis cannot make a given
  piece look cheaper by writing more. A live one is compared with finished ones as if it had to pay back now: what it
  owes it will owe at its end, and until then it would look better than all that have paid, and the sentence would go
  on to its length limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from alidade.config import SearchSettings
from alidade.search.hypotheses import Ending, Extension
from alidade.search.roles import Floats
from alidade.text.vocabulary import EOS

Scores = list[list[float]]
"""Of B sentences × K hypotheses."""
Settle = Callable[[int, int, int, int], tuple[object, float]]
Debts = Callable[[int, int], float]
"""What a hypothesis of the next beam was credited with so far, by its row and cell in the grid."""


def _no_debt(_: int) -> float:
    return 0.0


class SentenceEndings:
    """The finished hypotheses of one sentence."""

    def __init__(
        self,
        settings: SearchSettings,
        num_best: int,
        max_length: int,
        source_length: int = 1,
        *,
        is_patient: bool = False,
    ) -> None:
        self._is_patient = is_patient
        self._stopping = "finished" if is_patient or settings.beam_size == 1 else settings.stopping
        self._beam_size = settings.beam_size
        self._length_normalisation = settings.length_normalisation
        self._num_best = num_best
        self._source_length = source_length
        self.max_length = max_length
        """The most steps that the sentence may take."""
        self._endings: list[Ending] = []

    def add(self, step: int, extension: Extension, uses: object, debt: float = 0.0) -> None:
        score, parent, piece, position, lexical_logp, alignment_logp = extension
        self._endings.append(
            Ending(
                step,
                parent,
                piece,
                position,
                lexical_logp,
                alignment_logp,
                score=self._normalise(score, step + 1) - self._normalise(debt, self._source_length),
                is_complete=piece == EOS,
                uses=uses,
            )
        )

    @property
    def num_places(self) -> int:
        """How many hypotheses may go on."""
        return self._beam_size - len(self._endings) if self._stopping == "shrinking" else self._beam_size

    def best(self) -> list[Ending]:
        """The best finished hypotheses, best first; of equal ones the one that finished first."""
        return self._ranked()[: self._num_best]

    def _ranked(self) -> list[Ending]:
        return sorted(self._endings, key=lambda ending: -ending.score)

    def is_over(self, step: int, live_scores: Sequence[float], debt_of: Callable[[int], float] = _no_debt) -> bool:
        """Whether the sentence has ended with this step; live_scores: of the next beam, the best first."""
        if step + 1 >= self.max_length or live_scores[0] == -math.inf:
            return True
        if len(self._endings) < self._num_best:
            return False
        if self._length_normalisation > 0 and len(self._endings) >= self._beam_size:
            best = self._to_beat()
            return best is None or not self._is_beaten(best, step + 1, live_scores, debt_of)
        return not self._is_beaten(self.best()[-1], self.max_length, live_scores, debt_of)

    def _to_beat(self) -> Ending | None:
        """Which finished hypothesis a live one must beat, or the sentence stops at K; None: it stops there anyway."""
        if self._is_patient:
            return self._ranked()[0]
        return self._ranked()[self._beam_size - 1] if self._stopping == "attainable" else None

    def _is_beaten(
        self, finished: Ending, length: int, live_scores: Sequence[float], debt_of: Callable[[int], float]
    ) -> bool:
        """Whether a live hypothesis is better: its present score at this length, with what it owes paid back."""
        for cell, score in enumerate(live_scores):
            lead = self._normalise(score, length) - finished.score
            if lead <= 0:  # nor is any of the others, which are worse
                return False
            if lead > self._normalise(debt_of(cell), self._source_length):
                return True
        return False

    def _normalise(self, score: float, length: int) -> float:
        return score / float(length**self._length_normalisation)


class Endings:
    """Which hypotheses of a batch have finished, and which of its sentences go on."""

    def __init__(
        self,
        settings: SearchSettings,
        num_best: int,
        limits: Sequence[int],
        source_lengths: Sequence[int],
        are_patient: Sequence[bool],
    ) -> None:
        """limits: for each sentence the most steps it may take; are_patient: whether it goes on for a better one."""
        self._of_sentence = [
            SentenceEndings(settings, num_best, limit, length, is_patient=is_patient)
            for limit, length, is_patient in zip(limits, source_lengths, are_patient, strict=True)
        ]
        self.live = dict(enumerate(range(len(limits))))
        """The sentences that go on: their row in the grid, and their number in the batch."""

    def best(self, sentence: int) -> list[Ending]:
        return self._of_sentence[sentence].best()

    def finishing(self, step: int, beam_scores: Scores, best_end_scores: Sequence[float]) -> list[int]:
        """The rows in the grid of the sentences that have hypotheses which finish in this step.

        beam_scores: of the next beam, the best first; best_end_scores: of the best `</s>` of each sentence.
        """
        return [
            row
            for row, sentence in self.live.items()
            if best_end_scores[row] > beam_scores[row][-1] or step + 1 >= self._of_sentence[sentence].max_length
        ]

    def note(self, step: int, rows: Sequence[int], ranked: list[list[Extension]], settle: Settle) -> None:
        """Take note of what finishes in this step; ranked: the K best of all candidates of the sentences in these rows.

        settle: what is remembered of a hypothesis, and what it was credited with, by its row and
        cell in the grid, its last position and its last piece.
        """
        for row, extensions in zip(rows, ranked, strict=True):
            endings = self._of_sentence[self.live[row]]
            for extension in extensions[: endings.num_places]:
                score, parent, piece, position = extension[:4]
                if score > -math.inf and (piece == EOS or step + 1 >= endings.max_length):
                    endings.add(step, extension, *settle(row, parent, position, piece))

    def leave_places_empty(self, beam: Floats) -> None:
        """Take hypotheses for which there is no place out of the scores of the next beam, (B, K), the best first."""
        for row, sentence in self.live.items():
            beam[row, self._of_sentence[sentence].num_places :] = -math.inf

    def end_sentences(self, step: int, beam_scores: Scores, debts: Debts) -> list[tuple[int, int]]:
        """The rows and the numbers of the sentences that end with this step; they are no longer live."""
        over = [
            (row, sentence)
            for row, sentence in self.live.items()
            if self._of_sentence[sentence].is_over(step, beam_scores[row], partial(debts, row))
        ]
        for row, _ in over:
            del self.live[row]
        return over

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows of the grid only."""
        self.live = {new: self.live[row] for new, row in enumerate(rows)}
