"""Reads template.yaml as plain values, with CloudFormation's short tags in their long form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.deployment.loading import load

PROJECT = Path(__file__).parents[2]
FUNCTION = "AWS::Serverless::Function"

Document = Mapping[str, Any]
Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """One statement of a role. resources: in the long form of their tags."""

    actions: Sequence[str]
    resources: Sequence[Any]


def read_document() -> Document:
    """Return the template."""
    return load(PROJECT / "template.yaml")


def of_type(document: Document, kind: str) -> dict[str, Properties]:
    """Return the properties of all resources of one type, by logical id."""
    return {
        name: resource.get("Properties", {})
        for name, resource in document["Resources"].items()
        if resource["Type"] == kind
    }


def statements_by_function(document: Document) -> dict[str, list[Statement]]:
    """Return the statements of each function's role."""
    roles = of_type(document, "AWS::IAM::Role")
    return {
        name: [
            Statement(_list(one["Action"]), _list(one["Resource"]))
            for policy in roles[resource_of(function["Role"])]["Policies"]
            for one in map(with_options, policy["PolicyDocument"]["Statement"])
        ]
        for name, function in of_type(document, FUNCTION).items()
    }


def with_options(value: Any) -> Any:
    """Return what `!If` gives if its condition holds, as with all options of a deployment."""
    return value["Fn::If"][1] if isinstance(value, Mapping) and "Fn::If" in value else value


def without_options(value: Any) -> Any:
    """Return what `!If` gives if its condition does not hold, as without any option."""
    return value["Fn::If"][2] if isinstance(value, Mapping) and "Fn::If" in value else value


def resource_of(value: Mapping[str, str]) -> str:
    """Return the logical id in `!Ref X` or `!GetAtt X.Arn`."""
    return value["Ref"] if "Ref" in value else value["Fn::GetAtt"].partition(".")[0]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
