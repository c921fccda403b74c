"""Alidade: neural machine translation in which every target word points at the source word it translates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alidade.errors import AlidadeError

if TYPE_CHECKING:
    from alidade.translator import Translation, Translator

__all__ = ["AlidadeError", "Translation", "Translator", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import torch only when something that needs it is asked for."""
    if name in ("Translation", "Translator"):
        import alidade.translator

        return getattr(alidade.translator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
