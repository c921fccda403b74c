"""Another program's weights under our names: what Marian's and Hugging Face's models have in common.

Both have a linear layer each for queries, keys and values, where ours have one for all three. A `Foreign` gives linear
layers and norms by what they are; `our_weights` puts them together. Every weight must be taken: one that is left over
belongs to an option that we do not know.

Dimensions: D width, V our vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from alidade.config import NormalisationSettings, SearchSettings, TransformerSettings
from alidade.engine.shapes import weight_shapes
from alidade.errors import AlidadeError
from alidade.exchange.vocabulary import JoinedVocabulary
from alidade.model_folder import ModelDescription, describe_vocabulary, save_model_folder
from alidade.text.subwords import Subwords

Floats = npt.NDArray[np.float32]


class Stored:
    """The arrays of a file, and which of them have been taken."""

    def __init__(self, path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.path, self._arrays = path, arrays
        self._left = set(arrays)

    def has(self, name: str) -> bool:
        return name in self._arrays

    def take(self, name: str) -> Floats:
        if name not in self._arrays:
            raise AlidadeError(f"{self.path}: the weight {name} is missing")
        self._left.discard(name)
        array = self._arrays[name].astype(np.float32)
        if not np.isfinite(array).all():
            raise AlidadeError(f"{self.path}: the weight {name} has values that are no numbers")
        return array

    def take_bytes(self, name: str) -> bytes:
        """A text that is stored as an array of bytes."""
        self._left.discard(name)
        return self._arrays[name].astype(np.uint8).tobytes()

    def ignore(self, *names: str) -> None:
        self._left.difference_update(names)

    def check_all_taken(self) -> None:
        if self._left:
            raise AlidadeError(f"{self.path}: the weight {min(self._left)} belongs to an option that is not supported")


class Foreign(Protocol):
    """A transformer's parts. stack: encoder or decoder; layer: from 0."""

    def linear(self, stack: str, layer: int, part: str) -> tuple[Floats, Floats]:
        """(outputs, inputs) and (outputs,). part: self.q, self.k, self.v, self.o, source.*, expand or contract."""

    def norm(self, stack: str, layer: int | None, part: str) -> tuple[Floats, Floats]:
        """Scale and bias. part: self, source or feed; the last norm of a stack has no layer."""


def our_weights(foreign: Foreign, settings: TransformerSettings) -> dict[str, Floats]:
    """All but embeddings and the output layer, by our names."""
    weights: dict[str, Floats] = {}

    def put(name: str, *parts: tuple[Floats, Floats]) -> None:
        # safetensors writes an array's memory as it lies there, and a transposed one lies in columns.
        weights[f"lexical.{name}.weight"] = np.ascontiguousarray(np.concatenate([weight for weight, _ in parts]))
        weights[f"lexical.{name}.bias"] = np.concatenate([bias for _, bias in parts])

    for stack, num_layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for layer in range(num_layers):
            ours = f"{stack}.layers.{layer}"
            put(f"{ours}.self_attention.inputs", *[foreign.linear(stack, layer, f"self.{part}") for part in "qkv"])
            put(f"{ours}.self_attention.output", foreign.linear(stack, layer, "self.o"))
            put(f"{ours}.self_residual.norm", foreign.norm(stack, layer, "self"))
            if stack == "decoder":
                put(f"{ours}.source_attention.query", foreign.linear(stack, layer, "source.q"))
                put(
                    f"{ours}.source_attention.keys_values",
                    *[foreign.linear(stack, layer, f"source.{part}") for part in "kv"],
                )
                put(f"{ours}.source_attention.output", foreign.linear(stack, layer, "source.o"))
                put(f"{ours}.source_residual.norm", foreign.norm(stack, layer, "source"))
            for part in ("expand", "contract"):
                put(f"{ours}.feed_forward.{part}", foreign.linear(stack, layer, part))
            put(f"{ours}.feed_forward_residual.norm", foreign.norm(stack, layer, "feed"))
        if settings.pre_norm:
            put(f"{stack}.norm", foreign.norm(stack, None, "top"))
    return weights


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """Our vocabularies of both sides; `is_joint`: they are one."""

    source: JoinedVocabulary
    target: JoinedVocabulary
    is_joint: bool

    @property
    def models(self) -> tuple[bytes, bytes]:
        return self.source.models[0], self.target.models[-1]

    def start_at(self, tag: str | None) -> int | None:
        """Our number of the tag that says which language to write; None if there is none to choose."""
        tags = [piece for piece in self.source.pieces if piece.startswith(">>") and piece.endswith("<<")]
        if not tags and tag is None:
            return None
        wanted = None if tag is None else f">>{tag.removeprefix('>>').removesuffix('<<')}<<"
        if wanted not in tags:
            some = " ".join(tags[:30]) + (" …" if len(tags) > 30 else "")
            problem = "writes several languages: choose one" if tag is None else f"has no tag {wanted}: choose another"
            raise AlidadeError(
                f"this model {problem} with --target-tag, of {some}"
                if tags
                else f"this model has no tags, so no {wanted}"
            )
        assert wanted is not None
        return self.source.pieces.index(wanted)


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """What an importer has read."""

    settings: TransformerSettings
    weights: dict[str, Floats]
    vocabularies: Vocabularies
    normalisation: NormalisationSettings
    search: SearchSettings


def save_imported(model: ImportedModel, languages: tuple[str, str], output: Path) -> None:
    """Write a model folder of weights that fit the settings."""
    source, target = (
        Subwords(side, language) for side, language in zip(model.vocabularies.models, languages, strict=True)
    )
    description = ModelDescription(
        lexical=model.settings, source=describe_vocabulary(source), target=describe_vocabulary(target)
    )
    for name, shape in weight_shapes(description).items():
        if model.weights[name].shape != shape:
            raise AlidadeError(
                f"the weights are not those of the model's settings: {name} has the shape "
                f"{list(model.weights[name].shape)}, and {list(shape)} is needed"
            )
    save_model_folder(output, model.weights, model.settings, None, source, target, model.search, model.normalisation)


def check_rows(path: Path, name: str, num_rows: int, num_pieces: int) -> None:
    if num_rows != num_pieces:
        raise AlidadeError(
            f"{path}: the vocabulary has {num_pieces} pieces, but {name} has {num_rows} rows: they do not fit"
        )


def in_order(path: Path, numbers: Mapping[str, int]) -> list[str]:
    """The pieces of a vocabulary by their numbers."""
    pieces = sorted(numbers, key=lambda piece: numbers[piece])
    if [numbers[piece] for piece in pieces] != list(range(len(pieces))):
        raise AlidadeError(f"{path}: the pieces must be numbered from 0 to {len(pieces) - 1}, each number once")
    return pieces


def asks_for_moses(folder: Path) -> bool:
    """Whether a model's papers say that its text was written as Moses writes punctuation. Nothing is run."""
    for name, sign in (("preprocess.sh", "normalize-punctuation"), ("README.md", "pre-processing: normalization")):
        file = folder / name
        if file.is_file() and sign in file.read_text(encoding="utf-8", errors="replace"):
            return True
    return False
