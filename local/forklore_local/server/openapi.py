"""The OpenAPI 3.1 document of the HTTP API, made from the operations. Nothing in Lambda needs it.

`python -m forklore_local.server.openapi` prints it.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from forklore_local.server import examples, guide, refusals
from forklore_local.server.log import end_with_reader
from forklore_service.api import answer_models, operations
from forklore_service.api.fields import UUID_PATTERN
from forklore_service.api.operation import Operation
from forklore_service.errors import PHRASES
from forklore_service.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX

_REF = "#/components/schemas/{model}"
_REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')
_SECURITY = {
    "user": {
        "type": "http",
        "scheme": "bearer",
        "description": "A JWT of the configured issuer. On the local server the token is the user id.",
    },
    "client": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "Beside a user's token: makes the request an agent's, and names its client.",
    },
}
_BY_GATEWAY = {
    413: "Request Entity Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""What API Gateway or Lambda may answer in their own words."""
_GATEWAY = "GatewayError"
_GATEWAY_SCHEMA = {
    "type": "object",
    "description": "What API Gateway answers itself, before or instead of forklore.",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}
_MESSAGES = {kind.code: (kind.__doc__ or "").partition("\n")[0] for kind in refusals.every_error()}
_REQUEST_ID = {
    "X-Request-Id": {
        "description": "The request's own, where it had a valid one.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_.:=+/-]{1,128}$"},
    }
}
_WATCHED = {
    **_REQUEST_ID,
    "ETag": {
        "description": "A digest of the body. `If-None-Match` takes it.",
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'},
    },
    "Forklore-Ask-Again-Ms": {
        "description": "After how many milliseconds to ask for news; 0: at once, with `wait`.",
        "schema": {"type": "integer", "enum": [0, 400, 1000, 3000]},
    },
}

_LED = {
    **_WATCHED,
    "ETag": {
        "description": "The `sha256` of the bytes. `If-None-Match` takes it.",
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{64}"$'},
    },
}
_LOCATION = {"Location": {"description": "Where the bytes are.", "schema": {"type": "string"}}}

Json = dict[str, Any]


def document() -> Json:
    """Return the document as plain JSON values."""
    models = [(model, "validation") for model in _models(operations.ROUTES)]
    _, definitions = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
    schemas = {name: _cleaned(schema) for name, schema in definitions["$defs"].items()}
    schemas["ErrorDetails"]["properties"] |= refusals.MEMBERS
    schemas["Error"]["properties"]["code"]["enum"] = sorted(kind.code for kind in refusals.every_error())
    schemas[_GATEWAY] = _GATEWAY_SCHEMA
    responses = {
        _name(operation, status): _refusal(operation, status)
        for operation in operations.ROUTES
        for status in refusals.statuses_of(operation)
    } | {_GATEWAY + str(status): _of_gateway(status) for status in _BY_GATEWAY}
    tags = {operation.name: _tag(operation) for operation in operations.ALL}
    paths: dict[str, Json] = {}
    for operation in operations.ROUTES:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "forklore",
            "version": version("forklore"),
            "description": guide.introduction(tags),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "responses": dict(sorted(responses.items())),
            "schemas": _used(schemas, [paths, responses]),
            "securitySchemes": _SECURITY,
        },
    }


def text() -> str:
    """Return the document as it is in the repository. The same operations give the same text."""
    return json.dumps(document(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _models(served: Iterable[Operation]) -> Iterable[type[BaseModel]]:
    for operation in served:
        yield from (m for m in (operation.query, operation.body, operation.result) if m is not None)
    yield answer_models.Error


def _used(schemas: Json, users: Any) -> Json:
    """Return the schemas that `users` refer to, directly or by another one."""
    used: set[str] = set()
    new = set(_REFERENCE.findall(json.dumps(users)))
    while new:
        used |= new
        new = set(_REFERENCE.findall(json.dumps([schemas[name] for name in new]))) - used
    return {name: schemas[name] for name in sorted(used)}


def _cleaned(schema: Json) -> Json:
    """Return a schema without generated titles and without defaults that only mean "absent"."""
    for member in schema.get("properties", {}).values():
        if member.get("default") in ("", {}, None) or "enum" in member:
            member.pop("default", None)
        member.pop("title", None)
    schema.pop("title", None)
    return schema


def _operation(operation: Operation, schemas: Json) -> Json:
    summary, description = guide.documentation(operation)
    described: Json = {
        "operationId": operation.name,
        "summary": summary,
        "description": description,
        "tags": [_tag(operation)],
        "parameters": [
            *_path_parameters(operation),
            *_query_parameters(operation, schemas),
            *_header_parameters(operation),
        ],
        "responses": _responses(operation),
        "security": [] if operation.is_public else [{"user": []}, {"user": [], "client": []}],
    }
    if operation.body is not None:
        name = operation.body.__name__
        schema = {"$ref": _REF.format(model=name)}
        content = {"schema": schema, "example": examples.BODIES[operation.body]}
        described["requestBody"] = {
            "content": {"application/json": content},
            "required": _needs_body(schemas[name]),
        }
    return described


def _tag(operation: Operation) -> str:
    return "administration" if operation.role else operation.run.__module__.rpartition(".")[2]


def _needs_body(schema: Json) -> bool:
    """Tell whether an absent body, which is an empty object, is refused."""
    return bool(schema.get("required")) or not schema.keys().isdisjoint(("oneOf", "minProperties"))


def _path_parameters(operation: Operation) -> list[Json]:
    schema: Json = {"type": "string", "pattern": UUID_PATTERN}
    user: Json = {"type": "string", "pattern": "^[A-Za-z0-9_.@:+-]+$", "maxLength": 255}
    secret: Json = {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"userId": user, "secret": secret}.get(name, schema),
            "example": examples.IN_PATHS[name],
        }
        for name in operation.path_names
    ]


