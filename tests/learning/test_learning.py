"""All six models learn what they are made for: copy, reverse and a lexicon with local reordering.

A system is trained through the real loop, on one thread, for some ten seconds of processor time. Then it must
predict the words and the jumps of held-out pairs, translate held-out sentences through the real search, and, if it
is assisted, link their words as the pairs were made.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from alidade.aligner import align
from alidade.config import TrainConfig
from alidade.corpus.synthetic import SyntheticPair, Task, make_corpus, make_pairs
from alidade.training.loop import train
from alidade.translation import Translation
from alidade.translator import Translator

TRANSFORMER = {
    "kind": "transformer",
    "width": 64,
    "feed_forward": 128,
    "heads": 4,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
    "tied_embeddings": "none",
}
RNN = {"kind": "rnn", "embedding": 64, "width": 64, "attention": 64, "dropout": 0.0}
SYSTEMS = {
    "transformer": {"lexical": TRANSFORMER},
    "transformer-aligned": {
        "lexical": TRANSFORMER | {"kind": "transformer-aligned"},
        "alignment": TRANSFORMER | {"kind": "transformer-jumps", "max_jump": 20},
    },
    "rnn": {"lexical": RNN},
    "rnn-biased": {
        "lexical": RNN | {"kind": "rnn-biased"},
        "alignment": {"kind": "rnn-jumps", "embedding": 64, "width": 64, "dropout": 0.0, "max_jump": 20},
    },
}
STEPS: dict[Task, int] = {"copy": 300, "reverse": 800, "lexicon": 300}
"""To reverse, a model must learn to count: the first jump leads to the last word."""
NUM_TRAIN, NUM_DEV, NUM_TRANSLATED = 4000, 200, 50


class Material(NamedTuple):
    """A prepared corpus and pairs that it does not train on."""

    corpus: Path
    held_out: list[SyntheticPair]


@pytest.fixture(scope="session", params=STEPS)
def task(request: pytest.FixtureRequest) -> Task:
    task: Task = request.param
    return task


@pytest.fixture(scope="session")
def material(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Material:
    pairs = make_pairs(task, NUM_TRAIN + NUM_DEV, max_words=5)
    corpus = make_corpus(tmp_path_factory.mktemp(task), pairs[:NUM_TRAIN], pairs[NUM_TRAIN:])
    return Material(corpus.folder, pairs[NUM_TRAIN:][:NUM_TRANSLATED])


@pytest.mark.parametrize("system", SYSTEMS)
def test_learns(system: str, task: Task, material: Material, tmp_path: Path) -> None:
    training = {
        "corpus": material.corpus,
        "folder": tmp_path,
        "steps": STEPS[task],
        "batch_tokens": 500,
        "learning_rate": 0.008,
        "warmup": 50,
        "label_smoothing": 0.0,
        "validate_every": STEPS[task] // 4,
        "save_every": STEPS[task],
        "threads": 1,
    }
    model = train(TrainConfig.model_validate({**SYSTEMS[system], "training": training}), Console(quiet=True))
    figures = json.loads((tmp_path / "result.json").read_text())
    for role in SYSTEMS[system]:
        assert figures[f"{role}.accuracy"] > 0.95

    translator = Translator(model, beam_size=3)
    translations = translator.translate_all(pair.source for pair in material.held_out)
    is_right = [t.text == pair.target for t, pair in zip(translations, material.held_out, strict=True)]
    assert sum(is_right) >= 0.9 * len(is_right)
    if translator.is_assisted:
        are_linked = [t.alignment == pair.alignment for t, pair in zip(translations, material.held_out, strict=True)]
        assert sum(are_linked) >= 0.9 * len(are_linked)
        check_forced_alignment(translator, task, material.held_out, translations)


def check_forced_alignment(
    translator: Translator, task: Task, held_out: list[SyntheticPair], translations: list[Translation]
) -> None:
    """Copies align to the diagonal, reversals to the anti-diagonal, a translation as the search aligned it."""
    aligned = align([(pair.source, pair.target) for pair in held_out], translator)
    if task != "lexicon":
        found = [set(one.alignment or ()) & set(pair.alignment) for one, pair in zip(aligned, held_out, strict=True)]
        assert sum(map(len, found)) >= 0.99 * sum([len(pair.alignment) for pair in held_out])
    pairs = [(translation.source.text, translation.text) for translation in translations]
    again = align(pairs, translator, by="path")
    are_equal = [one.alignment == other.alignment for one, other in zip(again, translations, strict=True)]
    assert sum(are_equal) >= 0.98 * len(are_equal), "up to ties"
