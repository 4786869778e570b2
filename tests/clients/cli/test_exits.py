"""Exit codes, and the line that is said of an error."""

import pytest

from forklore.cli.exits import code_of, line_of
from forklore.client import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("x"), 2),
        (errors.BadRequestError("x"), 2),
        (errors.InvocationError("x"), 2),
        (errors.NotFoundError("x", code="not_found"), 3),
        (errors.NotFoundError("x"), 2),
        (errors.UnauthorizedError("x"), 4),
        (errors.ForbiddenError("x"), 4),
        (errors.ConflictError("x"), 4),
        (errors.PreconditionFailedError("x"), 4),
        (errors.TooLargeError("x"), 4),
        (errors.MismatchError("x"), 4),
        (errors.ApiError("x", status=418), 4),
        (errors.ServerError("x"), 5),
        (errors.UnavailableError("x"), 5),
        (errors.NoAnswerError("x"), 5),
        (errors.UnexpectedAnswerError("x"), 5),
    ],
)
def test_each_kind_of_error_has_a_code(error: errors.ApiError, code: int) -> None:
    assert code_of(error) == code


def test_every_error_of_the_client_is_tried_above() -> None:
    marks = test_each_kind_of_error_has_a_code.pytestmark  # type: ignore[attr-defined]
    tried = {type(error) for error, _ in marks[0].args[1]}
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type)}

    assert {kind for kind in kinds if issubclass(kind, errors.ApiError)} == tried


def test_an_error_is_one_harmless_line() -> None:
    said = line_of(errors.ConflictError("no\nway \x1b[2J", details={"reason": "stale\n"}))

    assert said == "no way \\x1b[2J (stale\\n)"


def test_a_failure_of_the_service_names_its_request() -> None:
    assert line_of(errors.ServerError("failed", request_id="r-1")) == "failed [request r-1]"
    assert line_of(errors.NotFoundError("gone", code="not_found", request_id="r-1")) == "gone"


def test_a_404_that_is_not_forklores_doubts_the_address() -> None:
    assert line_of(errors.NotFoundError("Not Found")) == "Not Found (404: the address may be wrong)"


def test_an_error_without_words_is_named() -> None:
    assert line_of(OSError()) == "OSError"
    assert line_of(errors.NotFoundError("", code="not_found")) == "not_found"
