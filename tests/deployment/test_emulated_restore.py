"""A restore on an emulator of CloudFormation, DynamoDB and Lambda, also stopped after each call.

The emulator restores the table as it is now, whatever the moment, and at once. It names only the
present second as a moment to restore to, so these tests tell the tool of an earlier one. It does
not say what a table was restored from, so these tests add that, as DynamoDB describes it.
"""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from tests.deployment.test_policies_of_people import DEPLOYER, RESTORER, allows
from tests.support.emulator import Emulator
from tools.deployment.asking_aws import Aws
from tools.deployment.restore import InputError, restore, target_name
from tools.deployment.restored_table import RestoreError

NOW = datetime.now(UTC).replace(microsecond=0)
AT = NOW - timedelta(minutes=30)
ROLE = {
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ]
}


def function(variables: dict[str, Any]) -> dict[str, Any]:
    """Return a function with these variables."""
    properties = {
        "Handler": "index.handler",
        "Runtime": "python3.13",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Code": {"ZipFile": "def handler(event, context): return 1"},
        "Environment": {"Variables": variables},
    }
    return {"Type": "AWS::Lambda::Function", "Properties": properties}


SMALL = {
    "Parameters": {"Colour": {"Type": "String", "Default": "blue"}},
    "Resources": {
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": {
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
                "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
                "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
                "DeletionProtectionEnabled": True,
                "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
                "Tags": [{"Key": "team", "Value": "chat"}],
            },
        },
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": ROLE}},
        "WritingFunction": function({"TABLE": {"Ref": "Table"}, "COLOUR": {"Ref": "Colour"}}),
        "AuthorizerFunction": function({"ARN": {"Fn::Sub": "${Table.Arn}/index/one of ${Table}"}}),
    },
    "Outputs": {"TableName": {"Value": {"Ref": "Table"}}},
}
"""A stack with all that a restore changes, and nothing more."""


RESTORES: dict[str, dict[str, Any]] = {}
"""What DynamoDB says of each restored table, by its name."""


class Killed(BaseException):
    """The process ends."""


class EmulatedAws(Aws):
    """The emulator. dies_after: the number of calls after which the process ends; None if never."""

    def __init__(self, emulated: Emulator, *, dies_after: int | None = None) -> None:
        self.told: list[str] = []
        super().__init__(emulated.client, sleep=lambda _: time.sleep(0.05), tell=self.told.append)
        self.calls: list[str] = []
        self._dies_after = dies_after

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        answer = super().call(service, operation, **parameters)
        self.calls.append(f"{service}.{operation}")
        if operation == "restore_table_to_point_in_time":
            arn = super().call("dynamodb", "describe_table", TableName=parameters["SourceTableName"])
            RESTORES[parameters["TargetTableName"]] = {
                "SourceTableArn": arn["Table"]["TableArn"],
                "RestoreDateTime": parameters["RestoreDateTime"],
                "RestoreInProgress": False,
            }
        if operation == "describe_table" and parameters["TableName"] in RESTORES:
            answer["Table"]["RestoreSummary"] = RESTORES[parameters["TableName"]]
        if operation == "describe_continuous_backups":
            recovery = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
            if recovery["PointInTimeRecoveryStatus"] == "ENABLED":
                recovery["EarliestRestorableDateTime"] = NOW - timedelta(hours=1)
        if len(self.calls) == self._dies_after:
            raise Killed
        return answer

    def table(self, stack: str) -> str:
        """Return the table that is a resource of a stack."""
        found = self.call("cloudformation", "describe_stack_resources", StackName=stack)["StackResources"]
        [table] = [one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] == "Table"]
        return str(table)


