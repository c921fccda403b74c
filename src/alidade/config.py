"""All settings, typed, with their defaults, in one place; read from TOML.

Two kinds of file: one for `alidade prepare` (`PrepareConfig`) and one for `alidade train` (`TrainConfig`).
How a model searches (`SearchSettings`) is saved with the model and overridden on the command line.
Paths in a file are relative to that file. An unknown or wrong key is an error that names itself, its file
and the nearest right name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from alidade.errors import AlidadeError, suggest_name

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
LayerChoice = Literal["all", "top"] | list[int]
Activation = Literal["relu", "swish", "gelu"]
PositionRates = Literal["original", "marian"]
SourceStart = Literal["read", "skipped"] | Annotated[int, Field(ge=4)]


class Settings(BaseModel):
    """Base of all settings: immutable, and nothing unknown is let in."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _relative_to_file(path: Path | None, info: ValidationInfo) -> Path | None:
    """Read a path as relative to the settings' file (its folder is the validation context)."""
    if path is None or info.context is None:
        return path
    folder: Path = info.context["folder"]
    return folder / path.expanduser()


class BitextSettings(Settings):
    """One bitext: two line-parallel files, or one TSV or TMX file; plain, .gz or .xz."""

    source: Path
    target: Path | None = None
    """The target side of two line-parallel files; absent for TSV and TMX, where `source` holds both."""
    format: Literal["lines", "tsv", "tmx"] = "lines"
    weight: Positive = 1
    """Each kept pair is written this many times."""
    cap: Positive | None = None
    """At most this many pairs are taken, spread evenly over the bitext."""
    domains: Path | None = None
    """A file with one word a line: the domain of each pair."""
    only: list[str] = []
    """Take only the pairs of these domains."""

    _paths = field_validator("source", "target", "domains")(_relative_to_file)

    @model_validator(mode="after")
    def _sides_fit_the_format(self) -> Self:
        if self.format == "lines" and self.target is None:
            raise ValueError("two line-parallel files need `target` beside `source`")
        if self.format != "lines" and self.target is not None:
            raise ValueError(f"a {self.format} file holds both sides: leave `target` out")
        if self.only and self.domains is None:
            raise ValueError("`only` needs `domains`, the file that names each pair's domain")
        return self


class NormalisationSettings(Settings):
    """How text is written. A model folder keeps its corpus's, so that text to translate is written in the same way.

    NFC, control characters and white space are always put right.
    """

    romanian_comma_below: bool = False
    """Write ş and ţ (with cedilla) as ș and ț (with comma below) on Romanian sides."""
    strip_diacritics: list[str] = []
    """Languages whose diacritics are removed (the Romanian gold alignments have none)."""
    lower_case: bool = False
    moses_punctuation: bool = False
    """Write quotes, dashes and spaces before marks as Moses's normalize-punctuation.perl does: models of OPUS-MT were
    trained on such text."""


