"""Translate files: only what is untranslated, everything else byte for byte.

    path ── reader ──> units ── memory, translator ──> translations ── the units' edits ──> the file

What has been translated is kept beside the output until the file is complete, so that a run that was stopped goes on
where it was; the original stays as it is until the new file takes its name.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alidade.alignment.links import Alignment
from alidade.dictionary.entries import Dictionary
from alidade.documents.document import Filled, Unit
from alidade.documents.formats import Format, format_of, read_document
from alidade.documents.left_out import left_out_words
from alidade.documents.memory import Adapter, Memory, Pair, read_tmx_pairs
from alidade.errors import AlidadeError
from alidade.io import hash_folder, open_bytes, track, write_aside
from alidade.text.plurals import with_preposition

if TYPE_CHECKING:
    from alidade.dictionary.given import DictionaryLike
    from alidade.text.words import Word
    from alidade.translation import Translation
    from alidade.translator import Mode, Translator

UNITS_AT_ONCE = 256
"""So many texts are translated between two notes of what is done."""


@dataclass(frozen=True, slots=True)
class Options:
    """How files are translated."""

    everything: bool = False
    """What is translated already, too."""
    dictionary: DictionaryLike | None = None
    mode: Mode = "suggest"
    protect: bool = True
    memories: Sequence[Path] = ()
    """TMX files."""
    is_fuzzy: bool = True
    """Whether similar texts in the memory are adapted."""
    workers: int = 1


@dataclass(slots=True)
class Report:
    """What became of a file."""

    path: Path
    output: Path
    num_units: int
    origins: Counter[str] = field(default_factory=Counter)
    """How many units came from where."""
    notes: list[str] = field(default_factory=list)
    filled: dict[int, Filled] = field(default_factory=dict, repr=False)
    """What units (by number) have become."""

    def __str__(self) -> str:
        filled = ", ".join([f"{count} by {origin}" for origin, count in sorted(self.origins.items())])
        return f"{self.path}: {self.num_units} units, {filled or 'nothing to translate'} -> {self.output}"


def output_path(path: Path, folder: Path | None, kind: Format, language: str) -> Path:
    """Where a translation goes: into a folder, under the same name; else into a bilingual file itself, or beside it."""
    if folder is not None:
        return folder / (path.with_suffix(".po").name if path.suffix == ".pot" else path.name)
    if path.suffix == ".pot":
        return path.with_name(f"{language}.po")
    return path if kind.is_bilingual else path.with_suffix(f".{language}{path.suffix}")


def translate_file(
    path: Path, translator: Translator, output: Path | None = None, options: Options | None = None
) -> Report:
    """Translate one file; output: a folder."""
    return FileTranslator(translator, options or Options()).translate(path, output)


class FileTranslator:
    """Translates files with one translator, and remembers what it has read."""

    def __init__(self, translator: Translator, options: Options) -> None:
        self.translator = translator
        self.options = options
        self.pairs = [pair for path in options.memories for pair in self._read_memory(path)]

    def _read_memory(self, path: Path) -> list[Pair]:
        with open_bytes(path) as file:
            return read_tmx_pairs(path, file.read(), self.translator.languages)

    def translate(self, path: Path, folder: Path | None = None) -> Report:
        """Translate a file into a folder, or to where its kind belongs."""
        kind = format_of(path)
        output = output_path(path, folder, kind, self.translator.languages[1])
        with open_bytes(path, unpack=False) as file:
            content = file.read()
        document = read_document(path, content, self.translator.languages)
        units = document.units
        memory = Memory([*self.pairs, *_own_pairs(units)], self.translator.languages[0])
        pending = [number for number, unit in enumerate(units) if self.options.everything or not unit.is_translated]
        report = Report(path, output, len(units))
        filled = self._fill(units, pending, memory, _Journal(output, self._signature(content)), report)
        report.filled = filled
        try:
            result = document.render(filled)
        except AlidadeError as error:
            raise AlidadeError(f"{path}: {error}") from None
        if document.changes_encoding(filled):
            report.notes.insert(0, f"is UTF-8 now: {document.encoding} has not all letters of the translation")
        if filled or output != path:
            with write_aside(output, "wb") as file:
                file.write(result)
        _Journal.remove(output)
        return report

    def _signature(self, content: bytes) -> str:
        """Changes with whatever changes the translation."""
        model = self.translator.model
        dictionary = self.options.dictionary
        entries = dictionary.entries if isinstance(dictionary, Dictionary) else dictionary
        what = [
            hashlib.sha256(content).hexdigest(),
            hash_folder(model.path),
            self.translator.settings.model_dump_json(),
        ]
        what += [str(entries), self.options.mode, str(self.options.protect)]
        return hashlib.sha256("\n".join(what).encode()).hexdigest()

    def _fill(
        self, units: Sequence[Unit], pending: Sequence[int], memory: Memory, journal: _Journal, report: Report
    ) -> dict[int, Filled]:
        """Translations of units: the memory's, what the journal has, and the machine's for the rest."""
        known: dict[str, Filled] = {}
        for text in dict.fromkeys([text for number in pending for text in units[number].sources]):
            exact = memory.exact(text)
            if exact is not None:
                known[text] = Filled((exact,), "memory")
            elif not text.strip():
                known[text] = Filled((text,), "memory")
        known |= {text: filled for text, filled in journal.read().items() if text not in known}
        missing = dict.fromkeys([text for number in pending for text in units[number].sources if text not in known])
        places = {text: units[number].place for number in pending for text in units[number].sources}
        if self.options.is_fuzzy and len(memory):
            for text in missing:
                adapted = self._adapt(text, memory)
                if adapted is not None:
                    known[text] = adapted
        for text, filled, notes in journal.writing(self._machine([text for text in missing if text not in known])):
            known[text] = filled
            report.notes += [f"{places[text]}: {note}" for note in notes]
        result = {number: self._unit(units[number], known) for number in pending}
        report.origins.update([filled.origin for filled in result.values()])
        return result

    def _unit(self, unit: Unit, known: dict[str, Filled]) -> Filled:
        """A unit's translation from those of its forms."""
        forms = [known[text] for text in unit.sources]
        texts = [form.texts[0] for form in forms]
        if sum(unit.is_plural_form) > 1:  # the last one is for the largest numbers
            texts[-1] = with_preposition(texts[-1], self.translator.languages[1])
        machine = [form for form in forms if form.origin != "memory"]
        confidences = [form.confidence for form in machine if form.confidence is not None]
        origin = machine[0].origin if machine else "memory"
        return Filled(tuple(texts), origin, min(confidences, default=None))

    def _machine(self, texts: Sequence[str]) -> Iterator[tuple[str, Filled, list[str]]]:
        translations = self.translator.translate_lines(
            texts,
            dictionary=self.options.dictionary,
            mode=self.options.mode,
            protect=self.options.protect,
            workers=min(self.options.workers, max(1, len(texts) // UNITS_AT_ONCE)),
        )
        for text, translation in zip(texts, track(translations, "translating", len(texts)), strict=True):
            filled = Filled((translation.text,), "machine", confidence_of(translation))
            words = left_out_words(translation, self.translator.languages[0])
            left_out = [f"perhaps left out: {', '.join(words)}"] if words else []
            yield text, filled, [*translation.notes, *left_out]

    def _adapt(self, text: str, memory: Memory) -> Filled | None:
        match = memory.fuzzy(text)
        if match is None:
            return None
        from alidade.aligner import align

        def links(pair: Pair) -> tuple[Sequence[Word], Sequence[Word], Alignment]:
            [aligned] = align([pair], self.translator)
            return aligned.source.words, aligned.target.words, aligned.alignment or Alignment()

        def complete(source: str, prefix: str) -> Translation:
            return self.translator.translate(source, prefix=prefix or None, protect=False)

        adapted = Adapter(links, complete).adapt(text, match)
        return None if adapted is None else Filled((adapted,), "memory, adapted", round(match.similarity, 2))


def _own_pairs(units: Iterable[Unit]) -> list[Pair]:
    """What a file itself has translated, without what nobody has looked at yet: that must not become certain."""
    return [
        Pair(unit.sources[0], unit.targets[0])
        for unit in units
        if unit.is_translated and unit.is_reviewed and len(unit.sources) == len(unit.targets) == 1
    ]


def confidence_of(translation: Translation) -> float:
    """The mean probability of the translation's pieces, from 0 to 1."""
    if not len(translation.target):
        return 1.0
    return math.exp(min(0.0, translation.lexical_score / (len(translation.target) + 1)))


class _Journal:
    """What has been translated so far, beside the output: a line of JSON for each text."""

    def __init__(self, output: Path, signature: str) -> None:
        self.path = self.place(output)
        self.signature = signature

    @staticmethod
    def place(output: Path) -> Path:
        return output.with_name(f".{output.name}.alidade-partial")

    @classmethod
    def remove(cls, output: Path) -> None:
        cls.place(output).unlink(missing_ok=True)

    def read(self) -> dict[str, Filled]:
        """What an earlier run left; nothing if it translated something else or in another way."""
        known: dict[str, Filled] = {}
        if not self.path.is_file():
            return known
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        if not lines or lines[0] != self.signature:
            return known
        for line in lines[1:]:
            try:
                source, target, confidence = json.loads(line)
            except ValueError:
                break  # the line that was being written
            known[source] = Filled((target,), "machine", confidence)
        return known

    def writing(self, translated: Iterator[tuple[str, Filled, list[str]]]) -> Iterator[tuple[str, Filled, list[str]]]:
        """The same, each written down as it comes."""
        known = self.read()
        first = next(translated, None)
        if first is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("a" if known else "w", encoding="utf-8") as file:
                if not known:
                    file.write(self.signature + "\n")
                for text, filled, notes in itertools.chain([first], translated):
                    file.write(json.dumps([text, filled.texts[0], filled.confidence], ensure_ascii=False) + "\n")
                    yield text, filled, notes
        except OSError as error:
            raise AlidadeError(f"{self.path}: cannot be written: {error.strerror or error}") from None
