from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.errors import AlidadeError


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["evaluate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_alignments_from_zero_and_from_one(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", "1-1 2-2 2p3", "1-2")
    from_one = write(tmp_path / "one", "1-1 2-3", "1-2")
    from_zero = write(tmp_path / "zero", "0-0 1-2", "0-1")
    expected = "AER = 16.7 (precision 100.0, recall 66.7) | pairs:2 links:3 sure:3 possible:1\n"
    assert run("alignments", "--hypothesis", from_zero, "--gold", gold, "--one-based-gold") == expected
    assert run("alignments", "--hypothesis", from_one, "--gold", gold, "--one-based", "--one-based-gold") == expected
    gold_from_zero = write(tmp_path / "gold0", "0-0 1-1 1p2", "0-1")
    assert run("alignments", "--hypothesis", from_zero, "--gold", gold_from_zero) == expected


def test_alignments_of_the_other_direction(tmp_path: Path) -> None:
    gold, links = write(tmp_path / "gold", "0-1"), write(tmp_path / "links", "1-0")
    assert run("alignments", "--hypothesis", links, "--gold", gold, "--transpose").startswith("AER = 0.0")
    assert run("alignments", "--hypothesis", links, "--gold", gold).startswith("AER = 100.0")


def test_alignments_with_a_missing_line(tmp_path: Path) -> None:
    gold, links = write(tmp_path / "gold", "0-1", "0-0"), write(tmp_path / "links", "1-0")
    with pytest.raises(AlidadeError, match="as many lines"):
        run("alignments", "--hypothesis", links, "--gold", gold)


def test_translations_with_both_cases(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref", "Ein Hund läuft durch den Park .", "Zwei Katzen schlafen auf dem Sofa .")
    hypothesis = write(tmp_path / "hyp", "ein Hund läuft durch den Park .", "zwei Katzen schlafen auf dem Sofa .")
    output = run("translations", "--hypothesis", hypothesis, "--reference", reference)
    insensitive, sensitive = output.split("case-sensitive:")
    assert "BLEU = 100.0" in insensitive
    assert "BLEU = 100.0" not in sensitive
    assert output.count("TER = ") == output.count("chrF2 = ") == 2
    assert "case:mixed" in sensitive


def test_translations_against_a_baseline(tmp_path: Path) -> None:
    lines = [f"das ist der Satz Nummer {n} von vielen" for n in range(40)]
    reference, system = write(tmp_path / "ref", *lines), write(tmp_path / "new", *lines)
    baseline = write(tmp_path / "old", *[line.replace("der Satz", "ein Satz") for line in lines])
    output = run("translations", "-y", system, "-r", reference, "-b", baseline, "--samples", "100")
    assert output.count("p = 0.0099, significant at 0.05") == 6
    assert "old → " in output


def test_translations_of_another_length(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", "a"), write(tmp_path / "two", "a", "b")
    with pytest.raises(AlidadeError, match="the hypothesis has 1 lines but the reference has 2"):
        run("translations", "-y", one, "-r", two)
