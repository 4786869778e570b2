"""Requests with two mistakes: the error is the first in the order of checks.

The order is: credentials, form, existence, membership, level, then the rest. More about the rest is
in tests/service/usecases/shared/test_refusals.py.
"""

import pytest

from forklore_service.api import operations
from forklore_service.api.operation import Service
from forklore_service.aws.wiring import open_queue, open_table
from forklore_service.domain.model import Caller
from forklore_service.errors import NotFoundError
from tests.service.aws.errors import (
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    UNAUTHORIZED,
    WRONG_TYPE,
    assert_refused,
    bad,
)
from tests.service.aws.world import (
    FORK,
    FRESH,
    NOTED,
    PLAIN,
    ROOT,
    SAID,
    Ask,
    World,
    append,
    change,
    conversations,
    create,
    entries,
    fork,
    forks,
    show,
)

SURELY_WRONG = '"00000000-0000-7000-8000-000000000001"'
"""An If-Match with a valid entry id that no entry has."""


WRONG_MATCH = [("If-Match", SURELY_WRONG)]
BROKEN = {"contentType": "x"}
STRANGER = {"user": "bob"}
READER = {"user": "rita"}
WRITER = {"user": "will"}

TWO_THINGS_WRONG = [
    # credentials before all
    bad("no user, a bad field", create({"name": "x"}, user=None), UNAUTHORIZED),
    bad("no user, a bad limit", conversations("limit=0", user=None), UNAUTHORIZED),
    bad("no user, a bad cursor", entries("afterCursor=x", user=None), UNAUTHORIZED),
    bad("no user, a bad body", create("[", user=None), UNAUTHORIZED),
    bad(
        "no user, a bad type", create("{}", headers=[("Content-Type", "text/plain")], user=None), UNAUTHORIZED
    ),
    bad("no user, an unknown conversation", show(FRESH, user=None), UNAUTHORIZED),
    bad("no user, text that is not an id", show("x", user=None), UNAUTHORIZED),
    bad("no user, a quote in an id", show("a%22b", user=None), UNAUTHORIZED),
    bad("no user, an append to text that is not an id", append(PLAIN, to="x", user=None), UNAUTHORIZED),
    bad(
        "no user, a bad Idempotency-Key",
        append(PLAIN, headers=[("Idempotency-Key", "")], user=None),
        UNAUTHORIZED,
    ),
    bad("a key without a user, no conversation", show(FRESH, user=None, agent="planner"), UNAUTHORIZED),
    # form before existence
    bad("an unknown conversation, a bad limit", entries("limit=0", of=FRESH)),
    bad("an unknown conversation, a bad field", change({"name": "x"}, of=FRESH)),
    bad("an unknown conversation, an unknown parameter", show(FRESH, query="x=1")),
    bad("text that is not an id, a bad body", change("[", of="x")),
    bad(
        "an unknown conversation, a bad type",
        fork("{}", of=FRESH, headers=[("Content-Type", "text/plain")]),
        WRONG_TYPE,
    ),
    bad("an unknown conversation, a bad If-Match", append(PLAIN, to=FRESH, headers=[("If-Match", "*")])),
    bad("an unknown conversation, a bad history", append({**SAID, "content": []}, to=FRESH)),
    bad("an unknown conversation, another's userId", append({**PLAIN, "userId": "bob"}, to=FRESH)),
    # form before membership and level
    bad("a stranger's bad limit", entries("limit=0", **STRANGER)),
    bad("a stranger's bad field", change({"name": "x"}, **STRANGER)),
    bad("a stranger's bad entry", append(BROKEN, **STRANGER)),
    bad("a stranger's bad history", append({**SAID, "content": []}, **STRANGER)),
    bad("a stranger's bad userId", append({**PLAIN, "userId": "ann"}, **STRANGER)),
    bad("a stranger's bad Idempotency-Key", append(PLAIN, headers=[("Idempotency-Key", "")], **STRANGER)),
    bad("a reader's bad field", change({"name": "x"}, **READER)),
    bad("a reader's bad fork", fork({"position": "blank"}, **READER)),
    # existence before membership and everything after it
    bad(
        "an unknown conversation, a cursor of another", entries("afterCursor=<foreign>", of=FRESH), NOT_FOUND
    ),
    bad("an unknown conversation, text that is not a cursor", entries("afterCursor=x", of=FRESH), NOT_FOUND),
    bad("an unknown conversation, its context", entries("channel=context", of=FRESH), NOT_FOUND),
    bad("an unknown conversation, a stranger", show(FRESH, **STRANGER), NOT_FOUND),
    bad("an unknown conversation, an unknown entry", fork({"atEntryId": FRESH}, of=FRESH), NOT_FOUND),
    bad("an unknown conversation, a fork with an id in use", fork({"id": FORK}, of=FRESH), NOT_FOUND),
    bad(
        "an unknown conversation, a fork with a wrong If-Match",
        fork({}, of=FRESH, headers=WRONG_MATCH),
        NOT_FOUND,
    ),
    # membership before everything after it
    bad("a stranger's bad cursor", entries("afterCursor=<foreign>", **STRANGER), FORBIDDEN),
    bad("a stranger's text that is not a cursor", entries("upToEntryId=x", **STRANGER), FORBIDDEN),
    bad("a stranger's cursor of forks", forks("afterCursor=<forks>", **STRANGER), FORBIDDEN),
    bad("a stranger's entry", entries("afterCursor=<first>", **STRANGER), FORBIDDEN),
    bad("a stranger's fork at an unknown entry", fork({"atEntryId": "<foreign>"}, **STRANGER), FORBIDDEN),
    bad("a stranger's fork with an id in use", fork({"id": FORK}, **STRANGER), FORBIDDEN),
    bad("a stranger's fork with a wrong If-Match", fork({}, headers=WRONG_MATCH, **STRANGER), FORBIDDEN),
    # level before everything after it
    bad("a reader's fork at an unknown entry", fork({"atEntryId": "<foreign>"}, **READER), FORBIDDEN),
    bad("a reader's fork with an id in use", fork({"id": FORK}, **READER), FORBIDDEN),
    # then the rest
    bad("a writer's wrong If-Match", append(PLAIN, headers=WRONG_MATCH, **WRITER), CONFLICT),
    bad("a writer's fork at an unknown entry", fork({"atEntryId": "<foreign>"}, **WRITER), NOT_FOUND),
    bad("a writer's older epoch", append({**NOTED, "epoch": 4}, agent="planner", **WRITER), CONFLICT),
]


