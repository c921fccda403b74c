"""From the translations of a protected text's sentences back to one translation of the text.

Everything that `protect` took out comes back here, once each and to the byte: placeholders where their stand-ins are,
marks where the links put them, the white space of the original. What the model lost or doubled is mended, and a note
says so. Words, links and confidences then speak of the original text.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex

from alidade.alignment.links import Alignment, Link
from alidade.alignment.positions import links_of_words
from alidade.dictionary.entries import Entry
from alidade.protection.protect import ProtectedText, Sentence, StandIn
from alidade.text.markup import (
    LEAST_SHARE,
    Placed,
    Weights,
    assemble,
    build_tree,
    held_by_pairs,
    place_marks,
    place_of,
    targets_of,
)
from alidade.text.normalise import spans_in_original
from alidade.text.placeholders import find_placeholders
from alidade.text.plurals import with_preposition
from alidade.text.subwords import Encoding
from alidade.text.words import Word, split_words
from alidade.translation import Translation, concatenate

ORIGIN = "placeholder"
"""The origin of the entries that require placeholders."""


def required_entries(text: ProtectedText, sentence: Sentence, language: str) -> list[Entry]:
    """The stand-ins of a sentence as dictionary entries for themselves."""
    stretch = text.plain[sentence.start : sentence.end]
    words = split_words(stretch, language)
    entries = []
    for one in text.stand_ins_of(sentence):
        starts = [words[run.start].start + sentence.start for run in _runs_of(one.text, stretch, words)]
        if one.start in starts:
            entries.append(
                Entry(one.text, (one.text,), case="exact", occurrence=starts.index(one.start) + 1, origin=ORIGIN)
            )
    return entries


def keeps_all(text: ProtectedText, sentence: Sentence, translation: Translation) -> bool:
    """Whether a translation has each stand-in once, so that it is clear which is which."""
    stand_ins = text.stand_ins_of(sentence)
    if not stand_ins or sentence.is_copied:
        return True
    alignment = _alignment(translation)
    source, target = translation.source, translation.target
    for name in {one.text for one in stand_ins}:
        sources, targets = _runs_of(name, source.text, source.words), _runs_of(name, target.text, target.words)
        if len(sources) != len(targets):
            return False
        originals = [one for one in stand_ins if one.text == name]
        if len({one.placeholder.text for one in originals}) == 1 or not any(o.placeholder.may_swap for o in originals):
            continue
        if len(_linked_pairs(sources, targets, alignment)) != len(sources):
            return False
    return True


def copied(sentence: Sentence, empty: Translation, language: str) -> Translation:
    """The translation of a sentence that is not translated: itself."""
    words = split_words(sentence.text, language)
    encoding = Encoding(sentence.text, words, (), (), ())
    alignment = Alignment.of([(word, word) for word in range(len(words))])
    notes = (sentence.note,) if sentence.note else ()
    confidences = dict.fromkeys(alignment, 1.0)
    return replace(empty, source=encoding, target=encoding, alignment=alignment, confidences=confidences, notes=notes)


def restore(text: ProtectedText, translations: Iterator[Translation], empty: Translation) -> Translation:
    """The translation of a text, from those of `all_sentences`; empty: what an empty text's would be."""
    parts = [next(translations) for _ in text.sentences]
    joined = _join(text, parts) if parts else empty
    written = {
        one: "".join(
            [
                stretch.text
                if branch is None
                else with_preposition(restore(branch, translations, empty).text, stretch.counted_in)
                for stretch, branch in one.branches
            ]
        )
        for one in text.stand_ins
        if one.branches
    }
    weights: list[Weights] = []
    num_source = 0
    for part in parts if text.marks else ():
        weights += [{num_source + source: weight for source, weight in one.items()} for one in _weights_of_words(part)]
        num_source += len(part.source.words)
    return _Restorer(text, joined, written, weights).restore()


def _weights_of_words(part: Translation) -> list[Weights]:
    """For each target word how much it has of each source word.

    Attention tells more than links: a noun with its article in one word points at one of the two. A word's first piece
    is its stem, and the ends of words attend to what comes next.
    """
    if part.attention is None or len(part.attention) != len(part.target):
        alignment = _alignment(part)
        links: list[dict[int, float]] = [{} for _ in part.target.words]
        for link in alignment:
            links[link.target][link.source] = 1.0
        return list(links)
    shares = np.zeros((len(part.target), len(part.source.words)))
    columns = np.asarray(part.source.word_of_piece, dtype=np.intp)
    np.add.at(shares.T, columns, np.asarray(part.attention)[:, 1:-1].T)
    stems = [part.target.pieces_of_word(word).start for word in range(len(part.target.words))]
    return [{source: float(share) for source, share in enumerate(shares[stem])} for stem in stems]


