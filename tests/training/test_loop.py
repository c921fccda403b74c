"""What a run writes while it goes on and when it is over."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from lightning_fabric import Fabric
from rich.console import Console

from alidade.config import NormalisationSettings, PrepareConfig
from alidade.corpus.prepare import Preparation
from alidade.corpus.store import PreparedCorpus
from alidade.model_folder import load_model_folder, read_weights
from alidade.training.loop import train
from alidade.training.monitor import Monitor
from alidade.training.validation import dev_bleu
from small_runs import ALIGNED, JUMPS, TRANSFORMER, final_weights, logged, run_config


def test_a_run_leaves_a_model_the_best_and_figures(lexicon_corpus: Path, tmp_path: Path) -> None:
    config = run_config(tmp_path, lexicon_corpus, steps=20, validate_every=10)
    assert train(config) == tmp_path / "model"
    for folder in ("model", "best"):
        assert load_model_folder(tmp_path / folder).description.roles == {"lexical"}
    assert [line["step"] for line in logged(tmp_path, "train")] == [10, 20]
    assert [line["step"] for line in logged(tmp_path, "dev")] == [10, 20]
    assert logged(tmp_path, "train")[-1]["tokens_per_second"] > 0
    assert list((tmp_path / "tensorboard").iterdir())
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_the_finished_model_is_the_mean_of_the_last_snapshots_or_the_best_one(
    lexicon_corpus: Path, tmp_path: Path
) -> None:
    train(run_config(tmp_path, lexicon_corpus, steps=60, validate_every=20, average_last=3, learning_rate=0.03))
    result = json.loads((tmp_path / "result.json").read_text())
    steps = result["weights_of_updates"]
    assert steps == [20, 40, 60] or len(steps) == 1
    snapshots = [read_weights(tmp_path / "validated" / f"{step:08d}") for step in steps]
    for name, weight in final_weights(tmp_path).items():
        mean = np.mean([weights[name] for weights in snapshots], axis=0, dtype=np.float64)
        np.testing.assert_allclose(weight.numpy(), mean, rtol=1e-6, atol=1e-7)
    assert result["lexical.perplexity"] <= min(line["lexical.perplexity"] for line in logged(tmp_path, "dev"))


def test_early_stopping_ends_a_run(lexicon_corpus: Path, tmp_path: Path) -> None:
    train(run_config(tmp_path, lexicon_corpus, steps=1000, validate_every=2, patience=2, learning_rate=1.0, warmup=1))
    assert logged(tmp_path, "dev")[-1]["step"] < 100


def test_a_second_stage_starts_at_the_baseline(lexicon_corpus: Path, tmp_path: Path) -> None:
    baseline = train(run_config(tmp_path / "baseline", lexicon_corpus, steps=8))
    still = {"learning_rate": 1e-30, "steps": 1}
    train(run_config(tmp_path / "second", lexicon_corpus, lexical=ALIGNED, init_from=baseline, **still))
    first, second = logged(tmp_path / "baseline", "dev")[-1], logged(tmp_path / "second", "dev")[-1]
    assert second["lexical.perplexity"] == first["lexical.perplexity"]


def test_a_plain_transformer_goes_on_from_an_assisted_one(lexicon_corpus: Path, tmp_path: Path) -> None:
    assisted = train(run_config(tmp_path / "assisted", lexicon_corpus, lexical=ALIGNED, steps=4))
    train(run_config(tmp_path / "plain", lexicon_corpus, init_from=assisted, learning_rate=1e-30, steps=1))
    plain = final_weights(tmp_path / "plain")
    heads = {name for name in read_weights(assisted) if name not in plain}
    assert heads
    assert all("alignment_heads" in name for name in heads)
    for name, weight in plain.items():
        np.testing.assert_allclose(weight, read_weights(assisted)[name], rtol=1e-6, err_msg=name)


def test_a_frozen_role_keeps_its_weights(lexicon_corpus: Path, tmp_path: Path) -> None:
    joint = {"lexical": ALIGNED, "alignment": JUMPS | {"encoder": "lexical"}}
    start = train(run_config(tmp_path / "lexical", lexicon_corpus, lexical=ALIGNED, steps=4))
    train(run_config(tmp_path / "joint", lexicon_corpus, **joint, init_from=start, freeze=["lexical"], steps=4))
    weights = final_weights(tmp_path / "joint")
    for name, weight in read_weights(start).items():
        assert np.array_equal(weights[name], weight), name
    assert any(name.startswith("alignment.") for name in weights)


def test_dev_bleu_comes_from_the_real_search(lexicon_corpus: Path, tmp_path: Path) -> None:
    train(run_config(tmp_path, lexicon_corpus, lexical=TRANSFORMER, steps=4, validate_every=2, bleu_every=4))
    first, second = logged(tmp_path, "dev")
    assert "bleu" not in first
    assert 0 <= second["bleu"] <= 100


@dataclass
class Rank:
    """One of several processes, without any collective to wait in."""

    global_rank: int
    world_size: int = 2


def test_dev_bleu_waits_for_a_slow_process_outside_of_collectives(lexicon_corpus: Path, tmp_path: Path) -> None:
    model = train(run_config(tmp_path, lexicon_corpus, steps=4))
    corpus = PreparedCorpus.open(lexicon_corpus)
    assert corpus.dev is not None

    def bleu(rank: Rank) -> float:
        assert corpus.dev is not None
        return dev_bleu(model, corpus.dev, "en", cast("Fabric", rank))

    with ThreadPoolExecutor() as pool:
        quick = pool.submit(bleu, Rank(0))
        with pytest.raises(TimeoutError):
            quick.result(timeout=1)
        assert pool.submit(bleu, Rank(1)).result() == quick.result() == bleu(Rank(0, 1))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_monitor_shows_figures(tmp_path: Path, is_terminal: bool) -> None:
    console = Console(force_terminal=is_terminal, record=True, width=160)
    with Monitor(tmp_path, 100, 0, console) as monitor:
        figures = {"lexical.perplexity": 12.34, "lexical.accuracy": 0.5}
        monitor.note_update(50, {"loss": 3.2, "tokens_per_second": 2500.0, "updates_per_second": 0.5, **figures})
        monitor.note_validation(50, {**figures, "bleu": 31.4}, is_best=True)
    shown = console.export_text()
    assert "loss 3.200" in shown
    assert "2.5k tokens/s" in shown
    assert "0:01:40 left" in shown
    assert "12.34" in shown
    assert "31.4" in shown
    assert "best" in shown


def test_the_model_says_how_the_corpus_was_written(tmp_path: Path) -> None:
    pairs = [("The Dog Sleeps.", "Der Hund Schläft."), ("The Cat Eats.", "Der Kater Frisst.")] * 20
    for side, name in enumerate(("en", "de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    bitext = {"source": tmp_path / "en", "target": tmp_path / "de"}
    settings = {
        "corpus": tmp_path / "corpus",
        "source_language": "en",
        "target_language": "de",
        "bitext": [bitext],
        "dev": bitext,
        "cleaning": {"lower_case": True},
        "subwords": {"vocabulary_size": 300},
        "aligner": {"kind": "none"},
    }
    corpus = Preparation(PrepareConfig.model_validate(settings), num_workers=1).run()
    assert corpus.source_encoding(corpus.train, 0).text == "the dog sleeps."
    model = load_model_folder(train(run_config(tmp_path / "run", corpus.folder, steps=2)))
    assert model.description.normalisation == NormalisationSettings(lower_case=True)
    assert model.normalise_source("The Dog") == "the dog"
