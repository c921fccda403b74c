"""The demonstration without a shipped model: everything from a bitext to translations, in about a minute.

The bitext is English sentences of a small grammar and their translation into an invented language that puts adjectives
after their noun and prepositions after their phrase. A lexical and an alignment model are trained on it together; then
held-out sentences are translated, with their links, and once more with a dictionary.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from alidade.config import TrainConfig
    from alidade.translation import Translator

NUM_TRAIN, NUM_DEV, NUM_SHOWN = 4000, 200, 3
SHAPE = {"width": 64, "feed_forward": 128, "heads": 4, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}


def train_and_translate(folder: Path, steps: int, console: Console) -> None:
    """Make the bitext, train on it and show what was learned; everything stays in the folder."""
    from alidade.text.synthetic import make_corpus, make_pairs
    from alidade.training.loop import train
    from alidade.translation import Translator

    console.print(f"[bold]1. A bitext[/] of {NUM_TRAIN:,} pairs in an invented language, for example:")
    pairs = make_pairs("lexicon", NUM_TRAIN + NUM_DEV)
    console.print(f"   {pairs[0].source}  →  {pairs[0].target}")
    corpus = make_corpus(folder / "corpus", pairs[:NUM_TRAIN], pairs[NUM_TRAIN:])

    console.print("[bold]2. Training[/] an alignment-assisted transformer and its alignment model")
    model = train(_settings(corpus.folder, folder / "run", steps))

    held_out = pairs[NUM_TRAIN:]
    translator = Translator(model)
    translations = translator.translate_all([pair.source for pair in held_out])
    num_right = sum(one.text == pair.target for one, pair in zip(translations, held_out, strict=True))
    console.print(f"[bold]3. Translating[/] {len(held_out)} sentences it has never seen: {num_right} exactly right")
    sentences = [pair.source for pair in held_out[:NUM_SHOWN]]
    _show(translator, sentences, None, console)

    term = _another_adjective(sentences[0])
    console.print(f"[bold]4. With a dictionary[/]: --term {term}")
    _show(translator, sentences[:1], term, console)
    console.print("[bold]Next[/]: train on your own bitext with `alidade prepare` and `alidade train`; see README.md.")


def _another_adjective(sentence: str) -> str:
    """A dictionary entry that gives the sentence's first adjective the translation of the next one in the lexicon."""
    from alidade.text.synthetic import ADJECTIVES, invented_words

    number = next((number for number, word in enumerate(ADJECTIVES) if f" {word} " in sentence), 0)
    wanted = ADJECTIVES[(number + 1) % len(ADJECTIVES)]
    return f"{ADJECTIVES[number]}={' '.join(invented_words()[wanted])}"


def _settings(corpus: Path, folder: Path, steps: int) -> TrainConfig:
    from alidade.config import TrainConfig

    training = {
        "corpus": corpus,
        "folder": folder,
        "steps": steps,
        "batch_tokens": 500,
        "learning_rate": 0.008,
        "warmup": 50,
        "label_smoothing": 0.0,
        "validate_every": max(1, steps // 4),
        "save_every": steps,
    }
    return TrainConfig.model_validate(
        {
            "lexical": SHAPE | {"kind": "transformer-aligned"},
            "alignment": SHAPE | {"kind": "transformer-jumps", "max_jump": 20},
            "training": training,
        }
    )


def _show(translator: Translator, sentences: list[str], term: str | None, console: Console) -> None:
    from alidade.dictionary.files import load_dictionary
    from alidade.evaluation.terminal import picture_of

    dictionary = None if term is None else load_dictionary((), [term])
    for translation in translator.translate_all(sentences, dictionary=dictionary, mode="require"):
        console.print(picture_of(translation), "", sep="\n")
