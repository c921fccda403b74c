"""Model folders: everything needed to translate, as safetensors, JSON and sentencepiece models.

    model.json                 the settings of each role, the vocabularies' fingerprints
    weights.safetensors        all weights, named by role: lexical.*, alignment.*
    subwords.source.model      sentencepiece
    subwords.target.model
    search.json                how to search (`alidade tune` writes it)

Training writes such a folder, and translation reads it: the engine makes its graphs from the weights. Nothing in it can
run code. A folder is written aside and renamed, so it is there whole or not at all. One of them is in
the box (`default_model`): it translates when nobody says which model to take.

Weights may take less room: in half precision, or in eight bits. A matrix in eight bits is W = scales * Q, Q of whole
numbers from -127 to 127 with a scale for each row; each of its numbers is off by at most half a scale, 0.4 % of the
largest weight of its row. Vectors (biases, norms) are few and stay as they are. All are read back as float32.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from alidade import __version__
from alidade.config import (
    AlignmentSettings,
    LexicalSettings,
    NormalisationSettings,
    SearchSettings,
    Settings,
    parse_settings,
)
from alidade.errors import AlidadeError
from alidade.io import read_json, write_folder_aside, write_json
from alidade.text.normalise import normalise_as_set
from alidade.text.subwords import Subwords

MODEL_FILE = "model.json"
WEIGHTS_FILE = "weights.safetensors"
SEARCH_FILE = "search.json"
SOURCE_SUBWORDS_FILE = "subwords.source.model"
TARGET_SUBWORDS_FILE = "subwords.target.model"
_FILES = {MODEL_FILE, WEIGHTS_FILE, SEARCH_FILE, SOURCE_SUBWORDS_FILE, TARGET_SUBWORDS_FILE}

SHIPPED_FOLDER = Path(__file__).parent / "models_shipped"
SHIPPED_MODEL = "en-ro"
"""English to Romanian; its README.md is its card."""
VARIABLE = "ALIDADE_MODEL"
"""An environment variable that names another model folder to take."""

SKIP_COST = "alignment.skip_cost"
"""What it costs to leave out each source piece. Folders of 0.2 and before do not have it."""

WeightForm = Literal["float32", "float16", "int8"]
Array = npt.NDArray[Any]
Weights = Mapping[str, npt.NDArray[np.float32]]
_LARGEST = 127
_SCALES = ":scales"
"""No parameter's name has a colon."""


class VocabularyDescription(Settings):
    """What a model folder says of one side's vocabulary."""

    language: str
    size: int
    fingerprint: str


