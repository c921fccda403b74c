"""Translator: text in, translations with links out.

    translator = Translator("model")  # or, without a folder, the model that is shipped
    translation = translator.translate("A man is sleeping.")
    print(translation.text, translation.alignment)

A text becomes pieces (`text/`), in several parts if it is long; the search finds the best translations of each part
(`search/`), held to the dictionary if there is one; the pieces' positions become links of words
(`alignment/positions.py`); and the parts become one `Translation` again. `translate_lines` does so for a stream of any
length, in several processes if wanted.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import itertools
import multiprocessing
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

import regex

from alidade.alignment.links import Alignment
from alidade.alignment.positions import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_words,
    shares_of_words,
)
from alidade.config import NormalisationSettings, SearchSettings, parse_settings
from alidade.dictionary.draft import Draft
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.given import DictionaryLike, read_dictionary
from alidade.dictionary.matching import Match, find_matches
from alidade.dictionary.rules import SentenceRules, WordBorders
from alidade.engine.graph import Precision
from alidade.engine.system import EngineSystem, load_engine, preferred_precision
from alidade.errors import ArgumentError, suggest_name
from alidade.io import Pause
from alidade.model_folder import ModelFolder, default_model, load_model_folder
from alidade.parallel import available_cores
from alidade.protection.protect import Protection
from alidade.protection.translate import PlainText, translate_protected
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch
from alidade.search.dictionary import DictionaryRestriction, TermSentence
from alidade.search.forced import score_pairs
from alidade.search.hypotheses import Hypothesis, Request, SearchResult
from alidade.search.restrictions import Restriction, WholeWords
from alidade.text.languages import is_written_without_spaces
from alidade.text.sentences import SENTENCES, Splitting, TextPart, split_text
from alidade.text.subwords import Encoding
from alidade.text.words import TOKENISED
from alidade.translation import Translation, join_parts, with_distinct_texts

Mode = Literal["suggest", "require"]
"""Take the dictionary's entries where they fit, or all of them."""
WIDENINGS = (2, 4, 8)
"""Where a beam holds too few different texts, one of so many times the wanted number is searched, and then the next.
The shipped model needs no widening for half of its five-best lists, twofold for nearly all of the others."""


class SearchChanges(TypedDict, total=False):
    """Single settings of the search; see `config.SearchSettings`."""

    beam_size: int
    lexical_weight: float
    alignment_weight: float
    length_normalisation: float
    stopping: Literal["finished", "attainable", "shrinking"]
    max_length_factor: float
    max_source_length: int
    can_repeat: bool
    pruning: Literal["none", "threshold", "pairs", "histogram", "exact"]
    threshold: float
    histogram: int


@dataclass(frozen=True, slots=True)
class _Part:
    """What is searched for at once: a text, or a part of a long one."""

    source: Encoding
    prefix: tuple[int, ...]
    matches: tuple[Match, ...]
    draft: Draft | None = None
    """Its best translation without the dictionary, if that does not obey it."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A text to translate."""

    original: str
    parts: tuple[_Part, ...]
    gaps: tuple[str, ...]
    """What stands between the parts."""


