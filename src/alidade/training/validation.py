"""How good a system is on held-out pairs: perplexity, and the share of right predictions.

For a lexical model that is assisted, the dev set's positions are given, as in the paper; for an alignment model the
perplexity is that of jumps.


BLEU of the dev set, translated by the real search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from lightning_fabric import Fabric
from torch import Tensor

from alidade.corpus.batching import Batch
from alidade.corpus.store import Split
from alidade.evaluation.metrics import Tokenisation, corpus_bleu
from alidade.models.system import Role, System
from alidade.training.objective import role_losses
from alidade.translator import Translator


@dataclass(frozen=True, slots=True)
class Score:
    """How one role did on some tokens."""

    nll: float
    """Negative log-likelihood, summed over the tokens."""
    num_correct: float
    num_tokens: int

    @property
    def loss(self) -> float:
        """Negative log-likelihood of a token."""
        return self.nll / self.num_tokens

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))  # beyond that it is no float any more

    @property
    def accuracy(self) -> float:
        """Share of the tokens that the model finds most likely."""
        return self.num_correct / self.num_tokens


Scores = Mapping[Role, Score]


@torch.no_grad()
def validate(system: System, batches: Iterable[Batch], fabric: Fabric) -> Scores:
    """The scores of all roles, with the batches shared out among the processes."""
    was_training = [module for module in system.modules() if module.training]
    system.eval()
    totals = torch.zeros(len(system.roles), 2, dtype=torch.float64)
    num_tokens = 0
    for number, batch in enumerate(batches):
        num_tokens += batch.num_target_tokens
        if number % fabric.world_size == fabric.global_rank:
            with fabric.autocast():
                losses = role_losses(system, batch.to(fabric.device), system.roles)
            totals += torch.stack([torch.stack([loss.nll, loss.num_correct]) for loss in losses.values()]).cpu()
    for module in was_training:
        module.training = True
    sums = cast("Tensor", fabric.all_reduce(totals.to(fabric.device), reduce_op="sum")).tolist()
    return {
        role: Score(nll, num_correct, num_tokens) for role, (nll, num_correct) in zip(system.roles, sums, strict=True)
    }


def dev_bleu(model: Path, dev: Split, target_language: str) -> float:
    """Translate the dev set with a model folder; in per cent, with case."""
    translations = Translator(model).translate_all(dev.source_texts(), with_links=False)
    tokenisation: Tokenisation = "zh" if target_language == "zh" else "13a"
    hypotheses = [translation.text for translation in translations]
    return corpus_bleu(hypotheses, list(dev.target_texts()), tokenisation=tokenisation).value
