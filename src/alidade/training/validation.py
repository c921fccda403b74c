"""How good a system is on held-out pairs: perplexity, the share of right predictions, and BLEU through the real search.

For a lexical model that is assisted, the dev set's positions are given, as in the paper; for an alignment model the
perplexity is that of jumps.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from lightning_fabric import Fabric
from torch import Tensor

from alidade.corpus.arrays import Integers
from alidade.corpus.batching import Pairs
from alidade.corpus.store import Split
from alidade.evaluation.metrics import Tokenisation, corpus_bleu
from alidade.io import read_json, write_json
from alidade.models.batch import make_batch
from alidade.models.system import Role, System
from alidade.text.languages import is_chinese
from alidade.training.objective import Tally, role_losses
from alidade.translator import Translator

SECONDS_BETWEEN_LOOKS = 0.2


@torch.no_grad()
def validate(system: System, pairs: Pairs, groups: Sequence[Integers], fabric: Fabric) -> dict[Role, Tally]:
    """How all roles did on groups of pairs, each a batch, which the processes share out among themselves."""
    was_training = [module for module in system.modules() if module.training]
    system.eval()
    totals = torch.zeros(len(system.roles), 2, dtype=torch.float64)
    for group in groups[fabric.global_rank :: fabric.world_size]:
        with fabric.autocast():
            losses = role_losses(system, make_batch(pairs, group).to(fabric.device), system.roles)
        totals += torch.stack([torch.stack([loss.nll, loss.num_correct]) for loss in losses.values()]).cpu()
    for module in was_training:
        module.training = True
    lengths = pairs.targets.lengths
    num_tokens = sum(int(lengths[group].sum()) + len(group) for group in groups)  # with a `</s>` each
    sums = cast("Tensor", fabric.all_reduce(totals.to(fabric.device), reduce_op="sum")).tolist()
    return {
        role: Tally(nll, num_correct, num_tokens) for role, (nll, num_correct) in zip(system.roles, sums, strict=True)
    }


def dev_bleu(model: Path, dev: Split, target_language: str, fabric: Fabric) -> float:
    """Translate the dev set with a model folder, a part in each process; in per cent, with case.

    The processes leave their parts in the model folder and look there for those of the others: to wait for a slow one
    in a collective would end the run when its time is over.
    """
    sources = list(dev.source_texts())[fabric.global_rank :: fabric.world_size]
    translations = Translator(model).translate_all(sources, with_links=False, protect=False)
    parts = [model / f"dev.{rank}-of-{fabric.world_size}.json" for rank in range(fabric.world_size)]
    write_json(parts[fabric.global_rank], [translation.text for translation in translations])
    while not all(part.exists() for part in parts):
        time.sleep(SECONDS_BETWEEN_LOOKS)
    hypotheses = [""] * len(dev)
    for rank, part in enumerate(parts):
        hypotheses[rank :: fabric.world_size] = read_json(part)
    tokenisation: Tokenisation = "zh" if is_chinese(target_language) else "13a"
    return corpus_bleu(hypotheses, list(dev.target_texts()), tokenisation=tokenisation).value
