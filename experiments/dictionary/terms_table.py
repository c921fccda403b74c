"""What a dictionary does to systems: the paper's table 4, with more columns and with `require`.

A simulated dictionary (paper, section 7), made from what the first system's own translation lacks:

    python experiments/dictionary/terms_table.py \\
        transformer=RUNS/multi30k/transformer/model assisted=RUNS/multi30k/system \\
        --source dev.en --reference dev.de --corpus RUNS/multi30k/corpus

or Dinu et al.'s term lists, on the lines that have a term, as in their paper:

    python experiments/dictionary/terms_table.py transformer=... assisted=... \\
        --source newstest2017.en --reference newstest2017.de --sentence-terms wikt.727.terminology.tsv

Prints a Markdown table; with --output, writes the dictionary and all translations. What a dictionary costs is the
processor time of one thread (so other work on the machine hardly disturbs it), ways taking turns, medians of --repeats;
without repeats that column stays empty. With --record NAME it is kept as experiments/results/speed/NAME.json.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from alidade.corpus.links import align_like_corpus
from alidade.corpus.store import PreparedCorpus
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.files import load_dictionary, read_sentence_terms, write_entries
from alidade.dictionary.matching import find_occurrences
from alidade.dictionary.simulation import ReferencePair, simulate_dictionary
from alidade.errors import AlidadeError
from alidade.evaluation.terms import TermRun, evaluate_terms, translate_in_mode
from alidade.io import read_lines, write_aside
from alidade.text.normalise import normalise_as_set, normalise_text
from alidade.text.words import split_words
from alidade.translator import Mode, Translator

MODES: tuple[Mode | None, ...] = (None, "suggest", "require")


@dataclass(frozen=True)
class Task:
    """Sentences, their references and what a user wants in them."""

    sources: list[str]
    references: list[str]
    dictionary: Dictionary

    def where_entries_are(self, language: str) -> Task:
        """The same, without the sentences in which no entry occurs."""
        kept = [
            number
            for number, text in enumerate(self.sources, start=1)
            if find_occurrences(self.dictionary, text, split_words(text, language), number)
        ]
        new_number = {old: new for new, old in enumerate(kept, start=1)}
        entries = [
            entry if entry.sentence is None else replace(entry, sentence=new_number[entry.sentence])
            for entry in self.dictionary.entries
            if entry.sentence is None or entry.sentence in new_number
        ]
        return Task(
            [self.sources[number - 1] for number in kept],
            [self.references[number - 1] for number in kept],
            Dictionary(entries),
        )


def main() -> None:
    arguments = parse_arguments()
    systems = dict(map(load_system, arguments.systems))
    task = read_task(arguments, list(systems.values()))
    print_heading(task)
    costs_of = {}
    for name, translator in systems.items():
        runs = evaluate_terms(translator, task.sources, task.references, task.dictionary, MODES)
        costs_of[name] = measure_costs(translator, task, arguments.repeats)
        for run in runs:
            print_row(name, run, runs[0], costs_of[name].get(run.mode))
        if arguments.output is not None:
            write_translations(arguments.output / name, runs)
    if arguments.output is not None:
        write_entries(arguments.output / "dictionary.tsv", task.dictionary.entries)
    if arguments.record is not None:
        keep(arguments.record, costs_of, len(task.sources))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="+", metavar="NAME=FOLDER", help="model folders, the baseline first")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--corpus", type=Path, help="simulate a dictionary, aligning with what was learned here")
    wanted.add_argument("--dictionary", type=Path, help="a TSV, CSV or TBX file")
    wanted.add_argument("--sentence-terms", type=Path, help="a term list of single sentences (Dinu et al. 2019)")
    parser.add_argument("--lacked-by-all", action="store_true", help="simulate it from what no system has translated")
    parser.add_argument("--sentences", type=int, help="only the first so many")
    parser.add_argument("--repeats", type=int, default=0, help="how often each way is timed")
    parser.add_argument("--record", metavar="NAME", help="keep what a dictionary costs; needs --repeats")
    parser.add_argument("--output", type=Path, help="a folder for the dictionary and the translations")
    return parser.parse_args()


def load_system(text: str) -> tuple[str, Translator]:
    name, equals, folder = text.partition("=")
    if not equals:
        raise AlidadeError(f"{text}: name a system as NAME=FOLDER, for example assisted=runs/system")
    return name, Translator(Path(folder), threads=1)


def read_task(arguments: argparse.Namespace, systems: list[Translator]) -> Task:
    sources, references = (
        [normalise_text(line) for line in read_lines(path)][: arguments.sentences]
        for path in (arguments.source, arguments.reference)
    )
    if len(sources) != len(references):
        raise AlidadeError(f"{arguments.source} and {arguments.reference} have different numbers of lines")
    if arguments.corpus is not None:
        lacking = systems if arguments.lacked_by_all else systems[:1]
        return Task(sources, references, simulate(sources, references, arguments.corpus, lacking))
    if arguments.dictionary is not None:
        return Task(sources, references, load_dictionary([arguments.dictionary]))
    terms = [entry for entry in read_sentence_terms(arguments.sentence_terms) if (entry.sentence or 0) <= len(sources)]
    return Task(sources, references, Dictionary(terms)).where_entries_are(language_of(systems[0]))


def simulate(sources: list[str], references: list[str], corpus: Path, systems: list[Translator]) -> Dictionary:
    """A dictionary of reference words that these systems' translations lack."""
    opened = PreparedCorpus.open(corpus)
    model = systems[0].model
    source, target = model.source_subwords.language, model.target_subwords.language
    translated = [system.translate_all(sources, with_links=False, protect=False) for system in systems]
    texts = [" ".join([translation.text for translation in by_all]) for by_all in zip(*translated, strict=True)]
    normalise = functools.partial(normalise_as_set, settings=opened.normalisation)  # what systems write is, too
    sources = [normalise(text, source) for text in sources]
    references, texts = ([normalise(text, target) for text in of_target] for of_target in (references, texts))
    alignments = align_like_corpus(opened, list(zip(sources, references, strict=True)))
    pairs = map(ReferencePair, sources, references, alignments, texts)
    simulated = simulate_dictionary(pairs, source, target)
    print(f"{simulated}\n")
    return Dictionary(simulated.entries)


