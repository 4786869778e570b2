"""The file that an export writes. An export that was ended midway goes on where it ended.

While it is written, its name ends with `.part`. Beside it lies `.state`, which says up to which
byte the part is whole. It is replaced after what it speaks of is on the disk. What follows that
byte is written again. At the end the part gets the name of the file.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from forklore_local.porting.failures import PortingError
from forklore_local.porting.records import Branch, End, EntryLine, Header, Record, Removed, Total
from forklore_local.porting.scope import Choice, Scope
from forklore_local.porting.to_line import line_of
from forklore_service.domain.keys import ListKey

SAVE_SECONDS = 2.0
"""How often the state is saved, at most."""
MODE = 0o600
"""An export holds what people said, and their ids."""


@dataclass(slots=True)
class State:
    """How far an export is: all that a later run needs.

    table, choice: what was asked for. offset: the bytes of the part that are whole. place: of the
    last whole tree. chain: the digest of the trees so far. left_out: trees that were not live.
    damaged: trees that could not be read and were skipped.
    """

    table: str
    scope: str
    named: str
    export_id: str
    exported_at: str
    offset: int = 0
    place: tuple[str, str] | None = None
    chain: str = ""
    trees: int = 0
    conversations: int = 0
    entries: int = 0
    left_out: int = 0
    damaged: list[str] = field(default_factory=list)

    @property
    def after(self) -> ListKey | None:
        return ListKey(*self.place) if self.place else None


def chained(chain: str, digest: str) -> str:
    """Return the digest of all trees so far, and one more."""
    return hashlib.sha256(f"{chain}{digest}".encode()).hexdigest()


class ExportFile:
    """The file of one export. Use it in a `with` statement.

    is_done: whether an earlier run has written it, and was only not able to say so.
    """

    def __init__(
        self, path: Path, *, table: str, choice: Choice, begin: Callable[[], tuple[str, str]]
    ) -> None:
        """begin: returns the id and the time of a new export. Raises PortingError."""
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._state_path = path.with_name(path.name + ".state")
        self.is_done = False
        self._saved_at = time.monotonic()
        self._stream = self._opened()
        try:
            self.state = self._resumed(table, choice) or self._begun(table, choice, *begin())
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def write_tree(self, place: ListKey, records: Iterable[Record]) -> None:
        """Write a whole tree. If `records` raises, nothing of the tree stays."""
        digest, counts = hashlib.sha256(), {Branch: 0, Removed: 0, EntryLine: 0}
        try:
            for record in records:
                line = line_of(record)
                digest.update(line)
                self._stream.write(line)
                if type(record) in counts:
                    counts[type(record)] += 1
        except BaseException:
            self._cut(self.state.offset)
            raise
        end = End(place.conversation_id, counts[Branch], counts[EntryLine], digest.hexdigest())
        self._stream.write(line_of(end))
        state = self.state
        state.offset, state.place = self._stream.tell(), (place.created_at, place.conversation_id)
        state.chain = chained(state.chain, end.sha256)
        state.trees, state.entries = state.trees + 1, state.entries + end.entries
        state.conversations += end.conversations
        if time.monotonic() - self._saved_at >= SAVE_SECONDS:
            self.save()

    def leave_out(self) -> None:
        """Count a tree that is not live."""
        self.state.left_out += 1

    def skip(self, group_id: str) -> None:
        """Note a tree that cannot be read."""
        if group_id not in self.state.damaged:
            self.state.damaged.append(group_id)

    def save(self) -> None:
        """Let a later run go on from here."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        partial = self._state_path.with_name(self._state_path.name + ".new")
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            json.dump(asdict(self.state), stream)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(self._state_path)
        self._saved_at = time.monotonic()

    def finish(self) -> None:
        """Write the last line, and give the file its name."""
        state = self.state
        total = Total(state.trees, state.conversations, state.entries, state.chain)
        self.save()
        self._stream.write(line_of(total))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._part.replace(self.path)
        self._state_path.unlink()

    def _opened(self) -> IO[bytes]:
        try:
            number = os.open(self._part, os.O_RDWR | os.O_CREAT, MODE)
        except OSError as error:
            raise PortingError(f"{self._part}: {error.strerror}") from error
        stream = os.fdopen(number, "r+b")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            stream.close()
            raise PortingError(f"another export writes {self._part}") from error
        return stream

    def _resumed(self, table: str, choice: Choice) -> State | None:
        """Return the state of an export that was ended midway; None if there is none."""
        try:
            held: dict[str, Any] = json.loads(self._state_path.read_text(encoding="utf-8"))
            state = State(**held)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise PortingError(f"{self._state_path} cannot be read: remove it to begin anew") from error
        if (state.table, state.scope, state.named) != (table, choice.scope, choice.named):
            of = f"{state.scope} {state.named}".rstrip()
            raise PortingError(f"{self._part} is of another export: {of} of table {state.table}")
        if os.fstat(self._stream.fileno()).st_size < state.offset:
            self._part.unlink()
            if not self.path.exists():
                raise PortingError(f"{self._part} is shorter than {self._state_path} says")
            self._state_path.unlink()  # the export was killed after its file got its name
            self.is_done = True
            return state
        self._cut(state.offset)
        return state

    def _begun(self, table: str, choice: Choice, export_id: str, at: str) -> State:
        if self.path.exists():
            with suppress(OSError):
                self._part.unlink()
            raise PortingError(f"{self.path} exists: name another file, or remove it")
        state = State(table, choice.scope, choice.named, export_id, at)
        self._cut(0)
        named = "" if choice.scope is Scope.EVERYTHING else choice.named
        header = line_of(Header(export_id, at, (choice.scope, named)))
        self._stream.write(header)
        state.offset = self._stream.tell()
        state.chain = hashlib.sha256(header).hexdigest()
        self.state = state
        self.save()
        return state

    def _cut(self, offset: int) -> None:
        self._stream.seek(offset)
        self._stream.truncate()
