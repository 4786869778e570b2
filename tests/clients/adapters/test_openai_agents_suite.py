"""The OpenAI Agents SDK's own tests, with our session in the place of `SQLiteSession`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.adapters.openai_agents_plugin import LEFT_OUT, URL, USED
from tests.clients.adapters.published import source_of
from tests.clients.adapters.services import Service
from tools.harness.local_server import ROOT

SHA256 = "4b4b285f4fed81fdf1b4ac426a9101658d9cd29b4fb1aaeee18f639b77e704e3"
MEMORY = (
    "memory/test_session.py",
    "memory/test_session_limit.py",
    "memory/test_compaction_model_visibility.py",
    "memory/test_openai_responses_compaction_session.py",
)
RUNNER = (
    "test_agent_runner.py",
    "test_agent_runner_streamed.py",
    "test_max_turns.py",
    "test_native_tool_failure_history.py",
    "test_programmatic_tool_calling.py",
    "test_run_impl_resume_paths.py",
    "test_soft_cancel.py",
    "test_tool_batch_failure_history.py",
    "test_tool_failure_boundaries.py",
)
"""Their tests that name `SQLiteSession`; the others have no session."""
OF_SQLITE = """
    test_sqlite_session_close_closes_worker_thread_connections
    test_sqlite_session_reaps_connections_from_exited_worker_threads
    test_sqlite_session_closes_retired_connections_before_the_next_allocation
    test_sqlite_session_keeps_connections_of_live_worker_threads
    test_sqlite_session_closed_rejects_empty_add_items
    test_sqlite_session_pop_item_skips_corrupt_most_recent
    test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows
    test_sqlite_session_get_items_limit_skips_corrupt_newest_rows
    test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows
    test_sqlite_session_file_lock_is_shared_across_instances
    test_sqlite_session_failed_add_items_releases_write_lock
    test_sqlite_session_failed_clear_session_rolls_back
    test_sqlite_session_failed_pop_item_releases_write_lock
    test_sqlite_session_rollback_failure_evicts_connection
    test_sqlite_session_close_retries_quarantined_connection
    test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome
    test_handoff_resume_after_cancelled_compaction_commits
    test_settled_pop_failure_invalidates_response_chain
    test_settled_clear_failure_invalidates_response_chain
"""
"""Tests of SQLite's connections, locks, rows and tables."""
OF_EXPIRY = """
    test_automatic_compaction_does_not_reload_unbounded_hidden_history[outer-True]
    test_automatic_compaction_does_not_reload_unbounded_hidden_history[inner-True]
    test_expired_read_overhead_does_not_authorize_hidden_history
"""
"""Tests of a compaction that removes expired items before the ones that it sums up."""


def run(files: tuple[str, ...], service: Service, used: Path) -> str:
    """Run files of the SDK's tests; return what pytest says at the end."""
    folder = source_of("openai-agents", sha256=SHA256)
    plugins = ROOT / "tests" / "clients" / "adapters"  # their tests are `tests`, too
    environment = {
        **os.environ,
        "PYTHONPATH": str(plugins),
        URL: service.url or "",
        USED: str(used),
        LEFT_OUT: OF_SQLITE + OF_EXPIRY,
    }
    options = ("-q", "-p", "openai_agents_plugin", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin")
    ran = subprocess.run(
        (sys.executable, "-m", "pytest", *options, *files),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        (MEMORY, {"passed": 220, "deselected": 26}),
        (RUNNER, {"passed": 164, "deselected": 4}),
    ],
    ids=["memory", "runner"],
)
def test_the_session_passes_the_tests_of_the_sdk(
    service: Service, tmp_path: Path, files: tuple[str, ...], counts: dict[str, int]
) -> None:
    said = run(tuple(f"tests/{name}" for name in files), service, tmp_path / "used.json")
    found = re.findall(r"(\d+) (passed|skipped|deselected)", said)
    assert {word: int(number) for number, word in found} == counts, said
    used = json.loads((tmp_path / "used.json").read_text())
    assert min(used["get_items"], used["add_items"]) > 20
    if files == MEMORY:
        assert set(used) >= {"get_items", "add_items", "pop_item"}
