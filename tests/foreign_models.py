"""Sentencepiece models as other programs learn them: on running text, with sentencepiece's own defaults."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import sentencepiece

WORDS = {
    "en": "the a man woman child house garden sees finds opens door window small old red and in with no! yes, it's",
    "de": "der die ein Mann Frau Kind Haus Garten sieht findet öffnet Tür Fenster klein alt rot und in mit nein! ja,",
}


def sentences(language: str, number: int, seed: int = 1) -> list[str]:
    """Sentences of a few words, with commas and full stops."""
    chance = random.Random(seed)

    def clause() -> str:
        return " ".join(chance.choices(WORDS[language].split(), k=chance.randint(2, 5)))

    return [
        ", ".join(clause() for _ in range(chance.randint(1, 2))) + chance.choice([".", "!", "?"]) for _ in range(number)
    ]


def learn_pieces(path: Path, language: str, *, kind: str = "unigram", size: int = 90, **options: Any) -> Path:
    """A sentencepiece model with `<unk>`, `<s>` and `</s>` where sentencepiece puts them by default."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(language, 400)),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        split_by_whitespace=True,
        split_by_unicode_script=False,  # so that a piece may hold a word and its comma
        **options,
    )
    path.write_bytes(model.getvalue())
    return path


def segments(path: Path, text: str) -> list[str]:
    """A text as the model itself segments it."""
    pieces: list[str] = sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(text, out_type=str)
    return pieces


def pieces_of(path: Path) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [processor.id_to_piece(number) for number in range(len(processor))]
