"""Marian models in Hugging Face's format: read into a model folder, and written from one.

A folder of `MarianMTModel` has `config.json`, weights (`model.safetensors`, or `pytorch_model.bin`, which is read by
torch as numbers alone), `source.spm`, `target.spm` and `vocab.json`. Hugging Face's Marian is post-norm, reads a source
without `<s>`, starts decoding from `<pad>`, whose embedding is nothing, and has the original position rates.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from alidade.config import (
    Activation,
    NormalisationSettings,
    PositionRates,
    SearchSettings,
    TransformerSettings,
    parse_settings,
)
from alidade.engine.layers import position_encodings
from alidade.errors import AlidadeError, require_package
from alidade.exchange.tokenizer import tokenizer_json
from alidade.exchange.vocabulary import SPECIAL, JoinedVocabulary, for_running_text, join_vocabulary
from alidade.exchange.weights import (
    Floats,
    ImportedModel,
    Stored,
    Vocabularies,
    asks_for_moses,
    check_rows,
    in_order,
    our_weights,
)
from alidade.io import read_json, write_folder_aside, write_json
from alidade.model_folder import ModelFolder, write_weights
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
PICKLED_WEIGHTS_FILE = "pytorch_model.bin"
MAX_POSITIONS = 1024
ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "swish", "silu": "swish", "quick_gelu": "gelu"}
EXPECTED = {
    "model_type": "marian",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "extra_pos_embeddings": 0,
    "tie_word_embeddings": True,
}
"""Options that a model may not have otherwise; a config that does not name one means what is expected, except for
`scale_embedding`, whose default is false."""
_ATTENTION = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}
_PARTS = {
    **{f"self.{part}": f"self_attn.{name}" for part, name in _ATTENTION.items()},
    **{f"source.{part}": f"encoder_attn.{name}" for part, name in _ATTENTION.items()},
    "expand": "fc1",
    "contract": "fc2",
}
POSITION_TABLES = tuple(f"model.{stack}.embed_positions.weight" for stack in ("encoder", "decoder"))
_NORMS = {"self": "self_attn_layer_norm", "source": "encoder_attn_layer_norm", "feed": "final_layer_norm"}


def import_hugging_face(folder: Path, tag: str | None = None) -> ImportedModel:
    """Read a folder of `MarianMTModel`. tag: the language to write, for models of several."""
    config = read_object(folder / CONFIG_FILE)
    _check_options(folder / CONFIG_FILE, config)
    vocabularies = _read_vocabularies(folder, config)
    start = vocabularies.start_at(tag)
    settings = parse_settings(
        TransformerSettings,
        {
            "width": config.get("d_model"),
            "feed_forward": config.get("encoder_ffn_dim"),
            "heads": config.get("encoder_attention_heads"),
            "encoder_layers": config.get("encoder_layers"),
            "decoder_layers": config.get("decoder_layers"),
            "pre_norm": False,
            "tied_embeddings": "all" if vocabularies.is_joint else "target",
            "activation": ACTIVATIONS[config["activation_function"]],
            "source_start": "skipped" if start is None else start,
        },
        source=str(folder / CONFIG_FILE),
    )
    stored = _read_weights(folder)
    settings = settings.model_copy(update={"position_rates": _position_rates(stored, settings.width)})
    weights = our_weights(_Parts(stored), settings)
    weights |= _embeddings(stored, vocabularies, _start_row(folder / CONFIG_FILE, config))
    stored.check_all_taken()
    normalisation = NormalisationSettings(moses_punctuation=asks_for_moses(folder))
    return ImportedModel(settings, weights, vocabularies, normalisation, _search_settings(folder, config))


def languages_of(folder: Path) -> tuple[str | None, str | None]:
    """Source and target, if the folder says so."""
    path = folder / "tokenizer_config.json"
    values = read_object(path) if path.is_file() else {}
    return values.get("source_lang"), values.get("target_lang")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a stranger's folder."""
    if not path.is_file():
        raise AlidadeError(f"{path}: is missing")
    values = read_json(path)
    if not isinstance(values, dict):
        raise AlidadeError(f"{path}: a JSON object is needed")
    return values


