"""What a dictionary does to the sentences around its words.

    python experiments/dictionary/fluency.py --source dev.en [--target dev.ro] [--dictionary terms.tsv] --limit 100

First a dictionary that says nothing new: two one-to-one linked words of each translation are its entries, for that
sentence only; a dictionary that only restricts changes nothing then. Then real entries, from a file, or simulated from
the target (paper, section 7; linked by the system itself): how many are used and placed, and what the sentences lost by
them, each compared with the same system's translation without the dictionary. Without either, only the first. With
--lemmas, all entries are base forms, as in a termbase, and are measured as they are and inflected.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

from alidade.aligner import align
from alidade.alignment.links import Alignment
from alidade.dictionary.draft import Draft
from alidade.dictionary.entries import Dictionary, Entry, make_entry
from alidade.dictionary.files import load_dictionary
from alidade.dictionary.inflection import base_form
from alidade.dictionary.simulation import ReferencePair, load_stop_words, one_to_one_links, simulate_dictionary
from alidade.errors import AlidadeError
from alidade.evaluation.metrics import score_translations
from alidade.evaluation.terms import TermCase, WantedTerm, score_terms, wanted_term
from alidade.io import read_lines, write_aside, write_json
from alidade.text.stems import have_common_stem
from alidade.text.words import Word, split_words
from alidade.translation import Translation
from alidade.translator import Mode, Translator

MODES: tuple[Mode, ...] = ("suggest", "require")
ENTRIES_A_SENTENCE = 2
FINAL_MARKS = (".", "!", "?", "…", "...", "。", "！", "？")


def main() -> None:
    arguments = parse_arguments()
    translator = Translator(arguments.model)
    sources = read_texts(arguments.source, arguments)
    plain = translator.translate_all(sources, protect=False)
    results: dict[str, object] = {}
    if not arguments.only_real:
        results["says nothing new"] = measure_no_op(translator, sources, plain, arguments.modes, arguments.show)
    references = None if arguments.target is None else read_texts(arguments.target, arguments)
    if references is not None and len(references) != len(sources):
        raise AlidadeError(f"{arguments.source} and {arguments.target} have different numbers of lines")
    dictionary = real_dictionary(arguments.dictionary, translator, sources, references, plain)
    if dictionary and arguments.lemmas:
        dictionary = dictionary_of_lemmas(dictionary, languages_of(translator))
    if dictionary and not arguments.inflect:
        results["real entries"] = measure_real(translator, sources, references, plain, dictionary, arguments)
    if dictionary and (arguments.inflect or arguments.lemmas):
        print("\nthe same entries, inflected")
        inflected = dictionary.inflected(languages_of(translator)[0])
        results["inflected"] = measure_real(translator, sources, references, plain, inflected, arguments)
    if arguments.json is not None:
        write_json(arguments.json, results)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model folder; the shipped one if left out")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, help="reference translations: for BLEU and TER, or to simulate entries")
    parser.add_argument("--dictionary", type=Path, help="a TSV, CSV or TBX file")
    parser.add_argument("--inflect", action="store_true", help="the entries inflect")
    parser.add_argument("--lemmas", action="store_true", help="make base forms of the entries, and inflect them too")
    parser.add_argument("--only-real", action="store_true", help="leave out the dictionary that says nothing new")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many sentences")
    parser.add_argument("--limit", type=int, help="only so many sentences")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--show", type=int, default=0, help="print so many sentences that changed or were damaged")
    parser.add_argument("--output", type=Path, help="a folder for the translations")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


def read_texts(path: Path, arguments: argparse.Namespace) -> list[str]:
    return list(read_lines(path))[arguments.skip :][: arguments.limit]


def real_dictionary(
    path: Path | None,
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str] | None,
    plain: Sequence[Translation],
) -> Dictionary | None:
    """The entries of a file, or those that the references have and the translations lack."""
    source_language, target_language = languages_of(translator)
    if path is not None:
        return load_dictionary([path], languages=(source_language, target_language))
    if references is None:
        return None
    linked = align(zip(sources, references, strict=True), translator)
    pairs = [
        ReferencePair(one.source.text, one.target.text, one.alignment or Alignment(), other.text)
        for one, other in zip(linked, plain, strict=True)
    ]
    return Dictionary(simulate_dictionary(pairs, source_language, target_language).entries)


def dictionary_of_lemmas(dictionary: Dictionary, languages: tuple[str, str]) -> Dictionary:
    """The same entries as a termbase would have them."""
    source, target = languages
    return Dictionary(
        [
            replace(
                entry,
                source=base_form(entry.source, source),
                targets=tuple([base_form(form, target) for form in entry.targets]),
            )
            for entry in dictionary.entries
        ]
    )


def languages_of(translator: Translator) -> tuple[str, str]:
    return translator.model.source_subwords.language, translator.model.target_subwords.language


# A dictionary that says nothing new


def measure_no_op(
    translator: Translator,
    sources: Sequence[str],
    plain: Sequence[Translation],
    modes: Sequence[Mode],
    num_shown: int,
) -> dict[str, float]:
    """For each mode the share of sentences that their own words change."""
    numbers, entries = [], []
    for number, translation in enumerate(plain, start=1):
        if own := own_entries(number, translation):
            numbers.append(number)
            entries += own
    print(f"a dictionary that says nothing new: {len(entries)} entries for {len(numbers)} sentences")
    shares: dict[str, float] = {}
    for mode in modes:
        given = translator.translate_all(
            sources, dictionary=Dictionary(entries), mode=mode, with_links=False, protect=False
        )
        changed = [number for number in numbers if given[number - 1].text != plain[number - 1].text]
        shares[mode] = len(changed) / max(len(numbers), 1)
        print(f"  {mode}: {len(changed)} changed ({shares[mode]:.1%})", flush=True)
        for number in changed[:num_shown]:
            wanted = "; ".join([str(entry) for entry in entries if entry.sentence == number])
            print(f"    {number}: {plain[number - 1].text}\n    with: {given[number - 1].text}\n    ({wanted})")
    return shares


def own_entries(number: int, translation: Translation) -> list[Entry]:
    """Two words of a translation and what they translate; always the same two."""
    source, target = translation.source.words, translation.target.words
    links = [
        link
        for link in one_to_one_links(translation.alignment or Alignment())
        if not source[link.source].is_punctuation and not target[link.target].is_punctuation
    ]
    chosen = random.Random(number).sample(links, min(ENTRIES_A_SENTENCE, len(links)))
    return [
        make_entry(
            source[link.source].text,
            [target[link.target].text],
            "exact",
            occurrence=occurrence(source, link.source),
            sentence=number,
        )
        for link in sorted(chosen)
    ]


def occurrence(words: Sequence[Word], index: int) -> int:
    return sum([word.text == words[index].text for word in words[: index + 1]])


# Real entries


@dataclass(frozen=True)
class Damage:
    """What a translation with a dictionary lost against the one without it."""

    word_twice: bool
    after_final_mark: bool
    final_mark_lost: bool
    capital_lost: bool

    def __str__(self) -> str:
        return ", ".join([name.replace("_", " ") for name, is_so in asdict(self).items() if is_so])


def measure_real(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str] | None,
    plain: Sequence[Translation],
    dictionary: Dictionary,
    arguments: argparse.Namespace,
) -> dict[str, dict[str, float]]:
    """For each mode all figures of a row."""
    figures: dict[str, dict[str, float]] = {}
    start = time.perf_counter()
    translator.translate_all(sources, with_links=False, protect=False)
    rows: list[tuple[Mode | None, Sequence[Translation], float]] = [(None, plain, time.perf_counter() - start)]
    for mode in arguments.modes:
        start = time.perf_counter()
        given = translator.translate_all(sources, dictionary=dictionary, mode=mode, with_links=False, protect=False)
        seconds = time.perf_counter() - start
        rows.append((mode, translator.link(given), seconds))
    matched = rows[-1][1]  # the one without has no matches of its own
    for mode, translations, seconds in rows:
        name = mode or "without"
        damages = find_damages(translator, translations, plain, matched, references)
        figures[name] = {
            "sentences": len(sources),
            **row_of(translator, translations, plain, matched, references, damages),
        }
        figures[name]["sentences a second"] = len(sources) / seconds
        if arguments.output is not None:
            with write_aside(arguments.output / f"{name}.txt") as file:
                file.writelines([f"{one.text}\n" for one in translations])
        show_damages(name, translations, damages, arguments.show)
    print_table(figures)
    return figures


def row_of(
    translator: Translator,
    given: Sequence[Translation],
    plain: Sequence[Translation],
    matched: Sequence[Translation],
    references: Sequence[str] | None,
    damages: Sequence[Damage],
) -> dict[str, float]:
    """How one way of translating did; shares are of the wanted entries, damages are counted in sentences."""
    language = languages_of(translator)[1]
    texts = [one.text for one in plain] if references is None else references
    cases = [
        TermCase(
            [wanted_term(match, language) for match in other.matches if match.forms],
            [word.text for word in one.target.words],
            one.alignment or Alignment(),
            [word.text for word in split_words(text, language)],
        )
        for one, other, text in zip(given, matched, texts, strict=True)
    ]
    terms = score_terms(cases)
    row: dict[str, float] = {"wanted": terms.wanted}
    row |= {
        name: terms.share(count)
        for name, count in (("used", terms.used), ("placed", terms.placed), ("repeated", terms.repeated))
    }
    row["repeated_beyond_source"] = terms.share(
        score_terms(
            [
                case._replace(terms=[*case.terms, *said_again(case.terms, one.source.words)])
                for case, one in zip(cases, given, strict=True)
            ]
        ).repeated
    )
    row |= {name: sum([getattr(one, name) for one in damages]) for name in Damage.__dataclass_fields__}
    num_words = max(sum([len(one.target.words) for one in plain]), 1)
    row["length"] = terms.hypothesis_words / num_words
    row["expected length"] = (
        1 + sum([longer_by(one, other, language) for one, other in zip(plain, matched, strict=True)]) / num_words
    )
    if references is not None:
        scores = score_translations([one.text for one in given], [references], lower_case=True)
        row |= {score.name: score.value for score in scores}
    return row


def said_again(terms: Sequence[WantedTerm], words: Sequence[Word]) -> list[WantedTerm]:
    """Terms once more for each further place where the source has their words, or others of their stems.

    "coffee" twice, say, or "formatting" and "format", with an entry for one of them: a translation has to say both.
    """
    matched = {number for term in terms for number in term.source_words}
    again = []
    for term in {term.forms: term for term in terms}.values():
        own = [words[number].text for number in term.source_words]
        for start in range(len(words) - len(own) + 1):
            place = range(start, start + len(own))
            texts = [words[number].text for number in place]
            if matched.isdisjoint(place) and all(map(have_common_stem, own, texts)):
                again.append(term._replace(source_words=place))
    return again


def longer_by(plain: Translation, matched: Translation, language: str) -> int:
    """How many words a translation gains if each entry's form stands there for what it translated these words by."""
    matches = [match for match in matched.matches if match.forms]
    forms = [min([len(split_words(form.text, language)) for form in match.forms]) for match in matches]
    positions = {position for match in matches for position in match.positions}
    return sum(forms) - len(Draft(plain.target, plain.positions, plain.attention).words_for(positions))


