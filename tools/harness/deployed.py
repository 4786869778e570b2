"""A deployment on this machine: a build in Lambda's runtime, a table and AWS's other services."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from forklore_local.server.payload import API_ID, read_answer
from forklore_service.storage import schema
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Answer
from tools.harness.runtime import Built, Functions

AGENT = "AgentFunction"
QUEUES, BUS, BUCKET = ("JobsQueue", "ParkedEvents", "ParkedVectors"), "forklore", "forklore-attachments"
CREDENTIALS: Any = {
    "region_name": "us-east-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}


@dataclass(frozen=True)
class Deployed:
    """A running deployment. functions: by logical id. by_route: the function of each route key."""

    functions: Functions
    by_route: dict[str, str]
    dynamodb: Any
    table: str

    def deliver(self, event: dict[str, Any]) -> Answer:
        """Return the answer to an event, from the function of the route that the event names."""
        response = read_answer(self.functions.invoke(self.by_route[event["routeKey"]], event))
        return Answer(response.status, dict(response.headers), response.body.decode())

    def invoke_agent(self, event: Any) -> Any:
        """Return the answer to a direct invocation."""
        return self.functions.invoke(AGENT, event)

    def scan(self) -> list[tuple[str, str]]:
        """Return the partition key and the sort key of every item of the table."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True)
        return [(item["PK"]["S"], item["SK"]["S"]) for page in pages for item in page["Items"]]


@contextmanager
def deployed(folder: Path, *, endpoint: str, api: str = "", **parameters: str) -> Iterator[Deployed]:
    """Deploy the build at `folder`. Everything ends with the context.

    endpoint: the address of a DynamoDB. api: that of the API that the tools call. parameters: of
    the template, by name.
    Raises RuntimeMissing if there is no such build, or nothing to run it with.
    """
    with ExitStack() as stack:
        table, template = f"forklore-{uuid.uuid4()}", read_template(PROJECT / "template.yaml")
        others, queues = stack.enter_context(_other_services())
        values = {"Api": API_ID, "Table": table, "AWS::StackName": "forklore", "EventBus": BUS, **queues}
        values |= {"Api.ApiEndpoint": api, "Attachments": "on", "AttachmentsBucket": BUCKET}
        built = Built.at(folder, values | parameters)
        services = {
            "FORKLORE_DYNAMODB_ENDPOINT": endpoint,
            "AWS_ENDPOINT_URL_SQS": others,
            "AWS_ENDPOINT_URL_EVENTBRIDGE": others,
            "AWS_ENDPOINT_URL_S3": others,
            "FORKLORE_DELETE_WAIT_SECONDS": "0",
        }
        dynamodb = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        dynamodb.create_table(TableName=table, **schema.TABLE)
        stack.callback(dynamodb.delete_table, TableName=table)
        routes = {route.key: function.name for function in template.functions for route in function.routes}
        yield Deployed(Functions(built, services, stack), routes, dynamodb, table)


@contextmanager
def _other_services() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of an SQS, an EventBridge and an S3, and that of each queue."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    events = boto3.client("events", endpoint_url=address, **CREDENTIALS)
    try:
        boto3.client("s3", endpoint_url=address, **CREDENTIALS).create_bucket(Bucket=BUCKET)
        events.create_event_bus(Name=BUS)
        sqs = boto3.client("sqs", endpoint_url=address, **CREDENTIALS)
        yield address, {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
    finally:
        events.delete_event_bus(Name=BUS)  # moto keeps it for the next server of this process
        server.stop()
