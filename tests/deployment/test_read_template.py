"""What is read from a template: functions with what calls them, queues and the table."""

from pathlib import Path

import boto3
import moto
import pytest

from forklore_local.server.routing import Route
from tools.deployment.template import Polled, Queue, Template, TemplateFunction, read_template

FORKLORE = Path(__file__).parents[2] / "template.yaml"
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
QUEUES = """\
Globals:
  Function:
    Handler: app.handler
    Environment: { Variables: { FORKLORE_TABLE: !Ref Table, JOBS: !Ref Jobs } }
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties: { BillingMode: PAY_PER_REQUEST }
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 600
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2 }
  Dead:
    Type: AWS::SQS::Queue
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: background_functions/worker/
      Events:
        Jobs: { Type: SQS, Properties: { Queue: !GetAtt Jobs.Arn, BatchSize: 10 } }
  Often:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: background_functions/often/
      Events:
        Clock: { Type: Schedule, Properties: { Schedule: rate(2 hours) } }
"""


def read(folder: Path, text: str = TEMPLATE) -> Template:
    """Return what a template of this text says."""
    file = folder / "template.yaml"
    file.write_text(text)
    return read_template(file)


def test_a_function_has_its_own_properties_then_the_globals_then_lambdas_defaults(tmp_path: Path) -> None:
    echo, odd = read(tmp_path).functions

    assert echo == TemplateFunction(
        name="Echo",
        module="sample_functions.echo.app",
        attribute="handler",
        timeout_seconds=1,
        memory_mb=256,
        routes=(Route("POST", "/v1/conversations"), Route("ANY", "/echo/{name}")),
        polls=(),
        every_seconds=(300,),
    )
    assert (odd.timeout_seconds, odd.memory_mb) == (29, 128)


def test_the_default_route_has_a_key_of_its_own(tmp_path: Path) -> None:
    text = TEMPLATE.replace('"ANY /echo/{name}"', "$default")

    routes = read(tmp_path, text).functions[0].routes
    assert routes == (Route("POST", "/v1/conversations"), Route("ANY", ""))
    assert [route.key for route in routes] == ["POST /v1/conversations", "$default"]


@pytest.mark.parametrize("key", ["ANY", "/echo/{name}", "any /echo", "ANY echo", "*"])
def test_half_a_route_is_refused(tmp_path: Path, key: str) -> None:
    text = TEMPLATE.replace("ANY /echo/{name}", key)

    with pytest.raises(ValueError, match="a route key must be"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ('!Sub "integrations/${OddIntegration}"', '!Sub "integrations/${Odd}"'),
        ('!Sub "integrations/${OddIntegration}"', "integrations/OddIntegration"),
        ("${Odd.Arn}", "${Table.Arn}"),
    ],
)
def test_a_route_that_leads_to_no_function_is_refused(tmp_path: Path, said: str, other: str) -> None:
    assert said in TEMPLATE
    text = TEMPLATE.replace(said, other)

    with pytest.raises(ValueError, match="OddRoute leads to no function"):
        read(tmp_path, text)


def test_the_table_is_what_create_table_takes(tmp_path: Path) -> None:
    assert read(tmp_path).table == {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    }


def test_a_template_without_a_table_is_refused(tmp_path: Path) -> None:
    text = TEMPLATE.replace("AWS::DynamoDB::Table", "AWS::SNS::Topic")

    with pytest.raises(ValueError, match="0 tables"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "tag", ["!Join ['-', [!Ref A, b]]", "!Sub x", "!GetAtt A.Arn", "!If [A, [b], !Ref C]"]
)
def test_cloudformations_short_tags_are_read(tmp_path: Path, tag: str) -> None:
    text = f"{TEMPLATE}Outputs: {{ Some: {{ Value: {tag} }} }}\n"

    assert len(read(tmp_path, text).functions) == 2


def test_forklores_own_template_is_read_and_its_table_can_be_created() -> None:
    template = read_template(FORKLORE)

    assert "POST /v1/conversations" in {route.key for one in template.functions for route in one.routes}
    for function in template.functions:
        assert (FORKLORE.parent / function.module.replace(".", "/")).parent.is_dir(), function.module
    with moto.mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        made = client.create_table(TableName="forklore", **template.table)["TableDescription"]
        assert made["KeySchema"] == template.table["KeySchema"]


def test_the_template_says_what_calls_a_function(tmp_path: Path) -> None:
    template = read(tmp_path, QUEUES)
    worker, often = template.functions

    assert (worker.polls, worker.every_seconds) == ((Polled("Jobs", 10),), ())
    assert (often.polls, often.every_seconds) == ((), (7200,))
    assert template.queues == (Queue("Jobs", 600, 2, "Dead"), Queue("Dead"))
    assert template.environment == {"JOBS": "Jobs"}


@pytest.mark.parametrize("schedule", ["cron(0 * * * ? *)", "rate(5)", "rate(5 weeks)"])
def test_a_schedule_that_is_no_rate_is_refused(tmp_path: Path, schedule: str) -> None:
    text = QUEUES.replace("rate(2 hours)", f"{schedule!r}")

    with pytest.raises(ValueError, match="rate"):
        read(tmp_path, text)
