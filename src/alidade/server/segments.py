"""The segments of documents: what a page lists while a file is being translated, and what people make of them after.

A segment is a unit of the file (`documents/document.py`) with its state. They are written as translations come; once
somebody has changed one, the file is put together from them when it is fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from alidade.documents.document import Filled, Unit
from alidade.documents.formats import read_document
from alidade.documents.translate import confidence_of
from alidade.server.store import Segment, Store, StoredDocument
from alidade.translation import Translation

AT_ONCE = 16
"""So many are written to the store together."""


def first_segments(units: Iterable[Unit]) -> Iterator[Segment]:
    """A file's units before anything is translated."""
    for number, unit in enumerate(units):
        if unit.is_translated:
            yield Segment(number, unit.place, unit.sources, unit.targets, "file")
        else:
            yield Segment(number, unit.place, unit.sources)


class SegmentRecord:
    """Writes the segments of one document as their texts are translated."""

    def __init__(self, store: Store, document: str) -> None:
        self._store = store
        self._document = document
        self._segments = {one.number: one for one in store.segments(document)}
        self._seen: dict[str, Translation] = {}
        self._numbers: dict[str, list[int]] = {}
        for one in self._segments.values():
            for text in set(one.sources):
                self._numbers.setdefault(text, []).append(one.number)
        self._pending: dict[int, Segment] = {}

    def saw(self, text: str, translation: Translation) -> None:
        """A text of the document has been translated: so are the segments whose last missing text it was."""
        self._seen[text] = translation
        for number in self._numbers.get(text, ()):
            segment = self._segments[number]
            if segment.state == "waiting" and all(source in self._seen for source in segment.sources):
                texts = tuple([self._seen[source].text for source in segment.sources])
                self._put(self._translated(segment, texts, "machine"))
        if len(self._pending) >= AT_ONCE:
            self._flush()

    def finish(self, filled: Mapping[int, Filled]) -> None:
        """What all units have become in the end: memory, plural forms and what an earlier run had done included."""
        for number, one in filled.items():
            if number in self._segments and self._segments[number].state != "person":
                self._put(self._translated(self._segments[number], one.texts, one.origin, one.confidence))
        self._flush()

    def _translated(
        self, segment: Segment, targets: tuple[str, ...], origin: str, confidence: float | None = None
    ) -> Segment:
        seen = [self._seen[source] for source in dict.fromkeys(segment.sources) if source in self._seen]
        unused = dict.fromkeys([str(match.entry) for one in seen for match in one.unused])
        return replace(
            segment,
            targets=targets,
            state="memory" if origin.startswith("memory") else "machine",
            confidence=min([confidence_of(one) for one in seen], default=confidence),
            unused=tuple(unused),
        )

    def _put(self, segment: Segment) -> None:
        if segment != self._segments[segment.number]:
            self._segments[segment.number] = self._pending[segment.number] = segment

    def _flush(self) -> None:
        self._store.put_segments(self._document, self._pending.values())
        self._pending = {}


def render(store: Store, document: StoredDocument) -> bytes | None:
    """A document's file as its segments say; None if nobody has changed one, so that the result still holds."""
    if not store.num_segments(document.id, "AND state = 'person'"):
        return None
    read = read_document(Path(document.name), store.content(document.id), (document.source, document.target))
    filled = {
        one.number: Filled(one.targets, one.state, None if one.state == "person" else one.confidence)
        for one in store.segments(document.id, "AND state IN ('machine', 'memory', 'person')")
    }
    return read.render(filled)
