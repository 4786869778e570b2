"""Reads of a table: of all of it, or tree by tree. Nothing here writes."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from forklore_service.domain.keys import Key, SortRange
from forklore_service.storage import schema
from forklore_service.storage.connection import Connection, Item
from forklore_service.storage.consumption import Consumption
from forklore_service.storage.table import Table


class NotForkloreError(Exception):
    """The table has not the keys and indexes of forklore's."""


class Source:
    """Strongly consistent reads of one table. read_units: what they have consumed so far."""

    def __init__(self, connection: Connection) -> None:
        self._usage = Consumption()
        self._connection = connection.counted_in(self._usage)
        self._table = Table(self._connection)

    @property
    def read_units(self) -> float:
        return self._usage.read_units

    def describe(self) -> int:
        """Return the approximate number of items. DynamoDB counts them every six hours.

        Raises NotForkloreError if the table has other keys or indexes, and what botocore raises.
        """
        name = self._connection.table_name
        table: dict[str, Any] = self._connection.client.describe_table(TableName=name)["Table"]
        if not schema.is_like(table):
            raise NotForkloreError(f"{name!r} is no table of forklore's: its keys or indexes are others")
        about: int = table.get("ItemCount", 0)
        return about

    def now_s(self) -> int:
        """Return the time in whole seconds, by DynamoDB's clock rather than by this machine's."""
        self._table.compare_clock()
        return self._table.now_s()

    def scan(self, *, segments: int) -> Iterator[list[Item]]:
        """Yield every item, page by page. All segments are read at the same time.

        Raises UnavailableError, and what botocore raises.
        """
        with ThreadPoolExecutor(segments, thread_name_prefix="scan") as threads:

            def read(segment: int, start: Key | None) -> "Future[tuple[int, list[Item], Key | None]]":
                return threads.submit(lambda: (segment, *self._page(segment, segments, start)))

            under_way = {read(segment, None) for segment in range(segments)}
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for page in done:
                    segment, found, start = page.result()
                    if start is not None:
                        under_way.add(read(segment, start))
                    yield found

    def _page(self, segment: int, segments: int, start: Key | None) -> tuple[list[Item], Key | None]:
        return self._table.scan(segment=segment, segments=segments, start=start)

    def range(self, of: SortRange) -> dict[Key, Item]:
        """Return the items of a range, in order."""
        return {Key(item["PK"]["S"], item["SK"]["S"]): item for item in self._table.query(of)}

    def get(self, wanted: Iterable[Key]) -> dict[Key, Item]:
        return self._table.items_at(wanted)
