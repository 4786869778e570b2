"""What each function loads when it starts: what it needs for its requests, and no more."""

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
    """Return the modules that a new process has when it has loaded a function."""
    command = [sys.executable, "-c", SCRIPT, function]
    path = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'layers' / 'core'}"}
    run = subprocess.run(command, env=path, capture_output=True, text=True, timeout=60, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("function", sorted(OPERATIONS - {"admin"}))  # whose are made of the others'
def test_a_function_of_the_http_api_loads_its_own_operations(function: str) -> None:
    modules = loaded(function)

    assert {name for name in OPERATIONS if f"forklore.api.operations.{name}" in modules} == {function}


def test_the_agents_function_loads_all_operations_before_it_is_asked() -> None:
    assert {f"forklore.api.operations.{name}" for name in OPERATIONS} <= loaded("agent")


@pytest.mark.parametrize("function", ["delete_group", "sweep"])
def test_what_no_request_calls_needs_no_models_of_requests(function: str) -> None:
    modules = loaded(function)

    assert "forklore.usecases.deletion" in modules
    assert not modules & {"forklore.api.requests", "forklore.api.operation"}


@pytest.mark.parametrize("function", ["conversations", "agent", "delete_group"])
def test_no_function_loads_what_boto3_adds_to_botocore(function: str) -> None:
    assert "boto3" not in loaded(function)


@pytest.mark.parametrize("function", ["conversations", "agent"])
def test_what_answers_requests_loads_no_powertools(function: str) -> None:
    assert not [name for name in loaded(function) if name.startswith("aws_lambda_powertools")]