class CleaningSettings(NormalisationSettings):
    """Which pairs are kept, and how they are written."""

    max_words: Positive = 120
    """Longest side, in words (in characters for Chinese)."""
    max_characters: Positive = 1000
    max_ratio: float = Field(default=4.0, ge=1.0)
    """Longest allowed ratio of the two sides' lengths in words (in characters for Chinese)."""
    ratio_from: Positive = 10
    """Pairs whose longer side is shorter than this are not judged by their ratio."""
    drop_identical: bool = True
    """Drop pairs whose sides are the same."""
    drop_duplicates: bool = False
    """Keep only the first of several equal pairs."""
    min_script_share: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of a side's letters that must belong to its language's script."""


class SubwordSettings(Settings):
    """The sentencepiece model or models."""

    kind: Literal["unigram", "bpe"] = "bpe"
    vocabulary_size: Positive = 8000
    joint: bool = True
    """One vocabulary for both languages (needed to tie source and target embeddings)."""
    character_coverage: float = Field(default=0.9995, gt=0.0, le=1.0)
    byte_fallback: bool = True
    """Spell characters outside the vocabulary as bytes, so that every text can be written."""
    training_sentences: Positive = 2_000_000
    """The model is learned from at most this many sentences."""
    like: Path | None = None
    """Take the pieces of this corpus or model folder instead of learning new ones (the settings above then mean
    nothing): to train a model further on another bitext, `training.init_from` needs the same pieces."""

    _paths = field_validator("like")(_relative_to_file)


def _aligned_unit(kind: str) -> Literal["words", "pieces"]:
    return "words" if kind == "pharaoh" else "pieces"


class AlignerSettings(Settings):
    """Where the training alignments come from."""

    kind: Literal["eflomal", "pharaoh", "none"] = "eflomal"
    unit: Literal["words", "pieces"] = Field(default_factory=lambda set_: _aligned_unit(set_["kind"]))
    """What the aligner counts, and what links stand for until they become positions; pieces for eflomal, which has
    the lower error on both gold sets with them, and words for links from elsewhere."""
    symmetrisation: Literal["forward", "reverse", "intersection", "union", "grow-diag-final-and"] = (
        "grow-diag-final-and"
    )
    max_memory: Annotated[int, Field(ge=100)] = 4000
    """Megabytes that one process of eflomal may take, some 650,000 long pairs. It learns from as many pairs of a larger
    bitext as fit, and aligns all in chunks with what it has learned, as many chunks at a time as there are workers."""
    train_links: Path | None = None
    """Pharaoh file for the training bitext, a line a pair of the *raw* input, if kind is "pharaoh"."""
    dev_links: Path | None = None

    _paths = field_validator("train_links", "dev_links")(_relative_to_file)


class BpeDropoutSettings(Settings):
    """BPE-dropout (Provilkov et al. 2020), for small bitexts and subwords.kind = "bpe": training pairs are segmented
    into pieces several times, with merges left out at random."""

    copies: Count = 0
    """Train on this many copies of the bitext, each in other pieces; 0: on the bitext as it is."""
    dropout: Share = 0.1
    """The probability that a merge of two pieces is left out."""


class DevSettings(Settings):
    """A held-out bitext, two line-parallel files. It is normalised, never dropped from."""

    source: Path
    target: Path

    _paths = field_validator("source", "target")(_relative_to_file)


class PrepareConfig(Settings):
    """Everything `alidade prepare` needs."""

    corpus: Path
    """The folder that the prepared corpus is written to."""
    source_language: str
    target_language: str
    bitext: list[BitextSettings] = Field(min_length=1)
    dev: DevSettings | None = None
    cleaning: CleaningSettings = CleaningSettings()
    subwords: SubwordSettings = SubwordSettings()
    aligner: AlignerSettings = AlignerSettings()
    bpe_dropout: BpeDropoutSettings = BpeDropoutSettings()

    _paths = field_validator("corpus")(_relative_to_file)

    @model_validator(mode="after")
    def _pieces_have_merges(self) -> Self:
        if self.bpe_dropout.copies and self.subwords.kind != "bpe":
            raise ValueError(
                f'bpe_dropout leaves out merges, which subwords.kind = "{self.subwords.kind}" does not have'
            )
        return self


class TransformerSettings(Settings):
    """Shape of `transformer` and `transformer-aligned` (paper, section 3.1)."""

    kind: Literal["transformer", "transformer-aligned"] = "transformer"
    width: Positive = 512
    feed_forward: Positive = 2048
    heads: Positive = 8
    encoder_layers: Positive = 6
    decoder_layers: Positive = 6
    dropout: Share = 0.1
    """On residuals and embeddings."""
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    pre_norm: bool = True
    tied_embeddings: Literal["all", "target", "none"] = "all"
    """"all": source, target and output share one matrix; "target": target and output do."""
    assisted_layers: LayerChoice = "all"
    """Decoder layers that have the alignment head, counted from 0 (`transformer-aligned` only)."""
    head_dropout: Share = 0.0
    """In this share of the batches the alignment heads are off, against too much trust in them; as with other dropout
    they are so much stronger in the rest (the paper's authors did it)."""
    position_noise: Share = 0.0
    """This share of the target pieces is trained with a neighbour of its position: search guesses positions, too."""

    # How models of other programs differ from ours (`exchange/`).
    activation: Activation = "relu"
    """Of feed-forward networks; swish is x sigmoid(x), gelu Marian's approximation x sigmoid(1.702 x)."""
    norm_epsilon: float = Field(default=1e-5, gt=0.0)
    """What layer norms add to the variance."""
    position_rates: PositionRates = "original"
    """Rates of the sinusoids, i = 0, 1, ...: 10000^(-2i/width), or Marian's 10000^(-i/(width/2 - 1))."""
    source_start: SourceStart = "read"
    """What the encoder reads at position 0: `<s>`, nothing (it is masked, and the first word has the first place), or
    another piece, such as the tag that tells a model of many languages which one to write."""

    @property
    def conventions(self) -> dict[str, Any]:
        """What the weights do not show: a model with other conventions would run, and write nonsense."""
        names = ("heads", "pre_norm", "activation", "norm_epsilon", "position_rates", "source_start")
        return {name: getattr(self, name) for name in names}

    @model_validator(mode="after")
    def _shape_is_possible(self) -> Self:
        _check_heads(self.width, self.heads)
        if self.position_rates == "marian" and (self.width % 2 or self.width < 4):
            raise ValueError(f'position_rates = "marian" needs an even width of 4 or more, not {self.width}')
        _check_layers("assisted_layers", self.assisted_layers, self.decoder_layers)
        return self


class TransformerJumpsSettings(Settings):
    """Shape of `transformer-jumps`, the self-attentive alignment model (paper, section 3.2)."""

    kind: Literal["transformer-jumps"] = "transformer-jumps"
    encoder: Literal["own", "lexical"] = "own"
    """Own encoder, as in the paper, or the lexical model's (then width and heads are the lexical model's)."""
    width: Positive = 512
    feed_forward: Positive = 2048
    heads: Positive = 8
    encoder_layers: Positive = 6
    decoder_layers: Positive = 6
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    pre_norm: bool = True
    tied_embeddings: Literal["all", "none"] = "all"
    """"all": source and target embeddings share one matrix."""
    max_jump: Positive = 100

    @model_validator(mode="after")
    def _shape_is_possible(self) -> Self:
        _check_heads(self.width, self.heads)
        return self


class RnnSettings(Settings):
    """Shape of `rnn` and `rnn-biased`: LSTM encoder and decoder with additive attention."""

    kind: Literal["rnn", "rnn-biased"] = "rnn"
    embedding: Positive = 620
    width: Positive = 1000
    """Nodes of an LSTM layer (the bidirectional layer has half of them in each direction)."""
    attention: Positive = 1000
    """Size of the hidden layer inside the attention energy."""
    unidirectional_encoder_layers: Count = 0
    """Layers on top of the one bidirectional layer (3 for the paper's Chinese–English)."""
    decoder_layers: Positive = 2
    dropout: Share = 0.2
    tied_embeddings: Literal["all", "target", "none"] = "none"

    @model_validator(mode="after")
    def _shape_is_possible(self) -> Self:
        _check_rnn_shape(self.width, self.embedding, tied=self.tied_embeddings != "none")
        return self


class RnnJumpsSettings(Settings):
    """Shape of `rnn-jumps`, the recurrent alignment model."""

    kind: Literal["rnn-jumps"] = "rnn-jumps"
    encoder: Literal["own", "lexical"] = "own"
    embedding: Positive = 620
    width: Positive = 1000
    unidirectional_encoder_layers: Count = 0
    decoder_layers: Positive = 2
    dropout: Share = 0.2
    tied_embeddings: Literal["all", "none"] = "none"
    max_jump: Positive = 100

    @model_validator(mode="after")
    def _shape_is_possible(self) -> Self:
        _check_rnn_shape(self.width, self.embedding, tied=False)
        return self


LexicalSettings = Annotated[TransformerSettings | RnnSettings, Field(discriminator="kind")]
AlignmentSettings = Annotated[TransformerJumpsSettings | RnnJumpsSettings, Field(discriminator="kind")]
AnyModelSettings = TransformerSettings | RnnSettings | TransformerJumpsSettings | RnnJumpsSettings


class TrainingSettings(Settings):
    """How a model is trained."""

    corpus: Path
    """A folder made by `alidade prepare`."""
    folder: Path
    """Where checkpoints, logs and the finished model folder go."""
    init_from: Path | None = None
    """Start from this model folder's weights: the paper's second stage of training."""
    freeze: list[Literal["lexical", "alignment"]] = []
    """Roles whose weights stay as they are in `init_from`."""
    steps: Positive = 10_000
    batch_tokens: Positive = 4096
    """Target pieces in one update, over all processes and accumulated batches."""
    accumulate: Positive = 1
    """An update's batch is computed in this many parts."""
    max_length: Positive = 200
    """Pairs with more pieces on one side are left out of training."""
    learning_rate: float = Field(default=1e-3, gt=0.0)
    """The peak, reached at the end of the warm-up."""
    warmup: Positive = 1000
    schedule: Literal["inverse-square-root", "constant"] = "inverse-square-root"
    cooldown: Count = 0
    """In this many last updates the learning rate falls linearly to nothing; a run that `patience` stops has none."""
    adam_betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = Field(default=0.0, ge=0.0)
    clip_norm: float = Field(default=1.0, ge=0.0)
    """Gradients are scaled down to this norm; 0 leaves them alone."""
    label_smoothing: Share = 0.1
    consistency: float = Field(default=0.0, ge=0.0)
    """Batches are read twice, and what dropout makes of a token's two predictions is drawn together, against learning
    small bitexts by heart (R-Drop, Liang et al. 2021, who take 5); an update takes twice as long. 0: read once."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16: on a CPU, of the factors of matrix products alone; quicker if the processor has instructions for it."""
    seed: Count = 1
    validate_every: Positive = 500
    """Updates between two validations."""
    bleu_every: Count = 0
    """Updates between two dev translations by the real search; 0: never."""
    patience: Count = 10
    """Stop after this many validations without a better one; 0: never."""
    keep_best: Positive = 1
    average_last: Positive = 1
    """The finished model's weights are the mean of this many last validated checkpoints."""
    save_every: Positive = 500
    """Updates between two checkpoints to resume from."""
    threads: Count = 0
    """Threads of one process; 0: all cores."""

    _paths = field_validator("corpus", "folder", "init_from")(_relative_to_file)


class TrainConfig(Settings):
    """Everything `alidade train` needs: one role or both, and how to train them."""

    lexical: LexicalSettings | None = None
    alignment: AlignmentSettings | None = None
    training: TrainingSettings

    @model_validator(mode="after")
    def _roles_fit(self) -> Self:
        if self.lexical is None and self.alignment is None:
            raise ValueError("a [lexical] or an [alignment] section must say which model to train")
        if self.alignment is not None and self.alignment.encoder == "lexical":
            _check_joint(self.lexical, self.alignment)
        return self


class SearchSettings(Settings):
    """How to search (paper, section 4). Tuned values are saved in the model folder as search.json."""

    beam_size: Positive = 5
    lexical_weight: float = Field(default=1.0, gt=0.0)
    alignment_weight: float = Field(default=1.0, ge=0.0)
    coverage_weight: float = Field(default=0.0, ge=0.0)
    """Source pieces that nothing points at cost this times the log odds that one has a counterpart, and those that are
    returned to something, too; see `search/coverage.py`."""
    length_normalisation: float = Field(default=1.0, ge=0.0)
    """A finished hypothesis's score is divided by its length to this power."""
    stopping: Literal["finished", "attainable", "shrinking"] = "finished"
    """When a baseline has searched enough, if there is no dictionary: when as many translations have finished as the
    beam is wide; when, besides, no unfinished one scores better as it stands (Hugging Face); or when all have, each
    leaving its place in the beam empty (Marian). See `search/endings.py`."""
    max_length_factor: float = Field(default=2.0, gt=0.0)
    """A translation has at most this many times its source's pieces, plus ten."""
    max_source_length: Positive = 200
    """Texts of more pieces are cut into parts, at sentence ends if possible."""
    can_repeat: bool = False
    """Whether a source position may write the same piece twice, as loops do; see `search/restrictions.py`."""
    pruning: Literal["none", "threshold", "pairs", "histogram", "exact"] = "exact"
    threshold: float = Field(default=0.15, ge=0.0, lt=1.0)
    """For `threshold` and `pairs`: positions of a lower probability are not evaluated."""
    histogram: Positive = 3
    """For `histogram`: positions evaluated for each hypothesis."""


def _check_heads(width: int, heads: int) -> None:
    if width % heads:
        raise ValueError(f"{heads} heads do not divide the width {width}: change one so that width / heads is whole")


def _check_layers(name: str, choice: LayerChoice, num_layers: int) -> None:
    if isinstance(choice, list) and (not choice or not set(choice) <= set(range(num_layers))):
        raise ValueError(f"{name} {choice} must name layers from 0 to {num_layers - 1}")


def _check_rnn_shape(width: int, embedding: int, *, tied: bool) -> None:
    if width % 2:
        raise ValueError(f"width {width} must be even: the bidirectional layer has half of it in each direction")
    if tied and width != embedding:
        raise ValueError(f"a tied output layer needs width ({width}) = embedding ({embedding})")


def _check_joint(lexical: Any, alignment: Any) -> None:
    if lexical is None:
        raise ValueError('alignment.encoder = "lexical" needs a [lexical] section whose encoder it reads')
    if lexical.kind.split("-")[0] != alignment.kind.split("-")[0]:
        raise ValueError(f"a {alignment.kind} cannot read the encoder of a {lexical.kind}")
    if lexical.width != alignment.width:
        raise ValueError(f"a shared encoder needs one width: lexical has {lexical.width}, alignment {alignment.width}")


Config = TypeVar("Config", bound=Settings)


def load_config(kind: type[Config], path: Path, overrides: list[str] | None = None) -> Config:
    """Read a TOML file of settings; `overrides` are `section.key=value` from the command line."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AlidadeError(f"{path}: no such settings file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AlidadeError(f"{path}: not valid TOML: {error}") from None
    for override in overrides or []:
        override_value(values, override)
    return parse_settings(kind, values, source=str(path), folder=path.parent)


def parse_settings(kind: type[Config], values: dict[str, Any], *, source: str, folder: Path | None = None) -> Config:
    """Turn plain values into typed settings, or say in one sentence which key is wrong."""
    try:
        return kind.model_validate(values, context=None if folder is None else {"folder": folder})
    except ValidationError as error:
        raise AlidadeError(f"{source}: {_first_complaint(kind, error)}") from None


def override_value(values: dict[str, Any], override: str) -> None:
    """Set one value, `training.steps=100`; what is not valid TOML is taken as a string."""
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise AlidadeError(f'--set {override}: write it as key=value, for example "training.steps=100"')
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, name = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise AlidadeError(f'--set {override}: "{section}" is not a section')
    values[name] = value


def _first_complaint(kind: type[BaseModel], error: ValidationError) -> str:
    complaint = error.errors()[0]
    location = [part for part in complaint["loc"] if part not in _MODEL_KINDS]
    key = ".".join(str(part) for part in location)
    if complaint["type"] == "extra_forbidden":
        return f'unknown key "{key}"{suggest_name(str(location[-1]), _names_in_section(kind, location[:-1]))}'
    message = complaint["msg"].removeprefix("Value error, ")
    return f"{key}: {message}" if key else message


def _names_in_section(kind: type[BaseModel], section: Sequence[int | str]) -> set[str]:
    """The keys that the section at this place knows; where several kinds of model may stand, those of all."""
    models = [kind]
    for part in section:
        if isinstance(part, str):  # a number counts the items of a list, which all know the same
            fields = [model.model_fields[part] for model in models if part in model.model_fields]
            models = _models_in([field.annotation for field in fields])
    return {name for model in models for name in model.model_fields}


def _models_in(annotations: list[Any]) -> list[type[BaseModel]]:
    """The settings that unions, lists and annotations speak of."""
    models: list[type[BaseModel]] = []
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            models.append(annotation)
        else:
            models += _models_in(list(getattr(annotation, "__args__", ())))
    return models


_MODEL_KINDS = {"transformer", "transformer-aligned", "transformer-jumps", "rnn", "rnn-biased", "rnn-jumps"}
