"""Two requests with one Idempotency-Key are the same if they mean the same.

Different spellings of the same request do not matter.
"""

from typing import Any

import pytest

from tests.service.aws.world import NOTED, PLAIN, ROOT, SAID, Ask, World, append, create, fork, path_of, share
from tools.harness.gateway import Gateway

SYNC = {"contentType": "c", "content": ["a"]}


def sync(body: Any, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(ROOT)}/entries/sync", body, **more)


SPELLED = '{"contentType":"c","channel":"context","epoch":7,"content":[1]}'
SAME = {
    "a null": (create, {}, {"title": None, "tags": None}),
    "a null of an entry": (append, PLAIN, {**PLAIN, "usage": None, "agentId": None}),
    "a null in a batch": (append, {"entries": [PLAIN]}, {"entries": [{**PLAIN, "channel": None}]}),
    "the channel's case": (append, SAID, {**SAID, "channel": "HISTORY"}),
    "the channel's case, to sync": (sync, {**SYNC, "channel": "context"}, {**SYNC, "channel": "Context"}),
    "what a context is based on": (sync, SYNC, {**SYNC, "basedOnEntryId": "none"}),
    "an epoch's spelling": (append, SPELLED, SPELLED.replace("7", "7.0")),
    "the order of members": (create, {"title": "x", "agentId": "y"}, {"agentId": "y", "title": "x"}),
    "the order of tags": (create, {"tags": {"a": "1", "b": "2"}}, {"tags": {"b": "2", "a": "1"}}),
    "spaces around members": (append, SPELLED, SPELLED.replace(",", " ,\n")),
}
OTHER = {
    "a title": (create, {}, {"title": ""}),
    "the spelling of content": (append, SPELLED, SPELLED.replace("[1]", "[1.0]")),
    "an agent": (append, PLAIN, {**PLAIN, "agentId": "a"}),
    "one entry or a batch of one": (append, PLAIN, {"entries": [PLAIN]}),
    "a fork elsewhere": (fork, {"atEntryId": "<second>"}, {"atEntryId": "<first>"}),
    "a level": (share, {"userId": "x", "accessLevel": "reader"}, {"userId": "x", "accessLevel": "writer"}),
}
KEYS = iter(range(1_000))


def once(key: str, *more: tuple[str, str]) -> list[tuple[str, str]]:
    return [("Idempotency-Key", key), *more]


@pytest.mark.parametrize("case", SAME)
def test_another_spelling_of_a_request_is_a_replay(open_world: World, case: str) -> None:
    ask, body, again = SAME[case]
    key = once(f"same {next(KEYS)}")
    first, second = (open_world.send(ask(each, headers=key, agent="planner")) for each in (body, again))

    assert first.status in (200, 201), first.text
    assert (second.status, second.text) == (first.status, first.text)


@pytest.mark.parametrize("case", OTHER)
def test_another_request_under_the_same_key_is_refused(open_world: World, case: str) -> None:
    ask, body, another = OTHER[case]
    key = once(f"other {next(KEYS)}")
    by = {"agent": "planner"} if body is SPELLED else {}
    first, second = (open_world.send(ask(each, headers=key, **by)) for each in (body, another))

    assert first.status == 201, first.text
    assert (second.status, second.code) == (422, "idempotency_mismatch")


def test_if_match_is_a_part_of_the_request(gateway: Gateway, open_world: World) -> None:
    def send(number: int, *match: str) -> tuple[int, str]:
        headers = once(f"match {number}", *(("If-Match", f'"{one}"') for one in match))
        answer = open_world.send(append(SAID, headers=headers))
        return answer.status, answer.json.get("id", answer.json.get("code"))

    last = open_world.send(append(SAID)).json["id"]
    with_match, without = send(1, last), send(2)

    assert (with_match[0], without[0]) == (201, 201)
    assert send(1, last) == with_match
    assert send(2) == without
    assert send(1) == send(2, last) == send(1, ROOT) == (422, "idempotency_mismatch")


def test_a_request_that_if_match_refused_leaves_the_key_free(open_world: World) -> None:
    key = once("free", ("If-Match", f'"{ROOT}"'))

    assert open_world.send(append({**NOTED}, headers=key, agent="planner")).status == 409
    assert open_world.send(append(SAID, headers=once("free"))).status == 201
