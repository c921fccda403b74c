"""A model folder as a system that translates: its models on ONNX Runtime.

The graphs are made anew from the weights whenever a folder is loaded (a few tenths of a second), in the precision that
is asked for or that suits this processor.
"""

from __future__ import annotations

from dataclasses import dataclass

from alidade.config import AlignmentSettings, LexicalSettings, TransformerJumpsSettings, TransformerSettings
from alidade.engine.graph import Precision, has_wide_int8
from alidade.engine.jumps import AlignmentTransformer
from alidade.engine.rnn import AlignmentRnn, LexicalRnn
from alidade.engine.shapes import check_weights
from alidade.engine.transformer import LexicalTransformer
from alidade.engine.weights import Weights
from alidade.errors import ModelError
from alidade.model_folder import ModelFolder
from alidade.search.roles import AlignmentModel, LexicalModel

Device = str
"""`cpu`, or `cuda` where ONNX Runtime has it."""


@dataclass(frozen=True, slots=True)
class EngineSystem:
    """The models of a folder in their roles; see `search/roles.py`. Safe to use from several threads."""

    lexical: LexicalModel
    alignment: AlignmentModel | None
    shares_encoder: bool
    precision: Precision


def preferred_precision() -> Precision:
    """What suits this processor."""
    return "int8" if has_wide_int8() else "float32"


def load_engine(
    folder: ModelFolder, *, precision: Precision | None = None, threads: int = 1, device: Device = "cpu"
) -> EngineSystem:
    """A folder's system. precision: None is what suits this processor; threads: of one operation."""
    description = folder.description
    if description.lexical is None:
        raise ModelError(f"{folder.path}: an alignment model alone cannot translate; `alidade assemble` adds one")
    precision = precision or preferred_precision()
    stored = folder.weights()
    check_weights(folder, stored)
    weights = Weights(stored)
    lexical = _lexical(description.lexical, weights.at("lexical"), precision, threads, device)
    alignment = None
    if description.alignment is not None:
        alignment = _alignment(description.alignment, weights.at("alignment"), precision, threads, device)
    shares_encoder = description.alignment is not None and description.alignment.encoder == "lexical"
    return EngineSystem(lexical, alignment, shares_encoder, precision)


def _lexical(
    settings: LexicalSettings, weights: Weights, precision: Precision, threads: int, device: Device
) -> LexicalModel:
    if isinstance(settings, TransformerSettings):
        return LexicalTransformer(settings, weights, precision=precision, threads=threads, device=device)
    return LexicalRnn(settings, weights, precision=precision, threads=threads, device=device)


def _alignment(
    settings: AlignmentSettings, weights: Weights, precision: Precision, threads: int, device: Device
) -> AlignmentModel:
    if isinstance(settings, TransformerJumpsSettings):
        return AlignmentTransformer(settings, weights, precision=precision, threads=threads, device=device)
    return AlignmentRnn(settings, weights, precision=precision, threads=threads, device=device)
