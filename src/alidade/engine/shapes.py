"""Which weights a model folder must have: every name and shape, from the settings alone.

Graphs made of weights that do not fit fail late, in ONNX Runtime's words, or do not fail at all: a folder whose parts
do not belong together is refused before.

Dimensions: D width, F feed-forward, E embedding, A attention, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping

from alidade.config import RnnJumpsSettings, RnnSettings, TransformerJumpsSettings, TransformerSettings
from alidade.engine.graph import Floats
from alidade.engine.transformer import layer_numbers
from alidade.errors import AlidadeError
from alidade.model_folder import MODEL_FILE, WEIGHTS_FILE, ModelDescription, ModelFolder


def check_weights(folder: ModelFolder, weights: Mapping[str, Floats]) -> None:
    """Refuse weights that are not those of the folder's settings."""
    expected = weight_shapes(folder.description)
    if odd := sorted(expected.keys() ^ weights.keys()):
        where = "is missing" if odd[0] in expected else "is not in its settings' model"
        raise AlidadeError(f"{folder.path}: {WEIGHTS_FILE} and {MODEL_FILE} do not belong together: {odd[0]} {where}")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise AlidadeError(
                f"{folder.path}: {name} has the shape {list(weights[name].shape)} in {WEIGHTS_FILE}, but {MODEL_FILE} "
                f"asks for {list(shape)}"
            )


def weight_shapes(description: ModelDescription) -> dict[str, tuple[int, ...]]:
    """The shape of each weight by its name; tied ones have one name."""
    shapes: dict[str, tuple[int, ...]] = {}
    sizes = description.source.size, description.target.size
    for role, settings in (("lexical", description.lexical), ("alignment", description.alignment)):
        if settings is not None:
            shapes |= {f"{role}.{name}": shape for name, shape in _Shapes().of(settings, *sizes).items()}
    return shapes


