"""An adapter whose framework is not installed names the extra, in one line."""

import subprocess
import sys

import pytest

from tools.harness.local_server import ROOT


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("claude_agent", "claude_agent_sdk", "claude-agent"),
        ("google_adk", "google", "google-adk"),
        ("langgraph", "langgraph", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("openhands", "openhands", "openhands"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("strands", "strands", "strands"),
    ],
)
def test_the_error_names_the_extra(module: str, package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import forklore.adapters.{module}"
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f"MissingExtraError: {package} is not installed: pip install 'forklore[{extra}]'")


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("google_adk", "strands"),
        ("langgraph", "strands"),
        ("pydantic_ai", "strands"),
        ("strands", "pydantic_ai"),
    ],
)
def test_an_adapter_imports_its_framework_alone(module: str, package: str) -> None:
    code = f"import sys, forklore.adapters.{module}; print({package!r} in sys.modules)"
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"
