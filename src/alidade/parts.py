"""What a text is cut into before it is searched for: parts that are not too long, with the dictionary's matches.

Most texts are one part. The search finds the best translations of each (`part_search.py`), and `translation.py` makes
one translation of them again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from alidade.dictionary.draft import Draft
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.matching import Match, find_matches
from alidade.model_folder import ModelFolder
from alidade.protection.translate import PlainText
from alidade.text.sentences import TextPart, split_text
from alidade.text.subwords import Encoding


@dataclass(frozen=True, slots=True)
class Part:
    """What is searched for at once: a text, or a part of a long one."""

    source: Encoding
    prefix: tuple[int, ...]
    matches: tuple[Match, ...]
    draft: Draft | None = None
    """Its best translation without the dictionary, if that does not obey it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A text to translate."""

    original: str
    parts: tuple[Part, ...]
    gaps: tuple[str, ...]
    """What stands between the parts."""


def cut_text(text: PlainText, model: ModelFolder, max_pieces: int, dictionary: Dictionary | None) -> Task:
    """A text as parts of at most so many pieces, with what the dictionary has for each."""
    normalised = model.normalise_source(text.text)
    stretches = split_text(normalised, model.source_subwords, max_pieces)
    matches = _matches(model, normalised, stretches, dictionary, text.number)
    if text.required:
        required = _matches(model, normalised, stretches, Dictionary(text.required), text.number)
        matches = [_united(own, others) for own, others in zip(required, matches, strict=True)]
    parts = [Part(one.encoding, (), found) for one, found in zip(stretches, matches, strict=True)]
    if text.prefix:
        ids = model.target_subwords.encode(model.normalise_target(text.prefix)).ids
        parts[0] = replace(parts[0], prefix=ids)
    gaps = [normalised[one.end : other.start] for one, other in itertools.pairwise(stretches)]
    return Task(text.text, tuple(parts), tuple(gaps))


def _matches(
    model: ModelFolder, text: str, stretches: Sequence[TextPart], dictionary: Dictionary | None, number: int
) -> list[tuple[Match, ...]]:
    """The dictionary's matches in each part; the occurrences of a phrase are counted over the whole text."""
    if not dictionary:
        return [()] * len(stretches)
    subwords = model.target_subwords
    if len(stretches) == 1:
        return [find_matches(dictionary, stretches[0].encoding, subwords, number)]
    whole = model.source_subwords.encode(text)
    matches = find_matches(dictionary, whole, subwords, number)
    return [tuple(_matches_inside(part, whole, matches)) for part in stretches]


def _united(first: Sequence[Match], second: Sequence[Match]) -> tuple[Match, ...]:
    """Matches of two dictionaries, from left to right; where they overlap, the first one's."""
    taken = {word for match in first for word in match.words}
    others = [match for match in second if taken.isdisjoint(match.words)]
    return tuple(sorted([*first, *others], key=lambda match: match.words.start))


def _matches_inside(part: TextPart, whole: Encoding, matches: Iterable[Match]) -> Iterator[Match]:
    """Those of the whole text's matches that lie inside a part, counted in the part's words and pieces."""
    first = next((number for number, word in enumerate(whole.words) if word.start >= part.start), len(whole.words))
    words = part.encoding.words
    for match in matches:
        moved = range(match.words.start - first, match.words.stop - first)
        texts = [word.text for word in words[max(moved.start, 0) : moved.stop]]
        if moved.start >= 0 and texts == [whole.words[number].text for number in match.words]:
            pieces = [part.encoding.pieces_of_word(word) for word in (moved[0], moved[-1])]
            yield replace(match, words=moved, positions=range(pieces[0].start + 1, pieces[1].stop + 1))
