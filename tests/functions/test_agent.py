"""The function for direct invocation: its sample events and its part of the template."""

from typing import Any

import pytest
import yaml

from forklore.local.template import _CloudFormationLoader, read_template
from tests.aws.direct import AGENT, Direct
from tests.aws.gateway import PROJECT, Gateway
from tests.functions.story import DIRECT, read_event


@pytest.fixture(scope="module")
def direct(gateway: Gateway) -> Direct:
    return Direct(read_template(PROJECT / "template.yaml"))


@pytest.mark.parametrize("name", DIRECT)
def test_a_sample_event_appends_an_entry_once(direct: Direct, name: str) -> None:
    event = read_event(name)
    request = event.get("detail", event)
    first, again = direct.send(event), direct.send(event)

    assert first["status"] == 201, first
    assert first == again
    assert first["body"]["conversationId"] == request["input"]["conversationId"]
    assert (first["body"]["userId"], first["body"]["clientId"]) == tuple(request["caller"].values())


@pytest.mark.failure("forged-event")
def test_the_function_has_no_route_and_a_queue_for_failed_requests(direct: Direct) -> None:
    text = (PROJECT / "template.yaml").read_text()
    resources: dict[str, Any] = yaml.load(text, Loader=_CloudFormationLoader)["Resources"]
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
