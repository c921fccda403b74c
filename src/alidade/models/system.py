"""A system: the models that translate together, each in its role.

From settings to modules: the only place that reads model settings."""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor, nn

from alidade.config import (
    AnyModelSettings,
    LayerChoice,
    RnnJumpsSettings,
    RnnSettings,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.corpus.batching import Batch
from alidade.errors import AlidadeError
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
    return Shape(
        width=settings.width,
        feed_forward=settings.feed_forward,
        heads=settings.heads,
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout,
        pre_norm=settings.pre_norm,
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
