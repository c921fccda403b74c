"""Skips: which source pieces a corpus leaves without a counterpart, and how seldom.

Half of all "the" have no Romanian word that points at them, of all "dog" hardly one. A translation that leaves the
first behind is as it should be; one that leaves the second behind has lost something (`search/coverage.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from alidade.corpus.store import Split
from alidade.text.vocabulary import BOS, EOS, PAD

MAX_PAIRS = 2_000_000
"""So many pairs, the first ones, say all that there is to know of single pieces."""
PAIRS_AT_ONCE = 100_000
PRIOR_COUNT = 4
"""A piece is taken to have been seen so often before, linked as often as pieces are on average."""


def skip_costs(split: Split, vocabulary_size: int) -> npt.NDArray[np.float32]:
    """(V,) what it costs to leave each source piece without a counterpart: log odds that it has one, but never below
    zero, since nobody is to be paid for leaving things out."""
    seen, linked = np.zeros(vocabulary_size), np.zeros(vocabulary_size)
    for first in range(0, min(len(split), MAX_PAIRS), PAIRS_AT_ONCE):
        ids, is_linked = _linked_pieces(split, first, min(first + PAIRS_AT_ONCE, len(split)))
        seen += np.bincount(ids, minlength=vocabulary_size)
        linked += np.bincount(ids, weights=is_linked, minlength=vocabulary_size)
    share = linked.sum() / max(seen.sum(), 1)
    linked, skipped = linked + PRIOR_COUNT * share, seen - linked + PRIOR_COUNT * (1 - share)
    costs = np.log(np.maximum(linked, 1e-9)) - np.log(np.maximum(skipped, 1e-9))
    costs[[PAD, BOS, EOS]] = 0
    kept: npt.NDArray[np.float32] = np.maximum(costs, 0).astype(np.float32)
    return kept


def _linked_pieces(split: Split, first: int, last: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The ids of all source pieces of some pairs, and whether a target piece points at each."""
    sources, positions = split.sources, split.all_positions
    assert positions is not None, "an alignment model is trained on positions"
    ids = sources.values[sources.starts[first] : sources.starts[last]].astype(np.int64)
    starts = sources.starts[first:last] - sources.starts[first]
    pointed_at = positions.values[positions.starts[first] : positions.starts[last]].astype(np.int64)
    is_linked = np.zeros(len(ids), dtype=np.bool_)
    is_linked[np.repeat(starts, np.diff(positions.starts[first : last + 1])) + pointed_at - 1] = True
    return ids, is_linked