class Stack:
    """A small stack. Its table holds one item."""

    template = SMALL
    kept: ClassVar[dict[str, Any]] = {"PK": {"S": "kept"}}

    def __init__(self, emulated: Emulator, name: str) -> None:
        self.emulated = emulated
        self.name = name
        self.cloudformation = emulated.client("cloudformation")
        self.dynamodb = emulated.client("dynamodb")
        self.cloudformation.create_stack(
            StackName=name,
            TemplateBody=json.dumps(self.template),
            Parameters=[{"ParameterKey": "Colour", "ParameterValue": "green"}],
            Capabilities=["CAPABILITY_IAM"],
        )
        self.cloudformation.get_waiter("stack_create_complete").wait(
            StackName=name, WaiterConfig={"Delay": 0.05, "MaxAttempts": 400}
        )
        self.old = self.resources()["Table"]
        # The emulator's CloudFormation leaves these two out.
        self.dynamodb.update_continuous_backups(
            TableName=self.old, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        self.dynamodb.update_time_to_live(
            TableName=self.old, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
        )
        self.dynamodb.put_item(TableName=self.old, Item=self.kept)

    def resources(self) -> dict[str, str]:
        found = self.cloudformation.describe_stack_resources(StackName=self.name)["StackResources"]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}

    def restore(
        self,
        *,
        dies_after: int | None = None,
        at: datetime = AT,
        intact: bool = True,
        source: str | None = None,
    ) -> EmulatedAws:
        aws = EmulatedAws(self.emulated, dies_after=dies_after)
        restore(aws, self.name, at, confirm=lambda _: True, check=lambda _: intact, source=source)
        return aws

    def seen(self) -> dict[str, Any]:
        """Return all that a restore should bring about."""
        made = self.resources()
        client, table = self.emulated.client("lambda"), made["Table"]
        described = self.dynamodb.describe_table(TableName=table)["Table"]
        ttl = self.dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        backups = self.dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
        functions = ("WritingFunction", "AuthorizerFunction")
        return {
            "table": table,
            "items": self.dynamodb.scan(TableName=table)["Items"],
            "protected": described.get("DeletionProtectionEnabled"),
            "stream": described.get("StreamSpecification"),
            "expires": (ttl["TimeToLiveStatus"], ttl.get("AttributeName")),
            "recovers": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
            "tags": [
                tag
                for tag in self.dynamodb.list_tags_of_resource(ResourceArn=described["TableArn"])["Tags"]
                if not tag["Key"].startswith("aws:")
            ],
            "variables": {
                name: client.get_function_configuration(FunctionName=made[name])["Environment"]["Variables"]
                for name in functions
            },
            "reserved": [
                client.get_function_concurrency(FunctionName=made[name]).get("ReservedConcurrentExecutions")
                for name in functions
            ],
        }

    def expected(self) -> dict[str, Any]:
        table = target_name(self.old, AT)
        arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
        return {
            "table": table,
            "items": [{"PK": {"S": "kept"}}],
            "protected": True,
            "stream": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "expires": ("ENABLED", "ttl"),
            "recovers": "ENABLED",
            "tags": [{"Key": "team", "Value": "chat"}],
            "variables": {
                "WritingFunction": {"TABLE": table, "COLOUR": "green"},
                "AuthorizerFunction": {"ARN": f"{arn}/index/one of {table}"},
            },
            "reserved": [None, None],
        }


@pytest.fixture(scope="module")
def calls(emulated: Emulator) -> list[str]:
    """The calls of a restore that nothing stops."""
    stack = Stack(emulated, "whole")
    aws = stack.restore()
    assert stack.seen() == stack.expected()
    return aws.calls


def test_a_restored_table_takes_the_place_of_the_old_one_which_is_kept(
    calls: list[str], emulated: Emulator
) -> None:
    tables = emulated.client("dynamodb").list_tables()["TableNames"]

    assert len([name for name in tables if name.startswith("whole-")]) == 2
    assert calls.index("lambda.put_function_concurrency") < calls.index(
        "dynamodb.restore_table_to_point_in_time"
    )
    assert calls[-1] == "lambda.delete_function_concurrency"


def test_who_deploys_and_restores_may_make_every_call_of_a_restore(calls: list[str]) -> None:
    named = {
        f"{service}:{iam_name(operation)}" for service, _, operation in (one.partition(".") for one in calls)
    }
    assert [one for one in sorted(named) if not (allows(DEPLOYER, one) or allows(RESTORER, one))] == []
    assert {"dynamodb:RestoreTableToPointInTime", "lambda:PutFunctionConcurrency"} <= named


def iam_name(operation: str) -> str:
    """Return the name of an operation as IAM has it.

    >>> iam_name("list_tags_of_resource")
    'ListTagsOfResource'
    """
    return "".join(word.capitalize() for word in operation.split("_"))


@pytest.mark.failure("stopped-restore")
def test_a_restore_that_is_stopped_after_any_call_goes_on_and_ends_the_same(
    calls: list[str], emulated: Emulator
) -> None:
    for at in range(1, len(calls) + 1):
        stack = Stack(emulated, f"stopped-{at}")
        with pytest.raises(Killed):
            stack.restore(dies_after=at)

        again = stack.restore()

        assert stack.seen() == stack.expected(), (
            f"stopped after call {at}, {calls[at - 1]}; then {again.calls}"
        )