class Translator:
    """Translates with one model folder.

    Several threads may use one translator. It can be pickled and copied: what travels is the path of its folder and its
    settings.
    """

    def __init__(
        self,
        model: ModelFolder | Path | str | None = None,
        settings: SearchSettings | None = None,
        *,
        batch_size: int = 32,
        threads: int | None = None,
        precision: Precision | None = None,
        device: str = "cpu",
        **changes: Unpack[SearchChanges],
    ) -> None:
        """model: a model folder; None: the one that is shipped with the package.

        settings: how to search, instead of the model folder's; changes: single settings, `beam_size=1`. batch_size:
        sentences that are searched at once. threads: of this process; None: as many as there are cores.
        """
        _check_count("batch_size", batch_size)
        if threads is not None:
            _check_count("threads", threads)
        self.model = _load(model)
        base = settings or self.model.search
        self.settings = parse_settings(SearchSettings, base.model_dump() | dict(changes), source="search settings")
        self.batch_size = batch_size
        self._lock = threading.RLock()
        self._last_dictionary: tuple[Dictionary | None, Dictionary | None] = None, None
        """As given, and as normalised."""
        self._threads, self._precision, self._device = threads, precision, device
        self._system: EngineSystem | None = None
        _translators.add(self)

    def with_settings(self, settings: SearchSettings) -> Translator:
        """A translator with the same model in memory that searches in another way."""
        other = copy.copy(self)
        other.settings = settings
        return other

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        _translators.add(other)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)  # nothing in a translator changes

    def __reduce__(self) -> tuple[Any, ...]:
        engine = {"threads": self._threads, "precision": self.precision, "device": self._device}
        return _rebuild, (type(self), str(self.model.path), self.settings.model_dump(), self.batch_size, engine)

    @property
    def system(self) -> EngineSystem:
        """The models, ready to run; loaded when they are first needed, and anew in a forked process."""
        with self._lock:
            if self._system is None:
                threads = self._threads or available_cores()
                self._system = load_engine(self.model, precision=self._precision, threads=threads, device=self._device)
            return self._system

    @property
    def precision(self) -> Precision:
        """Of the models' products: what was asked for, or what suits this processor."""
        return self._precision or preferred_precision()

    @property
    def is_assisted(self) -> bool:
        """Whether the system has positions."""
        return self.system.lexical.is_assisted

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target, as the model folder names them."""
        return self.model.source_subwords.language, self.model.target_subwords.language

    def translate(
        self,
        text: str,
        *,
        dictionary: DictionaryLike | None = None,
        mode: Mode = "suggest",
        prefix: str | None = None,
        num_best: int = 1,
        with_links: bool = True,
        protect: bool = True,
    ) -> Translation:
        """Translate one text, of one sentence or several.

        dictionary: wanted translations; mode: "suggest" takes its entries where they fit, "require" all of them.
        prefix: whole words that the translation begins with. num_best: that many translations with different texts, as
        far as there are; the others are the first one's `alternatives`. with_links: say which word comes from which.
        protect: placeholders, tags, addresses and the like come out as they are, and sentences are translated one by
        one; False: the model reads the text as it stands, and writes what it likes.
        """
        prefixes = None if prefix is None else [prefix]
        return self.translate_all(
            [text],
            dictionary=dictionary,
            mode=mode,
            prefixes=prefixes,
            num_best=num_best,
            with_links=with_links,
            protect=protect,
        )[0]

    def translate_all(
        self,
        texts: Iterable[str],
        *,
        dictionary: DictionaryLike | None = None,
        mode: Mode = "suggest",
        prefixes: Iterable[str] | None = None,
        num_best: int = 1,
        with_links: bool = True,
        protect: bool = True,
        splitting: Splitting = SENTENCES,
        first_number: int = 1,
    ) -> list[Translation]:
        """Translate texts; the translations are in their order. The options are those of `translate`.

        prefixes: for each text what its translation begins with. splitting: where sentences may end. first_number: of
        the first text, for dictionary entries that belong to one sentence of many.
        """
        texts = _check_texts(texts)
        given_prefixes = [""] * len(texts) if prefixes is None else _check_texts(prefixes, "prefixes")
        if len(given_prefixes) != len(texts):
            raise ArgumentError(f"{len(given_prefixes)} prefixes for {len(texts)} texts: give one for each")
        _check_mode(mode)
        _check_count("num_best", num_best)
        loaded = self.load_dictionary(dictionary)
        plain = [
            PlainText(text, prefix, number)
            for number, (text, prefix) in enumerate(zip(texts, given_prefixes, strict=True), start=first_number)
        ]
        if not protect or self.languages[0] == TOKENISED:
            return self._translate_plain(plain, loaded, mode, num_best, with_links)

        def translate(sentences: Sequence[PlainText], must_use_all: bool) -> list[Translation]:
            needs_links = with_links or not self.is_assisted
            return self._translate_plain(sentences, loaded, "require" if must_use_all else mode, num_best, needs_links)

        translations = translate_protected(plain, self._protection, translate, loaded, num_best, splitting)
        return translations if with_links else [_without_links(translation) for translation in translations]

    def _translate_plain(
        self, texts: Sequence[PlainText], dictionary: Dictionary | None, mode: Mode, num_best: int, with_links: bool
    ) -> list[Translation]:
        """Translate texts as they stand, each as one sentence unless it is too long."""
        tasks = [self._task(text, dictionary) for text in texts]
        found = iter(self._search_all([part for task in tasks for part in task.parts], num_best, mode))
        candidates = [[next(found) for _ in task.parts] for task in tasks]
        if with_links:
            links = iter(self.link([one for parts in candidates for part in parts for one in part]))
            candidates = [[[next(links) for _ in part] for part in parts] for parts in candidates]
        return [self._join(task, parts, num_best) for task, parts in zip(tasks, candidates, strict=True)]

    def translate_lines(
        self,
        lines: Iterable[str | Pause],
        *,
        dictionary: DictionaryLike | None = None,
        mode: Mode = "suggest",
        prefixes: Iterable[str] | None = None,
        num_best: int = 1,
        with_links: bool = True,
        protect: bool = True,
        first_number: int = 1,
        workers: int = 1,
    ) -> Iterator[Translation]:
        """Translate a stream, in order, with little of it in memory; the options are those of `translate_all`.

        Lines are read in windows and sorted by length inside them; an `io.Pause` among them asks for what there is.
        workers: so many processes share the work, each with one thread and a model of its own; a program that uses them
        must have `if __name__ == "__main__":` around what it does.
        """
        _check_mode(mode)
        _check_count("num_best", num_best)
        _check_count("workers", workers)
        if isinstance(lines, str):
            raise ArgumentError("lines: a list or an iterator of texts is needed, and this is one text")
        from alidade.streaming import Job, stream  # which imports this module

        loaded = None if dictionary is None else read_dictionary(dictionary, self.languages)
        job = Job(self, loaded, mode, num_best, with_links, protect)
        return stream(job, lines, prefixes, first_number, workers)

    def load_dictionary(self, given: DictionaryLike | None) -> Dictionary | None:
        """Whatever may be given as a dictionary, with its entries written as the texts of training were."""
        if given is None:
            return None
        dictionary = read_dictionary(given, self.languages).in_language(self.languages[0])
        if self.model.description.normalisation == NormalisationSettings():
            return dictionary
        last, normalised = self._last_dictionary
        if last is not dictionary:
            normalised = Dictionary([self._normalise_entry(entry) for entry in dictionary.entries])
            self._last_dictionary = dictionary, normalised
        return normalised

    def _normalise_entry(self, entry: Entry) -> Entry:
        targets, forbidden = [
            tuple(dict.fromkeys([self.model.normalise_target(form) for form in forms]))
            for forms in (entry.targets, entry.forbidden)
        ]
        return replace(entry, source=self.model.normalise_source(entry.source), targets=targets, forbidden=forbidden)

    @functools.cached_property
    def _protection(self) -> Protection:
        return Protection(self.model.source_subwords, self.model.target_subwords)

    def _task(self, text: PlainText, dictionary: Dictionary | None) -> _Task:
        normalised = self.model.normalise_source(text.text)
        stretches = split_text(normalised, self.model.source_subwords, self.settings.max_source_length)
        matches = self._matches(normalised, stretches, dictionary, text.number)
        if text.required:
            required = self._matches(normalised, stretches, Dictionary(text.required), text.number)
            matches = [_united(own, others) for own, others in zip(required, matches, strict=True)]
        parts = [_Part(one.encoding, (), found) for one, found in zip(stretches, matches, strict=True)]
        if text.prefix:
            ids = self.model.target_subwords.encode(self.model.normalise_target(text.prefix)).ids
            parts[0] = replace(parts[0], prefix=ids)
        gaps = [normalised[one.end : other.start] for one, other in itertools.pairwise(stretches)]
        return _Task(text.text, tuple(parts), tuple(gaps))

    def _matches(
        self, text: str, stretches: Sequence[TextPart], dictionary: Dictionary | None, number: int
    ) -> list[tuple[Match, ...]]:
        """The dictionary's matches in each part; the occurrences of a phrase are counted over the whole text."""
        if not dictionary:
            return [()] * len(stretches)
        subwords = self.model.target_subwords
        if len(stretches) == 1:
            return [find_matches(dictionary, stretches[0].encoding, subwords, number)]
        whole = self.model.source_subwords.encode(text)
        matches = find_matches(dictionary, whole, subwords, number)
        return [tuple(_matches_inside(part, whole, matches)) for part in stretches]

    def _search_all(self, parts: Sequence[_Part], num_best: int, mode: Mode) -> list[list[Translation]]:
        """For each part its best translations: of different texts, the best first."""
        beam_size = max(self.settings.beam_size, num_best)
        found = [with_distinct_texts(one) for one in self._search_with(parts, num_best, mode, beam_size)]
        for widening in WIDENINGS if num_best > 1 else ():
            short = [number for number, one in enumerate(found) if len(parts[number].source) and len(one) < num_best]
            wide = widening * num_best
            more = self._search_with([parts[number] for number in short], wide, mode, max(beam_size, wide))
            for number, others in zip(short, more, strict=True):
                best = found[number][0]  # stays the best, as if it had been asked for alone
                found[number] += [other for other in others if other.score <= best.score]
                found[number].sort(key=lambda one: -one.score)
                found[number] = with_distinct_texts(found[number])[:num_best]
        return found

    def _search_with(
        self, parts: Sequence[_Part], num_best: int, mode: Mode, beam_size: int
    ) -> list[list[Translation]]:
        """Search without the dictionary, and once more with it for those parts whose best translation disobeys it.

        A dictionary only takes translations away: the best of all, if it obeys, is the best of those that do.
        """
        found = self._search_parts([replace(part, matches=()) for part in parts], num_best, mode, beam_size)
        drafts = [self._draft(one[0]) for one in found]
        again = [number for number, part in enumerate(parts) if drafts[number].disobeyed(part.matches)]
        restricted = iter(
            self._search_parts(
                [replace(parts[number], draft=drafts[number]) for number in again], num_best, mode, beam_size
            )
        )
        return [
            next(restricted) if number in again else self._obeying(part, one)
            for number, (part, one) in enumerate(zip(parts, found, strict=True))
        ]

    def _draft(self, translation: Translation) -> Draft:
        attention = translation.attention
        positions = translation.positions
        if not self.is_assisted and attention is not None:
            positions = tuple(attended_positions(attention))
        return Draft(translation.target, positions)

    def _obeying(self, part: _Part, translations: Sequence[Translation]) -> list[Translation]:
        """Those that obey the dictionary, with what they use of it."""
        drafts = [(one, self._draft(one)) for one in translations]
        return [
            replace(one, matches=part.matches, uses=draft.uses(part.matches))
            for one, draft in drafts
            if not draft.disobeyed(part.matches)
        ]

    def _search_parts(
        self, parts: Sequence[_Part], num_best: int, mode: Mode, beam_size: int
    ) -> list[list[Translation]]:
        found = map_batches(
            lambda batch: self._search_batch(batch, num_best, mode, beam_size),
            parts,
            lambda part: len(part.source),
            self.batch_size,
        )
        return [self._read(part, result) for part, result in zip(parts, found, strict=True)]

    def _search_batch(
        self, parts: list[_Part], num_best: int, mode: Mode, beam_size: int
    ) -> Sequence[SearchResult | None]:
        """Search for all that is not empty."""
        filled = [part for part in parts if len(part.source)]
        if not filled:
            return [None] * len(parts)
        requests = [Request(part.source.ids, part.prefix) for part in filled]
        settings = self.settings.model_copy(update={"beam_size": beam_size})
        found = BeamSearch(self.system, settings).search(
            requests, num_best=num_best, restrictions=self._restrictions(filled, requests, mode)
        )
        results = iter(found)
        return [next(results) if len(part.source) else None for part in parts]

    def _restrictions(self, parts: list[_Part], requests: list[Request], mode: Mode) -> list[Restriction]:
        """That prefixes are whole words, and what the dictionary has to say about these parts."""
        restrictions: list[Restriction] = []
        if any(part.prefix for part in parts):
            restrictions.append(WholeWords(requests, self._borders.continuing))
        if not any(part.matches for part in parts):
            return restrictions
        sentences = [
            TermSentence(
                self._rules(part.matches, part.draft, mode),
                end_position=request.end_position,
                max_length=request.length_limit(self.settings),
                num_given=len(part.prefix),
                final_mark=_final_mark(part.source),
                absorbed=part.draft.absorbed(part.matches),
            )
            if part.draft
            else None
            for part, request in zip(parts, requests, strict=True)
        ]
        return [*restrictions, DictionaryRestriction(sentences, is_assisted=self.is_assisted)]

    def _rules(self, matches: Sequence[Match], draft: Draft, mode: Mode) -> SentenceRules:
        """`suggest` wants those entries whose words the draft translates, `require` all."""
        required = range(len(matches)) if mode == "require" else draft.translated(matches)
        return SentenceRules(draft.with_capitals(matches), self._borders, required, draft.replaced(matches))

    @functools.cached_property
    def _borders(self) -> WordBorders:
        return WordBorders.of(self.model.target_subwords)

    def _read(self, part: _Part, result: SearchResult | None) -> list[Translation]:
        """From ids back to text."""
        if result is None:
            return [Translation(part.source, self.model.target_subwords.decode(()), (), 0.0, 0.0, 0.0)]
        return [self._read_hypothesis(part, result, hypothesis) for hypothesis in result.hypotheses]

    def _read_hypothesis(self, part: _Part, result: SearchResult, hypothesis: Hypothesis) -> Translation:
        uses = hypothesis.uses
        return Translation(
            source=part.source,
            target=self.model.target_subwords.decode(hypothesis.pieces),
            positions=hypothesis.positions,
            score=hypothesis.score,
            lexical_score=hypothesis.lexical_score,
            alignment_score=hypothesis.alignment_score,
            num_evaluations=result.num_evaluations,
            is_complete=hypothesis.is_complete,
            matches=part.matches,
            uses=uses if isinstance(uses, tuple) else (),
            notes=() if hypothesis.is_complete else ("cut off at the length limit",),
            attention=hypothesis.attention,
        )

    def _join(self, task: _Task, candidates: Sequence[Sequence[Translation]], num_best: int) -> Translation:
        target_gap = "" if is_written_without_spaces(self.model.target_subwords.language) else " "
        best, *others = join_parts(candidates, task.gaps, target_gap, num_best)
        alternatives = [replace(other, original=task.original) for other in others]
        return replace(best, original=task.original, alternatives=tuple(alternatives))

    def attention(self, translations: Sequence[Translation]) -> list[Matrix]:
        """Attention accumulated over layers and heads (paper, section 5): (I, J + 2) for each translation.

        The columns are `<s>`, the source's pieces and `</s>`. In assisted systems the hypothesised position counts one
        for each assisted layer.
        """
        return map_batches(self._attention_batch, list(translations), lambda t: len(t.target), self.batch_size)

    def _attention_batch(self, translations: list[Translation]) -> list[Matrix]:
        if all(t.attention is not None for t in translations):
            return [t.attention for t in translations if t.attention is not None]
        scores = score_pairs(
            self.system,
            [t.source.ids for t in translations],
            [t.target.ids for t in translations],
            [t.positions for t in translations],
            self.settings,
            self.batch_size,
        )
        return [score.attention for score in scores]

    def link(self, translations: Sequence[Translation]) -> list[Translation]:
        """The same translations with their links of words: from positions, or from attention if a system has none."""
        pending = [t for t in translations if len(t.target)]
        attentions = iter(self.attention(pending))
        return [
            self._link_one(t, next(attentions)) if len(t.target) else replace(t, alignment=Alignment())
            for t in translations
        ]

    def _link_one(self, translation: Translation, attention: Matrix) -> Translation:
        attended = attended_positions(attention)
        positions = translation.positions if self.is_assisted else attended
        alignment = links_of_words(positions, translation.source, translation.target)
        shares = shares_of_words(attention, translation.source, translation.target)
        confidences = confidences_of_links(alignment, shares)
        return replace(translation, alignment=alignment, confidences=confidences, attended=tuple(attended))


