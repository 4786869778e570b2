"""Batch reads that are torn by another caller's requests: for the check `torn-reads`.

BatchGetItem is no snapshot. In the middle of each batch read of one caller the other one makes all
requests. The items that these change are seen as before, or as after: each one alone, and all
others but it. The outcome must be as if the requests were made one after the other.

Items that the other caller does not change are the same early and late. If there are fewer than two
that change, the read is as one before or after the requests, which `orders-of-two` tries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from forklore_service.domain.keys import Key
from tests.service.reliability.faults import Rewrite
from tests.service.reliability.races import ONE, OTHER_ONE, Asked, Pair, Race
from tests.service.reliability.service import Endpoint
from tests.support.tables import Store
from tests.support.torn import TornClient, tear

BESIDE = {ONE: OTHER_ONE, OTHER_ONE: ONE}


@dataclass(frozen=True)
class Tear:
    """A torn read. reader: the caller whose read it is. number: which of its batch reads, from 1.

    early: the items that are seen as they were before the other caller's requests.
    """

    reader: str
    number: int
    early: frozenset[Key]


class TornReads:
    """Runs a pair at an endpoint with torn reads. rewrite: changes the calls that are sent."""

    def __init__(self, pair: Pair, endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
        self._race = Race(pair, endpoint, rewrite)

    def run(self) -> int:
        """Assert that each torn read has the outcome of a possible order.

        Return how many there are.
        """
        tears = list(self.tears())
        for torn in tears:
            self.judge(torn)
        return len(tears)

    def tears(self) -> Iterator[Tear]:
        """Yield each torn read that can differ from a whole one."""
        for reader in BESIDE:
            for number in count(1):
                changed = self._changed(reader, number)
                if changed is None:
                    break
                if len(changed) > 1:
                    each = [frozenset([key]) for key in sorted(changed)]
                    for early in dict.fromkeys([*each, *(changed - one for one in each)]):
                        yield Tear(reader, number, early)

    def _changed(self, reader: str, number: int) -> frozenset[Key] | None:
        """Return those keys of a batch read whose items the other caller's requests change.

        None: the caller makes fewer batch reads.
        """
        found: list[Mapping[Key, object]] = []

        def look(store: Store, torn: TornClient) -> None:
            contents = store.contents()
            found.append({key: contents.get(key) for key in torn.torn})

        with self._race.world.copy(self._race.endpoint) as store:
            callers = self._race.callers(store, None)

            def between() -> None:
                look(store, torn)
                callers[BESIDE[reader]].ask_rest()
                look(store, torn)

            torn = tear(
                callers[reader].process.table, number=number, early=lambda _key: False, between=between
            )
            callers[reader].ask_rest()
        if not found:
            return None
        before, after = found
        return frozenset(key for key in before if before[key] != after[key])

    def judge(self, torn: Tear) -> None:
        with self._race.world.copy(self._race.endpoint) as store:
            callers = self._race.callers(store, self._race.rewrite)
            reader, other = callers[torn.reader], callers[BESIDE[torn.reader]]
            at: list[int] = []

            def between() -> None:
                at.append(len(reader.answers))
                other.ask_rest()

            tear(
                reader.process.table,
                number=torn.number,
                early=lambda key: key in torn.early,
                between=between,
            )
            reader.ask_rest()
            if not at:  # a random id or time led to another run
                other.ask_rest()
                at.append(len(reader.answers))
            [amid] = at

            def is_first(one: Asked, another: Asked) -> bool:
                """All of the other's requests were made in the middle of one of the reader's."""
                if one[0] == another[0]:
                    return False
                return one[1] < amid if one[0] == torn.reader else another[1] > amid

            self._race.judge(callers, store, is_first)
