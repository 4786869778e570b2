"""Opens files of conversations, plain or in a ZIP, and finds out which format they have."""

import re
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from forklore.cli.importing import chatgpt, claude, message_trees, own_lines
from forklore.cli.importing.file_records import FileRecord, records_of
from forklore.cli.importing.foreign_trees import ForeignTree, Format, ImportReport, MalformedFileError
from forklore.cli.importing.own_lines import ForkTree

_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
"""What an export calls its conversations; a large one has them in several files."""
_SIGNS = {"mapping": Format.CHATGPT, "chat_messages": Format.CLAUDE, "prompt": Format.TREES}
_READERS: dict[
    Format, Callable[[Iterable[FileRecord], ImportReport], Iterator[ForeignTree] | Iterator[ForkTree]]
] = {
    Format.TREES: message_trees.trees_of,
    Format.CHATGPT: chatgpt.trees_of,
    Format.CLAUDE: claude.trees_of,
    Format.FORKLORE: own_lines.fork_trees_of,
}
STDIN = "-"
ZIP = b"PK\x03\x04"
"""How an archive with files begins."""
ARCHIVE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError),
    struct.error,
)
DETECTED_MAX = 100  # values that are looked at to find out the format


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, as often as need be. shown: what it is called."""

    shown: str
    path: Path


@contextmanager
def inputs_of(paths: Sequence[Path]) -> Iterator[list[Input]]:
    """Yield what to read. Standard input, pipes and devices are copied to temporary files first.

    An archive is not read from its beginning to its end, and with `--name` a file is read twice.
    What cannot be opened is left for the reader to tell.
    """
    with tempfile.TemporaryDirectory(prefix="forklore-") as folder:
        yield [_input(path, Path(folder) / str(number)) for number, path in enumerate(paths)]


def _input(path: Path, copy: Path) -> Input:
    shown = "standard input" if str(path) == STDIN else str(path)
    if str(path) == STDIN:
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        return Input(shown, copy)
    with suppress(OSError):
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            with path.open("rb") as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target)
            return Input(shown, copy)
    return Input(shown, path)


def read_file(
    path: Path, report: ImportReport, *, given: Format | None = None
) -> Iterator[ForeignTree | ForkTree]:
    """Yield the trees of a file one by one. What is left out goes into the report.

    given: the format; without it the content tells. Raises MalformedFileError, on reaching it, for
    what cannot be read, and for a file without any tree; OSError if the file cannot be opened.
    """
    found = False
    for name, opened in _streams(path):
        with opened() as stream, _placed(name):
            for tree in read_stream(stream, report, given=given):
                found = True
                yield tree
    if not found:
        raise MalformedFileError(f"no conversation in the file{_why(report)}")


def read_stream(
    stream: BinaryIO, report: ImportReport, *, given: Format | None = None
) -> Iterator[ForeignTree | ForkTree]:
    """Yield the trees of a stream as `read_file` does; none for a stream without values."""
    records = records_of(stream)
    first = list(islice(records, 1))
    while given is None and len(first) < DETECTED_MAX and first and _format_of(first[-1].value) is None:
        more = next(records, None)
        if more is None:
            break
        first.append(more)
    if not first:
        return
    kind = given or _format_of(first[-1].value)
    if kind is None:
        names = ", ".join(Format)
        raise MalformedFileError(f"{first[0].place}: no format that is known; force one of: {names}")
    yield from _READERS[kind](chain(first, records), report)


def _format_of(value: Any) -> Format | None:
    if not isinstance(value, Mapping):
        return None
    if value.get("type") == "header" and value.get("format") == "forklore":
        return Format.FORKLORE
    return next((kind for name, kind in _SIGNS.items() if name in value), None)


def _streams(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what to read of a path: the file, or those of an archive, with a name to show."""
    if not _is_archive(path):
        yield "", partial(path.open, "rb")
        return
    try:
        archive = zipfile.ZipFile(path)
        members = sorted(name for name in archive.namelist() if _MEMBER.fullmatch(name))
    except ARCHIVE_ERRORS as error:
        raise MalformedFileError(f"damaged archive: {error}") from error
    with archive:
        if not members:
            raise MalformedFileError("no conversations.json in the archive")
        for name in members:
            yield name, partial(archive.open, name)


def _is_archive(path: Path) -> bool:
    """Tell whether a file is an archive, whole or damaged, or is at least called one."""
    with path.open("rb") as stream:
        return stream.read(len(ZIP)) == ZIP or path.suffix.lower() == ".zip" or zipfile.is_zipfile(stream)


@contextmanager
def _placed(name: str) -> Iterator[None]:
    """Name the file of the archive in the errors of the block."""
    try:
        yield
    except ARCHIVE_ERRORS as error:
        if not name:
            raise
        raise MalformedFileError(f"{name}: damaged archive: {error}") from error
    except MalformedFileError as error:
        raise MalformedFileError(f"{name}: {error}" if name else str(error)) from error


def _why(report: ImportReport) -> str:
    lines = report.lines()
    return f": {lines[0]}" if lines else ""
