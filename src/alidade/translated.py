"""A translation: what comes out of `Translator`, and how those of a long text's parts become one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from alidade.alignment.links import Alignment, Link
from alidade.dictionary.constraints import Use
from alidade.dictionary.matching import Match
from alidade.search.long_texts import ends_with_sentence
from alidade.text.subwords import Encoding
from alidade.text.words import Word


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation, and where each of its words comes from."""

    source: Encoding
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
    """Further translations, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What a person should know about it, for instance that a long text was cut into parts."""

    @property
    def text(self) -> str:
        return self.target.text

    @property
    def unused(self) -> tuple[Match, ...]:
        """The dictionary's entries that apply but were not used."""
        used = {use.match for use in self.uses}
        return tuple([match for number, match in enumerate(self.matches) if number not in used])

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, for a line of JSON."""
        values: dict[str, Any] = {
            "source": self.source.text,
            "translation": self.text,
            "score": self.score,
            "lexical_score": self.lexical_score,
            "alignment_score": self.alignment_score,
            "evaluations": self.num_evaluations,
            "is_complete": self.is_complete,
            "source_words": [word.text for word in self.source.words],
            "target_words": [word.text for word in self.target.words],
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


def join_translations(parts: list[Translation]) -> Translation:
    """One translation from those of a long text's parts."""
    if len(parts) == 1:
        return parts[0]
    notes = [f"long text, cut into {len(parts)} parts"]
    if not all(ends_with_sentence(part.source) for part in parts[:-1]):
        notes = [f"long text, cut into {len(parts)} parts, not all of them at a sentence's end"]
    joined = parts[0]
    for part in parts[1:]:
        joined = _append(joined, part)
    return replace(
        joined, alternatives=(), notes=(*notes, *dict.fromkeys([note for part in parts for note in part.notes]))
    )


def _append(first: Translation, second: Translation) -> Translation:
    source_words, target_words = len(first.source.words), len(first.target.words)
    source_pieces, target_pieces = len(first.source), len(first.target)
    move = {link: Link(link.source + source_words, link.target + target_words) for link in second.alignment or ()}
    alignment = None
    if first.alignment is not None:
        alignment = Alignment.of([*first.alignment, *move.values()])
    return replace(
        first,
        source=_append_encoding(first.source, second.source),
        target=_append_encoding(first.target, second.target),
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
    )


def _append_encoding(first: Encoding, second: Encoding) -> Encoding:
    if not first.text:
        return second
    offset, num_words = len(first.text) + 1, len(first.words)
    return Encoding(
        text=f"{first.text} {second.text}",
        words=first.words + tuple([Word(w.text, w.start + offset, w.end + offset) for w in second.words]),
        pieces=first.pieces + second.pieces,
        ids=first.ids + second.ids,
        word_of_piece=first.word_of_piece + tuple([word + num_words for word in second.word_of_piece]),
    )


def _move_match(match: Match, num_words: int, num_pieces: int) -> Match:
    return replace(match, words=_move(match.words, num_words), positions=_move(match.positions, num_pieces))


def _move(stretch: range, offset: int) -> range:
    return range(stretch.start + offset, stretch.stop + offset)
