"""Alidade: neural machine translation in which every target word points at the source word it translates.

    from alidade import Translator

    translation = Translator().translate("The disk is full.")
    print(translation.text, translation.alignment)

Whatever a person can cause and mend is an `AlidadeError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from alidade.errors import AlidadeError, ArgumentError, MissingPackageError, ModelError

if TYPE_CHECKING:
    from alidade.aligner import align, score
    from alidade.dictionary.entries import Dictionary
    from alidade.translation import Translation
    from alidade.translator import Translator

__all__ = [
    "AlidadeError",
    "ArgumentError",
    "Dictionary",
    "MissingPackageError",
    "ModelError",
    "Translation",
    "Translator",
    "__version__",
    "align",
    "score",
]

__version__ = "0.1.0"

_HOMES = {
    "Dictionary": "alidade.dictionary.entries",
    "Translation": "alidade.translation",
    "Translator": "alidade.translator",
    "align": "alidade.aligner",
    "score": "alidade.aligner",
}


def __getattr__(name: str) -> Any:
    """Import what takes time only when it is asked for."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
