"""Command lines that run in this process, with input and output of their own."""

import io
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import pytest
from typer.main import get_command

from forklore.cli.app import make_app


class Stream(io.TextIOWrapper):
    """Text in memory that may claim to be a terminal."""

    def __init__(self, given: bytes = b"", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(given), encoding="utf-8", newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        self.flush()
        held = self.buffer
        assert isinstance(held, io.BytesIO)
        return held.getvalue().decode()


HOMES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""Where forklore keeps what a user has set, and what it remembers; the second is as the first."""


@dataclass(frozen=True)
class Ran:
    """What a command line has written, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Forklore:
    """Runs command lines. options: what stands before each command. variables: the environment."""

    options: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None

    def __call__(
        self,
        line: str,
        variables: Mapping[str, str] | None = None,
        *,
        stdin: bytes = b"",
        is_terminal: bool = False,
        **more: str,
    ) -> Ran:
        """Run a command line as a shell would read it, without `forklore` at its beginning."""
        out, err = Stream(is_terminal=is_terminal), Stream()  # so there are no progress bars
        with (
            environment({**(self.variables or {}), **(variables or {}), **more}),
            mock.patch.object(sys, "stdin", Stream(stdin, is_terminal=is_terminal)),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            _app().main([*self.options, *shlex.split(line)], prog_name="forklore")
        code = ended.value.code
        assert isinstance(code, int), code
        return Ran(code, out.text(), err.text())

    def id_of(self, name: str) -> str:
        """Return the id that a name points to."""
        import json

        [line] = [one for one in self("ls --names --json").lines if json.loads(one)["name"] == name]
        return str(json.loads(line)["conversationId"])


@cache
def _app() -> Any:
    return get_command(make_app())


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Let the process have these variables, and of forklore and the terminal no others."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("FORKLORE_") or name in ("NO_COLOR", "PAGER", *HOMES):
            del os.environ[name]
    os.environ.setdefault("TERM", "xterm")
    homes = {HOMES[1]: variables.get(HOMES[0], os.devnull)}
    os.environ.update({"COLUMNS": "100", **homes, **variables})
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})
