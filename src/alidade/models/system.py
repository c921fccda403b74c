"""A system: the models that translate together, each in its role."""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor, nn

from alidade.text.batching import Batch

Role = str
LEXICAL: Role = "lexical"
ALIGNMENT: Role = "alignment"


class System(nn.Module):
    """A lexical model, an alignment model, or both. In training, one of them may be absent.

    An alignment model without an encoder of its own reads the lexical model's ("joint").
    """

    def __init__(self, lexical: nn.Module | None, alignment: nn.Module | None) -> None:
        super().__init__()
        assert lexical is not None or alignment is not None, "a system has at least one model"
        self.lexical = lexical
        self.alignment = alignment

    @property
    def shares_encoder(self) -> bool:
        return self.alignment is not None and self.alignment.encoder is None

    @property
    def roles(self) -> dict[Role, nn.Module]:
        """The models that are there, by role."""
        models = {LEXICAL: self.lexical, ALIGNMENT: self.alignment}
        return {role: model for role, model in models.items() if model is not None}

    def forward(self, batch: Batch, roles: Collection[Role] | None = None) -> dict[Role, Tensor]:
        """Features (N, D) of the batch's real target tokens, from each model or those of some roles only."""
        memory = self.lexical.encode(batch.source) if self.lexical is not None and self.shares_encoder else None  # type: ignore[operator]  # a model's method
        wanted = self.roles if roles is None else {role: self.roles[role] for role in roles}
        return {role: model(batch, memory) for role, model in wanted.items()}
