"""The function for direct invocation: its sample events and its part of the template."""

from typing import Any

import pytest

from tests.functions.story import DIRECT
from tests.service.aws.direct import AGENT, Direct
from tools.deployment.loading import load
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Gateway
from tools.harness.sample_events import sample_event


@pytest.fixture(scope="module")
def direct(gateway: Gateway) -> Direct:
    return Direct(read_template(PROJECT / "template.yaml"))


@pytest.mark.parametrize("name", DIRECT)
def test_a_sample_event_appends_an_entry_once(direct: Direct, name: str) -> None:
    event = sample_event(name)
    request = event.get("detail", event)
    first, again = direct.send(event), direct.send(event)

    assert first["status"] == 201, first
    assert first == again
    assert first["body"]["conversationId"] == request["input"]["conversationId"]
    assert (first["body"]["userId"], first["body"]["clientId"]) == tuple(request["caller"].values())


@pytest.mark.failure("forged-event")
def test_the_function_has_no_route_and_keeps_what_fails(direct: Direct) -> None:
    """Direct invocation has its own function."""
    resources: dict[str, Any] = load(PROJECT / "template.yaml")["Resources"]
    [properties] = [
        resources[f.name]["Properties"]
        for f in read_template(PROJECT / "template.yaml").functions
        if f.module == AGENT
    ]
    invoked = properties["EventInvokeConfig"]
    queue = invoked["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"].removesuffix(".Arn")

    assert "Events" not in properties
    assert invoked["MaximumRetryAttempts"] == 2
    assert resources[queue]["Type"] == "AWS::SQS::Queue"
