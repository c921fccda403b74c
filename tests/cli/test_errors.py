"""Whatever a person can cause is one sentence on stderr and exit code 2; --debug shows the traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from alidade.cli import main
from alidade.io import aside_name

CONFIG = """
corpus = "corpus"
source_language = "en"
target_language = "de"
[[bitext]]
source = "train.en"
target = "train.de"
[subwords]
vocabulary_size = 300
[aligner]
kind = "none"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "train.en").write_text("a dog\na cat\n")
    (tmp_path / "train.de").write_text("ein Hund\neine Katze\n")
    (tmp_path / "prepare.toml").write_text(CONFIG)
    return tmp_path / "prepare.toml"


def fail(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Run `alidade prepare`, which must fail, and return its one line."""
    monkeypatch.setattr(sys, "argv", ["alidade", "prepare", str(config), *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if ": done in" not in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("alidade: ")
    return lines[0].removeprefix("alidade: ")


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("train.de", b"ein Hund\n", "train.en has 2 lines but"),
        ("train.de", b"ein Hund\nK\xe4tzchen\n", "train.de, line 2: not UTF-8"),
        ("train.en", b"a dog\na\0cat\n", "train.en, line 2: there is a NUL byte"),
        ("train.de", None, "train.de: no such file"),
        ("prepare.toml", None, "prepare.toml: no such settings file"),
        ("prepare.toml", b'korpus = "k"\n' + CONFIG.encode(), 'unknown key "korpus"; did you mean "corpus"?'),
        ("prepare.toml", b"= =", "prepare.toml: not valid TOML"),
    ],
)
def test_bad_input_is_one_sentence(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    content: bytes | None,
    expected: str,
) -> None:
    path = config.parent / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    assert expected in fail(config, monkeypatch, capsys)


def test_an_empty_corpus(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (config.parent / "train.en").write_text("")
    (config.parent / "train.de").write_text("")
    assert "the corpus is empty" in fail(config, monkeypatch, capsys)


def test_links_out_of_range(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (config.parent / "links").write_text("0-0\n0-0 1-7\n")
    sentence = fail(config, monkeypatch, capsys, "--set", "aligner={kind='pharaoh', train_links='links'}")
    assert "links, line 2: link 1-7 is outside the pair, which has 2 source and 2 target units" in sentence


def test_a_full_disk(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """/dev/full is a disk without room; the unfinished file is removed."""
    corpus = config.parent / "corpus"
    corpus.mkdir()
    partial = aside_name(corpus / "train.source.txt")
    partial.symlink_to("/dev/full")
    sentence = fail(config, monkeypatch, capsys)
    assert sentence.endswith("train.source.txt: cannot be written: No space left on device")
    assert not partial.is_symlink()
    assert not (corpus / "train.source.txt").exists()


def test_a_folder_that_cannot_be_made(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (config.parent / "corpus").write_text("a file is in the way")
    assert "corpus" in fail(config, monkeypatch, capsys)


def test_debug_shows_the_traceback(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.unlink()
    monkeypatch.setattr(sys, "argv", ["alidade", "--debug", "prepare", str(config)])
    with pytest.raises(Exception, match="no such settings file"):
        main()
