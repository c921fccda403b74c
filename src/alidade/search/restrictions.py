"""What restricts a search, or follows it: given words, no repeats, the dictionary.

All have one small interface and stand in one ordered list; the beam search knows none of them by name. In each step
they may rule out positions, may ask for the scores of single pieces, and may then rule out pieces of evaluated rows. A
later one of the list has the last word. None changes a log-probability: what is allowed keeps the model's own. A given
piece may be credited with its cost when hypotheses are ranked, so that those which have it compete fairly with those
which do not; a pair's bound still holds, and `exact` pruning stays exact.

Dimensions: B sentences, K beam, S source positions, R rows, k best pieces of a row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alidade.search.hypotheses import Beam, Request, pick
from alidade.search.roles import NO_INTS, Bools, Floats, Ints
from alidade.text.vocabulary import EOS, PAD

Pieces = tuple[int, ...]

FREE = -1
NONE = -1
"""No piece."""
NO_WORDS: tuple[Pieces, Pieces] = ((), ())
SPARE = 12
"""So many more pieces are looked for in a row where none may go on with the word before."""


class Rows(NamedTuple):
    """(hypothesis, position) pairs that are evaluated together."""

    hypotheses: Ints
    """(R,) ascending numbers `sentence * K + k`."""
    positions: Ints
    """(R,) b_i; 0 for the baselines."""
    sentences: Ints
    """(R,)"""


@dataclass(slots=True)
class Proposals:
    """The pieces that rows propose."""

    pieces: Ints
    """(R, k)"""
    logp: Floats
    """(R, k) log p_lex of each; -inf: not allowed."""
    end_logp: Floats
    """(R,) log p_lex of `</s>`."""
    attention: Floats | None = None
    """(R, S) where baselines look; None: assisted systems look at the rows' positions."""
    credit: Floats | None = None
    """(R, k) what is added to log p_lex when hypotheses are ranked, at most its cost; None: nothing."""
    beam_size: int | None = None
    """How many of a row's pieces may be needed; None: all."""

    def limit(self, num_spare: Ints) -> None:
        """Leave to each row as many allowed pieces as the beam has places, and so many to spare, (R,).

        How many pieces rows propose is up to the row that needs the most. A restriction that may rule out more than it
        has asked for must not see what was looked for because of others: a translation would depend on its batch.
        """
        if self.beam_size is not None:
            rank = (self.logp > -np.inf).cumsum(axis=1)  # the best come first
            is_beyond = rank > (self.beam_size + num_spare)[:, None]
            np.copyto(self.logp, -np.inf, where=is_beyond)
            np.copyto(self.pieces, PAD, where=is_beyond)

    def force(self, row: int, pieces: Ints, logp: Floats, credit: Floats) -> None:
        """Let a row propose nothing but these pieces, or the best of them if they are many."""
        if self.credit is None:
            self.credit = np.zeros_like(self.logp)
        best = np.argsort(-logp, kind="stable")[: self.logp.shape[1]]
        self.logp[row] = -np.inf
        self.pieces[row, : len(best)] = pieces[best]
        self.logp[row, : len(best)] = logp[best]
        self.credit[row, : len(best)] = credit[best]


class Question(NamedTuple):
    """What a restriction wants to know of rows before it rules pieces out."""

    rows: Ints = NO_INTS
    pieces: Ints = NO_INTS
    """(row, piece) pairs whose log-probability it needs."""
    num_ruled_out: int = 0
    """How many of a row's best pieces it may rule out, at the most: as many more are looked for."""


NO_QUESTION = Question()


class Restriction:
    """A restriction that does nothing; each kind overrides what it needs."""

    def restrict_positions(self, position_logp: Floats) -> None:
        """Set to -inf, in place, the positions that hypotheses may not look at; (B, K, S), assisted systems only.

        At least one position of every living hypothesis stays finite.
        """

    def join_positions(self, costs: Floats, stand_ins: Ints) -> None:
        """Let positions that are translated together count as one; both (B, S), changed in place.

        costs: what it costs to leave out each position; stand_ins: the position that each one counts as, itself at
        first. The last of those that are joined stands for all, and has what they cost together.
        """

    def ask(self, rows: Rows) -> Question:  # noqa: ARG002
        """What is needed to restrict these rows."""
        return NO_QUESTION

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:
        """Rule pieces out: set their log-probability to -inf, or put others in their place.

        asked_logp: the answers to `ask`. A row may have nothing left to write, but not all rows of a living hypothesis.
        """

    def commit(self, beam: Beam) -> None:
        """The next beam. Hypotheses with `<pad>` as their piece are dead."""

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences (indexes into the present B) only."""

    def concerns(self, sentence: int) -> bool:  # noqa: ARG002
        """Whether this sentence of the batch may have one hypothesis among many that is worth finishing."""
        return False

    def uses_of(self, hypothesis: int, position: int, piece: int) -> object:  # noqa: ARG002
        """What is to be remembered of a hypothesis (its number) that ends with this piece."""
        return None

    def debt_of(self, hypothesis: int, position: int, piece: int) -> float:  # noqa: ARG002
        """What a hypothesis that ends so was credited with, and has to pay back."""
        return 0.0


class MinLength(Restriction):
    """Translations of at least so many pieces."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self._least: Ints = np.array([request.min_length for request in requests])
        self._ends: Ints = np.array([request.end_position for request in requests])
        self._step = 0

    def restrict_positions(self, position_logp: Floats) -> None:
        rows = np.flatnonzero(self._step < self._least)
        position_logp[rows, :, self._ends[rows]] = -np.inf

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:  # noqa: ARG002
        proposed.end_logp[self._step < self._least[rows.sentences]] = -np.inf

    def commit(self, beam: Beam) -> None:  # noqa: ARG002
        self._step += 1

    def keep(self, sentences: Ints) -> None:
        self._least, self._ends = self._least[sentences], self._ends[sentences]


