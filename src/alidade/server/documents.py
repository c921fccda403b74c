"""Documents: files that wait in the store, are translated through the queue behind what people wait for, and stay until
they are fetched.

A file's units go to the workers in small chunks; what is done is noted beside the database (`documents/translate.py`
keeps a journal), so that a server that was killed goes on where it was. No name that a client has chosen is ever used
as a path: only its suffix says which kind of file it is.
"""

from __future__ import annotations

import copy
import itertools
import logging
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import regex

from alidade.documents.formats import FORMATS, read_document
from alidade.documents.translate import FileTranslator, Options
from alidade.errors import AlidadeError
from alidade.io import Pause
from alidade.parallel import chunked
from alidade.server.catalogue import Languages
from alidade.server.queue import ClosedError, Queue
from alidade.server.segments import SegmentRecord, first_segments
from alidade.server.service import Refusal, Service
from alidade.server.store import Key, StoredDocument
from alidade.server.work import Text, Work
from alidade.translation import Translation
from alidade.translator import Translator

log = logging.getLogger("alidade.server")

AT_ONCE = 2
"""So many documents are translated side by side, that a small one need not wait for a large one."""
CHUNK = 16
CHUNKS_AHEAD = 3
KEPT_SECONDS = 7 * 24 * 3600.0
"""Results are kept for a week."""


class QueuedTranslator(Translator):
    """A translator whose texts go through the server's queue, behind those of people who wait."""

    _queue: Queue
    _work: Work
    _saw: Callable[[str, Translation], None]

    @classmethod
    def of(
        cls, translator: Translator, queue: Queue, work: Work, saw: Callable[[str, Translation], None]
    ) -> QueuedTranslator:
        """saw: is told of every text and its translation."""
        other = object.__new__(cls)
        other.__dict__.update(copy.copy(translator).__dict__)
        other._queue, other._work, other._saw = queue, work, saw
        return other

    def translate_lines(self, lines: Iterable[str | Pause], *, protect: bool = True, **_: Any) -> Iterator[Translation]:
        """In order, with a few chunks under way; dictionary and mode are those of the document."""
        work = replace(self._work, protect=protect)
        texts = (Text(line) for line in lines if not isinstance(line, Pause))
        pending: deque[tuple[Text, Future[Any]]] = deque()

        def first() -> Translation:
            text, future = pending.popleft()
            translation: Translation = future.result()
            self._saw(text.text, translation)
            return translation

        try:
            for chunk in chunked(texts, CHUNK):
                pending += zip(chunk, self._queue.submit(work, chunk, is_background=True), strict=True)
                while len(pending) > CHUNK * CHUNKS_AHEAD:
                    yield first()
            while pending:
                yield first()
        finally:
            self._queue.forget([future for _, future in pending])


