"""A user with many conversations is searched in as many requests as the bound says."""

import math

from forklore.domain import matching
from forklore.domain.model import Caller
from forklore.storage.table import Table
from forklore.usecases.reading import search
from forklore.usecases.reading.search import READ_BYTES_MAX, Place, SearchPage, SearchRequest
from tests.reliability.figures import Measure
from tests.support.searching import Looked, tree_items
from tests.support.tables import Store

TREES, ENTRIES = 1_000, 20
LIMIT = 200


def pages(table: Table, query: str) -> list[SearchPage]:
    """Return the pages of a whole search of Ann's."""
    found: list[SearchPage] = []
    after: Place | None = None
    while not found or after is not None:
        request = SearchRequest(matching.words_of(query), limit=LIMIT, after=after)
        found.append(search.search(table, caller=Caller("ann"), request=request))
        after = found[-1].resume
    return found


def test_a_thousand_conversations_take_as_many_requests_as_the_bound_says(
    store: Store, measure: Measure
) -> None:
    random = measure.random
    for at in range(TREES):
        texts = [f"{random.randbytes(130).hex()} in {at}.{one}" for one in range(ENTRIES)]
        store.put(*tree_items(at + 1, texts))
    table = store.process()
    looked = Looked(table)

    through = pages(table, "nowhere")
    read = looked.bytes
    assert [page.hits for page in through] == [[]] * len(through)
    assert len(through) == math.ceil(read / READ_BYTES_MAX)

    hits = [hit for page in pages(table, "IN .7") for hit in page.hits]
    assert len(hits) == TREES
    numbers = [int(hit.conversation.conversation_id[:8], 16) for hit in hits]
    assert numbers == sorted(range(1, TREES + 1), reverse=True)
    measure.count(conversations=TREES, requests=len(through), megabytes=round(read / 1e6))
