"""Errors: what a person can cause and can mend.

A message is one sentence (or a few) that says what was given, what was expected and what to do. The command line
prints it without a traceback and exits with 2 (with 75 if the command only has to be given again); a Python user
catches `AlidadeError`, or one of its kinds.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class AlidadeError(Exception):
    """Something in the input, the settings or a file is not as it must be."""


class ArgumentError(AlidadeError):
    """A function was called with something that it cannot work with."""


class ModelError(AlidadeError):
    """A model cannot do what it was asked for."""


class WaitingError(AlidadeError):
    """Nothing can be done before others have done their part: the same command goes on later (exit code 75)."""


class MissingPackageError(AlidadeError):
    """An optional package is needed that is not installed."""


def require_package(name: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # it is there, but something inside it is broken
        raise MissingPackageError(
            f"{purpose} needs the package {name}: install it with `pip install 'alidade-mt[{extra}]'`"
        ) from None


def suggest_name(given: str, known: Iterable[str]) -> str:
    """The end of an error message that names the nearest right name: `; did you mean "width"?`."""
    nearest = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{nearest[0]}"?' if nearest else ""
