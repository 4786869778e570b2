"""A text from the command line, from standard input, or from the user's editor."""

import os
import shlex
import subprocess  # nosec B404 # the user's own editor
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forklore.cli.exits import CommandError
from forklore.cli.pager import without_interrupts

STDIN = "-"
EDITOR = "vi"


@contextmanager
def text_of(given: str | None) -> Iterator[str]:
    """Yield a text: `-` reads standard input, None lets the user write it in an editor.

    What was written in an editor is kept in a file if the block fails.
    Raises CommandError if there is no text, or no terminal for an editor.
    """
    if given is None:
        with _edited() as text:
            yield _some(text, "the text is empty")
    elif given == STDIN:
        yield _some(_decoded(sys.stdin.buffer.read(), "standard input"), "standard input is empty")
    else:
        yield _some(given, "the text is empty")


@contextmanager
def _edited() -> Iterator[str]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError("give a text, or - for standard input")
    handle, name = tempfile.mkstemp(prefix="forklore-", suffix=".txt")
    os.close(handle)
    path = Path(name)
    try:
        _edit(name)
        yield _decoded(path.read_bytes(), "the text")
    except BaseException:
        if path.read_bytes().strip():
            sys.stderr.write(f"what was written is kept in {name}\n")
        else:
            path.unlink()
        raise
    path.unlink()


def _edit(name: str) -> None:
    """Wait for the user's editor. The shell reads its command, as git lets it."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR
    line = f"{command} {shlex.quote(name)}"
    with subprocess.Popen(line, shell=True) as process, without_interrupts():  # nosec B602
        code = process.wait()
    if code:
        raise CommandError(f"the editor `{command}` ended with {code}")


def _decoded(given: bytes, what: str) -> str:
    """Return a text without the line feed at its end. Raises CommandError."""
    try:
        return given.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise CommandError(f"{what} is no UTF-8: {error}") from error


def _some(text: str, otherwise: str) -> str:
    if not text:
        raise CommandError(otherwise)
    return text
