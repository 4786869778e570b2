"""Copies of the tables of tests, between all places where a table can lie."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forklore_local.copying.copying import Copied, copy
from forklore_local.copying.places import FileCopy, From, TableCopy, To, folder_at, new_file, new_folder
from forklore_service.domain.keys import Key
from forklore_service.storage import items
from forklore_service.storage.table import Table
from tests.local.fsck import world
from tests.service.reliability.world import ABANDONED_SECONDS, settle
from tests.support.tables import Store


def build(store: Store) -> None:
    """Make a table with every kind of item, in which also work is left."""
    world.build(store)


def settled(store: Store) -> None:
    """Make the same table, with no work left."""
    world.build(store)
    settle(store, in_seconds=ABANDONED_SECONDS)


def opened(table: Table | Store) -> TableCopy:
    """Return a table as one end of a copy. It is read in order."""
    return TableCopy(table.process() if isinstance(table, Store) else table, segments=1)


def saved(table: Table | Store, path: Path) -> Copied:
    """Copy a table to a file."""
    with new_file(path) as file:
        return copy(opened(table), file)


def restored(path: Path, table: Table | Store) -> Copied:
    """Copy a file to a table."""
    return copy(FileCopy(path), opened(table))


@contextmanager
def ends(of: Path, to: Path) -> Iterator[tuple[From, To]]:
    """Yield a folder or a file, and a new one."""
    is_file = of.is_file()
    new = new_file(to) if to.suffix == ".gz" else new_folder(to)
    if is_file:
        with new as target:
            yield FileCopy(of), target
    else:
        with folder_at(of) as source, new as target:
            yield source, target


def held(store: Store) -> Mapping[Key, Mapping[str, Any]]:
    """Return what a table holds, without the mark that it was copied."""
    return {
        key: {name: value for name, value in items.plain(item).items() if name != "imported"}
        for key, item in store.contents().items()
    }
