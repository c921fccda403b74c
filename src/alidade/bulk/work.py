"""What is done with each chunk of records, and how its results are written: translations, links or scores.

A work can be sent to another process or machine: what travels is the path of its model folder and its settings.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from alidade import __version__
from alidade.aligner import AlignmentJob, LinkedPair, OtherLinks, score
from alidade.io import hash_folder
from alidade.search.forced import PairScore
from alidade.streaming import Job
from alidade.translation import Translation
from alidade.translator import Translator

BATCHES_A_CHUNK = 2
"""Records are sorted by length inside of a chunk; a chunk is also what travels to a worker at once."""

Chunk = tuple[int, list[tuple[str, ...]]]
"""The number of its first record, counted from 1, and the records: texts, or pairs of texts."""
TranslationForm = Literal["text", "json", "object"]
"""The text; everything that is known; or an object with the text, which may have line breaks."""


class DoneChunk(NamedTuple):
    """What became of a chunk."""

    num_records: int
    lines: list[str]
    notes: list[str]


class Work(Protocol):
    """What is done with chunks."""

    @property
    def chunk_size(self) -> int: ...

    @property
    def origin(self) -> dict[str, Any]:
        """All that decides the output, but the input."""

    def __call__(self, chunk: Chunk) -> DoneChunk: ...


@dataclass(frozen=True, slots=True)
class TranslationWork:
    """Translate each record."""

    job: Job
    form: TranslationForm

    @property
    def chunk_size(self) -> int:
        return BATCHES_A_CHUNK * self.job.translator.batch_size

    @property
    def origin(self) -> dict[str, Any]:
        return {"task": "translation"} | origin_of_translations(self.job, self.form)

    def __call__(self, chunk: Chunk) -> DoneChunk:
        number, records = chunk
        translations = self.job((number, [text for (text,) in records], None))
        lines = [written_translation(translation, self.form, self.job.num_best) for translation in translations]
        return DoneChunk(len(records), lines, _notes(number, translations))


@dataclass(frozen=True, slots=True)
class AlignmentWork:
    """Link the words of each pair; a record is a pair, and the lines of other aligners' links after it."""

    job: AlignmentJob
    link_names: tuple[str, ...] = ()

    @property
    def chunk_size(self) -> int:
        return BATCHES_A_CHUNK * self.job.forward.batch_size

    @property
    def origin(self) -> dict[str, Any]:
        job = self.job
        options = [job.symmetrisation, job.by, job.threshold, job.is_tokenised]
        reverse = None if job.reverse is None else origin_of_model(job.reverse)
        return {"task": "alignment", "options": options, "reverse model": reverse} | origin_of_model(job.forward)

    def __call__(self, chunk: Chunk) -> DoneChunk:
        number, records = chunk
        pairs = self.job([self._linked(*record, number=at) for at, record in enumerate(records, start=number)])
        return DoneChunk(len(records), [f"{pair.alignment}\n" for pair in pairs], _notes(number, pairs))

    def _linked(self, source: str, target: str, *lines: str, number: int) -> LinkedPair:
        places = [f"{name}, line {number}" for name in self.link_names]
        return LinkedPair((source, target), tuple(map(OtherLinks.parse, lines, places)))


@dataclass(frozen=True, slots=True)
class ScoreWork:
    """Score each pair."""

    translator: Translator
    as_json: bool

    @property
    def chunk_size(self) -> int:
        return BATCHES_A_CHUNK * self.translator.batch_size

    @property
    def origin(self) -> dict[str, Any]:
        return {"task": "scores", "form": "json" if self.as_json else "text"} | origin_of_model(self.translator)

    def __call__(self, chunk: Chunk) -> DoneChunk:
        number, records = chunk
        scored = score([(source, target) for source, target in records], self.translator, first_number=number)
        return DoneChunk(len(records), [written_score(pair, self.as_json) for pair in scored], _notes(number, scored))


def origin_of_model(translator: Translator) -> dict[str, Any]:
    """What a model's output depends on, besides its input.

    The size of batches is part of it: rounding depends on the shape of what is multiplied, and where two words are
    equally likely, rounding decides.
    """
    return {
        "alidade": __version__,
        "model": hash_folder(translator.model.path),
        "search": translator.settings.model_dump(mode="json"),
        "precision": translator.precision,
        "batch size": translator.batch_size,
    }


def origin_of_translations(job: Job, form: str) -> dict[str, Any]:
    """All that translations depend on, but their source."""
    entries = "" if job.dictionary is None else "\n".join([repr(entry) for entry in job.dictionary.entries])
    return origin_of_model(job.translator) | {
        "dictionary": hash_text(entries),
        "dictionary_mode": job.mode,
        "nbest": job.num_best,
        "form": form,
        "protect": job.protect,
    }


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def written_translation(translation: Translation, form: TranslationForm, num_best: int) -> str:
    """What is written for one record: always as many lines as were asked for."""
    if form == "json":
        return json.dumps(translation.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
    candidates = [translation.text, *[other.text for other in translation.alternatives]]
    if form == "object":
        values = {"text": candidates[0]} if num_best == 1 else {"texts": candidates}
        return json.dumps(values, ensure_ascii=False) + "\n"
    return "".join([f"{text}\n" for text in candidates + [""] * (num_best - len(candidates))])


def written_score(pair: PairScore, as_json: bool) -> str:
    """What is written for one scored pair."""
    if not as_json:
        return f"{pair.score:.4f}\t{pair.lexical_score:.4f}\t{pair.alignment_score:.4f}\n"
    values: dict[str, Any] = {
        "score": _finite(pair.score),
        "lexical_score": _finite(pair.lexical_score),
        "alignment_score": _finite(pair.alignment_score),
        "positions": list(pair.positions),
        "lexical_logp": [_finite(logp) for logp in pair.lexical_logp],
        "alignment_logp": [_finite(logp) for logp in pair.alignment_logp],
    }
    if pair.notes:
        values["notes"] = list(pair.notes)
    return json.dumps(values, allow_nan=False) + "\n"


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _notes(number: int, results: list[Any]) -> list[str]:
    return [f"record {at}: {note}" for at, result in enumerate(results, start=number) for note in result.notes]
