"""Shortlists: BLEU and processor time with none, one for each sentence, and one for each position.

    alidade shortlist --corpus CORPUS --model MODEL
    python experiments/shortlist.py MODEL SOURCE REFERENCE

One thread; seconds are the processor's, so that others may work on the machine, too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch

from alidade.evaluation.translations import corpus_bleu
from alidade.files import read_lines
from alidade.models.folder import load_model_folder
from alidade.translation import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--sentences", type=int, help="only the first ones")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sources = list(read_lines(arguments.source))[: arguments.sentences]
    references = list(read_lines(arguments.reference))[: arguments.sentences]
    model = load_model_folder(arguments.model)
    whole = Translator(model, batch_size=arguments.batch_size, shortlist="none")
    translators = {
        shortlist: Translator(model, batch_size=arguments.batch_size, shortlist=shortlist)
        for shortlist in (("none", "sentence", "position") if whole.is_assisted else ("none", "sentence"))
    }
    whole.translate_all(sources[:32], with_links=False)  # warm up
    seconds: dict[str, list[float]] = {name: [] for name in translators}
    texts: dict[str, list[str]] = {}
    for _ in range(arguments.repeats):
        for name, translator in translators.items():
            start = time.process_time()
            translations = translator.translate_all(sources, with_links=False)
            seconds[name].append(time.process_time() - start)
            texts[name] = [translation.text for translation in translations]
    print("| shortlist | seconds | speed-up | BLEU | same translations |")
    print("| --- | --- | --- | --- | --- |")
    for name in translators:
        same = sum(one == other for one, other in zip(texts[name], texts["none"], strict=True)) / len(sources)
        median = statistics.median(seconds[name])
        print(
            f"| {name} | {median:.1f} | {statistics.median(seconds['none']) / median:.2f} "
            f"| {corpus_bleu(texts[name], references).value:.2f} | {same:.1%} |"
        )


if __name__ == "__main__":
    main()
