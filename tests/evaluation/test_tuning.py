"""Tuning finds the best point of a smooth landscape and saves it with the model."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import SearchSettings
from alidade.errors import AlidadeError
from alidade.evaluation.metrics import corpus_bleu, tokenisation_of_language, tokenisation_of_text
from alidade.evaluation.tuning import AS_GOOD, DevSet, Trial, best_of, check_writable, spread_evenly, try_settings, tune
from alidade.model_folder import load_search_settings
from small_folders import make_folder


def landscape(settings: SearchSettings) -> Trial:
    """BLEU is best at once, TER where the length is right."""
    bleu = -((settings.alignment_weight - 0.3) ** 2) - (settings.coverage_weight - 0.1) ** 2
    return Trial(settings, bleu, ter=(settings.length_normalisation - 0.6) ** 2)


def test_the_best_point_is_found() -> None:
    start = SearchSettings(lexical_weight=2.0)
    trials = list(try_settings(landscape, start, is_assisted=True, knows_skips=True))
    best = max(trials, key=lambda trial: trial.score).settings
    assert (best.lexical_weight, best.alignment_weight, best.length_normalisation) == (1.0, 0.3, 0.6)
    assert best.coverage_weight == 0.1
    assert len({trial.settings for trial in trials}) == len(trials)  # no point is tried twice


def test_a_ridge_across_both_weights_is_followed() -> None:
    """The less coverage is worth, the more the alignment weight may be: one of them alone is no better anywhere."""

    def ridge(settings: SearchSettings) -> Trial:
        off = abs(settings.alignment_weight - (0.4 - 2 * settings.coverage_weight))
        return Trial(settings, bleu=settings.alignment_weight - 10 * off, ter=0.0)

    start = SearchSettings(coverage_weight=0.15)
    best = max(try_settings(ridge, start, is_assisted=True, knows_skips=True), key=lambda trial: trial.score).settings
    assert (best.alignment_weight, best.coverage_weight) == (0.4, 0.0)


def test_a_baseline_has_only_its_length_normalisation() -> None:
    trials = list(try_settings(landscape, SearchSettings(), is_assisted=False, knows_skips=False))
    assert {trial.settings.alignment_weight for trial in trials} == {1.0}


def test_coverage_is_not_tried_if_nothing_is_known_of_it() -> None:
    trials = list(try_settings(landscape, SearchSettings(), is_assisted=True, knows_skips=False))
    assert {trial.settings.coverage_weight for trial in trials} == {0.0}


def test_of_settings_that_are_as_good_the_one_with_the_surest_links_is_taken() -> None:
    def trial(weight: float, normalisation: float, bleu: float) -> Trial:
        settings = SearchSettings(alignment_weight=weight, length_normalisation=normalisation)
        return Trial(settings, bleu, ter=0.0)

    low, high, worse = trial(0.2, 1.0, 30.0), trial(0.3, 1.0, 30.0 - AS_GOOD / 2), trial(0.5, 1.0, 30.0 - AS_GOOD * 2)
    assert best_of([low, high, worse]) == high
    assert best_of([low, worse]) == low
    assert best_of([trial(0.3, 0.8, 30.0 - AS_GOOD), low, high]) == high  # the best of that weight


@pytest.mark.parametrize("is_assisted", [True, False])
def test_what_is_picked_is_saved_with_the_model(tmp_path: Path, is_assisted: bool) -> None:
    folder = make_folder(tmp_path / "model", is_assisted=is_assisted)
    (tmp_path / "source").write_text("ba be bi\nbo bu\n")
    (tmp_path / "target").write_text("be ba bi\nbu bo\n")
    files = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    result = CliRunner().invoke(app, ["tune", "--model", str(folder), *files], catch_exceptions=False)
    picked = load_search_settings(folder)
    assert f"length_normalisation {picked.length_normalisation}" in result.stderr
    assert "saved the best" in result.stderr


@pytest.mark.parametrize("num_items", [1, 3, 499, 500, 501, 1999])
def test_a_sample_is_spread_over_all_sentences(num_items: int) -> None:
    sample = spread_evenly(range(num_items), 500)
    assert len(sample) == min(num_items, 500)
    assert sample[0] == 0
    assert sample[-1] >= num_items - num_items // len(sample) - 1
    steps = {later - earlier for earlier, later in itertools.pairwise(sample)}
    assert not steps or max(steps) - min(steps) <= 1


def test_a_folder_that_cannot_be_written_to_is_told_before_any_work(tmp_path: Path) -> None:
    check_writable(tmp_path)
    with pytest.raises(AlidadeError, match="cannot be written to"):
        check_writable(Path("/proc/self"))


@pytest.mark.parametrize("tag", ["zh", "zh-CN", "zh_Hans", "ZH", "yue"])
def test_chinese_is_judged_by_its_characters(tag: str) -> None:
    """Without spaces, 13a finds one word a sentence, and BLEU is zero whatever the search does."""
    assert tokenisation_of_language(tag) == "zh"
    hypotheses, references = ["联合国今天开会讨论气候问题。"], ["联合国昨天开会讨论气候问题。"]
    assert tokenisation_of_text(references) == "zh"
    assert corpus_bleu(hypotheses, references, tokenisation=tokenisation_of_language(tag)).value > 50
    assert corpus_bleu(hypotheses, references, tokenisation="13a").value < 1


def test_other_scripts_are_judged_by_theirs() -> None:
    assert [tokenisation_of_language(tag) for tag in ("ro-RO", "ja", "th_TH")] == ["13a", "char", "char"]
    texts = ["Der Hund schläft.", "国連は今日、気候について話し合う。", "สวัสดีครับ", "Beijing is 北京", ""]
    assert [tokenisation_of_text([text]) for text in texts] == ["13a", "char", "char", "13a", "13a"]


def test_tuning_in_python_yields_trials_and_saves_the_best(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", languages=("en", "zh-CN"))
    trials = list(tune(folder, [DevSet(["ba be bi", "bo bu"], ["be ba bi", "bu bo"])], max_sentences=1))
    assert load_search_settings(folder) == best_of(trials).settings
    with pytest.raises(AlidadeError, match="the source has 1"):
        next(tune(folder, [DevSet(["ba"], ["ba", "be"])]))


def test_several_kinds_of_text_count_alike(tmp_path: Path) -> None:
    """The means of both sets' BLEU and TER, however many sentences each has."""
    folder = make_folder(tmp_path / "model")
    many, few = (
        DevSet(["ba be bi bo", "bo bu"] * 3, ["be ba bi bo", "bu bo"] * 3),
        DevSet(["bi bo ba bu"], ["bo bi bu ba"]),
    )
    alone = [next(tune(folder, [dev_set])) for dev_set in (many, few)]
    together = next(tune(folder, [many, few]))
    assert together.bleu == pytest.approx((alone[0].bleu + alone[1].bleu) / 2)
    assert together.ter == pytest.approx((alone[0].ter + alone[1].ter) / 2)
    assert together.score == together.bleu - together.ter


def test_where_a_script_has_no_words_bleu_decides_alone(tmp_path: Path) -> None:
    dev_set = DevSet(["ba be bi", "bo bu"], ["be ba bi", "bu bo"])
    ter = [next(tune(make_folder(tmp_path / tag, languages=("en", tag)), [dev_set])).ter for tag in ("th", "ro")]
    assert ter[0] == 0 < ter[1]


def test_files_belong_together_in_pairs(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    (tmp_path / "text").write_text("ba be bi\n")
    files = ["--source", str(tmp_path / "text"), "--source", str(tmp_path / "text"), "--target", str(tmp_path / "text")]
    result = CliRunner().invoke(app, ["tune", "--model", str(folder), *files])
    assert result.exit_code != 0
    assert isinstance(result.exception, AlidadeError)
    assert "--source was given 2 times, --target 1" in str(result.exception)
