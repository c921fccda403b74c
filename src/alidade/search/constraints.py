"""What a dictionary tells the search: the hook between the grid's tensors and per-hypothesis plain data.

The search calls these methods only when it was given constraints, so no dictionary costs nothing. Who implements
them keeps a plain `State` for each hypothesis of the sentences that have matches (`dictionary/constraints.py`), and
touches no other sentence, so that those cost nearly nothing in a mixed batch.

In one step, for B sentences and K hypotheses numbered `sentence * K + k`:

1. `restrict_positions` before anything is evaluated: where may a hypothesis not look?
2. `restrict` for each lot of evaluated rows: what may a row not write?
3. `end` for each hypothesis that finishes in this step;
4. `commit`: which extensions make the next beam.

`exact` stays exact: whatever a row may write, its word's log-probability is at most zero, and what a row may write
depends on that row alone; so a pair's bound still holds. There are no banks of hypotheses that have used as many
entries: a required entry's words cost little (they are given, not chosen), and a hypothesis whose alignment model
points at a required entry, or at the end, cannot look elsewhere; so hypotheses with and without it compete fairly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True)
class EvaluatedRows:
    """Rows whose word distribution is known. Dimensions: R rows, S source positions, V vocabulary."""

    hypotheses: Tensor
    """(R,) ascending within one lot."""
    positions: Tensor
    """(R,) the hypothesised position of each row; 0 for the baselines."""
    attention: Tensor | None
    """(R, S) accumulated attention (paper, section 5), if the constraints need it."""

    def part(self, lot: slice) -> EvaluatedRows:
        """Some of the rows."""
        attention = None if self.attention is None else self.attention[lot]
        return EvaluatedRows(self.hypotheses[lot], self.positions[lot], attention)


class Constraints(Protocol):
    """Constraints on the hypotheses of one batch; the sentences are those of the batch in its order."""

    needs_attention: bool
    """Whether `EvaluatedRows.attention` is to be computed (it slows the models' steps down a little)."""

    def concerns(self, sentence: int) -> bool:
        """Whether this sentence of the batch has constraints at all."""

    def restrict_positions(self, position_logp: Tensor) -> None:
        """Set to -inf, in place, the positions that hypotheses may not look at; called after
        `alignment_state.position_logp` and before pruning, only for assisted systems.

        position_logp: (B, K, S). At least one position of every living hypothesis stays finite. Pruning must not
        evaluate a pair at -inf, and "all if none survive" means all that are finite.
        """

    def restrict(self, rows: EvaluatedRows, word_logp: Tensor) -> Tensor:
        """Set to -inf, in place, what these rows may not write: word_logp is (R, V), `</s>` among its columns.

        Gives the rows whose words are given, not chosen: those are not to be restricted any further.
        Finite values may be changed, too, but stay at most zero. A row may have nothing left to write, but not
        all rows of a living hypothesis.
        """

    def end(self, parent: int, position: int, word: int) -> object:
        """What to remember of hypothesis number `parent` that ends with this word (`</s>`, or at the length limit)."""

    def commit(self, parents: Tensor, positions: Tensor, words: Tensor) -> None:
        """The next beam, (B, K) each: hypothesis k extends parents[b, k] of the same sentence by this word.

        Hypotheses with `<pad>` as their word are dead (their sentence has fewer than K, or has ended).
        """

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences (indexes into the present B) only."""
