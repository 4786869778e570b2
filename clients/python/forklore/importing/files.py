"""Opens files, folders and archives of conversations, and finds out which format they have."""

import io
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Self

from forklore.importing.file_records import FileRecord, records_of
from forklore.importing.foreign_trees import (
    ForeignTree,
    ImportReport,
    MalformedFileError,
    NoConversationError,
    Reason,
    UnknownFormatError,
)
from forklore.importing.formats.own_lines import ForkTree
from forklore.importing.held_files import ARCHIVE_ERRORS, Held, is_of_a_message
from forklore.importing.readers import (
    format_of,
    format_of_database,
    other_than,
    read_records,
    refusal,
)
from forklore.importing.sources import Source, alone, among, is_database, opened_database
from forklore.importing.unpacking import (
    CHUNK_BYTES,
    UNPACKED_BYTES,
    UNPACKED_TIMES,
    Counted,
    Measure,
    unpacked,
)

_MEMBERS = (r"(?:.*/)?conversations(?:-\d+)?\.json", r".*\.jsonl?(?:\.zst)?")
"""What files of conversations are called in a folder or an archive: the first that any has.

A large export has its conversations in several files.
"""
_BESIDE = {"projects": Reason.PROJECT, "memories": Reason.MEMORY}
"""What stands beside the conversations of an archive, and is counted one by one."""
STDIN = "-"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_NAMED = "looks like "
"""Stands in the refusal of what is recognised."""
AIDER = b"# aider chat started at"
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
"""How an archive with files begins."""
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


Passes = Callable[[str, str], str]
"""Returns by format and digest the id of a record's tree if it is passed over, else nothing."""


def read_file(
    path: Path,
    report: ImportReport,
    *,
    given: str | None = None,
    measure: Measure | None = None,
    held: Held | None = None,
    passes: Passes = lambda _kind, _digest: "",
) -> Iterator[ForeignTree | ForkTree]:
    """Yield the trees of a file one by one. What is left out goes into the report.

    given: the format; without it the content tells. measure: is kept up to date. held: gets the
    files that messages may name; who gives it closes it. passes: tells of the digest of a record's
    text that the record is not to be read. Raises MalformedFileError, on reaching it, for what
    cannot be read, and for a file without any tree; OSError if the file cannot be opened. Of a
    folder or an archive the other files are read first.
    """
    found, unknown, broken = False, "", list[MalformedFileError]()
    measure, held = measure or Measure(), held or Held()
    with closing(_streams(path, report, measure, held)) as streams, _others_reported(held, report):
        for name, source, opened in streams:
            if name in held.parts:
                continue
            try:
                with _placed(name), _values_or_database(source, opened, measure) as stream:
                    for tree in read_stream(
                        stream, report, given=given, held=held, passes=passes, source=source
                    ):
                        found = True
                        yield tree
            except UnknownFormatError as error:
                if not name:
                    raise
                held.unknown.append(name)
                if not unknown or (_NAMED in str(error) and _NAMED not in unknown):
                    unknown = f": {error}"
            except MalformedFileError as error:
                if not name:
                    raise
                broken.append(error)
    if broken:
        raise MalformedFileError("; ".join(map(str, broken))) from broken[0]
    if not found:
        kind_of_error = MalformedFileError if unknown else NoConversationError
        raise kind_of_error(f"no conversation in the {_kind_of(path)}{unknown or _why(report)}")


@contextmanager
def _others_reported(held: Held, report: ImportReport) -> Iterator[None]:
    """Report, at the end of the block, the files that no message names, and that none may name.

    Of a conversation that is not read it is not known what it names.
    """
    try:
        yield
    finally:
        for name in (*held.unknown, *held.others):
            if name not in held.taken and name not in held.beside and not is_of_a_message(name):
                report.add(Reason.OTHER_FILE, name)


def _kind_of(path: Path) -> str:
    return "folder" if path.is_dir() else "archive" if _is_archive(path) else "file"


@contextmanager
def _values_or_database(
    source: Source, opened: Callable[[], Any] | Path, measure: Measure
) -> Iterator[BinaryIO | None]:
    """Yield the stream of a file; None for a database, which the source gets."""
    if isinstance(opened, Path):
        with opened_database(opened) as source.database:
            yield None
        return
    with opened() as stream:
        yield unpacked(io.BufferedReader(Counted(stream, measure), CHUNK_BYTES))


def read_stream(
    stream: BinaryIO | None,
    report: ImportReport,
    *,
    given: str | None = None,
    held: Held | None = None,
    passes: Passes = lambda _kind, _digest: "",
    source: Source | None = None,
) -> Iterator[ForeignTree | ForkTree]:
    """Yield the trees of a stream as `read_file` does; none for a stream without values.

    source: the file; its database is read where there is no stream.
    """
    kind, source = given, source or Source()
    if stream is None:
        assert source.database is not None
        yield from read_records(format_of_database(source.database), source, report, held or Held())
        return
    records = records_of(stream, passes=lambda digest: passes(kind, digest) if kind else "")
    first: list[FileRecord] = []
    while not first or (kind is None and len(first) < DETECTED_MAX):
        more = next(records, None)
        if more is None:
            break
        first.append(more)
        kind = kind or format_of(more.value)
    if not first:
        return
    if kind is None:
        raise UnknownFormatError(f"{first[0].place}: {refusal(first[0].value)}")
    passed: set[str] = set()

    def left() -> Iterator[FileRecord]:
        for record in chain(first, records):
            if record.passed:
                passed.add(record.passed)
            else:
                yield record

    other = other_than(kind, first[0].value) if given else ""
    is_any = False
    try:
        source.records = left()
        for tree in read_records(kind, source, report, held or Held(), passed):
            is_any = True
            yield tree
    except MalformedFileError as error:
        raise type(error)(f"{error}{other}") from error
    if other and not is_any:
        raise UnknownFormatError(f"no conversation of the format {kind} in the file{other}")


