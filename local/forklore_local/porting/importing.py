"""Import the trees of a file into a table.

The whole file is read and checked before anything is written, and the ids of its conversations are
looked up. Then the trees are made, several at a time. A child waits until its parent is made.
"""

import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from forklore_local.porting.beside import Beside
from forklore_local.porting.failures import FormatError, PortingError, RefusedError, StoppedError
from forklore_local.porting.input import ExportedFile, Total, TreeInFile, tree_at
from forklore_local.porting.making import Made, TreeMaker, in_use, nonce_of
from forklore_local.porting.outline import Outline
from forklore_service.domain import keys
from forklore_service.storage import items
from forklore_service.storage.table import BATCH_KEYS_MAX, Table

PARALLEL = 8
"""Trees that are made at the same time."""
TREES_AT_ONCE = 1_000
"""Trees that wait for a thread at most."""
SHOWN_MAX = 10
"""How many trees that were refused are named."""

OnBytes = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that is whole.

    begins: the bytes at which its trees begin, and where the last ends. rounds: the numbers of the
    trees, each after that of its parent. in_file: those whose parents are in the file.
    """

    path: Path
    export_id: str
    total: Total
    begins: Sequence[int]
    rounds: Sequence[Sequence[int]]
    in_file: frozenset[int]


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

    def add(self, made: Made | RefusedError) -> None:
        """Count a tree."""
        if isinstance(made, RefusedError):
            self.refusals += 1
            if len(self.refused) < SHOWN_MAX:
                self.refused.append(str(made))
            return
        self.made += made.is_new
        self.there += not made.is_new
        self.lost_links += made.lost_link
        self.names_taken += made.names_taken


def check(path: Path, *, table: Table | None = None, on_bytes: OnBytes = lambda _: None) -> Checked:
    """Read a file to its end, and return what it is.

    table: where its ids must be free, or belong to an earlier import of the file. None: this is not
    looked at. Raises FormatError for a file that is no export or is damaged, RefusedError for an id
    that is in use, and PortingError for a file that cannot be read.
    """
    begins, numbers, parents = array("Q"), dict[str, int](), dict[int, str]()
    beside = Beside(path)
    with _opened(path) as stream:
        file = ExportedFile(stream, on_bytes=on_bytes)
        free = _FreeIds(table, file.header["exportId"]) if table is not None else None
        with file.named():
            for begin, lines in file.sections():
                tree = TreeInFile(lines)
                for _ in tree.entries():
                    for attached in tree.files:
                        beside.check(attached)
                group = tree.outline.group
                if group.group_id in numbers:
                    raise FormatError(f"tree {group.group_id} comes twice")
                if group.child_key is not None:
                    parents[len(begins)] = group.child_key.partition
                numbers[group.group_id] = len(begins)
                begins.append(begin)
                if free is not None:
                    free.see(tree.outline)
        begins.append(file.whole)
    if free is not None:
        free.look()
    waiting = {number: numbers[parent] for number, parent in parents.items() if parent in numbers}
    rounds = list(_rounds(len(numbers), waiting))
    return Checked(path, file.header["exportId"], file.total, begins, rounds, frozenset(waiting))


def _rounds(trees: int, waiting: Mapping[int, int]) -> Iterator[Sequence[int]]:
    """Yield the numbers of the trees, first those that wait for no other one.

    waiting: the number of the parent, by that of the tree. What waits for itself comes last.
    """
    children: dict[int, list[int]] = {}
    for number, parent in waiting.items():
        children.setdefault(parent, []).append(number)
    ready = [number for number in range(trees) if number not in waiting]
    done = set(ready)
    while ready:
        yield ready
        ready = [child for number in ready for child in children.get(number, ())]
        done.update(ready)
    if len(done) < trees:
        yield [number for number in waiting if number not in done]


def carry_out(
    table: Table, checked: Checked, *, threads: int = PARALLEL, on_bytes: OnBytes = lambda _: None
) -> Imported:
    """Make the trees of a file, and return what became of them.

    It may be called again: what is made stays as it is, and what is not made is gone on with.
    threads: how many trees are made at a time. If one raises, the others end after their next step.
    Raises FormatError, PortingError and UnavailableError.
    """
    done, stop, beside = Imported(), threading.Event(), Beside(checked.path)

    def go_on() -> None:
        if stop.is_set():
            raise StoppedError

    def make(number: int) -> Made | RefusedError:
        with _opened(checked.path) as stream:
            tree = tree_at(stream, checked.begins[number])
            maker = TreeMaker(table, tree, export_id=checked.export_id, beside=beside, on_step=go_on)
            try:
                return maker.make(waits_for_parent=number in checked.in_file)
            except RefusedError as error:
                return error

    with ThreadPoolExecutor(threads, thread_name_prefix="import") as executor:
        try:
            for numbers in checked.rounds:
                for at in range(0, len(numbers), TREES_AT_ONCE):
                    some = numbers[at : at + TREES_AT_ONCE]
                    for number, made in zip(some, executor.map(make, some), strict=True):
                        done.add(made)
                        on_bytes(checked.begins[number + 1] - checked.begins[number])
        except BaseException:
            stop.set()
            raise
    return done


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
        for conversation_id in {group_id, *outline.conversations, *outline.removed}:
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


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise PortingError(f"{path}: {error.strerror}") from error
