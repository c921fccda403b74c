"""Translate texts with everything in them that must survive: the layer around the search.

Texts become sentences, sentences are translated, those that lost or doubled a placeholder are searched again with their
placeholders as required dictionary entries, and the sentences become texts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from alidade.alignment.links import Alignment
from alidade.alignment.positions import links_of_words
from alidade.dictionary.entries import Dictionary, Entry
from alidade.protection.protect import ProtectedText, Protection, Sentence
from alidade.protection.restore import ORIGIN, copied, keeps_all, required_entries, restore
from alidade.text.placeholders import find_placeholders
from alidade.text.sentences import SENTENCES, UNSPLIT, Splitting
from alidade.text.subwords import Encoding
from alidade.translation import Translation


@dataclass(frozen=True, slots=True)
class PlainText:
    """What a model translates as it stands."""

    text: str
    prefix: str = ""
    number: int = 1
    """Of the text in the input, for entries that belong to one."""
    required: tuple[Entry, ...] = ()
    """Entries for this text alone."""


PlainTranslator = Callable[[Sequence[PlainText], bool], list[Translation]]
"""Translates plain texts; True: all dictionary entries are required."""

_NOTHING = Encoding("", (), (), (), ())
EMPTY = Translation(_NOTHING, _NOTHING, (), 0.0, 0.0, 0.0, alignment=Alignment())
"""The translation of nothing."""


def translate_protected(
    texts: Sequence[PlainText],
    protection: Protection,
    translate: PlainTranslator,
    dictionary: Dictionary | None,
    num_best: int = 1,
    splitting: Splitting = SENTENCES,
) -> list[Translation]:
    """The translations of texts as people write them, placeholders, markup and several sentences included."""
    protected = [_protect(text, protection, dictionary, splitting) for text in texts]
    tasks = [
        _Task(owner, sentence, PlainText(sentence.text, _plain_prefix(owner, text.prefix), text.number))
        for text, whole in zip(texts, protected, strict=True)
        for owner, sentence in whole.all_sentences()
    ]
    found = iter(_translate_sentences(tasks, protection, translate))
    return [_put_together(whole, found, num_best) for whole in protected]


@dataclass(frozen=True, slots=True)
class _Task:
    owner: ProtectedText
    sentence: Sentence
    plain: PlainText


def _protect(
    text: PlainText, protection: Protection, dictionary: Dictionary | None, splitting: Splitting
) -> ProtectedText:
    """A prefix and entries for the n-th occurrence of a phrase speak of the text as a whole: it stays in one piece."""
    if text.prefix or (dictionary and any(entry.occurrence is not None for entry in dictionary.entries)):
        splitting = UNSPLIT
    return protection.protect(text.text, splitting=splitting, dictionary=dictionary)


def _plain_prefix(owner: ProtectedText, prefix: str) -> str:
    """A prefix as the model is to write it: with stand-ins, without marks."""
    if not prefix:
        return ""
    stand_ins = {one.placeholder.text: one.text for one in owner.stand_ins}
    for found in reversed(find_placeholders(prefix)):
        if found.kind not in ("space", "punctuation"):
            plain = stand_ins.get(found.text, "" if not found.is_word or found.kind == "emoji" else found.text)
            prefix = prefix[: found.start] + plain + prefix[found.end :]
    return prefix


def _translate_sentences(
    tasks: Sequence[_Task], protection: Protection, translate: PlainTranslator
) -> Iterator[Translation]:
    results: dict[int, Translation] = {}
    numbers = [number for number, task in enumerate(tasks) if not task.sentence.is_copied]
    for number, one in zip(numbers, translate([tasks[number].plain for number in numbers], False), strict=True):
        results[number] = _with_links(one)
    again = [
        number for number in numbers if not keeps_all(tasks[number].owner, tasks[number].sentence, results[number])
    ]
    if again:
        plain = [_requiring(tasks[number], protection.language) for number in again]
        has_terms = [bool(results[number].matches) for number in again]
        for flag in sorted(set(has_terms)):  # suggestions stay suggestions
            chosen = [number for number, has in enumerate(has_terms) if has == flag]
            for number, one in zip(chosen, translate([plain[number] for number in chosen], not flag), strict=True):
                results[again[number]] = _with_links(one)
    for number, task in enumerate(tasks):
        yield results[number] if number in results else copied(task.sentence, EMPTY, protection.language)


def _requiring(task: _Task, language: str) -> PlainText:
    return replace(task.plain, required=tuple(required_entries(task.owner, task.sentence, language)))


def _with_links(translation: Translation) -> Translation:
    """Marks and placeholders go by links, whether or not anybody asked for them."""
    alternatives = tuple([_with_links(other) for other in translation.alternatives])
    if translation.alignment is not None:
        return replace(translation, alternatives=alternatives)
    alignment = links_of_words(translation.positions, translation.source, translation.target)
    confidences = dict.fromkeys(alignment, 1.0)
    return replace(translation, alignment=alignment, confidences=confidences, alternatives=alternatives)


def _put_together(whole: ProtectedText, found: Iterator[Translation], num_best: int) -> Translation:
    parts = [next(found) for _ in whole.all_sentences()]
    best = _restore(whole, parts)
    others: dict[str, Translation] = {}
    for changed in _alternatives(parts):
        if len(others) + 1 >= num_best:
            break
        other = _restore(whole, changed)
        if other.text != best.text:
            others.setdefault(other.text, other)
    return replace(best, alternatives=tuple(others.values()))


def _alternatives(parts: Sequence[Translation]) -> Iterator[list[Translation]]:
    """The parts with one of them exchanged for another candidate, the least loss first."""
    changes = [
        (part.score - other.score, number, other) for number, part in enumerate(parts) for other in part.alternatives
    ]
    for _, number, other in sorted(changes, key=lambda change: change[:2]):
        yield [*parts[:number], other, *parts[number + 1 :]]


def _restore(whole: ProtectedText, parts: Sequence[Translation]) -> Translation:
    if whole.is_plain:
        return replace(parts[0], original=whole.original)
    restored = restore(whole, iter(parts), EMPTY)
    kept = [number for number, match in enumerate(restored.matches) if match.entry.origin != ORIGIN]
    new = {number: place for place, number in enumerate(kept)}
    return replace(
        restored,
        original=whole.original,
        matches=tuple([restored.matches[number] for number in kept]),
        uses=tuple([replace(use, match=new[use.match]) for use in restored.uses if use.match in new]),
    )