class ModelDescription(Settings):
    """The contents of model.json."""

    format: Literal[1] = 1
    alidade: str = __version__
    lexical: LexicalSettings | None = None
    alignment: AlignmentSettings | None = None
    source: VocabularyDescription
    target: VocabularyDescription
    normalisation: NormalisationSettings = NormalisationSettings()
    """How the text was written that the models were trained on."""

    @property
    def roles(self) -> set[str]:
        return {role for role in ("lexical", "alignment") if getattr(self, role) is not None}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A loaded model folder."""

    path: Path
    description: ModelDescription
    source_subwords: Subwords
    target_subwords: Subwords
    search: SearchSettings

    def normalise_source(self, text: str) -> str:
        """A source text written as those that the system was trained on."""
        return normalise_as_set(text, self.source_subwords.language, self.description.normalisation)

    def normalise_target(self, text: str) -> str:
        """A target text written as those that the system was trained on."""
        return normalise_as_set(text, self.target_subwords.language, self.description.normalisation)

    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """All weights by name, in float32."""
        weights = read_weights(self.path)
        if self.description.alignment is not None and SKIP_COST not in weights:
            weights[SKIP_COST] = np.zeros(self.description.source.size, dtype=np.float32)
        return weights

    def weights_of(self, role: Literal["lexical", "alignment"]) -> dict[str, npt.NDArray[np.float32]]:
        """The weights of one role."""
        return {name: weight for name, weight in self.weights().items() if name.startswith(f"{role}.")}


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


def describe_vocabulary(subwords: Subwords) -> VocabularyDescription:
    return VocabularyDescription(
        language=subwords.language, size=subwords.vocabulary_size, fingerprint=subwords.fingerprint
    )


def save_model_folder(
    path: Path,
    weights: Weights,
    lexical: LexicalSettings | None,
    alignment: AlignmentSettings | None,
    source_subwords: Subwords,
    target_subwords: Subwords,
    search: SearchSettings | None = None,
    normalisation: NormalisationSettings | None = None,
    form: WeightForm = "float32",
) -> None:
    """Write a model folder; one that is already there is replaced as a whole."""
    description = ModelDescription(
        lexical=lexical,
        alignment=alignment,
        source=describe_vocabulary(source_subwords),
        target=describe_vocabulary(target_subwords),
        normalisation=normalisation or NormalisationSettings(),
    )
    with write_folder_aside(path) as aside:
        write_json(aside / MODEL_FILE, description.model_dump(mode="json"))
        write_weights(aside / WEIGHTS_FILE, compact_weights(weights, form))
        # safetensors lets nobody but its owner read a file; who may read the folder is not its business.
        (aside / WEIGHTS_FILE).chmod((aside / MODEL_FILE).stat().st_mode)
        source_subwords.save(aside / SOURCE_SUBWORDS_FILE)
        target_subwords.save(aside / TARGET_SUBWORDS_FILE)
        save_search_settings(aside, search or SearchSettings())


def save_search_settings(path: Path, search: SearchSettings) -> None:
    """Write how to search with this model into its folder."""
    write_json(path / SEARCH_FILE, search.model_dump(mode="json"))


def write_weights(path: Path, weights: Mapping[str, Array]) -> None:
    """Write a safetensors file."""
    try:
        # safetensors writes memory as it lies there, whatever the strides are.
        save_file({name: np.ascontiguousarray(weight) for name, weight in weights.items()}, path)
    except SafetensorError as error:
        raise AlidadeError(f"{path}: cannot be written: {error}") from None


def load_model_folder(path: Path) -> ModelFolder:
    """Read a model folder, all but its weights; nothing in it is executed."""
    description = load_description(path)
    return ModelFolder(
        path,
        description,
        _load_subwords(path / SOURCE_SUBWORDS_FILE, description.source),
        _load_subwords(path / TARGET_SUBWORDS_FILE, description.target),
        load_search_settings(path),
    )


def copy_model_folder(folder: ModelFolder, path: Path, form: WeightForm) -> None:
    """Write a loaded model folder again, with its weights in another form; what else lies in it is copied."""
    description = folder.description
    others = [file for file in folder.path.iterdir() if file.is_file() and file.name not in _FILES]
    save_model_folder(
        path,
        folder.weights(),
        description.lexical,
        description.alignment,
        folder.source_subwords,
        folder.target_subwords,
        folder.search,
        description.normalisation,
        form,
    )
    for file in others:  # a card; gone already if the folder replaces itself
        if file.exists():
            shutil.copy2(file, path / file.name)


def assemble_folder(lexical: Path | str, alignment: Path | str, output: Path | str) -> ModelFolder:
    """Put a lexical and an alignment model, trained apart as in the paper, into one folder that can translate."""
    words, positions = load_model_folder(Path(lexical)), load_model_folder(Path(alignment))
    if words.description.lexical is None:
        raise AlidadeError(f"{lexical}: this folder has no lexical model; give a transformer-aligned or rnn-biased one")
    if positions.description.alignment is None:
        raise AlidadeError(
            f"{alignment}: this folder has no alignment model; give a transformer-jumps or rnn-jumps one"
        )
    if positions.description.alignment.encoder == "lexical":
        raise AlidadeError(f"{alignment}: its alignment model reads its own lexical model's encoder: use it as it is")
    for side in ("source", "target"):
        if getattr(words.description, side) != getattr(positions.description, side):
            raise AlidadeError(
                f"{lexical} and {alignment} have different {side} vocabularies: train both on one corpus"
            )
    if words.description.normalisation != positions.description.normalisation:
        raise AlidadeError(f"{lexical} and {alignment} know text in different writing: train both on one corpus")
    save_model_folder(
        Path(output),
        {**words.weights_of("lexical"), **positions.weights_of("alignment")},
        words.description.lexical,
        positions.description.alignment,
        words.source_subwords,
        words.target_subwords,
        words.search,
        words.description.normalisation,
    )
    return load_model_folder(Path(output))


def load_description(path: Path) -> ModelDescription:
    """What a model folder says of its models, without their weights."""
    if not (path / MODEL_FILE).is_file():
        raise AlidadeError(f"{path}: not a model folder (it has no {MODEL_FILE})")
    values = _read_object(path / MODEL_FILE)
    if values.get("format") != 1:
        raise AlidadeError(
            f"{path / MODEL_FILE}: its format is {values.get('format')!r}, this alidade ({__version__}) reads format 1"
        )
    return parse_settings(ModelDescription, values, source=str(path / MODEL_FILE))


def load_search_settings(path: Path) -> SearchSettings:
    """How to search with this model; the defaults if the folder does not say."""
    if not (path / SEARCH_FILE).exists():
        return SearchSettings()
    values = _read_object(path / SEARCH_FILE)
    if values.get("shortlist") == "none":  # what folders of 0.1 say of something that is gone
        del values["shortlist"]
    return parse_settings(SearchSettings, values, source=str(path / SEARCH_FILE))


def read_weights(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """The weights of a model folder by name, in float32."""
    file = path / WEIGHTS_FILE
    if not file.is_file():
        raise AlidadeError(f"{path}: the model folder has no {WEIGHTS_FILE}")
    try:
        with safe_open(file, framework="np") as weights:
            stored = {name: weights.get_tensor(name) for name in weights.keys()}  # noqa: SIM118  # not a dict
    except SafetensorError as error:
        raise AlidadeError(f"{file}: damaged or cut short ({error}); copy the model folder again") from None
    return expand_weights(stored)


def compact_weights(weights: Weights, form: WeightForm) -> dict[str, Array]:
    """Weights as they are stored."""
    if form == "float32":
        return dict(weights)
    if form == "float16":
        return {name: weight.astype(np.float16) for name, weight in weights.items()}
    stored: dict[str, Array] = {}
    for name, weight in weights.items():
        if weight.ndim == 2:
            stored[name], stored[name + _SCALES] = _round_rows(weight)
        else:
            stored[name] = weight
    return stored


def expand_weights(stored: Mapping[str, Array]) -> dict[str, npt.NDArray[np.float32]]:
    """Stored weights in float32, under the parameters' names."""
    return {
        name: _scale_rows(name, weight, stored.get(name + _SCALES))
        if weight.dtype == np.int8
        else weight.astype(np.float32, copy=False)
        for name, weight in stored.items()
        if not name.endswith(_SCALES)
    }


def _round_rows(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """(R, C) weights as whole numbers and their (R,) scales."""
    scales = np.abs(weight).max(axis=1) / np.float32(_LARGEST)
    scales[scales == 0] = 1.0
    return np.rint(weight / scales[:, None]).astype(np.int8), scales


def _scale_rows(name: str, rounded: Array, scales: Array | None) -> npt.NDArray[np.float32]:
    if scales is None or scales.shape != rounded.shape[:1]:
        raise AlidadeError(f"the weight {name} is in eight bits, but the scales of its rows are not with it")
    return rounded * scales.astype(np.float32)[:, None]


def _read_object(path: Path) -> dict[str, Any]:
    values = read_json(path)
    if not isinstance(values, dict):
        raise AlidadeError(f"{path}: a JSON object is needed")
    return values


def _load_subwords(path: Path, description: VocabularyDescription) -> Subwords:
    subwords = Subwords.load(path, description.language)
    if describe_vocabulary(subwords) != description:
        raise AlidadeError(f"{path}: not the subword model that the weights were trained with")
    return subwords
