"""A system: the models that translate together, each in its role.

From settings to modules: the only place that reads model settings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from alidade.config import (
    AnyModelSettings,
    LayerChoice,
    RnnJumpsSettings,
    RnnSettings,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.errors import AlidadeError
from alidade.model_folder import MODEL_FILE, WEIGHTS_FILE, ModelFolder, load_model_folder, read_weights
from alidade.models.batch import Batch
from alidade.models.jumps import TransformerJumps
from alidade.models.layers import Shape
from alidade.models.rnn import Rnn, RnnBiased, RnnJumps
from alidade.models.transformer import AlignedTransformer, Transformer

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
    def skip_cost(self) -> Tensor:
        """(V,) what the alignment model says it costs to leave out each source piece; counted, not trained."""
        assert self.alignment is not None, "only an alignment model knows"
        cost = self.alignment.skip_cost
        assert isinstance(cost, Tensor)
        return cost

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


def build_system(
    lexical: TransformerSettings | RnnSettings | None,
    alignment: TransformerJumpsSettings | RnnJumpsSettings | None,
    source_vocabulary: int,
    target_vocabulary: int,
) -> System:
    """A system with fresh weights, drawn from torch's global generator."""
    for settings in (lexical, alignment):
        _check_tying(settings, source_vocabulary, target_vocabulary)
    return System(
        None if lexical is None else _build_lexical(lexical, source_vocabulary, target_vocabulary),
        None if alignment is None else _build_alignment(alignment, source_vocabulary, target_vocabulary),
    )


def _build_lexical(
    settings: TransformerSettings | RnnSettings, source_vocabulary: int, target_vocabulary: int
) -> nn.Module:
    if isinstance(settings, RnnSettings):
        recurrent = Rnn if settings.kind == "rnn" else RnnBiased
        return recurrent(
            embedding=settings.embedding,
            width=settings.width,
            attention=settings.attention,
            unidirectional_encoder_layers=settings.unidirectional_encoder_layers,
            decoder_layers=settings.decoder_layers,
            dropout=settings.dropout,
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            tied_embeddings=settings.tied_embeddings,
        )
    shape = _shape(settings)
    if settings.kind == "transformer":
        return Transformer(
            shape,
            encoder_layers=settings.encoder_layers,
            decoder_layers=settings.decoder_layers,
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            tied_embeddings=settings.tied_embeddings,
        )
    return AlignedTransformer(
        shape,
        encoder_layers=settings.encoder_layers,
        decoder_layers=settings.decoder_layers,
        assisted_layers=_layer_numbers(settings.assisted_layers, settings.decoder_layers),
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        tied_embeddings=settings.tied_embeddings,
        head_dropout=settings.head_dropout,
        position_noise=settings.position_noise,
    )


def _build_alignment(
    settings: TransformerJumpsSettings | RnnJumpsSettings, source_vocabulary: int, target_vocabulary: int
) -> nn.Module:
    if isinstance(settings, RnnJumpsSettings):
        return RnnJumps(
            embedding=settings.embedding,
            width=settings.width,
            unidirectional_encoder_layers=settings.unidirectional_encoder_layers if settings.encoder == "own" else None,
            decoder_layers=settings.decoder_layers,
            dropout=settings.dropout,
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            tied_embeddings=settings.tied_embeddings,
            max_jump=settings.max_jump,
        )
    return TransformerJumps(
        _shape(settings),
        encoder_layers=settings.encoder_layers if settings.encoder == "own" else None,
        decoder_layers=settings.decoder_layers,
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        tied_embeddings=settings.tied_embeddings,
        max_jump=settings.max_jump,
    )


def _shape(settings: TransformerSettings | TransformerJumpsSettings) -> Shape:
    shape = Shape(
        width=settings.width,
        feed_forward=settings.feed_forward,
        heads=settings.heads,
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout,
        pre_norm=settings.pre_norm,
    )
    if isinstance(settings, TransformerJumpsSettings):
        return shape
    return replace(
        shape,
        activation=settings.activation,
        norm_epsilon=settings.norm_epsilon,
        position_rates=settings.position_rates,
        source_start=settings.source_start,
    )


def _layer_numbers(choice: LayerChoice, num_layers: int) -> list[int]:
    if isinstance(choice, list):
        return choice
    return list(range(num_layers)) if choice == "all" else [num_layers - 1]


def _check_tying(settings: AnyModelSettings | None, source_vocabulary: int, target_vocabulary: int) -> None:
    if settings is not None and settings.tied_embeddings == "all" and source_vocabulary != target_vocabulary:
        raise AlidadeError(
            f'{settings.kind}: tied_embeddings = "all" needs one vocabulary for both languages, but they have '
            f"{source_vocabulary} and {target_vocabulary} pieces; prepare the corpus with subwords.joint = true "
            "or choose another tied_embeddings"
        )


def load_system(folder: ModelFolder) -> System:
    """A model folder's models, ready to be trained further or compared with."""
    description = folder.description
    system = build_system(description.lexical, description.alignment, description.source.size, description.target.size)
    load_weights(system, folder.path)
    return system.eval()


def named_weights(system: System) -> dict[str, npt.NDArray[np.float32]]:
    """All weights by name, as a model folder has them; tied ones once."""
    return {name: parameter.detach().cpu().contiguous().numpy() for name, parameter in system.named_parameters()}


@torch.no_grad()
def load_weights(system: System, path: Path) -> None:
    """Fill a system with a model folder's weights; names and shapes must be the same."""
    weights = load_model_folder(path).weights()
    parameters = dict(system.named_parameters())
    if weights.keys() != parameters.keys():
        odd = sorted(weights.keys() ^ parameters.keys())[0]
        where = "is not in its settings' model" if odd in weights else "is missing"
        raise AlidadeError(f"{path}: {WEIGHTS_FILE} and {MODEL_FILE} do not belong together: {odd} {where}")
    for name, parameter in parameters.items():
        if weights[name].shape != parameter.shape:
            raise AlidadeError(
                f"{path}: {name} has the shape {list(weights[name].shape)} in {WEIGHTS_FILE}, but {MODEL_FILE} "
                f"asks for {list(parameter.shape)}"
            )
        parameter.copy_(torch.from_numpy(weights[name]))


@torch.no_grad()
def initialise_from(system: System, path: Path) -> None:
    """Start from another folder's weights: the second stage of training (paper, section 3.3).

    Every weight of the folder must have its place here, except for those of a role that is not trained, and for
    alignment heads when a plain transformer goes on from an assisted one; weights that the folder does not have
    (alignment heads, a role that it lacks) stay as they were drawn.
    """
    parameters = dict(system.named_parameters())
    has_heads = any(map(_is_of_heads, parameters))
    for name, weight in read_weights(path).items():
        if name.split(".")[0] not in system.roles or (_is_of_heads(name) and not has_heads):
            continue
        if name not in parameters:
            raise AlidadeError(f"init_from {path}: it has the weight {name}, which the model to train does not have")
        if weight.shape != parameters[name].shape:
            raise AlidadeError(
                f"init_from {path}: {name} has the shape {list(weight.shape)} there and "
                f"{list(parameters[name].shape)} here; give both models the same sizes"
            )
        parameters[name].copy_(torch.from_numpy(weight))


def _is_of_heads(name: str) -> bool:
    return ".alignment_heads." in name
