"""Settings: what is unknown or wrong names itself, its file and the nearest right name."""

from __future__ import annotations

from pathlib import Path

import pytest

from alidade.config import AlignerSettings, PrepareConfig, SearchSettings, TrainConfig, load_config, parse_settings
from alidade.errors import AlidadeError

PREPARE = """
corpus = "out"
source_language = "en"
target_language = "de"
[[bitext]]
source = "train.en"
target = "/data/train.de"
[cleaning]
max_words = 80
"""
TRAIN = """
[lexical]
kind = "transformer"
width = 64
heads = 4
[training]
corpus = "corpus"
folder = "run"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text)
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = load_config(PrepareConfig, write(tmp_path, PREPARE))
    assert settings.corpus == tmp_path / "out"
    assert settings.bitext[0].source == tmp_path / "train.en"
    assert settings.bitext[0].target == Path("/data/train.de")
    assert settings.cleaning.max_words == 80
    assert settings.dev is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"source_lang = 'en'\n{PREPARE}", 'unknown key "source_lang"; did you mean "source_language"?'),
        (f"{PREPARE}max_word = 3", 'unknown key "cleaning.max_word"; did you mean "max_words"?'),
        (f"{PREPARE}[subwords]\nvocab_size = 3", 'unknown key "subwords.vocab_size"; did you mean "vocabulary_size"?'),
        (PREPARE.replace("target =", "taget = 1\ntarget ="), 'unknown key "bitext.0.taget"; did you mean "target"?'),
        (
            f"{PREPARE}[[bitext]]\nsource = 'b'\ntarget = 'c'\nwheight = 2",
            'unknown key "bitext.1.wheight"; did you mean "weight"?',
        ),
        (f"{PREPARE}zzz = 3", 'unknown key "cleaning.zzz"'),
    ],
)
def test_unknown_keys_name_the_nearest_of_their_section(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(AlidadeError) as caught:
        load_config(PrepareConfig, path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert ("did you mean" in str(caught.value)) == ("did you" in message)


def test_models_know_their_own_keys(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r'unknown key "lexical\.widht"; did you mean "width"\?'):
        load_config(TrainConfig, write(tmp_path, TRAIN.replace("width", "widht")))
    with pytest.raises(AlidadeError, match=r'unknown key "training\.step"; did you mean "steps"\?'):
        load_config(TrainConfig, write(tmp_path, f"{TRAIN}step = 5"))
    with pytest.raises(AlidadeError, match=r'unknown key "lexical\.steps"$'):
        load_config(TrainConfig, write(tmp_path, TRAIN.replace("width = 64", "width = 64\nsteps = 5")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{PREPARE}max_ratio = 'wide'", "cleaning.max_ratio: .*number"),
        (f"{PREPARE}max_characters = 0", "cleaning.max_characters: .*greater than or equal to 1"),
        (PREPARE.replace('target = "/data/train.de"', ""), "bitext.0: two line-parallel files need `target`"),
        (f"{PREPARE}[aligner]\nkind = 'magic'", "aligner.kind: .*'eflomal', 'pharaoh' or 'none'"),
        (PREPARE.replace('corpus = "out"', ""), "corpus: Field required"),
        (f"{PREPARE}[[[", "not valid TOML"),
    ],
)
def test_wrong_values_name_their_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AlidadeError, match=f"settings.toml: {message}"):
        load_config(PrepareConfig, write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"nowhere\.toml: no such settings file"):
        load_config(PrepareConfig, tmp_path / "nowhere.toml")


def test_one_setting_can_be_overridden(tmp_path: Path) -> None:
    path = write(tmp_path, PREPARE)
    overrides = ["cleaning.max_words=7", "subwords.joint=false", "source_language=ro", 'corpus="elsewhere"']
    settings = load_config(PrepareConfig, path, overrides)
    assert (settings.cleaning.max_words, settings.subwords.joint) == (7, False)
    assert (settings.source_language, settings.corpus) == ("ro", tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cleaning.max_words", "write it as key=value"),
        ("=7", "write it as key=value"),
        ("corpus.name=7", '"corpus" is not a section'),
        ("cleaning.max_wrods=7", r'unknown key "cleaning\.max_wrods"; did you mean "max_words"'),
    ],
)
def test_wrong_overrides_are_refused(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(AlidadeError, match=message):
        load_config(PrepareConfig, write(tmp_path, PREPARE), [override])


def test_settings_cannot_change(tmp_path: Path) -> None:
    settings = parse_settings(SearchSettings, {"beam_size": 3}, source="search.json")
    with pytest.raises(ValueError, match="frozen"):
        settings.beam_size = 4


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.parent.glob("experiments/*/prepare*.toml")), ids=str)
def test_the_experiments_settings_are_valid(path: Path) -> None:
    assert load_config(PrepareConfig, path).bitext


@pytest.mark.parametrize(("kind", "unit"), [("eflomal", "pieces"), ("pharaoh", "words")])
def test_links_from_elsewhere_are_of_words(kind: str, unit: str) -> None:
    assert AlignerSettings.model_validate({"kind": kind}).unit == unit
    assert AlignerSettings.model_validate({"kind": kind, "unit": "words"}).unit == "words"