class GivenPieces(Restriction):
    """A given prefix: while it lasts, every row can only write the given piece, and the beam is over positions."""

    def __init__(self, requests: Sequence[Request]) -> None:
        given = [request.prefix for request in requests]
        self._given: Ints = np.full((len(given), max(map(len, given))), FREE)
        for sentence, pieces in enumerate(given):
            self._given[sentence, : len(pieces)] = pieces
        self._positions: Ints = np.full(self._given.shape, FREE)
        for sentence, request in enumerate(requests):
            self._positions[sentence, : len(request.prefix_positions)] = request.prefix_positions
        self._ends: Ints = np.array([request.end_position for request in requests])
        self._step = 0

    @property
    def _now(self) -> Ints | None:
        """(B,) the piece given in this step, or FREE; None if all are free."""
        return self._given[:, self._step] if self._step < self._given.shape[1] else None

    def restrict_positions(self, position_logp: Floats) -> None:
        """No hypothesis looks at the end while it may not end."""
        now = self._now
        if now is None:
            return
        is_end = np.arange(position_logp.shape[2]) == self._ends[:, None]  # (B, S)
        np.copyto(position_logp, -np.inf, where=(is_end & ((now != FREE) & (now != EOS))[:, None])[:, None])
        positions = self._positions[:, self._step]
        held = np.flatnonzero(positions != FREE)
        is_elsewhere = np.arange(position_logp.shape[2]) != positions[held, None]  # (held, S)
        position_logp[held] = np.where(is_elsewhere[:, None], -np.inf, position_logp[held])

    def ask(self, rows: Rows) -> Question:
        if self._now is None:
            return NO_QUESTION
        given = self._now[rows.sentences]
        numbers = np.flatnonzero((given != FREE) & (given != EOS))
        return Question(numbers, given[numbers])

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:
        if self._now is None:
            return
        given = self._now[rows.sentences]
        proposed.logp[given == EOS] = -np.inf
        numbers = np.flatnonzero((given != FREE) & (given != EOS))
        given = given[numbers]
        proposed.logp[numbers] = -np.inf
        proposed.pieces[numbers, 0] = given
        proposed.logp[numbers, 0] = asked_logp
        proposed.end_logp[numbers] = -np.inf

    def commit(self, beam: Beam) -> None:  # noqa: ARG002
        self._step += 1

    def keep(self, sentences: Ints) -> None:
        self._given, self._ends = self._given[sentences], self._ends[sentences]
        self._positions = self._positions[sentences]


class WholeWords(Restriction):
    """What follows a given prefix begins a word: the prefix's last word is not made a longer one."""

    def __init__(self, requests: Sequence[Request], continuing: Collection[int]) -> None:
        """continuing: the pieces that go on with the word before."""
        self._ends: Ints = np.array([len(request.prefix) for request in requests])
        self._continuing: Ints = np.array(sorted(continuing), dtype=np.int64)
        self._step = 0

    def _rows(self, rows: Rows) -> Ints:
        return np.flatnonzero((self._ends[rows.sentences] == self._step) & (self._step > 0))

    def ask(self, rows: Rows) -> Question:
        return Question(num_ruled_out=SPARE) if len(self._rows(rows)) else NO_QUESTION

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:  # noqa: ARG002
        numbers = self._rows(rows)
        if not len(numbers):
            return
        num_spare = np.full(len(rows.sentences), proposed.pieces.shape[1])
        num_spare[numbers] = SPARE
        proposed.limit(num_spare)
        is_continuing = np.isin(proposed.pieces[numbers], self._continuing)
        proposed.logp[numbers] = np.where(is_continuing, -np.inf, proposed.logp[numbers])

    def commit(self, beam: Beam) -> None:  # noqa: ARG002
        self._step += 1

    def keep(self, sentences: Ints) -> None:
        self._ends = self._ends[sentences]


