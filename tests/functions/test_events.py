"""Each function answers the events of its routes, and the events in files are like those."""

import json

import pytest

from tools.harness.gateway import Answer
from tools.harness.sample_events import EVENTS, MOMENT, ROUTES, gateway


@pytest.mark.parametrize("name", ROUTES)
def test_a_function_answers_the_event_of_a_route_with_its_status_and_result(
    told: dict[str, Answer], name: str
) -> None:
    answer = told[name]

    result = ROUTES[name].result
    if result is None:
        assert answer.text == ""
    else:
        result.model_validate_json(answer.text, strict=True)


@pytest.mark.parametrize("name", ["getConversation", "appendEntry", "forkConversation"])
def test_the_event_in_a_file_is_what_the_local_server_makes_of_its_request(name: str) -> None:
    event = json.loads((EVENTS / f"{name}.json").read_text())
    http = event["requestContext"]["http"]
    _, made = gateway().event(
        http["method"],
        event["rawPath"],
        query=event["rawQueryString"],
        body=event.get("body", "").encode(),
        headers=[(name, text) for name, text in event["headers"].items() if "forwarded" not in name],
    )
    moment = {part: event["requestContext"][part] for part in MOMENT}

    assert event == made | {"requestContext": made["requestContext"] | moment}