def _streams(
    path: Path, report: ImportReport, measure: Measure, held: Held
) -> Generator[tuple[str, Source, Callable[[], Any] | Path]]:
    """Yield what to read: the file, or those of a folder or an archive, with a name to show.

    It is what opens the file, or the path of a database.
    """
    if path.is_dir():
        sizes = dict[str, int]()
        for one in sorted(path.rglob("*")):
            if one.is_symlink():
                report.add(Reason.LINK, one.relative_to(path).as_posix())
            elif one.is_file():
                sizes[one.relative_to(path).as_posix()] = one.stat().st_size
        held.put(sizes, lambda name: (path / name).open("rb"), None)
        yield from _chosen(sizes, lambda name: (path / name).open("rb"), report, measure, held)
        for name in [one for one in held.others if one.endswith(_DATABASES) and is_database(path / one)]:
            held.others.remove(name)
            yield name, Source(name=name), path / name
    elif _is_archive(path):
        try:
            archive = zipfile.ZipFile(path)
            sizes = {one.filename: one.file_size for one in archive.infolist() if not one.is_dir()}
        except ARCHIVE_ERRORS as error:
            raise MalformedFileError(f"damaged archive: {error}") from error
        if (total := sum(sizes.values())) > max(UNPACKED_BYTES, UNPACKED_TIMES * path.stat().st_size):
            archive.close()
            raise MalformedFileError(f"the archive unpacks to {total:,} bytes: no program writes such a one")
        held.put(sizes, archive.open, archive)
        yield from _chosen(sizes, archive.open, report, measure, held)
    else:
        if is_database(path):
            yield "", alone(path), path
            return
        with path.open("rb") as stream:
            begin = stream.read(len(AIDER) + 1)
        if begin.startswith(GZIP):
            raise MalformedFileError("compressed by gzip: unpack it first")
        if AIDER in begin:
            raise UnknownFormatError("looks like a history of Aider: not supported")
        measure.total = path.stat().st_size
        yield "", alone(path), partial(path.open, "rb")


def _chosen(
    sizes: dict[str, int], opened: Callable[[str], Any], report: ImportReport, measure: Measure, held: Held
) -> Iterator[tuple[str, Source, Callable[[], Any]]]:
    """Yield the files of conversations of a folder or an archive. The others are noted."""
    shown = [name for name in sorted(sizes) if not PurePosixPath(name).name.startswith(".")]
    matching = ([name for name in shown if re.fullmatch(of, name)] for of in _MEMBERS)
    chosen = next((names for names in matching if names), [])
    measure.total = sum(sizes[name] for name in chosen)
    for name in sorted(sizes.keys() - set(chosen)):
        reason = _BESIDE.get(Path(name).stem) if name.endswith(".json") else None
        if reason is None:
            held.others.append(name)
            continue
        with opened(name) as stream, suppress(MalformedFileError, *ARCHIVE_ERRORS):
            for record in records_of(stream):
                called = record.value.get("name") if isinstance(record.value, dict) else None
                report.add(reason, called if isinstance(called, str) and called else record.place)
    beside = _sidechains(chosen, opened)
    for name in chosen:
        if not any(name in others for others in beside.values()):
            joined = partial(_Joined, [partial(opened, one) for one in (name, *beside.get(name, ()))])
            yield name, among(sizes, name, opened, held.beside, held.parts), joined


def _sidechains(names: Sequence[str], opened: Callable[[str], Any]) -> dict[str, list[str]]:
    """Return the files of Claude Code's sidechains, by the file of the session that they belong to.

    They are called `agent-….jsonl`, and stand beside it or in a folder that is called as it is.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        if not path.name.startswith("agent-"):
            continue
        folder = path.parents[1] if path.parent.name == "subagents" else path
        with opened(name) as stream, suppress(MalformedFileError, *ARCHIVE_ERRORS):
            first = next(records_of(stream), None)
            session = first.value.get("sessionId") if first and isinstance(first.value, dict) else None
            main = str(folder.parent / f"{session}.jsonl")
            if main in names:
                found.setdefault(main, []).append(name)
    return found


class _Joined:
    """Files that are read one after the other, each from a line of its own."""

    def __init__(self, openers: Sequence[Callable[[], Any]]) -> None:
        self._openers = list(openers)
        self._open: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open.close()

    def read(self, size: int) -> bytes:
        """Read what comes next; empty at the end."""
        while self._open is not None or self._openers:
            self._open = self._open or self._openers.pop(0)()
            if text := self._open.read(size):
                return bytes(text)
            self._open.close()
            self._open = None
            if self._openers:
                return b"\n"
        return b""


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
        raise type(error)(f"{name}: {error}" if name else str(error)) from error


def _why(report: ImportReport) -> str:
    lines = report.lines()
    return f": {lines[0]}" if lines else ""