class NoRepeats(Restriction):
    """No source position writes the same piece twice.

    A weak model, or one that is far from what it was trained on, falls into loops: it goes back to words that it has
    translated, and since each round costs little, length normalisation even likes it. Whoever hypothesises positions
    can tell a loop from a text that says something twice: the source does not say it twice. So what a hypothesis has
    written at a position it cannot write there again.
    """

    def __init__(self, num_sentences: int) -> None:
        self._pieces: Ints = np.zeros((num_sentences, 1, 0), dtype=np.int64)
        """(B, K, T) of the T steps so far."""
        self._positions: Ints = self._pieces

    def ask(self, rows: Rows) -> Question:
        shape = (self._pieces.shape[0] * self._pieces.shape[1], self._pieces.shape[2])
        pieces, positions = self._pieces.reshape(shape), self._positions.reshape(shape)
        is_here = positions.take(rows.hypotheses, axis=0) == rows.positions[:, None]  # (R, T)
        self._rows, steps = is_here.nonzero()
        if not len(self._rows):
            return NO_QUESTION
        self._repeats = pieces[rows.hypotheses.take(self._rows), steps]
        return Question(num_ruled_out=int(np.bincount(self._rows).max()))

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:  # noqa: ARG002
        if len(self._rows):
            rule_out(proposed, self._rows, self._repeats)

    def commit(self, beam: Beam) -> None:
        pieces, positions = [pick(past, beam.parents) for past in (self._pieces, self._positions)]
        self._pieces = np.concatenate([pieces, beam.pieces[:, :, None]], axis=2)
        self._positions = np.concatenate([positions, beam.positions[:, :, None]], axis=2)

    def keep(self, sentences: Ints) -> None:
        self._pieces, self._positions = self._pieces[sentences], self._positions[sentences]


class NoPairs(Restriction):
    """No word directly follows itself.

    What is the same in both is known when the second one is nearly complete: its last piece is ruled out. A word of one
    piece is so ruled out at its beginning, and with it longer words that begin with it; short ones begin too many.
    """

    def __init__(
        self, may_have: Sequence[bool], words: Collection[int], short: Collection[int], continuing: Collection[int]
    ) -> None:
        """may_have: whether sentences may have pairs.

        words: the pieces that begin words of letters; short: those with few letters; continuing: those that go on.
        """
        self._may_have = list(may_have)
        self._words, self._short, self._continuing = words, short, continuing
        self._last: list[list[tuple[Pieces, Pieces]]] = [[NO_WORDS] for _ in may_have]
        """For each hypothesis its last two words so far; empty where there is no word of letters."""
        self._banned: Ints = np.full((len(self._may_have), 2), NONE)
        """(B * K, 2)"""

    def ask(self, rows: Rows) -> Question:
        self._of_rows = self._banned[rows.hypotheses]
        return Question(num_ruled_out=int((self._of_rows != NONE).sum(axis=1).max(initial=0)))

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:  # noqa: ARG002
        for pieces in self._of_rows.T:
            np.copyto(proposed.logp, -np.inf, where=proposed.pieces == pieces[:, None])

    def commit(self, beam: Beam) -> None:
        extended = zip(self._may_have, self._last, beam.parents.tolist(), beam.pieces.tolist(), strict=True)
        self._last = [
            [NO_WORDS] * len(pieces)
            if may_have
            else [self._extend(last[parent], piece) for parent, piece in zip(parents, pieces, strict=True)]
            for may_have, last, parents, pieces in extended
        ]
        self._banned = np.array([self._completing(*last) for of_sentence in self._last for last in of_sentence])

    def _completing(self, previous: Pieces, word: Pieces) -> tuple[int, int]:
        """The pieces that would make a second word the same as the first: this word, and the next one."""
        this = previous[-1] if word and previous[:-1] == word else NONE
        return this, word[0] if len(word) == 1 and word[0] not in self._short else NONE

    def _extend(self, last: tuple[Pieces, Pieces], piece: int) -> tuple[Pieces, Pieces]:
        previous, word = last
        if piece in self._words:
            return word, (piece,)
        return (previous, (*word, piece)) if word and piece in self._continuing else NO_WORDS

    def keep(self, sentences: Ints) -> None:
        self._may_have = [self._may_have[sentence] for sentence in sentences.tolist()]
        self._last = [self._last[sentence] for sentence in sentences.tolist()]
        num_hypotheses = len(self._last[0])
        self._banned = self._banned.reshape(-1, num_hypotheses, 2)[sentences].reshape(-1, 2)


def rule_out(proposed: Proposals, rows: Ints, pieces: Ints) -> None:
    """Let rows not write single pieces: (row, piece) pairs."""
    is_it: Bools = proposed.pieces.take(rows, axis=0) == pieces[:, None]  # (pairs, k)
    pairs, places = is_it.nonzero()
    proposed.logp[rows[pairs], places] = -np.inf
