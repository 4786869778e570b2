"""A project of two functions, so that these tests do not depend on forklore's own handlers."""

import sys
from pathlib import Path

import pytest

from forklore_local.server.routing import Function, Route

FUNCTIONS = (
    Function(
        name="Echo",
        module="sample_functions.echo.app",
        attribute="handler",
        timeout_seconds=1,
        memory_mb=256,
        routes=(Route("POST", "/v1/conversations"), Route("ANY", "/echo/{name}")),
    ),
    Function(
        name="Odd",
        module="sample_functions.odd.app",
        attribute="handler",
        timeout_seconds=29,
        memory_mb=128,
        routes=(Route("GET", "/odd/{what}"),),
    ),
)

ECHO = """\
import logging, time

logging.basicConfig(level=logging.INFO)  # as a handler may: the server must stay silent

def handler(event, context):
    if event.get("body") == "sleep":
        time.sleep(600)
    return event
"""

ODD = """\
import decimal, logging, os, pathlib, sys, threading, time

held = pathlib.Path(sys.path[0]) / f"held-{os.getpid()}"
together = threading.Barrier(2, timeout=60)

def hold():
    held.touch()
    while held.exists():
        time.sleep(0.01)

def fail():
    try:
        raise KeyError("a secret key")
    except KeyError as error:
        raise RuntimeError("a secret text") from error

answers = {
    "fail": fail,
    "exit": lambda: sys.exit("a secret text"),
    "decimal": lambda: {"n": decimal.Decimal(1)},
    "status": lambda: {"statusCode": "many"},
    "large": lambda: {"statusCode": 200, "body": "x" * 6_300_000},
    "nearly-large": lambda: {"statusCode": 200, "body": "x" * 6_200_000},
    "together": lambda: together.wait() >= 0,
    "sleep": lambda: time.sleep(1.3),
    "hold": hold,
    "process": os.getpid,
    "empty": lambda: {"statusCode": 204, "body": "ignored"},
    "info": lambda: logging.getLogger("forklore").info("told", extra={"status": "200"}),
    "warn": lambda: logging.getLogger("forklore.audit").warning("warned", extra={"who": "ann"}),
}

def handler(event, context):
    what = event["pathParameters"]["what"]
    return context.get_remaining_time_in_millis() if what == "remaining" else answers[what]()
"""


def write_project(folder: Path) -> Path:
    """Write the project's functions into `folder`; return `folder`."""
    for name, text in {"echo": ECHO, "odd": ODD}.items():
        module = folder / "sample_functions" / name / "app.py"
        module.parent.mkdir(parents=True)
        module.write_text(text)
    return folder


def import_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Function, ...]:
    """Write the project into `folder`, make it importable for this test, return its functions."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sample_functions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(write_project(folder))
    return FUNCTIONS
