"""The server answers thousands of requests as docs/openapi.json says. Schemathesis makes them.

No answer is a 5xx, has an undocumented status, header or content type, or breaks its schema. No
undocumented method is served. FORKLORE_TEST_SEED repeats the same requests.
"""

import re
import subprocess
import sys
import uuid
from pathlib import Path

import httpx

from tests.local.server import gateway_paths
from tests.service.reliability.figures import Measure
from tools.harness.local_server import ROOT, environment, local_server

RUN_S = 1_800
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
)
SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]
"""
"""A semantic search is 501."""
ENDS = ("deleteConversation", "adminDeleteConversation", "adminEraseUser")
"""Operations that delete what the others need come last."""


def test_random_requests_are_answered_as_the_document_says(tmp_path: Path, measure: Measure) -> None:
    """No answer is a 5xx, has an undocumented status, or breaks its schema.

    In CI the requests are those that follow from the document; at the gate random ones as well.
    """
    least = measure.goal(ci=4_000, gate=20_000)
    fuzzing = measure.goal(ci=0, gate=800)
    phases = "examples,coverage,fuzzing" if fuzzing else "examples,coverage"
    document = (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    (tmp_path / "openapi.json").write_text(document, encoding="utf-8")
    with local_server(FORKLORE_ADMINS="alice") as url:
        conversation = str(uuid.uuid4())
        headers = {"Authorization": "Bearer alice", "X-API-Key": "local-key"}
        made = httpx.post(f"{url}/v1/conversations", headers=headers, json={"id": conversation})
        assert made.status_code == 201, made.text
        settings = f'[parameters]\nconversationId = "{conversation}"\n'
        settings += SETTINGS
        (tmp_path / "schemathesis.toml").write_text(settings, encoding="utf-8")

        def run(*which: str) -> int:
            """Run Schemathesis; return how many requests it has made."""
            command = [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml"),
                *("run", "openapi.json", "--url", url, "--checks", ",".join(CHECKS), "--no-color", *which),
                *("--phases", phases, "--max-examples", str(max(1, fuzzing))),
                *("--seed", str(measure.seed)),
                *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}")),
            ]
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment(PYTHONWARNINGS="default", SCHEMATHESIS_HOOKS=gateway_paths.__name__),
                capture_output=True,
                text=True,
                timeout=RUN_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
            counted = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
            assert counted, done.stdout
            assert counted[1] == counted[2]
            return int(counted[1])

        cases = run(*(part for name in ENDS for part in ("--exclude-operation-id", name)))
        left = httpx.get(f"{url}/v1/conversations/{conversation}", headers=headers)
        cases += run(*(part for name in ENDS for part in ("--include-operation-id", name)))

    assert left.status_code == 200, left.text
    assert left.json()["metrics"]["entries"] > 0
    assert cases >= least
    measure.count(cases=cases)
