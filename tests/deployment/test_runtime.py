"""The built functions answer the sample events. Each is started as Lambda starts it.

`make test-deployment` provides what this needs: a build for this machine's processor, AWS SAM's
emulator of Lambda's runtime interface, and AWS's client for it.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from forklore.mcp.on_lambda import METADATA
from forklore_local.server import token
from forklore_service.api import operations
from forklore_service.api.operation import Operation
from tests.clients.mcp.connecting import Gateway, by_events, run
from tests.clients.mcp.test_tools import every_tool
from tests.functions.story import AUTHORIZER, DIRECT, tell_functions
from tools.catalogue import NAMES, SAID
from tools.harness.deployed import Deployed, deployed
from tools.harness.gateway import Answer
from tools.harness.local_server import local_server
from tools.harness.runtime import RUNTIME, RuntimeMissing
from tools.harness.sample_events import sample_event

DELETED = {NAMES[name] for name in ("root", "child", "copy")}
"""The trees that the story deletes."""
OF_THE_EMULATOR = ("START ", "END ", "REPORT ")
"""The beginnings of the lines that Lambda itself writes. In the cloud, they are also JSON."""
ISSUER = {"Issuer": "https://issuer.example.com/", "Audience": "forklore"}
CONTENT = SAID["content"][0]["text"]
"""The text that the story appends."""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> EllipticCurvePrivateKey:
    """The key of the issuer that the deployment trusts."""
    return token.development_key(tmp_path_factory.mktemp("issuer") / "key.pem")


@pytest.fixture(scope="module")
def service(build: Path, dynamodb_endpoint: str, key: EllipticCurvePrivateKey) -> Iterator[Deployed]:
    """The functions of the build, on an empty table."""
    keys = json.dumps(token.key_set(key))
    try:
        with (
            local_server() as api,
            deployed(build, endpoint=dynamodb_endpoint, api=api, **ISSUER, IssuerKeys=keys) as service,
        ):
            service.functions["SweepFunction"]  # fails now if something is missing
            yield service
    except RuntimeMissing as missing:
        if RUNTIME in os.environ:
            raise
        pytest.skip(f"NOT TESTED in Lambda's runtime: {missing}")


@pytest.fixture(scope="module")
def told(service: Deployed) -> dict[str, Answer]:
    """The first good answer of the built functions on each route."""
    return tell_functions(service.deliver)


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda one: one.name)
def test_a_built_function_answers_the_event_of_its_route(
    told: dict[str, Answer], operation: Operation
) -> None:
    answer = told[operation.name]

    if operation.result is None:
        assert answer.text == ""
    else:
        operation.result.model_validate_json(answer.text, strict=True)


@pytest.mark.parametrize("name", DIRECT)
def test_the_built_agent_appends_an_entry_once(service: Deployed, told: object, name: str) -> None:
    first, again = (service.invoke_agent(sample_event(name)) for _ in range(2))

    assert first["status"] == 201
    assert first == again


def test_the_built_worker_handles_the_good_messages_of_a_batch_and_names_the_bad_one(
    service: Deployed, told: object
) -> None:
    closed = {tree for tree, _ in service.scan()} & DELETED
    [record] = sample_event("deleteGroup")["Records"]
    bodies = [*(json.dumps({"groupId": tree}) for tree in DELETED), "no JSON"]
    records = [record | {"messageId": str(at), "body": body} for at, body in enumerate(bodies)]

    answer = service.functions.invoke("DeleteGroupFunction", {"Records": records})

    assert closed == DELETED, "the requests did more than close the trees"
    assert answer == {"batchItemFailures": [{"itemIdentifier": str(len(DELETED))}]}
    assert not {tree for tree, _ in service.scan()} & DELETED


def test_the_built_sweep_answers_its_schedule(service: Deployed) -> None:
    assert service.functions.invoke("SweepFunction", sample_event("sweep")) is None


def test_the_built_publisher_publishes_a_batch_of_the_stream(service: Deployed) -> None:
    assert service.functions.invoke("PublishFunction", sample_event("publish")) == {"batchItemFailures": []}
    logged = service.functions["PublishFunction"].log()
    [line] = [json.loads(line) for line in logged if not line.startswith(OF_THE_EMULATOR)]
    assert (line["message"], line["EventsPublished"], line["finished"]) == ("published", 1, True)


def test_the_built_maker_of_vectors_asks_for_a_model(service: Deployed) -> None:
    """Recall is off here, as without an account there is no model."""
    answer = service.functions["EmbedFunction"].invoke(sample_event("embed")).answer

    assert answer["errorType"] == "RuntimeError"
    assert "set FORKLORE_RECALL to a model" in answer["errorMessage"]


def test_the_built_tools_work_for_the_library_s_own_client(service: Deployed) -> None:
    run(every_tool, by_events(partial(service.functions.invoke, "McpFunction"), "ann"))


def test_the_built_tools_lead_who_has_no_token_to_the_issuer(service: Deployed) -> None:
    invoke = partial(service.functions.invoke, "McpFunction")
    nobody = Gateway(invoke, None)
    refused = invoke(nobody.event(httpx2.Request("POST", "https://api.example/mcp"), b"{}"))
    told = invoke(nobody.event(httpx2.Request("GET", f"https://api.example{METADATA}"), b""))

    assert refused["statusCode"] == 401
    assert refused["headers"]["www-authenticate"].endswith(f'{METADATA}"')
    assert json.loads(told["body"])["authorization_servers"] == [ISSUER["Issuer"]]


def test_a_built_function_refuses_an_event_of_another_api(service: Deployed, told: object) -> None:
    event = sample_event("getConversation")
    event["requestContext"]["apiId"] = "another"

    assert service.deliver(event).status == 400


def test_a_built_function_answers_401_without_a_caller_from_the_authorizer(service: Deployed) -> None:
    event = sample_event("getConversation")
    del event["requestContext"]["authorizer"]

    assert service.deliver(event).status == 401


def test_a_built_function_answers_the_user_whom_the_built_authorizer_finds(
    service: Deployed, key: EllipticCurvePrivateKey
) -> None:
    signed = token.make_token(
        "dora", key, issuer=ISSUER["Issuer"], audience=ISSUER["Audience"], hours=1, now=time.time()
    )
    asked, event = sample_event(AUTHORIZER), sample_event("createConversation")
    event["body"] = "{}"

    said = {}
    for credentials in (f"Bearer {signed}", f"Bearer {signed[:-2]}"):
        asked["headers"]["authorization"] = credentials
        said[credentials] = service.functions.invoke("AuthorizerFunction", asked)
        event["requestContext"]["authorizer"] = {"lambda": said[credentials]["context"]}
        said[credentials]["answer"] = service.deliver(event)

    good, bad = said.values()
    assert (good["isAuthorized"], good["context"]) == (True, {"userId": "dora", "roles": []})
    assert (good["answer"].status, good["answer"].json["ownerUserId"]) == (201, "dora")
    assert (bad["isAuthorized"], bad["context"]) == (True, {})
    assert bad["answer"].status == 401


def test_each_request_and_each_change_writes_a_json_line_to_the_log_without_content(
    service: Deployed, told: dict[str, Answer]
) -> None:
    logged = service.functions["EntriesFunction"].log()
    lines = [json.loads(line) for line in logged if not line.startswith(OF_THE_EMULATOR)]

    of_story = {("appendEntry", "201"), ("listEntries", "200"), ("getEntry", "200")}
    requests = [line for line in lines if line["message"] == "request"]
    assert of_story <= {(line["operation"], line["status"]) for line in requests}
    assert all(line["requestId"] and line["_aws"]["CloudWatchMetrics"] for line in requests)
    changes = [line for line in lines if line["message"] == "change"]
    assert changes[0]["operation"] == "appendEntry"
    assert re.fullmatch("[0-9a-f]{32,}", changes[0]["user"])
    assert CONTENT in told["listEntries"].text
    assert CONTENT not in "\n".join(logged)


def test_every_built_function_has_been_started(service: Deployed, told: object) -> None:
    assert sorted(service.functions.started) == sorted(service.functions.built.functions)
