"""The OpenAPI 3.1 document of the HTTP API, made from the operations. Nothing in Lambda needs it."""

import re
from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from forklore.edge import operations, results
from forklore.edge.fields import UUID_PATTERN
from forklore.edge.operation import IDEMPOTENCY_KEY_CHARACTERS_MAX, Operation

_REF = "#/components/schemas/{model}"
_SECURITY = {
    "user": {"type": "http", "scheme": "bearer", "description": "Locally, the token is the user id."},
    "client": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "Makes it an agent."},
}

Json = dict[str, Any]


def document() -> Json:
    """Return the document as plain JSON values."""
    models = [(model, "validation") for model in _models(operations.ALL)]
    _, definitions = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
    schemas = {name: _without_defaults(schema) for name, schema in definitions["$defs"].items()}
    paths: dict[str, Json] = {}
    for operation in operations.ALL:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "forklore",
            "version": version("forklore"),
            "description": "A conversation store for AI agents that forks like git.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": _SECURITY},
    }


def _models(served: Iterable[Operation]) -> Iterable[type[BaseModel]]:
    for operation in served:
        yield from (m for m in (operation.query, operation.body, operation.result) if m is not None)
    yield results.Error


def _without_defaults(schema: Json) -> Json:
    """Return an answer's schema without the defaults that only say that a member may be absent."""
    for member in schema.get("properties", {}).values():
        if member.get("default") in ("", {}, None) or "enum" in member:
            member.pop("default", None)
    return schema


def _operation(operation: Operation, schemas: Json) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": (operation.run.__doc__ or "").partition("\n")[0],
        "parameters": [*_path_parameters(operation), *_query_parameters(operation, schemas)],
        "responses": _responses(operation),
        "security": [] if operation.is_public else [{"user": []}, {"user": [], "client": []}],
    }
    if operation.method == "POST":
        described["parameters"].append(
            _header(
                "Idempotency-Key",
                {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARACTERS_MAX},
                "The effect happens once; a replay within 24 hours gets the same answer.",
            )
        )
    if operation.takes_if_match:
        described["parameters"].append(
            _header(
                "If-Match",
                {"type": "string", "pattern": f'^"{UUID_PATTERN[1:-1]}"$'},
                "Only if this is the last history entry of the view.",
            )
        )
    if operation.body is not None:
        described["requestBody"] = {
            "content": {"application/json": {"schema": {"$ref": _REF.format(model=operation.body.__name__)}}},
            "required": operation.name == "appendEntry",
        }
    return described


def _path_parameters(operation: Operation) -> list[Json]:
    schema: Json = {"type": "string", "pattern": UUID_PATTERN}
    user: Json = {"type": "string", "minLength": 1, "maxLength": 255}
    return [
        {"name": name, "in": "path", "required": True, "schema": user if name == "userId" else schema}
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]


def _query_parameters(operation: Operation, schemas: Json) -> list[Json]:
    properties: Json = schemas[operation.query.__name__].get("properties", {})
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: Json) -> Json:
    """Return a field's schema as a query string can hold it."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    rest = {name: held for name, held in schema.items() if name not in ("anyOf", "title")}
    if not choices:
        return rest
    return {**rest, **choices[0]} if len(choices) == 1 else {**rest, "anyOf": choices}


def _header(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}


def _responses(operation: Operation) -> Json:
    errors = {400, *operation.errors, 503}
    if not operation.is_public:
        errors.add(401)
    if operation.body is not None:
        errors |= {413, 415}
    if operation.method == "POST":
        errors.add(422)
    return {
        **{
            str(status): _response(status, operation.result) for status in (operation.status, *operation.also)
        },
        **{str(status): _response(status, results.Error) for status in sorted(errors)},
    }


def _response(status: int, model: type[BaseModel] | None) -> Json:
    if model is None:
        return {"description": HTTPStatus(status).phrase}
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": schema}}}
