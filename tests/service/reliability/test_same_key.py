"""Which requests with one Idempotency-Key count as one, and what repeated requests do."""

from typing import Any

import pytest

from forklore_service.domain.model import Caller
from tests.service.aws.direct import Direct
from tests.service.aws.world import NOTED, PLAIN, SAID, conversation_id
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.support.tables import Store
from tools.harness.functions import functions_on

ANN, PLANNER, BOB = Caller("ann"), Caller("ann", "planner"), Caller("bob")
ROOT, OTHER, NEW = (conversation_id(number) for number in (1, 2, 3))
KEY = "one key"
MISSING = conversation_id(99)


@pytest.fixture
def process(store: Store) -> Process:
    """A process, and two conversations of Ann that Bob may write to."""
    process = Process(store)
    for root in (ROOT, OTHER):
        assert process.ask("createConversation", PLANNER, id=root).status == 201
        shared = process.ask(
            "shareConversation", ANN, conversationId=root, userId="bob", accessLevel="manager"
        )
        assert shared.status == 201
    return process


@pytest.mark.failure("lost-answer")
def test_a_key_is_scoped_by_caller_method_route_and_path_ids(store: Store, process: Process) -> None:
    """The same key with another user, client, route or conversation is another request."""
    requests: list[tuple[str, Caller, dict[str, Any]]] = [
        ("appendEntry", ANN, {"conversationId": ROOT, **PLAIN}),
        ("appendEntry", PLANNER, {"conversationId": ROOT, **PLAIN}),
        ("appendEntry", BOB, {"conversationId": ROOT, **PLAIN}),
        ("appendEntry", ANN, {"conversationId": OTHER, **PLAIN}),
        ("forkConversation", ANN, {"conversationId": ROOT}),
        ("forkConversation", ANN, {"conversationId": OTHER}),
        ("forkConversation", BOB, {"conversationId": ROOT}),
        ("createConversation", ANN, {}),
        ("createConversation", BOB, {}),
        ("syncContext", PLANNER, {"conversationId": ROOT, "contentType": "c", "content": [1]}),
        ("syncContext", PLANNER, {"conversationId": OTHER, "contentType": "c", "content": [1]}),
        ("shareConversation", ANN, {"conversationId": ROOT, "userId": "cy", "accessLevel": "reader"}),
        ("shareConversation", ANN, {"conversationId": OTHER, "userId": "cy", "accessLevel": "reader"}),
        ("shareConversation", BOB, {"conversationId": OTHER, "userId": "di", "accessLevel": "reader"}),
        ("requestTransfer", ANN, {"conversationId": ROOT, "newOwnerUserId": "bob"}),
        ("createLink", ANN, {"conversationId": ROOT, "allForks": True}),
        ("createLink", BOB, {"conversationId": ROOT, "allForks": True}),
        ("createLink", ANN, {"conversationId": OTHER, "allForks": True}),
    ]
    answers = [process.ask(name, by, idempotency_key=KEY, **given) for name, by, given in requests]
    after = store.contents()

    assert {answer.status for answer in answers} == {200, 201}
    texts = [repr(answer) for answer in answers]
    assert len(set(texts)) == len(texts), "two different requests were taken for one"
    for again in (process, Process(store)):
        assert [again.ask(name, by, idempotency_key=KEY, **given) for name, by, given in requests] == answers
    assert store.contents() == after
    assert_intact(store)


@pytest.mark.failure("lost-answer")
def test_a_refused_request_leaves_its_key_free(store: Store, process: Process) -> None:
    """A refusal is not recorded, so the key can be used again."""
    first = process.ask("appendEntry", ANN, conversationId=ROOT, **SAID)
    assert process.ask("appendEntry", ANN, conversationId=ROOT, **SAID).status == 201
    refused: list[tuple[int, str, Caller, dict[str, Any]]] = [
        (400, "appendEntry", ANN, {"conversationId": ROOT, **PLAIN, "userId": "bob"}),
        (400, "appendEntry", ANN, {"conversationId": ROOT, "contentType": ""}),
        (403, "appendEntry", ANN, {"conversationId": ROOT, **NOTED}),
        (403, "appendEntry", Caller("eve"), {"conversationId": ROOT, **PLAIN}),
        (409, "appendEntry", ANN, {"conversationId": ROOT, **PLAIN, "if_match": first.id}),
        (404, "appendEntry", ANN, {"conversationId": ROOT[:-1] + "7", **PLAIN, **_fork_of(MISSING)}),
    ]
    before = store.contents()
    for status, name, by, given in refused:
        assert process.ask(name, by, idempotency_key=KEY, **given).status == status
        assert store.contents() == before

    assert process.ask("appendEntry", ANN, conversationId=ROOT, idempotency_key=KEY, **PLAIN).status == 201


