"""Marian itself as the witness of `alidade import`: models trained by it score and translate the same here.

    python -m venv /tmp/marian && /tmp/marian/bin/pip install pymarian      # 1 GB
    python experiments/import/witness.py --pymarian /tmp/marian/bin/pymarian --folder /tmp/witness

Two models learn a made-up language: post-norm with swish, as OPUS-MT's are, and pre-norm with relu. 200 lines that they
have not seen are scored and translated by Marian and by the imported model. Sentence scores must agree to 1e-3, and
translations (beam 5) on 99 % of the lines. The other position rates, Hugging Face's, are tried as well: how far they
are off shows that the comparison sees them.

Marian's search is asked whether it believes in its own scorer, too: with pre-norm it does not (pymarian 1.12.42 gives
the same translation one score when it writes it and another when it scores it), so there CTranslate2 is the witness of
translations: it converts the same weights by its own code, and is given Marian's position rates.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import ctranslate2
import numpy as np
import sentencepiece
import yaml

from alidade.aligner import score
from alidade.exchange.importing import import_model
from alidade.io import read_json, write_json
from alidade.models.layers import position_encodings
from alidade.translator import Translator

NUM_TRAINING, NUM_TEST = 4000, 200
OPTIONS = {
    "post-norm, swish": ["--transformer-ffn-activation", "swish"],
    "pre-norm, relu": [
        *("--transformer-ffn-activation", "relu", "--transformer-preprocess", "n", "--transformer-postprocess", "da"),
        *("--transformer-postprocess-top", "n"),
    ],
}
STOPPING: tuple[Literal["shrinking"], Literal["finished"]] = ("shrinking", "finished")
"""When Marian stops, and when CTranslate2 does."""
SHAPE = {"dim-emb": 64, "transformer-dim-ffn": 128, "transformer-heads": 4, "enc-depth": 2, "dec-depth": 2}


def make_bitext(number: int) -> list[tuple[str, str]]:
    """Sentences of a made-up language, and their translations: word for word, in pairs that change places."""
    chance = random.Random(1)
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprst", "aeiou")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(150)]
    translations = {word: "".join(chance.choices(syllables, k=chance.randint(1, 3))) for word in words}
    pairs = []
    for _ in range(number):
        source = chance.choices(words, k=chance.randint(3, 30))
        target = [translations[word] for word in source]
        for place in range(0, len(target) - 1, 3):
            target[place], target[place + 1] = target[place + 1], target[place]
        pairs.append((f"{' '.join(source)}.", f"{' '.join(target)}."))
    return pairs


@dataclass
class Release:
    """A toy release in the making."""

    folder: Path
    pymarian: str

    def marian(self, *arguments: str, standard_input: str = "") -> str:
        command = [self.pymarian, *arguments, "--quiet", "--cpu-threads", "1"]
        return subprocess.run(
            command, cwd=self.folder, input=standard_input, capture_output=True, text=True, check=True
        ).stdout

    def write(self, name: str, lines: list[str]) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def learn_pieces(self, side: str, lines: list[str]) -> sentencepiece.SentencePieceProcessor:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=300, hard_vocab_limit=False, minloglevel=2
        )
        (self.folder / f"{side}.spm").write_bytes(model.getvalue())
        return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def train(release: Release, options: list[str], pairs: list[tuple[str, str]], updates: int) -> list[list[str]]:
    """A release of a trained model; returns both sides of the test lines in pieces."""
    sides = []
    pieces: dict[str, None] = {}
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        processor = release.learn_pieces(side, list(lines))
        pieces |= dict.fromkeys(processor.id_to_piece(number) for number in range(3, len(processor)))
        segmented = [" ".join(processor.encode(line, out_type=str)) for line in lines]
        release.write(f"train.{side}", segmented[:-NUM_TEST])
        release.write(f"test.{side}", segmented[-NUM_TEST:])
        sides.append(segmented[-NUM_TEST:])
    vocabulary = ["</s>", "<unk>", *pieces]
    release.write(
        "vocab.yml", [f"{json.dumps(piece, ensure_ascii=False)}: {number}" for number, piece in enumerate(vocabulary)]
    )
    shape = [text for name, value in SHAPE.items() for text in (f"--{name}", str(value))]
    release.marian(
        *("train", "--type", "transformer", "--model", "model.npz", "--train-sets", "train.source", "train.target"),
        *("--vocabs", "vocab.yml", "vocab.yml", "--tied-embeddings-all", *shape, *options),
        *("--after-batches", str(updates), "--learn-rate", "0.002", "--lr-warmup", "200", "--mini-batch", "32"),
        *("--workspace", "512", "--seed", "1", "--disp-freq", "500", "--save-freq", "1000000"),
    )
    decoder = {"models": ["model.npz"], "vocabs": ["vocab.yml"] * 2, "beam-size": 5, "normalize": 1}
    (release.folder / "decoder.yml").write_text(yaml.dump(decoder))
    return sides


def compare(release: Release, imported: Path, sides: list[list[str]], pairs: list[tuple[str, str]]) -> dict[str, float]:
    """How far scores are apart, and how many translations are the same."""
    common = ("--workspace", "512", "--vocabs", "vocab.yml", "vocab.yml")
    scoring = ("score", "--model", "model.npz", *common, "--train-sets", "test.source")
    scores = [float(line) for line in release.marian(*scoring, "test.target").split()]
    best = read_best(
        release.marian(
            *("decode", "--models", "model.npz", "--beam-size", "5", "--normalize", "1", "--n-best", *common),
            standard_input="".join(f"{line}\n" for line in sides[0]),
        )
    )
    written = [text for text, _ in best]
    release.write("written.target", written)
    scored_again = [float(line) for line in release.marian(*scoring, "written.target").split()]
    sources = [source for source, _ in pairs]
    translator, stopping_as_ctranslate2 = (
        Translator(imported, precision="float32", threads=1, stopping=stopping) for stopping in STOPPING
    )
    ours = [sum(one.lexical_logp) for one in score(pairs, translator)]
    translations, others = (
        [" ".join(found.target.pieces) for found in one.translate_all(sources, protect=False, with_links=False)]
        for one in (translator, stopping_as_ctranslate2)
    )
    return {
        "largest difference of scores": max(abs(a - b) for a, b in zip(ours, scores, strict=True)),
        "mean score": sum(scores) / len(scores),
        "same translations": share_equal(translations, written),
        "same translations, CTranslate2": share_equal(others, translate_by_ctranslate2(release, sides[0])),
        "right translations, ours": share_equal(translations, sides[1]),
        "right translations, Marian's": share_equal(written, sides[1]),
        "largest difference of Marian's search from its scorer": max(
            abs(a - b) for (_, a), b in zip(best, scored_again, strict=True)
        ),
    }


def translate_by_ctranslate2(release: Release, sources: list[str]) -> list[str]:
    """The translations of CTranslate2, converted from Marian's file, with the beam that ours has."""
    converted, copy = release.folder / "ctranslate2", release.folder / "copy.npz"
    weights = dict(np.load(release.folder / "model.npz"))
    options = weights["special:model.yml"].tobytes().rstrip(b"\0") + b"\0"  # its converter knows of one NUL
    np.savez(copy, **weights | {"special:model.yml": np.frombuffer(options, dtype=np.int8)})
    MarianRates(str(copy), [str(release.folder / "vocab.yml")] * 2).convert(str(converted), force=True)
    copy.unlink()
    results = ctranslate2.Translator(str(converted), intra_threads=1).translate_batch(
        [line.split() for line in sources],
        beam_size=5,
        length_penalty=1,
        max_decoding_length=100,
        return_end_token=True,  # so that `</s>` counts in the length, as it does in Marian and here
        disable_unk=True,
    )
    return [" ".join(result.hypotheses[0]).removesuffix(" </s>") for result in results]


