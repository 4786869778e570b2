"""Every error raised on purpose, with the status and code that a caller sees."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

SHOWN_CHARACTERS_MAX = 80
PHRASES: Mapping[int, str] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}
"""The name of each status, as in RFC 9110, section 15. Python's names depend on its version."""


def brief(value: str | None) -> str:
    """Return a caller's text for a message: quoted, and cut if it is long."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


class ForkloreError(Exception):
    """Something a caller is told. `message` is for people; programs read `status` and `code`."""

    status: ClassVar[int] = 500
    code: str = "internal_error"

    def __init__(self, message: str, *, field: str | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = {
            "message": message,
            **({"field": field} if field is not None else {}),
            **details,
        }


class ValidationError(ForkloreError):
    """The request can never succeed as sent."""

    status = 400
    code = "validation_error"


class InvalidCursorError(ForkloreError):
    """A cursor that is no position of the resource; one wording for every reason."""

    status = 400
    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__("the cursor does not belong to this resource")


class UnauthorizedError(ForkloreError):
    """Credentials missing or bad; one wording for every reason."""

    status = 401
    code = "unauthorized"

    def __init__(self) -> None:
        super().__init__("valid credentials are required")


class ForbiddenError(ForkloreError):
    """Not a member, or an access level too low."""

    status = 403
    code = "forbidden"


class NotFoundError(ForkloreError):
    """No such thing, or deleted."""

    status = 404
    code = "not_found"


class MethodNotAllowedError(ForkloreError):
    """The path exists, but not with this method."""

    status = 405
    code = "method_not_allowed"


class ConflictError(ForkloreError):
    """Somebody wrote first; read again, then decide. reason: which conflict it is."""

    status = 409
    code = "conflict"

    def __init__(self, message: str, *, reason: str, **details: object) -> None:
        super().__init__(message, field=None, reason=reason, **details)


class NamedConflictError(ConflictError):
    """A conflict with a code of its own. Its reason is the same word."""

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message, reason=self.code.lower(), **details)


class ForkTooDeepError(NamedConflictError):
    """A path of more than ancestry.SEGMENTS_MAX segments."""

    code = "fork_too_deep"


class ForkLimitError(NamedConflictError):
    """The fork tree has as many conversations as it may have."""

    code = "fork_limit"


class GroupFullError(NamedConflictError):
    """The fork tree is near DynamoDB's 10 GB for an item collection with a local index."""

    code = "group_full"


class MemberLimitError(NamedConflictError):
    """The fork tree has as many members as it may have."""

    code = "member_limit"


class PinLimitError(NamedConflictError):
    """The user has pinned as many trees as one may."""

    code = "pin_limit"


class TransferPendingError(NamedConflictError):
    """The fork tree's ownership is offered to somebody already."""

    code = "TRANSFER_ALREADY_PENDING"


class NameMovedError(ConflictError):
    """A name that points elsewhere than the caller expects.

    revision: of the name; 0: there is no such name. conversation_id: where it points, if anywhere.
    """

    def __init__(self, message: str, *, revision: int, conversation_id: str | None = None) -> None:
        pointed = {} if conversation_id is None else {"conversationId": conversation_id}
        super().__init__(message, reason="name_moved", revision=revision, **pointed)
        self.conversation_id = conversation_id


class BadRequestError(ForkloreError):
    """A transfer's own rule: to oneself, or to somebody who is not a member."""

    status = 400
    code = "bad_request"


class PayloadTooLargeError(ForkloreError):
    """An entry, or what one request would write or answer, is over its bound."""

    status = 413
    code = "payload_too_large"


class UnsupportedMediaTypeError(ForkloreError):
    """The body is not application/json."""

    status = 415
    code = "unsupported_media_type"


class IdempotencyMismatchError(ForkloreError):
    """An Idempotency-Key that was used with another request."""

    status = 422
    code = "idempotency_mismatch"


class TooManyRequestsError(ForkloreError):
    """The user has made as many requests in this minute as the deployment permits.

    retry_after_s: the seconds until the next minute begins. per_minute: the limit.
    """

    status = 429
    code = "too_many_requests"

    def __init__(self, *, retry_after_s: int, per_minute: int) -> None:
        super().__init__(
            f"more than {per_minute} requests in a minute; try again in {retry_after_s} s",
            retryAfterSeconds=retry_after_s,
        )
        self.retry_after_s = retry_after_s


class BrokenAncestryError(ForkloreError):
    """Stored conversations do not form a tree."""


class SearchTypeUnavailableError(ForkloreError):
    """A way of searching that this service does not have."""

    status = 501
    code = "search_type_unavailable"


class UnavailableError(ForkloreError):
    """DynamoDB asked to slow down, time is up, or the issuer's keys cannot be had.

    The caller can safely retry with the same Idempotency-Key after `retry_after_s` seconds.
    """

    status = 503
    code = "unavailable"

    def __init__(self, message: str, *, retry_after_s: int = 1, **details: Any) -> None:
        super().__init__(message, **details)
        self.retry_after_s = retry_after_s


class TextRefusedError(UnavailableError):
    """The model of recall refuses a question, or all that it is asked, and would do so again."""


class StoreFailedError(ForkloreError):
    """The folder that keeps the data cannot be used. To try again is in vain until somebody helps.

    reason: `full`, `failed`, `read_only`, `damaged` or `replaced`; `model` for one of recall beside
    which another program uses another one.
    """

    status = 507
    code = "store_failed"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, reason=reason)


class DamagedError(StoreFailedError):
    """A part of what the folder keeps cannot be read. Other parts may be read and written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="damaged")
