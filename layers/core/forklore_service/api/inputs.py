"""The input of an operation as one flat JSON object, for callers that do not use HTTP.

The object holds the fields of the path, the query and the body side by side.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from forklore_service.api.operation import Fields, Operation
from forklore_service.api.operations import named
from forklore_service.api.requests import KEPT_AS_TEXT
from forklore_service.domain.jsontext import JsonText, check_value, read_object, text_of, to_json
from forklore_service.errors import PayloadTooLargeError, ValidationError
from forklore_service.limits import BODY_CHARACTERS_MAX

IDEMPOTENCY_KEY, IF_MATCH = "idempotencyKey", "ifMatch"
"""Fields that are headers in HTTP."""
CONTENT_JSON = "contentJson"
"""The field that holds an entry's `content` as JSON text, so that its spelling is kept."""


def operation_named(name: object) -> Operation:
    """Return the operation with this name. Raises ValidationError if there is none."""
    found = named(name) if isinstance(name, str) else None
    if found is None:
        raise ValidationError("there is no such operation", field="operation")
    return found


class Input(TypedDict):
    """What an input gives to an operation."""

    path: Mapping[str, str]
    query: Fields
    body: Fields
    idempotency_key: str | None
    if_match: str | None


def read_input(operation: Operation, given: object) -> Input:
    """Return what the input `given` stands for.

    Fields of the path and the query go there, all others to the body. For an operation without a
    body they go to the query, which rejects unknown names.
    Raises ValidationError or PayloadTooLargeError.
    """
    if not isinstance(given, Mapping | None):
        raise ValidationError("must be an object", field="input")
    fields = dict(given or {})
    key = _take_text(fields, IDEMPOTENCY_KEY) if operation.takes_idempotency_key else None
    match = _take_text(fields, IF_MATCH) if operation.takes_if_match else None
    text = to_json(_as_json_text(fields))
    if len(text) > BODY_CHARACTERS_MAX:
        raise PayloadTooLargeError(f"an input is at most {BODY_CHARACTERS_MAX} characters of JSON")
    body = read_object(text, kept=KEPT_AS_TEXT)
    path = {name: _text_of(body.pop(name, None), name) for name in operation.path_names}
    known = operation.query_names
    query = {name: body.pop(name) for name in list(body) if operation.body is None or name in known}
    return Input(
        path=path,
        query={name: held for name, held in query.items() if held is not None or name not in known},
        body=body,
        idempotency_key=key,
        if_match=match if match is None or match.startswith('"') else f'"{match}"',
    )


def _take_text(fields: dict[str, Any], name: str) -> str | None:
    """Remove an optional field and return it."""
    value = fields.pop(name, None)
    return None if value is None else _text_of(value, name)


def _text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValidationError("must be text", field=name)
    return value


def _as_json_text(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input's fields as JSON text, with the text of `contentJson` as `content`."""
    texts: dict[str, Any] = _with_content(fields)
    entries = fields.get("entries")
    if isinstance(entries, list):
        texts["entries"] = [
            _with_content(entry) if isinstance(entry, Mapping) else text_of(entry) for entry in entries
        ]
    context = fields.get("context")
    if isinstance(context, Mapping):
        texts["context"] = _with_content(context)
    return texts


def _with_content(fields: Mapping[str, Any]) -> dict[str, JsonText]:
    texts = {name: text_of(held) for name, held in fields.items() if name != CONTENT_JSON}
    content = fields.get(CONTENT_JSON)
    if content is None:
        return texts
    if not isinstance(content, str):
        raise ValidationError("must be text", field=CONTENT_JSON)
    if fields.get("content") is not None:
        raise ValidationError("content and contentJson exclude each other", field=CONTENT_JSON)
    # The text is checked alone first. Otherwise it could end its field and begin another one.
    return {**texts, "content": check_value(content)}
