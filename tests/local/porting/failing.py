"""Exports and imports whose calls fail, and whose process is killed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from forklore_local.porting.importing import check
from forklore_local.porting.making import LEASE_SECONDS
from forklore_service.domain.keys import Key
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, held, imported, lines_of
from tests.service.reliability.faults import Call, Fault, Killed, at
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import ABANDONED_SECONDS, settle
from tests.support.tables import Store

ContextLine = Mapping[Key, Mapping[str, Any]]
Point = tuple[int, Fault]
"""The number of a call, from 1, and what goes wrong with it."""
GIVEN_UP_SECONDS = LEASE_SECONDS + 60


def build(store: Store) -> None:
    """Make the trees of fsck's tests."""
    world.build(store)
    settle(store, in_seconds=ABANDONED_SECONDS)


@dataclass
class Failing:
    """A table, the file of its export, and a folder. new_store: yields an empty table."""

    store: Store
    file: Path
    folder: Path
    new_store: Callable[[], AbstractContextManager[Store]]

    @cached_property
    def whole(self) -> ContextLine:
        """What the table holds, and an import of the file must give back."""
        return held(self.store)

    # The export

    def points_of_export(self) -> list[Point]:
        """Return each call of an export with each fault that it can have."""
        process = Process(self.store, in_order=True)
        exported(process.table, self.folder / "counted")
        (self.folder / "counted").unlink()
        return list(_points(process.faults.calls))

    def export_with(self, point: Point) -> bool:
        """Export with a fault, again after a kill. Return whether the fault happened."""
        path = self.folder / "failing"
        process = Process(self.store, at(*point), in_order=True)
        try:
            exported(process.table, path)
        except Killed:
            exported(self.store, path)
        check(path)
        hold(list(lines_of(path))[1:-1] == list(lines_of(self.file))[1:-1], point)
        hold(not (self.folder / "failing.part").exists(), point)
        path.unlink()
        return bool(process.faults.injected)

    # The import

    def points_of_import(self) -> list[Point]:
        """Return each call of an import with each fault that it can have."""
        with self.new_store() as store:
            process = Process(store, in_order=True)
            imported(process.table, self.file)
            return list(_points(process.faults.calls))

    def import_with(self, point: Point) -> bool:
        """Import with a fault, again after a kill. Return whether the fault happened."""
        with self.new_store() as store:
            process = Process(store, at(*point), in_order=True)
            try:
                imported(process.table, self.file)
            except Killed:
                assert_intact(store)
                imported(store, self.file)
            self._is_whole(store, point)
            return bool(process.faults.injected)

    def abandon(self, number: int) -> None:
        """Kill an import after a call. Let the sweep remove what is half, and import again."""
        with self.new_store() as store:
            try:
                imported(Process(store, at(number, Fault.KILL_AFTER), in_order=True).table, self.file)
            except Killed:
                settle(store, in_seconds=GIVEN_UP_SECONDS)
                assert_intact(store, settled=True)
                there = _without_children(held(store))
                wanted = {key: _without_children(self.whole)[key] for key in there}
                hold(there == wanted, "what is left is not what was there", number)
            imported(store, self.file)
            self._is_whole(store, number)

    def _is_whole(self, store: Store, *why: object) -> None:
        assert_intact(store, settled=True)
        hold(held(store) == self.whole, *why)


def _without_children(held_by: ContextLine) -> ContextLine:
    """Return items without the counts of children, which are made after their parents."""
    return {
        key: {name: value for name, value in item.items() if name != "children"}
        for key, item in held_by.items()
    }


def _points(calls: Sequence[Call]) -> Iterator[Point]:
    for call in calls:
        for fault in Fault:
            if fault.concerns(call):
                yield call.number, fault
