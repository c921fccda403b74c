"""Short sentences with one term each: does the verb survive?

    python experiments/dictionary/short_sentences.py [--inflect] [--show]

`short_sentences.tsv` has forty English sentences of software and of every day, a term, its translation, and how
Romanian verbs that would do begin. They were written before any of them was translated. Counted are the translations
that have the term (in any of its forms with --inflect), that have the verb, and both, for each mode.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from alidade.dictionary.entries import Dictionary, make_entry
from alidade.translation import Translation
from alidade.translator import Mode, Translator

MODES: tuple[Mode | None, ...] = (None, "suggest", "require")


@dataclass(frozen=True)
class Case:
    """A sentence and what is expected of its translation."""

    sentence: str
    term: str
    translation: str
    verb: str
    """The first letters of verbs that would do, with `|` between them."""

    def has_verb(self, translation: Translation) -> bool:
        stems = tuple(self.verb.split("|"))
        return any(word.text.casefold().startswith(stems) for word in translation.target.words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model folder; the shipped one if left out")
    parser.add_argument("--inflect", action="store_true", help="the terms inflect")
    parser.add_argument("--show", action="store_true", help="print all translations")
    arguments = parser.parse_args()
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8", newline="") as file:
        cases = [Case(**row) for row in csv.DictReader(file, delimiter="\t")]
    measure(Translator(arguments.model), cases, does_inflect=arguments.inflect, shows=arguments.show)


def measure(translator: Translator, cases: Sequence[Case], *, does_inflect: bool, shows: bool) -> None:
    dictionary = Dictionary(
        [make_entry(case.term, [case.translation], sentence=number) for number, case in enumerate(cases, start=1)]
    )
    if does_inflect:
        dictionary = dictionary.inflected(translator.languages[0])
    print("| mode | term | verb | both | words |\n| --- | --- | --- | --- | --- |")
    columns = []
    for mode in MODES:
        given = translator.translate_all(
            [case.sentence for case in cases],
            dictionary=None if mode is None else dictionary,
            mode=mode or "suggest",
            with_links=False,
        )
        has_term = [bool(one.uses) for one in given]
        has_verb = [case.has_verb(one) for case, one in zip(cases, given, strict=True)]
        num_both = sum([term and verb for term, verb in zip(has_term, has_verb, strict=True)])
        num_words = sum([len(one.target.words) for one in given])
        print(f"| {mode or 'without'} | {sum(has_term)} | {sum(has_verb)} | {num_both} | {num_words} |")
        columns.append([f"{'' if verb else '!'}{one.text}" for one, verb in zip(given, has_verb, strict=True)])
    for case, *texts in zip(cases, *columns, strict=True) if shows else ():
        print(f"{case.sentence} ({case.term} = {case.translation})\t" + "\t".join(texts))


if __name__ == "__main__":
    main()
