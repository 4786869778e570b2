"""A project with one function, so that these tests do not depend on forklore's handlers."""

import sys
from pathlib import Path

import pytest

from forklore.local.template import Template, read_template

TEMPLATE = """\
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Globals:
  Function:
    Handler: app.handler
    Timeout: 1
    Environment: { Variables: { FORKLORE_TABLE: !Ref Table } }
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{ AttributeName: PK, AttributeType: S }]
      KeySchema: [{ AttributeName: PK, KeyType: HASH }]
      TimeToLiveSpecification: { AttributeName: ttl, Enabled: true }
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: sample_functions/echo/
      MemorySize: 256
      Policies: [{ Statement: [{ Effect: Allow, Resource: [!Sub "${Table.Arn}/*", !GetAtt Table.Arn] }] }]
      Events:
        Timer: { Type: Schedule, Properties: { Schedule: rate(5 minutes) } }
  Odd:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: sample_functions/odd/
      Timeout: 29
  EchoIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties: { IntegrationUri: !Sub "arn:${AWS::Region}:lambda:path/functions/${Echo.Arn}/invocations" }
  OddIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties: { IntegrationUri: !Sub "arn:${AWS::Region}:lambda:path/functions/${Odd.Arn}/invocations" }
  GreetingRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: { RouteKey: POST /v1/conversations, Target: !Sub "integrations/${EchoIntegration}" }
  EchoRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: { RouteKey: "ANY /echo/{name}", Target: !Sub "integrations/${EchoIntegration}" }
  OddRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: { RouteKey: "GET /odd/{what}", Target: !Sub "integrations/${OddIntegration}" }
"""

ECHO = """\
import logging, time

logging.basicConfig(level=logging.INFO)  # as a handler may: the server must stay silent

def handler(event, context):
    if event.get("body") == "sleep":
        time.sleep(30)
    return event
"""

ODD = """\
import decimal, logging, os, sys, threading, time
import boto3

together = threading.Barrier(2, timeout=5)

def count():
    client = boto3.client("dynamodb", endpoint_url=os.environ.get("FORKLORE_DYNAMODB_ENDPOINT"))
    name = os.environ["FORKLORE_TABLE"]
    client.update_item(
        TableName=name, Key={"PK": {"S": "x"}}, UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
    return int(client.get_item(TableName=name, Key={"PK": {"S": "x"}})["Item"]["n"]["N"])

def fail():
    try:
        raise KeyError("a secret key")
    except KeyError as error:
        raise RuntimeError("a secret text") from error

answers = {
    "fail": fail,
    "exit": lambda: sys.exit("a secret text"),
    "decimal": lambda: {"n": decimal.Decimal(1)},
    "status": lambda: {"statusCode": "many"},
    "large": lambda: {"statusCode": 200, "body": "x" * 6_300_000},
    "nearly-large": lambda: {"statusCode": 200, "body": "x" * 6_200_000},
    "together": lambda: together.wait() >= 0,
    "sleep": lambda: time.sleep(1.3),
    "empty": lambda: {"statusCode": 204, "body": "ignored"},
    "count": count,
    "info": lambda: logging.getLogger("forklore").info("told", extra={"status": "200"}),
    "warn": lambda: logging.getLogger("forklore.audit").warning("warned", extra={"who": "ann"}),
}

def handler(event, context):
    what = event["pathParameters"]["what"]
    return context.get_remaining_time_in_millis() if what == "remaining" else answers[what]()
"""


def write_project(folder: Path) -> Path:
    """Write the project into `folder` and return its template's path."""
    for name, text in {"echo": ECHO, "odd": ODD}.items():
        module = folder / "sample_functions" / name / "app.py"
        module.parent.mkdir(parents=True)
        module.write_text(text)
    template = folder / "template.yaml"
    template.write_text(TEMPLATE)
    return template


def import_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Template:
    """Write the project into `folder`, make it importable for this test and return its template."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sample_functions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder)
    return read_template(write_project(folder))
