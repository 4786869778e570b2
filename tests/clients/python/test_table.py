"""Every operation over three transports, with and without `await`: the same answers and errors."""

from typing import Any

import pytest

from forklore.client.calls import RawAnswer
from forklore_service.api import operations
from tests.clients.python.ways import WAYS, Refused, Way, opened, tidy
from tests.service.aws.story import tell
from tests.service.aws.test_both_ways import by_http
from tools.catalogue import STORY, Step
from tools.harness.gateway import Gateway, table_in_memory

ARGUMENTS = {"Idempotency-Key": "idempotency_key", "If-Match": "if_match"}
"""What the client calls the fields that errors name after their headers."""
NUMBERS = "[0.1234567890123456789,1180591620717411303424,12345678901234567890.5,1.5,-0.0,0.1]"


@pytest.fixture(scope="module")
def told() -> list[tuple[Step, int, Any]]:
    """The story as the functions answer it to HTTP requests, without any client."""
    with table_in_memory() as template:
        gateway = Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")
        ask = by_http(gateway)

        def sorted_ask(step: Step) -> tuple[int, Any]:
            status, body = ask(step)
            return status, tidy(body)

        return tell(sorted_ask)


def test_the_story_uses_every_operation_well(told: list[tuple[Step, int, Any]]) -> None:
    names = {operation.name for operation in operations.ALL}

    assert {step.operation for step, status, _ in told if status < 400} == names


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_every_operation_answers_the_same(
    told: list[tuple[Step, int, Any]], transport: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(transport, mode, monkeypatch) as way:

        def ask(step: Step) -> tuple[int, Any]:
            status, body = way.ask(step)
            return status, body if isinstance(body, Refused) else tidy(body)

        answers = tell(ask)
        numbers_survive(way)

    assert len(answers) == len(told) == len(STORY)
    assert any(isinstance(body, Refused) for _, _, body in answers)
    for (step, status, body), (_, expected, said) in zip(answers, told, strict=True):
        if isinstance(body, Refused):
            if expected == 404:  # the service calls what cannot be an id unknown
                assert body.field == "conversationId", step
                continue
            assert expected == 400, step
            field = said["details"]["field"]
            assert body.field == ARGUMENTS.get(field, field), step
        else:
            assert (status if status >= 300 else expected, body) == (expected, said), step


def numbers_survive(way: Way) -> None:
    """Append numbers that no float holds, alone and with others, and read them."""
    client = way.client()
    content = RawAnswer(200, NUMBERS).value()
    chat = client.conversation()
    one = way.run(lambda: chat.append(content, content_type="numbers"))
    entries = [
        {"contentType": "numbers", "content": content},
        {"contentType": "numbers", "content": [content]},
    ]
    several = way.run(lambda: chat.append_all(entries))
    listed = way.run(lambda: chat.entries().list())
    agent = way.client(agent="planner")
    memory = agent.conversation(chat.id).context
    way.run(lambda: memory.sync(content))

    for entry in (one, several[0], *listed[:2], way.run(lambda: chat.entry(one.id))):
        assert repr(entry.content) == repr(content)
    assert repr(several[1].content) == repr([content])
    assert repr(way.run(memory.latest)) == repr(content)