class _Shapes(dict[str, tuple[int, ...]]):
    """The shapes of one model's weights, as they are put together."""

    def of(
        self,
        settings: TransformerSettings | RnnSettings | TransformerJumpsSettings | RnnJumpsSettings,
        source_size: int,
        target_size: int,
    ) -> _Shapes:
        if isinstance(settings, TransformerSettings | RnnSettings):
            embedding = settings.embedding if isinstance(settings, RnnSettings) else settings.width
            self._lexical_embeddings(settings, embedding, source_size, target_size)
            if isinstance(settings, TransformerSettings):
                self._lexical_transformer(settings)
            else:
                self._lexical_rnn(settings)
        elif isinstance(settings, TransformerJumpsSettings):
            self._alignment_transformer(settings, source_size, target_size)
        else:
            self._alignment_rnn(settings, source_size, target_size)
        return self

    def _linear(self, name: str, outputs: int, inputs: int, *, has_bias: bool = True) -> None:
        self[f"{name}.weight"] = (outputs, inputs)
        if has_bias:
            self[f"{name}.bias"] = (outputs,)

    def _norm(self, name: str, width: int) -> None:
        self[f"{name}.norm.weight"] = self[f"{name}.norm.bias"] = (width,)

    def _lexical_embeddings(
        self, settings: TransformerSettings | RnnSettings, embedding: int, source_size: int, target_size: int
    ) -> None:
        self["encoder.embedding.weight"] = (source_size, embedding)
        if settings.tied_embeddings != "all":
            self["decoder.embedding.weight"] = (target_size, embedding)
        if settings.tied_embeddings == "none":
            self["output.weight"] = (target_size, settings.width)
        self["output.bias"] = (target_size,)

    # The transformers.

    def _lexical_transformer(self, settings: TransformerSettings) -> None:
        self._encoder(settings)
        width = settings.width
        for number in range(settings.decoder_layers):
            layer = f"decoder.layers.{number}"
            self._layer(layer, settings)
            self._linear(f"{layer}.source_attention.query", width, width)
            self._linear(f"{layer}.source_attention.keys_values", 2 * width, width)
            self._linear(f"{layer}.source_attention.output", width, width)
            self._norm(f"{layer}.source_residual", width)
        if settings.pre_norm:
            self._norm("decoder", width)
        if settings.kind == "transformer-aligned":
            for head in range(len(layer_numbers(settings.assisted_layers, settings.decoder_layers))):
                self._linear(f"alignment_heads.{head}", width, width, has_bias=False)

    def _alignment_transformer(self, settings: TransformerJumpsSettings, source_size: int, target_size: int) -> None:
        width = settings.width
        if settings.encoder == "own":
            self["encoder.embedding.weight"] = (source_size, width)
            self._encoder(settings)
        if settings.encoder != "own" or settings.tied_embeddings == "none":
            self["embedding.weight"] = (target_size, width)
        for number in range(settings.decoder_layers):
            self._layer(f"layers.{number}", settings)
            if not settings.pre_norm:
                self._norm(f"layers.{number}.source_residual", width)
        if settings.pre_norm:
            self["norm.weight"] = self["norm.bias"] = (width,)
        self._linear("output", 2 * settings.max_jump + 1, width)
        self["skip_cost"] = (source_size,)

    def _encoder(self, settings: TransformerSettings | TransformerJumpsSettings) -> None:
        for number in range(settings.encoder_layers):
            self._layer(f"encoder.layers.{number}", settings)
        if settings.pre_norm:
            self._norm("encoder", settings.width)

    def _layer(self, name: str, settings: TransformerSettings | TransformerJumpsSettings) -> None:
        """What all layers have: attention to themselves, and the feed-forward network."""
        width, inner = settings.width, settings.feed_forward
        self._linear(f"{name}.self_attention.inputs", 3 * width, width)
        self._linear(f"{name}.self_attention.output", width, width)
        self._norm(f"{name}.self_residual", width)
        self._linear(f"{name}.feed_forward.expand", inner, width)
        self._linear(f"{name}.feed_forward.contract", width, inner)
        self._norm(f"{name}.feed_forward_residual", width)

    # The recurrent models.

    def _lexical_rnn(self, settings: RnnSettings) -> None:
        width, attention = settings.width, settings.attention
        self._lstm_encoder(settings)
        self._linear("decoder.initial", 2 * settings.decoder_layers * width, width)
        self._linear("decoder.word_gates", 4 * width, settings.embedding, has_bias=False)
        for number in range(settings.decoder_layers):
            self._lstm(f"decoder.layers.{number}", width, width)
        self["decoder.energy"] = (attention,)
        self._linear("decoder.query", attention, width, has_bias=False)
        self._linear("decoder.key", attention, width)
        self._linear("decoder.state", width, width)
        self._linear("decoder.context", width, width, has_bias=False)
        if settings.kind == "rnn-biased":
            self["decoder.bias.vector"] = (attention,)

    def _alignment_rnn(self, settings: RnnJumpsSettings, source_size: int, target_size: int) -> None:
        width, embedding = settings.width, settings.embedding
        self["embedding.weight"] = (target_size, embedding)
        if settings.encoder == "own":
            self._lstm_encoder(settings)
            if settings.tied_embeddings == "none":
                self["encoder.embedding.weight"] = (source_size, embedding)
        for number in range(settings.decoder_layers):
            self._lstm(f"decoder.layers.{number}", width, width if number else embedding + width)
        self._linear("output", 2 * settings.max_jump + 1, width)
        self["skip_cost"] = (source_size,)

    def _lstm_encoder(self, settings: RnnSettings | RnnJumpsSettings) -> None:
        for direction in ("rightwards", "leftwards"):
            self._lstm(f"encoder.{direction}", settings.width // 2, settings.embedding)
        for number in range(settings.unidirectional_encoder_layers):
            self._lstm(f"encoder.unidirectional.layers.{number}", settings.width, settings.width)

    def _lstm(self, name: str, width: int, inputs: int) -> None:
        self._linear(f"{name}.gates", 4 * width, inputs + width)
