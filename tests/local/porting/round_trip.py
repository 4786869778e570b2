"""Exports a table, imports the file into another one, and compares what both hold."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting.exporting import Exported, export
from forklore_local.porting.importing import Imported, carry_out, check
from forklore_local.porting.scope import Choice, Scope
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.names import Name
from forklore_service.storage import items, schema
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from tests.support.tables import Store

EVERYTHING = Choice(Scope.EVERYTHING)
NOT_EXPORTED = {"nonce", "memberChange", "imported", "promotedAt", "promotedBy", *items.ANSWERING}
"""Attributes of no use once what wrote them is over, and the one that only an import writes."""
OF_THE_TABLE = {"named", "namedBy", "asked", "due"}
"""What an attachment has of the table: how often it was named, when it was and is looked at."""
PLACE_BY_USE = {schema.ENTRY_SORT_KEY, "moves"}
"""A row of a user's list moves at times; an import puts it where the tree was used last."""


def exported(
    table: Table | Store, path: Path, choice: Choice = EVERYTHING, *, skip_damaged: bool = False
) -> Exported:
    """Export trees of a table."""
    opened = table.process() if isinstance(table, Store) else table
    return export(opened, choice, path, skip_damaged=skip_damaged, sleep=lambda _seconds: None)


def imported(table: Table | Store, path: Path, *, threads: int = 1) -> Imported:
    """Import a file."""
    opened = table.process() if isinstance(table, Store) else table
    return carry_out(opened, check(path, table=opened), threads=threads)


def held(store: Store) -> dict[Key, Mapping[str, Any]]:
    """Return what an export of everything gives back: all items of live trees, and their names."""
    contents = store.contents()
    live = {key.partition for key, item in contents.items() if _is_live(key, item)}
    return {
        key: {name: value for name, value in items.plain(item).items() if name not in _left_out(key)}
        for key, item in contents.items()
        if _belongs(key, item, live, contents)
    }


def _left_out(key: Key) -> set[str]:
    more = {Kind.USER_TREE: PLACE_BY_USE, Kind.FILE: OF_THE_TABLE}
    return NOT_EXPORTED | more.get(kind_of(key) or Kind.GROUP, set())


def _is_live(key: Key, item: Item) -> bool:
    return kind_of(key) is Kind.GROUP and item["state"] == {"S": "live"}


def _belongs(key: Key, item: Item, live: set[str], contents: Mapping[Key, Item]) -> bool:
    match kind_of(key):
        case Kind.IDEM | Kind.JOB | Kind.PART:
            return False
        case Kind.PTR:
            return item.get("group", {}).get("S") in live
        case Kind.BLOB:
            return key.partition.split("#")[1] in live
        case Kind.XFER:
            return item["group"]["S"] in live
        case Kind.REF:
            return keys.in_reference(key).group_id in live
        case Kind.FILE:
            references = [
                one for one in contents if kind_of(one) is Kind.REF and one.partition == key.partition
            ]
            return any(keys.in_reference(one).group_id in live for one in references)
        case Kind.USER_TREE:
            return keys.list_key(key.sort).conversation_id in live
        case Kind.NAME:
            return any(_is_members(items.name(item), group_id, contents) for group_id in live)
    return key.partition in live


def _is_members(name: Name, group_id: str, contents: Mapping[Key, Item]) -> bool:
    needed = keys.head(group_id, name.conversation_id), keys.member(group_id, name.ref.owner.user_id)
    return all(key in contents for key in needed)


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends."""
    yield from path.read_bytes().splitlines(keepends=True)
