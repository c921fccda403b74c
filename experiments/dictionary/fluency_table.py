"""What a dictionary does to the shipped model's translations, all sets in one table.

    python experiments/dictionary/fluency_table.py DATA [--model FOLDER] [--skip 300] [--limit 300]

DATA has the sets as `tatoeba.en`, `tatoeba.ro` and so on. For each set the three dictionaries of `fluency.py`: one that
says nothing new, simulated entries, and their base forms, as they are and inflected.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import fluency

from alidade.translator import Translator

SETS = ("tatoeba", "rosts", "dev")
COLUMNS = (
    "sentences of",
    "entries",
    "used, placed in `suggest`",
    "in `require`",
    "repeated in `require`, beyond the source's own repeats",
    "without",
    "`suggest`",
    "`require`",
    "length of `require`, expected",
    "after the final mark, mark lost, capital lost, word twice in `require`",
)
Figures = dict[str, dict[str, float]]


def main() -> None:
    arguments = parse_arguments()
    translator = Translator(arguments.model)
    rows = [row for name in arguments.sets for row in measure_set(translator, name, arguments)]
    print(f"\n| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with the sets")
    parser.add_argument("--model", type=Path, help="a model folder; the shipped one if left out")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--skip", type=int, default=300, help="leave out the first so many sentences")
    parser.add_argument("--limit", type=int, default=300, help="only so many sentences")
    arguments = parser.parse_args()
    arguments.modes, arguments.show, arguments.output = fluency.MODES, 0, None
    return arguments


def measure_set(translator: Translator, name: str, arguments: argparse.Namespace) -> list[list[str]]:
    """A row for each kind of entries."""
    source, target = fluency.languages_of(translator)
    sources, references = [
        fluency.read_texts(arguments.data / f"{name}.{language}", arguments) for language in (source, target)
    ]
    print(f"\n{name}")
    plain = translator.translate_all(sources, protect=False)
    fluency.measure_no_op(translator, sources, plain, arguments.modes, 0)
    simulated = fluency.real_dictionary(None, translator, sources, references, plain)
    assert simulated is not None, "there are references"
    lemmas = fluency.dictionary_of_lemmas(simulated, (source, target))
    return [
        row_of(name + kind, fluency.measure_real(translator, sources, references, plain, dictionary, arguments))
        for kind, dictionary in (
            ("", simulated),
            (", base forms", lemmas),
            (", inflected", lemmas.inflected(source)),
        )
    ]


def row_of(name: str, figures: Figures) -> list[str]:
    suggest, require = figures["suggest"], figures["require"]
    damages = ("after_final_mark", "final_mark_lost", "capital_lost", "word_twice")
    return [
        f"`{name}`",
        f"{require['wanted']:.0f}",
        f"{suggest['used']:.1%}, {suggest['placed']:.1%}",
        f"{require['used']:.1%}, {require['placed']:.1%}",
        f"{require['repeated']:.1%}, {require['repeated_beyond_source']:.1%}",
        *[f"{row['BLEU']:.1f}, {row['TER']:.1f}" for row in (figures["without"], suggest, require)],
        f"{require['length']:.3f}, {require['expected length']:.3f}",
        ", ".join([f"{require[damage]:.0f}" for damage in damages]),
    ]


if __name__ == "__main__":
    main()
