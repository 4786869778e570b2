"""The file that an export writes. An export that was ended midway goes on where it ended.

While it is written, its name ends with `.part`. Of a part that is there already, the whole trees
are kept: their digests tell. At the end the part gets the name of the file.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from forklore_local.porting.failures import FormatError, PortingError
from forklore_local.porting.input import FORMAT, TYPE, VERSION, ExportedFile, Total
from forklore_local.porting.lines import line_of
from forklore_local.porting.outline import Outline
from forklore_local.porting.scope import Choice
from forklore_service.domain.keys import ListKey

MODE = 0o600
"""An export holds what people said, and their ids."""


class ExportFile:
    """The file of one export. Use it in a `with` statement.

    exported_at: when the export was begun. total: what the file has so far.
    """

    exported_at: str
    total: Total

    def __init__(
        self, path: Path, *, table: str, choice: Choice, begin: Callable[[], tuple[str, str]]
    ) -> None:
        """begin: returns the id and the time of a new export. Raises PortingError."""
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._stream = self._opened()
        try:
            self._check_free()
            asked = {"table": table, "scope": {str(choice.scope): choice.named or True}}
            if not self._resumed(asked):
                self._begin(asked, *begin())
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def write_tree(self, outline: Outline, lines: Iterable[bytes]) -> None:
        """Write a whole tree. If `lines` raises, nothing of the tree stays."""
        begins, digest, written = self._stream.tell(), hashlib.sha256(), 0
        try:
            for line in lines:
                digest.update(line)
                self._stream.write(line)
                written += 1
        except BaseException:
            self._cut(begins)
            raise
        group = outline.group
        place = {"id": group.group_id, "createdAt": group.created_at}
        counts = {"conversations": group.conversations, "entries": written - 1 - len(outline.items)}
        self._end({TYPE: "end", **place, **counts, "sha256": digest.hexdigest()})

    def skip(self, place: ListKey) -> None:
        """Note a tree that cannot be read."""
        self._end({TYPE: "damaged", "id": place.conversation_id, "createdAt": place.created_at})

    def lines(self) -> Iterator[bytes]:
        """Yield the lines so far. They are to be read to the end."""
        self._stream.seek(0)
        yield from self._stream

    def finish(self) -> None:
        """Write the last line, and give the file its name."""
        self._stream.write(self.total.line())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._part.replace(self.path)

    def _end(self, members: dict[str, str | int]) -> None:
        self._stream.write(line_of(members))
        self.total.add(members)

    def _check_free(self) -> None:
        if self.path.exists():
            if not os.fstat(self._stream.fileno()).st_size:
                self._part.unlink()
            raise PortingError(f"{self.path} exists: name another file, or remove it")

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

    def _resumed(self, asked: Mapping[str, object]) -> bool:
        """Go on after the last whole tree of the part. Return False if no export has begun it."""
        try:
            file = ExportedFile(self._stream)
        except FormatError as error:
            if self._stream.seek(0, os.SEEK_END):
                raise PortingError(f"{self._part} cannot be read: remove it to begin anew") from error
            return False
        if {name: file.header.get(name) for name in asked} != asked:
            [(scope, named)] = file.header["scope"].items()
            of = scope if named is True else f"{scope} {named}"
            raise PortingError(f"{self._part} is of another export: {of} of table {file.header['table']}")
        self.exported_at, self.total = file.header["exportedAt"], file.total
        with suppress(FormatError):  # it is cut, after what is whole
            for _, lines in file.sections():
                for _ in lines:
                    pass
        self._cut(file.whole)
        return True

    def _begin(self, asked: Mapping[str, object], export_id: str, at: str) -> None:
        header = {TYPE: "header", "format": FORMAT, "version": VERSION, "exportId": export_id}
        line = line_of({**header, "exportedAt": at, **asked})
        self._stream.write(line)
        self.exported_at, self.total = at, Total(hashlib.sha256(line).hexdigest())

    def _cut(self, offset: int) -> None:
        self._stream.seek(offset)
        self._stream.truncate()
