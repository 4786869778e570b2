"""Which modules each function loads when it starts: only those that its requests need."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SCRIPT = """
import importlib, sys
importlib.import_module(f"functions.{sys.argv[1]}.app")
print(*(name for name in sys.modules))
"""
OPERATIONS = {"admin", "conversations", "entries", "sharing"}


def loaded(function: str) -> set[str]:
    """Return the modules that are loaded after a new process has imported a function."""
    command = [sys.executable, "-c", SCRIPT, function]
    path = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'layers' / 'core'}"}
    run = subprocess.run(command, env=path, capture_output=True, text=True, timeout=60, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("function", sorted(OPERATIONS - {"admin"}))  # admin uses the others' operations
def test_a_function_of_the_http_api_loads_its_own_operations(function: str) -> None:
    modules = loaded(function)

    assert {name for name in OPERATIONS if f"forklore.api.operations.{name}" in modules} == {function}


def test_the_agents_function_loads_all_operations_at_the_start() -> None:
    assert {f"forklore.api.operations.{name}" for name in OPERATIONS} <= loaded("agent")


@pytest.mark.parametrize("function", ["delete_group", "sweep"])
def test_the_worker_and_the_sweep_load_no_models_of_requests(function: str) -> None:
    modules = loaded(function)

    assert "forklore.aws.jobs" in modules
    assert not modules & {"forklore.api.requests", "forklore.api.operation"}


@pytest.mark.parametrize("function", ["conversations", "agent", "delete_group"])
def test_no_function_loads_boto3(function: str) -> None:
    assert "boto3" not in loaded(function)


@pytest.mark.parametrize("function", ["conversations", "agent"])
def test_what_answers_requests_loads_no_powertools(function: str) -> None:
    assert not [name for name in loaded(function) if name.startswith("aws_lambda_powertools")]
