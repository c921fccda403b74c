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
            values["dictionary"] = self._dictionary_to_json()
        if self.alternatives:
            values["alternatives"] = [other.to_json() for other in self.alternatives]
        if self.notes:
            values["notes"] = list(self.notes)
        return values

    def _dictionary_to_json(self) -> list[dict[str, Any]]:
        used = {use.match: use for use in self.uses}
        entries = []
        for number, match in enumerate(self.matches):
            use = used.get(number)
            entries.append(
                {
                    "entry": str(match.entry),
                    "source_words": [*match.words],
                    "is_used": use is not None,
                    "target_pieces": [] if use is None else [*use.pieces],
                }
            )
        return entries


def _offsets(words: Sequence[Word]) -> list[tuple[int, int]]:
    return [(word.start, word.end) for word in words]


def with_distinct_texts(translations: Sequence[Translation]) -> list[Translation]:
    """The same without those whose text stands there already: of several ways to point, the first is kept."""
    return list({translation.text: translation for translation in reversed(translations)}.values())[::-1]


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
        joined = [append_translation(*pair, gap, target_gap) for pair in pairs[:num_best]]
    note = f"long text, cut into {len(parts)} parts"
    if not all(ends_with_sentence(part[0].source) for part in parts[:-1]):
        note += ", not all of them at a sentence's end"
    return [replace(one, notes=(note, *dict.fromkeys(one.notes))) for one in joined]


def append_translation(first: Translation, second: Translation, source_gap: str, target_gap: str) -> Translation:
    """One translation after another, with what stands between them in the source and in the target."""
    source_words, target_words = len(first.source.words), len(first.target.words)
    source_pieces, target_pieces = len(first.source), len(first.target)
    move = {link: Link(link.source + source_words, link.target + target_words) for link in second.alignment or ()}
    alignment = None
    if first.alignment is not None:
        alignment = Alignment.of([*first.alignment, *move.values()])
    return replace(
        first,
        attention=None,
        source=_append_encoding(first.source, second.source, source_gap),
        target=_append_encoding(first.target, second.target, target_gap),
        positions=first.positions + tuple([position + source_pieces for position in second.positions]),
        score=first.score + second.score,
        lexical_score=first.lexical_score + second.lexical_score,
        alignment_score=first.alignment_score + second.alignment_score,
        num_evaluations=first.num_evaluations + second.num_evaluations,
        is_complete=first.is_complete and second.is_complete,
        alignment=alignment,
        confidences=first.confidences | {move[link]: second.confidences[link] for link in move},
        attended=first.attended + tuple([position + source_pieces for position in second.attended]),
        matches=first.matches + tuple([_move_match(match, source_words, source_pieces) for match in second.matches]),
        uses=first.uses
        + tuple([Use(use.match + len(first.matches), _move(use.pieces, target_pieces)) for use in second.uses]),
        notes=first.notes + second.notes,
    )


def _append_encoding(first: Encoding, second: Encoding, gap: str) -> Encoding:
    gap = gap if first.text and second.text else ""
    offset, num_words = len(first.text) + len(gap), len(first.words)
    return Encoding(
        text=f"{first.text}{gap}{second.text}",
        words=first.words + tuple([Word(w.text, w.start + offset, w.end + offset) for w in second.words]),
        pieces=first.pieces + second.pieces,
        ids=first.ids + second.ids,
        word_of_piece=first.word_of_piece + tuple([word + num_words for word in second.word_of_piece]),
    )


def _move_match(match: Match, num_words: int, num_pieces: int) -> Match:
    return replace(match, words=_move(match.words, num_words), positions=_move(match.positions, num_pieces))


def _move(stretch: range, offset: int) -> range:
    return range(stretch.start + offset, stretch.stop + offset)
