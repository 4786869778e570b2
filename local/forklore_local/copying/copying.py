"""Copies all items of a table, and the bytes of its attachments.

What is copied is read twice, and must be the same both times. So it is what the table held at the
moment between the two.
"""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from forklore_local.copying.failures import CopyError
from forklore_local.copying.lines import line_of
from forklore_local.copying.places import From, To, in_batches
from forklore_local.fsck.shapes import Kind, kind_of
from forklore_service.domain.attachments import File
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.objects import Expected, Objects, WrongBytesError

AT_ONCE = 200
"""Items that are held in memory."""
FILES_AT_ONCE = 8
_TOLD = (Kind.CONV, Kind.GONE, Kind.HEAD, Kind.NOTE)
"""Those that would make an event where they arrive, if they did not say that they were copied."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied. lost: the ids of attachments whose bytes are lost, sorted."""

    items: int
    trees: int
    conversations: int
    entries: int
    lost: Sequence[str]


def copy(
    source: From,
    target: To,
    *,
    on_total: Callable[[int], object] = lambda _: None,
    on_done: Callable[[int], object] = lambda _: None,
) -> Copied:
    """Copy all items and attachments. A copy that was ended midway may be repeated.

    on_done: called with a number of items that were looked at, and again when they are copied.
    on_total: called with how many that will be, before the first is copied.
    Raises CopyError, before anything is written: for a target that is in use, for a source that
    cannot be read, and for attachments whose place is not known. Raises it later for a source that
    was changed meanwhile.
    """

    def every() -> Iterator[Item]:
        return map(_moved, source.items())

    first, second, lost = _Sum(), _Sum(), set[str]()
    for item in every():
        first.add(item)
        on_done(1)
        if (source.objects is None or target.objects is None) and _has_bytes(item):
            raise CopyError(
                "there are attachments, but not their bytes: --bucket says where those of a table lie, "
                "and those of a file lie in the folder FILE.files"
            )
    target.check_free(every)
    on_total(2 * first.items)
    with ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="copy") as threads:
        for batch in in_batches(every(), AT_ONCE):
            files = [items.file(item) for item in batch if _has_bytes(item)]
            brought = threads.map(lambda file: _bring(file, source.objects, target.objects), files)
            lost |= {file.attachment_id for file, done in zip(files, brought, strict=True) if not done}
            target.put(batch)
            for item in batch:
                second.add(item)
            on_done(len(batch))
    if (first.items, first.digest) != (second.items, second.digest):
        raise CopyError("it was written to while it was read: stop that, or copy a backup of it")
    kinds = second.kinds
    return Copied(second.items, kinds[Kind.GROUP], kinds[Kind.HEAD], kinds[Kind.ENTRY], sorted(lost))


class _Sum:
    """The number of some items, and a digest that is the same for the same items in any order."""

    def __init__(self) -> None:
        self.items = self.digest = 0
        self.kinds = Counter[Kind | None]()

    def add(self, item: Item) -> None:
        self.items += 1
        self.kinds[kind_of(items.key(item))] += 1
        self.digest = (self.digest + int.from_bytes(hashlib.sha256(line_of(item)).digest())) % 2**256


def _moved(item: Item) -> Item:
    return items.as_imported(item) if kind_of(items.key(item)) in _TOLD else item


def _has_bytes(item: Item) -> bool:
    """Tell whether an item is an attachment that has bytes."""
    return kind_of(items.key(item)) is Kind.FILE and not item.keys() & {"going", "removed"}


def _bring(file: File, source: Objects | None, target: Objects | None) -> bool:
    """Copy the bytes of an attachment, unless they are there. Return False if they are lost."""
    assert source is not None
    assert target is not None
    expected = Expected(file.content_type, file.size, file.sha256)
    if target.holds(file.attachment_id, expected):
        return True
    with tempfile.TemporaryFile() as held:
        try:
            for piece in source.read(file.attachment_id):
                held.write(piece)
            held.seek(0)
            target.store(file.attachment_id, held, expected)
        except WrongBytesError:
            return file.is_pending
    return True
