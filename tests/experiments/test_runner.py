"""The experiments' runner, from raw bitext to the page of tables, on a small task of its own."""

from __future__ import annotations

import io
import json
import shutil
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

from alidade.corpus.synthetic import make_pairs
from alidade.errors import AlidadeError
from alidade.translator import Translator
from runner.measure import measure_row
from runner.report import describe_result, make_report
from runner.settings import EXPERIMENTS, TABLES, Library
from runner.systems import Workshop
from ship import ship
from small_runs import ALIGNED, JUMPS, TRANSFORMER, run_config, write_config

ROWS = {
    "enro/transformer": 'title = "transformer"\ntask = "enro"\ntrain = ["transformer"]\nlexical = "transformer"\n',
    "enro/shipped": (
        'title = "assisted"\ntask = "enro"\ntrain = ["transformer", "aligned", "jumps"]\nlexical = "aligned"\n'
        'alignment = "jumps"\nform = "int8"\nbaseline = "enro/transformer"\norder = 5\n'
        '[[before]]\nrun = "first"\nupdates = 7\nminutes = 1\n'
        '[[before]]\nrun = "first-jumps"\nrole = "alignment"\nupdates = 8\nminutes = 2\n'
    ),
    "enro/box": (
        'title = "the box"\ntask = "enro"\nmodel = "../../../runs/enro/systems/shipped/model"\n'
        '[[before]]\nrun = "first"\nupdates = 7\nminutes = 1\n'
    ),
    "enro/never": 'title = "never"\ntask = "enro"\ntrain = ["never"]\nlexical = "never"\n',
    "dictionary/enro": 'title = "with terms"\nsystems = ["enro/transformer", "enro/shipped"]\n',
    "dictionary/enro-both": (
        'title = "lacked by both"\nsystems = ["enro/transformer", "enro/shipped"]\nlacked_by = "all"\n'
    ),
    "pruning/enro": 'title = "pruned"\nsystem = "enro/shipped"\nsentences = 3\n',
}

# Enough to know when a sentence ends: translations that run on to the length limit take long.
TRAINING = {"steps": 80, "batch_tokens": 500, "learning_rate": 0.02, "validate_every": 80, "save_every": 80}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiments folder with one task, whose name the card of the shipped model wants."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "data").mkdir()
    pairs = make_pairs("lexicon", 1016)
    for name, part in {"train": pairs[:1000], "dev": pairs[1000:1010], "test": pairs[1010:]}.items():
        for side, language in enumerate(("en", "ro")):
            (folder / "data" / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in part))
    experiments = folder / "experiments"
    write_task(experiments / "enro", folder)
    for name, settings in ROWS.items():
        path = experiments / "rows" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        table = "translation" if name.startswith("enro") else name.split("/")[0]
        path.write_text(f'table = "{table}"\n{settings}')
    shutil.copytree(EXPERIMENTS / "paper", experiments / "paper")
    return folder


