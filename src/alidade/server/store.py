"""The store: keys, their use, dictionaries (DeepL says glossaries) and documents in one SQLite file.

Write-ahead logging: whatever a call has written survives the death of the process at any moment. Keys are stored as
hashes. Dictionaries belong to the key that made them ("" where there are no keys).
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from alidade.dictionary.entries import Entry
from alidade.errors import AlidadeError
from alidade.text.languages import primary_language

if TYPE_CHECKING:
    from alidade.translator import Mode

State = Literal["queued", "translating", "done", "error"]
SegmentState = Literal["waiting", "file", "machine", "memory", "person"]
"""Not translated yet; translated in the file already; by whom else."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, character_limit INTEGER, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS use (
    owner TEXT NOT NULL, month TEXT NOT NULL, characters INTEGER NOT NULL, PRIMARY KEY (owner, month));
CREATE TABLE IF NOT EXISTS dictionaries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL, inflect INTEGER NOT NULL,
    created REAL NOT NULL, version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sections (
    dictionary TEXT NOT NULL REFERENCES dictionaries (id) ON DELETE CASCADE, source TEXT NOT NULL, target TEXT NOT NULL,
    num_entries INTEGER NOT NULL, entries TEXT NOT NULL, PRIMARY KEY (dictionary, source, target));
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret BLOB NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,
    target TEXT NOT NULL, dictionary TEXT, state TEXT NOT NULL, message TEXT NOT NULL, characters INTEGER NOT NULL,
    created REAL NOT NULL, content BLOB NOT NULL, result BLOB);
