"""The file that a command writes: whole or not at all, or written directly if it is no file."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from forklore.cli.escaping import visible_json
from forklore.cli.exits import CommandError

Write = Callable[[str], object]


@contextmanager
def written(target: str, to_standard_output: Write) -> Iterator[Write]:
    """Yield what writes a line of JSON to `target`. It is opened at once.

    A regular file, or the one that a link leads to, is replaced at the end of the block, and keeps
    its mode; a new one has 600. What is no regular file, such as a pipe, is written directly.
    `-` and what is standard output already is handed to `to_standard_output`.
    Raises CommandError, which names the target, if it cannot be opened or written.
    """
    if not target:
        raise CommandError("the output file has no name")
    with _named(target):
        held = _stat(target)
    if target == "-" or (held is not None and _is_standard_output(held)):
        yield to_standard_output
    elif held is None or stat.S_ISREG(held.st_mode):
        yield from _whole(target, held)
    elif stat.S_ISDIR(held.st_mode):
        raise CommandError(f"{target} is a folder")
    else:
        yield from _direct(target)


def _whole(target: str, held: os.stat_result | None) -> Iterator[Write]:
    path = Path(os.path.realpath(target))
    if target.endswith(os.sep) or not path.parent.is_dir():
        folder = target.rstrip(os.sep) if target.endswith(os.sep) else path.parent
        raise CommandError(f"{target}: there is no folder {folder}")
    if held is not None and not os.access(path, os.W_OK):
        raise CommandError(f"{target}: Permission denied")
    with _named(target):
        number, name = tempfile.mkstemp(prefix=".forklore-", suffix=".part", dir=path.parent)
    partial = Path(name)
    try:
        with _named(target):
            stream = os.fdopen(number, "w", encoding="utf-8", newline="\n")
        try:
            if held is not None:
                with _named(target):
                    os.fchmod(number, stat.S_IMODE(held.st_mode))
            yield _writing(target, stream, lambda line: line)
            with _named(target):
                stream.flush()
                os.fsync(number)
        finally:
            with suppress(OSError):
                stream.close()
        with _named(target):
            partial.replace(path)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def _direct(target: str) -> Iterator[Write]:
    with _named(target):
        stream = Path(target).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 (closed below)
    try:
        yield _writing(target, stream, visible_json)
        with _named(target):
            stream.flush()
    finally:
        with suppress(OSError):
            stream.close()


def _writing(target: str, stream: IO[str], shown: Callable[[str], str]) -> Write:
    def write(line: str) -> None:
        with _named(target):
            stream.write(shown(line))

    return write


@contextmanager
def _named(target: str) -> Iterator[None]:
    """Let an error of the block name the target. A reader that has gone is no error of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{target}: {error.strerror or error}") from error


def _stat(target: str) -> os.stat_result | None:
    try:
        return Path(target).stat()
    except FileNotFoundError:
        return None


def _is_standard_output(held: os.stat_result) -> bool:
    """Tell whether a file is where standard output goes, such as /dev/stdout in a redirection."""
    try:
        return os.path.samestat(held, os.fstat(1)) and not stat.S_ISCHR(held.st_mode)
    except OSError:
        return False