def _join(text: ProtectedText, parts: Sequence[Translation]) -> Translation:
    written = [_in_capitals(text, sentence, part) for sentence, part in zip(text.sentences, parts, strict=True)]
    gaps = [text.plain[one.end : other.start] for one, other in itertools.pairwise(text.sentences)]
    return concatenate(written, gaps, gaps)


def _in_capitals(text: ProtectedText, sentence: Sentence, part: Translation) -> Translation:
    """A sentence that was in capitals, put back into them; stand-ins stay as they are."""
    if not sentence.is_upper:
        return part
    kept = {one.text for one in text.stand_ins_of(sentence)}
    words: list[Word] = []
    target, end = "", 0
    for word in part.target.words:
        target += part.target.text[end : word.start]
        upper = word.text if word.text in kept else word.text.upper()
        words.append(Word(upper, len(target), len(target) + len(upper)))
        target += upper
        end = word.end
    target += part.target.text[end:]
    return replace(part, target=replace(part.target, text=target, words=tuple(words)))


def _alignment(translation: Translation) -> Alignment:
    if translation.alignment is not None:
        return translation.alignment
    if not translation.positions:
        return Alignment()
    return links_of_words(translation.positions, translation.source, translation.target)


def _runs_of(name: str, text: str, words: Sequence[Word]) -> list[range]:
    """The runs of words whose text is a stand-in's."""
    runs = []
    ends = {word.end: number for number, word in enumerate(words)}
    for number, word in enumerate(words):
        last = ends.get(word.start + len(name))
        if last is not None and last >= number and text.startswith(name, word.start):
            runs.append(range(number, last + 1))
    return runs


def _linked_pairs(sources: Sequence[range], targets: Sequence[range], alignment: Alignment) -> dict[int, int]:
    """Which target run is linked to which source run; only where it is clear."""
    number_of = {word: number for number, run in enumerate(sources) for word in run}
    linked: dict[int, list[int]] = {}
    for link in alignment:
        if link.source in number_of:
            linked.setdefault(link.target, []).append(number_of[link.source])
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for number, run in enumerate(targets):
        candidates = {one for word in run for one in linked.get(word, ()) if one not in taken}
        if len(candidates) == 1:
            pairs[number] = candidates.pop()
            taken.add(pairs[number])
    return pairs


@dataclass(slots=True)
class _TargetWord:
    """A word of the translation under repair."""

    text: str
    gap: str
    """What stands before it."""
    sources: list[int]
    number: int | None
    """Which word of the joined translation it was; None: it is new."""
    stand_in: StandIn | None = None
    is_mended: bool = False
    """Its sources are not the model's."""