CREATE TABLE IF NOT EXISTS segments (
    document TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE, number INTEGER NOT NULL, place TEXT NOT NULL,
    sources TEXT NOT NULL, targets TEXT NOT NULL, state TEXT NOT NULL, confidence REAL, unused TEXT NOT NULL,
    PRIMARY KEY (document, number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waiting ON documents (state, created);
"""


@dataclass(frozen=True, slots=True)
class Key:
    """Who asks; with no keys at all, everybody is `NOBODY`."""

    id: str
    name: str
    character_limit: int | None


NOBODY = Key("", "", None)


@dataclass(frozen=True, slots=True)
class Section:
    """The entries of a dictionary for one pair of languages."""

    source: str
    target: str
    num_entries: int


@dataclass(frozen=True, slots=True)
class StoredDictionary:
    """A dictionary without its entries."""

    id: str
    name: str
    mode: Mode
    inflect: bool
    created: float
    version: int
    sections: tuple[Section, ...]

    def has(self, source: str, target: str) -> bool:
        wanted = primary_language(source), primary_language(target)
        return any((section.source, section.target) == wanted for section in self.sections)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document without its contents."""

    id: str
    owner: str
    name: str
    """With a suffix that says its kind; never used as a path."""
    source: str
    target: str
    dictionary: str | None
    state: State
    message: str
    characters: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A unit of a document and what has become of it."""

    number: int
    place: str
    """Where it stands in the file, for a person."""
    sources: tuple[str, ...]
    """One, or one for each plural form."""
    targets: tuple[str, ...] = ()
    state: SegmentState = "waiting"
    confidence: float | None = None
    """Of the machine."""
    unused: tuple[str, ...] = ()
    """Entries of the dictionary that apply and were not used."""


class Store:
    """One SQLite file; threads of a process share it, other processes have their own."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10.0)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise AlidadeError(f"{path}: cannot be used as the server's database: {error}") from None
        path.chmod(0o600)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self, *, is_synced: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it is written, or nothing. is_synced: it survives a power cut too, which takes the disk some time."""
        with self._lock:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    # Keys

    def add_key(self, name: str, character_limit: int | None = None) -> str:
        """Make a key and say it, once: only its hash is kept."""
        identity, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        text = f"ali_{identity}_{secret}"
        try:
            with self._writing() as connection:
                connection.execute(
                    "INSERT INTO keys VALUES (?, ?, ?, ?, ?)",
                    (identity, name, _hash(text), character_limit, time.time()),
                )
        except sqlite3.IntegrityError:
            raise AlidadeError(f'there is a key "{name}" already: remove it first, or choose another name') from None
        return text

    def all_keys(self) -> list[Key]:
        return [Key(*row) for row in self._rows("SELECT id, name, character_limit FROM keys ORDER BY created")]

    def remove_key(self, name: str) -> None:
        with self._writing() as connection:
            if connection.execute("DELETE FROM keys WHERE name = ?", (name,)).rowcount == 0:
                raise AlidadeError(f'there is no key "{name}"; `alidade serve keys list` shows those that there are')

    def find_key(self, text: str) -> Key | None:
        """The key that a client has shown; compared in constant time."""
        parts = text.split("_", 2)
        rows = self._rows(
            "SELECT id, name, character_limit, hash FROM keys WHERE id = ?", parts[1] if parts[1:] else ""
        )
        given = _hash(text)
        known = rows[0][3] if rows else bytes(len(given))
        return Key(*rows[0][:3]) if hmac.compare_digest(given, known) and rows else None

    # Use

    def count_characters(self, owner: str, characters: int, limit: int | None) -> bool:
        """Add to this month's use; False, and nothing added, if that were more than the limit."""
        month = time.strftime("%Y-%m", time.gmtime())
        with self._writing(is_synced=False) as connection:
            used = self.characters(owner)
            if limit is not None and used + characters > limit:
                return False
            connection.execute(
                "INSERT INTO use VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET characters = characters + excluded.characters",
                (owner, month, characters),
            )
        return True

    def characters(self, owner: str) -> int:
        """This month's."""
        month = time.strftime("%Y-%m", time.gmtime())
        rows = self._rows("SELECT characters FROM use WHERE owner = ? AND month = ?", owner, month)
        return int(rows[0][0]) if rows else 0

    # Dictionaries

    def add_dictionary(
        self,
        owner: str,
        name: str,
        sections: Sequence[tuple[str, str, Sequence[Entry]]],
        mode: Mode,
        inflect: bool = False,
    ) -> StoredDictionary:
        identity = str(uuid.uuid4())
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO dictionaries VALUES (?, ?, ?, ?, ?, ?, 1)",
                (identity, owner, name, mode, inflect, time.time()),
            )
            for source, target, entries in sections:
                _write_section(connection, identity, source, target, entries)
        return cast("StoredDictionary", self.dictionary(owner, identity))

    def dictionaries(self, owner: str) -> list[StoredDictionary]:
        ids = [row[0] for row in self._rows("SELECT id FROM dictionaries WHERE owner = ? ORDER BY created", owner)]
        found = [self.dictionary(owner, identity) for identity in ids]
        return [one for one in found if one is not None]

    def num_dictionaries(self, owner: str) -> int:
        return int(self._rows("SELECT count(*) FROM dictionaries WHERE owner = ?", owner)[0][0])

    def dictionary(self, owner: str, identity: str) -> StoredDictionary | None:
        """One of an owner's dictionaries; those of others are none."""
        query = "SELECT id, name, mode, inflect, created, version FROM dictionaries WHERE id = ? AND owner = ?"
        with self._lock:
            rows = self._rows(query, identity, owner)
            sections = self._rows(
                "SELECT source, target, num_entries FROM sections WHERE dictionary = ? ORDER BY source, target",
                identity,
            )
        if not rows:
            return None
        identity, name, mode, inflect, created, version = rows[0]
        return StoredDictionary(
            identity, name, mode, bool(inflect), created, version, tuple([Section(*row) for row in sections])
        )

    def change_dictionary(
        self, identity: str, *, name: str | None = None, mode: Mode | None = None, inflect: bool | None = None
    ) -> None:
        with self._writing() as connection:
            connection.execute(
                "UPDATE dictionaries SET name = coalesce(?, name), mode = coalesce(?, mode), "
                "inflect = coalesce(?, inflect), version = version + 1 WHERE id = ?",
                (name, mode, inflect, identity),
            )

    def put_section(
        self,
        identity: str,
        source: str,
        target: str,
        entries: Sequence[Entry],
        *,
        merge: bool,
        removed: Collection[str] = (),
    ) -> None:
        """Replace a dictionary's entries for a pair of languages, or add to them, without those of removed phrases;
        new ones win."""
        with self._writing() as connection:
            kept: list[Entry] = []
            if merge:
                replaced = {entry.source for entry in entries} | set(removed)
                kept = [entry for entry in self.entries(identity, source, target) if entry.source not in replaced]
            _write_section(connection, identity, source, target, [*kept, *entries])
            connection.execute("UPDATE dictionaries SET version = version + 1 WHERE id = ?", (identity,))

    def remove_section(self, identity: str, source: str, target: str) -> bool:
        with self._writing() as connection:
            pair = primary_language(source), primary_language(target)
            query = "DELETE FROM sections WHERE dictionary = ? AND source = ? AND target = ?"
            connection.execute("UPDATE dictionaries SET version = version + 1 WHERE id = ?", (identity,))
            return connection.execute(query, (identity, *pair)).rowcount > 0

    def remove_dictionary(self, owner: str, identity: str) -> bool:
        with self._writing() as connection:
            query = "DELETE FROM dictionaries WHERE id = ? AND owner = ?"
            return connection.execute(query, (identity, owner)).rowcount > 0

    def entries(self, identity: str, source: str, target: str) -> list[Entry]:
        rows = self._rows(
            "SELECT entries FROM sections WHERE dictionary = ? AND source = ? AND target = ?",
            identity,
            primary_language(source),
            primary_language(target),
        )
        return [_read_entry(values) for values in json.loads(rows[0][0])] if rows else []

    # Documents

    def add_document(
        self,
        owner: str,
        name: str,
        languages: tuple[str, str],
        dictionary: str | None,
        content: bytes,
        characters: int,
        segments: Iterable[Segment] = (),
    ) -> tuple[str, str]:
        """Its id, and the secret that its owner shows to get it."""
        identity, secret = secrets.token_hex(16), secrets.token_hex(32)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', '', ?, ?, ?, NULL)",
                (identity, owner, _hash(secret), name, *languages, dictionary, characters, time.time(), content),
            )
            _write_segments(connection, identity, segments)
        return identity, secret

    def document(self, owner: str, identity: str, secret: str | None = None) -> StoredDocument | None:
        """An owner's document; with a secret, only if it is the right one."""
        rows = self._rows(f"SELECT {_DOCUMENT}, secret FROM documents WHERE id = ? AND owner = ?", identity, owner)  # noqa: S608
        if not rows or (secret is not None and not hmac.compare_digest(_hash(secret), rows[0][-1])):
            return None
        return StoredDocument(*rows[0][:-1])

    def documents(self, owner: str) -> list[StoredDocument]:
        rows = self._rows(f"SELECT {_DOCUMENT} FROM documents WHERE owner = ? ORDER BY created", owner)  # noqa: S608
        return [StoredDocument(*row) for row in rows]

    def num_unfinished(self, owner: str) -> int:
        query = "SELECT count(*) FROM documents WHERE owner = ? AND state IN ('queued', 'translating')"
        return int(self._rows(query, owner)[0][0])

    def num_before(self, identity: str) -> int:
        """How many documents are translated before this one."""
        query = """SELECT count(*) FROM documents WHERE state IN ('queued', 'translating')
                   AND created < (SELECT created FROM documents WHERE id = ?)"""
        return int(self._rows(query, identity)[0][0])

    def take_document(self) -> tuple[StoredDocument, bytes] | None:
        """The oldest that waits, from now on being translated, and its content."""
        with self._writing() as connection:
            rows = self._rows(
                f"SELECT {_DOCUMENT}, content FROM documents WHERE state = 'queued' ORDER BY created LIMIT 1"  # noqa: S608
            )
            if not rows:
                return None
            connection.execute("UPDATE documents SET state = 'translating' WHERE id = ?", (rows[0][0],))
        return StoredDocument(*rows[0][:-1]), rows[0][-1]

    def finish_document(self, identity: str, result: bytes) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE documents SET state = 'done', result = ? WHERE id = ?", (result, identity))

    def fail_document(self, identity: str, message: str) -> None:
        with self._writing() as connection:
            connection.execute(
                "UPDATE documents SET state = 'error', message = ?, content = x'' WHERE id = ?", (message, identity)
            )

    def put_documents_back(self, identity: str | None = None) -> None:
        """What was being translated when the server ended waits again."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE documents SET state = 'queued' WHERE state = 'translating' AND id = coalesce(?, id)",
                (identity,),
            )

    def result(self, identity: str) -> bytes | None:
        rows = self._rows("SELECT result FROM documents WHERE id = ? AND state = 'done'", identity)
        return rows[0][0] if rows else None

    def requeue_document(self, identity: str, dictionary: str | None) -> bool:
        """Have a translated document translated again, but for what people have done; False: it is not done, or its
        file is not there any more."""
        with self._writing() as connection:
            query = """UPDATE documents SET state = 'queued', dictionary = ?
                       WHERE id = ? AND state = 'done' AND length(content) > 0"""
            if connection.execute(query, (dictionary, identity)).rowcount == 0:
                return False
            query = "UPDATE segments SET state = 'waiting' WHERE document = ? AND state IN ('machine', 'memory')"
            connection.execute(query, (identity,))
        return True

    def content(self, identity: str) -> bytes:
        """The file as it came."""
        rows = self._rows("SELECT content FROM documents WHERE id = ?", identity)
        return bytes(rows[0][0]) if rows else b""

    # Segments of documents

    def put_segments(self, document: str, segments: Iterable[Segment], *, is_synced: bool = False) -> None:
        """Add segments, or replace those with the same numbers; of a document that is gone, nothing."""
        with self._writing(is_synced=is_synced) as connection:
            if self._rows("SELECT 1 FROM documents WHERE id = ?", document):
                _write_segments(connection, document, segments)

    def segments(
        self, document: str, where: str = "", values: Sequence[object] = (), start: int = 0, count: int = -1
    ) -> list[Segment]:
        """Segments in their order; where: a condition of our own making, with question marks for values."""
        query = f"SELECT {_SEGMENT} FROM segments WHERE document = ? {where} ORDER BY number LIMIT ? OFFSET ?"  # noqa: S608
        return [_read_segment(row) for row in self._rows(query, document, *values, count, start)]

    def num_segments(self, document: str, where: str = "", values: Sequence[object] = ()) -> int:
        query = f"SELECT count(*) FROM segments WHERE document = ? {where}"  # noqa: S608
        return int(self._rows(query, document, *values)[0][0])

    def remove_document(self, owner: str, identity: str) -> bool:
        with self._writing() as connection:
            query = "DELETE FROM documents WHERE id = ? AND owner = ? AND state <> 'translating'"
            return connection.execute(query, (identity, owner)).rowcount > 0

    def remove_old_documents(self, seconds: float) -> None:
        """Results are kept for a while, not for ever."""
        with self._writing() as connection:
            query = "DELETE FROM documents WHERE state IN ('done', 'error') AND created < ?"
            connection.execute(query, (time.time() - seconds,))


def _write_segments(connection: sqlite3.Connection, document: str, segments: Iterable[Segment]) -> None:
    rows = [
        (
            *(document, one.number, one.place, json.dumps(one.sources), json.dumps(one.targets)),
            *(one.state, one.confidence, json.dumps(one.unused)),
        )
        for one in segments
    ]
    connection.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


_SEGMENT = "number, place, sources, targets, state, confidence, unused"


def _read_segment(row: tuple[Any, ...]) -> Segment:
    number, place, sources, targets, state, confidence, unused = row
    texts = [tuple(json.loads(one)) for one in (sources, targets, unused)]
    return Segment(number, place, texts[0], texts[1], state, confidence, texts[2])


_DOCUMENT = "id, owner, name, source, target, dictionary, state, message, characters"


def _hash(text: str) -> bytes:
    """Keys and secrets are long and random: no slow hash is needed."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _write_section(
    connection: sqlite3.Connection, identity: str, source: str, target: str, entries: Sequence[Entry]
) -> None:
    values = json.dumps([_plain(entry) for entry in entries], ensure_ascii=True)
    pair = primary_language(source), primary_language(target)
    connection.execute(
        "INSERT OR REPLACE INTO sections VALUES (?, ?, ?, ?, ?)", (identity, *pair, len(entries), values)
    )


_DEFAULTS = asdict(Entry("", ()))


def _plain(entry: Entry) -> dict[str, Any]:
    """What differs from an entry with nothing special; where it came from matters no more."""
    values = asdict(entry)
    return {name: value for name, value in values.items() if name != "origin" and value != _DEFAULTS[name]}


def _read_entry(values: dict[str, Any]) -> Entry:
    texts = {name: tuple(values[name]) for name in ("targets", "forbidden") if name in values}
    return Entry(**({"source": "", "targets": ()} | values | texts))
