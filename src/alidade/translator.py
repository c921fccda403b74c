"""Translator: text in, translations with links out.

    translator = Translator("model")  # or, without a folder, the model that is shipped
    translation = translator.translate("A man is sleeping.")
    print(translation.text, translation.alignment)

A text becomes pieces, in several parts if it is long (`parts.py`); the search finds the best translations of each part
(`part_search.py`), held to the dictionary if there is one; the pieces' positions become links of words
(`alignment/positions.py`); and the parts become one `Translation` again. `translate_lines` does so for a stream of any
length, in several processes if wanted.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import multiprocessing
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

from alidade.alignment.links import Alignment
from alidade.alignment.positions import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_words,
    shares_of_words,
)
from alidade.config import NormalisationSettings, SearchSettings, parse_settings
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.given import DictionaryLike, read_dictionary
from alidade.dictionary.rules import WordBorders
from alidade.engine.graph import Precision
from alidade.engine.system import EngineSystem, load_engine, preferred_precision
from alidade.errors import ArgumentError, suggest_name
from alidade.io import Pause
from alidade.model_folder import ModelFolder, default_model, load_model_folder
from alidade.parallel import available_cores
from alidade.part_search import PartSearch
from alidade.parts import Task, cut_text
from alidade.protection.protect import Protection
from alidade.protection.translate import PlainText, translate_protected
from alidade.search.batches import map_batches
from alidade.search.forced import score_pairs
from alidade.text.languages import is_written_without_spaces
from alidade.text.sentences import SENTENCES, Splitting
from alidade.text.words import TOKENISED
from alidade.translation import Translation, join_parts

Mode = Literal["suggest", "require"]
"""Take the dictionary's entries where they fit, or all of them."""


class SearchChanges(TypedDict, total=False):
    """Single settings of the search; see `config.SearchSettings`."""

    beam_size: int
    lexical_weight: float
    alignment_weight: float
    coverage_weight: float
    length_normalisation: float
    stopping: Literal["finished", "attainable", "shrinking"]
    max_length_factor: float
    max_source_length: int
    can_repeat: bool
    pruning: Literal["none", "threshold", "pairs", "histogram", "exact"]
    threshold: float
    histogram: int


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
        tasks = [cut_text(text, self.model, self.settings.max_source_length, dictionary) for text in texts]
        search = PartSearch(
            self.model,
            self.system,
            self.settings,
            self.batch_size,
            borders=lambda: self._borders,
            must_use_all=mode == "require",
        )
        found = iter(search.best([part for task in tasks for part in task.parts], num_best))
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

    @functools.cached_property
    def _borders(self) -> WordBorders:
        return WordBorders.of(self.model.target_subwords)

    def _join(self, task: Task, candidates: Sequence[Sequence[Translation]], num_best: int) -> Translation:
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


def _without_links(translation: Translation) -> Translation:
    alternatives = tuple([_without_links(other) for other in translation.alternatives])
    return replace(translation, alignment=None, confidences={}, alternatives=alternatives)


def _load(model: ModelFolder | Path | str | None) -> ModelFolder:
    if model is not None and not isinstance(model, ModelFolder | Path | str):
        raise ArgumentError(f"model: the path of a model folder is needed, not {_kind(model)}")
    model = default_model() if model is None else model
    return model if isinstance(model, ModelFolder) else load_model_folder(Path(model))


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
