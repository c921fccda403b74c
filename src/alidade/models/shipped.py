"""The model in the box: what translates when nobody says which model to take."""

from __future__ import annotations

import os
from pathlib import Path

from alidade.errors import AlidadeError

SHIPPED_FOLDER = Path(__file__).parent.parent / "models_shipped"
SHIPPED_MODEL = "en-ro"
"""English to Romanian; its README.md is its card."""
VARIABLE = "ALIDADE_MODEL"
"""An environment variable that names another model folder to take."""


def shipped_model() -> Path | None:
    """The folder of the model that is installed with the package, if there is one."""
    folder = SHIPPED_FOLDER / SHIPPED_MODEL
    return folder if (folder / "model.json").is_file() else None


def default_model() -> Path:
    """The model folder to take when none is given."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    shipped = shipped_model()
    if shipped is None:
        raise AlidadeError(
            "no model was given, and none is shipped with this installation: name a model folder, with --model or in "
            f"the environment variable {VARIABLE}; `alidade train` makes one"
        )
    return shipped
