"""Links for readers as HTTP has them: without credentials, without traces, with a limit."""

import itertools
import json
from collections.abc import Iterator

import pytest

from forklore_service.aws.limiting import limiter
from forklore_service.limits import LINK_REQUESTS_PER_MINUTE
from tests.service.aws.world import FORK, NOTED, ROOT, SAID, Ask, World, append
from tests.support.lines import Lines
from tools.harness.gateway import Answer

UNKNOWN = "A" * 43
LINKS = f"/v1/conversations/{ROOT}/links"


@pytest.fixture
def secret(open_world: World) -> str:
    """The secret of a link to the root, which has context, too."""
    open_world.send(append({**NOTED, "content": ["a plan"]}, agent="planner"))
    return str(made(open_world)["secret"])


@pytest.fixture(autouse=True)
def _no_requests_yet() -> Iterator[None]:
    limiter.cache_clear()
    yield
    limiter.cache_clear()


def made(world: World, **given: object) -> dict[str, str]:
    answer = world.send(Ask("POST", LINKS, dict(given)))
    assert answer.status == 201, answer.text
    link: dict[str, str] = answer.json
    return link


def get(world: World, secret: str, rest: str = "", query: str = "") -> Answer:
    return world.send(Ask("GET", f"/v1/links/{secret}{rest}", query=query, user=None))


def test_who_has_the_secret_reads_without_credentials_and_sees_nothing_of_people(
    open_world: World, secret: str
) -> None:
    opened, page = get(open_world, secret), get(open_world, secret, "/entries", "limit=200")

    assert opened.json.keys() == {"conversationId", "title", "allForks", "endsAt"}
    assert page.status == 200
    assert page.json["data"]
    for entry in page.json["data"]:
        assert entry.keys() <= {"id", "createdAt", "agentId", "contentType", "content", "attachments"}
    assert "a plan" not in page.text
    assert "ann" not in json.dumps([entry | {"content": []} for entry in page.json["data"]])
    shown = get(open_world, str(made(open_world, userIds=True)["secret"]), "/entries")
    assert {entry["userId"] for entry in shown.json["data"]} == {"ann"}


def test_an_empty_id_of_a_branch_is_the_one_that_the_link_leads_to(open_world: World, secret: str) -> None:
    for rest in ("", "/entries"):
        assert get(open_world, secret, rest, "conversationId=").json == get(open_world, secret, rest).json


def test_who_repeats_the_request_with_its_key_gets_the_same_secret(open_world: World) -> None:
    def ask(key: str, **given: object) -> Answer:
        return open_world.send(Ask("POST", LINKS, dict(given), headers=(("Idempotency-Key", key),)))

    already = len(open_world.send(Ask("GET", LINKS)).json["data"])
    first, again, other = ask("one"), ask("one"), ask("two")

    assert first.status == again.status == other.status == 201
    assert first.text == again.text
    assert get(open_world, first.json["secret"]).status == 200
    assert other.json["secret"] != first.json["secret"]
    listed = open_world.send(Ask("GET", LINKS)).json["data"]
    assert [link["id"] for link in listed].count(first.json["id"]) == 1
    assert len(listed) == already + 2
    assert ask("one", days=8).status == 422


def test_no_browser_and_no_crawler_keeps_or_passes_on_the_address(open_world: World, secret: str) -> None:
    answers = [get(open_world, one, rest) for one in (secret, UNKNOWN) for rest in ("", "/entries")]

    for answer in answers:
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-robots-tag"] == "noindex, nofollow"
        assert "etag" not in answer.headers


def test_every_reason_to_refuse_a_secret_is_one_answer(open_world: World, secret: str) -> None:
    ended = made(open_world)
    assert open_world.send(Ask("DELETE", f"{LINKS}/{ended['id']}")).status == 204
    of_branch = made(open_world, upToEntryId="<first>")
    shown = {"x", "%20", UNKNOWN, secret[:-1], ended["secret"]}
    refused = [get(open_world, one, rest) for one in sorted(shown) for rest in ("", "/entries")]
    refused.append(get(open_world, of_branch["secret"], "/entries", f"conversationId={FORK}"))
    refused.append(get(open_world, of_branch["secret"], "/entries", "conversationId=x"))

    assert {answer.status for answer in refused} == {404}
    assert len({json.dumps(answer.json | {"requestId": ""}) for answer in refused}) == 1


def test_what_is_not_shown_is_no_place_to_read_from(open_world: World, secret: str) -> None:
    later = open_world.send(append(SAID)).json["id"]
    noted = open_world.send(append({**NOTED, "content": ["more"]}, agent="planner")).json["id"]

    for place, name in itertools.product((later, noted, "x"), ("afterCursor", "beforeCursor")):
        answer = get(open_world, secret, "/entries", f"{name}={place}")
        assert (answer.status, answer.json["code"]) == (400, "invalid_cursor")
    for query in ("channel=context", "allForks=true", "upToEntryId=x", "alternatives=true", "epoch=all"):
        assert get(open_world, secret, "/entries", query).status == 400


def test_no_line_has_the_secret(open_world: World, secret: str, lines: Lines) -> None:
    get(open_world, secret)
    get(open_world, secret, "/entries")
    get(open_world, secret, "/entries", "afterCursor=x")
    open_world.send(Ask("POST", f"/v1/links/{secret}", {}, user=None))

    assert lines.texts
    assert secret not in "\n".join(lines.texts)


def test_a_link_has_a_limit_of_its_own(
    open_world: World, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore_service.aws.running.LINK_REQUESTS_PER_MINUTE", 3)
    assert LINK_REQUESTS_PER_MINUTE == 600

    assert [get(open_world, secret).status for _ in range(4)] == [200, 200, 200, 429]
    assert get(open_world, str(made(open_world)["secret"])).status == 200
    assert open_world.send(Ask("GET", f"/v1/conversations/{ROOT}")).status == 200
