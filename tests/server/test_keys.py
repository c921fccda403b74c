"""Keys, limits, and who may reach the server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deepl
import httpx
import pytest

from server.running import Running, running


def alidade(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "alidade", *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys") / "server.sqlite"


@pytest.fixture(scope="module")
def keys(database: Path) -> dict[str, str]:
    made = {}
    for name, options in (("office", []), ("small", ["--characters", "20"])):
        done = alidade("serve", "keys", "add", name, *options, "--database", str(database))
        assert done.returncode == 0, done.stderr
        made[name] = done.stdout.strip()
    return made


@pytest.fixture(scope="module")
def guarded(database: Path, keys: dict[str, str]) -> Iterator[Running]:
    with running(database, "--workers", "1") as one:
        yield one


def test_keys_are_listed_without_their_secrets_and_stored_as_hashes(database: Path, keys: dict[str, str]) -> None:
    listed = alidade("serve", "keys", "list", "--database", str(database)).stdout
    assert "office" in listed
    files = b"".join([path.read_bytes() for path in database.parent.glob("server.sqlite*") if path.is_file()])
    for key in keys.values():
        assert key not in listed
        assert key.encode() not in files
    assert alidade("serve", "keys", "add", "office", "--database", str(database)).returncode == 2
    assert alidade("serve", "keys", "remove", "nobody", "--database", str(database)).returncode == 2


def test_without_the_right_key_nothing_is_translated(guarded: Running, keys: dict[str, str]) -> None:
    asked = {"text": ["Open."], "target_lang": "RO"}
    url = f"{guarded.address}/v2/translate"
    assert httpx.post(url, json=asked).status_code == 401
    wrong = [keys["office"][:-1] + "!", keys["office"][:14], "ali_", "x", "é"]
    for key in wrong:
        header = f"DeepL-Auth-Key {key}".encode()
        assert httpx.post(url, json=asked, headers={b"authorization": header}).status_code == 403
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=guarded.address).translate_text("Open.", target_lang="RO")


def test_all_interfaces_take_keys(guarded: Running, keys: dict[str, str]) -> None:
    client = deepl.DeepLClient(keys["office"], server_url=guarded.address)
    assert client.translate_text("Open.", target_lang="RO")
    libre = {"q": "Open.", "source": "en", "target": "ro"}
    assert httpx.post(f"{guarded.address}/translate", json=libre | {"api_key": keys["office"]}).status_code == 200
    assert httpx.post(f"{guarded.address}/translate", json=libre).status_code == 401
    bearer = {"authorization": f"Bearer {keys['office']}"}
    own = {"text": "Open.", "target_language": "ro"}
    assert httpx.post(f"{guarded.address}/api/translate", json=own, headers=bearer).status_code == 200


def test_the_characters_of_a_month_end(guarded: Running, keys: dict[str, str]) -> None:
    client = deepl.DeepLClient(keys["small"], server_url=guarded.address)
    client.translate_text("x" * 15, target_lang="RO")
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_text("x" * 6, target_lang="RO")
    client.translate_text("x" * 5, target_lang="RO")
    usage = client.get_usage().character
    assert (usage.count, usage.limit) == (20, 20)


def test_what_is_refused_is_not_counted(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1", "--waiting", "5") as server:
        asked = {"text": ["Open."] * 6, "target_lang": "RO"}
        assert httpx.post(f"{server.address}/v2/translate", json=asked).status_code == 429
        assert httpx.get(f"{server.address}/v2/usage").json()["character_count"] == 0


def test_nobody_sees_the_glossaries_of_another(guarded: Running, keys: dict[str, str]) -> None:
    office, small = (deepl.DeepLClient(keys[name], server_url=guarded.address) for name in ("office", "small"))
    made = office.create_glossary("own", "EN", "RO", {"file": "dosar"})
    with pytest.raises(deepl.GlossaryNotFoundException):
        small.get_glossary(made.glossary_id)
    assert small.list_glossaries() == []


def test_the_log_and_the_metrics_have_no_texts(guarded: Running, keys: dict[str, str]) -> None:
    client = deepl.DeepLClient(keys["office"], server_url=guarded.address)
    client.translate_text("Marmalade", target_lang="RO")
    metrics = httpx.get(f"{guarded.address}/metrics").text
    log = guarded.log.read_text()
    assert "alidade_requests_total" in metrics
    assert "alidade_batch_texts" in metrics
    assert '"key": "office"' in log
    for secret in ("Marmalade", keys["office"]):
        assert secret not in log
        assert secret not in metrics


def test_without_keys_only_this_machine_is_served(tmp_path: Path, client: httpx.Client) -> None:
    done = alidade("serve", "--host", "0.0.0.0", "--port", "0", "--database", str(tmp_path / "a.sqlite"))
    assert done.returncode == 2
    assert "keys add" in done.stderr
    assert client.get("/healthz", headers={"Host": "elsewhere.example"}).status_code == 403
    answer = client.get("/healthz", headers={"Origin": "http://elsewhere.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_too_much_is_refused(client: httpx.Client) -> None:
    for texts in (["x"] * 2000, ["x" * 60_000], ["x" * 40_000] * 4):
        assert client.post("/v2/translate", json={"text": texts, "target_lang": "RO"}).status_code == 413
    assert client.post("/v2/translate", content=b" " * 2_500_000).status_code == 413
    chunks = (b" " * 100_000 for _ in range(30))
    assert client.post("/v2/translate", content=chunks).status_code == 413