def language_of(translator: Translator) -> str:
    return translator.model.source_subwords.language


def measure_costs(translator: Translator, task: Task, repeats: int) -> dict[Mode | None, float]:
    """For each way, the share of the speed without a dictionary that it costs."""
    if not repeats:
        return {}
    seconds: dict[Mode | None, list[float]] = {mode: [] for mode in MODES}
    for _ in range(repeats):
        for mode in MODES:
            start = time.process_time()
            translate_in_mode(translator, task.sources, task.dictionary, mode)
            seconds[mode].append(time.process_time() - start)
    return {mode: 1 - statistics.median(seconds[None]) / statistics.median(seconds[mode]) for mode in MODES}


def keep(name: str, costs_of: dict[str, dict[Mode | None, float]], num_sentences: int) -> None:
    """Write the result file."""
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    from runner.results import WITH_TERMS, record

    figures = {name: {str(mode): cost for mode, cost in costs.items() if mode} for name, costs in costs_of.items()}
    note = f"share of the speed without a dictionary that it costs, one thread, {num_sentences} sentences"
    record(f"speed/{name}", figures, depends_on=WITH_TERMS, note=note)


def print_heading(task: Task) -> None:
    print(f"{len(task.sources)} sentences, {len(task.dictionary)} entries\n", flush=True)
    columns = ["system", "mode", "used", "stem", "placed", "repeated", "length", "BLEU", "gain", "TER", "chrF", "cost"]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")


def print_row(name: str, run: TermRun, without: TermRun, cost: float | None) -> None:
    """One line of the table."""
    terms = run.terms
    shares = [f"{terms.share(count):.1%}" for count in (terms.used, terms.used_stem, terms.placed, terms.repeated)]
    bleu, ter, chrf = (score.value for score in run.scores)
    gain = "" if run is without else f"{bleu - without.scores[0].value:+.1f}"
    costs = "" if cost is None or run is without else f"{cost:.0%}"
    figures = [f"{terms.length_ratio:.3f}", f"{bleu:.1f}", gain, f"{ter:.1f}", f"{chrf:.1f}", costs]
    print(f"| {' | '.join([name, run.mode or 'none', *shares, *figures])} |", flush=True)


def write_translations(folder: Path, runs: Sequence[TermRun]) -> None:
    for run in runs:
        with write_aside(folder / f"{run.mode or 'none'}.txt") as file:
            file.writelines([f"{translation.text}\n" for translation in run.translations])


if __name__ == "__main__":
    main()