def _check_options(path: Path, config: Mapping[str, Any]) -> None:
    given = {"scale_embedding": False} | dict(config)
    for name, expected in EXPECTED.items():
        if given.get(name, expected) != expected:
            raise AlidadeError(f"{path}: {name} = {given[name]!r} is not supported, only {expected!r} is")
    activation = config.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise AlidadeError(
            f"{path}: activation_function = {activation!r} is not supported, only {', '.join(ACTIVATIONS)} are"
        )
    for name in ("ffn_dim", "attention_heads"):
        if config.get(f"encoder_{name}") != config.get(f"decoder_{name}"):
            raise AlidadeError(f"{path}: encoder_{name} and decoder_{name} must be the same")


def _read_vocabularies(folder: Path, config: Mapping[str, Any]) -> Vocabularies:
    source_model, target_model = folder / "source.spm", folder / "target.spm"
    pieces = _read_pieces(folder / "vocab.json")
    if config.get("share_encoder_decoder_embeddings", True):
        joined = join_vocabulary(pieces, [source_model, target_model])
        return Vocabularies(joined, joined, is_joint=True)
    own = folder / "target_vocab.json"
    target_pieces = _read_pieces(own) if own.is_file() else pieces
    return Vocabularies(
        join_vocabulary(pieces, [source_model]), join_vocabulary(target_pieces, [target_model]), is_joint=False
    )


def _read_pieces(path: Path) -> list[str]:
    numbers = read_object(path)
    if not all(isinstance(number, int) for number in numbers.values()):
        raise AlidadeError(f"{path}: pieces and their numbers are needed")
    return in_order(path, numbers)


