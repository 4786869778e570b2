"""Agents of two frameworks use the tools of `forklore mcp`, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.harness.local_server import ROOT, environment

EXAMPLES = sorted((ROOT / "examples" / "mcp").glob("*_agent.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda one: one.stem)
def test_an_agent_finds_an_older_conversation_forks_it_goes_on_and_compares(
    script: Path, tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment(XDG_CONFIG_HOME=str(tmp_path), OPENAI_AGENTS_DISABLE_TRACING="1"),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert ended.stdout == script.with_suffix(".py.out").read_text(encoding="utf-8"), ended.stderr
    assert ended.returncode == 0