class _Restorer:
    """Turns the joined translations of a text's sentences into the text's translation."""

    def __init__(
        self, text: ProtectedText, joined: Translation, written: dict[StandIn, str], weights: Sequence[Weights]
    ) -> None:
        self.text = text
        self.joined = joined
        self.written = written
        """The texts of stand-ins that are not just their placeholder."""
        self.weights = weights
        """For each word of the joined translation; empty if nothing has to be placed by them."""
        self.source_spans = _plain_spans(text.plain, joined.source)
        self.words = _target_words(joined)
        self.notes: list[str] = []

    def restore(self) -> Translation:
        lost = self._assign_stand_ins()
        self._drop_inventions()
        for one in lost:
            self._put_back(one)
        self._restore_order()
        self._mend_punctuation()
        self._set_accelerator()
        texts = [self._final_text(word) for word in self.words]
        gaps = [*[word.gap for word in self.words], ""]
        gaps[0] = ""
        assembled = assemble(texts, gaps, self._placed_marks())
        return self._translation(assembled.text, assembled.spans)

    def _assign_stand_ins(self) -> list[StandIn]:
        """Say which target words are which placeholders, drop the superfluous ones, and give those that are lost."""
        lost: list[StandIn] = []
        superfluous: list[range] = []
        source, target = self.joined.source, self.joined.target
        for name in dict.fromkeys([one.text for one in self.text.stand_ins]):
            sources, targets = _runs_of(name, source.text, source.words), _runs_of(name, target.text, target.words)
            by_start = {one.start: one for one in self.text.stand_ins if one.text == name}
            stand_ins = [by_start.get(self.source_spans[run.start][0]) for run in sources]
            pairs = self._used_pairs(sources, targets) or _linked_pairs(sources, targets, _alignment(self.joined))
            used = set(pairs.values())
            free = [number for number in range(len(sources)) if number not in used]
            for number in range(len(targets)):
                if number not in pairs and free:
                    pairs[number] = free.pop(0)
            for number, run in enumerate(targets):
                if number not in pairs:
                    superfluous.append(run)
                elif (one := stand_ins[pairs[number]]) is not None:
                    self.words[run.start].stand_in = one
                    superfluous.append(run[1:])
            found = {stand_ins[number] for number in pairs.values()}
            lost += [one for one in by_start.values() if one not in found]
        self._drop([word for run in superfluous for word in run])
        return lost

    def _used_pairs(self, sources: Sequence[range], targets: Sequence[range]) -> dict[int, int]:
        """Which target run the search wrote for which source run, if it was required to."""
        starts = {run.start: number for number, run in enumerate(sources)}
        ends = {run.start: number for number, run in enumerate(targets)}
        pairs = {}
        for use in self.joined.uses:
            match = self.joined.matches[use.match]
            word = self.joined.target.word_of_piece[use.pieces.start]
            if match.entry.origin == ORIGIN and match.words.start in starts and word in ends:
                pairs[ends[word]] = starts[match.words.start]
        return pairs

    def _drop_inventions(self) -> None:
        """Placeholders that the model made up: no program has arguments for them."""
        made_up = []
        for number, word in enumerate(self.words):
            found = find_placeholders(word.text) if word.stand_in is None and _SUSPECT.match(word.text) else ()
            if any(p.kind in _CRASHING for p in found) and word.text not in self.text.plain:
                made_up.append(number)
        if made_up:
            self.notes.append(
                f"removed {_list([self.words[number].text for number in made_up])}, which the text has not"
            )
            self._drop(made_up)

    def _drop(self, numbers: Sequence[int]) -> None:
        """Take words away, and the quotes around one that stood alone in them."""
        for number in sorted(set(numbers), reverse=True):
            del self.words[number]
            is_quoted = 0 < number < len(self.words) and (
                self.words[number - 1].text + self.words[number].text in _EMPTY_QUOTES
            )
            if is_quoted:
                del self.words[number - 1 : number + 1]

    def _put_back(self, one: StandIn) -> None:
        """Put a lost placeholder where the links of its neighbours suggest."""
        source = self._source_words(one.start, one.end)
        targets = targets_of([min(word.sources, default=None) for word in self.words])
        num_source = len(self.joined.source.words)
        gap = source.start if source else 0
        place = place_of(gap, range(len(self.words)), targets, range(num_source))
        if gap >= num_source - len(source) and len(source):
            place = len(self.words)
        new = _TargetWord(one.text, " " if place else "", [*source], None, one)
        if place == 0 and self.words:
            self.words[0].gap = " "
        self.words.insert(place, new)
        self.notes.append(f"{one.placeholder.text} was lost and put back")

    def _restore_order(self) -> None:
        """Placeholders that may not swap, in the order of the source; and each linked to its own source words."""
        orders: dict[str, list[_TargetWord]] = {}
        for word in self.words:
            if word.stand_in is not None and word.stand_in.placeholder.order:
                orders.setdefault(word.stand_in.placeholder.order, []).append(word)
        for words in orders.values():
            stand_ins = [word.stand_in for word in words if word.stand_in is not None]
            for word, one in zip(words, sorted(stand_ins, key=lambda one: one.start), strict=True):
                word.stand_in = one
        for word in self.words:
            if word.stand_in is not None:
                word.sources = [*self._source_words(word.stand_in.start, word.stand_in.end)]

    def _source_words(self, start: int, end: int) -> range:
        """The source words in a stretch of the plain text."""
        first = bisect.bisect_right(self.source_spans, start, key=lambda span: span[1])
        last = bisect.bisect_left(self.source_spans, end, key=lambda span: span[0])
        return range(first, max(first, last))

    def _mend_punctuation(self) -> None:
        """The text ends in the dots or the colon that it ended in."""
        final = self.text.final_punctuation
        if not final:
            return
        last = [self.words.pop()] if self.words and _is_final(self.words[-1]) else []
        while self.words and _is_final(self.words[-1]):
            self.words.pop()
        sources = [*range(len(self.source_spans))][-1:]  # its own mark
        gap = final[: len(final) - len(final.lstrip())]
        self.words.append(_TargetWord(final.lstrip(), gap, sources, last[0].number if last else None, is_mended=True))

    def _set_accelerator(self) -> None:
        """Before the same letter of the word that its word became, or that word's first, or any word's."""
        if self.text.accelerator is None:
            return
        place, mark = self.text.accelerator
        source = self._source_words(place, place + 1)
        letter = self.text.plain[place : place + 1].casefold()
        words = [word for word in self.words if word.stand_in is None and any(c.isalpha() for c in word.text)]
        own = [word for word in words if any(number in word.sources for number in source)]
        for candidates, wants_letter in ((own, True), (own, False), (words, True), (words, False)):
            for word in candidates:
                at = word.text.casefold().find(letter) if wants_letter else _first_letter(word.text)
                if at >= 0:
                    word.text = word.text[:at] + mark + word.text[at:]
                    return
        if self.words:
            self.words[0].text = mark + self.words[0].text

    def _final_text(self, word: _TargetWord) -> str:
        if word.stand_in is None:
            return word.text
        written = self.written.get(word.stand_in, word.stand_in.placeholder.text)
        mark = self.text.accelerator[1] if self.text.accelerator else ""
        return mark + written if mark and word.text.startswith(mark) and not written.startswith(mark) else written

    def _placed_marks(self) -> list[Placed]:
        if not self.text.marks:
            return []
        marks = [replace(mark, place=self._word_at(place)) for place, mark in self.text.marks]
        root = build_tree(marks, len(self.source_spans))
        weights = [self._weights_of(word) for word in self.words]
        placed = place_marks(root, weights)
        for held in held_by_pairs(root, placed, weights):
            if not held.words:
                self.notes.append(f"{held.mark.text} is empty: nothing in the translation comes from its words")
            elif held.share < LEAST_SHARE:
                words = " ".join([self._final_text(self.words[word]) for word in held.words])
                self.notes.append(f'{held.mark.text} stands around "{words}": its own words seem to be left out')
        return placed

    def _weights_of(self, word: _TargetWord) -> Weights:
        if word.stand_in is None and word.number is not None and not word.is_mended:
            return self.weights[word.number]
        return dict.fromkeys(word.sources, 1.0)

    def _word_at(self, place: int) -> int:
        """The first source word that does not begin before a place in the plain text."""
        return bisect.bisect_left(self.source_spans, (place, 0))

    def _translation(self, text: str, spans: Sequence[tuple[int, int]]) -> Translation:
        before, after = self.text.before, self.text.after
        shift = len(before)
        target_words = tuple([Word(text[start:end], start + shift, end + shift) for start, end in spans])
        origins, original = self.text.origins, self.text.original
        source_words = []
        for start, end in self.source_spans:
            first, last = (origins[start][0], origins[end - 1][1]) if start < end else (0, 0)
            source_words.append(Word(original[first:last], first, last))
        numbers = {word.number: new for new, word in enumerate(self.words) if word.number is not None}
        links = {Link(source, target) for target, word in enumerate(self.words) for source in word.sources}
        confidences = self._confidences(links)
        joined = self.joined
        return replace(
            joined,
            source=replace(joined.source, text=original, words=tuple(source_words)),
            target=replace(
                joined.target,
                text=before + text + after,
                words=target_words,
                word_of_piece=_new_words_of_pieces(joined.target.word_of_piece, numbers),
            ),
            alignment=None if joined.alignment is None else Alignment(frozenset(links)),
            confidences=confidences if joined.alignment is not None else {},
            notes=(*dict.fromkeys(joined.notes), *self.notes),
        )

    def _confidences(self, links: set[Link]) -> dict[Link, float]:
        """Those of the search; 0 for links that were made here."""
        known = self.joined.confidences
        return {
            link: known.get(Link(link.source, number), 0.0)
            if (number := self.words[link.target].number) is not None
            else 0.0
            for link in links
        }


