"""`experiments/README.md`: the paper's figures and ours side by side, made from the results files."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from alidade.evaluation.metrics import LEVEL
from alidade.io import read_json
from runner.settings import AlignmentRow, DictionaryRow, Library, PictureRow, PruningRow, TranslationRow

Result = Mapping[str, Any]
Cells = Sequence[str]

INTRODUCTION = """\
# Results

The paper's tables in miniature ([Alkhouli, Bretschner and Ney, 2018](https://aclanthology.org/W18-6318/)), on data that
a machine with two cores can train on. This page is made by `python experiments/run.py --report` from the results that
`python experiments/run.py ROW` writes; a row's settings are `experiments/rows/ROW.toml`, and the command beside a
row makes it from the raw bitext, skipping what exists. The paper's figures are of other and far larger corpora (604,000
and 4,100,000 pairs): what can be compared is the difference between two rows, not a row with the paper's.

BLEU and TER are sacrebleu's, case-insensitive as in the paper; in bold what differs significantly from the baseline
(paired bootstrap). What is not measured yet is a dash, and the reason stands under the table.
[LOG.md](LOG.md) tells what else was tried.
"""
MISSING = "–"
PICTURES = "pictures"
"""The folder of the page's pictures."""


def make_report(library: Library, results: Path) -> str:
    """The whole page."""
    paper = tomllib.loads((library.folder / "paper" / "figures.toml").read_text(encoding="utf-8"))
    parts = [
        INTRODUCTION,
        "## 1. Translation (the paper's table 2)\n",
        *_translation_tables(library, results, paper["translation"]),
        "## 2. Dictionary (the paper's table 3)\n",
        *_dictionary_tables(library, results, paper["dictionary"]),
        "## 3. Pruning (the paper's figure 4)\n",
        *_pruning_tables(library, results, paper["pruning"]),
        "## 4. Alignment error\n",
        _alignment_table(library, results),
        "## 5. Pictures (the paper's figure 1)\n",
        *_pictures(library, results),
    ]
    return "\n".join(parts)


def read_result(results: Path, name: str) -> Result:
    """A row's results, or why there are none."""
    path = results / f"{name}.json"
    return read_json(path) if path.exists() else {"missing": "not run yet"}


def picture_name(row: str) -> str:
    """What the picture of a row is called beside the page."""
    return f"{row.replace('/', '-')}.png"


def describe_result(results: Path, name: str) -> str:
    """One line about a row."""
    result = read_result(results, name)
    return f"missing: {result['missing']}" if "missing" in result else f"measured {result['date']}"


def _translation_tables(library: Library, results: Path, paper: Mapping[str, Any]) -> Iterable[str]:
    rows = [(name, library.translation_row(name)) for name in library.names("translation")]
    for task_name, group in itertools.groupby(rows, key=lambda pair: pair[1].task):
        members = sorted(group, key=lambda pair: (pair[1].paper_row or 9, pair[0]))
        task = library.task(task_name)
        yield f"### {task.title}\n"
        for test in task.tests:
            known = paper if test in task.paper_tests else None
            yield _translation_table(results, members, test, known, task_name, has_published=task.moses)
        yield _footnotes(results, [name for name, _ in members])


def _translation_table(
    results: Path,
    rows: list[tuple[str, TranslationRow]],
    test: str,
    paper: Mapping[str, Any] | None,
    task: str,
    *,
    has_published: bool,
) -> str:
    pair = "zhen" if task == "zhen" else "enro"
    languages = "Zh→En" if pair == "zhen" else "En→Ro"
    headings = [f"`{test}`", *([] if paper is None else [f"paper, {languages}: PPL / BLEU / TER"])]
    headings += ["PPL (dev)", "BLEU", "TER", "chrF", *(["BLEU as published"] if has_published else [])]
    headings += ["minutes", "command"]
    lines = []
    for name, row in rows:
        figures = read_result(results, name).get("figures", {})
        training, scores = figures.get("training", {}), figures.get("tests", {}).get(test, {})
        cells = [row.title]
        if paper is not None:
            published = paper.get(str(row.paper_row), {}).get(pair, {})
            cells.append(" / ".join([_number(published.get(key)) for key in ("PPL", "BLEU", "TER")]))
        cells.append(_number(training.get("lexical.perplexity"), 2))
        cells += [_score(scores, metric) for metric in ("BLEU", "TER", "chrF2")]
        if has_published:
            cells.append(_number(scores.get("published BLEU", {}).get("value")))
        cells.append(_minutes(training))
        lines.append([*cells, f"`run.py {name}`"])
    return _table(headings, lines)


def _score(scores: Mapping[str, Any], metric: str) -> str:
    """A score; in bold if it differs significantly from the baseline's, with the p-value."""
    value = scores.get(metric, {}).get("value")
    p_value = scores.get("p", {}).get(metric)
    if value is None or p_value is None:
        return _number(value)
    text = f"**{value:.1f}**" if p_value < LEVEL else f"{value:.1f}"
    return f"{text} (p = {p_value:.3f})"


def _minutes(training: Mapping[str, Any]) -> str:
    """What each run took, as far as it is known, with its updates."""
    updates, minutes = training.get("updates", {}), training.get("minutes", {})
    return "; ".join([f"{run}: {minutes.get(run, '?')} for {updates[run]:,} updates" for run in updates]) or MISSING


