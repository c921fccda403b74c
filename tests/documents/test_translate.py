"""Files are translated with the model in the box: only what is missing, from the memory where it can, and resumably."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from alidade.documents.translate import FileTranslator, Options
from alidade.translation import Translation
from alidade.translator import Translator


@functools.cache
def translator() -> Translator:
    return Translator(threads=1)


def translate(path: Path, folder: Path | None = None, **options: object) -> str:
    report = FileTranslator(translator(), Options(**options)).translate(path, folder)  # type: ignore[arg-type]
    return report.output.read_text(encoding="utf-8")


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "ro.po"
    path.write_text(
        'msgid "Open the file"\nmsgstr ""\n\nmsgid "Save"\nmsgstr "Păstrează"\n\n'
        'msgctxt "button"\nmsgid "Save"\nmsgstr ""\n\nmsgid "Could not open %(name)s"\nmsgstr ""\n',
        encoding="utf-8",
    )
    return path


def test_fills_what_is_missing_in_place(catalogue: Path) -> None:
    text = translate(catalogue)
    assert 'msgstr "Deschide fișierul"' in text
    assert text.count('msgstr "Păstrează"') == 2  # the file's own translation, for the same text elsewhere
    assert "%(name)s" in text.split("msgstr")[-1]
    assert text.count("fuzzy") == 2
    assert translate(catalogue) == text  # nothing is left to do


def test_translates_everything_if_asked_to_and_leaves_the_original_alone(catalogue: Path, tmp_path: Path) -> None:
    before = catalogue.read_bytes()
    text = translate(catalogue, tmp_path / "out", everything=True)
    assert text.count("fuzzy") >= 2
    assert catalogue.read_bytes() == before
    assert translate(catalogue, tmp_path / "again", everything=True) == text  # two runs, one result


def test_a_file_with_one_language_gets_a_sibling(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>Click <b>here</b> to continue.</p>\n")
    report = FileTranslator(translator(), Options()).translate(path)
    assert report.output == tmp_path / "page.ro.html"
    assert report.output.read_text() == "<p>Clic <b>aici</b> pentru a continua.</p>\n"
    assert str(report).startswith(f"{path}: 1 units, 1 by machine")


class Stopping:
    """A translator that is stopped after some texts."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.num_translated = 0

    def __getattr__(self, name: str) -> object:
        return getattr(translator(), name)

    def translate_lines(self, texts: list[str], **options: object) -> Iterator[Translation]:
        for one in translator().translate_lines(texts, **options):  # type: ignore[arg-type]
            if self.num_translated == self.after:
                raise KeyboardInterrupt
            self.num_translated += 1
            yield one


def test_what_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The file was not found.\n\nTry again later.\n\nThe disk is full.\n")
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        FileTranslator(Stopping(2), Options()).translate(path, folder)  # type: ignore[arg-type]
    assert not (folder / "a.txt").exists()
    rest = Stopping(5)
    FileTranslator(rest, Options()).translate(path, folder)  # type: ignore[arg-type]
    assert rest.num_translated == 1
    whole = tmp_path / "whole"
    FileTranslator(translator(), Options()).translate(path, whole)
    assert (folder / "a.txt").read_bytes() == (whole / "a.txt").read_bytes()
    assert [one.name for one in folder.iterdir()] == ["a.txt"]


def test_a_memory_gives_what_it_has_exactly(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Open the file</seg></tuv>'
        '<tuv xml:lang="ro"><seg>Deschideți dosarul</seg></tuv></tu></body></tmx>',
        encoding="utf-8",
    )
    path = tmp_path / "a.json"
    path.write_text('{"a": "Open the file", "b": "Save"}')
    report = FileTranslator(translator(), Options(memories=[memory])).translate(path, tmp_path / "out")
    assert '"Deschideți dosarul"' in report.output.read_text()
    assert report.origins == {"memory": 1, "machine": 1}


def test_a_nearly_exact_match_keeps_the_memorys_words(tmp_path: Path) -> None:
    path = tmp_path / "ro.po"
    path.write_text(
        'msgid "Could not open the configuration file for reading."\n'
        'msgstr "Fișierul de configurare n-a putut fi deschis pentru citire."\n\n'
        'msgid "Could not open the configuration file for writing."\nmsgstr ""\n',
        encoding="utf-8",
    )
    report = FileTranslator(translator(), Options()).translate(path)
    text = report.output.read_text()
    assert 'msgstr "Fișierul de configurare n-a putut fi deschis pentru scriere."' in text
    assert "memory, adapted translation" in text


def test_words_that_were_left_out_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Where is the nearest hotel?\n\n磁盘已满。\n")
    report = FileTranslator(translator(), Options()).translate(path, tmp_path / "out")
    assert any("script" in note for note in report.notes)
    assert "磁盘已满。" in report.output.read_text()