def test_a_table_that_is_not_intact_is_not_used_unless_somebody_says_so(emulated: Emulator) -> None:
    stack = Stack(emulated, "damaged")

    with pytest.raises(RestoreError, match="is not intact, or could not be checked; damaged still has"):
        stack.restore(intact=False)
    stopped = stack.seen()
    stack.restore()

    assert (stopped["table"], stopped["reserved"]) == (stack.old, [0, None])
    assert stack.seen() == stack.expected()


def test_bad_input_is_refused_before_anything_is_changed(emulated: Emulator) -> None:
    stack = Stack(emulated, "refused")
    writing = stack.resources()["WritingFunction"]
    functions = emulated.client("lambda")

    def refusal(at: datetime) -> str:
        with pytest.raises(InputError) as told:
            stack.restore(at=at)
        return str(told.value)

    too_early, too_late = refusal(NOW - timedelta(hours=2)), refusal(NOW + timedelta(hours=1))
    functions.put_function_concurrency(FunctionName=writing, ReservedConcurrentExecutions=5)
    reserved = refusal(AT)
    functions.delete_function_concurrency(FunctionName=writing)
    stack.dynamodb.update_continuous_backups(
        TableName=stack.old, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    unrecoverable = refusal(AT)

    assert too_early.startswith(f"TIME must be from {NOW - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ} to ")
    assert too_late.startswith("TIME must be from ")
    assert reserved.startswith(f"{writing}: reserved concurrency is set")
    assert "no point-in-time recovery" in unrecoverable
    assert (stack.seen()["table"], stack.seen()["reserved"]) == (stack.old, [None, None])


def test_a_restore_that_is_not_finished_is_finished_before_another_begins(emulated: Emulator) -> None:
    stack = Stack(emulated, "two")
    with pytest.raises(Killed):
        stack.restore(dies_after=_calls_until(stack, "cloudformation.update_stack"))

    with pytest.raises(InputError, match=r"is not finished\. Repeat its command first"):
        stack.restore(at=AT + timedelta(minutes=1))
    stack.restore()
    again = stack.restore()

    assert stack.seen() == stack.expected()
    assert again.told == [f"two uses {target_name(stack.old, AT)} already."]
    assert not [call for call in again.calls if re.search(r"\.(put|update|create|delete|restore)_", call)]


def _calls_until(stack: Stack, call: str) -> int:
    """Return how many calls a restore makes until this one, tried on another stack."""
    calls = Stack(stack.emulated, f"{stack.name}-tried").restore().calls
    return calls.index(call) + 1


def test_after_a_restore_of_a_table_another_one_restores_the_restored_table(emulated: Emulator) -> None:
    stack = Stack(emulated, "twice")
    stack.restore()
    first = stack.seen()["table"]

    stack.restore(at=AT + timedelta(minutes=1))

    assert stack.seen()["table"] == target_name(stack.old, AT + timedelta(minutes=1))
    assert stack.seen()["variables"]["WritingFunction"]["TABLE"] != first


def test_the_table_that_was_replaced_can_be_restored_to_an_earlier_moment(emulated: Emulator) -> None:
    stack = Stack(emulated, "earlier")
    stack.restore()
    first = stack.seen()["table"]
    stack.dynamodb.put_item(TableName=first, Item={"PK": {"S": "said since"}})

    with pytest.raises(InputError, match="SOURCE=another is no table of earlier"):
        stack.restore(at=AT - timedelta(minutes=1), source="another")
    stack.restore(at=AT - timedelta(minutes=1), source=stack.old)
    again = stack.restore(at=AT - timedelta(minutes=1), source=stack.old)

    assert stack.seen()["table"] == target_name(stack.old, AT - timedelta(minutes=1))
    assert stack.seen()["items"] == [{"PK": {"S": "kept"}}]
    assert again.told == [f"earlier uses {stack.seen()['table']} already."]


def test_a_table_that_only_has_the_name_is_not_used(emulated: Emulator) -> None:
    stack = Stack(emulated, "namesake")
    stack.dynamodb.create_table(
        TableName=target_name(stack.old, AT),
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
    )

    with pytest.raises(InputError, match=f"is no restore of {stack.old}"):
        stack.restore()
    assert (stack.seen()["table"], stack.seen()["reserved"]) == (stack.old, [None, None])


def test_a_function_that_somebody_stopped_before_is_named(emulated: Emulator) -> None:
    stack = Stack(emulated, "resting")
    writing = stack.resources()["WritingFunction"]
    emulated.client("lambda").put_function_concurrency(FunctionName=writing, ReservedConcurrentExecutions=0)

    assert f"{writing} is stopped already. It is started at the end, too." in stack.restore().told
    assert stack.seen() == stack.expected()