def _query_parameters(operation: Operation, schemas: Json) -> list[Json]:
    schema: Json = schemas[operation.query.__name__]
    properties: Json = schema.get("properties", {})
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", []),
            "schema": _without_null(held),
            **({"example": examples.IN_PATHS[name]} if name in schema.get("required", []) else {}),
        }
        for name, held in properties.items()
    ]


def _without_null(schema: Json) -> Json:
    """Return a field's schema as a query string can hold it."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    rest = {name: held for name, held in schema.items() if name not in ("anyOf", "title")}
    if not choices:
        return rest
    return {**rest, **choices[0]} if len(choices) == 1 else {**rest, "anyOf": choices}


def _header_parameters(operation: Operation) -> list[Json]:
    parameters = []
    if operation.takes_idempotency_key:
        key = {
            "type": "string",
            "pattern": "^[!-~]([ -~]*[!-~])?$",
            "maxLength": IDEMPOTENCY_KEY_CHARACTERS_MAX,
        }
        told = "The effect happens once; a replay within 24 hours gets the same answer."
        parameters.append(_header("Idempotency-Key", key, told))
    if operation.takes_if_match:
        form = operation.match
        quoted = {"type": "string", "pattern": f'^"{form.pattern[1:-1]}"$'}
        parameters.append(_header("If-Match", quoted, form.meaning))
    if operation.takes_if_none_match:
        told = "304 without a body if the answer still has this `ETag`."
        parameters.append(_header("If-None-Match", {"type": "string"}, told))
    return parameters


def _header(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}


def _responses(operation: Operation) -> Json:
    good = {str(status): _answer(operation, status) for status in (operation.status, *operation.also)}
    refused = {str(status): _name(operation, status) for status in refusals.statuses_of(operation)}
    by_gateway = {str(status): _GATEWAY + str(status) for status in _BY_GATEWAY}
    others = {
        status: {"$ref": f"#/components/responses/{name}"} for status, name in (by_gateway | refused).items()
    }
    told = _told_of(operation)
    same = {"304": {"description": "Not Modified", "headers": told}} if operation.takes_if_none_match else {}
    return dict(sorted({**good, **same, **others}.items()))


def _name(operation: Operation, status: int) -> str:
    """Return the name of an error's response.

    Operations whose errors have the same codes share one response.
    """
    return "-".join([f"Error{status}", *refusals.codes_of(operation, status)])


def _told_of(operation: Operation) -> Json:
    """Return the headers of an answer, but for `Location`."""
    if operation.status == HTTPStatus.FOUND:
        return _LED
    return _WATCHED if operation.takes_if_none_match else _REQUEST_ID


def _answer(operation: Operation, status: int) -> Json:
    headers = _told_of(operation) | (_LOCATION if status == HTTPStatus.FOUND else {})
    answer: Json = {"description": HTTPStatus(status).phrase, "headers": headers}
    if operation.result is not None:
        schema = {"$ref": _REF.format(model=operation.result.__name__)}
        example = examples.ANSWERS.get(operation.result)
        assert example, f"server/examples.py has no answer of {operation.result.__name__}"
        answer["content"] = {"application/json": {"schema": schema, "example": example}}
    return answer


def _refusal(operation: Operation, status: int) -> Json:
    codes = refusals.codes_of(operation, status)
    phrase = PHRASES[status]
    schema: Json = {
        "allOf": [{"$ref": _REF.format(model="Error")}],
        "properties": {"code": {"enum": codes}},
    }
    if status in _BY_GATEWAY:
        schema = {"anyOf": [schema, {"$ref": _REF.format(model=_GATEWAY)}]}
    headers: Mapping[str, Any] = _REQUEST_ID
    if status in refusals.HEADERS:
        name, told = refusals.HEADERS[status]
        headers = {**_REQUEST_ID, name: {"description": told, "schema": {"type": "string"}}}
    if status in _BY_GATEWAY:
        headers = {name: {**header, "required": False} for name, header in headers.items()}
    return {
        "description": phrase + ": " + ", ".join(f"`{code}`" for code in codes),
        "headers": headers,
        "content": {
            "application/json": {
                "schema": schema,
                "examples": {
                    code: {"value": examples.error(phrase, code, _MESSAGES[code])} for code in codes
                },
            }
        },
    }


def _of_gateway(status: int) -> Json:
    phrase = _BY_GATEWAY[status]
    schema = {"$ref": _REF.format(model=_GATEWAY)}
    content = {"application/json": {"schema": schema, "example": {"message": phrase}}}
    return {"description": f"{phrase}, in API Gateway's own words", "content": content}


if __name__ == "__main__":
    end_with_reader()
    sys.stdout.write(text())
