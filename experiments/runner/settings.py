"""What a row of a table is: a TOML file under `rows/`, and the task that it is about, `<task>/task.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from alidade.config import PrepareConfig, Settings, TrainConfig, load_config
from alidade.errors import AlidadeError, suggest_name

EXPERIMENTS = Path(__file__).resolve().parent.parent
TABLES = ("translation", "dictionary", "pruning", "alignment", "pictures")


def relative_to_file(path: Path | None, info: ValidationInfo) -> Path | None:
    """Read a path as relative to the file that it stands in, which `load_config` tells."""
    return path if path is None or info.context is None else Path(info.context["folder"]) / path


class TaskSettings(Settings):
    """A bitext to train on and the sets to test on; `<data>/<set>.<language>` are their files."""

    title: str
    data: Path
    runs: Path
    """Where everything goes that is made for this task."""
    source: str
    target: str
    dev: str = "dev"
    also_tuned_on: list[str] = Field(default_factory=list)
    """Further dev sets, of other kinds of text."""
    tests: list[str]
    moses: bool = False
    """Also score as published: lower-cased and tokenised as Moses does it."""

    _paths = field_validator("data", "runs")(relative_to_file)

    @property
    def tuning_sets(self) -> list[str]:
        return [self.dev, *self.also_tuned_on]

    def files(self, name: str) -> tuple[Path, Path]:
        """Source and target of one of the sets."""
        return self.data / f"{name}.{self.source}", self.data / f"{name}.{self.target}"


class EarlierRun(Settings):
    """A run that led to what a row measures or begins with, and is not repeated for it."""

    run: str
    role: Literal["lexical", "alignment"] = "lexical"
    updates: int
    minutes: int


class TranslationRow(Settings):
    """A system to train, tune and test."""

    table: Literal["translation"]
    title: str
    task: str
    model: Path | None = None
    """A finished model folder, measured as it is, with its own settings of the search: nothing is made for it."""
    train: list[str] = Field(default_factory=list)
    """What to train, in order: names of training files beside `task.toml`."""
    lexical: str | None = None
    """The run whose model writes words: a training file's name, or that of a folder of the task's runs."""
    alignment: str | None = None
    """The run whose model gives positions, unless the lexical one's folder has both or needs none."""
    baseline: str | None = None
    """The row to compare with: for an assisted system the plain transformer, continued for as many updates."""
    before: tuple[EarlierRun, ...] = ()
    """What led to `model`, or to the model that the first of `train` begins with."""
    form: Literal["float32", "float16", "int8"] = "float32"
    """How the weights are stored before anything is measured."""
    order: int = 9
    """Where it stands in its task's table: smaller numbers first, then by name."""

    _paths = field_validator("model")(relative_to_file)

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if (self.model is None) == (self.lexical is None):
            raise ValueError("give `lexical`, the run whose model writes words, or `model`, a finished folder")
        return self


class DictionaryRow(Settings):
    """Systems with and without a simulated dictionary, on the dev set as in the paper."""

    table: Literal["dictionary"]
    title: str
    systems: list[str] = Field(min_length=1)
    """Rows of translation, the baseline first."""
    lacked_by: Literal["first", "all"] = "first"
    """Entries are words that the first system's translation lacks, as in the paper, or that all systems' lack."""
    corpus: str = "corpus"
    """Among the task's runs: its aligner finds the words of the references, which are normalised as it is."""


class PruningRow(Settings):
    """All ways to prune, over their thresholds."""

    table: Literal["pruning"]
    title: str
    system: str
    sentences: int = 200
    repeats: int = 1