def _united(first: Sequence[Match], second: Sequence[Match]) -> tuple[Match, ...]:
    """Matches of two dictionaries, from left to right; where they overlap, the first one's."""
    taken = {word for match in first for word in match.words}
    others = [match for match in second if taken.isdisjoint(match.words)]
    return tuple(sorted([*first, *others], key=lambda match: match.words.start))


def _without_links(translation: Translation) -> Translation:
    alternatives = tuple([_without_links(other) for other in translation.alternatives])
    return replace(translation, alignment=None, confidences={}, alternatives=alternatives)


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


def _load(model: ModelFolder | Path | str | None) -> ModelFolder:
    if model is not None and not isinstance(model, ModelFolder | Path | str):
        raise ArgumentError(f"model: the path of a model folder is needed, not {_kind(model)}")
    model = default_model() if model is None else model
    return model if isinstance(model, ModelFolder) else load_model_folder(Path(model))


def _final_mark(source: Encoding) -> range:
    """The positions of the punctuation mark that a sentence ends with; none if it does not."""
    if not source.words or not _MARK.fullmatch(source.words[-1].text):
        return range(0)
    pieces = source.pieces_of_word(len(source.words) - 1)
    return range(pieces.start + 1, pieces.stop + 1)


_MARK = regex.compile(r"\p{P}+")


