"""Which modules each function loads when it starts: only those that its requests need."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SCRIPT = """
import importlib, sys
importlib.import_module(f"functions.{sys.argv[1]}.app")
print(*(name for name in sys.modules))
"""
OPERATIONS = {"admin", "conversations", "entries", "sharing"}


@cache
def loaded(function: str) -> frozenset[str]:
    """Return the modules that are loaded after a new process has imported a function."""
    command = [sys.executable, "-c", SCRIPT, function]
    path = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'layers' / 'core'}"}
    run = subprocess.run(command, env=path, capture_output=True, text=True, timeout=60, check=True)
    return frozenset(run.stdout.split())


@pytest.mark.parametrize("function", sorted(OPERATIONS - {"admin"}))  # admin uses the others' operations
def test_a_function_of_the_http_api_loads_its_own_operations(function: str) -> None:
    modules = loaded(function)

    assert {name for name in OPERATIONS if f"forklore_service.api.operations.{name}" in modules} == {function}


@pytest.mark.parametrize("function", sorted(OPERATIONS - {"admin"}))
def test_a_function_of_the_http_api_loads_no_models_of_answers_or_of_administration(function: str) -> None:
    models = {
        name for name in loaded(function) if re.search(r"forklore_service\.api\.(\w+_requests|results)", name)
    }
    assert models
    assert not models & {"forklore_service.api.admin_requests", "forklore_service.api.answer_models"}


def test_the_agents_function_loads_all_operations_at_the_start() -> None:
    assert {f"forklore_service.api.operations.{name}" for name in OPERATIONS} <= loaded("agent")


@pytest.mark.parametrize("function", ["delete_group", "sweep", "publish", "embed"])
def test_what_no_request_calls_loads_no_models_of_requests(function: str) -> None:
    modules = loaded(function)

    assert modules & {f"forklore_service.aws.{name}" for name in ("jobs", "stream", "embedding")}
    assert not modules & {"forklore_service.api.requests", "forklore_service.api.operation"}


@pytest.mark.parametrize("function", ["conversations", "agent", "delete_group", "publish", "embed"])
def test_no_function_loads_boto3(function: str) -> None:
    assert "boto3" not in loaded(function)


@pytest.mark.parametrize("function", ["conversations", "agent"])
def test_what_answers_requests_loads_no_powertools(function: str) -> None:
    assert not [name for name in loaded(function) if name.startswith("aws_lambda_powertools")]


IN_A_SNAPSHOT = """
import gc, importlib, json, random, socket, sys, threading
opened = []
asking = ("socket.connect", "socket.getaddrinfo", "subprocess.")
sys.addaudithook(lambda event, found: event.startswith(asking) and opened.append(event))
for function in sys.argv[1:]:
    importlib.import_module(f"functions.{function}.app")
from forklore_service.aws import wiring
every = gc.get_objects()
kinds = {type(one).__name__ for one in every if type(one).__module__.startswith("botocore")}
print(json.dumps({
    "opened": opened,
    "threads": threading.active_count(),
    "table": wiring.open_table.cache_info().currsize + wiring.open_queue.cache_info().currsize,
    "aws": sorted(kinds & {"Session", "Credentials", "URLLib3Session", "ClientCreator", "Endpoint"}),
    "sockets": len([one for one in every if isinstance(one, socket.socket)]),
    "seeded": len([one for one in every if type(one) is random.Random and one is not random._inst]),
}))
"""
FIRST_REQUEST = """
from forklore_service.aws.wiring import open_table
open_table()
"""


def in_a_snapshot(*functions: str, after: str = "") -> dict[str, object]:
    """Return what a new process has opened when functions have been imported."""
    script = IN_A_SNAPSHOT.replace(
        "from forklore_service.aws import wiring\n", f"from forklore_service.aws import wiring\n{after}"
    )
    settings = {
        "PYTHONPATH": f"{PROJECT}:{PROJECT / 'layers' / 'core'}",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "FORKLORE_TABLE": "table",
        "FORKLORE_API": "api",
    }
    command = [sys.executable, "-c", script, *functions]
    run = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, object] = json.loads(run.stdout)
    return found


@pytest.mark.failure("copied-process")
def test_nothing_is_opened_before_a_snapshot() -> None:
    """With SnapStart, many processes go on from one that has only imported a function.

    So there must be no connection, no credentials, no clock's offset and no seeded generator in it.
    A table holds all of the first three.
    """
    nothing = {"opened": [], "threads": 1, "table": 0, "aws": [], "sockets": 0, "seeded": 0}

    assert in_a_snapshot(*sorted(OPERATIONS)) == nothing


def test_what_the_first_request_opens_would_be_seen_in_a_snapshot() -> None:
    found = in_a_snapshot("entries", after=FIRST_REQUEST)

    assert found["table"] == 1
    assert found["aws"] != []


def test_what_lambda_runs_never_uses_the_generator_that_a_snapshot_would_copy() -> None:
    """Ids and nonces are made with `secrets`, which asks the machine."""
    package = PROJECT / "layers" / "core" / "forklore_service"
    used = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import random|from random import)|uuid\.uuid1", path.read_text(), re.MULTILINE)
    ]

    assert used == []
    assert list((package / "domain").rglob("*.py"))
