"""What template.yaml says, as plain values: the functions with their routes, and the table.

The file is read here and nowhere else; another kind of resource gets a reader of its own in `read_template`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

ANY = "ANY"
LAMBDA_DEFAULTS = {"Timeout": 3, "MemorySize": 128, "Events": {}}
TABLE_PROPERTIES = (  # what else the template says of a table is for after creation, or for AWS alone
    "AttributeDefinitions",
    "KeySchema",
    "LocalSecondaryIndexes",
    "GlobalSecondaryIndexes",
    "BillingMode",
    "ProvisionedThroughput",
)


@dataclass(frozen=True)
class Route:
    """One route of the HTTP API: an upper-case method or `ANY`, and a path with `{name}` and `{name+}`.

    The `$default` route has an empty path.
    """

    method: str
    path: str

    @property
    def key(self) -> str:
        """The route key as events show it: `GET /v1/health` or `$default`."""
        return f"{self.method} {self.path}" if self.path else "$default"


@dataclass(frozen=True)
class Function:
    """One Lambda function: its logical id, where its handler is imported from, its limits, its routes."""

    name: str
    module: str
    attribute: str
    timeout_seconds: int
    memory_mb: int
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Template:
    """The functions in the order of the file, and the table as arguments of create_table, less TableName."""

    functions: tuple[Function, ...]
    table: Mapping[str, Any]


def read_template(path: Path) -> Template:
    """Return what the SAM template at `path` says.

    Raises OSError if it cannot be read, ValueError if it has not exactly one table, or half a route.
    """
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_CloudFormationLoader)
    resources = document["Resources"]
    defaults = LAMBDA_DEFAULTS | document.get("Globals", {}).get("Function", {})
    functions = _of_type(resources, "AWS::Serverless::Function")
    tables = list(_of_type(resources, "AWS::DynamoDB::Table").values())
    if len(tables) != 1:
        raise ValueError(f"{path.name} defines {len(tables)} tables, not one")
    return Template(
        functions=tuple(_function(name, defaults | found) for name, found in functions.items()),
        table={key: tables[0][key] for key in TABLE_PROPERTIES if key in tables[0]},
    )


def _of_type(resources: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: one.get("Properties", {}) for name, one in resources.items() if one["Type"] == kind}


def _function(name: str, properties: Mapping[str, Any]) -> Function:
    """`functions/entries/` and `app.handler` are imported as `functions.entries.app`, attribute `handler`."""
    file, _, attribute = properties["Handler"].rpartition(".")
    events = [event for event in properties["Events"].values() if event["Type"] == "HttpApi"]
    return Function(
        name=name,
        module=".".join([*PurePosixPath(properties["CodeUri"]).parts, file]),
        attribute=attribute,
        timeout_seconds=properties["Timeout"],
        memory_mb=properties["MemorySize"],
        routes=tuple(_route(event.get("Properties", {})) for event in events),
    )


def _route(properties: Mapping[str, Any]) -> Route:
    method, path = properties.get("Method"), properties.get("Path")
    if (method is None) != (path is None):
        raise ValueError(f"a route needs both Method and Path, or neither: {method or path}")
    return Route(method.upper(), path) if method and path else Route(ANY, "")


def _long_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    """Return `{"Ref": "X"}` for `!Ref X`, and `{"Fn::Name": …}` for any other tag."""
    several = isinstance(node, yaml.SequenceNode)
    value = [loader.construct_object(one, deep=True) for one in node.value] if several else node.value
    return {suffix if suffix == "Ref" else f"Fn::{suffix}": value}


class _CloudFormationLoader(yaml.SafeLoader):
    yaml_multi_constructors = {**yaml.SafeLoader.yaml_multi_constructors, "!": _long_form}  # noqa: RUF012
