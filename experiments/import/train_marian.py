"""A release of Marian on image captions: what `alidade import` and the second stage then start from.

    python experiments/import/train_marian.py --pymarian /tmp/marian/bin/pymarian \\
        --data DATA/multi30k --folder RUNS/import/marian

Everything in it is Marian's own way: raw text, one sentencepiece model as the vocabulary of both sides, post-norm with
swish as OPUS-MT's models are, only smaller. `decoder.yml` is written last, so a folder that has it is complete.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import sentencepiece
import yaml

VOCABULARY_SIZE = 3000
SHAPE = {"dim-emb": 128, "transformer-dim-ffn": 256, "transformer-heads": 4, "enc-depth": 2, "dec-depth": 2}
TRAINING = """
--transformer-ffn-activation swish --transformer-dropout 0.1 --label-smoothing 0.1
--learn-rate 0.002 --lr-warmup 600 --lr-decay-inv-sqrt 600 --optimizer-params 0.9 0.98 1e-09 --clip-norm 1
--exponential-smoothing 0.001 --mini-batch 64 --maxi-batch 100 --max-length 80 --workspace 1500 --cpu-threads 1
--valid-freq 500 --valid-metrics perplexity --disp-freq 100 --save-freq 500 --seed 1 --overwrite --tied-embeddings-all
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pymarian", required=True, help="The program of the package pymarian.")
    parser.add_argument("--data", type=Path, required=True, help="Where train.en, train.de, dev.en and dev.de are.")
    parser.add_argument("--folder", type=Path, required=True, help="Where the release goes.")
    parser.add_argument("--updates", type=int, default=1900)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    data = arguments.data.absolute()
    learn_pieces([data / "train.en", data / "train.de"], arguments.folder / "vocab.spm")
    shape = [text for name, value in SHAPE.items() for text in (f"--{name}", str(value))]
    bitexts = [
        text
        for option, name in (("train", "train"), ("valid", "dev"))
        for text in (f"--{option}-sets", f"{data / name}.en", f"{data / name}.de")
    ]
    command = [arguments.pymarian, "train", "--type", "transformer", "--model", "model.npz", *shape, *TRAINING.split()]
    command += ["--vocabs", "vocab.spm", "vocab.spm", *bitexts, "--after-batches", str(arguments.updates)]
    subprocess.run(command, cwd=arguments.folder, check=True)
    decoder = {"models": ["model.npz"], "vocabs": ["vocab.spm"] * 2, "beam-size": 5, "normalize": 1}
    (arguments.folder / "decoder.yml").write_text(yaml.dump(decoder))


def learn_pieces(texts: list[Path], model: Path) -> None:
    """One sentencepiece model for both languages, numbered as Marian wants it: `</s>` 0 and `<unk>` 1."""
    sentencepiece.SentencePieceTrainer.train(
        input=[str(text) for text in texts],
        model_prefix=str(model.with_suffix("")),
        vocab_size=VOCABULARY_SIZE,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
    )
    model.with_suffix(".model").rename(model)
    model.with_suffix(".vocab").unlink()


if __name__ == "__main__":
    main()
