"""Models of Marian, as OPUS-MT publishes them: read into a model folder.

A release is a zip file or a folder with the weights (`.npz`), a vocabulary for each side (`.yml`, or a sentencepiece
file that is one), `source.spm` and `target.spm`, and `decoder.yml`, which names them and says how to search. The
model's options stand in its weights, as `special:model.yml`. Nothing of it is run, and no pickled object is read.

Marian's matrices are (inputs, outputs). Its source has no `<s>`, and its decoder starts from a vector of zeros.
"""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from alidade.config import NormalisationSettings, SearchSettings, TransformerSettings, parse_settings
from alidade.errors import AlidadeError, require_package
from alidade.exchange.vocabulary import join_vocabulary, sentencepiece_order
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

OPTIONS = "special:model.yml"
EPSILON = 1e-6
MAX_EXPANSION = 100
"""A file that is so many times as large as in its archive is no model."""
DEEPEST = 20
"""So deeply YAML may be nested."""
EXPECTED: dict[str, tuple[str, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-decoder-dim-ffn": ("0",),
    "transformer-tied-layers": ("[]",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-no-projection": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-no-affine": ("false",),
    "transformer-pool": ("false",),
    "transformer-postprocess-emb": ("d", ""),
    "input-types": ("[]",),
    "lemma-dim-emb": ("0",),
    "lemma-dependency": ("",),
    "factors-combine": ("sum",),
    "ulr": ("false",),
    "right-left": ("false",),
}
"""What options may be; one that is not named is as expected, since Marian's defaults are."""


def import_marian(folder: Path, tag: str | None = None) -> ImportedModel:
    """Read a release. tag: the language to write, for models of several."""
    decoder = _decoder_settings(folder)
    path = _model_path(folder, decoder)
    stored = read_npz(path)
    options = _model_options(stored)
    vocabularies = _read_vocabularies(folder, decoder, is_joint=stored.has("Wemb"))
    start = vocabularies.start_at(tag)
    settings = parse_settings(
        TransformerSettings,
        {
            "width": options.get("dim-emb"),
            "feed_forward": options.get("transformer-dim-ffn"),
            "heads": options.get("transformer-heads"),
            "encoder_layers": options.get("enc-depth"),
            "decoder_layers": options.get("dec-depth"),
            "pre_norm": _is_pre_norm(path, options),
            "tied_embeddings": _tying(stored),
            "activation": options.get("transformer-ffn-activation", "swish"),
            "norm_epsilon": EPSILON,
            "position_rates": "marian",
            "source_start": "skipped" if start is None else start,
        },
        source=f"{path}: its options",
    )
    weights = our_weights(_Parts(stored, "_pre" if settings.pre_norm else ""), settings)
    weights |= _embeddings(stored, vocabularies, settings)
    stored.check_all_taken()
    normalisation = NormalisationSettings(moses_punctuation=asks_for_moses(folder))
    return ImportedModel(settings, weights, vocabularies, normalisation, _search_settings(folder, decoder))


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A release's folder; what a zip file holds is written to a temporary one."""
    if path.is_dir():
        yield path
        return
    if not path.exists():
        raise AlidadeError(f"{path}: no such file or folder")
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist():
                    _check_member(path, member)
                archive.extractall(folder)
        except _DAMAGED as error:
            raise AlidadeError(f"{path}: not a zip file, or a damaged one ({error})") from None
        yield _innermost(Path(folder))


_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    name = PurePosixPath(member.filename.replace("\\", "/"))
    is_link = (member.external_attr >> 28) == 0xA
    if name.is_absolute() or ".." in name.parts or not name.parts or name.parts[0].endswith(":") or is_link:
        raise AlidadeError(f"{path}: refused, since it would write outside of its folder: {member.filename}")
    if member.file_size > MAX_EXPANSION * max(member.compress_size, 1 << 16):
        raise AlidadeError(f"{path}: refused, since {member.filename} is too large for what it is packed in")


def _innermost(folder: Path) -> Path:
    """The folder itself, or the only one in it."""
    inside = list(folder.iterdir())
    return _innermost(inside[0]) if len(inside) == 1 and inside[0].is_dir() else folder


def is_marian(folder: Path) -> bool:
    return any(folder.glob("*.npz"))


def read_npz(path: Path) -> Stored:
    """Arrays of numbers; an array of Python objects, which could run code, is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _check_member(path, member)
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return Stored(path, {name: file[name] for name in file.files})
    except (*_DAMAGED, ValueError, KeyError, AttributeError, MemoryError, SyntaxError) as error:
        raise AlidadeError(f"{path}: damaged, cut short or not of numbers alone ({error})") from None


def read_yaml(text: str, source: Path | str) -> Any:
    """YAML as strings, lists and mappings of them: "no" is a piece, not a truth value, and no tag makes an object.

    It is put together from the parser's events, since the loaders of the library crash on what is nested too deeply.
    """
    yaml = require_package("yaml", "import", "reading a Marian model")
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _build(yaml, yaml.parse(text, Loader=loader), source)
    except yaml.YAMLError as error:
        raise AlidadeError(f"{source}: not valid YAML: {str(error).splitlines()[0]}") from None


def _build(yaml: Any, events: Iterator[Any], source: Path | str) -> Any:
    """The value that the events of a document describe."""
    whole: list[Any] = []
    open_values: list[tuple[list[Any], bool]] = [(whole, False)]
    """Of the values that have begun and not ended: what is in them, and whether they are mappings."""
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            open_values[-1][0].append(event.value)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            open_values.append(([], isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            inside, is_mapping = open_values.pop()
            open_values[-1][0].append(_mapping(inside, source) if is_mapping else inside)
        elif isinstance(event, yaml.AliasEvent):
            raise AlidadeError(f"{source}: YAML with aliases is not supported")
        if len(open_values) > DEEPEST:
            raise AlidadeError(f"{source}: not valid YAML for a model: it is nested too deeply")
    return whole[0] if whole else None


def _mapping(inside: list[Any], source: Path | str) -> dict[str, Any]:
    keys = inside[::2]
    if not all(isinstance(key, str) for key in keys):
        raise AlidadeError(f"{source}: not valid YAML for a model: its keys must be texts")
    return dict(zip(keys, inside[1::2], strict=True))


def _read_yaml_mapping(path: Path) -> dict[str, Any]:
    try:
        values = read_yaml(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise AlidadeError(f"{path}: not UTF-8") from None
    if not isinstance(values, dict):
        raise AlidadeError(f"{path}: a YAML mapping is needed")
    return values


# What a release says of itself.


def _decoder_settings(folder: Path) -> dict[str, Any]:
    files = [folder / "decoder.yml", *sorted(folder.glob("*.decoder.yml"))]
    return next((_read_yaml_mapping(file) for file in files if file.is_file()), {})


def _model_path(folder: Path, decoder: Mapping[str, Any]) -> Path:
    named = decoder.get("models", [])
    if isinstance(named, list) and len(named) > 1:
        raise AlidadeError(f"{folder}: models: an ensemble of {len(named)} is not supported; leave one in decoder.yml")
    if isinstance(named, list) and named:
        return _inside(folder, str(named[0]))
    found = sorted(folder.glob("*.npz"))
    found = [file for file in found if not file.name.endswith(("optimizer.npz", "progress.npz"))]
    if len(found) != 1:
        raise AlidadeError(f"{folder}: has {len(found)} models (.npz): one is needed, or a decoder.yml that names it")
    return found[0]


def _inside(folder: Path, name: str) -> Path:
    """A file that a release names: it must lie in the release, whatever the path says."""
    path = folder / PurePosixPath(name.replace("\\", "/")).name
    if not path.is_file():
        raise AlidadeError(f"{folder}: {name}, which decoder.yml names, is missing")
    return path


def _model_options(stored: Stored) -> dict[str, Any]:
    if not stored.has(OPTIONS):
        raise AlidadeError(f"{stored.path}: has no {OPTIONS}, so it is no model of Marian")
    text = stored.take_bytes(OPTIONS).rstrip(b"\0").decode(errors="replace")
    options = read_yaml(text, f"{stored.path}: {OPTIONS}")
    if not isinstance(options, dict):
        raise AlidadeError(f"{stored.path}: {OPTIONS} has no options in it")
    for name, expected in EXPECTED.items():
        given = _plain(options.get(name, expected[0]))
        if given not in expected:
            raise AlidadeError(f"{stored.path}: the option {name} = {given} is not supported, only {expected[0]} is")
    return options


def _plain(value: Any) -> str:
    return "[]" if value == [] else str(value)


def _is_pre_norm(path: Path, options: Mapping[str, Any]) -> bool:
    before, after, top = (
        str(options.get(f"transformer-{name}", default)).replace("d", "")
        for name, default in (("preprocess", ""), ("postprocess", "dan"), ("postprocess-top", ""))
    )
    if (before, after, top) == ("", "an", ""):
        return False
    if (before, after, top) == ("n", "a", "n"):
        return True
    raise AlidadeError(
        f'{path}: the options transformer-preprocess = "{before}", transformer-postprocess = "{after}" and '
        f'transformer-postprocess-top = "{top}" are not supported together'
    )


def _search_settings(folder: Path, decoder: Mapping[str, Any]) -> SearchSettings:
    """Marian's search: as `decoder.yml` says, and as Marian does where it says nothing; ours if there is none."""
    penalty = decoder.get("word-penalty", "0")
    if not _is_zero(penalty):
        raise AlidadeError(f"{folder}: decoder.yml: word-penalty = {penalty} is not supported, only 0 is")
    values: dict[str, Any] = {"stopping": "shrinking"}
    if decoder:
        normalize = decoder.get("normalize", "0")
        values["beam_size"] = decoder.get("beam-size", "12")
        values["length_normalisation"] = {"true": 1.0, "false": 0.0}.get(normalize, normalize)
    return parse_settings(SearchSettings, values, source=f"{folder}: decoder.yml")


def _is_zero(value: Any) -> bool:
    try:
        return float(value) == 0
    except (TypeError, ValueError):
        return False


# Vocabularies.


def _read_vocabularies(folder: Path, decoder: Mapping[str, Any], *, is_joint: bool) -> Vocabularies:
    files = _vocabulary_files(folder, decoder)
    sides = [_read_pieces(file) for file in files]
    models = [
        file if file.suffix == ".spm" else folder / f"{side}.spm"
        for file, side in zip(files, ("source", "target"), strict=True)
    ]
    if not is_joint:
        source, target = (join_vocabulary(pieces, [model]) for pieces, model in zip(sides, models, strict=True))
        return Vocabularies(source, target, is_joint=False)
    if sides[0] != sides[1]:
        raise AlidadeError(
            f"{folder}: one matrix for both sides needs one vocabulary, but {files[1].name} is another one"
        )
    joined = join_vocabulary(sides[0], models)
    return Vocabularies(joined, joined, is_joint=True)


def _vocabulary_files(folder: Path, decoder: Mapping[str, Any]) -> Sequence[Path]:
    named = decoder.get("vocabs", [])
    if isinstance(named, list) and named:
        files = [_inside(folder, str(name)) for name in named]
    else:
        files = sorted(folder.glob("*vocab*.yml")) or sorted(folder.glob("vocab*.spm"))
    if len(files) not in (1, 2):
        raise AlidadeError(f"{folder}: has {len(files)} vocabularies: one or two are needed, which decoder.yml names")
    return [files[0], files[-1]]


def _read_pieces(path: Path) -> list[str]:
    if path.suffix == ".spm":
        return sentencepiece_order(path)
    if path.suffix not in (".yml", ".yaml", ".json"):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    numbers = _read_yaml_mapping(path)
    try:
        return in_order(path, {piece: int(number) for piece, number in numbers.items()})
    except (TypeError, ValueError):
        raise AlidadeError(f"{path}: pieces and their numbers are needed") from None


# Weights.


class _Parts:
    """Layers by Marian's names."""

    def __init__(self, stored: Stored, norm_suffix: str) -> None:
        self._stored, self._norm_suffix = stored, norm_suffix

    def linear(self, stack: str, layer: int, part: str) -> tuple[Floats, Floats]:
        name, letter = {"expand": ("ffn", "1"), "contract": ("ffn", "2")}.get(part) or part.split(".")
        prefix = f"{stack}_l{layer + 1}_{_MARIAN.get(name, name)}"
        return self._stored.take(f"{prefix}_W{letter}").T, self._stored.take(f"{prefix}_b{letter}").reshape(-1)

    def norm(self, stack: str, layer: int | None, part: str) -> tuple[Floats, Floats]:
        suffix = "" if layer is None else self._norm_suffix
        place = "top" if layer is None else f"l{layer + 1}_{'ffn_ffn' if part == 'feed' else f'{_MARIAN[part]}_Wo'}"
        prefix = f"{stack}_{place}_ln"
        scale, bias = (self._stored.take(f"{prefix}_{name}{suffix}").reshape(-1) for name in ("scale", "bias"))
        return scale, bias


_MARIAN = {"self": "self", "source": "context"}


def _tying(stored: Stored) -> str:
    if any(stored.has(f"decoder_ff_logit_out_{name}") for name in ("W", "Wt")):
        return "none"
    return "all" if stored.has("Wemb") else "target"


def _embeddings(stored: Stored, vocabularies: Vocabularies, settings: TransformerSettings) -> dict[str, Floats]:
    source, target = vocabularies.source, vocabularies.target

    def matrix(name: str, num_rows: int) -> Floats:
        rows = stored.take(name)
        check_rows(stored.path, name, len(rows), num_rows)
        return rows

    names = ("Wemb", "Wemb") if vocabularies.is_joint else ("encoder_Wemb", "decoder_Wemb")
    weights = {"lexical.encoder.embedding.weight": source.embeddings(matrix(names[0], source.num_rows))}
    if settings.tied_embeddings != "all":
        weights["lexical.decoder.embedding.weight"] = target.embeddings(matrix(names[1], target.num_rows))
    if settings.tied_embeddings == "none":
        is_transposed = stored.has("decoder_ff_logit_out_Wt")
        output = stored.take("decoder_ff_logit_out_Wt") if is_transposed else stored.take("decoder_ff_logit_out_W").T
        check_rows(stored.path, "decoder_ff_logit_out_W", len(output), target.num_rows)
        weights["lexical.output.weight"] = target.embeddings(output)
    name = "decoder_ff_logit_out_b"
    bias = stored.take(name).reshape(-1) if stored.has(name) else np.zeros(target.num_rows, dtype=np.float32)
    check_rows(stored.path, name, len(bias), target.num_rows)
    weights["lexical.output.bias"] = target.biases(bias)
    return weights
