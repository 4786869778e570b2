"""The form of an error, and helpers for tables of requests that are refused."""

from typing import Any

import pytest

from forklore_service.api.answer_models import Error
from tests.service.aws.world import JSON, Ask
from tools.harness.gateway import Answer

ERROR_CHARACTERS_MAX = 700
"""The longest error. An error names what is wrong; it does not repeat the request's content."""
VALIDATION, CURSOR, NOT_FOUND, FORBIDDEN, CONFLICT = (
    (400, "validation_error"),
    (400, "invalid_cursor"),
    (404, "not_found"),
    (403, "forbidden"),
    (409, "conflict"),
)
NO_SEARCH_TYPE = (501, "search_type_unavailable")
UNAUTHORIZED, WRONG_METHOD, WRONG_TYPE = (
    (401, "unauthorized"),
    (405, "method_not_allowed"),
    (415, "unsupported_media_type"),
)


def bad(name: str, ask: Ask, expected: tuple[int, str] = VALIDATION) -> Any:
    """Return one row of a table of requests that are refused."""
    return pytest.param(ask, expected, id=name)


def assert_refused(answer: Answer, expected: tuple[int, str]) -> None:
    """Check the status, the code and the form of an error."""
    assert (answer.status, answer.code) == expected, answer.text[:2000]
    error = Error.model_validate_json(answer.text, strict=True)
    assert error.request_id == answer.headers["x-request-id"] != ""
    assert error.details.message
    assert answer.headers["content-type"] == JSON
    assert ("www-authenticate" in answer.headers) == (answer.status == 401)
    assert ("allow" in answer.headers) == (answer.status == 405)
    assert len(answer.text) <= ERROR_CHARACTERS_MAX, answer.text[:2000]


def without_request_id(answer: Answer) -> dict[str, Any]:
    return {name: held for name, held in answer.json.items() if name != "requestId"}
