"""The errors that a caller of the client sees: one family, by status."""

from collections.abc import Mapping
from typing import Any

NOT_FOUND_CODE, NO_ROUTE = "not_found", "no such route"
"""What forklore says beside a 404, and how it says that it does not know the path."""


class ApiError(Exception):
    """A call failed.

    status: of the answer; None without one. code: the service's word for the error. reason: why a
    conflict is one, such as `stale`. field: the wrong member of the request. details: all that the
    service says. request_id: for its log. attempts: how often the call was sent; after more than
    one, an earlier attempt may have taken effect. idempotency_key: what the call was sent with; to
    repeat it with the same key never doubles it. None for a call that has no key.
    """

    status: int | None = None

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        status: int | None = None,
        attempts: int = 1,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details: Mapping[str, Any] = details or {}
        self.request_id = request_id
        if status is not None:
            self.status = status
        self.attempts = attempts
        self.idempotency_key = idempotency_key

    @property
    def reason(self) -> str | None:
        """Why: a word of the service for programs, beside the message for people."""
        return _text(self.details.get("reason"))

    @property
    def field(self) -> str | None:
        """The wrong member of the request."""
        return _text(self.details.get("field"))

    def __str__(self) -> str:
        said = " ".join(str(part) for part in (self.status, self.code) if part)
        where = f" ({self.field})" if self.field else ""
        seen = f" [request {self.request_id}]" if self.request_id else ""
        return f"{said}: {self.message}{where}{seen}" if said else f"{self.message}{where}"


class InputError(ApiError, ValueError):
    """The call cannot be sent as it is. Nothing was sent. `field` names the wrong argument."""


class NoAnswerError(ApiError):
    """No answer came in time. The call may have taken effect: repeat it with `idempotency_key`."""


class UnexpectedAnswerError(ApiError):
    """The answer is not forklore's. The call may have taken effect."""


class InvocationError(ApiError):
    """AWS did not run the function: its name, the permission or the credentials are wrong."""


class BadRequestError(ApiError):
    """The call can never succeed as it was sent."""

    status = 400


class UnauthorizedError(ApiError):
    """The credentials are missing or bad."""

    status = 401


class ForbiddenError(ApiError):
    """The caller may not do this."""

    status = 403


class NotFoundError(ApiError):
    """There is no such thing, or it is deleted, or the caller may not see it."""

    status = 404


class ConflictError(ApiError):
    """Somebody was faster, or the thing is in another state. `reason` says what; never retried.

    After more than one attempt, somebody may be an earlier attempt of the same call.
    """

    status = 409


class PreconditionFailedError(ApiError):
    """A precondition does not hold."""

    status = 412


class TooLargeError(ApiError):
    """More than the service takes at once."""

    status = 413


class MismatchError(ApiError):
    """The idempotency key was used with another request."""

    status = 422


class ServerError(ApiError):
    """The service failed, after all retries."""

    status = 500


class UnavailableError(ServerError):
    """The service is busy, after all retries."""

    status = 503


_BY_STATUS: Mapping[int | None, type[ApiError]] = {
    kind.status: kind
    for kind in (
        *(BadRequestError, UnauthorizedError, ForbiddenError, NotFoundError, ConflictError),
        *(PreconditionFailedError, TooLargeError, MismatchError, ServerError, UnavailableError),
    )
}


def is_forklores(error: NotFoundError) -> bool:
    """Tell whether a 404 speaks of a conversation, and not of the address."""
    return error.code == NOT_FOUND_CODE and error.message != NO_ROUTE


def error_of(status: int) -> type[ApiError]:
    """Return the kind of error for a status of 300 and more.

    >>> error_of(409).__name__, error_of(418).__name__, error_of(502).__name__
    ('ConflictError', 'ApiError', 'ServerError')
    """
    return _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