def write_task(folder: Path, lab: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(
        'title = "Toy"\ndata = "../../data"\nruns = "../../runs/enro"\nsource = "en"\ntarget = "ro"\n'
        'tests = ["test"]\nmoses = true\n'
    )
    sides = {name: f'source = "../../data/{name}.en"\ntarget = "../../data/{name}.ro"\n' for name in ("train", "dev")}
    prepare = (
        'source_language = "en"\ntarget_language = "ro"\n'
        f"[[bitext]]\n{sides['train']}[dev]\n{sides['dev']}[subwords]\nvocabulary_size = 400\n"
    )
    (folder / "prepare.toml").write_text(f'corpus = "../../runs/enro/corpus"\n{prepare}')
    (folder / "prepare-anew.toml").write_text(
        f'corpus = "../../runs/enro/corpus-anew"\n{prepare}[bpe_dropout]\ncopies = 2\n'
    )
    runs = lab / "runs" / "enro"
    start = {"init_from": runs / "transformer" / "model"}
    for name, corpus, models in (
        ("transformer", "corpus", {"lexical": TRANSFORMER}),
        ("never", "corpus", {"lexical": TRANSFORMER}),
        ("aligned", "corpus-anew", {"lexical": ALIGNED, **start}),
        ("jumps", "corpus", {"alignment": JUMPS}),
    ):
        write_config(folder / f"{name}.toml", run_config(runs / name, runs / corpus, **models, **TRAINING))


def workshop(lab: Path, *, may_train: bool = True) -> tuple[Workshop, io.StringIO]:
    said = io.StringIO()
    shop = Workshop(
        Library(lab / "experiments"),
        lab / "runs" / "results",
        lab / "runs" / "pictures",
        may_train=may_train,
        tune_sentences=2,
        console=Console(file=said, width=200),
    )
    return shop, said


@pytest.fixture(scope="module")
def measured(lab: Path) -> Path:
    """The lab with all rows measured that can be."""
    shop, _ = workshop(lab)
    for name in ("enro/transformer", "enro/shipped", "dictionary/enro", "dictionary/enro-both", "pruning/enro"):
        assert measure_row(shop, name)
    shop, _ = workshop(lab, may_train=False)
    assert not measure_row(shop, "enro/never")
    return lab


def result(lab: Path, name: str) -> dict[str, object]:
    values: dict[str, object] = json.loads((lab / "runs" / "results" / f"{name}.json").read_text())
    return values


def test_a_row_has_all_its_figures(measured: Path) -> None:
    figures = result(measured, "enro/shipped")["figures"]
    assert isinstance(figures, dict)
    earlier = {"first": 7, "first-jumps": 8}
    assert figures["training"]["updates"] == {**earlier, "transformer": 80, "aligned": 80, "jumps": 80}
    assert {"lexical.perplexity", "alignment.perplexity"} <= figures["training"].keys()
    test = figures["tests"]["test"]
    assert {"BLEU", "TER", "chrF2", "published BLEU", "p"} <= test.keys()
    assert "case:lc" in test["BLEU"]["signature"]
    assert test["p"].keys() == {"BLEU", "TER", "chrF2"}


def test_a_finished_model_is_measured_as_it_is(measured: Path) -> None:
    shop, said = workshop(measured, may_train=False)
    assert measure_row(shop, "enro/box")
    figures, trained = (result(measured, name)["figures"] for name in ("enro/box", "enro/shipped"))
    assert isinstance(figures, dict)
    assert isinstance(trained, dict)
    assert "tune" not in said.getvalue()
    assert figures["training"]["updates"] == {"first": 7}
    assert figures["tests"]["test"]["BLEU"] == trained["tests"]["test"]["BLEU"]


def test_a_row_has_runs_or_a_finished_model(lab: Path) -> None:
    library = Library(lab / "experiments")
    with pytest.raises(AlidadeError, match="or `model`, a finished folder"):
        library.row("enro/box", ['lexical="aligned"'])


def test_what_is_up_to_date_is_skipped(measured: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (measured / "runs").rglob("*") if path.is_file()}
    shop, said = workshop(measured)
    assert measure_row(shop, "enro/shipped")
    assert said.getvalue().count("unchanged, skipped") == 7
    assert "done in" not in said.getvalue()
    assert {path: path.stat().st_mtime_ns for path in (measured / "runs").rglob("*") if path.is_file()} == before


def test_only_what_is_lost_is_made_again(measured: Path) -> None:
    translations = measured / "runs" / "enro" / "systems" / "transformer" / "test.ro"
    before = translations.read_text()
    translations.unlink()
    shop, said = workshop(measured, may_train=False)
    assert measure_row(shop, "enro/transformer")
    assert said.getvalue().count("done in") == 1
    assert translations.read_text() == before


def test_an_untrained_row_has_no_result_and_its_reason_is_said(measured: Path) -> None:
    shop, said = workshop(measured, may_train=False)
    assert not measure_row(shop, "enro/never")
    assert "enro/never: missing: `never` is not trained" in said.getvalue()
    assert describe_result(measured / "runs" / "results", "enro/never") == "not measured yet"
    assert describe_result(measured / "runs" / "results", "enro/shipped").startswith("measured 20")


def test_a_result_names_what_it_depends_on(measured: Path) -> None:
    values = result(measured, "dictionary/enro")
    assert values["command"] == "python experiments/run.py dictionary/enro"
    assert isinstance(values["code"], dict)
    assert {"src/alidade/search", "src/alidade/dictionary"} <= values["code"].keys()


def test_changed_code_makes_translations_anew(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.translation.fingerprints", lambda _: {"src/alidade/search": "other"})
    shop, said = workshop(measured, may_train=False)
    assert measure_row(shop, "enro/transformer")
    assert "translate-test: done in" in said.getvalue()
    assert "tune: unchanged" in said.getvalue()


def test_a_measured_row_is_kept_when_its_model_is_gone(measured: Path) -> None:
    run = measured / "runs" / "enro" / "transformer"
    before = result(measured, "enro/transformer")
    run.rename(run.with_name("elsewhere"))
    try:
        shop, said = workshop(measured, may_train=False)
        assert not measure_row(shop, "enro/transformer")
        assert "`transformer` is not trained" in said.getvalue()
        assert result(measured, "enro/transformer") == before
    finally:
        run.with_name("elsewhere").rename(run)


def test_dictionary_and_pruning_have_every_way(measured: Path) -> None:
    terms = result(measured, "dictionary/enro")["figures"]
    assert isinstance(terms, dict)
    assert terms["dictionary"]["entries"] > 0
    for modes in terms["systems"].values():
        assert modes.keys() == {"none", "suggest", "require"}
        assert modes["require"]["used"] >= modes["none"]["used"]
    both = result(measured, "dictionary/enro-both")["figures"]
    assert isinstance(both, dict)
    # Both rows align the dev set by themselves, and eflomal, which takes no seed, links a few words otherwise then.
    assert 0 < both["dictionary"]["entries"] <= 1.2 * terms["dictionary"]["entries"]
    assert all(modes["none"]["used"] == 0 for modes in both["systems"].values())
    pruned = result(measured, "pruning/enro")["figures"]
    assert isinstance(pruned, dict)
    points = {point["pruning"]: point for point in pruned["points"]}
    assert points.keys() == {"none", "threshold", "pairs", "histogram", "exact"}
    assert points["exact"]["same"] == 1.0
    assert (measured / "runs" / "pictures" / "pruning-enro.png").exists()


def test_the_page_shows_ours_the_papers_and_what_is_missing(measured: Path) -> None:
    page = make_report(Library(measured / "experiments"), measured / "runs" / "results")
    assert "| alignment-assisted transformer | 5.0 | 28.1 | 54.3 |" in page
    assert "| `enro/shipped` |" in page
    assert "| 7 + 80 + 80 |" in page, "the updates of what writes words"
    assert "| never | – | – | – |" in page
    assert "tuned on 2 dev sentences" in page
    assert "| shipped | require |" in page
    assert "| exact |" in page
    assert "‡" not in page.partition("## Translation")[2]


def test_a_better_or_worse_score_is_told_apart(measured: Path, tmp_path: Path) -> None:
    for name in ("enro/transformer", "enro/shipped"):
        values = json.loads((measured / "runs" / "results" / f"{name}.json").read_text())
        score = 30.0 if name == "enro/transformer" else 31.0
        values["figures"]["tests"]["test"] = {metric: {"value": score} for metric in ("BLEU", "TER", "chrF2")}
        if name == "enro/shipped":
            values["figures"]["tests"]["test"]["p"] = {"BLEU": 0.01, "TER": 0.01, "chrF2": 0.2}
        (tmp_path / "enro").mkdir(exist_ok=True)
        (tmp_path / f"{name}.json").write_text(json.dumps(values))
    library = Library(measured / "experiments")
    assert "| 31.0 ▲ | 31.0 ▼ | 31.0 |" in make_report(library, tmp_path)
    values["figures"]["baseline"] = "enro/another"  # the test was against something else
    (tmp_path / "enro" / "shipped.json").write_text(json.dumps(values))
    assert "| 31.0 | 31.0 | 31.0 |" in make_report(library, tmp_path)


def test_a_model_is_shipped_with_its_card(measured: Path, tmp_path: Path) -> None:
    output = tmp_path / "en-ro"
    ship(Library(measured / "experiments"), "enro/shipped", measured / "runs" / "results", output)
    card = (output / "README.md").read_text()
    assert "1,000 pairs" in card
    assert "| test | " in card
    translations = measured / "runs" / "enro" / "systems" / "shipped" / "test.ro"
    source = (measured / "data" / "test.en").read_text().splitlines()[0]
    assert Translator(output).translate(source).text == translations.read_text().splitlines()[0]


def test_nothing_is_shipped_without_results(lab: Path, tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"run `python experiments/run\.py enro/shipped` first"):
        ship(Library(lab / "experiments"), "enro/shipped", tmp_path, tmp_path / "en-ro")


def test_all_rows_of_the_project_can_be_read() -> None:
    library = Library()
    assert {library.row(name).table for name in library.names()} == set(TABLES)
    for name in library.names("translation"):
        row = library.translation_row(name)
        for run in row.train:
            assert library.training_file(row.task, run).is_file()
        assert row.baseline is None or row.baseline in library.names("translation")


def test_a_continued_baseline_is_trained_on_as_its_assisted_system_is() -> None:
    """The same start, updates and schedule: only what is trained and where it goes may differ."""
    library = Library()
    compared = 0
    for name in library.names("translation"):
        row = library.translation_row(name)
        stages = [run for run in row.train if run.startswith(("aligned", "shipped-on")) and run != "aligned-scratch"]
        if not stages or (row.lexical or "").endswith("-plain"):
            continue
        assert row.baseline is not None, name
        continued = library.translation_row(row.baseline).lexical
        assert continued is not None, name
        assert continued.endswith(("-continued", "-plain")), name
        for stage in stages:
            files = [library.training_file(row.task, run) for run in (stage, continued)]
            one, other = (tomllib.loads(file.read_text())["training"] for file in files)
            assert {**one, "folder": ""} == {**other, "folder": ""}, f"{files[0]} and {files[1]}"
            compared += 1
    assert compared >= 8


def test_a_row_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(AlidadeError, match='did you mean "multi30k/assisted"'):
        Library().row("multi30k/asisted")