def _rebuild(
    kind: type[Translator], path: str, settings: dict[str, Any], batch_size: int, engine: dict[str, Any]
) -> Translator:
    """From a pickle; in a worker, which has others beside it, with one thread."""
    if multiprocessing.parent_process() is not None:
        engine = engine | {"threads": 1}
    return kind(path, SearchSettings.model_validate(settings), batch_size=batch_size, **engine)


def _check_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    if isinstance(texts, str):
        raise ArgumentError(f"{name}: a list of texts is needed, and this is one text; `translate` takes one")
    if not isinstance(texts, Iterable):
        raise ArgumentError(f"{name}: a list of texts is needed, not {_kind(texts)}")
    return [check_text(text) for text in texts]


def check_text(text: object) -> str:
    if not isinstance(text, str):
        raise ArgumentError(f"a text is needed, not {_kind(text)}")
    return text


def _check_mode(mode: object) -> None:
    if mode not in get_args(Mode):
        raise ArgumentError(f'mode {mode!r}: "suggest" or "require" is needed{suggest_name(str(mode), get_args(Mode))}')


def _check_count(name: str, count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError(f"{name} {count!r}: a whole number from 1 on is needed")


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


_translators: weakref.WeakSet[Translator] = weakref.WeakSet()
"""All that are alive: a fork has to mend them."""


def _mend_after_fork() -> None:
    """In a child of `os.fork`: the other threads are gone, those that compute and those that held a lock."""
    for translator in _translators:
        translator._lock = threading.RLock()
        if translator._system is not None:
            # Never to be freed: a session's end waits for its threads, which this process does not have.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(translator._system))
        translator._system = None


os.register_at_fork(after_in_child=_mend_after_fork)
