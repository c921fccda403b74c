"""The one exception for what a person can cause and can mend.

Its message is one sentence (or a few) that says what was given, what was expected and what to do. The
command line prints it without a traceback and exits with 2; a Python user catches it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AlidadeError(Exception):
    """Something in the input, the settings or a file is not as it must be."""


def suggest_name(given: str, known: Iterable[str]) -> str:
    """The end of an error message that names the nearest right name: `; did you mean "width"?`."""
    nearest = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{nearest[0]}"?' if nearest else ""
