"""Aligner: the links of pairs that exist already, and what a system thinks of them.

    for pair in align([("A man is sleeping.", "Un bărbat doarme.")]):
        print(pair.alignment)

An assisted system is asked how likely each position of the given target is under its lexical and its alignment model:
the search with the whole target given. Words whose probability is high enough are linked, others are not; or each
target piece is linked where the best path puts it. A baseline is asked where its attention is greatest (paper, section
5). Two systems, one for each direction, have two opinions: the mean of their probabilities decides, or two alignments
are symmetrised as those of statistical aligners are. Other aligners err in other places, so their links can have a say,
too: their mean and that of the systems count alike.

A long pair is cut into parts, at sentence ends as far as possible, and no link goes from one part into another: the
time that a pair takes grows with its length, not with the square of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from alidade.alignment.links import Alignment
from alidade.alignment.positions import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_mean_shares,
    links_of_shares,
    links_of_words,
    shares_of_links,
    shares_of_words,
)
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.errors import AlidadeError, ArgumentError, ModelError
from alidade.io import read_lines
from alidade.model_folder import ModelFolder
from alidade.parallel import Workers, chunked
from alidade.search.forced import PairScore, align_targets, likely_positions, score_pairs
from alidade.text.languages import is_same_language
from alidade.text.sentences import SENTENCE_ENDS
from alidade.text.subwords import Encoding, Subwords
from alidade.text.tokenised import encode_tokenised
from alidade.text.words import Word
from alidade.translation import Translation
from alidade.translator import Translator

TextPair = tuple[str, str]
Evidence = Literal["posteriors", "path", "attention"]
"""What links words: how likely positions are, the best path of positions, or attention."""
Joining = Symmetrisation | Literal["mean"]
"""How two directions become one alignment."""
Model = Translator | ModelFolder | Path | str | None
"""A translator, a model folder or its path; None: the model that is shipped."""

BATCHES_A_CHUNK = 2
MAX_POSITIONED = 2000
"""A pair with given positions cannot be cut: its positions may lead from anywhere to anywhere."""
THRESHOLD = 0.35
"""Words are linked if their (mean) probability is at least this: the lowest alignment error on half of the
Romanian–English gold pairs (experiments/LOG.md)."""


def align(
    pairs: Iterable[TextPair],
    model: Model = None,
    *,
    reverse_model: Model = None,
    links: Mapping[str, Iterable[Alignment]] | None = None,
    symmetrisation: Joining | None = None,
    by: Evidence | None = None,
    threshold: float = THRESHOLD,
    is_tokenised: bool = False,
) -> list[Translation]:
    """The given targets as translations of their sources, with links of words; scores are left at zero.

    reverse_model: translates target into source; the two are joined, `symmetrisation` says how (None: the mean of
    posteriors, or grow-diag-final-and of other evidence). links: what other aligners say, by their names (or their
    files', for errors), an alignment of each pair's words. The mean of their links and the systems' probabilities count
    alike: what has more than half is linked, and a word that would have no link takes its best one, if that reaches the
    threshold. An alignment without links has no say. by: None is what suits a system best, posteriors if it is assisted
    and attention if not. Posteriors are the models' own: the weights of the search's settings have no part in them.
    threshold: for posteriors. is_tokenised: words are what stands between spaces, not what `split_words` says.
    """
    forward, reverse = _translators(model, reverse_model)
    job = AlignmentJob(forward, reverse, symmetrisation, by, threshold, is_tokenised)
    return job(list(link_pairs(pairs, links or {})))


def align_lines(
    pairs: Iterable[TextPair],
    model: Model = None,
    *,
    reverse_model: Model = None,
    links: Mapping[str, Iterable[Alignment]] | None = None,
    symmetrisation: Joining | None = None,
    by: Evidence | None = None,
    threshold: float = THRESHOLD,
    is_tokenised: bool = False,
    workers: int = 1,
) -> Iterator[Translation]:
    """Align a stream of pairs as `align` does, in order and with little of it in memory.

    workers: so many processes share the work; see `Translator.translate_lines`.
    """
    forward, reverse = _translators(model, reverse_model)
    job = AlignmentJob(forward, reverse, symmetrisation, by, threshold, is_tokenised)
    chunks = chunked(link_pairs(pairs, links or {}), BATCHES_A_CHUNK * forward.batch_size)
    with Workers(workers) as pool:
        for aligned in pool.map_in_order(job, chunks):
            yield from aligned


class OtherLinks(NamedTuple):
    """What another aligner says of a pair."""

    alignment: Alignment
    place: str
    """Where it stood, for errors."""

    @classmethod
    def parse(cls, line: str, place: str) -> OtherLinks:
        """Read a line of a Pharaoh file."""
        try:
            return cls(Alignment.parse(line), place)
        except AlidadeError as error:
            raise AlidadeError(f"{place}: {error}") from None


class LinkedPair(NamedTuple):
    """A pair and what other aligners say of it."""

    pair: TextPair
    others: tuple[OtherLinks, ...] = ()


def link_pairs(pairs: Iterable[TextPair], links: Mapping[str, Iterable[Alignment]]) -> Iterator[LinkedPair]:
    """Each pair with its alignments by others, which have as many as there are pairs."""
    others = {name: iter(alignments) for name, alignments in links.items()}
    number = 0
    for number, pair in enumerate(pairs, start=1):
        said = []
        for name, alignments in others.items():
            if (alignment := next(alignments, None)) is None:
                raise AlidadeError(f"{name} has links of {number - 1} pairs, and there are more: each needs a line")
            said.append(OtherLinks(alignment, f"{name}, line {number}"))
        yield LinkedPair(_check_pair(pair), tuple(said))
    for name, alignments in others.items():
        if next(alignments, None) is not None:
            raise AlidadeError(f"{name} has links of more pairs than the {number} that there are")


@dataclass(frozen=True, slots=True)
class AlignmentJob:
    """How pairs are aligned; what travels to another process."""

    forward: Translator
    reverse: Translator | None
    symmetrisation: Joining | None
    by: Evidence | None
    threshold: float
    is_tokenised: bool

    def __call__(self, linked_pairs: Sequence[LinkedPair]) -> list[Translation]:
        if self.symmetrisation not in (None, "mean") and any(linked.others for linked in linked_pairs):
            raise ArgumentError(
                f"other aligners' links and the system's are joined by their mean, not by {self.symmetrisation}: leave "
                "the symmetrisation out"
            )
        pairs = [linked.pair for linked in linked_pairs]
        there = _read(self.forward, pairs, self.is_tokenised, self.by)
        back: Sequence[_GivenPair | None] = [None] * len(pairs)
        if self.reverse is not None:
            turned = [(target, source) for source, target in pairs]
            back = _read(self.reverse, turned, self.is_tokenised, self.by)
        others = [linked.others for linked in linked_pairs]
        return [self._join(*known) for known in zip(there, back, others, strict=True)]

    def _join(self, there: _GivenPair, back: _GivenPair | None, others: Sequence[OtherLinks]) -> Translation:
        """One alignment from all that is known of a pair."""
        shares = there.shares if back is None else (there.shares + back.shares.T) / 2
        if said := [there.shares_of(other) for other in others if other.alignment]:
            shares = (shares + sum(said) / len(said)) / 2
            return there.with_links(links_of_mean_shares(shares, self.threshold), shares)
        if back is None:
            return there.with_links(there.links(self.threshold), shares)
        joining = self.symmetrisation
        if joining is None:
            joining = "mean" if there.by == back.by == "posteriors" else "grow-diag-final-and"
        if joining == "mean":
            return there.with_links(links_of_shares(shares, self.threshold), shares)
        alignments = there.links(self.threshold), back.links(self.threshold).transposed()
        return there.with_links(symmetrise(*alignments, joining), shares)


def read_pairs(source: Path | str, target: Path | str) -> Iterator[TextPair]:
    """The pairs of two line-parallel files."""
    number = 0
    for number, (one, other) in enumerate(
        itertools.zip_longest(read_lines(Path(source)), read_lines(Path(target))), start=1
    ):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            raise AlidadeError(
                f"{shorter} has {number - 1} lines, {longer} has more: a bitext needs as many on each side"
            )
        yield one, other
    if number == 0:
        raise AlidadeError(f"{source} and {target} are empty: there is nothing to align")


def score(
    pairs: Iterable[TextPair],
    model: Model = None,
    *,
    positions: Sequence[Sequence[int]] | None = None,
    first_number: int = 1,
) -> list[PairScore]:
    """What a system thinks of given translations, as its search would score them.

    positions: for each target piece the source piece, counted from 1; None: the best that an assisted system finds.
    first_number: of the first pair, for errors.
    """
    translator = _translator(model)
    encoded = [_encode_pair(translator, pair, is_tokenised=False) for pair in map(_check_pair, pairs)]
    if positions is not None:
        return _score(translator, encoded, _check_positions(positions, encoded, first_number))
    cut = [_cut_pair(*pair, translator.settings.max_source_length) for pair in encoded]
    parts = iter(_score(translator, [part.pair for parts in cut for part in parts], None))
    return [_join_scores([(part, next(parts)) for part in one], translator) for one in cut]


@dataclass(frozen=True, slots=True)
class _GivenPair:
    """A pair and what a system knows of its links."""

    translation: Translation
    by: Evidence
    evidence: Matrix
    """(I, J + 2): posteriors or attention."""
    shares: Matrix
    """The same of words: (target words, source words)."""

    def links(self, threshold: float) -> Alignment:
        if self.by == "posteriors":
            return links_of_shares(self.shares, threshold)
        positions = self.translation.positions if self.by == "path" else attended_positions(self.evidence)
        return links_of_words(positions, self.translation.source, self.translation.target)

    def shares_of(self, other: OtherLinks) -> Matrix:
        """What another aligner says of this pair, as shares of words."""
        translation = self.translation
        other.alignment.require_inside(len(translation.source.words), len(translation.target.words), other.place)
        return shares_of_links(other.alignment, self.shares.shape)

    def with_links(self, alignment: Alignment, shares: Matrix) -> Translation:
        return replace(self.translation, alignment=alignment, confidences=confidences_of_links(alignment, shares))


def _read(
    translator: Translator, pairs: Sequence[TextPair], is_tokenised: bool, by: Evidence | None
) -> list[_GivenPair]:
    """Let a system read the pairs."""
    by = by or ("posteriors" if translator.is_assisted else "attention")
    if by != "attention" and not translator.is_assisted:
        raise ModelError(f"{translator.model.path}: is a baseline, which has no positions; align by attention")
    encoded = [_encode_pair(translator, pair, is_tokenised) for pair in pairs]
    cut = [_cut_pair(*pair, translator.settings.max_source_length) for pair in encoded]
    filled = [part for parts in cut for part in parts if part.is_filled]
    read = iter(_read_parts(translator, filled, by))
    return [
        _join_parts(pair, parts, [next(read) if part.is_filled else None for part in parts], by)
        for pair, parts in zip(encoded, cut, strict=True)
    ]


Reading = tuple[Sequence[int], Matrix]
"""The positions of a part's target pieces, and the evidence for them."""


def _read_parts(translator: Translator, parts: Sequence[_PairPart], by: Evidence) -> list[Reading]:
    given = [Translation(part.source, part.target, (), 0.0, 0.0, 0.0) for part in parts]
    evidence: list[Matrix] = []
    if translator.is_assisted:
        search = likely_positions if by == "posteriors" else align_targets
        paths = search(
            translator.system,
            [part.source.ids for part in parts],
            [part.target.ids for part in parts],
            translator.settings,
            translator.batch_size,
        )
        given = [replace(one, positions=path.positions) for one, path in zip(given, paths, strict=True)]
        evidence = [path.posteriors for path in paths]
    if by == "attention":
        evidence = translator.attention(given)
    return [(one.positions, matrix) for one, matrix in zip(given, evidence, strict=True)]


def _join_parts(
    pair: tuple[Encoding, Encoding], parts: Sequence[_PairPart], readings: Sequence[Reading | None], by: Evidence
) -> _GivenPair:
    source, target = pair
    evidence = np.zeros((len(target), len(source) + 2))
    positions: list[int] = []
    for part, reading in zip(parts, readings, strict=True):
        if reading is not None:
            first_row, first_column = part.target_start, part.source_start
            num_rows, num_columns = reading[1].shape
            evidence[first_row : first_row + num_rows, first_column : first_column + num_columns] += reading[1]
            positions += [position + part.source_start for position in reading[0]]
    notes = () if len(parts) == 1 else (f"long pair, aligned in {len(parts)} parts",)
    translation = Translation(source, target, tuple(positions), 0.0, 0.0, 0.0, notes=notes)
    return _GivenPair(translation, by, evidence, shares_of_words(evidence, source, target))


def _score(
    translator: Translator, pairs: Sequence[tuple[Encoding, Encoding]], positions: Sequence[Sequence[int]] | None
) -> list[PairScore]:
    return score_pairs(
        translator.system,
        [source.ids for source, _ in pairs],
        [target.ids for _, target in pairs],
        positions,
        translator.settings,
        translator.batch_size,
    )


def _join_scores(parts: Sequence[tuple[_PairPart, PairScore]], translator: Translator) -> PairScore:
    """The score of a long pair: only its last part ends with the target's `</s>`."""
    if len(parts) == 1:
        return parts[0][1]
    *others, last = [one for _, one in parts]
    lexical = [logp for one in others for logp in one.lexical_logp[:-1]] + [*last.lexical_logp]
    alignment = [logp for one in others for logp in one.alignment_logp[:-1]] + [*last.alignment_logp]
    settings = translator.settings
    coverage_cost = sum(one.coverage_cost for _, one in parts)
    total = settings.lexical_weight * math.fsum(lexical) + settings.alignment_weight * math.fsum(alignment)
    total -= settings.coverage_weight * coverage_cost
    positions = [position + part.source_start for part, one in parts for position in one.positions]
    last_part, num_rows = parts[-1][0], sum(len(part.target) for part, _ in parts)
    attention = np.zeros((num_rows, last_part.source_start + len(last_part.source) + 2), dtype=np.float32)
    for part, one in parts:
        rows, columns = one.attention.shape
        attention[part.target_start :][:rows, part.source_start :][:, :columns] = one.attention
    return PairScore(
        positions=tuple(positions),
        lexical_logp=tuple(lexical),
        alignment_logp=tuple(alignment),
        coverage_cost=coverage_cost,
        score=total / len(lexical) ** settings.length_normalisation,
        attention=attention,
        notes=(f"long pair, scored in {len(parts)} parts",),
    )


@dataclass(frozen=True, slots=True)
class _PairPart:
    """A stretch of both sides of a pair, and the pieces before it."""

    source: Encoding
    target: Encoding
    source_start: int = 0
    target_start: int = 0

    @property
    def pair(self) -> tuple[Encoding, Encoding]:
        return self.source, self.target

    @property
    def is_filled(self) -> bool:
        return bool(len(self.source) and len(self.target))


def _cut_pair(source: Encoding, target: Encoding, max_pieces: int) -> list[_PairPart]:
    """A pair in parts of which no side is longer than `max_pieces`; most pairs are one."""
    return _halve(_PairPart(source, target), max_pieces)


def _halve(part: _PairPart, max_pieces: int) -> list[_PairPart]:
    if max(len(part.source), len(part.target)) <= max_pieces or min(map(len, _words(part))) < 2:
        return [part]
    source_cut, target_cut = _middle(part)
    source = _slice(part.source, range(source_cut)), _slice(part.source, range(source_cut, len(part.source.words)))
    target = _slice(part.target, range(target_cut)), _slice(part.target, range(target_cut, len(part.target.words)))
    starts = part.source_start + len(source[0]), part.target_start + len(target[0])
    first = _PairPart(source[0], target[0], part.source_start, part.target_start)
    return [*_halve(first, max_pieces), *_halve(_PairPart(source[1], target[1], *starts), max_pieces)]


def _words(part: _PairPart) -> tuple[Sequence[Word], Sequence[Word]]:
    return part.source.words, part.target.words


def _middle(part: _PairPart) -> tuple[int, int]:
    """The word of each side before which to cut: at sentence ends if there are, and at the same one on both sides."""
    source, target = _words(part)
    source_ends, target_ends = (
        [number for number in range(1, len(words)) if words[number - 1].text[-1:] in SENTENCE_ENDS]
        for words in (source, target)
    )
    source_cut = min(source_ends or [len(source) // 2], key=lambda end: abs(2 * end - len(source)))
    if source_ends and len(source_ends) == len(target_ends):
        return source_cut, target_ends[source_ends.index(source_cut)]
    wanted = min(max(round(source_cut / len(source) * len(target)), 1), len(target) - 1)
    return source_cut, min(target_ends or [wanted], key=lambda end: abs(end - wanted))


def _slice(encoding: Encoding, words: range) -> Encoding:
    """Some words of a text, with their pieces as they were."""
    pieces = [piece for piece, word in enumerate(encoding.word_of_piece) if word in words]
    stretch = slice(pieces[0], pieces[-1] + 1) if pieces else slice(0, 0)
    start, end = encoding.words[words[0]].start, encoding.words[words[-1]].end
    return Encoding(
        text=encoding.text[start:end],
        words=tuple([Word(w.text, w.start - start, w.end - start) for w in encoding.words[words[0] : words[-1] + 1]]),
        pieces=encoding.pieces[stretch],
        ids=encoding.ids[stretch],
        word_of_piece=tuple([word - words[0] for word in encoding.word_of_piece[stretch]]),
    )


def _encode_pair(translator: Translator, pair: TextPair, is_tokenised: bool) -> tuple[Encoding, Encoding]:
    model = translator.model
    return (
        _encode(pair[0], model.source_subwords, model.normalise_source, is_tokenised),
        _encode(pair[1], model.target_subwords, model.normalise_target, is_tokenised),
    )


def _encode(text: str, subwords: Subwords, normalise: Callable[[str], str], is_tokenised: bool) -> Encoding:
    if not is_tokenised:
        return subwords.encode(normalise(text))
    return encode_tokenised([normalise(word) or word for word in text.split()], subwords)  # none may vanish


def _translator(model: Model) -> Translator:
    return model if isinstance(model, Translator) else Translator(model)


def _translators(model: Model, reverse_model: Model) -> tuple[Translator, Translator | None]:
    forward = _translator(model)
    if reverse_model is None:
        return forward, None
    reverse = _translator(reverse_model)
    _check_directions(forward, reverse)
    return forward, reverse


def _check_pair(pair: TextPair) -> TextPair:
    match pair:
        case (str(source), str(target)):
            return source, target
        case _:
            raise ArgumentError(f"a pair of texts, source and target, is needed, not {pair!r:.80}")


def _check_positions(
    positions: Sequence[Sequence[int]], pairs: Sequence[tuple[Encoding, Encoding]], first_number: int
) -> Sequence[Sequence[int]]:
    if len(positions) != len(pairs):
        raise ArgumentError(f"positions of {len(positions)} pairs for {len(pairs)} pairs: one list is needed for each")
    for number, (path, (source, target)) in enumerate(zip(positions, pairs, strict=True), first_number):
        if max(len(source), len(target)) > MAX_POSITIONED:
            raise ArgumentError(f"positions, line {number}: this pair is too long, {MAX_POSITIONED} pieces at most")
        if len(path) != len(target) or not all(1 <= position <= len(source) for position in path):
            raise ArgumentError(
                f"positions, line {number}: {len(target)} numbers from 1 to {len(source)} are needed, one for each "
                "piece of the target"
            )
    return positions


def _check_directions(forward: Translator, reverse: Translator) -> None:
    there, back = forward.languages, reverse.languages
    if not (is_same_language(there[0], back[1]) and is_same_language(there[1], back[0])):
        raise ArgumentError(
            f"{reverse.model.path} translates {back[0]} to {back[1]}: the reverse of {there[0]} to {there[1]} is needed"
        )
