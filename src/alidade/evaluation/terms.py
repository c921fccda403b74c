"""What a dictionary does to a system: translate with and without it, and judge how well it is kept to.

A matched entry is *used* if one of its forms stands in the translation, once for each match that wants it; *used
as a stem* if words of the same stem do; *placed* if the form is linked to the entry's own source words; *repeated*
if its form stands there more often than matches want it and than the reference has it.

Each way is timed over the same sentences, the ways taking turns, so that a machine that is busy for a while slows
all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from rich.box import SIMPLE
from rich.table import Table

from alidade.alignment.links import Alignment, Link
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.matching import Match, find_matches
from alidade.evaluation.metrics import Score, Tokenisation, score_translations, tokenisation_of_language
from alidade.text.stems import have_common_stem
from alidade.text.words import split_words
from alidade.translation import Translation
from alidade.translator import Mode, Translator


class WantedTerm(NamedTuple):
    """A match of a dictionary: its source words and its allowed forms, each a sequence of words."""

    source_words: range
    forms: tuple[tuple[str, ...], ...]
    ignores_case: bool = False


class TermCase(NamedTuple):
    """One translated sentence: what was wanted and what came out."""

    terms: Sequence[WantedTerm]
    hypothesis: Sequence[str]
    """Words of the translation."""
    alignment: Alignment
    """Links of source words and the translation's words."""
    reference: Sequence[str]


@dataclass(frozen=True, slots=True)
class TermScore:
    """Counts over a corpus."""

    wanted: int
    used: int
    used_stem: int
    placed: int
    repeated: int
    hypothesis_words: int
    reference_words: int

    @property
    def length_ratio(self) -> float:
        """Words of the translations for each word of the references."""
        return self.hypothesis_words / self.reference_words if self.reference_words else 0.0

    def share(self, count: int) -> float:
        """A count for each wanted entry."""
        return count / self.wanted if self.wanted else 0.0

    def __str__(self) -> str:
        shares = [
            f"{name} {count} ({self.share(count):.1%})"
            for name, count in (
                ("used", self.used),
                ("used as a stem", self.used_stem),
                ("placed", self.placed),
                ("repeated", self.repeated),
            )
        ]
        return f"{self.wanted} entries wanted: {', '.join(shares)}; length ratio {self.length_ratio:.3f}"


def score_terms(cases: Iterable[TermCase]) -> TermScore:
    """Count used, placed and repeated entries."""
    totals = dict.fromkeys(("wanted", "used", "used_stem", "placed", "repeated"), 0)
    hypothesis_words = reference_words = 0
    for case in cases:
        uses = _assign(case)
        totals["wanted"] += len(case.terms)
        totals["used"] += sum([use is not None for use in uses])
        totals["used_stem"] += sum([_stem_is_used(term, use, case) for term, use in zip(case.terms, uses, strict=True)])
        totals["placed"] += sum([_is_placed(term, use, case) for term, use in zip(case.terms, uses, strict=True)])
        totals["repeated"] += _num_repeated(case)
        hypothesis_words += len(case.hypothesis)
        reference_words += len(case.reference)
    return TermScore(**totals, hypothesis_words=hypothesis_words, reference_words=reference_words)


def _assign(case: TermCase) -> list[range | None]:
    """For each term the words of the translation that are its form; no word serves two terms.

    Where there is a choice, words that are linked to the term's own source words go first.
    """
    taken: set[int] = set()
    uses: list[range | None] = [None] * len(case.terms)
    for must_be_placed in (True, False):
        for number, term in enumerate(case.terms):
            if uses[number] is not None:
                continue
            for place in _places(term, case.hypothesis):
                if taken.isdisjoint(place) and (not must_be_placed or _is_placed(term, place, case)):
                    uses[number] = place
                    taken.update(place)
                    break
    return uses


def _places(term: WantedTerm, words: Sequence[str]) -> list[range]:
    """Where any of a term's forms stands among words, longer forms first."""
    words = [_cased(word, term) for word in words]
    return [
        range(start, start + len(form))
        for form in sorted(term.forms, key=len, reverse=True)
        for start in range(len(words) - len(form) + 1)
        if words[start : start + len(form)] == [_cased(word, term) for word in form]
    ]


def _is_placed(term: WantedTerm, place: range | None, case: TermCase) -> bool:
    return place is not None and any(
        Link(source, target) in case.alignment for source in term.source_words for target in place
    )


def _stem_is_used(term: WantedTerm, use: range | None, case: TermCase) -> bool:
    if use is not None:
        return True
    words = case.hypothesis
    return any(
        all(map(have_common_stem, words[start : start + len(form)], form))
        for form in term.forms
        for start in range(len(words) - len(form) + 1)
    )


def _num_repeated(case: TermCase) -> int:
    """Terms whose forms stand in the translation more often than they should; equal terms count once."""
    num_repeated = 0
    for term in dict.fromkeys([term._replace(source_words=range(0)) for term in case.terms]):
        num_wanted = sum([bool(set(term.forms) & set(other.forms)) for other in case.terms])
        num_found, num_in_reference = (
            len({place.start for place in _places(term, words)}) for words in (case.hypothesis, case.reference)
        )
        num_repeated += num_found > max(num_wanted, num_in_reference)
    return num_repeated


def _cased(word: str, term: WantedTerm) -> str:
    return word.casefold() if term.ignores_case else word


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
    tokenisation: Tokenisation | None = None,
    repeats: int = 1,
) -> list[TermRun]:
    """Translate in each mode and judge the translations; lower_case: ignore case in BLEU, TER and chrF.

    tokenisation: None is what the target language wants.
    """
    tokenisation = tokenisation or tokenisation_of_language(translator.languages[1])
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
        return translator.translate_all(sources, with_links=False, protect=False)
    return translator.translate_all(sources, dictionary=dictionary, mode=mode, with_links=False, protect=False)


def _cases(
    translator: Translator, translations: Sequence[Translation], references: Sequence[str], dictionary: Dictionary
) -> list[TermCase]:
    subwords = translator.model.target_subwords
    normalised = translator.load_dictionary(dictionary) or Dictionary(())
    cases = []
    for number, (result, reference) in enumerate(zip(translations, references, strict=True), start=1):
        matches = find_matches(normalised, result.source, subwords, number)
        cases.append(
            TermCase(
                [wanted_term(match, subwords.language) for match in matches if match.forms],
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
