"""The store tells of each thing that happens, by the events of a deployment."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forklore_local.in_process import outbox
from forklore_local.in_process.opened import Opened
from forklore_local.in_process.outbox import Outbox
from forklore_local.in_process.service import EmbeddedService
from forklore_local.in_process.telling import Telling
from forklore_service.domain.model import Caller
from forklore_service.events.event import Content, DetailType, Event
from tests.local.in_process.asking import call
from tests.local.in_process.test_killed import wait_until_settled

IS_TOLD = outbox.is_told
ANN, BOB = Caller("ann"), Caller("bob")


class World:
    """A service in memory that tells each change of any item, also those that tell nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(outbox, "is_told", lambda _sort: True)
        opened = Opened(delete_wait_s=0, deleted_days=30)
        self.outbox = Outbox(opened.database, None, ["receiver"])
        self.service = EmbeddedService(opened)
        self.telling = Telling(opened.table, Content.HISTORY)

    def call(self, operation: str, caller: Caller = ANN, **given: Any) -> Any:
        answer = call(self.service, operation, given, caller)
        assert answer.status < 300, answer.text
        return json.loads(answer.text) if answer.text else None

    def say(self, conversation: str, text: str) -> str:
        content = [{"role": "USER", "text": text}]
        made: str = self.call(
            "appendEntry", conversationId=conversation, contentType="history", content=content
        )["id"]
        return made

    def events(self) -> list[Event]:
        """Return the events since the last call. What `is_told` leaves out must tell nothing."""
        found: list[Event] = []
        for one in self.outbox.fresh():
            record = self.outbox.message(one.number)
            assert record
            events = self.telling.events_of(record)
            assert events == self.telling.events_of(record), "the same record tells the same again"
            keys = json.loads(record)["dynamodb"]["Keys"]
            assert not events or IS_TOLD(keys["SK"]["S"])
            found += events
        return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    opened = World(monkeypatch)
    yield opened
    opened.service.close()


def test_each_type_of_event_is_told_and_nothing_that_is_left_out_tells_anything(world: World) -> None:
    root = world.call("createConversation", title="a trip")["id"]
    entry = world.say(root, "Hello")
    [*_, told] = world.events()
    assert told.detail_type is DetailType.ENTRIES_APPENDED
    detail = json.loads(told.detail)
    assert [(one["entryId"], one["content"]) for one in detail["entries"]] == [
        (entry, [{"role": "USER", "text": "Hello"}])
    ]

    fork = world.call("forkConversation", conversationId=root, atEntryId=entry, position="after")["id"]
    world.call("updateConversation", conversationId=root, title="another")
    world.call("shareConversation", conversationId=root, userId="bob", accessLevel="writer")
    world.call("addNote", conversationId=root, entryId=entry, text="so so")
    world.call("promoteConversation", conversationId=fork)
    offer = world.call("requestTransfer", conversationId=root, newOwnerUserId="bob")["id"]
    world.call("acceptTransfer", BOB, transferId=offer)
    for branch in (fork, root):
        world.call("deleteConversation", BOB, conversationId=branch, scope="branch")
        world.call("restoreConversation", BOB, conversationId=branch)
    world.call("deleteConversation", BOB, conversationId=root, scope="tree")
    world.call("restoreConversation", BOB, conversationId=root)
    events = world.events()
    restored = [one for one in events if one.detail_type is DetailType.BRANCH_RESTORED]
    assert [json.loads(one.detail)["conversationId"] for one in restored] == [fork, root]
    kinds = {event.detail_type for event in events}
    assert kinds | {DetailType.ENTRIES_APPENDED} == set(DetailType)


def test_what_is_deleted_before_it_is_told_is_told_without_its_entries(world: World) -> None:
    root = world.call("createConversation", title="a trip")["id"]
    world.say(root, "a secret")
    world.call("deleteConversation", conversationId=root, forGood="true")
    wait_until_settled(world.service)
    told = {event.detail_type: event.detail for event in world.events()}

    assert json.loads(told[DetailType.ENTRIES_APPENDED])["entries"] == []
    assert "secret" not in str(told)
