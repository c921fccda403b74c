"""What a dictionary does to a system: translate with and without it, and compare.

Each way is timed over the same sentences, the ways taking turns, so that a machine that is busy for a while slows
all of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.box import SIMPLE
from rich.table import Table

from alidade.alignment.links import Alignment
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.matching import Match, find_matches
from alidade.evaluation.terms import TermCase, TermScore, WantedTerm, score_terms
from alidade.evaluation.translations import Score, Tokenisation, score_translations
from alidade.search.dictionary_constraints import Mode
from alidade.text.words import split_words
from alidade.translated import Translation
from alidade.translation import Translator


@dataclass(frozen=True, slots=True)
class TermRun:
    """One way to translate, and what came of it."""

    mode: Mode | None
    """None: without the dictionary."""
    translations: tuple[Translation, ...]
    terms: TermScore
    scores: tuple[Score, ...]
    """BLEU, TER and chrF."""
    sentences_per_second: float


def evaluate_terms(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    dictionary: Dictionary,
    modes: Sequence[Mode | None] = (None, "suggest", "require"),
    *,
    lower_case: bool = True,
    tokenisation: Tokenisation = "13a",
    repeats: int = 1,
) -> list[TermRun]:
    """Translate in each mode and judge the translations; lower_case: ignore case in BLEU, TER and chrF."""
    seconds: dict[Mode | None, list[float]] = {mode: [] for mode in modes}
    translations: dict[Mode | None, list[Translation]] = {}
    for _ in range(repeats):
        for mode in modes:
            start = time.perf_counter()
            translations[mode] = translate_in_mode(translator, sources, dictionary, mode)
            seconds[mode].append(time.perf_counter() - start)
    runs = []
    for mode in modes:
        linked = translator.link(translations[mode])
        terms = score_terms(_cases(translator, linked, references, dictionary))
        texts = [translation.text for translation in linked]
        scores = score_translations(texts, [references], lower_case=lower_case, tokenisation=tokenisation)
        runs.append(TermRun(mode, tuple(linked), terms, tuple(scores), len(sources) / median(seconds[mode])))
    return runs


def table_of_runs(runs: Sequence[TermRun]) -> Table:
    """The runs for a person to compare."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))  # fits into 80 columns
    names = [score.name for score in runs[0].scores]
    for heading in ("dictionary", "used", "stem", "placed", "repeated", *names, "length", "sent./s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        terms = run.terms
        shares = [terms.share(count) for count in (terms.used, terms.used_stem, terms.placed, terms.repeated)]
        table.add_row(
            run.mode or "without",
            *[f"{share:.1%}" for share in shares],
            *[f"{score.value:.1f}" for score in run.scores],
            f"{terms.length_ratio:.3f}",
            f"{run.sentences_per_second:.1f}",
        )
    return table


def translate_in_mode(
    translator: Translator, sources: Sequence[str], dictionary: Dictionary, mode: Mode | None
) -> list[Translation]:
    """Translate with the dictionary in this mode, or without it; the translations have no links yet."""
    if mode is None:
        return translator.translate_all(sources, with_links=False)
    return translator.translate_all(sources, dictionary=dictionary, mode=mode, with_links=False)


def _cases(
    translator: Translator, translations: Sequence[Translation], references: Sequence[str], dictionary: Dictionary
) -> list[TermCase]:
    subwords = translator.model.target_subwords
    dictionary = translator.normalise_dictionary(dictionary)
    cases = []
    for number, (result, reference) in enumerate(zip(translations, references, strict=True), start=1):
        matches = find_matches(dictionary, result.source, subwords, number)
        cases.append(
            TermCase(
                [wanted_term(match, subwords.language) for match in matches],
                [word.text for word in result.target.words],
                result.alignment or Alignment(),
                [word.text for word in split_words(translator.model.normalise_target(reference), subwords.language)],
            )
        )
    return cases


def wanted_term(match: Match, language: str) -> WantedTerm:
    """A match as the score wants it."""
    forms = [tuple([word.text for word in split_words(form.text, language)]) for form in match.forms]
    return WantedTerm(match.words, tuple(forms))