class AlignmentRow(Settings):
    """Links against a gold set."""

    table: Literal["alignment"]
    title: str
    gold: Literal["deen", "roen"]
    data: Path
    runs: Path
    unit: Literal["words", "pieces"] | None = None
    """The statistical aligner, on words or pieces."""
    also: tuple[str, ...] = ()
    """Further bitexts in `data` that it learns from."""
    model: Path | None = None
    """Or a trained system's folder, which aligns the gold pairs."""
    reverse_model: Path | None = None
    """A system for the other direction; the two are symmetrised."""
    corpora: tuple[Path, ...] = ()
    """Prepared corpora: the statistical aligner, with what it learned there, has a say beside the system."""
    is_transposed: bool = False
    """The model translates the gold set's target into its source."""

    _paths = field_validator("data", "runs", "model", "reverse_model")(relative_to_file)

    @field_validator("corpora")
    @classmethod
    def _corpora(cls, paths: tuple[Path, ...], info: ValidationInfo) -> tuple[Path | None, ...]:
        return tuple([relative_to_file(path, info) for path in paths])

    @model_validator(mode="after")
    def _one_aligner(self) -> Self:
        if (self.unit is None) == (self.model is None):
            raise ValueError("give either `unit`, for the statistical aligner, or `model`, a system's folder")
        return self


class PictureRow(Settings):
    """A sentence whose attention is drawn: the first candidate in which the baseline misses the wanted word."""

    table: Literal["pictures"]
    title: str
    baseline: str
    system: str
    candidates: list[tuple[str, str]] = Field(min_length=1)
    """(sentence, term) pairs; a term is SOURCE=TARGET."""


Row = TranslationRow | DictionaryRow | PruningRow | AlignmentRow | PictureRow
_KINDS: dict[str, type[Row]] = dict(
    zip(TABLES, (TranslationRow, DictionaryRow, PruningRow, AlignmentRow, PictureRow), strict=True)
)


class Library:
    """All rows and tasks of an experiments folder."""

    def __init__(self, folder: Path = EXPERIMENTS) -> None:
        self.folder = folder

    def names(self, table: str | None = None) -> list[str]:
        """The rows of a table, or of all, as `multi30k/assisted`."""
        names = sorted(f"{path.parent.name}/{path.stem}" for path in (self.folder / "rows").glob("*/*.toml"))
        return [name for name in names if table is None or self._table(name) == table]

    def row(self, name: str, overrides: list[str] | None = None) -> Row:
        """A row's settings."""
        return load_config(_KINDS[self._table(name)], self.row_file(name), overrides)

    def translation_row(self, name: str) -> TranslationRow:
        """The settings of a row that is a system."""
        row = self.row(name)
        if not isinstance(row, TranslationRow):
            raise AlidadeError(f"{name} is a row of the table {row.table}: a system, a row of translation, is needed")
        return row

    def task(self, name: str) -> TaskSettings:
        """A task's settings."""
        return load_config(TaskSettings, self.folder / name / "task.toml")

    def training_file(self, task: str, name: str) -> Path:
        """The settings that a run is trained with."""
        return self.folder / task / f"{name}.toml"

    def preparation(self, task: str, corpus: Path) -> PrepareConfig:
        """The settings that a corpus is prepared with: of those beside `task.toml`, the ones that write it."""
        for path in sorted((self.folder / task).glob("prepare*.toml")):
            config = load_config(PrepareConfig, path)
            if config.corpus.resolve() == corpus.resolve():
                return config
        raise AlidadeError(f"{self.folder / task}: no prepare*.toml there writes {corpus.resolve()}")

    def run_folder(self, task: str, name: str) -> Path:
        """Where a run is: where its training file says, or in the task's runs under its own name."""
        path = self.training_file(task, name)
        if path.exists():
            return load_config(TrainConfig, path).training.folder
        return self.task(task).runs / name

    def row_file(self, name: str) -> Path:
        """Where a row's settings stand."""
        return self.folder / "rows" / f"{name}.toml"

    def _table(self, name: str) -> str:
        path = self.row_file(name)
        if not path.is_file():
            raise AlidadeError(f"{name}: there is no such row{suggest_name(name, self.names())}")
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("table")
        if table not in _KINDS:
            raise AlidadeError(f'{path}: `table = "..."` must name one of {", ".join(TABLES)}')
        return str(table)
