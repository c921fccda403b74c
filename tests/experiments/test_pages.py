"""The pages say what the result files say: no figure is written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alidade.errors import AlidadeError
from runner.front import BETWEEN, LINES, fill_front, make_front
from runner.report import ENTERED, make_report
from runner.results import RESULTS, ROOT, read_result, record
from runner.settings import EXPERIMENTS, Library

AGAIN = "the page differs from the results: run `python experiments/run.py --report` and commit what it writes"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_of_tables_is_what_the_results_give() -> None:
    assert make_report(Library(), RESULTS) == (EXPERIMENTS / "README.md").read_text(encoding="utf-8"), AGAIN


def test_the_front_page_is_what_the_results_give() -> None:
    assert fill_front(README, RESULTS) == README, AGAIN


def test_the_front_page_has_a_short_table() -> None:
    assert len(LINES) <= 10
    assert all(len(line.what) <= 45 for line in LINES)


def test_no_figure_stands_outside_of_the_table() -> None:
    prose = re.sub(r"^```.*?^```$|^    .*?$", "", BETWEEN.sub("", README), flags=re.MULTILINE | re.DOTALL)
    units = "BLEU|TER|chrF|×|%|tokens|[MG]B|seconds|minutes|hours"
    assert re.findall(rf"\d[\d.,]* ?(?:{units})", prose) == []


@pytest.mark.parametrize("name", sorted(str(path.relative_to(RESULTS))[:-5] for path in RESULTS.rglob("*.json")))
def test_every_result_says_where_it_comes_from(name: str) -> None:
    result = read_result(name)
    assert result is not None
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", result.date)
    assert result.command.startswith("python ")
    assert result.processor
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", result.commit)


def test_a_table_that_is_not_marked_is_missed() -> None:
    with pytest.raises(AlidadeError, match="<!-- figures -->"):
        fill_front("# A page\n", RESULTS)


def test_a_figure_is_marked_when_its_code_is_unknown_or_has_changed(tmp_path: Path) -> None:
    (line,) = (line for line in LINES if line.ours[0] == "speed/training-tiny")
    figures = {"Alidade": {"target tokens a second": 2000}, "Marian": {"target tokens a second": 1000}}
    path = record("speed/training-tiny", figures, depends_on=["experiments/run.py"], folder=tmp_path)
    assert "| 2,000 | 1,000 Marian |" in make_front(tmp_path, [line])
    text = path.read_text()
    path.write_text(re.sub(r'(run.py": ")\w', r"\1-", text))
    assert "| 2,000 † | 1,000 † Marian |" in make_front(tmp_path, [line])
    path.write_text(re.sub(r'"code": {.*?},\s*', "", text, flags=re.DOTALL))
    assert f"| 2,000 {ENTERED} |" in make_front(tmp_path, [line])
    path.unlink()
    assert "| – | – Marian |" in make_front(tmp_path, [line])
    record("speed/training-tiny", {"alidade": {}}, depends_on=["experiments/run.py"], folder=tmp_path)
    with pytest.raises(AlidadeError, match=r"follow them in experiments/runner/front\.py"):
        make_front(tmp_path, [line])
