"""Import the trees of a file into a table.

The whole file is read and checked before anything is written, and the ids of its conversations are
looked up. Then the trees are made, several at a time. A child waits until its parent is made.
"""

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from forklore_local.porting.failures import PortingError, RefusedError, StoppedError
from forklore_local.porting.input import ExportedFile, tree_at
from forklore_local.porting.making import Made, Outcome, TreeMaker, in_use, nonce_of
from forklore_local.porting.new_ids import Ids
from forklore_local.porting.records import Outline, Total
from forklore_service.domain import keys
from forklore_service.storage import items
from forklore_service.storage.table import BATCH_KEYS_MAX, Table

PARALLEL = 8
"""Trees that are made at the same time."""
SHOWN_MAX = 10
"""How many trees that were refused are named."""

OnBytes = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that is whole. begins: the bytes at which its trees begin, and where the last ends."""

    path: Path
    export_id: str
    total: Total
    begins: "array[int]"


@dataclass(slots=True)
class Imported:
    """What became of a file.

    made: trees that were made now. there: trees that an earlier import of the file had made.
    lost_links: how many of those made were children, and what started them is not there.
    names_taken: names that their owners have given to something else. refusals: how many trees were
    not made. refused: why, for the first SHOWN_MAX of them.
    """

    made: int = 0
    there: int = 0
    lost_links: int = 0
    names_taken: int = 0
    refusals: int = 0
    refused: list[str] = field(default_factory=list)

    def add(self, made: Made) -> None:
        """Count a tree."""
        self.made += made.outcome is Outcome.MADE
        self.there += made.outcome is Outcome.THERE
        self.lost_links += made.lost_link
        self.names_taken += made.names_taken

    def refuse(self, why: str) -> None:
        """Count a tree that was not made."""
        self.refusals += 1
        if len(self.refused) < SHOWN_MAX:
            self.refused.append(why)


def check(path: Path, *, table: Table | None = None, on_bytes: OnBytes = lambda _: None) -> Checked:
    """Read a file to its end, and return what it is.

    table: where its ids must be free, or belong to an earlier import of the file. None: this is not
    looked at. Raises FormatError for a file that is no export or is damaged, RefusedError for an id
    that is in use, and PortingError for a file that cannot be read.
    """
    begins = array("Q")
    with _opened(path) as stream:
        file = ExportedFile(stream, on_bytes=on_bytes)
        free = _FreeIds(table, file.header.export_id) if table is not None else None

        def see(offset: int, outline: Outline) -> None:
            begins.append(offset)
            if free is not None:
                free.see(outline)

        total = file.check(see)
        begins.append(stream.tell())
    if free is not None:
        free.look()
    return Checked(path, file.header.export_id, total, begins)


def carry_out(
    table: Table,
    checked: Checked,
    *,
    ids_for: Ids,
    threads: int = PARALLEL,
    stop: threading.Event | None = None,
    on_bytes: OnBytes = lambda _: None,
) -> Imported:
    """Make the trees of a file, and return what became of them.

    It may be called again: what is made stays as it is, and what is not made is gone on with.
    threads: how many trees are made at a time. stop: if it is set, the import ends after the next
    step. Raises StoppedError, FormatError, PortingError and UnavailableError.
    """
    importing = _Importing(table, checked, ids_for, stop or threading.Event(), on_bytes)
    return importing.run(threads)


class _FreeIds:
    """Looks up whether conversations have the ids of a file, many at once."""

    def __init__(self, table: Table, export_id: str) -> None:
        self._table = table
        self._export_id = export_id
        self._wanted: dict[keys.Key, tuple[str, str]] = {}

    def see(self, outline: Outline) -> None:
        """Look up the ids of a tree, now or soon. Raises RefusedError for one that is in use."""
        group_id = outline.group_id
        nonce = nonce_of(self._export_id, group_id)
        for conversation_id in {group_id, *outline.branches, *outline.removed}:
            self._wanted[keys.pointer(conversation_id)] = group_id, nonce
        if len(self._wanted) >= BATCH_KEYS_MAX:
            self.look()

    def look(self) -> None:
        """Look up the ids that were seen. Raises RefusedError for one that is in use."""
        now_s = self._table.now_s()
        for key, item in self._table.items_at(self._wanted).items():
            group_id, nonce = self._wanted[key]
            pointer = items.pointer(item, now_s=now_s)
            if pointer is None:
                continue
            rests_here = pointer.is_resting and items.tree_of_pointer(item) == group_id
            if items.nonce(item) != nonce and not rests_here:
                is_blocked = pointer.group_id is None
                raise RefusedError(in_use(key.partition.partition("#")[2], is_blocked=is_blocked))
        self._wanted.clear()


class _Result(NamedTuple):
    """What became of one tree. parent: the tree that it waits for. made: None if it is refused."""

    number: int
    group_id: str
    parent: str | None
    made: Made | None
    refusal: str = ""


class _Importing:
    """The import of one file."""

    def __init__(
        self, table: Table, checked: Checked, ids_for: Ids, stop: threading.Event, on_bytes: OnBytes
    ) -> None:
        self._table = table
        self._checked = checked
        self._ids = ids_for
        self._stop = stop
        self._on_bytes = on_bytes
        self._done = Imported()

    def run(self, threads: int) -> Imported:
        """Make all trees, round by round. A tree whose parent is not there waits for the next one.

        After the first round it is known which parents are in the file. A tree whose parent is not
        is no child any more. If no parent was made in a round, they were refused.
        """
        waiting: dict[int, str] = {}
        known: set[str] = set()
        with ThreadPoolExecutor(threads, thread_name_prefix="import") as executor:
            try:
                numbers: Iterable[int] = range(len(self._checked.begins) - 1)
                orphans: set[int] = set()
                while True:
                    before, waiting = len(waiting), {}
                    for result in _side_by_side(executor, threads, self._one, numbers, orphans):
                        known.add(result.group_id)
                        self._take(result, waiting)
                    if not waiting:
                        return self._done
                    orphans = {number for number, parent in waiting.items() if parent not in known}
                    if len(waiting) == before and not orphans:
                        for parent in waiting.values():
                            self._done.refuse(f"tree {parent} was refused, so its children wait")
                        return self._done
                    numbers = waiting
            except BaseException:
                self._stop.set()
                raise

    def _take(self, result: _Result, waiting: dict[int, str]) -> None:
        if result.made is None:
            self._done.refuse(result.refusal)
        elif result.made.outcome is Outcome.WAITS:
            assert result.parent is not None
            waiting[result.number] = result.parent
            return
        else:
            self._done.add(result.made)
        begins = self._checked.begins
        self._on_bytes(begins[result.number + 1] - begins[result.number])

    def _one(self, number: int, is_orphan: bool) -> _Result:
        with _opened(self._checked.path) as stream:
            lines = tree_at(stream, self._checked.begins[number])
            start = lines.outline.start
            parent = start.parent.group_id if start.parent else None
            maker = TreeMaker(
                self._table,
                lines,
                export_id=self._checked.export_id,
                ids_for=self._ids,
                on_step=self._go_on,
            )
            try:
                made = maker.make(without_parent=is_orphan)
            except RefusedError as error:
                return _Result(number, start.group_id, parent, None, str(error))
            return _Result(number, start.group_id, parent, made)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise StoppedError


def _side_by_side(
    executor: ThreadPoolExecutor,
    threads: int,
    call: Callable[[int, bool], _Result],
    numbers: Iterable[int],
    orphans: set[int],
) -> Iterator[_Result]:
    """Yield the results in any order. Only a few more calls than threads are begun."""
    under_way: set[Future[_Result]] = set()
    for number in numbers:
        under_way.add(executor.submit(call, number, number in orphans))
        if len(under_way) >= 2 * threads:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    for future in under_way:
        yield future.result()


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise PortingError(f"{path}: {error.strerror}") from error