THE_REST_OF_AN_APPEND = [
    bad("a stranger's wrong If-Match", append(PLAIN, headers=WRONG_MATCH, **STRANGER), FORBIDDEN),
    bad(
        "a stranger's older epoch",
        append({**NOTED, "epoch": 4}, agent="planner", **STRANGER),
        FORBIDDEN,
    ),
    bad("a reader's wrong If-Match", append(PLAIN, headers=WRONG_MATCH, **READER), FORBIDDEN),
    bad(
        "a reader's older epoch",
        append({**NOTED, "epoch": 4}, agent="planner", **READER),
        FORBIDDEN,
    ),
]


@pytest.fixture
def cold() -> None:
    """A process with an empty cache."""
    open_table.cache_clear()


@pytest.fixture
def warm(open_world: World) -> None:
    """A process that has the conversation in its cache."""
    open_world.send(append({**NOTED, "epoch": 5}, agent="planner"))


@pytest.mark.parametrize(("ask", "expected"), [*TWO_THINGS_WRONG, *THE_REST_OF_AN_APPEND])
def test_of_two_mistakes_the_error_names_the_first_in_the_order_of_checks(
    cold: None, world: World, ask: Ask, expected: tuple[int, str]
) -> None:
    assert_refused(world.send(ask), expected)


@pytest.mark.parametrize(("ask", "expected"), THE_REST_OF_AN_APPEND)
def test_the_order_of_checks_is_the_same_for_a_cached_conversation(
    warm: None, world: World, ask: Ask, expected: tuple[int, str]
) -> None:
    answer = world.send(ask)

    assert_refused(answer, expected)
    assert set(answer.json["details"]) == {"message"}


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        bad("an unknown conversation", forks("afterCursor=<forks>", of=FRESH), NOT_FOUND),
        bad("a stranger's", forks("afterCursor=<forks of fork>", **STRANGER), FORBIDDEN),
    ],
)
def test_the_list_of_a_cursor_is_checked_after_existence_and_membership(
    world: World, ask: Ask, expected: tuple[int, str]
) -> None:
    assert_refused(world.send(ask), expected)


def test_a_stranger_does_not_learn_that_a_tree_is_full(warm: None, world: World) -> None:
    known = open_table().cache
    known.mark_full(ROOT)
    try:
        assert_refused(world.send(append(PLAIN, **STRANGER)), FORBIDDEN)
    finally:
        open_table.cache_clear()


@pytest.mark.parametrize("name", ["updateMembership", "removeMembership"])
@pytest.mark.parametrize("user", ["x" * 256, "x" * 5_000, "😀" * 64, "", " ", "\x00", "\ud800"])
def test_a_member_whose_user_id_is_invalid_is_not_found(world: World, name: str, user: str) -> None:
    """DynamoDB would refuse some of these ids as a key. The emulator does not."""
    [operation] = [one for one in operations.ALL if one.name == name]
    path, query, body = {"conversationId": ROOT}, {"userId": user}, {"accessLevel": "reader"}
    service = Service(open_table(), open_queue())

    with pytest.raises(NotFoundError):
        operation(service, caller=Caller("ann"), path=path, query=query, body=body if operation.body else {})
