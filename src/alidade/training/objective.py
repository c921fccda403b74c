"""What training minimises, as one module: a system's features, through its output layers, to its losses.

It is a module of its own because all that depends on weights has to happen inside `forward`, where Lightning Fabric
sees it: mixed precision and the exchange of gradients between processes hang on that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn

from alidade.models.linear import Linear
from alidade.models.system import Role, System
from alidade.text.batching import Batch
from alidade.training.loss import TokenLoss, token_loss


class Objective(nn.Module):
    """The losses of some roles of a system; the others are frozen."""

    def __init__(self, system: System, roles: Collection[Role], label_smoothing: float) -> None:
        super().__init__()
        self.system = system
        self.trained_roles = tuple(role for role in system.roles if role in roles)
        self.label_smoothing = label_smoothing
        for role, model in system.roles.items():
            if role not in roles:
                model.requires_grad_(False)

    def train(self, mode: bool = True) -> Objective:
        """A frozen model never drops out."""
        super().train(mode)
        for role, model in self.system.roles.items():
            if role not in self.trained_roles:
                model.eval()
        return self

    def forward(self, *batch: Any) -> dict[Role, Tensor]:
        """(3,) for each trained role, summed over the batch's tokens: loss, negative log-likelihood, correct ones.

        batch: the fields of a `Batch`. Fabric walks through the arguments and results of modules, and does not
        accept frozen dataclasses there.
        """
        sums = role_losses(self.system, Batch(*batch), self.trained_roles, self.label_smoothing)
        return {role: torch.stack([loss.loss, loss.nll, loss.num_correct]) for role, loss in sums.items()}


def role_losses(
    system: System, batch: Batch, roles: Collection[Role], label_smoothing: float = 0.0
) -> dict[Role, TokenLoss]:
    """The loss of each of these roles on a batch."""
    losses: dict[Role, TokenLoss] = {}
    for role, features in system(batch, roles).items():
        model: Any = system.roles[role]
        output: Linear = model.output
        if torch.is_grad_enabled():
            features = features.to(output.factors)
        losses[role] = token_loss(features, output.weight, output.bias, model.targets(batch), label_smoothing)
    return losses
