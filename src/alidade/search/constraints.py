"""What a dictionary tells the search: the hook between the grid's tensors and per-hypothesis plain data.

The search calls these methods only when it was given constraints, so no dictionary costs nothing. Who implements
them keeps a plain `State` for each hypothesis of the sentences that have matches (`dictionary/constraints.py`), and
touches no other sentence, so that those cost nearly nothing in a mixed batch.

In one step, for B sentences and K hypotheses numbered `sentence * K + k`:

1. `banks_of_pairs` before anything is evaluated (`exact` needs to know where a pair could end up);
2. `restrict` for each lot of evaluated rows: what may a row not write?
3. `end` for each hypothesis that finishes in this step;
4. `commit`: which extensions make the next beam.

`exact` stays exact: a restriction only lowers scores, so a pair's bound still holds; with banks a pair is skipped
only if K evaluated candidates of its own bank are better than its bound.
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


class Constraints(Protocol):
    """Constraints on the hypotheses of one batch; the sentences are those of the batch in its order."""

    needs_attention: bool
    """Whether `EvaluatedRows.attention` is to be computed (it slows the models' steps down a little)."""
    has_banks: bool
    """Whether hypotheses compete only within banks (`require`)."""

    def banks_of_pairs(self, num_positions: int) -> Tensor | None:
        """(B, K, S) the bank that a word of each (hypothesis, position) pair leads to, for instance the number of
        entries begun; sentences without entries have bank 0 everywhere. None if positions do not tell (then
        `exact` evaluates all pairs)."""

    def restrict(self, rows: EvaluatedRows, word_logp: Tensor) -> Tensor | None:
        """Set to -inf, in place, what these rows may not write: word_logp is (R, V), `</s>` among its columns.

        Forbid `</s>` to forbid finishing. Returns the bank of each row, (R,), if `has_banks`, else None.
        """

    def end(self, parent: int, position: int, word: int) -> object:
        """What to remember of hypothesis number `parent` that ends with this word (`</s>`, or at the length limit)."""

    def commit(self, parents: Tensor, positions: Tensor, words: Tensor) -> None:
        """The next beam, (B, K) each: hypothesis k extends parents[b, k] of the same sentence by this word.

        Hypotheses with `<pad>` as their word are dead (their sentence has fewer than K, or has ended).
        """

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences (indexes into the present B) only."""
