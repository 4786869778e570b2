"""Test a program that invokes forklore's function: with the function itself, on moto's DynamoDB.

It needs moto with its extra `dynamodb`. No call leaves this process.
"""

import io
import json
from os import environ
from typing import Any

import boto3
from moto import mock_aws

from forklore import Forklore, text_of
from forklore_service.aws.handlers import agent
from forklore_service.storage import schema


def answer(fl: Forklore, question: str) -> None:
    """Answer a question and keep both: the program that is tested."""
    chat = fl.conversation()
    chat.say("user", question)
    chat.turn("ai", "Casa do Jardim.", context=["Lisbon: 2 nights"])
    print(*map(text_of, chat.entries(channel="history")), chat.context.latest())


class Context:
    """What Lambda tells the function of its call."""

    aws_request_id = "one"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


class Function:
    """Stands for boto3's client of Lambda: it runs forklore's function here."""

    def invoke(self, *, Payload: bytes, **_: Any) -> dict[str, Any]:  # noqa: N803
        said = agent(json.loads(Payload), Context())
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(said).encode())}


environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
environ["FORKLORE_TABLE"] = "forklore"
with mock_aws():
    boto3.client("dynamodb").create_table(TableName="forklore", **schema.TABLE)
    answer(
        Forklore.on_lambda("any", user="ann", client="planner", boto_client=Function()),
        "Two nights in Lisbon?",
    )
    print(boto3.client("dynamodb").scan(TableName="forklore")["Count"], "items on moto")

# Without other services of AWS nothing needs moto: this store is forklore's own, in memory.
answer(Forklore.local(user="ann", client="planner"), "Two nights in Lisbon?")
