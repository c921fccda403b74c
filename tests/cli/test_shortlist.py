"""`alidade shortlist`, and translating with what it saves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade.cli import app
from alidade.errors import AlidadeError
from alidade.search.lexicon import LEXICON_FILE, Lexicon
from alidade.text.corpus import PreparedCorpus, write_corpus
from small_folders import make_folder
from small_runs import small_corpus
from synthetic import word_ids, word_pieces

TEXT = "ba be bi\n\nda de di do\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    """Each word is always aligned to the same three."""
    words, subwords = word_ids(), word_pieces()
    pairs = [
        ([words[n], words[n + 1]], [words[n], words[n + 2], words[n + 3], words[n + 1]], [1, 1, 1, 2])
        for n in range(len(words) - 3)
    ]
    return write_corpus(tmp_path_factory.mktemp("corpus"), subwords, subwords, pairs)


def run(command: str, *arguments: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(app, [command, *map(str, arguments)], input=text)


@pytest.mark.parametrize("is_assisted", [False, True])
def test_translations_have_only_listed_words(corpus: PreparedCorpus, tmp_path: Path, is_assisted: bool) -> None:
    folder = make_folder(tmp_path / "model", is_assisted=is_assisted)
    done = run("shortlist", "--model", folder, "--corpus", corpus.folder, "--frequent", "1", "--listed", "3")
    assert done.exit_code == 0, done.stderr
    assert LEXICON_FILE in done.stderr
    lexicon, subwords = Lexicon.load(folder), word_pieces()
    modes = ["sentence", "position"] if is_assisted else ["sentence"]
    for mode in modes:
        # Random weights do nothing but repeat themselves; without that, to write nothing is best.
        options = ["--shortlist", mode, "--set", "can_repeat=true", "--workers", "1"]
        done = run("translate", "--model", folder, *options, text=TEXT)
        assert done.exit_code == 0, done.exception
        for source, target in zip(TEXT.splitlines(), done.stdout.splitlines(), strict=True):
            lists = [lexicon.frequent, *(lexicon.of_piece(piece) for piece in subwords.encode(source).ids)]
            assert set(subwords.encode(target).ids) <= {word for words in lists for word in words.tolist()}
            assert bool(source) == bool(target)


@pytest.mark.parametrize("mode", ["suggest", "require"])
@pytest.mark.parametrize("is_assisted", [False, True])
def test_the_dictionary_is_obeyed(corpus: PreparedCorpus, tmp_path: Path, is_assisted: bool, mode: str) -> None:
    folder = make_folder(tmp_path / "model", is_assisted=is_assisted)
    run("shortlist", "--model", folder, "--corpus", corpus.folder, "--frequent", "1", "--listed", "2")
    for shortlist in ["sentence", "position"] if is_assisted else ["sentence"]:
        options = ["--shortlist", shortlist, "--term", "be=na no", "--dictionary-mode", mode, "--workers", "1"]
        done = run("translate", "--model", folder, *options, text="ba be bi\n")
        assert done.exit_code == 0, done.exception
        if mode == "require":
            assert "na no" in done.stdout


def test_mistakes_are_told_in_a_sentence(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "baseline", is_assisted=False)
    other = small_corpus(tmp_path / "other", num_train=20, num_dev=5)
    for arguments, message in [
        (["translate", "--model", folder, "--shortlist", "sentence"], "make one with `alidade shortlist"),
        (["translate", "--model", folder, "--shortlist", "position"], "use --shortlist sentence"),
        (["shortlist", "--model", folder, "--corpus", other.folder], "have different subwords"),
        (["shortlist", "--model", folder, "--corpus", folder], "not a prepared corpus"),
        (["shortlist", "--model", corpus.folder, "--corpus", corpus.folder], "not a model folder"),
    ]:
        done = run(*map(str, arguments), text="ba\n")
        assert isinstance(done.exception, AlidadeError)
        assert message in str(done.exception)
    run("shortlist", "--model", folder, "--corpus", corpus.folder)
    dataclasses.replace(Lexicon.load(folder), fingerprints=("other", "ones")).save(folder)
    done = run("translate", "--model", folder, "--shortlist", "sentence", text="ba\n")
    assert "other subwords than the model's" in str(done.exception)
