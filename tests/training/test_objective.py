"""What is trained gets gradients, what is frozen stays as it is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alidade.corpus.store import PreparedCorpus
from alidade.models.batch import Batch, make_batch
from alidade.models.system import System, build_system
from alidade.training.objective import Objective
from small_runs import ALIGNED, JUMPS, RNN, RNN_BIASED, RNN_JUMPS, TRANSFORMER, run_config

JOINT = {"encoder": "lexical"}


@pytest.fixture
def batch(lexicon_corpus: Path) -> Batch:
    return make_batch(PreparedCorpus.open(lexicon_corpus).train, np.arange(20))


def system(corpus: Path, lexical: dict[str, Any] | None, alignment: dict[str, Any] | None) -> System:
    config = run_config(corpus, corpus, lexical=lexical, alignment=alignment)
    size = PreparedCorpus.open(corpus).source_subwords.vocabulary_size
    return build_system(config.lexical, config.alignment, size, size)


@pytest.mark.parametrize(
    ("lexical", "alignment"),
    [
        (TRANSFORMER, None),
        (ALIGNED, None),
        (TRANSFORMER | {"pre_norm": False, "tied_embeddings": "none"}, None),
        (None, JUMPS),
        (None, JUMPS | {"pre_norm": False}),
        (ALIGNED, JUMPS),
        (ALIGNED, JUMPS | JOINT),
        (RNN, None),
        (RNN_BIASED, None),
        (None, RNN_JUMPS),
        (RNN_BIASED, RNN_JUMPS | JOINT),
    ],
)
def test_every_weight_gets_a_gradient(
    lexicon_corpus: Path, batch: Batch, lexical: dict[str, Any] | None, alignment: dict[str, Any] | None
) -> None:
    """Or several processes would wait for ever for the gradient that one of them lacks. (All but what is counted.)"""
    objective = Objective(system(lexicon_corpus, lexical, alignment), {"lexical", "alignment"}, 0.1)
    sums = objective(*batch.tensors, batch.num_target_tokens)
    loss = torch.stack([role_sums[0] for role_sums in sums.values()]).sum()
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    without = [name for name, parameter in objective.named_parameters() if parameter.grad is None]
    assert [name for name in without if not name.endswith("skip_cost")] == []


def test_a_frozen_lexical_model_stays_and_does_not_drop_out(lexicon_corpus: Path, batch: Batch) -> None:
    joint = system(lexicon_corpus, ALIGNED | {"dropout": 0.5}, JUMPS | JOINT)
    objective = Objective(joint, {"alignment"}, 0.1).train()
    sums = objective(*batch.tensors, batch.num_target_tokens)
    assert list(sums) == ["alignment"]
    sums["alignment"][0].backward()
    assert joint.lexical is not None
    assert joint.alignment is not None
    assert all(parameter.grad is None for parameter in joint.lexical.parameters())
    assert not joint.lexical.training
    assert joint.alignment.training


def test_with_consistency_a_batch_is_read_twice(lexicon_corpus: Path, batch: Batch) -> None:
    """Without dropout both readings are the same, so nothing changes; with it they differ, and that costs."""
    settled, dropping = (system(lexicon_corpus, TRANSFORMER | {"dropout": dropout}, None) for dropout in (0.0, 0.3))
    once = Objective(settled, {"lexical"}, 0.1).train()(*batch.tensors, batch.num_target_tokens)
    twice = Objective(settled, {"lexical"}, 0.1, 5.0).train()(*batch.tensors, batch.num_target_tokens)
    torch.testing.assert_close(twice["lexical"], once["lexical"], rtol=1e-5, atol=1e-4)

    losses = []
    for consistency in (1e-9, 5.0):
        torch.manual_seed(1)
        reading = Objective(dropping, {"lexical"}, 0.1, consistency).train()
        losses.append(reading(*batch.tensors, batch.num_target_tokens)["lexical"][0])
    assert losses[1] > losses[0] + 1.0
