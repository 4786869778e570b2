"""The OpenAPI document is complete, and agrees with the operations."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from forklore_local.server import examples, refusals
from forklore_service import errors
from forklore_service.api import answer_models, operations
from forklore_service.api.operation import Operation, checked
from forklore_service.api.requests import KEPT_AS_TEXT
from forklore_service.domain.jsontext import read_object
from tools.harness.gateway import PROJECT

TEXT = (PROJECT / "docs" / "openapi.json").read_text(encoding="utf-8")
DOCUMENT = json.loads(TEXT)
SAMPLES = {operation.name: operation for operation in operations.ROUTES}
BY_GATEWAY = {"413", "429", "500", "503"}


def described(operation: Operation) -> Any:
    return DOCUMENT["paths"][operation.path][operation.method.lower()]


def resolved(part: Any) -> Any:
    """Return the target of a reference; anything else unchanged."""
    if "$ref" not in part:
        return part
    found = DOCUMENT
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def responses() -> Iterator[tuple[Operation, str, Any]]:
    for operation in operations.ROUTES:
        for status, response in described(operation)["responses"].items():
            yield operation, status, resolved(response)


def codes_in(response: Any) -> set[str]:
    """Return the error codes that a response's schema permits."""
    [schema] = [content["schema"] for content in response["content"].values()]
    own = [choice for choice in schema.get("anyOf", [schema]) if "properties" in choice]
    return {code for choice in own for code in choice["properties"]["code"]["enum"]}


def test_every_operation_is_described_at_its_route_and_nothing_else() -> None:
    found = {
        (path, method.upper(), one["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, one in methods.items()
    }

    assert found == {(one.path, one.method, one.name) for one in operations.ROUTES}


def test_every_reference_has_a_target_and_every_component_is_referenced() -> None:
    text = json.dumps(DOCUMENT)
    wanted = set(re.findall(r'"#/components/(\w+)/([\w.-]+)"', text))
    there = {(kind, name) for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]}

    assert there - wanted == {("responses", name) for _, name in there - wanted if name.startswith("Gateway")}
    assert wanted <= there


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_every_status_of_an_operation_is_there(operation: Operation) -> None:
    own = {operation.status, *operation.also, *operation.errors}
    always = {400, 405, 500, 503, *([] if operation.is_public else [401])}
    with_body = {413, 415} if operation.body else set()
    with_tag = {304} if operation.takes_if_none_match else set()
    with_key = {422} if operation.takes_idempotency_key else set()
    wanted = {str(status) for status in own | always | with_body | with_tag | with_key} | BY_GATEWAY

    assert set(described(operation)["responses"]) == wanted


def test_the_documented_errors_are_exactly_those_that_operations_can_answer() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.ForkloreError)
    ]
    answered = {
        (int(status), code)
        for _, status, response in responses()
        if int(status) >= 400 and "headers" in response
        for code in codes_in(response)
    }

    only_on_one_machine = {(errors.StoreFailedError.status, errors.StoreFailedError.code)}
    assert answered == {(kind.status, kind.code) for kind in kinds} - only_on_one_machine
    assert set(DOCUMENT["components"]["schemas"]["Error"]["properties"]["code"]["enum"]) == {
        kind.code for kind in kinds
    }


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_an_operation_has_the_statuses_of_its_own_errors(operation: Operation) -> None:
    assert {kind.status for kind in operation.own_errors} <= set(refusals.statuses_of(operation))


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_the_parameters_are_those_of_the_operation(operation: Operation) -> None:
    found = {(one["in"], one["name"]): one for one in described(operation)["parameters"]}
    wanted = {
        *(("path", name) for name in operation.path_names),
        *(("query", field.alias) for field in operation.query.model_fields.values()),
        *([("header", "Idempotency-Key")] if operation.takes_idempotency_key else []),
        *([("header", "If-Match")] if operation.takes_if_match else []),
        *([("header", "If-None-Match")] if operation.takes_if_none_match else []),
    }

    assert set(found) == wanted
    required = {field.alias for field in operation.query.model_fields.values() if field.is_required()}
    assert all(
        one["required"] == (where == "path" or (where == "query" and name in required))
        for (where, name), one in found.items()
    )
    assert ("requestBody" in described(operation)) == (operation.body is not None)


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_the_credentials_are_those_of_a_user_or_an_agent(operation: Operation) -> None:
    security = described(operation)["security"]

    assert security == ([] if operation.is_public else [{"user": []}, {"user": [], "client": []}])
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"user", "client"}


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_the_example_of_a_request_is_valid(operation: Operation) -> None:
    one = described(operation)

    for parameter in one["parameters"]:
        if "example" in parameter and "pattern" in parameter["schema"]:
            assert re.search(parameter["schema"]["pattern"], parameter["example"])
    if operation.body is not None:
        example = one["requestBody"]["content"]["application/json"]["example"]
        checked(operation.body, read_object(json.dumps(example), kept=KEPT_AS_TEXT))


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_a_body_is_required_where_an_empty_one_is_refused(operation: Operation) -> None:
    if operation.body is None:
        return
    required = described(operation)["requestBody"]["required"]
    try:
        checked(operation.body, {})
    except errors.ValidationError:
        assert required
    else:
        assert not required


def test_every_example_of_an_answer_fits_its_schema() -> None:
    for operation, status, response in responses():
        models: list[type[BaseModel]] = [operation.result or answer_models.Error]
        found = [
            held
            for content in response.get("content", {}).values()
            for held in [
                *([content["example"]] if "example" in content else []),
                *(example["value"] for example in content.get("examples", {}).values()),
            ]
        ]
        if int(status) >= 400:
            models = [answer_models.Error]
        has_body = int(status) >= 400 or (operation.result is not None and status != "304")
        assert bool(found) == has_body, (operation.name, status)
        for held in found:
            if set(held) == {"message"}:
                continue
            models[0].model_validate_json(json.dumps(held), strict=True)
        if int(status) >= 400 and "examples" in str(response):
            assert {held["code"] for held in found} == codes_in(response)


def test_every_model_has_an_example_that_is_used() -> None:
    assert set(examples.BODIES) == {one.body for one in operations.ROUTES if one.body is not None}
    assert set(examples.ANSWERS) == {one.result for one in operations.ROUTES if one.result is not None}


def test_objects_say_whether_they_permit_other_fields() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    closed = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    objects = {name for name, schema in schemas.items() if schema.get("type") == "object"}

    assert objects - closed == {"ErrorDetails", "GatewayError"}


@pytest.mark.parametrize(
    ("text", "fits"),
    [("history", True), ("HISTORY", True), ("Context", True), ("x", False), ("historycontext", False)],
)
def test_a_channel_fits_its_schema_in_any_case(text: str, fits: bool) -> None:
    [channel] = [p for p in described(SAMPLES["listEntries"])["parameters"] if p["name"] == "channel"]

    assert bool(re.search(channel["schema"]["pattern"], text)) == fits
