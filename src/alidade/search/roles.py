"""What the search asks of models: the two roles of DESIGN.md, as protocols.

The search (paper, section 4) knows no architectures. It keeps a grid of B sentences × K hypotheses and asks
an alignment model for log-probabilities of positions, and a lexical model for features of rows, where a row
is a picked (hypothesis, position) pair. Hypotheses are numbered `sentence * K + k` over the grid, where K is their
present number in each sentence: one in the first step, and from then on as many as the last `commit` made.

Dimensions: B sentences, K beam, S source positions with `<s>` and `</s>`, R rows, D width, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class AlignmentState(Protocol):
    """The alignment model's memory of a beam."""

    def position_logp(self, words: Tensor, previous_positions: Tensor) -> Tensor:
        """log p(b_i | b_<i, e_<i, f) for every position of every hypothesis, to be called once a step.

        words, previous_positions: (B, K), the newest word e_{i-1} and position b_{i-1} (`<s>` and 0 at first).
        Returns (B, K, S): -inf at `<s>`, at padding and beyond the widest jump; the rest sums to one.
        """

    def commit(self, parents: Tensor) -> None:
        """The next beam: hypothesis k of sentence b extends hypothesis parents[b, k] of the same sentence."""

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences (indexes into the present B) only."""


class AlignmentModel(Protocol):
    """p(b_i | b_<i, e_<i, f): where to look next."""

    max_jump: int

    def encode(self, source: Tensor) -> Any:
        """Encoder memory of source (B, S), padded with `<pad>`."""

    def start(self, memory: Any, beam_size: int = 1) -> AlignmentState:
        """A state for B sentences with `beam_size` hypotheses each in the first step."""


class LexicalState(Protocol):
    """The lexical model's memory of a beam."""

    def advance(self, words: Tensor) -> None:
        """Take in e_{i-1}, (B, K), and compute what no position changes. Called once a step, first."""

    def evaluate(self, hypotheses: Tensor, positions: Tensor) -> Tensor:
        """Features (R, D) of rows; `model.output` turns them into logits.

        hypotheses: (R,) numbers in the grid, ascending. positions: (R,) b_i of each row (ignored by models
        that are not assisted). May be called several times in a step: later rows are numbered on from
        the earlier ones.
        """

    def attention(self) -> Tensor:
        """Accumulated attention of the rows evaluated last: (R, S), summed over layers and heads, plus one for
        each assisted layer at the row's position (paper, section 5). Needs a state started with
        `records_attention=True`."""

    def commit(self, rows: Tensor, parents: Tensor) -> None:
        """The next beam: hypothesis k of sentence b comes from row rows[b, k], which extended hypothesis
        parents[b, k] of the same sentence."""

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences (indexes into the present B) only."""


class LexicalModel(Protocol):
    """p(e_i | b_i, b_<i, e_<i, f): the words, given a position if `is_assisted`."""

    is_assisted: bool
    output: Any

    def encode(self, source: Tensor) -> Any:
        """Encoder memory of source (B, S), padded with `<pad>`."""

    def start(self, memory: Any, beam_size: int = 1, *, records_attention: bool = False) -> LexicalState:
        """A state for B sentences with `beam_size` hypotheses each in the first step."""
