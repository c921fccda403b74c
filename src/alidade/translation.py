"""Translation: a text, its translation, and which word came from which.

`Translator` makes them. A long text is translated in parts, whose translations become one again here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from alidade.alignment.links import Alignment, Link
from alidade.alignment.positions import Matrix
from alidade.dictionary.matching import Match
from alidade.dictionary.report import EntryReport, report_entries
from alidade.dictionary.rules import Use
from alidade.text.normalise import spans_in_original
from alidade.text.sentences import ends_with_sentence
from alidade.text.subwords import Encoding
from alidade.text.words import Word


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation, and where each of its words comes from."""

    source: Encoding
    """The source as the model read it: normalised, its words and pieces."""
    target: Encoding
    positions: tuple[int, ...]
    """The source position of each target piece, counted from 1; empty for baselines."""
    score: float
    """Weighted and normalised for length: what the search ranks by."""
    lexical_score: float
    """log p_lex of the whole translation."""
    alignment_score: float
    """log p_align of its positions; 0 for baselines."""
    num_evaluations: int = 0
    """How often the lexical model was asked for a distribution of words."""
    is_complete: bool = True
    """False if the translation was cut off at the length limit."""
    alignment: Alignment | None = None
    """Links of words, if they were asked for."""
    confidences: dict[Link, float] = field(default_factory=dict)
    """From 0 to 1 for each link: how much of the target word's attention lies there."""
    attended: tuple[int, ...] = ()
    """j(i) of each target piece: the source position with the most attention, if links were asked for."""
    matches: tuple[Match, ...] = ()
    """The dictionary's entries that apply to the source."""
    uses: tuple[Use, ...] = ()
    """Those of them that the translation uses, and where."""
    alternatives: tuple[Translation, ...] = ()
    """Further translations, no two with the same text, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What a person should know about it, for instance that a long text was cut into parts."""
    original: str | None = None
    """The source as it was given; None: as `source` has it."""
    attention: Matrix | None = field(default=None, repr=False, compare=False)
    """(I, J + 2) accumulated attention of each target piece (paper, section 5), as the search left it."""

    @property
    def text(self) -> str:
        return self.target.text

    @property
    def unused(self) -> tuple[Match, ...]:
        """The dictionary's entries that apply but were not used."""
        used = {use.match for use in self.uses}
        return tuple([match for number, match in enumerate(self.matches) if number not in used])

    @property
    def entries(self) -> tuple[EntryReport, ...]:
        """What became of each entry that applies: in which form it was used and where, or why not."""
        return report_entries(self.matches, self.uses, self.source, self.target)

    @property
    def target_words_from_dictionary(self) -> frozenset[int]:
        """The target words that a dictionary entry has fixed."""
        return frozenset([self.target.word_of_piece[piece] for use in self.uses for piece in use.pieces])

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, for a line of JSON.

        Offsets are [start, end) in characters: `source_offsets` into `source`, `original_offsets` into `original`
        (null where normalising left no way back), `target_offsets` into `translation`.
        """
        original = self.source.text if self.original is None else self.original
        values: dict[str, Any] = {
            "original": original,
            "source": self.source.text,
            "translation": self.text,
            "score": self.score,
            "lexical_score": self.lexical_score,
            "alignment_score": self.alignment_score,
            "evaluations": self.num_evaluations,
            "is_complete": self.is_complete,
            "source_words": [word.text for word in self.source.words],
            "source_offsets": _offsets(self.source.words),
            "original_offsets": spans_in_original(original, self.source.text, _offsets(self.source.words)),
            "target_words": [word.text for word in self.target.words],
            "target_offsets": _offsets(self.target.words),
            "source_pieces": list(self.source.pieces),
            "target_pieces": list(self.target.pieces),
            "positions": list(self.positions),
        }
        if self.alignment is not None:
            values["alignment"] = str(self.alignment)
            values["confidences"] = [round(self.confidences[link], 4) for link in self.alignment]
            values["attended"] = list(self.attended)
        if self.matches:
            values["dictionary"] = [entry.to_json() for entry in self.entries]
        if self.alternatives:
            values["alternatives"] = [other.to_json() for other in self.alternatives]
        if self.notes:
            values["notes"] = list(self.notes)
        return values


def _offsets(words: Sequence[Word]) -> list[tuple[int, int]]:
    return [(word.start, word.end) for word in words]


def with_distinct_texts(translations: Sequence[Translation]) -> list[Translation]:
    """The same without those whose text stands there already: of several ways to point, the first keeps its place."""
    distinct: dict[str, Translation] = {}
    for translation in translations:
        distinct.setdefault(translation.text, translation)
    return [*distinct.values()]


def join_parts(
    parts: Sequence[Sequence[Translation]], source_gaps: Sequence[str], target_gap: str, num_best: int
) -> list[Translation]:
    """The best translations of a long text, from the best ones of each of its parts.

    source_gaps: what stands between the parts in the source, a space or nothing. target_gap: the same for the target.
    """
    if len(parts) == 1:
        return [*parts[0]][:num_best]
    joined = [*parts[0]]
    for gap, candidates in zip(source_gaps, parts[1:], strict=True):
        pairs = sorted(itertools.product(joined, candidates), key=lambda pair: -(pair[0].score + pair[1].score))
        joined = [concatenate(pair, [gap], [target_gap]) for pair in pairs[:num_best]]
    note = f"long text, cut into {len(parts)} parts"
    if not all(ends_with_sentence(part[0].source) for part in parts[:-1]):
        note += ", not all of them at a sentence's end"
    return [replace(one, notes=(note, *dict.fromkeys(one.notes))) for one in joined]


def concatenate(parts: Sequence[Translation], source_gaps: Sequence[str], target_gaps: Sequence[str]) -> Translation:
    """One translation from several in a row, with what stands between them in the source and in the target."""
    if len(parts) == 1:
        return parts[0]
    sources = _concatenate_encodings([part.source for part in parts], source_gaps)
    targets = _concatenate_encodings([part.target for part in parts], target_gaps)
    links: dict[Link, float] = {}
    positions: list[int] = []
    attended: list[int] = []
    matches: list[Match] = []
    uses: list[Use] = []
    source_words = target_words = source_pieces = target_pieces = 0
    for part in parts:
        for link in part.alignment or ():
            links[Link(link.source + source_words, link.target + target_words)] = part.confidences[link]
        positions += [position + source_pieces for position in part.positions]
        attended += [position + source_pieces for position in part.attended]
        uses += [Use(use.match + len(matches), _move(use.pieces, target_pieces)) for use in part.uses]
        matches += [_move_match(match, source_words, source_pieces) for match in part.matches]
        source_words, target_words = source_words + len(part.source.words), target_words + len(part.target.words)
        source_pieces, target_pieces = source_pieces + len(part.source), target_pieces + len(part.target)
    return replace(
        parts[0],
        attention=None,
        source=sources,
        target=targets,
        positions=tuple(positions),
        score=sum(part.score for part in parts),
        lexical_score=sum(part.lexical_score for part in parts),
        alignment_score=sum(part.alignment_score for part in parts),
        num_evaluations=sum(part.num_evaluations for part in parts),
        is_complete=all(part.is_complete for part in parts),
        alignment=None if parts[0].alignment is None else Alignment(frozenset(links)),
        confidences=links,
        attended=tuple(attended),
        matches=tuple(matches),
        uses=tuple(uses),
        notes=tuple([note for part in parts for note in part.notes]),
    )


def _concatenate_encodings(encodings: Sequence[Encoding], gaps: Sequence[str]) -> Encoding:
    texts: list[str] = []
    words: list[Word] = []
    word_of_piece: list[int] = []
    place = 0
    for encoding, gap in zip(encodings, ["", *gaps], strict=True):
        gap = gap if place and encoding.text else ""
        texts += [gap, encoding.text]
        place += len(gap)
        word_of_piece += [word + len(words) for word in encoding.word_of_piece]
        words += [Word(word.text, word.start + place, word.end + place) for word in encoding.words]
        place += len(encoding.text)
    return Encoding(
        text="".join(texts),
        words=tuple(words),
        pieces=tuple(itertools.chain.from_iterable([encoding.pieces for encoding in encodings])),
        ids=tuple(itertools.chain.from_iterable([encoding.ids for encoding in encodings])),
        word_of_piece=tuple(word_of_piece),
    )


def _move_match(match: Match, num_words: int, num_pieces: int) -> Match:
    return replace(match, words=_move(match.words, num_words), positions=_move(match.positions, num_pieces))


def _move(stretch: range, offset: int) -> range:
    return range(stretch.start + offset, stretch.stop + offset)
