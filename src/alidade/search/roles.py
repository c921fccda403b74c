"""What the search asks of models: two roles, as protocols.

The search (paper, section 4) knows no architectures. It keeps a grid of B sentences × K hypotheses and asks
an alignment model for log-probabilities of positions, and a lexical model for the best pieces of rows, where a row
is a picked (hypothesis, position) pair. Hypotheses are numbered `sentence * K + k` over the grid, where K is their
present number in each sentence: one in the first step, and from then on as many as the last `commit` made.

Arrays are numpy's. `engine/` implements the roles with ONNX Runtime, `models/reference.py` with torch.

Dimensions: B sentences, K beam, S source positions with `<s>` and `</s>`, R rows, k best pieces of a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

NO_INTS: Ints = np.zeros(0, dtype=np.int64)


class Asked(NamedTuple):
    """(row, piece) pairs whose log-probability is wanted whether they are among the best or not."""

    rows: Ints
    pieces: Ints


NOTHING_ASKED = Asked(NO_INTS, NO_INTS)


@dataclass(slots=True)
class RowPieces:
    """What a lexical model says of R rows."""

    pieces: Ints
    """(R, k) the best pieces, the best first; `</s>` and other special ones are not among them."""
    logp: Floats
    """(R, k) log p_lex of each."""
    end_logp: Floats
    """(R,) log p_lex of `</s>`."""
    asked_logp: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """log p_lex of the pairs that were asked for."""


class AlignmentState(Protocol):
    """The alignment model's memory of a beam."""

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        """log p(b_i | b_<i, e_<i, f) for every position of every hypothesis, to be called once a step.

        pieces, previous_positions: (B, K), the newest piece e_{i-1} and position b_{i-1} (`<s>` and 0 at first).
        Returns (B, K, S), the caller's to change: -inf at `<s>`, at padding and beyond the widest jump; the rest sums
        to one.
        """

    def commit(self, parents: Ints) -> None:
        """The next beam: hypothesis k of sentence b extends hypothesis parents[b, k] of the same sentence."""

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences (indexes into the present B) only."""


class AlignmentModel(Protocol):
    """p(b_i | b_<i, e_<i, f): where to look next."""

    @property
    def skip_cost(self) -> Floats:
        """(V,) what it costs never to look at a source piece, zero if the model does not know; see `coverage.py`."""

    def encode(self, source: Ints) -> Any:
        """Encoder memory of source (B, S), padded with `<pad>`."""

    def start(self, memory: Any) -> AlignmentState:
        """A state for B sentences with one hypothesis each."""


class LexicalState(Protocol):
    """The lexical model's memory of a beam."""

    def advance(self, pieces: Ints) -> None:
        """Take in e_{i-1}, (B, K). Called once a step, first."""

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        """The best pieces of rows, `num_best` of each if the vocabulary has as many that are not special.

        hypotheses: (R,) numbers in the grid, ascending. positions: (R,) b_i of each row. Models that are not assisted
        ignore them and are asked once a step, for all hypotheses; others may be asked several times in a step: later
        rows are numbered on from the earlier ones.
        """

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        """(R,) log p_lex of one given piece of each row: what `evaluate` would say if it were asked for it."""

    def attention(self, rows: Ints) -> Floats:
        """Accumulated attention of rows evaluated in this step, by their numbers: (...) -> (..., S), summed over layers
        and heads, plus one for each assisted layer at the row's position (paper, section 5)."""

    def commit(self, rows: Ints, parents: Ints) -> None:
        """The next beam: hypothesis k of sentence b comes from row rows[b, k], which extended hypothesis
        parents[b, k] of the same sentence."""

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences (indexes into the present B) only."""


class LexicalModel(Protocol):
    """p(e_i | b_i, b_<i, e_<i, f): the pieces, given a position if `is_assisted`."""

    @property
    def is_assisted(self) -> bool: ...

    def encode(self, source: Ints) -> Any:
        """Encoder memory of source (B, S), padded with `<pad>`."""

    def start(self, memory: Any, *, same_pieces: bool = False) -> LexicalState:
        """A state for B sentences with one hypothesis each.

        same_pieces: all hypotheses of a sentence will have the same pieces, as when the target is given. What no
        position changes may then be computed once a sentence.
        """

    def guess(self, memory: Any, pieces: Ints) -> Floats:
        """How well given pieces, (B, T), might suit each position, (B, T, S), before any row is evaluated.

        Roughly the differences of a piece's log p_lex between positions, whatever was written before; zero if a model
        has no cheap way to tell. Only assisted models are asked.
        """


class System(Protocol):
    """The models that translate together."""

    @property
    def lexical(self) -> LexicalModel: ...

    @property
    def alignment(self) -> AlignmentModel | None: ...

    @property
    def shares_encoder(self) -> bool:
        """Whether the alignment model reads the lexical model's encoder memory."""
