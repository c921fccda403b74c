"""Batches hold every pair once, with little padding, in an order that only seed and epoch decide."""

import itertools

import numpy as np
import pytest

from alidade.corpus.batching import BatchPlan, group_all
from alidade.errors import AlidadeError
from small_models import PAIRS


def caption_lengths(num_pairs: int = 29_000) -> tuple[np.ndarray, np.ndarray]:
    """Lengths like those of image captions: some 14 pieces a side, correlated."""
    random = np.random.default_rng(1)
    source = np.exp(random.normal(np.log(13.5), 0.35, num_pairs)).round().clip(1)
    target = (source * np.exp(random.normal(0.03, 0.18, num_pairs))).round().clip(1)
    return source.astype(np.int64), target.astype(np.int64)


def plan(batch_tokens: int = 4096, num_parts: int = 1, seed: int = 1, num_pairs: int = 29_000) -> BatchPlan:
    source, target = caption_lengths(num_pairs)
    return BatchPlan(source, target, batch_tokens=batch_tokens, num_parts=num_parts, max_length=200, seed=seed)


@pytest.mark.parametrize(("batch_tokens", "num_parts"), [(4096, 1), (4096, 4), (60, 3)])
def test_an_epoch_has_every_pair_once(batch_tokens: int, num_parts: int) -> None:
    a_plan = plan(batch_tokens, num_parts, num_pairs=3000)
    updates = a_plan.epoch(0)
    assert len(updates) == a_plan.updates_per_epoch
    numbers = np.concatenate([part for update in updates for part in update.parts])
    assert sorted(numbers) == list(range(3000))
    assert all(len(update.parts) == num_parts and all(map(len, update.parts)) for update in updates)


def test_updates_have_about_the_wanted_size() -> None:
    _, target = caption_lengths()
    for update in plan().epoch(0):
        assert update.num_target_tokens == sum(int((target[part] + 1).sum()) for part in update.parts)
        assert 0.95 * 4096 < update.num_target_tokens < 1.05 * 4096


def test_padding_wastes_under_five_percent_of_each_side_together() -> None:
    source, target = caption_lengths()
    parts = [part for update in plan().epoch(3) for part in update.parts]
    padded = sum(len(part) * int(source[part].max() + 2 + target[part].max() + 1) for part in parts)
    real = int((source + 2 + target + 1).sum())
    assert 1 - real / padded < 0.05


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    def first_numbers(a_plan: BatchPlan, epoch: int) -> list[int]:
        return list(a_plan.epoch(epoch)[0].parts[0])

    assert first_numbers(plan(), 1) == first_numbers(plan(), 1)
    assert first_numbers(plan(), 1) != first_numbers(plan(), 2)
    assert first_numbers(plan(seed=2), 1) != first_numbers(plan(), 1)


def test_starting_in_the_middle_gives_the_same_updates() -> None:
    a_plan = plan(num_pairs=2000)
    from_start = list(itertools.islice(a_plan.updates_from(0), 3 * a_plan.updates_per_epoch))
    step = a_plan.updates_per_epoch + 2
    later = list(itertools.islice(a_plan.updates_from(step), a_plan.updates_per_epoch))
    for update, expected in zip(later, from_start[step:], strict=False):
        assert [part.tolist() for part in update.parts] == [part.tolist() for part in expected.parts]


def test_the_pairs_of_an_update_do_not_depend_on_its_parts() -> None:
    whole, parted = plan(num_pairs=2000).epoch(0), plan(num_pairs=2000, num_parts=4).epoch(0)
    for one, four in zip(whole, parted, strict=True):
        assert sorted(one.parts[0]) == sorted(np.concatenate(four.parts))


def test_too_long_and_empty_pairs_are_left_out() -> None:
    source, target = np.array([3, 0, 5, 300]), np.array([3, 4, 300, 5])
    a_plan = BatchPlan(source, target, batch_tokens=100, num_parts=1, max_length=200, seed=1)
    assert a_plan.usable.tolist() == [0]


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(AlidadeError, match="only 1 of 1 training pairs"):
        BatchPlan(np.array([3]), np.array([3]), batch_tokens=100, num_parts=2, max_length=200, seed=1)


def test_validation_reads_every_pair_once() -> None:
    groups = group_all(PAIRS, batch_tokens=4)
    assert len(groups) == 3
    assert sorted(np.concatenate(groups)) == [0, 1, 2]