def find_damages(
    translator: Translator,
    given: Sequence[Translation],
    plain: Sequence[Translation],
    matched: Sequence[Translation],
    references: Sequence[str] | None,
) -> list[Damage]:
    language = languages_of(translator)[1]
    stop_words = load_stop_words(language)
    damages = []
    for number, (one, before, other) in enumerate(zip(given, plain, matched, strict=True)):
        words, words_before = one.target.words, before.target.words
        allowed = count_words(words_before) | count_words(
            split_words(references[number], language) if references else ()
        )
        wanted = Counter(
            [
                word
                for match in other.matches
                for word in {w.text.casefold() for form in match.forms for w in split_words(form.text, language)}
            ]
        )
        damages.append(
            Damage(
                word_twice=says_twice(words, allowed | wanted, stop_words)
                or num_pairs(words) > num_pairs(words_before),
                after_final_mark=num_inner_ends(words)
                > max(num_inner_ends(words_before), num_inner_ends(one.source.words)),
                final_mark_lost=final_mark(words) not in (final_mark(words_before), final_mark(one.source.words)),
                capital_lost=before.text[:1].isupper() and not one.text[:1].isupper(),
            )
        )
    return damages


def count_words(words: Sequence[Word]) -> Counter[str]:
    return Counter([word.text.casefold() for word in words])