class DocumentRunner:
    """Threads that translate what waits in the store, one document after another."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._folder = service.settings.database.with_name(f"{service.settings.database.name}-documents")
        self._changed = threading.Event()
        self._is_stopping = False
        self._next_cleaning = 0.0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(AT_ONCE)]

    def start(self) -> None:
        self._service.store.put_documents_back()
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """After the queue is closed: what is not done waits in the store for the next start."""
        self._is_stopping = True
        self._changed.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def wake(self) -> None:
        self._changed.set()

    def _run(self) -> None:
        while not self._is_stopping:
            try:
                self._clean()
                taken = self._service.store.take_document()
                if taken is not None:
                    self._translate(*taken)
                    continue
            except ClosedError:
                return
            except sqlite3.Error as error:
                log.error("documents wait, for the database cannot be used: %s", error)
            self._changed.wait(2.0)
            self._changed.clear()

    def _clean(self) -> None:
        if time.monotonic() > self._next_cleaning:
            self._next_cleaning = time.monotonic() + 600
            self._service.store.remove_old_documents(KEPT_SECONDS)

    def _translate(self, document: StoredDocument, content: bytes) -> None:
        store = self._service.store
        try:
            result = self._result(document, content)
        except ClosedError:
            store.put_documents_back(document.id)
            raise
        except AlidadeError as error:
            store.fail_document(document.id, _without_paths(str(error)))
        except (sqlite3.Error, OSError) as error:  # a full disk, perhaps: it may go on later
            log.error("a document has to wait: %s", error)
            time.sleep(1.0)
            store.put_documents_back(document.id)
            return
        except Exception:
            log.exception("a document could not be translated")
            store.fail_document(document.id, "this document could not be translated")
        else:
            store.finish_document(document.id, result)
        shutil.rmtree(self._place(document), ignore_errors=True)

    def _place(self, document: StoredDocument) -> Path:
        return self._folder / document.id

    def _result(self, document: StoredDocument, content: bytes) -> bytes:
        place = self._place(document)
        (place / "out").mkdir(parents=True, exist_ok=True, mode=0o700)
        path = place / f"document{Path(document.name).suffix}"
        path.write_bytes(content)
        pair = document.source, document.target
        record = SegmentRecord(self._service.store, document.id)
        queued = QueuedTranslator.of(
            self._service.catalogue.translators[pair], self._service.queue, self._work(document), record.saw
        )
        report = FileTranslator(queued, Options(is_fuzzy=False)).translate(path, place / "out")
        record.finish(report.filled)
        return report.output.read_bytes()

    def _work(self, document: StoredDocument) -> Work:
        pair = document.source, document.target
        if document.dictionary is None:
            return Work("whole", pair)
        stored = self._service.store.dictionary(document.owner, document.dictionary)
        if stored is None:
            raise AlidadeError("the glossary of this document has been removed")
        return Work("whole", pair, ((stored.id, stored.version),), mode=stored.mode, inflect=stored.inflect)


def accept(
    service: Service, key: Key, name: str, content: bytes, pair: Languages, dictionary: str | None
) -> tuple[str, str]:
    """Put a file into the store; its id and the secret that fetches it. What cannot be read is refused at once."""
    safe = safe_name(name)
    if service.store.num_unfinished(key.id) >= service.limits.waiting_documents:
        raise Refusal(429, "too many documents are waiting; try again later", 30)
    if dictionary is not None and not service.dictionary(key, dictionary).has(*pair):
        raise Refusal(400, f"glossary {dictionary} has no entries for {pair[0]} to {pair[1]}")
    try:
        units = read_document(Path(safe), content, pair).units
    except AlidadeError as error:
        raise Refusal(400, _without_paths(str(error))) from None
    characters = sum(len(text) for unit in units if not unit.is_translated for text in unit.sources)
    service.bill(key, characters)
    segments = first_segments(units)
    accepted = service.store.add_document(key.id, safe, pair, dictionary, content, characters, segments)
    service.documents.wake()
    return accepted


def safe_name(name: str) -> str:
    """A file's name for messages and downloads, never a path; an error if its suffix says nothing."""
    path = Path(name.replace("\\", "/").rpartition("/")[2])
    if path.suffix.lower() not in FORMATS:
        known = " ".join(sorted(FORMATS))
        raise Refusal(400, f"file: which kind of file this is cannot be told from its name; known are {known}")
    stem = regex.sub(r"[^\p{L}\p{N}._-]", "_", path.stem)[:80] or "document"
    return f"{stem}{path.suffix.lower()}"


def _without_paths(message: str) -> str:
    """Where our files lie is nobody's business."""
    return regex.sub(r"\S*/(document\.\w+)", r"\1", message)


def wait_for(service: Service, key: Key, identity: str, seconds: float) -> StoredDocument | None:
    """A document when it is done or has failed; None: not in time."""
    deadline = time.monotonic() + seconds
    for number in itertools.count():
        document = service.store.document(key.id, identity)
        if document is None or document.state in ("done", "error"):
            return document
        if time.monotonic() > deadline:
            return None
        time.sleep(min(0.05 * (number + 1), 0.5))
    return None
