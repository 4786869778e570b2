"""A stack gets another table in the place of its own, under the same name in the template.

CloudFormation has no operation for this, so there are two. An update writes the new table's name
wherever the template names the table, and lets go of the old table, which is kept. An import then
makes the new table a resource of the stack. Nothing of template.yaml changes. The next
`make deploy` puts the template's own references back, which then lead to the new table.
"""

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from tools.deployment.account import is_there
from tools.deployment.asking_aws import Aws, code_of
from tools.deployment.loading import parse
from tools.deployment.restored_table import RestoreError

TABLE = "Table"
"""The table's name in the template."""
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
SAM_STACK = "aws-sam-cli-managed-default"
"""The stack of the bucket that `sam deploy` uploads to."""
BODY_BYTES_MAX = 51_200
HOUR = 3600.0
EVERYTHING = json.dumps(
    {"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}
)


def without_table(
    template: Mapping[str, Any], names: Mapping[str, str], *, before: Mapping[str, str]
) -> dict[str, Any]:
    """Return the template without the table, with names in the place of references to it.

    names: the new table's name under "Ref", and what `!GetAtt` gives under the attribute's name.
    before: the same of the old table. After an earlier restore, its names are in the template.
    Raises RestoreError for a reference to another attribute.
    """
    changed = copy.deepcopy(dict(template))
    changed["Resources"] = {name: one for name, one in template["Resources"].items() if name != TABLE}
    text = json.dumps(_replace(changed, names), ensure_ascii=False)
    for one in sorted(before.keys() & names.keys(), key=lambda name: -len(before[name])):
        text = re.sub(rf"{re.escape(before[one])}(?![A-Za-z0-9_.-])", names[one], text)
    replaced: dict[str, Any] = json.loads(text)
    return replaced


def _replace(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case {"Ref": "Table"}:
            return names["Ref"]
        case {"Fn::GetAtt": str(path)} if path.partition(".")[0] == TABLE:
            return _named(names, path.partition(".")[2])
        case {"Fn::GetAtt": [first, *rest]} if first == TABLE:
            return _named(names, ".".join(rest))
        case {"Fn::Sub": str(text)}:
            return {"Fn::Sub": _substituted(text, names)}
        case {"Fn::Sub": [text, variables]}:
            return {"Fn::Sub": [_substituted(text, names), _replace(variables, names)]}
        case dict():
            return {name: _replace(one, names) for name, one in value.items() if not _waits(name, one)} | {
                name: rest for name, one in value.items() if _waits(name, one) and (rest := _others(one))
            }
        case list():
            return [_replace(one, names) for one in value]
    return value


def _waits(name: str, value: Any) -> bool:
    """Tell whether this is a DependsOn that names the table."""
    return name == "DependsOn" and TABLE in ([value] if isinstance(value, str) else value)


def _others(value: Any) -> list[str]:
    return [] if isinstance(value, str) else [one for one in value if one != TABLE]


def _substituted(text: str, names: Mapping[str, str]) -> str:
    def name_of(found: re.Match[str]) -> str:
        return _named(names, found[1]) if found[1] else names["Ref"]

    return re.sub(r"\$\{Table(?:\.(\w+))?\}", name_of, text)


def _named(names: Mapping[str, str], attribute: str) -> str:
    if attribute not in names:
        raise RestoreError(f"the template uses Table.{attribute}, which the restored table does not have")
    return names[attribute]


class Adoption:
    """The stack `stack`, and how another table gets into it. Every step may be done again."""

    def __init__(self, aws: Aws, stack: str) -> None:
        self._aws = aws
        self._stack = stack

    def _describe(self) -> dict[str, Any]:
        found: dict[str, Any] = self._aws.call("cloudformation", "describe_stacks", StackName=self._stack)[
            "Stacks"
        ][0]
        return found

    def settle(self) -> str:
        """Wait until nothing changes the stack any more. Return its state."""

        def is_settled() -> bool:
            state: str = self._describe()["StackStatus"]
            return not state.endswith("_IN_PROGRESS") or state == "REVIEW_IN_PROGRESS"

        self._aws.wait(f"Waiting for {self._stack}", is_settled, seconds=HOUR)
        state: str = self._describe()["StackStatus"]
        return state

    def table(self) -> tuple[str, bool]:
        """Return the table that the functions use, and whether it is a resource of the stack."""
        try:
            answer = self._aws.call(
                "cloudformation",
                "describe_stack_resources",
                StackName=self._stack,
                LogicalResourceId=TABLE,
            )
        except ClientError as error:
            if code_of(error) != "ValidationError":
                raise
            answer = {}
        for one in answer.get("StackResources", []):
            if is_there(one):
                return one["PhysicalResourceId"], True
        outputs = {one["OutputKey"]: one["OutputValue"] for one in self._describe().get("Outputs", [])}
        if "TableName" not in outputs:
            raise RestoreError(
                f"{self._stack} has no table and no output TableName: it is no stack of forklore"
            )
        return outputs["TableName"], False

    def switch(self, old: str, new: str) -> None:
        """Let the functions use the new table, and let go of the old one."""
        self._aws.tell(f"Letting {self._stack} use {new} in the place of {old}.")
        policy = self._aws.call("cloudformation", "get_stack_policy", StackName=self._stack)
        during = {"StackPolicyDuringUpdateBody": EVERYTHING} if policy.get("StackPolicyBody") else {}
        template = self._template()
        definition = template["Resources"][TABLE]
        if definition.get("DeletionPolicy") != "Retain":
            raise RestoreError("the template would delete the old table: its DeletionPolicy is not Retain")
        changed = without_table(template, self._names(new), before=self._names(old))
        changed["Metadata"] = {**changed.get("Metadata", {}), "Restored": {TABLE: definition}}
        self._aws.call(
            "cloudformation",
            "update_stack",
            StackName=self._stack,
            **self._body(changed),
            Parameters=self._parameters(),
            Capabilities=CAPABILITIES,
            **during,
        )
        self._succeed("UPDATE_COMPLETE")

    def _names(self, table: str) -> dict[str, str]:
        """Return what the template can say of a table, under "Ref" and names of attributes."""
        described = self._aws.call("dynamodb", "describe_table", TableName=table)["Table"]
        names = {"Ref": table, "Arn": described["TableArn"]}
        if described.get("LatestStreamArn"):
            names["StreamArn"] = described["LatestStreamArn"]
        return names

    def adopt(self, table: str) -> None:
        """Make the table, which the functions use, the stack's `Table`. It may be that already."""
        if self.table() == (table, True):
            return
        self._aws.tell(f"Making {table} a resource of {self._stack}.")
        template = self._template()
        restored = template.get("Metadata", {}).get("Restored", {})
        if TABLE not in restored:
            raise RestoreError(f"the template of {self._stack} does not say what its table was")
        template["Resources"][TABLE] = restored[TABLE]
        name = "restore-" + hashlib.sha256(table.encode()).hexdigest()[:12]
        self._drop_change_set(name)
        self._aws.call(
            "cloudformation",
            "create_change_set",
            StackName=self._stack,
            ChangeSetName=name,
            ChangeSetType="IMPORT",
            ResourcesToImport=[
                {
                    "ResourceType": "AWS::DynamoDB::Table",
                    "LogicalResourceId": TABLE,
                    "ResourceIdentifier": {"TableName": table},
                }
            ],
            **self._body(template),
            Parameters=self._parameters(),
            Capabilities=CAPABILITIES,
        )
        self._aws.wait("Preparing the import", lambda: self._is_prepared(name), seconds=HOUR)
        self._aws.call("cloudformation", "execute_change_set", StackName=self._stack, ChangeSetName=name)
        self._succeed("IMPORT_COMPLETE")

    def _is_prepared(self, name: str) -> bool:
        found = self._aws.call(
            "cloudformation", "describe_change_set", StackName=self._stack, ChangeSetName=name
        )
        if found["Status"] == "FAILED":
            raise RestoreError(f"CloudFormation refuses the import: {found.get('StatusReason')}")
        return bool(found["Status"] == "CREATE_COMPLETE")

    def _drop_change_set(self, name: str) -> None:
        """Delete what a restore that was stopped has left."""
        try:
            self._aws.call("cloudformation", "delete_change_set", StackName=self._stack, ChangeSetName=name)
        except ClientError as error:
            if code_of(error) != "ChangeSetNotFound":
                raise

    def _succeed(self, wanted: str) -> None:
        state = self.settle()
        if state != wanted:
            raise RestoreError(f"{self._stack} is {state}, not {wanted}; its events say why")

    def _template(self) -> dict[str, Any]:
        body = self._aws.call(
            "cloudformation", "get_template", StackName=self._stack, TemplateStage="Processed"
        )["TemplateBody"]
        return parse(body) if isinstance(body, str) else json.loads(json.dumps(body))

    def _parameters(self) -> list[dict[str, Any]]:
        return [
            {"ParameterKey": one["ParameterKey"], "UsePreviousValue": True}
            for one in self._describe().get("Parameters", [])
        ]

    def _body(self, template: Mapping[str, Any]) -> dict[str, str]:
        """Return a template as a parameter of a call. A long one is put into SAM's bucket."""
        text = json.dumps(template, ensure_ascii=False)
        if len(text.encode()) <= BODY_BYTES_MAX:
            return {"TemplateBody": text}
        found = self._aws.call("cloudformation", "describe_stack_resources", StackName=SAM_STACK)
        [bucket] = [
            one["PhysicalResourceId"]
            for one in found["StackResources"]
            if one["ResourceType"] == "AWS::S3::Bucket"
        ]
        key = f"{self._stack}/restore/{hashlib.sha256(text.encode()).hexdigest()}.template"
        self._aws.call("s3", "put_object", Bucket=bucket, Key=key, Body=text.encode())
        return {"TemplateURL": f"{self._aws.address('s3')}/{bucket}/{key}"}
