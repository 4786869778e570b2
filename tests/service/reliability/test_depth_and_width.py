"""A thousand forks in a chain and ten thousand forks of one entry: exact views at the same cost."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from forklore_service.domain import ancestry
from forklore_service.domain.model import Caller
from tests.service.reliability.figures import Measure, skip_unless_tried
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.planting import Planted, id_of, plant
from tests.service.reliability.service import Process
from tests.support.tables import Store
from tools.harness.service import Answer

ANN = Caller("ann")
DEPTH = ancestry.SEGMENTS_MAX
ROOT = id_of(0xA000_0000)
ASIDE = id_of(0xB000_0000)
FRAMES_MAX = 600
"""Far fewer frames than the depth of the chain, so that recursion over the chain fails."""


def say(text: str) -> dict[str, Any]:
    return {"contentType": "text/plain", "content": [text]}


@contextmanager
def few_frames() -> Iterator[None]:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(FRAMES_MAX)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


@dataclass(frozen=True)
class Level:
    """A conversation of the chain. seen: the acknowledged ids of all entries that it shows."""

    conversation_id: str
    seen: list[str]


def deepen(process: Process, above: Level, at: int) -> tuple[Answer, Level]:
    """Fork the conversation above at its last entry, in one of the possible ways; append two."""
    conversation_id = id_of(0xA000_0000 + at)
    given: dict[str, Any] = {"conversationId": conversation_id, "entries": [say("a"), say("b")]}
    if at % 10:
        forked = {"forkedAtConversationId": above.conversation_id, "forkedAtEntryId": above.seen[-1]}
        appended = process.ask("appendEntry", ANN, **given, **forked)
        inherited = above.seen[:-1]
    else:
        forked = {"conversationId": above.conversation_id, "id": conversation_id}
        made = process.ask("forkConversation", ANN, **forked)
        if made.status != 201:
            return made, above
        appended = process.ask("appendEntry", ANN, **given)
        inherited = above.seen
    if appended.status != 201:
        return appended, above
    return appended, Level(conversation_id, [*inherited, *(one["id"] for one in appended.body["data"])])


def all_pages(process: Process, name: str, **given: Any) -> list[Any]:
    """Return all items of a list, read page by page."""
    shown: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = process.ask(name, ANN, **given, **cursor)
        assert page.status == 200, page
        shown += page.body["data"]
        if page.body["afterCursor"] is None:
            return shown
        cursor = {"afterCursor": page.body["afterCursor"]}


def view(process: Process, conversation_id: str) -> list[str]:
    """Return the ids of all entries that a conversation shows, oldest first."""
    return [
        one["id"] for one in all_pages(process, "listEntries", conversationId=conversation_id, limit=1_000)
    ]


def newest_page(store: Store, level: Level) -> int:
    """Return how many calls the newest page of a conversation needs."""
    process = Process(store)
    page = process.ask("listEntries", ANN, conversationId=level.conversation_id, tail=True)
    assert [entry["id"] for entry in page.body["data"]] == level.seen[-50:]
    return len(process.faults.calls)


@pytest.mark.failure("deep-or-wide-tree")
def test_a_chain_of_a_thousand_forks(store: Store, measure: Measure) -> None:
    """Every view is exact at every depth. One more fork is refused. Nothing recurses."""
    skip_unless_tried(measure)
    process = Process(store)
    first = process.ask("appendEntry", ANN, conversationId=ROOT, entries=[say("a"), say("b")])
    levels = [Level(ROOT, [one["id"] for one in first.body["data"]])]
    with few_frames():
        for at in range(1, DEPTH + 1):
            answer, level = deepen(process, levels[-1], at)
            assert answer.status == 201, answer
            levels.append(level)
        for at in (DEPTH + 1, DEPTH + 10):
            refused, _ = deepen(process, levels[-1], at)
            assert (refused.status, refused.body["code"]) == (409, "fork_too_deep")
        looked_at = [0, 1, 2, DEPTH // 2, DEPTH - 1, DEPTH, *measure.random.sample(range(DEPTH), 4)]
        for at in looked_at:
            assert view(Process(store), levels[at].conversation_id) == levels[at].seen
        newest = [newest_page(store, levels[at]) for at in (DEPTH // 10, DEPTH // 2, DEPTH)]
        blank = {"conversationId": levels[-1].conversation_id, "atEntryId": levels[0].seen[0]}
        assert process.ask("forkConversation", ANN, **blank).status == 201
    assert max(newest) - min(newest) <= 1, newest
    measure.count(forks=DEPTH, views=len(looked_at))
    assert_intact(store, settled=True)


def calls(store: Store, name: str, **given: Any) -> int:
    """Return how many calls an operation needs in a process that has cached only the time."""
    process = Process(store)
    assert (
        process.ask("getConversation", ANN, conversationId=ASIDE).status == 404
    )  # the process asks for the date only once
    before = len(process.faults.calls)
    answer = process.ask(name, ANN, **given)
    assert answer.status in (200, 201), answer
    return len(process.faults.calls) - before


def costs(store: Store, tree: Planted) -> dict[str, int]:
    """Return how many calls the operations on a tree need."""
    fork, anchor = tree.fork_ids[-1], tree.anchor
    return {
        "newest page of the root": calls(store, "listEntries", conversationId=tree.group_id, tail=True),
        "newest page of a fork": calls(store, "listEntries", conversationId=fork, tail=True),
        "a page of the root's history": calls(
            store, "listEntries", conversationId=tree.group_id, channel="history", limit=2
        ),
        "a page of forks": calls(store, "listForks", conversationId=fork),
        "fork": calls(store, "forkConversation", conversationId=tree.group_id, atEntryId=anchor),
        "fork by appending": calls(
            store,
            "appendEntry",
            conversationId=id_of(tree.number + 0x100_0000),
            forkedAtConversationId=tree.group_id,
            forkedAtEntryId=anchor,
            **say("a fork's first"),
        ),
        "append to the root": calls(store, "appendEntry", conversationId=tree.group_id, **say("more")),
        "append to a fork": calls(store, "appendEntry", conversationId=fork, **say("more")),
    }


@pytest.mark.failure("deep-or-wide-tree")
def test_ten_thousand_forks_of_one_entry(store: Store, measure: Measure) -> None:
    """An operation's cost does not depend on how many sibling forks there are."""
    width = measure.goal(ci=1_500, gate=9_990)
    at_ms = int(time.time() * 1000) - 60_000
    narrow = Planted(0xC000_0000, "ann", at_ms, entries=60, forks=1, own_entries=1)
    wide = Planted(0xD000_0000, "ann", at_ms, entries=60, forks=width, own_entries=1)
    plant(store, [*narrow.items(), *wide.items()])
    assert_intact(store, settled=True)
    process = Process(store)

    before, after = costs(store, narrow), costs(store, wide)

    assert {what: after[what] - cost for what, cost in before.items() if abs(after[what] - cost) > 1} == {}
    shown = view(process, wide.fork_ids[width // 2])
    assert shown[:31] == wide.root_entries[:31]
    assert len(shown) == 32
    forks = all_pages(process, "listForks", conversationId=wide.group_id, limit=200)
    listed = [fork["conversationId"] for fork in forks]
    assert listed[: width + 1] == [wide.group_id, *wide.fork_ids]
    assert len(listed) == width + 3
    assert_intact(store, settled=True)
    measure.count(forks=width)