def _read_weights(folder: Path) -> Stored:
    path, pickled = folder / WEIGHTS_FILE, folder / PICKLED_WEIGHTS_FILE
    if path.is_file():
        try:
            with safe_open(path, framework="np") as file:
                return Stored(path, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118  # not a dict
        except (SafetensorError, TypeError) as error:
            raise AlidadeError(f"{path}: damaged, cut short or in a precision that numpy has not ({error})") from None
    if pickled.is_file():
        return Stored(pickled, _read_pickled(pickled))
    raise AlidadeError(f"{folder}: has neither {WEIGHTS_FILE} nor {PICKLED_WEIGHTS_FILE}")


def _read_pickled(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Weights in torch's format, which may hold code: nothing but numbers is let in."""
    torch = require_package("torch", "train", f"reading {path.name}")
    try:
        values = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        if isinstance(error, MemoryError | OSError):
            raise
        raise AlidadeError(
            f"{path}: refused, since it is damaged or holds something other than weights; save the model as safetensors"
        ) from None
    if not isinstance(values, dict) or not all(isinstance(value, torch.Tensor) for value in values.values()):
        raise AlidadeError(f"{path}: refused, since it holds something other than weights")
    return {str(name): value.float().numpy() for name, value in values.items()}


class _Parts:
    """Layers by Hugging Face's names."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def linear(self, stack: str, layer: int, part: str) -> tuple[Floats, Floats]:
        return self._take(f"model.{stack}.layers.{layer}.{_PARTS[part]}")

    def norm(self, stack: str, layer: int | None, part: str) -> tuple[Floats, Floats]:
        assert layer is not None, "post-norm stacks do not end with a norm"
        return self._take(f"model.{stack}.layers.{layer}.{_NORMS[part]}")

    def _take(self, name: str) -> tuple[Floats, Floats]:
        return self._stored.take(f"{name}.weight"), self._stored.take(f"{name}.bias")


def _position_rates(stored: Stored, width: int) -> PositionRates:
    """Those of the stored positions; published models mostly leave them out, and have the original ones."""
    tables = [stored.take(name) for name in POSITION_TABLES if stored.has(name)]
    for rates in typing.get_args(PositionRates):
        if all(_is_close(table, position_encodings(len(table), width, rates)) for table in tables):
            found: PositionRates = rates
            return found
    raise AlidadeError(f"{stored.path}: {POSITION_TABLES[0]} is not supported, only sinusoids are")


def _is_close(table: Floats, expected: Floats) -> bool:
    return table.shape == expected.shape and bool(np.allclose(table, expected, atol=1e-3))


def _start_row(path: Path, config: Mapping[str, Any]) -> int:
    """The row that decoding starts from."""
    start = config.get("decoder_start_token_id", config.get("pad_token_id"))
    if not isinstance(start, int) or start < 0:
        raise AlidadeError(f"{path}: decoder_start_token_id = {start!r} is no row of the embeddings")
    return start


def _embeddings(stored: Stored, vocabularies: Vocabularies, start: int) -> dict[str, Floats]:
    """Embeddings and the output layer. Tied matrices may be stored once or several times."""
    stored.ignore("lm_head.weight")
    shared, encoder, decoder = (
        f"model.{name}.weight" for name in ("shared", "encoder.embed_tokens", "decoder.embed_tokens")
    )
    source_name, target_name = (encoder, decoder)
    if vocabularies.is_joint:
        source_name = target_name = next(n for n in (shared, encoder, decoder, shared) if stored.has(n) or n == shared)
        stored.ignore(shared, encoder, decoder)
    elif not stored.has(decoder) and stored.has("lm_head.weight"):
        target_name = "lm_head.weight"
    weights = {
        "lexical.encoder.embedding.weight": _side(stored, source_name, vocabularies.source, start),
        "lexical.output.bias": vocabularies.target.biases(
            _fitting(stored, "final_logits_bias", stored.take("final_logits_bias").reshape(-1), vocabularies.target),
            start,
        ),
    }
    if not vocabularies.is_joint:
        weights["lexical.decoder.embedding.weight"] = _side(stored, target_name, vocabularies.target, start)
    return weights


def _side(stored: Stored, name: str, vocabulary: JoinedVocabulary, start: int) -> Floats:
    matrix = _fitting(stored, name, stored.take(name), vocabulary)
    if start >= len(matrix):
        raise AlidadeError(f"{CONFIG_FILE}: decoder_start_token_id = {start} is no row of {name}")
    return vocabulary.embeddings(matrix, start)


def _fitting(stored: Stored, name: str, rows: Floats, vocabulary: JoinedVocabulary) -> Floats:
    check_rows(stored.path, name, len(rows), vocabulary.num_rows)
    return rows


def _search_settings(folder: Path, config: Mapping[str, Any]) -> SearchSettings:
    path = folder / "generation_config.json"
    given = dict(config) | (read_object(path) if path.is_file() else {})
    beam_size, power = given.get("num_beams"), given.get("length_penalty")
    stops_early = given.get("early_stopping")
    if not (stops_early is None or isinstance(stops_early, bool)):
        raise AlidadeError(f"{path}: early_stopping = {stops_early!r} is not supported, only true and false are")
    values: dict[str, Any] = {"stopping": "finished" if stops_early else "attainable"}
    if isinstance(beam_size, int):
        values["beam_size"] = beam_size
    if isinstance(power, int | float):
        values["length_normalisation"] = power
    return parse_settings(SearchSettings, values, source=str(path))


# The other way.


def export_hugging_face(folder: ModelFolder, output: Path) -> None:
    """Write a baseline as a folder that `AutoModelForSeq2SeqLM` and `AutoTokenizer` read.

    Post-norm models become `MarianMTModel`; pre-norm ones `PegasusForConditionalGeneration`, which is the same with
    norms in the other places. A source that starts with `<s>` needs a tokenizer that puts it there.
    """
    settings = _exportable(folder)
    pieces = [folder.source_subwords.piece(number) for number in range(len(folder.source_subwords))]
    order = [EOS, UNK, *range(len(SPECIAL), len(pieces)), PAD, BOS]
    numbers = {pieces[number]: row for row, number in enumerate(order)}
    weights = folder.weights_of("lexical")
    with write_folder_aside(output) as aside:
        write_json(aside / CONFIG_FILE, _config(settings, numbers))
        write_json(aside / "generation_config.json", _generation_config(folder.search, numbers))
        write_weights(aside / WEIGHTS_FILE, _their_weights(weights, settings, order))
        (aside / WEIGHTS_FILE).chmod((aside / CONFIG_FILE).stat().st_mode)
        _write_tokenizer(aside, folder, numbers, reads_start=settings.source_start == "read")


def _write_tokenizer(output: Path, folder: ModelFolder, numbers: dict[str, int], *, reads_start: bool) -> None:
    sides = {"source": folder.source_subwords, "target": folder.target_subwords}
    config: dict[str, Any] = {f"{side}_lang": subwords.language for side, subwords in sides.items()}
    if reads_start:
        write_json(output / "tokenizer.json", tokenizer_json(folder.source_subwords.model, numbers))
        names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        config |= {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **names}
    else:
        write_json(output / "vocab.json", numbers)
        for side, subwords in sides.items():
            (output / f"{side}.spm").write_bytes(for_running_text(subwords.model))
        config |= {"tokenizer_class": "MarianTokenizer"}
    write_json(output / "tokenizer_config.json", config)


def _exportable(folder: ModelFolder) -> TransformerSettings:
    settings = folder.description.lexical
    if not isinstance(settings, TransformerSettings) or settings.kind != "transformer":
        raise AlidadeError(f"{folder.path}: only a `transformer` baseline can be written for Hugging Face")
    for name, value in {"tied_embeddings": "all", "norm_epsilon": 1e-5}.items():
        if getattr(settings, name) != value:
            raise AlidadeError(
                f"{folder.path}: Hugging Face's models have {name} = {json.dumps(value)}, this one has "
                f"{json.dumps(getattr(settings, name))}; a model to export must be trained so"
            )
    if settings.source_start == "read" and folder.source_subwords.model != folder.target_subwords.model:
        raise AlidadeError(
            f"{folder.path}: source and target must have one subword model to be written for Hugging Face"
        )
    return settings


def _config(settings: TransformerSettings, numbers: Mapping[str, int]) -> dict[str, Any]:
    activations = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    stacks = {
        f"{stack}_{name}": value
        for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers))
        for name, value in (
            ("layers", layers),
            ("ffn_dim", settings.feed_forward),
            ("attention_heads", settings.heads),
        )
    }
    if settings.pre_norm:
        kind = {"model_type": "pegasus", "architectures": ["PegasusForConditionalGeneration"], "scale_embedding": True}
    else:
        kind = {**EXPECTED, "architectures": ["MarianMTModel"], "decoder_vocab_size": len(numbers)}
        kind |= {"share_encoder_decoder_embeddings": True}
    return {
        **kind,
        **stacks,
        "activation_function": activations[settings.activation],
        "d_model": settings.width,
        "vocab_size": len(numbers),
        "is_encoder_decoder": True,
        "max_position_embeddings": MAX_POSITIONS,
        **_special_numbers(numbers),
        "forced_eos_token_id": numbers["</s>"],
        "dropout": settings.dropout,
    }


def _special_numbers(numbers: Mapping[str, int]) -> dict[str, int]:
    names = {"eos_token_id": "</s>", "pad_token_id": "<pad>", "bos_token_id": "<s>", "decoder_start_token_id": "<s>"}
    return {name: numbers[piece] for name, piece in names.items()}


def _generation_config(search: SearchSettings, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Our search: it writes no `<unk>`, and stops when as many translations have ended as the beam is wide."""
    return {
        "num_beams": search.beam_size,
        "length_penalty": search.length_normalisation,
        "early_stopping": search.beam_size > 1 and search.stopping == "finished",
        "bad_words_ids": [[numbers[piece]] for piece in ("<unk>", "<pad>", "<s>")],
        "max_length": 512,
        **_special_numbers(numbers),
    }


def _their_weights(weights: Mapping[str, Floats], settings: TransformerSettings, order: list[int]) -> dict[str, Floats]:
    """Our weights under their names. order: our number of each of their rows."""
    found = {
        "model.shared.weight": weights["lexical.encoder.embedding.weight"][order],
        "final_logits_bias": weights["lexical.output.bias"][order][None],
    }
    for stack, num_layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for layer in range(num_layers):
            for name, parts in _OURS.items():
                if stack == "decoder" or not name.startswith("source"):
                    for kind in ("weight", "bias"):
                        together = weights[f"lexical.{stack}.layers.{layer}.{name}.{kind}"]
                        for part, weight in zip(parts, np.split(together, len(parts)), strict=True):
                            found[f"model.{stack}.layers.{layer}.{part}.{kind}"] = np.ascontiguousarray(weight)
        found[f"model.{stack}.embed_positions.weight"] = position_encodings(
            MAX_POSITIONS, settings.width, settings.position_rates
        )
        if settings.pre_norm:
            for kind in ("weight", "bias"):
                found[f"model.{stack}.layer_norm.{kind}"] = weights[f"lexical.{stack}.norm.{kind}"]
    return found


_OURS = {
    "self_attention.inputs": [_PARTS[f"self.{part}"] for part in "qkv"],
    "self_attention.output": [_PARTS["self.o"]],
    "self_residual.norm": [_NORMS["self"]],
    "source_attention.query": [_PARTS["source.q"]],
    "source_attention.keys_values": [_PARTS[f"source.{part}"] for part in "kv"],
    "source_attention.output": [_PARTS["source.o"]],
    "source_residual.norm": [_NORMS["source"]],
    "feed_forward.expand": [_PARTS["expand"]],
    "feed_forward.contract": [_PARTS["contract"]],
    "feed_forward_residual.norm": [_NORMS["feed"]],
}
"""What each part of a layer of ours is made of."""
