"""Pairs as padded tensors."""

import numpy as np
import torch

from alidade.models.batch import make_batch
from small_models import PAIRS, SmallPairs


def test_a_batch_is_what_models_expect() -> None:
    batch = make_batch(PAIRS, np.array([1, 0]))
    assert batch.source.tolist() == [[1, 13, 2, 0, 0], [1, 10, 11, 12, 2]]
    assert batch.target_in.tolist() == [[1, 22, 23, 24], [1, 20, 21, 0]]
    assert batch.target_out.tolist() == [[22, 23, 24, 2], [20, 21, 2, 0]]
    assert batch.positions.tolist() == [[1, 1, 1, 2], [3, 1, 4, 0]]
    assert batch.previous_positions.tolist() == [[0, 1, 1, 1], [0, 3, 1, 0]]
    assert batch.num_target_tokens == 7
    assert batch.source.dtype == torch.int64


def test_without_alignments_only_the_end_has_a_position() -> None:
    batch = make_batch(SmallPairs(PAIRS.sources, PAIRS.targets, None), np.array([0, 2]))
    assert batch.positions.tolist() == [[0, 0, 4], [0, 3, 0]]
    assert not batch.previous_positions.any()


def test_moving_a_batch_keeps_its_content() -> None:
    batch = make_batch(PAIRS, np.array([1, 0]))
    moved = batch.to(torch.device("cpu"))
    assert moved.num_target_tokens == batch.num_target_tokens
    assert all(torch.equal(a, b) for a, b in zip(moved.tensors, batch.tensors, strict=True))