class MarianRates(ctranslate2.converters.MarianConverter):  # type: ignore[misc]  # the package has no types
    """CTranslate2's converter, which places words as Hugging Face does, with Marian's places instead."""

    def _load(self) -> Any:
        spec = super()._load()
        for stack in (spec.encoder, spec.decoder):
            stack.position_encodings.encodings = position_encodings(2048, SHAPE["dim-emb"], "marian").numpy()
        return spec


def read_best(lists: str) -> list[tuple[str, float]]:
    """The first translation of each n-best list, and its score: `0 ||| pieces ||| F0= -1.5 ||| -0.3`."""
    best: dict[str, tuple[str, float]] = {}
    for line in lists.splitlines():
        number, text, feature, _ = line.split(" ||| ")
        best.setdefault(number, (text, float(feature.split()[1])))
    return list(best.values())


def share_equal(ones: list[str], others: list[str]) -> float:
    return sum(one == other for one, other in zip(ones, others, strict=True)) / len(ones)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pymarian", required=True, help="The program of the package pymarian.")
    parser.add_argument("--folder", type=Path, required=True, help="Where the toy models go; what is there is lost.")
    parser.add_argument("--updates", type=int, default=1000)
    arguments = parser.parse_args()
    pairs = make_bitext(NUM_TRAINING + NUM_TEST)
    is_right = True
    for number, (name, options) in enumerate(OPTIONS.items()):
        folder = arguments.folder / f"model{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        release = Release(folder, arguments.pymarian)
        sides = train(release, options, pairs, arguments.updates)
        imported = folder / "imported"
        import_model(folder, imported, source_language="xx", target_language="yy")
        found = compare(release, imported, sides, pairs[-NUM_TEST:])
        is_consistent = found["largest difference of Marian's search from its scorer"] < 1e-2
        is_right &= found["largest difference of scores"] < 1e-3
        is_right &= found["same translations" if is_consistent else "same translations, CTranslate2"] >= 0.99
        description = read_json(imported / "model.json")
        description["lexical"]["position_rates"] = "original"
        write_json(imported / "model.json", description)
        other = compare(release, imported, sides, pairs[-NUM_TEST:])
        print(json.dumps({"model": name, **found, "with the original position rates": other}, indent=1))
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
