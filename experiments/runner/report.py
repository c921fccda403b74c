"""`experiments/README.md`: a table for each task and each question, made from the result files and nothing else."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alidade.evaluation.metrics import LEVEL
from runner.results import Result, read_result
from runner.settings import AlignmentRow, DictionaryRow, Library, PictureRow, PruningRow, TranslationRow

Cells = Sequence[str]

INTRODUCTION = """\
# Results

The tables of the paper ([Alkhouli, Bretschner and Ney, 2018](https://aclanthology.org/W18-6318/)) in miniature, on data
that a machine with two cores can train on, and speed. `python experiments/run.py ROW` makes a row from the raw bitext
and skips what exists; its settings are `rows/ROW.toml`. `python experiments/run.py --report` makes this page from the
files under `results/`, and a test fails if the two differ. [LOG.md](LOG.md) tells what else was tried.

BLEU, TER and chrF are sacrebleu's, without case as in the paper. An alignment-assisted system is compared with the
plain transformer *continued for as many updates with the same schedule*: ▲ is significantly better and ▼ significantly
worse than the row named under *against* (paired bootstrap). A dash is not measured yet.

{marks}
"""
CHANGED, ENTERED = "†", "‡"
MARKS = f"""\
{CHANGED} measured before code under it changed; {ENTERED} entered from an older page, before result files told which
code they depend on. Both hold for the commit in [the last table](#where-each-figure-comes-from), not necessarily for
this one."""
MISSING = "–"
METRICS = ("BLEU", "TER", "chrF2")
GOLD = {"deen": "German–English", "roen": "Romanian–English"}
PICTURES = "pictures"
"""The folder of the page's pictures."""


def make_report(library: Library, results: Path) -> str:
    """The whole page."""
    paper = tomllib.loads((library.folder / "paper" / "figures.toml").read_text(encoding="utf-8"))
    shelf = Shelf(library, results)
    parts = [
        INTRODUCTION.format(marks=MARKS),
        "## Translation (the paper's table 2)\n",
        *_translation_tables(shelf),
        "### The paper\n",
        _paper_table(paper["translation"]),
        "## Dictionary (the paper's table 3)\n",
        *_dictionary_tables(shelf, paper["dictionary"]),
        "## Pruning (the paper's figure 4)\n",
        *_pruning_tables(shelf, paper["pruning"]),
        "## Alignment error\n",
        _alignment_table(shelf),
        "## Speed\n",
        *_speed_tables(shelf),
        "## Pictures (the paper's figure 1)\n",
        *_pictures(shelf),
        "## Where each figure comes from\n",
        _origins(shelf),
    ]
    return "\n".join(parts)


@dataclass(frozen=True)
class Shelf:
    """The rows that there are, and what was measured for them."""

    library: Library
    results: Path

    def result(self, name: str) -> Result | None:
        return read_result(name, self.results)

    def figures(self, name: str) -> Mapping[str, Any]:
        """What was measured, or nothing."""
        result = self.result(name)
        return {} if result is None else result.figures

    def mark(self, name: str) -> str:
        """What a reader must be warned of beside the figures of a row."""
        result = self.result(name)
        if result is None:
            return ""
        return f" {ENTERED}" if result.code is None else f" {CHANGED}" if result.changed() else ""

    def measured(self) -> list[str]:
        """All results that there are."""
        return sorted(str(path.relative_to(self.results).with_suffix("")) for path in self.results.rglob("*.json"))


def picture_name(row: str) -> str:
    """What the picture of a row is called beside the page."""
    return f"{row.replace('/', '-')}.png"


def describe_result(results: Path, name: str) -> str:
    """One line about a row."""
    result = read_result(name, results)
    return "not measured yet" if result is None else f"measured {result.date}, {result.commit}{_state(result)}"


# --- translation ---


def _translation_tables(shelf: Shelf) -> Iterable[str]:
    rows = [(name, shelf.library.translation_row(name)) for name in shelf.library.names("translation")]
    for task_name, group in itertools.groupby(rows, key=lambda pair: pair[1].task):
        task = shelf.library.task(task_name)
        yield f"### {task.title}\n"
        members = sorted(group, key=lambda pair: (pair[1].order, pair[0]))
        headings = ["", "updates", "PPL (dev)"]
        for test in task.tests:
            headings += [f"{test}: BLEU", "TER", "chrF", *(["BLEU as published"] if task.moses else [])]
        lines = [_translation_line(shelf, name, row, task.tests, has_published=task.moses) for name, row in members]
        yield _table([*headings, "against", "row"], lines)


def _translation_line(
    shelf: Shelf, name: str, row: TranslationRow, tests: Sequence[str], *, has_published: bool
) -> list[str]:
    figures = shelf.figures(name)
    training = figures.get("training", {})
    cells = [f"{row.title}{shelf.mark(name)}", _updates(row, training), _number(training.get("lexical.perplexity"), 2)]
    for test in tests:
        scores = figures.get("tests", {}).get(test, {})
        cells += [_score(shelf, row, figures, test, metric) for metric in METRICS]
        if has_published:
            cells.append(_number(scores.get("published BLEU", {}).get("value")))
    against = "" if row.baseline is None else row.baseline.split("/")[1]
    return [*cells, against, f"`{name}`"]


def _updates(row: TranslationRow, training: Mapping[str, Any]) -> str:
    """Of the models that write words, stage by stage."""
    updates = training.get("updates", {})
    others = {row.alignment} | {one.run for one in row.before if one.role == "alignment"}
    return " + ".join([f"{count:,}" for run, count in updates.items() if run not in others]) or MISSING


def _score(shelf: Shelf, row: TranslationRow, figures: Mapping[str, Any], test: str, metric: str) -> str:
    """A score, and whether it differs significantly from that of the row's present baseline."""
    scores = figures.get("tests", {}).get(test, {})
    value, p_value = scores.get(metric, {}).get("value"), scores.get("p", {}).get(metric)
    if value is None or p_value is None or p_value >= LEVEL or figures.get("baseline") != row.baseline:
        return _number(value)
    assert row.baseline is not None
    other = shelf.figures(row.baseline).get("tests", {}).get(test, {}).get(metric, {}).get("value")
    if other is None:
        return _number(value)
    is_better = value < other if metric == "TER" else value > other
    return f"{value:.1f} {'▲' if is_better else '▼'}"


def _paper_table(paper: Mapping[str, Any]) -> str:
    """The paper's figures, of other and far larger corpora."""
    names = {
        "1": "recurrent attention",
        "2": "transformer",
        "3": "alignment-biased recurrent attention, small",
        "4": "alignment-biased recurrent attention",
        "5": "alignment-assisted transformer",
    }
    headings = [""]
    for languages in ("English→Romanian", "Chinese→English"):
        headings += [f"{languages}: PPL", "BLEU", "TER"]
    places = [(pair, key) for pair in ("enro", "zhen") for key in ("PPL", "BLEU", "TER")]
    lines = [
        [name, *(_number(paper[row].get(pair, {}).get(key)) for pair, key in places)] for row, name in names.items()
    ]
    about = (
        "604,000 and 4,100,000 training pairs, newstest2016 and BOLT. What can be compared is the difference between "
        "two rows, not a row with ours.\n\n"
    )
    return about + _table(headings, lines)


# --- dictionary, pruning, alignment, speed, pictures ---


def _dictionary_tables(shelf: Shelf, paper: Mapping[str, Any]) -> Iterable[str]:
    for name in shelf.library.names("dictionary"):
        row = shelf.library.row(name)
        assert isinstance(row, DictionaryRow)
        figures = shelf.figures(name)
        if not figures:
            yield f"### {row.title}\n\nNot measured yet: `{name}`.\n"
            continue
        about, systems = figures["dictionary"], figures["systems"]
        lacking = (
            f"the translation of `{next(iter(systems))}` lacks" if row.lacked_by == "first" else "all systems lack"
        )
        yield f"### {row.title}{shelf.mark(name)}\n"
        yield (
            f"{about['entries']:,} entries, {about['coverage']:.1%} of the reference's words: words that {lacking}. "
            f"`{name}`\n"
        )
        published = paper if row.lacked_by == "first" else {}
        lines = [
            _dictionary_line(system, mode, modes, published)
            for system, modes in systems.items()
            for mode in ("none", "suggest", "require")
        ]
        headings = ["system", "dictionary", "BLEU", "gain", "TER", "used", "placed", "repeated", "length"]
        yield _table([*headings, "paper: BLEU", "gain"], lines)


def _dictionary_line(system: str, mode: str, modes: Mapping[str, Any], paper: Mapping[str, Any]) -> list[str]:
    figures, without = modes.get(mode, {}), modes.get("none", {})
    task, kind = system.split("/")
    known = paper.get(kind.removesuffix("-continued"), {})
    published = [known.get(one, {}).get(task, {}).get("BLEU") for one in (mode, "none")]
    return [
        kind,
        mode,
        _number(figures.get("BLEU")),
        "" if mode == "none" else _gain(figures.get("BLEU"), without.get("BLEU")),
        _number(figures.get("TER")),
        *(_share(figures.get(key)) for key in ("used", "placed", "repeated")),
        _number(figures.get("length_ratio"), 3),
        _number(published[0]),
        "" if mode == "none" else _gain(*published),
    ]


def _pruning_tables(shelf: Shelf, paper: Mapping[str, Any]) -> Iterable[str]:
    yield (
        "The paper's speed-ups, against no pruning: "
        + ", ".join([f"{value} at threshold {threshold}" for threshold, value in paper.items()])
        + ", without loss up to 0.15 (English→Romanian, batches of 5).\n"
    )
    for name in shelf.library.names("pruning"):
        row = shelf.library.row(name)
        assert isinstance(row, PruningRow)
        figures = shelf.figures(name)
        yield f"### {row.title}{shelf.mark(name)}\n"
        if not figures:
            yield f"Not measured yet: `{name}`.\n"
            continue
        yield f"{figures['sentences']} dev sentences, {figures['repeats']} repeats, one thread. `{name}`\n"
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


def _alignment_table(shelf: Shelf) -> str:
    lines = []
    for name in shelf.library.names("alignment"):
        row = shelf.library.row(name)
        assert isinstance(row, AlignmentRow)
        figures = shelf.figures(name)
        cells = [_number(figures.get(key)) for key in ("error_rate", "precision", "recall")]
        lines.append([GOLD[row.gold], f"{row.title}{shelf.mark(name)}", *cells, f"`{name}`"])
    return _table(["gold set", "links of", "error rate", "precision", "recall", "row"], lines)


def _speed_tables(shelf: Shelf) -> Iterable[str]:
    """Results of benchmarks: tables already, shown as they are."""
    for name in shelf.measured():
        if not name.startswith("speed/"):
            continue
        result = shelf.result(name)
        assert result is not None
        columns = list(dict.fromkeys([column for values in result.figures.values() for column in values]))
        lines = [
            [label, *(_value(values.get(column)) for column in columns)] for label, values in result.figures.items()
        ]
        yield f"### {name.split('/')[1]}{shelf.mark(name)}\n"
        yield f"{result.note + '. ' if result.note else ''}`{result.command}`\n"
        yield _table(["", *columns], lines)


def _pictures(shelf: Shelf) -> Iterable[str]:
    for name in shelf.library.names("pictures"):
        row = shelf.library.row(name)
        assert isinstance(row, PictureRow)
        figures = shelf.figures(name)
        if figures:
            yield f"### {row.title}{shelf.mark(name)}\n"
            yield (
                f"“{figures['sentence']}” with the entry `{figures['term']}`. The baseline's attention misses the "
                f"word, so the entry is not used: “{figures['baseline']}” The assisted system uses it: "
                f"“{figures['assisted']}” `{name}`\n"
            )
            yield f"![Attention of both systems]({PICTURES}/{picture_name(name)})\n"


def _origins(shelf: Shelf) -> str:
    """Commit, date, processor and command of every result, and what has changed since."""
    lines = []
    for name in shelf.measured():
        result = shelf.result(name)
        assert result is not None
        notes = "; ".join(filter(None, [_state(result).strip(" ()"), "" if name.startswith("speed/") else result.note]))
        tuned = result.figures.get("tuned_on")
        notes += f"{'; ' if notes else ''}tuned on {tuned} dev sentences" if tuned else ""
        lines.append([f"`{name}`", result.date, result.commit, result.processor, f"`{result.command}`", notes])
    return _table(["result", "date", "commit", "processor", "command", ""], lines)


def _state(result: Result) -> str:
    """What has changed since a result was measured, in brackets."""
    if result.code is None:
        return f" ({ENTERED} entered from a page)"
    changed = [path.removeprefix("src/alidade/") for path in result.changed()]
    return f" ({CHANGED} since then changed: {', '.join(changed)})" if changed else ""


# --- cells ---


def _number(value: float | None, digits: int = 1) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1%}"


def _gain(value: float | None, without: float | None) -> str:
    return MISSING if value is None or without is None else f"{value - without:+.1f}"


def _value(value: Any) -> str:
    """Whatever a benchmark has measured."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(headings: Cells, lines: Iterable[Cells]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "".join([f"| {' | '.join(row)} |\n" for row in rows])
