"""A long thread is copied many times by forks at its head, and then removed.

So an agent framework uses forklore: it copies a thread, and deletes the copies one by one.
"""

import pytest

from forklore.domain.model import Caller
from tests.reliability.figures import Measure
from tests.reliability.intact import assert_intact
from tests.reliability.service import Process
from tests.reliability.world import settle
from tests.support.tables import Store

ANN = Caller("ann")
AT_ONCE, PAGE = 50, 1_000


def conversation(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


THREAD = conversation(1)


def write_thread(process: Process, entries: int) -> None:
    for first in range(0, entries, AT_ONCE):
        some = [
            {"contentType": "text/plain", "content": [number]} for number in range(first, first + AT_ONCE)
        ]
        assert process.ask("appendEntry", ANN, conversationId=THREAD, entries=some).status == 201


def read_all(process: Process, conversation_id: str) -> list[tuple[str, int]]:
    """Return the id and the number of each entry that a conversation shows."""
    found: list[tuple[str, int]] = []
    after: dict[str, str] = {}
    while True:
        answer = process.ask("listEntries", ANN, conversationId=conversation_id, limit=PAGE, **after)
        assert answer.status == 200, answer
        found += [(entry["id"], entry["content"][0]) for entry in answer.body["data"]]
        if answer.body["afterCursor"] is None:
            return found
        after = {"afterCursor": answer.body["afterCursor"]}


def remove(process: Process, conversation_id: str) -> None:
    given = {"conversationId": conversation_id, "scope": "branch"}
    assert process.ask("deleteConversation", ANN, **given).status == 204


@pytest.mark.failure("removal-race")
def test_copies_of_a_thread_outlive_it_and_nothing_outlives_them(store: Store, measure: Measure) -> None:
    entries, copies = measure.goal(ci=300, gate=3_000), measure.goal(ci=20, gate=100)
    random, process = measure.random, Process(store)
    write_thread(process, entries)
    thread = read_all(process, THREAD)
    left = [conversation(2 + number) for number in range(copies)]
    for copy in left:
        assert process.ask("forkConversation", ANN, conversationId=THREAD, id=copy).status == 201
    process.ask("appendEntry", ANN, conversationId=THREAD, contentType="text/plain", content=[-1])

    remove(process, THREAD)
    settle(store)
    assert_intact(store, settled=True)
    assert process.ask("getConversation", ANN, conversationId=THREAD).status == 404
    for copy in left:
        assert read_all(process, copy) == thread

    random.shuffle(left)
    while left:
        remove(process, left.pop())
        if len(left) % 10 == 0 or len(left) == 1:
            settle(store)
            assert_intact(store, settled=True)
            assert all(read_all(process, copy) == thread for copy in left[:1])
    assert {key.partition[:4] for key in store.contents()} == {"PTR#"}
    assert all("ttl" in item for item in store.contents().values())
    measure.count(entries=entries, copies=copies)
