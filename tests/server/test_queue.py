"""The queue by itself, with workers that are threads' playthings: order, batches, losses."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from alidade.server.metrics import Metrics
from alidade.server.queue import BACKGROUND_SHARE, MOST_LOSSES, ClosedError, Queue, QueueFullError
from alidade.server.settings import Limits
from alidade.server.work import Text, Work
from alidade.server.workers import TextError, WorkerLostError, WorkerProcess

WORK = Work("text", ("en", "ro"))
OTHER = Work("full", ("en", "ro"))


class Upper(WorkerProcess):
    """Works in capitals once it is let go; "poison" ends it, "broken" makes it fail."""

    batches: list[list[str]]
    may_work: threading.Event

    def __init__(self) -> None:
        """No process."""

    @property
    def pid(self) -> int | None:
        return None

    def run(self, work: Work, texts: Sequence[Text], seconds: float) -> list[Any]:
        assert self.may_work.wait(10)
        self.batches.append([text.text for text in texts])
        if "poison" in self.batches[-1]:
            raise WorkerLostError
        if "broken" in self.batches[-1]:
            raise TextError("a traceback")
        return [text.text.upper() for text in texts]

    def end(self) -> None:
        """Nothing to end."""


@pytest.fixture
def queue() -> Iterator[Queue]:
    Upper.batches, Upper.may_work = [], threading.Event()
    one = Queue(Upper, 1, 4, Limits(waiting_texts=20), Metrics())
    one.start()
    one.wait_until_ready(10)
    yield one
    Upper.may_work.set()
    one.close(10)


def submit(queue: Queue, *texts: str, work: Work = WORK, is_background: bool = False) -> list[Future[Any]]:
    return queue.submit(work, [Text(text) for text in texts], is_background=is_background)


def hold(queue: Queue) -> Future[Any]:
    """Keep the worker busy until it may work, so that what follows waits together."""
    [first] = submit(queue, "first")
    while queue.num_waiting():
        pass
    return first


def results(futures: Sequence[Future[Any]]) -> list[Any]:
    Upper.may_work.set()
    return [future.result(10) for future in futures]


def test_batches_are_of_like_length_and_of_one_work(queue: Queue) -> None:
    hold(queue)
    long = ["a" * 500 + str(number) for number in range(3)]
    futures = submit(queue, "a", long[0], "b", long[1], "c", long[2], "d") + submit(queue, "e", work=OTHER)
    assert results(futures) == [text.upper() for text in ("a", long[0], "b", long[1], "c", long[2], "d", "e")]
    assert Upper.batches[1:] == [["a", "b", "c", "d"], long, ["e"]]


def test_nobody_is_overtaken_for_long(queue: Queue) -> None:
    """Each of the first three finds its like further back; the fourth goes no later than a batch after its turn."""
    hold(queue)
    small, medium, large = "s" * 10, "m" * 100, "l" * 1000
    results(submit(queue, small, medium, large, "x" * 2000, *[small] * 3, *[medium] * 2))
    assert Upper.batches[1] == [small] * 4
    assert "x" * 2000 in Upper.batches[2]


def test_nobody_is_overtaken_when_the_queue_fills_up(queue: Queue) -> None:
    hold(queue)
    texts = [letter * (500 if number % 2 else 5) for number, letter in enumerate("abcdefghijkl")]
    results(submit(queue, *texts))
    assert Upper.batches[1] == texts[:4]


def test_workers_share_what_waits() -> None:
    """So that the second has something to do when the first has taken its batch."""
    Upper.batches, Upper.may_work = [], threading.Event()
    queue = Queue(Upper, 2, 32, Limits(), Metrics())
    held = submit(queue, "first", work=WORK) + submit(queue, "second", work=OTHER)
    queue.start()
    while queue.num_waiting():
        pass
    waiting = submit(queue, *["x"] * 40)
    assert results(held + waiting) == ["FIRST", "SECOND"] + ["X"] * 40
    assert sorted([len(batch) for batch in Upper.batches]) == [1, 1, 4, 16, 20]
    queue.close(10)


def test_people_overtake_documents_which_still_get_their_share(queue: Queue) -> None:
    hold(queue)
    documents = submit(queue, *[f"document {number}" for number in range(12)], is_background=True)
    people = [one for number in range(12) for one in submit(queue, f"p{number}", work=(WORK, OTHER)[number % 2])]
    results(people + documents)
    kinds = ["document" in batch[0] for batch in Upper.batches[1:]]
    assert kinds.index(True) >= 3
    assert BACKGROUND_SHARE > 1


def test_a_text_that_kills_workers_takes_no_other_with_it(queue: Queue) -> None:
    hold(queue)
    one, poison, other = submit(queue, "one", "poison", "other")
    assert results([one, other]) == ["ONE", "OTHER"]
    with pytest.raises(TextError):
        poison.result(10)
    assert sum("poison" in batch for batch in Upper.batches) == MOST_LOSSES


def test_a_text_that_fails_does_not_spoil_its_batch(queue: Queue) -> None:
    hold(queue)
    one, broken, other = submit(queue, "one", "broken", "other")
    assert results([one, other]) == ["ONE", "OTHER"]
    with pytest.raises(TextError):
        broken.result(10)


def test_what_nobody_waits_for_is_not_done(queue: Queue) -> None:
    first = hold(queue)
    gone, stays = submit(queue, "gone", "stays")
    queue.forget([gone])
    assert queue.num_waiting() == 1
    assert results([first, stays]) == ["FIRST", "STAYS"]
    assert not any("gone" in batch for batch in Upper.batches)


def test_a_full_queue_takes_all_texts_of_a_request_or_none(queue: Queue) -> None:
    hold(queue)
    taken = submit(queue, *["x"] * 15)
    with pytest.raises(QueueFullError):
        submit(queue, *["y"] * 6)
    assert queue.num_waiting() == 15
    assert results(taken + submit(queue, *["y"] * 5)) == ["X"] * 15 + ["Y"] * 5


def test_closing_finishes_what_people_wait_for_and_drops_documents(queue: Queue) -> None:
    first = hold(queue)
    people, documents = submit(queue, "person"), submit(queue, "document", is_background=True)
    closing = threading.Thread(target=queue.close, args=(10,))
    closing.start()
    with pytest.raises(ClosedError):
        documents[0].result(10)
    with pytest.raises(ClosedError):
        submit(queue, "late")
    assert results([first, *people]) == ["FIRST", "PERSON"]
    closing.join(10)
