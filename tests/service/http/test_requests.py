"""Single requests over HTTP: health, request ids, and answers that were wrong in the past."""

from itertools import pairwise
from uuid import uuid4

import pytest

from tests.service.http.client import Json, Service
from tests.service.http.story import Story, entry
from tests.service.model.asking import Caller
from tests.support.machine_clock import MachineClock
from tests.support.processes import API_KEYS, local_servers


@pytest.fixture
def story(service: Service) -> Story:
    return Story(service)


@pytest.fixture
def stranger(service: Service) -> Caller:
    return Caller(service.new_user(), "planner")


def test_health_needs_no_credentials(service: Service) -> None:
    assert service.get(None, "checkHealth") == {"status": "ok"}


def test_a_request_keeps_the_id_that_it_came_with(service: Service) -> None:
    answer = service.ask(None, "checkHealth", headers={"X-Request-Id": "mine-1"})

    assert answer.headers["X-Request-Id"] == "mine-1"


def test_without_credentials_everything_else_is_401(service: Service) -> None:
    for name in ("createConversation", "listConversations", "getConversation", "appendEntry", "listForks"):
        conversation_id = (
            None if name.endswith("Conversation") and name != "getConversation" else str(uuid4())
        )
        answer = service.ask(None, name, conversation_id, body={} if name == "appendEntry" else None)
        assert (answer.status, answer.body["code"]) == (401, "unauthorized")


def test_a_replay_is_answered_as_before_although_its_epoch_is_no_longer_the_latest(story: Story) -> None:
    conversation = story.tell("A")
    key = {"Idempotency-Key": "once"}
    body = entry("(B)") | {"epoch": 1}
    first = story.service.get(story.agent, "appendEntry", conversation, body=body, headers=key)
    story.service.get(story.agent, "appendEntry", conversation, body=entry("(C)") | {"epoch": 2})

    replay = story.service.ask(story.agent, "appendEntry", conversation, body=body, headers=key)
    other = story.service.ask(story.agent, "appendEntry", conversation, body=entry("(D)"), headers=key)

    assert (replay.status, replay.body) == (201, first)
    assert other.status == 422


def test_a_replay_is_answered_as_before_although_its_if_match_is_no_longer_the_head(story: Story) -> None:
    conversation = story.tell("A")
    headers = {"Idempotency-Key": "once", "If-Match": f'"{story.ids["A"]}"'}
    first = story.service.get(story.agent, "appendEntry", conversation, body=entry("B"), headers=headers)

    replay = story.service.ask(story.agent, "appendEntry", conversation, body=entry("B"), headers=headers)

    assert (replay.status, replay.body) == (201, first)


@pytest.mark.parametrize("what", ["If-Match", "epoch"])
def test_a_stranger_whose_append_would_conflict_gets_403_and_no_details(
    story: Story, stranger: Caller, what: str
) -> None:
    conversation = story.tell("A")
    story.service.get(story.agent, "appendEntry", conversation, body=entry("(B)") | {"epoch": 3})
    body, headers = entry("C"), {}
    if what == "epoch":
        body = entry("(C)") | {"epoch": 1}
    else:
        headers = {"If-Match": f'"{uuid4()}"'}

    answer = story.service.ask(stranger, "appendEntry", conversation, body=body, headers=headers)

    assert (answer.status, answer.body["code"]) == (403, "forbidden")
    assert story.ids["A"] not in str(answer.body)
    assert "latestEpoch" not in answer.body["details"]


@pytest.mark.parametrize("is_inherited", [False, True], ids=["its own first entry", "an inherited one"])
def test_a_fork_at_the_head_of_a_conversation_that_shows_nothing_is_blank(
    story: Story, is_inherited: bool
) -> None:
    source = story.tell("A B")
    if is_inherited:
        source = story.fork(source, atEntryId=story.ids["B"])
    empty = story.fork(source, atEntryId=story.ids["A"])
    assert story.shown(empty) == ""

    made = story.service.get(story.agent, "forkConversation", empty, body={})

    assert made["forkedAtPosition"] == "blank"
    assert "forkedAtEntryId" not in made


ODD_IDS = ["", "nonsense", "x" * 1000, "ffffffff-ffff-7fff-bfff-ffffffffffff", str(uuid4())]


@pytest.mark.parametrize("odd", ODD_IDS, ids=["empty", "text", "long", "year 10889", "version 4"])
def test_a_fork_at_an_id_that_no_entry_can_have_is_404(story: Story, odd: str) -> None:
    root = story.tell("A")
    anchored = {"forkedAtConversationId": root, "forkedAtEntryId": odd}

    assert story.service.ask(story.agent, "forkConversation", root, body={"atEntryId": odd}).status == 404
    answer = story.service.ask(story.agent, "appendEntry", str(uuid4()), body=entry("B") | anchored)
    assert answer.status == 404


@pytest.mark.parametrize("odd", ODD_IDS, ids=["empty", "text", "long", "year 10889", "version 4"])
def test_a_fork_of_an_id_that_no_conversation_has_is_404(story: Story, odd: str) -> None:
    body = entry("A") | {"forkedAtConversationId": odd}

    assert story.service.ask(story.agent, "appendEntry", str(uuid4()), body=body).status == 404


def test_the_latest_epoch_of_the_tree_up_to_an_entry_is_the_latest_one_at_that_entry(story: Story) -> None:
    root = story.tell("A (B)")
    story.service.get(story.agent, "appendEntry", root, body=entry("(C)") | {"epoch": 2})

    assert story.shown(root, channel="context", allForks=True, upToEntryId=story.ids["B"]) == "B"


def test_updated_at_never_goes_back_whichever_server_changes_a_conversation(
    own_endpoint: str, new_table: str
) -> None:
    clocks = [MachineClock(shift, sees_date=False) for shift in (5, -5)]
    with (
        local_servers(clocks, endpoint=own_endpoint, table=new_table) as (early, late),
        Service(early, keys=API_KEYS) as fast,
        Service(late, keys=API_KEYS) as slow,
    ):
        caller = Caller(fast.new_user())
        shown: list[Json] = [fast.get(caller, "createConversation", body={})]
        conversation: str = shown[0]["id"]
        for service, name, body in [
            (slow, "appendEntry", entry("A")),
            (fast, "updateConversation", {"title": "B"}),
            (slow, "appendEntry", entry("C")),
            (slow, "updateConversation", {"title": "D"}),
        ]:
            service.get(caller, name, conversation, body=body)
            shown.append(service.get(caller, "getConversation", conversation))

    times = [one["updatedAt"] for one in shown]
    assert times[0] == shown[0]["createdAt"]
    assert all(before <= after for before, after in pairwise(times)), times