_EMPTY_QUOTES = frozenset({"„”", "“”", "«»", "''", '""', "‘’", "()", "[]", "„“", "‚‘"})
_CRASHING = frozenset({"printf", "brace", "template"})
_SUSPECT = regex.compile(r"[%{$#<]")


def _is_final(word: _TargetWord) -> bool:
    return word.stand_in is None and regex.fullmatch(r"[.:…]+", word.text) is not None


def _first_letter(text: str) -> int:
    return next((place for place, character in enumerate(text) if character.isalpha()), -1)


def _list(texts: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _plain_spans(plain: str, source: Encoding) -> list[tuple[int, int]]:
    """Where the source words stand in the plain text."""
    spans = [(word.start, word.end) for word in source.words]
    found = spans_in_original(plain, source.text, spans)
    if found is None:
        return [(min(start, len(plain)), min(end, len(plain))) for start, end in spans]
    return found


def _target_words(joined: Translation) -> list[_TargetWord]:
    words, text = joined.target.words, joined.target.text
    sources: list[list[int]] = [[] for _ in words]
    for link in _alignment(joined):
        sources[link.target].append(link.source)
    ends = [0, *[word.end for word in words]]
    return [
        _TargetWord(word.text, text[end : word.start], linked, number)
        for number, (word, end, linked) in enumerate(zip(words, ends, sources, strict=False))
    ]


def _new_words_of_pieces(word_of_piece: Sequence[int], numbers: dict[int, int]) -> tuple[int, ...]:
    """The words of pieces after words have gone and come; the pieces of one that has gone count as those before it."""
    words: list[int] = []
    for word in word_of_piece:
        words.append(numbers.get(word, words[-1] if words else 0))
    return tuple(words)