def says_twice(words: Sequence[Word], allowed: Counter[str], stop_words: frozenset[str]) -> bool:
    """Whether a content word stands there more than once, and more often than in the texts that it is compared with."""
    return any(
        count > max(allowed[word], 1)
        for word, count in count_words([word for word in words if not word.is_punctuation]).items()
        if word not in stop_words
    )


def num_pairs(words: Sequence[Word]) -> int:
    """Any word, an article for instance, right after itself."""
    return sum(
        [
            first.text.casefold() == second.text.casefold() and not first.is_punctuation
            for first, second in pairwise(words)
        ]
    )


def num_inner_ends(words: Sequence[Word]) -> int:
    """Final marks that have a word after them."""
    last = max([number for number, word in enumerate(words) if not word.is_punctuation], default=0)
    return sum([word.text in FINAL_MARKS for word in words[:last]])


def final_mark(words: Sequence[Word]) -> str:
    return words[-1].text if words and words[-1].is_punctuation else ""


def show_damages(name: str, given: Sequence[Translation], damages: Sequence[Damage], num_shown: int) -> None:
    damaged = [(one, damage) for one, damage in zip(given, damages, strict=True) if str(damage)]
    for one, damage in damaged[:num_shown]:
        wanted = "; ".join([str(match.entry) for match in one.matches])
        print(f"    {name}: {one.text}\n    {damage} ({wanted})")


def print_table(figures: dict[str, dict[str, float]]) -> None:
    columns = list(figures["without"])
    print(
        f"\n| dictionary | {' | '.join(name.replace('_', ' ') for name in columns)} |\n|{' --- |' * (len(columns) + 1)}"
    )
    for name, row in figures.items():
        print(f"| {name} | {' | '.join([format_figure(column, row[column]) for column in columns])} |")


def format_figure(column: str, value: float) -> str:
    if column in ("used", "placed", "repeated", "repeated_beyond_source"):
        return f"{value:.1%}"
    if isinstance(value, int):
        return str(value)
    return f"{value:.3f}" if column.endswith("length") else f"{value:.1f}"


if __name__ == "__main__":
    try:
        main()
    except AlidadeError as error:
        raise SystemExit(str(error)) from None
