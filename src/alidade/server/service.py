"""What all interfaces share: who asks, whether they may, and how their texts get through the queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from fastapi import Request

from alidade.dictionary.entries import Entry
from alidade.errors import AlidadeError
from alidade.server.catalogue import Catalogue
from alidade.server.long_texts import PartedTexts, can_part
from alidade.server.metrics import Metrics
from alidade.server.queue import ClosedError, Queue, QueueFullError
from alidade.server.settings import Limits, ServerSettings
from alidade.server.store import NOBODY, Key, Store, StoredDictionary
from alidade.server.work import Text, Work
from alidade.server.workers import WorkerProcess

log = logging.getLogger("alidade.server")

RETRY_SECONDS = 2


class Refusal(Exception):  # noqa: N818  # an answer, not an accident
    """An answer that is no success: a status and a sentence."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


class Documents(Protocol):
    """Whoever translates what waits in the store."""

    def start(self) -> None: ...
    def stop(self, seconds: float) -> None: ...
    def wake(self) -> None: ...


class Service:
    """One running server."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.catalogue = Catalogue(settings.models)
        self.store = Store(settings.database)
        self.metrics = Metrics()
        self.queue = Queue(self._start_worker, settings.workers, settings.batch_size, settings.limits, self.metrics)
        self.documents: Documents
        """Set when the service is put together: documents need the service, and it only wakes and stops them."""
        self.num_buffered = 0
        """Bytes of requests in memory."""

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    def _start_worker(self) -> WorkerProcess:
        return WorkerProcess(self.settings.models, self.settings.database, self.settings.batch_size)

    def start(self) -> None:
        self.queue.start()
        self.documents.start()

    def stop(self, seconds: float) -> None:
        """Finish what is under way, refuse the rest."""
        self.queue.close(seconds)
        self.documents.stop(seconds)
        self.store.close()

    # Who asks

    def authenticate(self, request: Request, given: str | None = None) -> Key:
        """The key that a request shows, in its header or elsewhere (given); without any keys everybody may ask."""
        if not self.store.all_keys():
            return NOBODY
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        text = given or (shown.strip() if scheme.lower() in ("deepl-auth-key", "bearer") else "")
        if not text:
            raise Refusal(401, "a key is needed: send the header 'Authorization: DeepL-Auth-Key <key>'")
        key = self.store.find_key(text)
        if key is None:
            raise Refusal(403, "this key is not known here; `alidade serve keys add NAME` makes one")
        request.state.key_name = key.name
        return key

    # What they ask for

    def check_texts(self, texts: Sequence[str]) -> int:
        """How many characters there are, or a refusal if there are too many."""
        if len(texts) > self.limits.texts:
            raise Refusal(413, f"{len(texts)} texts in a request are too many; send at most {self.limits.texts}")
        longest = max(map(len, texts), default=0)
        if longest > self.limits.text_characters:
            raise Refusal(
                413, f"{longest} characters are too many for a text; send at most {self.limits.text_characters}"
            )
        size = sum(map(len, texts))
        if size > self.limits.request_characters:
            raise Refusal(413, f"{size} characters are too many; send at most {self.limits.request_characters} at once")
        return size

    def bill(self, key: Key, characters: int) -> None:
        """Count characters against the key's month."""
        try:
            if not self.store.count_characters(key.id, characters, key.character_limit):
                self.metrics.refused.labels("quota").inc()
                raise Refusal(456, "the characters of this key are used up for this month")
        except sqlite3.Error as error:
            log.error("the use of keys cannot be counted: %s", error)
            if key is not NOBODY:
                raise Refusal(503, "the server cannot count characters just now; try again", RETRY_SECONDS) from None
        self.metrics.characters.inc(characters)

    def dictionary(self, key: Key, identity: str) -> StoredDictionary:
        found = self.store.dictionary(key.id, identity)
        if found is None:
            raise Refusal(404, "there is no such glossary")
        return found

    # Through the queue

    async def run(self, request: Request, key: Key, work: Work, texts: Sequence[Text]) -> list[Any]:
        """The results for texts, in order; refused, timed out, or given up when the client goes away."""
        characters = self.check_texts([text.text for text in texts])
        self.check_texts([text.second for text in texts])
        request.state.num_texts, request.state.num_characters = len(texts), characters
        parted = PartedTexts(texts) if can_part(work) else None
        futures = self.submit(work, texts if parted is None else parted.parts)
        async with self.waiting_for(futures):
            self.bill(key, characters)
            results = await self._gather(request, futures)
        return results if parted is None else parted.join(results)

    def submit(self, work: Work, texts: Sequence[Text]) -> list[Future[Any]]:
        try:
            return self.queue.submit(work, texts)
        except QueueFullError:
            raise self.full_queue() from None
        except ClosedError:
            raise Refusal(503, "the server is stopping; try again soon", RETRY_SECONDS) from None

    def full_queue(self) -> Refusal:
        self.metrics.refused.labels("queue").inc()
        return Refusal(429, "too much is waiting to be translated; try again soon", RETRY_SECONDS)

    @contextlib.asynccontextmanager
    async def waiting_for(self, futures: Sequence[Future[Any]]) -> AsyncIterator[None]:
        """Whatever ends the wait, the texts that are not done leave the queue."""
        try:
            yield
        except AlidadeError as error:
            raise Refusal(400, str(error)) from None
        except ClosedError:
            raise Refusal(503, "the server is stopping; try again soon", RETRY_SECONDS) from None
        finally:
            given_up = [future for future in futures if not future.done() or future.cancelled()]
            if given_up:
                self.queue.forget(given_up)

    async def _gather(self, request: Request, futures: Sequence[Future[Any]]) -> list[Any]:
        results: asyncio.Future[list[Any]] = asyncio.gather(*[asyncio.wrap_future(future) for future in futures])
        gone: asyncio.Future[Any] = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait(
                {results, gone}, timeout=self.limits.request_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if results.done():
                return await results
            if gone.done():
                raise Refusal(499, "the client has gone away")
            raise Refusal(503, "translating took too long; send less at once, or try again", RETRY_SECONDS)
        finally:
            gone.cancel()
            results.cancel()
            with contextlib.suppress(BaseException):
                await results


async def _disconnected(request: Request) -> None:
    """Returns when the client has closed its connection; the body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def inline_entries(entries: Sequence[Entry], limits: Limits) -> tuple[Entry, ...]:
    if len(entries) > limits.dictionary_entries:
        raise Refusal(413, f"{len(entries)} entries are too many; send at most {limits.dictionary_entries}")
    return tuple(entries)
