"""What the server may be asked for: its limits, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from alidade.parallel import available_cores


@dataclass(frozen=True, slots=True)
class Limits:
    """Whatever comes in stays within these, so that memory does."""

    body_bytes: int = 2_000_000
    """Of any request but an upload."""
    upload_bytes: int = 20_000_000
    buffered_bytes: int = 200_000_000
    """Of all requests together."""
    text_characters: int = 50_000
    request_characters: int = 130_000
    """Of all texts of a request; DeepL allows 128 KiB."""
    texts: int = 1000
    waiting_texts: int = 4000
    waiting_characters: int = 1_000_000
    """So much may wait in the queue; beyond it the answer is 429."""
    waiting_documents: int = 100
    """For each key."""
    dictionary_entries: int = 100_000
    dictionaries: int = 1000
    """For each key."""
    request_seconds: float = 120.0
    """A request is answered within this time, or told to come again."""
    body_seconds: float = 30.0
    """A client has so long to send its request."""
    batch_seconds: float = 300.0
    """A worker that takes longer for a batch is replaced."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How `alidade serve` was started."""

    database: Path
    models: tuple[Path | None, ...] = (None,)
    """Model folders; None is the one that is shipped."""
    workers: int = field(default_factory=available_cores)
    batch_size: int = 32
    address: str = "http://127.0.0.1:5000"
    """Under which clients reach the server; links in answers begin with it."""
    limits: Limits = Limits()


def default_database() -> Path:
    """In the place that the desktop's conventions have for what programs remember."""
    import os

    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "alidade" / "server.sqlite"