def _dictionary_tables(library: Library, results: Path, paper: Mapping[str, Any]) -> Iterable[str]:
    names = library.names("dictionary")
    for name in names:
        row = library.row(name)
        assert isinstance(row, DictionaryRow)
        figures = read_result(results, name).get("figures", {})
        about = figures.get("dictionary")
        yield f"### {row.title}\n"
        if about:
            yield f"{about['entries']:,} entries, {about['coverage']:.1%} of the reference's words. `run.py {name}`\n"
        task = name.split("/")[1]
        lines = [
            _dictionary_line(system, mode, figures.get("systems", {}).get(system, {}).get(mode, {}), paper, task)
            for system in row.systems
            for mode in ("none", "suggest", "require")
        ]
        headings = ["system", "dictionary", "paper: BLEU / TER", "BLEU", "TER", "used", "placed", "repeated", "length"]
        yield _table(headings, lines)
    yield _footnotes(results, names)


def _dictionary_line(
    system: str, mode: str, figures: Mapping[str, Any], paper: Mapping[str, Any], task: str
) -> list[str]:
    kind = system.split("/")[1]
    published = paper.get(kind, {}).get(mode, {}).get(task, {})
    shares = [f"{figures[key]:.1%}" if key in figures else MISSING for key in ("used", "placed", "repeated")]
    return [
        kind,
        mode,
        f"{_number(published.get('BLEU'))} / {_number(published.get('TER'))}",
        _number(figures.get("BLEU")),
        _number(figures.get("TER")),
        *shares,
        _number(figures.get("length_ratio"), 3),
    ]


def _pruning_tables(library: Library, results: Path, paper: Mapping[str, Any]) -> Iterable[str]:
    names = library.names("pruning")
    yield (
        "The paper's speed-ups, against no pruning: "
        + ", ".join([f"{value} at threshold {threshold}" for threshold, value in paper.items()])
        + ", without loss up to 0.15 (English→Romanian, batches of 5).\n"
    )
    for name in names:
        row = library.row(name)
        assert isinstance(row, PruningRow)
        figures = read_result(results, name).get("figures")
        yield f"### {row.title}\n"
        if figures is None:
            continue
        yield f"{figures['sentences']} dev sentences, {figures['repeats']} repeats, one thread. `run.py {name}`\n"
        lines = [
            [
                point["pruning"],
                f"{point['value']:g}" if point["value"] else "",
                f"{point['speed_up']:.2f}",
                f"{point['evaluations']:.1f}",
                f"{point['BLEU']:.2f}",
                f"{point['same']:.0%}",
            ]
            for point in figures["points"]
        ]
        yield _table(["pruning", "value", "speed-up", "evaluations a token", "BLEU", "same as `none`"], lines)
        yield f"![Speed-up and BLEU over the threshold]({PICTURES}/{picture_name(name)})\n"
    yield _footnotes(results, names)


def _alignment_table(library: Library, results: Path) -> str:
    names = library.names("alignment")
    lines = []
    for name in names:
        row = library.row(name)
        assert isinstance(row, AlignmentRow)
        figures = read_result(results, name).get("figures", {})
        gold = {"deen": "German–English", "roen": "Romanian–English"}[row.gold]
        cells = [_number(figures.get(key)) for key in ("error_rate", "precision", "recall")]
        lines.append([gold, row.title, *cells, f"`run.py {name}`"])
    headings = ["gold set", "links of", "error rate", "precision", "recall", "command"]
    return _table(headings, lines) + "\n" + _footnotes(results, names)


def _pictures(library: Library, results: Path) -> Iterable[str]:
    names = library.names("pictures")
    for name in names:
        row = library.row(name)
        assert isinstance(row, PictureRow)
        figures = read_result(results, name).get("figures")
        yield f"### {row.title}\n"
        if figures is not None:
            yield (
                f"“{figures['sentence']}” with the entry `{figures['term']}`. The baseline's attention misses the "
                f"word, so the entry is not used: “{figures['baseline']}” The assisted system uses it: "
                f"“{figures['assisted']}” `run.py {name}`\n"
            )
            yield f"![Attention of both systems]({PICTURES}/{picture_name(name)})\n"
    yield _footnotes(results, names)


def _footnotes(results: Path, names: Sequence[str]) -> str:
    """When and where rows were measured, and why others were not."""
    measured: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for name in names:
        result = read_result(results, name)
        if "missing" in result:
            missing.setdefault(result["missing"], []).append(name)
        else:
            settings = "".join([f" --set {override}" for override in result["overrides"]])
            tuned = result["figures"].get("tuned_on")
            when = f"{result['date']}, {result['machine']}" + (f", tuned on {tuned} dev sentences" if tuned else "")
            measured.setdefault(when, []).append(f"{name}{settings}")
    lines = [f"- Measured {when}: {', '.join(rows)}.\n" for when, rows in measured.items()]
    lines += [f"- Missing: {', '.join(rows)}: {reason}.\n" for reason, rows in missing.items()]
    return "".join(lines)


def _number(value: float | None, digits: int = 1) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def _table(headings: Cells, lines: Iterable[Cells]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "".join([f"| {' | '.join(row)} |\n" for row in rows])
