"""The Claude Agent SDK's own tests, on the store."""

import os
import re
import subprocess
import sys
import uuid

import pytest
from claude_agent_sdk import SessionStore
from claude_agent_sdk.testing import run_session_store_conformance

from forklore import AsyncForklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from tests.adapters import claude_agent_plugin as plugin
from tests.adapters.published import source_of
from tests.adapters.services import Service
from tools.harness.local_server import ROOT

SHA256 = "TODO"
PASSED = 238
FILES = (
    "test_session_helpers_store.py",
    "test_session_import.py",
    "test_session_resume.py",
    "test_session_store_anyio.py",
    "test_session_store_conformance.py",
    "test_session_summary.py",
    "test_transcript_mirror.py",
)
"""Those of the SDK's tests that use `InMemorySessionStore`, or another store."""
PRIVATE = "_mtimes["
"""What a test says that sets a private field of `InMemorySessionStore`."""


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
def test_the_store_keeps_all_contracts_of_the_sdk(service: Service, anyio_backend: str) -> None:
    import anyio

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

    anyio.run(run, backend=anyio_backend)
    assert called >= {"append", "load", "list_sessions", "list_session_summaries", "delete", "list_subkeys"}
    assert len(clients) == 1 + 14
