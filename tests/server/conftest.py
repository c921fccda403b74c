"""One server for all tests that do it no harm."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from server.running import Running, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server") / "server.sqlite", "--workers", "1") as one:
        yield one


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address, timeout=60) as one:
        yield one
