"""From an answer to a result or an error."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from forklore.client.calls import RawAnswer
from forklore.client.errors import ApiError, UnexpectedAnswerError, error_of

MESSAGE_CHARACTERS_MAX = 300
R = TypeVar("R")


def result_of(answer: RawAnswer, made: Callable[[Any], R]) -> R:
    """Return the result that a success holds. made: makes it from the answer's fields.

    Raises the ApiError of another status, UnexpectedAnswerError for what is not forklore's.
    """
    if not 200 <= answer.status < 300:
        raise failure(answer)
    try:
        value = answer.value()
    except ValueError as error:
        raise UnexpectedAnswerError(
            f"the answer {answer.status} is not JSON",
            request_id=answer.request_id,
            attempts=answer.attempts,
            idempotency_key=answer.idempotency_key,
        ) from error
    try:
        return made(value)
    except UnexpectedAnswerError as error:
        error.idempotency_key = answer.idempotency_key
        raise


def nothing(_given: Any) -> None:
    """The result of an operation whose answer has no body."""


def failure(answer: RawAnswer) -> ApiError:
    """Return the error that an answer stands for. It also reads errors of API Gateway."""
    try:
        said = answer.value()
    except ValueError:
        said = None
    said = said if isinstance(said, Mapping) else {}
    details = said.get("details")
    details = dict(details) if isinstance(details, Mapping) else {}
    words = (details.pop("message", None), said.get("message"), said.get("error"))
    message = next((word for word in words if isinstance(word, str) and word), "no explanation")
    code, request_id = said.get("code"), said.get("requestId")
    return error_of(answer.status)(
        message[:MESSAGE_CHARACTERS_MAX],
        code=code if isinstance(code, str) else "",
        details=details,
        request_id=request_id if isinstance(request_id, str) else answer.request_id,
        status=answer.status,
        attempts=answer.attempts,
        idempotency_key=answer.idempotency_key,
    )
