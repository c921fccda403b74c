"""A model folder's weights as the engine's models read them: by name, below some prefix."""

from __future__ import annotations

from collections.abc import Mapping

from alidade.engine.graph import Floats


class Weights:
    """Weights by name."""

    def __init__(self, weights: Mapping[str, Floats], prefix: str = "") -> None:
        self._weights, self._prefix = weights, prefix

    def __getitem__(self, name: str) -> Floats:
        return self._weights[self._prefix + name]

    def optional(self, name: str) -> Floats | None:
        """A weight that may be left out."""
        return self[name] if self.has(name) else None

    def or_tied(self, name: str, other: Floats) -> Floats:
        """A weight, or the one that it is tied to."""
        return self[name] if self.has(name) else other

    def has(self, name: str) -> bool:
        return self._prefix + name in self._weights

    def at(self, name: str) -> Weights:
        """Those below a name."""
        return Weights(self._weights, f"{self._prefix}{name}.")
