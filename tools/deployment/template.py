"""What template.yaml says, as plain values: functions, what calls them, the table and the queues.

Tests compare it with the code's own definitions. Another kind of resource gets its own reader in
`read_template`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from forklore_local.server.routing import DEFAULT_ROUTE, Function, Route
from tools.deployment.loading import load

LAMBDA_DEFAULTS = {"Timeout": 3, "MemorySize": 128, "Events": {}}
TABLE_PROPERTIES = (  # the table's other properties are set after creation, or only in AWS
    "AttributeDefinitions",
    "KeySchema",
    "LocalSecondaryIndexes",
    "GlobalSecondaryIndexes",
    "VectorIndexes",
    "BillingMode",
    "ProvisionedThroughput",
)
_NOTHING = {"Ref": "AWS::NoValue"}
SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}


@dataclass(frozen=True)
class Queue:
    """One SQS queue.

    visible_after_seconds: when a message that was received and not deleted is visible again.
    receives_max: how often a message is received before it goes to the queue `dead_letters`.
    """

    name: str
    visible_after_seconds: int = 30
    receives_max: int | None = None
    dead_letters: str | None = None


@dataclass(frozen=True)
class Polled:
    """A queue that a function takes messages from.

    queue: its name. batch_size: how many messages the function gets at once.
    """

    queue: str
    batch_size: int = 10


@dataclass(frozen=True)
class TemplateFunction(Function):
    """A function with what else calls it.

    every_seconds: how often each of its schedules calls it.
    """

    polls: tuple[Polled, ...]
    every_seconds: tuple[int, ...]


@dataclass(frozen=True)
class Template:
    """The functions, and what they use.

    table: the arguments of create_table, less TableName.
    environment: the variables that hold a queue's URL, each with the name of its queue.
    """

    functions: tuple[TemplateFunction, ...]
    table: Mapping[str, Any]
    queues: tuple[Queue, ...]
    environment: Mapping[str, str]


def read_template(path: Path, *, with_options: bool = False) -> Template:
    """Return what the SAM template at `path` says.

    with_options: whether the table is the one of a deployment with all options, or with none.
    Raises OSError if the file cannot be read. Raises ValueError if it does not have exactly one
    table, or has a route that leads to no function, or a schedule that is not a rate.
    """
    document = load(path)
    resources = document["Resources"]
    routes = _routes(resources)
    defaults = LAMBDA_DEFAULTS | document.get("Globals", {}).get("Function", {})
    functions = _of_type(resources, "AWS::Serverless::Function")
    tables = list(_of_type(resources, "AWS::DynamoDB::Table").values())
    queues = _of_type(resources, "AWS::SQS::Queue")
    variables = defaults.get("Environment", {}).get("Variables", {})
    if len(tables) != 1:
        raise ValueError(f"{path.name} defines {len(tables)} tables, not one")
    table = _if(tables[0], with_options)
    return Template(
        functions=tuple(
            _function(name, defaults | found, routes.get(name, [])) for name, found in functions.items()
        ),
        table={key: table[key] for key in TABLE_PROPERTIES if key in table},
        queues=tuple(_queue(name, found) for name, found in queues.items()),
        environment={name: value["Ref"] for name, value in variables.items() if _refers_to(value, queues)},
    )


def _of_type(resources: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: one.get("Properties", {}) for name, one in resources.items() if one["Type"] == kind}


def _function(name: str, properties: Mapping[str, Any], routes: Sequence[Route]) -> TemplateFunction:
    """Return a function.

    `functions/entries/` with `app.handler` is the module `functions.entries.app`.
    """
    file, _, attribute = properties["Handler"].rpartition(".")
    events: dict[str, list[dict[str, Any]]] = {}
    for event in properties["Events"].values():
        events.setdefault(event["Type"], []).append(event.get("Properties", {}))
    return TemplateFunction(
        name=name,
        module=".".join([*PurePosixPath(properties["CodeUri"]).parts, file]),
        attribute=attribute,
        timeout_seconds=properties["Timeout"],
        memory_mb=properties["MemorySize"],
        routes=tuple(routes),
        polls=tuple(
            Polled(_logical_id(event["Queue"]), event.get("BatchSize", 10)) for event in events.get("SQS", [])
        ),
        every_seconds=tuple(_seconds(event["Schedule"]) for event in events.get("Schedule", [])),
    )


def _queue(name: str, properties: Mapping[str, Any]) -> Queue:
    redrive = properties.get("RedrivePolicy", {})
    return Queue(
        name=name,
        visible_after_seconds=properties.get("VisibilityTimeout", 30),
        receives_max=redrive.get("maxReceiveCount"),
        dead_letters=_logical_id(redrive["deadLetterTargetArn"]) if redrive else None,
    )


def _if(value: Any, holds: bool) -> Any:
    """Return a value whose every `!If` is what it gives if its condition holds, or does not."""
    match value:
        case {"Fn::If": [_, on, off]}:
            return _if(on if holds else off, holds)
        case dict():
            found = {name: _if(one, holds) for name, one in value.items()}
            return {name: one for name, one in found.items() if one != _NOTHING}
        case list():
            return [one for one in (_if(one, holds) for one in value) if one != _NOTHING]
    return value


def _logical_id(arn: Mapping[str, str]) -> str:
    """Return the resource whose ARN `!GetAtt X.Arn` takes."""
    return arn["Fn::GetAtt"].partition(".")[0]


def _refers_to(value: Any, resources: Mapping[str, Any]) -> bool:
    return isinstance(value, dict) and value.get("Ref") in resources


def _seconds(schedule: str) -> int:
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", schedule)
    if found is None:
        raise ValueError(f"a schedule must be a rate: {schedule}")
    return int(found[1]) * SECONDS[found[2]]


def _routes(resources: Mapping[str, Any]) -> dict[str, list[Route]]:
    """Return the routes of each function in the file's order, by the function's logical id."""
    integrations = _of_type(resources, "AWS::ApiGatewayV2::Integration")
    functions = _of_type(resources, "AWS::Serverless::Function")
    routes: dict[str, list[Route]] = {}
    for name, properties in _of_type(resources, "AWS::ApiGatewayV2::Route").items():
        integration = integrations.get(_named_in(properties["Target"]), {})
        function = _named_in(_chosen(integration.get("IntegrationUri", "")))
        if function not in functions:
            raise ValueError(f"{name} leads to no function")
        routes.setdefault(function, []).append(_route(properties["RouteKey"]))
    return routes


def _route(key: str) -> Route:
    method, _, path = key.partition(" ")
    if key == "$default":
        return DEFAULT_ROUTE
    if not (method.isalpha() and method.isupper() and path.startswith("/")):
        raise ValueError(f"a route key must be a method and a path, or $default: {key}")
    return Route(method, path)


def _chosen(value: Any) -> Any:
    """Return what `!If` gives without its condition, which stands for an option that is off."""
    return value["Fn::If"][2] if isinstance(value, dict) and "Fn::If" in value else value


def _named_in(text: Any) -> str:
    """Return the resource that `!Sub` names, such as X in `integrations/${X}` or `…/${X.Arn}/…`.

    Pseudo parameters such as `${AWS::Region}` are not resources. The result is empty if `!Sub`
    names no resource, or if the value is not a `!Sub`.
    """
    named = re.findall(r"\$\{(\w+)(?:\.\w+)?\}", text["Fn::Sub"] if isinstance(text, dict) else "")
    return named[-1] if named else ""
