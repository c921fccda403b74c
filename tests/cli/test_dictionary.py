from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.errors import AlidadeError


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["dictionary", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_check_counts_entries_and_matches_and_lists_complaints(tmp_path: Path) -> None:
    terms = write(tmp_path / "terms.tsv", "dog\tHund", "dog\tHund", "red wine\tRotwein")
    source = write(tmp_path / "test.en", "A dog, a dog.", "red wine", "a hotdog")
    lines = run("check", terms, "--source", source, "--languages", "en-de").splitlines()
    assert "is given twice" in lines[0]
    assert lines[1:] == ["2 entries", "3 matches in 2 of 3 sentences"]
    assert run("check", terms, "--source", source).endswith("1 matches in 1 of 3 sentences\n"), "dog, and dog. differ"


def test_convert_term_lists_of_sentences(tmp_path: Path) -> None:
    terms = write(tmp_path / "terms.tsv", "0\t7\tdog\tHund\tcat\tKatze")
    assert "2 entries written" in run("convert", terms, "--sentence-terms", "--output", str(tmp_path / "out.tsv"))
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines() == [
        "source\ttarget\tcase\toccurrence\tsentence\tinflect",
        "dog\tHund\tignore\t\t7\t",
        "cat\tKatze\tignore\t\t7\t",
    ]


def test_convert_between_all_formats(tmp_path: Path) -> None:
    terms = write(tmp_path / "terms.csv", "English,German", "house,Haus|!Hütte", "Alidade,=")
    for name in ("a.tbx", "b.tsv", "c.csv"):
        assert "2 entries" in run("convert", terms, "--languages", "en-de", "--output", str(tmp_path / name))
        terms = str(tmp_path / name)
    assert (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()[1:] == [
        "house,Haus|!Hütte,ignore,,,",
        "Alidade,Alidade,ignore,,,",
    ]


def test_inflected_forms_match(tmp_path: Path) -> None:
    terms, source = write(tmp_path / "t.tsv", "house\tHaus"), write(tmp_path / "s", "two houses", "a house")
    check = ["check", terms, "--source", source, "--languages", "en-de"]
    assert run(*check).endswith("1 matches in 1 of 2 sentences\n")
    assert run(*check, "--inflect").endswith("2 matches in 2 of 2 sentences\n")


def test_extract_from_links(tmp_path: Path) -> None:
    files = {
        "--source": write(tmp_path / "train.en", *["the zebra sleeps"] * 3),
        "--target": write(tmp_path / "train.de", *["das Zebra schläft"] * 3),
        "--links": write(tmp_path / "train.links", *["0-0 1-1 2-2"] * 3),
        "--output": str(tmp_path / "terms.tsv"),
    }
    options = [text for option in files.items() for text in option]
    assert run("extract", *options, "--languages", "en-de").startswith("2 terms from 3 pairs; written to")
    assert (tmp_path / "terms.tsv").read_text(encoding="utf-8").splitlines()[1:] == [
        "sleeps\tschläft\t\t3\t1.00\t\tthe zebra sleeps\tdas Zebra schläft",
        "zebra\tZebra\t\t3\t1.00\t\tthe zebra sleeps\tdas Zebra schläft",
    ]
    with pytest.raises(AlidadeError, match="give either --corpus, or --links together with --languages"):
        run("extract", *options)


def test_simulate_from_links(tmp_path: Path) -> None:
    files = {
        "--source": write(tmp_path / "dev.en", "the zebra  chases a giraffe", ""),
        "--reference": write(tmp_path / "dev.de", "das Zebra jagt eine Giraffe", ""),
        "--translation": write(tmp_path / "out.de", "das Zebra verfolgt eine Kuh", ""),
        "--links": write(tmp_path / "dev.links", "0-0 1-1 2-2 3-3 4-4", ""),
        "--output": str(tmp_path / "terms.tsv"),
    }
    options = [text for option in files.items() for text in option]
    output = run("simulate", *options, "--languages", "en-de", "--max-entries", "1")
    assert output.startswith("1 entries in 1 of 2 sentences, 20.0% of the reference's 5 words; written to")
    assert (tmp_path / "terms.tsv").read_text(encoding="utf-8").splitlines()[1:] == ["chases\tjagt\tignore\t1\t1\t"]
    with pytest.raises(AlidadeError, match="give either --corpus, or --links together with --languages"):
        run("simulate", *options)
    with pytest.raises(AlidadeError, match="has 1 lines for 2 pairs"):
        run("simulate", *options, "--languages", "en-de", "--links", write(tmp_path / "short.links", "0-0"))


def test_simulate_wants_parallel_files(tmp_path: Path) -> None:
    two, one = write(tmp_path / "two", "a", "b"), write(tmp_path / "one", "a")
    with pytest.raises(AlidadeError, match="the baseline's translation has 1"):
        run("simulate", "-s", two, "-r", two, "-t", one, "-o", str(tmp_path / "x"), "--links", two)


def test_languages_are_two(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match='write it as source-target, for example "en-de"'):
        run("check", write(tmp_path / "t.tsv", "a\tb"), "--languages", "en")
