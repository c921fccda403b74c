"""The `transformer` baseline as a CTranslate2 model: another engine's word on ours, and a fair peer in benchmarks.

CTranslate2 then gives the same translations as our search (`tests/equivalence/test_search_ctranslate2.py`), with
`beam_size`, `length_penalty` as our `length_normalisation`, `return_end_token=True` (so that it counts `</s>` as we
do) and `disable_unk=True`. It knows no alignment models, so assisted systems stay ours alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from alidade.errors import AlidadeError
from alidade.io import write_folder_aside
from alidade.models.layers import Embedding, position_encodings
from alidade.models.transformer import Transformer
from alidade.text.vocabulary import BOS, PAD

MAX_POSITIONS = 2048


def export_ctranslate2(
    model: nn.Module, source_pieces: Sequence[str], target_pieces: Sequence[str], folder: Path
) -> None:
    """Write a folder that `ctranslate2.Translator` reads."""
    if not isinstance(model, Transformer):
        raise AlidadeError("only the `transformer` baseline can be exported: CTranslate2 has no alignment models")
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError:
        raise AlidadeError("this needs the package ctranslate2: pip install ctranslate2") from None

    layers: Any = model.decoder.layers
    spec = TransformerSpec.from_config(
        (len(model.encoder.layers), len(layers)),
        layers[0].self_attention.num_heads,
        pre_norm=layers[0].self_residual.pre_norm,
        no_final_norm=not layers[0].self_residual.pre_norm,
    )
    _fill_encoder(spec.encoder, model)
    _fill_decoder(spec.decoder, model)
    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(target_pieces))
    spec.config.add_source_bos = True
    spec.config.add_source_eos = True
    spec.validate()
    with write_folder_aside(folder) as aside:
        spec.save(str(aside))


def _fill_encoder(spec: Any, model: Transformer) -> None:
    _fill_embedding(spec.embeddings[0], spec, model.encoder.embedding)
    for layer_spec, layer in zip(spec.layer, model.encoder.layers, strict=True):
        _fill_self_attention(layer_spec.self_attention, layer)
        _fill_feed_forward(layer_spec.ffn, layer)
    _fill_norm(spec, model.encoder.norm)


def _fill_decoder(spec: Any, model: Transformer) -> None:
    _fill_embedding(spec.embeddings, spec, model.decoder.embedding)
    for layer_spec, layer in zip(spec.layer, model.decoder.layers, strict=True):
        _fill_self_attention(layer_spec.self_attention, layer)
        attention: Any = layer.source_attention
        _fill_norm(layer_spec.attention, layer.source_residual.norm)
        _fill_linear(layer_spec.attention.linear[0], attention.query)
        _fill_linear(layer_spec.attention.linear[1], attention.keys_values)
        _fill_linear(layer_spec.attention.linear[2], attention.output)
        _fill_feed_forward(layer_spec.ffn, layer)
    _fill_norm(spec, model.decoder.norm)
    _fill_linear(spec.projection, model.output)
    bias = model.output.bias.detach().clone()
    bias[[PAD, BOS]] = -1e9  # our search never writes these; CTranslate2's would
    spec.projection.bias = bias.numpy()


def _fill_embedding(spec: Any, parent: Any, embedding: Embedding) -> None:
    spec.weight = _array(embedding.weight)
    parent.position_encodings.encodings = position_encodings(MAX_POSITIONS, embedding.embedding_dim).numpy()
    parent.scale_embeddings = True
    assert embedding.scale == math.sqrt(embedding.embedding_dim), "CTranslate2 scales by the root of the width"


def _fill_self_attention(spec: Any, layer: Any) -> None:
    _fill_norm(spec, layer.self_residual.norm)
    _fill_linear(spec.linear[0], layer.self_attention.inputs)
    _fill_linear(spec.linear[1], layer.self_attention.output)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    _fill_norm(spec, layer.feed_forward_residual.norm)
    _fill_linear(spec.linear_0, layer.feed_forward.expand)
    _fill_linear(spec.linear_1, layer.feed_forward.contract)


def _fill_norm(parent: Any, norm: Any) -> None:
    if isinstance(norm, nn.LayerNorm):
        parent.layer_norm.gamma = _array(norm.weight)
        parent.layer_norm.beta = _array(norm.bias)


def _fill_linear(spec: Any, layer: Any) -> None:
    spec.weight = _array(layer.weight)
    spec.bias = _array(layer.bias)


def _array(weight: Tensor) -> Any:
    return weight.detach().to(torch.float32).contiguous().numpy()
