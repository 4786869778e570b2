"""The limit of a user's requests in a minute, as callers meet it."""

import itertools
import time
from collections.abc import Callable, Iterator

import pytest

from forklore_service.aws.direct import AgainError
from forklore_service.aws.limiting import limiter
from forklore_service.aws.wiring import ServiceSettings, open_table
from forklore_service.domain.rate import UNCOUNTED_MAX, WINDOW_SECONDS, window_of
from tests.service.aws.direct import Direct
from tests.service.aws.world import PLAIN, ROOT, Ask, World, append, show
from tests.support.lines import Lines
from tests.support.tables import Standing
from tools.harness.gateway import Gateway, stored

SETTING = "FORKLORE_USER_REQUESTS_PER_MINUTE"
_minutes = itertools.count()


@pytest.fixture
def limited(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Set the limit of this process's functions, in a minute of its own that does not pass."""
    limiter.cache_clear()
    minute_s = window_of(int(time.time())) + WINDOW_SECONDS * next(_minutes)
    monkeypatch.setattr(open_table().connection, "clock", Standing(minute_s))
    yield lambda per_minute: monkeypatch.setenv(SETTING, str(per_minute))
    limiter.cache_clear()


def test_the_last_request_of_the_limit_passes_and_the_next_is_refused_until_the_minute_ends(
    open_world: World, limited: Callable[[int], None], lines: Lines
) -> None:
    limited(3)

    answers = [open_world.send(show(ROOT, user="bob")) for _ in range(4)]

    assert [answer.status for answer in answers[:3]] == [403] * 3  # A refusal is a request, too.
    refused = answers[3]
    left_s = int(refused.headers["retry-after"])
    assert (refused.status, refused.json["code"]) == (429, "too_many_requests")
    assert refused.json["error"] == "Too Many Requests"
    assert refused.json["details"]["retryAfterSeconds"] == left_s == WINDOW_SECONDS
    line = lines.named("request")[-1]
    assert (line["status"], line["code"], line["DynamoDBCalls"]) == ("429", "too_many_requests", 0)


def test_other_users_and_administration_and_health_are_not_refused(
    open_world: World, limited: Callable[[int], None]
) -> None:
    limited(1)
    assert [open_world.send(show(ROOT)).status for _ in range(2)] == [200, 429]

    assert open_world.send(show(ROOT, user="bob")).status == 403
    for _ in range(3):
        assert open_world.send(Ask("GET", "/v1/health")).status == 200
        assert open_world.send(Ask("GET", "/v1/admin/conversations")).status == 403


def test_requests_of_a_user_and_of_their_agents_are_counted_together(
    gateway: Gateway, open_world: World, limited: Callable[[int], None]
) -> None:
    limited(2)
    direct = Direct(gateway.template)

    assert open_world.send(show(ROOT)).status == 200
    assert direct.ask("listConversations", {}, agent="planner")["status"] == 200
    refused = direct.ask("listConversations", {}, agent="coder")
    assert (refused["status"], refused["body"]["code"]) == (429, "too_many_requests")
    assert 1 <= refused["body"]["details"]["retryAfterSeconds"] <= WINDOW_SECONDS
    listed = {"operation": "listConversations", "caller": {"userId": "ann"}, "input": {}}
    with pytest.raises(AgainError, match="429 too_many_requests"):  # Lambda tries it again later.
        direct.send({**listed, "async": True})


def test_without_a_limit_nothing_is_counted(open_world: World) -> None:
    def counts() -> list[str]:
        return [item for item in stored() if "RATE#" in item]

    before = counts()
    for _ in range(2 * UNCOUNTED_MAX):
        assert open_world.send(append(PLAIN)).status == 201
    assert counts() == before


@pytest.mark.parametrize("value", ["-1", "1.5", "many", "1_0", "²", "9999999999"])
def test_a_wrong_limit_says_what_to_set(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FORKLORE_TABLE", "t")
    monkeypatch.setenv(SETTING, value)

    with pytest.raises(RuntimeError, match=SETTING):
        ServiceSettings.from_environment()


@pytest.mark.parametrize(("value", "limit"), [(None, 0), ("", 0), ("0", 0), ("600", 600)])
def test_the_limit_is_a_whole_number(monkeypatch: pytest.MonkeyPatch, value: str | None, limit: int) -> None:
    monkeypatch.setenv("FORKLORE_TABLE", "t")
    monkeypatch.delenv(SETTING, raising=False)
    if value is not None:
        monkeypatch.setenv(SETTING, value)

    assert ServiceSettings.from_environment().user_requests_per_minute == limit