def _fork_of(source: str) -> dict[str, str]:
    return {"forkedAtConversationId": source}


@pytest.mark.failure("retry-without-key")
def test_without_a_key_a_post_may_repeat_its_effect_and_patch_and_delete_do_not(
    store: Store, process: Process
) -> None:
    """POST twice makes two entries; PATCH twice makes one change; a second DELETE is 404."""
    first, second = (process.ask("appendEntry", ANN, conversationId=ROOT, **PLAIN) for _ in range(2))
    assert first.id != second.id
    patches: list[tuple[str, dict[str, Any]]] = [
        ("updateConversation", {"title": "x", "tags": {"a": "b"}, "metadata": {"c": 1}}),
        ("updateMembership", {"userId": "bob", "accessLevel": "writer"}),
    ]
    for name, given in patches:
        answers = [process.ask(name, ANN, conversationId=ROOT, **given) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 200]
        assert {**answers[0].body, "updatedAt": ""} == {**answers[1].body, "updatedAt": ""}
    offered = process.ask("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId="bob")
    deletes: list[tuple[int, str, dict[str, Any]]] = [
        (204, "deleteTransfer", {"transferId": offered.id}),
        (200, "removeMembership", {"conversationId": ROOT, "userId": "bob"}),
        (204, "deleteConversation", {"conversationId": ROOT}),
    ]
    for done, name, given in deletes:
        assert [process.ask(name, ANN, **given).status for _ in range(2)] == [done, 404], name
    assert_intact(store)


@pytest.mark.failure("reused-id")
def test_an_id_of_a_deleted_tree_creates_nothing_whatever_the_request_is(
    store: Store, process: Process
) -> None:
    """Append, late retry, fork, child, creation and sync answer 404 or 409; no tree is made."""
    once = {"conversationId": ROOT, "idempotency_key": KEY, **PLAIN}
    assert process.ask("appendEntry", ANN, **once).status == 201
    assert process.ask("createConversation", ANN, id=NEW, idempotency_key=KEY).status == 201
    other = process.ask("appendEntry", ANN, conversationId=OTHER, **SAID)
    requests: list[tuple[int, str, dict[str, Any]]] = [
        (404, "appendEntry", once),
        (404, "appendEntry", {"conversationId": ROOT, **PLAIN}),
        (404, "appendEntry", {"conversationId": ROOT, **PLAIN, **_fork_of(OTHER)}),
        (404, "appendEntry", {"conversationId": ROOT, **PLAIN, "startedByConversationId": OTHER}),
        (404, "syncContext", {"conversationId": ROOT, "contentType": "c", "content": [1]}),
        (409, "createConversation", {"id": ROOT}),
        (404, "createConversation", {"id": NEW, "idempotency_key": KEY}),
        (409, "forkConversation", {"conversationId": OTHER, "id": ROOT, "atEntryId": other.id}),
        (404, "forkConversation", {"conversationId": ROOT}),
        (404, "listEntries", {"conversationId": ROOT}),
        (404, "getConversation", {"conversationId": NEW}),
    ]
    for root in (ROOT, NEW):
        assert process.ask("deleteConversation", ANN, conversationId=root).status == 204
    before = store.contents()
    for service in (process, Process(store)):
        for status, name, given in requests:
            by = PLANNER if name == "syncContext" else ANN
            assert service.ask(name, by, **given).status == status, (name, given)
            assert store.contents() == before


@pytest.mark.failure("reused-id")
def test_an_event_that_comes_after_the_deletion_creates_nothing(store: Store, process: Process) -> None:
    """The event is late or repeated, with or without a key: 404, and Lambda does not retry."""
    once = {"conversationId": ROOT, **PLAIN, "idempotencyKey": KEY}
    events: list[dict[str, Any]] = [
        {"operation": "appendEntry", "caller": {"userId": "ann"}, "input": given}
        for given in (once, {"conversationId": ROOT, **PLAIN})
    ]
    with functions_on(store) as template:
        direct = Direct(template)
        assert direct.send({"detail-type": "x", "source": "y", "detail": events[0]})["status"] == 201
        assert process.ask("deleteConversation", ANN, conversationId=ROOT).status == 204
        before = store.contents()
        for event in events:
            for sent in ({"detail-type": "x", "source": "y", "detail": event}, {**event, "async": True}):
                assert direct.send(sent)["status"] == 404
        assert store.contents() == before
