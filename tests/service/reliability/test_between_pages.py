"""A tree that is deleted, or a member who is removed, between two pages of a list."""

from typing import Any

import pytest

from forklore_service.domain.model import Caller
from tests.service.aws.world import SAID, conversation_id
from tests.service.reliability.service import Process
from tests.support.tables import Store
from tools.harness.service import OF_A_CONVERSATION, OPERATIONS, Answer

ANN, BOB = Caller("ann"), Caller("bob")
ROOT = conversation_id(1)
LISTS: dict[str, tuple[str, dict[str, Any], str]] = {
    **{
        one.name: (one.name, {}, "afterCursor")
        for one in OF_A_CONVERSATION
        if one.role is None and "afterCursor" in one.query_names
    },
    "listEntries, backward": ("listEntries", {"tail": "true"}, "beforeCursor"),
    "listEntries of all forks": ("listEntries", {"allForks": "true"}, "afterCursor"),
}


@pytest.fixture
def process(store: Store) -> Process:
    """A process and a tree of Ann with two of everything. Bob is a manager of the tree."""
    process = Process(store)
    assert process.ask("createConversation", ANN, id=ROOT).status == 201
    shared = process.ask("shareConversation", ANN, conversationId=ROOT, userId="bob", accessLevel="manager")
    assert shared.status == 201
    for number in (2, 3):
        assert process.ask("appendEntry", ANN, conversationId=ROOT, **SAID).status == 201
        child = {"conversationId": conversation_id(number), "startedByConversationId": ROOT}
        assert process.ask("appendEntry", ANN, **child, **SAID).status == 201
        assert process.ask("createLink", ANN, conversationId=ROOT).status == 201
        entry_id = process.ask("appendEntry", ANN, conversationId=ROOT, **SAID).id
        assert process.ask("addNote", ANN, conversationId=ROOT, entryId=entry_id, score=number).status == 201
    assert process.ask("forkConversation", ANN, conversationId=ROOT).status == 201
    return process


def page(process: Process, name: str, by: Caller, cursor: str | None = None) -> Answer:
    operation, given, field = LISTS[name]
    cut = given if cursor is None else {**given, field: cursor}
    cut = {held: cut[held] for held in cut if not (held == "tail" and cursor)}
    return process.ask(operation, by, conversationId=ROOT, limit="1", **cut)


@pytest.mark.failure("gone-between-pages")
@pytest.mark.parametrize("name", LISTS)
def test_the_next_page_after_a_removal_is_403_and_after_a_deletion_404(
    store: Store, process: Process, name: str
) -> None:
    """The answer is never a 200 with a short page, whether the tree is cached or not."""
    cursors = {by: page(process, name, by).body[LISTS[name][2]] for by in (ANN, BOB)}
    assert all(cursors.values())
    others = (process, Process(store))
    assert page(process, name, BOB, cursors[BOB]).body["data"]

    assert process.ask("removeMembership", ANN, conversationId=ROOT, userId="bob").status == 200
    assert [page(other, name, BOB, cursors[BOB]).status for other in others] == [403, 403]
    if name != "listMemberships":
        assert page(process, name, ANN, cursors[ANN]).body["data"]
    assert process.ask("deleteConversation", ANN, conversationId=ROOT).status == 204
    for by in (ANN, BOB):
        assert [page(other, name, by, cursors[by]).status for other in others] == [404, 404]


def test_every_list_of_a_conversation_is_read_page_by_page() -> None:
    lists = {
        one.name
        for one in OPERATIONS.values()
        if "afterCursor" in one.query_names and "conversationId" in one.path_names and one.role is None
    }

    assert {name for name, _, _ in LISTS.values()} == lists
