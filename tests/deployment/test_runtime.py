"""The built functions, each started as Lambda starts it, answer the sample events.

Needs a build (`make build`), AWS SAM's runtime emulator and AWS's client: `make test-deployment` sees to all of it.
"""

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from forklore.edge import operations
from local_server.payload import read_answer
from local_server.template import read_template
from tests.edge.gateway import PROJECT, Answer
from tests.functions.story import DIRECT, SAMPLE_OTHER, STORY, read_event, tell
from tests.support.runtime import BUILD, Built, Runtime, RuntimeMissing, fits_this_machine, runtime

WANTED = "FORKLORE_BUILD"
"""The folder of the build that must be tested; unset, what cannot run is skipped."""
API = "local"
"""The id of the API that the sample events are of."""
CREDENTIALS = {"region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
DELETED = (SAMPLE_OTHER, json.loads(read_event("createConversation")["body"])["id"])
"""The trees that the story deletes."""


Scan = Callable[[], list[tuple[str, str]]]


class Functions:
    """The built functions, each started when it is first asked for, on one empty table."""

    def __init__(self, built: Built, variables: Mapping[str, str], scan: Scan, stack: ExitStack) -> None:
        """variables: where the services are. scan: returns the keys of all items of the table."""
        self.built = built
        self.scan = scan
        self._variables = variables
        self._stack = stack
        self.started: dict[str, Runtime] = {}
        self._by_route = {
            route.key: function.name
            for function in read_template(PROJECT / "template.yaml").functions
            for route in function.routes
        }

    def __getitem__(self, name: str) -> Runtime:
        if name not in self.started:
            self.started[name] = self._stack.enter_context(runtime(self.built, name, **self._variables))
        return self.started[name]

    def invoke(self, name: str, event: Any) -> Any:
        """Return what a function answers. Raises AssertionError if it failed."""
        answer = self[name].invoke(event).answer
        assert not (isinstance(answer, dict) and "errorType" in answer), (name, answer, self[name].log())
        return answer

    def deliver(self, event: dict[str, Any]) -> Answer:
        """Return the answer to an event of the function whose route it names."""
        response = read_answer(self.invoke(self._by_route[event["routeKey"]], event))
        return Answer(response.status, dict(response.headers), response.body.decode())


@pytest.fixture(scope="module")
def functions(dynamodb_endpoint: str) -> Iterator[Functions]:
    """The functions of the build, on a table and a queue of their own."""
    with ExitStack() as stack:
        table, template = f"forklore-{uuid.uuid4()}", read_template(PROJECT / "template.yaml")
        dynamodb = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint, **CREDENTIALS)
        dynamodb.create_table(TableName=table, **template.table)
        stack.callback(dynamodb.delete_table, TableName=table)
        sqs = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        sqs.start()
        stack.callback(sqs.stop)
        host, port = sqs.get_host_and_port()
        sqs_endpoint = f"http://{host}:{port}"
        queue = boto3.client("sqs", endpoint_url=sqs_endpoint, **CREDENTIALS).create_queue(QueueName="jobs")
        values = {
            "Api": API,
            "Table": table,
            "JobsQueue": queue["QueueUrl"],
            "AWS::StackName": "forklore",
            "Issuer": "https://issuer.example.com/",
            "Audience": "forklore",
        }
        services = {
            "FORKLORE_DYNAMODB_ENDPOINT": dynamodb_endpoint,
            "AWS_ENDPOINT_URL_SQS": sqs_endpoint,
            "FORKLORE_DELETE_WAIT_SECONDS": "0",
        }
        try:
            built = Built.at(Path(os.environ.get(WANTED, BUILD)), values)
            if not fits_this_machine(built):
                raise RuntimeMissing("the build is for another processor; see `make build ARCHITECTURE=…`")
            made = Functions(built, services, lambda: _keys(dynamodb, table), stack)
            made["SweepFunction"]  # what is missing is missed now
        except RuntimeMissing as missing:
            if WANTED in os.environ:
                raise
            pytest.skip(f"NOT TESTED in Lambda's runtime: {missing}")
        yield made


def _keys(dynamodb: Any, table: str) -> list[tuple[str, str]]:
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [(item["PK"]["S"], item["SK"]["S"]) for page in pages for item in page["Items"]]


@pytest.fixture(scope="module")
def told(functions: Functions) -> dict[str, Answer]:
    """What the built functions answer to the story, by operation."""
    return tell(functions.deliver, lambda event: functions.invoke("AgentFunction", event))


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda one: one.name)
def test_a_built_function_answers_the_event_of_its_route(
    told: dict[str, Answer], operation: operations.Operation
) -> None:
    answer = told[operation.name]

    assert answer.status == STORY[operation.name] == operation.status, answer.text
    if operation.result is None:
        assert answer.text == ""
    else:
        operation.result.model_validate_json(answer.text, strict=True)


@pytest.mark.parametrize("name", DIRECT)
def test_the_built_agent_appends_an_entry_once(functions: Functions, told: object, name: str) -> None:
    first, again = (functions.invoke("AgentFunction", read_event(name)) for _ in range(2))

    assert first["status"] == 201
    assert first == again


def test_the_built_worker_does_the_good_messages_of_a_batch_and_names_the_bad_one(
    functions: Functions, told: object
) -> None:
    assert {tree for tree, _ in functions.scan()} >= set(DELETED), (
        "what the requests have closed is still there"
    )
    [record] = read_event("deleteGroup")["Records"]
    bodies = [*(json.dumps({"groupId": tree}) for tree in DELETED), "no JSON"]
    records = [record | {"messageId": str(at), "body": body} for at, body in enumerate(bodies)]

    answer = functions.invoke("DeleteGroupFunction", {"Records": records})

    assert answer == {"batchItemFailures": [{"itemIdentifier": str(len(DELETED))}]}
    assert not {tree for tree, _ in functions.scan()} & set(DELETED)


def test_the_built_sweep_answers_its_schedule(functions: Functions) -> None:
    assert functions.invoke("SweepFunction", read_event("sweep")) is None


def test_a_built_function_refuses_an_event_of_another_api(functions: Functions) -> None:
    event = read_event("getConversation")
    event["requestContext"]["apiId"] = "another"

    assert functions.deliver(event).status == 400


def test_every_built_function_has_been_started(functions: Functions, told: object) -> None:
    assert sorted(functions.started) == sorted(functions.built.functions)
