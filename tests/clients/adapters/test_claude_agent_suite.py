"""The Claude Agent SDK's own tests, on the store."""

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import anyio
import pytest
from claude_agent_sdk import SessionStore
from claude_agent_sdk.testing import run_session_store_conformance

from forklore import AsyncForklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from tests.clients.adapters import claude_agent_plugin as plugin
from tests.clients.adapters.published import source_of
from tests.clients.adapters.services import Service
from tools.harness.local_server import ROOT

SHA256 = "1d859a142ee6cd97aef972215ed7ab5c09f623018194a6577c7dafbbfa481216"
CONTRACTS = 14
PASSED, PRIVATE = 363, 6
"""How many tests pass. The others set a private field of the SDK's own store."""
FILES = (
    "test_session_helpers_store.py",
    "test_session_import.py",
    "test_session_resume.py",
    "test_session_store_anyio.py",
    "test_session_store_conformance.py",
    "test_session_summary.py",
    "test_transcript_mirror.py",
)
"""Those of the SDK's tests that use `InMemorySessionStore` or test what calls a store."""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_store_keeps_all_contracts_of_the_sdk(service: Service, backend: str) -> None:
    called: set[str] = set()
    clients: list[AsyncForklore] = []

    class Watched(ForkloreSessionStore):
        def __getattribute__(self, name: str) -> object:
            called.add(name)
            return super().__getattribute__(name)

    def make() -> SessionStore:
        clients.append(service.async_client(f"ann-{uuid.uuid4()}"))
        return Watched(clients[-1])

    async def run() -> None:
        await run_session_store_conformance(make)
        for client in clients:
            await client.aclose()

    anyio.run(run, backend=backend)
    assert called >= {*plugin.METHODS}
    assert len(clients) == 1 + CONTRACTS  # one more is asked which methods it has


def test_the_store_passes_the_tests_of_the_sdk_in_place_of_the_one_in_memory(
    service: Service, tmp_path: Path
) -> None:
    folder = source_of("claude-agent-sdk", sha256=SHA256)
    used = tmp_path / "used.json"
    where = {plugin.DATA: str(tmp_path / "data")} if service.url is None else {plugin.URL: service.url}
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-p",
        "no:langsmith_plugin",
        "-p",
        "tests.clients.adapters.claude_agent_plugin",
    )

    ran = subprocess.run(
        (sys.executable, "-m", "pytest", *options, *(f"tests/{name}" for name in FILES)),
        check=False,
        cwd=folder,
        env={**os.environ, **where, plugin.USED: str(used), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )

    assert ran.returncode == 0, ran.stdout[-10_000:]
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", ran.stdout.splitlines()[-1])}
    assert (counts["passed"], counts["deselected"]) == (PASSED, PRIVATE), ran.stdout[-1_000:]
    assert not counts.keys() & {"failed", "skipped", "errors", "xfailed"}
    calls = json.loads(used.read_text())
    assert all(calls[method] >= 30 for method in plugin.METHODS), calls
