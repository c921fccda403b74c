"""Segments of documents in the store, without a server around it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from alidade.documents.document import Filled, Unit
from alidade.server.document_routes import _SHOWN
from alidade.server.segments import SegmentRecord, first_segments
from alidade.server.store import Segment, Store

UNITS = [
    Unit(("Open",), lambda _: [], "line 1"),
    Unit(("Save",), lambda _: [], "line 2", targets=("Salvează",)),
    Unit(("%d file", "%d files"), lambda _: [], "line 3", is_plural_form=(False, True)),
]


def document(store: Store) -> str:
    return store.add_document("", "a.po", ("en", "ro"), None, b"content", 10, first_segments(UNITS))[0]


def test_what_is_translated_is_written_and_what_people_did_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    identity = document(store)
    assert [one.state for one in store.segments(identity)] == ["waiting", "file", "waiting"]
    record = SegmentRecord(store, identity)
    record.finish({0: Filled(("Deschide",), "machine", 0.9), 2: Filled(("%d fișier", "%d fișiere"), "memory")})
    first, _, last = store.segments(identity)
    assert (first.targets, first.state, first.confidence) == (("Deschide",), "machine", 0.9)
    assert (last.targets, last.state) == (("%d fișier", "%d fișiere"), "memory")

    store.put_segments(identity, [replace(first, targets=("Deschideți",), state="person")])
    SegmentRecord(store, identity).finish({0: Filled(("Deschide",), "machine", 0.9)})
    assert store.segments(identity)[0].targets == ("Deschideți",)
    assert store.content(identity) == b"content"


def test_segments_are_filtered(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    identity = document(store)
    unsure = Segment(0, "line 1", ("Open",), ("Deschide",), "machine", 0.3)
    store.put_segments(identity, [unsure, replace(unsure, number=3, confidence=0.9, unused=("open = deschis",))])
    found = {show: [one.number for one in store.segments(identity, where)] for show, where in _SHOWN.items()}
    assert found == {
        "all": [0, 1, 2, 3],
        "unsure": [0],
        "unused": [3],
        "waiting": [2],
        "person": [],
        "machine": [0, 3],
    }
    assert store.num_segments(identity, _SHOWN["machine"]) == 2
    assert [one.number for one in store.segments(identity, start=1, count=2)] == [1, 2]


def test_segments_go_with_their_document(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    identity = document(store)
    assert store.remove_document("", identity)
    assert store.num_segments(identity) == 0
    store.put_segments(identity, [Segment(0, "line 1", ("Open",))])
    assert store.num_segments(identity) == 0


def test_only_a_finished_document_is_translated_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    identity = document(store)
    assert not store.requeue_document(identity, None)
    SegmentRecord(store, identity).finish({0: Filled(("Deschide",), "machine", 0.9)})
    store.finish_document(identity, b"result")
    assert store.requeue_document(identity, None)
    assert store.result(identity) is None
    assert [one.state for one in store.segments(identity)] == ["waiting", "file", "waiting"]
