"""Models as other programs leave them: sentencepiece's of running text, and small releases of Marian."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sentencepiece
import yaml

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


D, F, H = 16, 24, 4
Arrays = dict[str, npt.NDArray[Any]]
OPTIONS: dict[str, object] = {
    "type": "transformer",
    "dim-emb": D,
    "transformer-dim-ffn": F,
    "transformer-heads": H,
    "enc-depth": 2,
    "dec-depth": 1,
    "transformer-ffn-activation": "swish",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "tied-embeddings-all": True,
    "input-types": [],
}
PRE_NORM: dict[str, object] = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
    "transformer-ffn-activation": "relu",
}


def random_weights(num_pieces: int, *, pre_norm: bool = False) -> Arrays:
    """All weights of such a model under Marian's names."""
    random = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {"Wemb": (num_pieces, D), "decoder_ff_logit_out_b": (1, num_pieces)}
    suffix = "_pre" if pre_norm else ""
    for stack, depth in (("encoder", 2), ("decoder", 1)):
        for layer in range(1, depth + 1):
            prefix = f"{stack}_l{layer}"
            for attention in ("self", "context") if stack == "decoder" else ("self",):
                for letter in "qkvo":
                    shapes[f"{prefix}_{attention}_W{letter}"] = (D, D)
                    shapes[f"{prefix}_{attention}_b{letter}"] = (1, D)
                for part in ("scale", "bias"):
                    shapes[f"{prefix}_{attention}_Wo_ln_{part}{suffix}"] = (1, D)
            shapes |= {f"{prefix}_ffn_W1": (D, F), f"{prefix}_ffn_b1": (1, F)}
            shapes |= {f"{prefix}_ffn_W2": (F, D), f"{prefix}_ffn_b2": (1, D)}
            for part in ("scale", "bias"):
                shapes[f"{prefix}_ffn_ffn_ln_{part}{suffix}"] = (1, D)
        if pre_norm:
            shapes |= {f"{stack}_top_ln_{part}": (1, D) for part in ("scale", "bias")}
    return {name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def make_release(
    folder: Path, options: dict[str, object] | None = None, more: Arrays | None = None, *, pre_norm: bool = False
) -> Path:
    """A release as OPUS-MT publishes them."""
    folder.mkdir()
    models = [learn_pieces(folder / f"{side}.spm", language) for side, language in (("source", "en"), ("target", "de"))]
    both = dict.fromkeys(piece for model in models for piece in pieces_of(model) if piece[0] != "<")
    pieces = ["</s>", "<unk>", *sorted(both), "no", "null", "~", "1"]
    pieces = list(dict.fromkeys(pieces))
    lines = [f"{json.dumps(piece)}: {number}\n" for number, piece in enumerate(pieces)]
    (folder / "opus.vocab.yml").write_text("".join(lines))
    text = yaml.dump(OPTIONS | (PRE_NORM if pre_norm else {}) | (options or {})).encode() + b"\0\0\0"
    weights = random_weights(len(pieces), pre_norm=pre_norm) | (more or {})
    everything: dict[str, Any] = weights | {"special:model.yml": np.frombuffer(text, dtype=np.int8)}
    np.savez(folder / "opus.npz", **everything)
    decoder = {"models": ["opus.npz"], "vocabs": ["opus.vocab.yml"] * 2, "beam-size": 6, "normalize": 0.6}
    (folder / "decoder.yml").write_text(yaml.dump(decoder))
    (folder / "preprocess.sh").write_text("touch ran\nnormalize-punctuation.perl -l $1 | spm_encode --model $2\n")
    return folder
