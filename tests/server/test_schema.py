"""The whole OpenAPI schema, with made-up requests: no failure of ours, no answer that the schema does not tell of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from server.running import Running

CASES = os.environ.get("ALIDADE_SCHEMA_CASES", "8")
"""For each operation; 5,000 in all are about 150 for each."""


def test_made_up_requests_are_answered_as_the_schema_says(server: Running, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text("")
    answers = tmp_path / "answers"
    environment = {
        "ALIDADE_ADDRESS": server.address,
        "ALIDADE_ANSWERS": str(answers),
        "SCHEMATHESIS_HOOKS": "server.stored_things",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.address}/openapi.json"),
            *("--phases", "examples,fuzzing", "--checks", checks, "--max-examples", CASES, "--seed", "1"),
            *(
                "--generation-database",
                "none",
                "--no-color",
                "--request-timeout",
                "60",
                "--suppress-health-check",
                "all",
            ),
        ],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=250 if CASES == "8" else None,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    statuses: dict[str, set[str]] = {}
    for line in answers.read_text().splitlines():
        operation, _, status = line.rpartition(" ")
        statuses.setdefault(operation, set()).add(status)
    stored = [operation for operation in statuses if "{identity}" in operation]
    assert len(stored) >= 22
    assert [operation for operation in stored if statuses[operation] <= {"404"}] == []
