"""What tells a watcher whether an answer is another one, and when to ask again."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from forklore_service.api import operations
from forklore_service.api.responses import Response
from forklore_service.api.watching import watched
from forklore_service.domain.jsontext import to_json
from tests.service.aws.direct import Direct
from tests.service.aws.story import tell
from tests.service.aws.world import ROOT, SAID, Ask, World, append, entries, memberships, share, show
from tools.catalogue import PHOTO, Step
from tools.harness.gateway import Answer, Gateway, table_in_memory
from tools.harness.sample_events import request_of

BY_NAME = {operation.name: operation for operation in operations.ALL}
WATCHED = {operation.name for operation in operations.ALL if "wait" in operation.query_names}
AT_ONCE_SECONDS = 2
"""A tenth of what the requests ask to wait for."""


@pytest.fixture
def world() -> Iterator[World]:
    with table_in_memory() as template:
        yield World(Gateway(template))


def tag_of(answer: Answer) -> str:
    assert answer.status == 200, answer.text
    return answer.headers["etag"]


def known(*tags: str) -> list[tuple[str, str]]:
    return [("If-None-Match", ", ".join(tags))]


def test_each_read_is_304_to_who_has_its_answer_and_no_lambda_waits() -> None:
    """The story has each operation, and each list with every filter."""
    asked = set[str]()
    with table_in_memory() as template:
        gateway = Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")

        def ask(step: Step) -> tuple[int, Any]:
            operation = BY_NAME[step.operation]
            answer = gateway.send(**request_of(operation, step.given), user=step.user, agent=step.agent)
            has_tag = operation.takes_if_none_match and answer.status == 200
            assert ("etag" in answer.headers) == ("forklore-ask-again-ms" in answer.headers) == has_tag
            if has_tag:
                waiting = {"wait": "20"} if operation.name in WATCHED else {}
                request = request_of(operation, {**step.given, **waiting})
                request["headers"] = known(answer.headers["etag"])
                begun = time.monotonic()
                same = gateway.send(**request, user=step.user, agent=step.agent)
                assert time.monotonic() - begun < AT_ONCE_SECONDS
                if same.status == 200 and "urlExpiresAt" in same.text:  # a link's end moves on in steps
                    answer, request["headers"] = same, known(same.headers["etag"])
                    same = gateway.send(**request, user=step.user, agent=step.agent)
                assert (same.status, same.text) == (304, ""), step
                assert same.headers["etag"] == answer.headers["etag"]
                pace = "forklore-ask-again-ms"
                assert same.headers[pace] == answer.headers[pace]
                asked.add(operation.name)
            return answer.status, json.loads(answer.text) if answer.text else None

        tell(ask)
    assert asked == {one.name for one in operations.ALL if one.method == "GET" and not one.is_public}
    assert asked > WATCHED


def test_a_tag_tells_whether_a_list_goes_on_and_not_where() -> None:
    """A cursor of a list by last use holds the time of its walk."""

    def tag(cursor: str | None) -> str | None:
        fields = {"data": [{"title": "after"}], "afterCursor": cursor}
        return watched(Response(200, to_json(fields)), fields, None).tag

    assert tag("at nine") == tag("at ten")
    assert tag("at ten") != tag(None)


def test_what_is_spelled_like_the_cursor_counts() -> None:
    def tag(*held: dict[str, str]) -> str | None:
        fields = {"data": [{"metadata": one} for one in held], "afterCursor": "at nine"}
        return watched(Response(200, to_json(fields)), fields, None).tag

    like = {"afterCursor": "at nine"}
    assert tag(like) != tag({})
    assert tag(like, {}) != tag({}, like)


@pytest.mark.parametrize("operation", sorted(WATCHED - {"getAnswer", "adminGetAnswer"}))
def test_a_direct_invocation_with_wait_is_answered_at_once_and_says_when_to_ask_again(operation: str) -> None:
    """It has no headers, so it takes no If-None-Match either."""
    given = {"conversationId": ROOT, "name": "trip", "userId": "ann", "wait": 20}
    names = {*BY_NAME[operation].path_names, *BY_NAME[operation].query_names}
    with table_in_memory() as template, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORKLORE_DIRECT_ROLES", "allowed")
        World(Gateway(template))
        direct = Direct(template)
        direct.ask("setName", {"name": "trip", "conversationId": ROOT})
        if "answerId" in names:
            given["answerId"] = direct.ask("beginAnswer", {"conversationId": ROOT})["body"]["id"]
        own = {name: held for name, held in given.items() if name in names}
        caller = {"userId": "ann", "roles": ["admin"] if BY_NAME[operation].role else []}
        begun = time.monotonic()
        answer = direct.send({"operation": operation, "caller": caller, "input": own})
        assert time.monotonic() - begun < AT_ONCE_SECONDS
        pace_ms = 1000 if "answerId" in names else 3000  # nothing is written to the answer
        assert (answer["status"], answer["askAgainMs"]) == (200, pace_ms)
        del own["wait"]
        without = direct.send({"operation": operation, "caller": caller, "input": own})
        assert without == {"status": 200, "body": answer["body"]}


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("{}", 304),
        ("W/{}", 304),
        ('"another", {}', 304),
        ("*", 304),
        ('"another"', 200),
        ("", 200),
        ("no tag", 200),
    ],
)
def test_the_header_is_a_tag_a_weak_one_a_list_or_a_star(world: World, header: str, status: int) -> None:
    tag = tag_of(world.send(entries()))

    assert world.send(entries(headers=known(header.format(tag)))).status == status


def test_the_tag_of_a_redirect_is_that_of_the_bytes(world: World) -> None:
    photo = world.send(Ask("POST", "/v1/attachments", PHOTO)).json
    content = Ask("GET", f"/v1/attachments/{photo['id']}/content")
    led = world.send(content)
    assert (led.status, led.headers["location"], led.json["url"]) == (302, photo["url"], photo["url"])
    assert led.headers["etag"] == f'"{PHOTO["sha256"]}"'

    same = world.send(replace(content, headers=known(led.headers["etag"])))
    assert (same.status, same.text, "location" in same.headers) == (304, "", False)
    assert world.send(replace(content, user="bob", headers=known("*"))).status == 404
    said = {name: held for name, held in PHOTO.items() if name != "content"} | {"contentType": "image/gif"}
    pending = world.send(Ask("POST", "/v1/attachments", said)).json["id"]
    assert world.send(Ask("GET", f"/v1/attachments/{pending}/content")).status == 404


def test_a_tag_is_of_what_the_caller_sees(world: World) -> None:
    world.send(share({"userId": "bob", "accessLevel": "reader"}))
    owner, reader = (tag_of(world.send(show(ROOT, user=user))) for user in ("ann", "bob"))
    assert owner != reader, "each is told the own level"
    assert tag_of(world.send(entries(user="ann"))) == tag_of(world.send(entries(user="bob")))
    before = tag_of(world.send(entries()))
    world.send(append(SAID))
    assert world.send(entries(headers=known(before))).status == 200


def test_who_has_lost_access_is_refused_and_not_told_that_nothing_is_new(world: World) -> None:
    world.send(share({"userId": "bob", "accessLevel": "reader"}))
    tag = tag_of(world.send(entries(user="bob")))
    removed = Ask("DELETE", memberships().path, query="userId=bob")
    assert world.send(removed).status == 200

    refused = world.send(entries(user="bob", headers=known(tag)))
    assert (refused.status, "etag" in refused.headers) == (403, False)


def test_a_cursor_does_not_depend_on_wait(world: World) -> None:
    page = world.send(Ask("GET", f"/v1/conversations/{ROOT}/forks", query="limit=1"))
    next_page = f"limit=1&wait=1&afterCursor={page.json['afterCursor']}"

    assert world.send(Ask("GET", f"/v1/conversations/{ROOT}/forks", query=next_page)).status == 200


def test_the_pace_is_that_of_the_answer_in_progress(world: World) -> None:
    def pace(ask: Ask) -> int:
        answer = world.send(ask)
        assert answer.status == 200, answer.text
        return int(answer.headers["forklore-ask-again-ms"])

    assert pace(entries()) == 3000
    answers = f"/v1/conversations/{ROOT}/answers"
    one = f"{answers}/{world.send(Ask('POST', answers)).json['id']}"
    assert (pace(entries()), pace(show(ROOT)), pace(Ask("GET", one))) == (1000, 1000, 1000)
    world.send(Ask("POST", f"{one}/parts", {"after": 0, "content": ["a part"]}))
    assert (pace(Ask("GET", one)), pace(Ask("GET", one, query="after=1&wait=20"))) == (400, 1000)
    assert world.send(Ask("DELETE", one)).status == 204
    assert (pace(Ask("GET", one)), pace(entries())) == (3000, 3000)
