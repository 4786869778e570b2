"""Exit codes, and what is said of an error: one line."""

from forklore.cli.escaping import visible
from forklore.client import errors
from forklore.client.errors import is_forklores

DONE = 0
NO = 1
"""The answer is "no": two branches differ, a search finds nothing, a check has findings."""
USAGE = 2
"""The command line or the settings cannot be used."""
NOT_FOUND = 3
REFUSED = 4
"""Not allowed, or in conflict with what is there."""
NO_ANSWER = 5
FAULT = 70
"""A mistake in forklore itself."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output has gone. A shell shows this for a program that SIGPIPE ended."""


class CommandError(Exception):
    """The command cannot go on. The message is one line. code: the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


class SettingsError(CommandError):
    """The settings cannot be used."""


def code_of(error: errors.ApiError) -> int:
    """Return the exit code for an error of the client.

    >>> code_of(errors.BadRequestError("no")), code_of(errors.ConflictError("stale"))
    (2, 4)
    """
    match error:
        case errors.InputError() | errors.BadRequestError() | errors.InvocationError():
            return USAGE
        case errors.NotFoundError():
            return NOT_FOUND if is_forklores(error) else USAGE
        case errors.NoAnswerError() | errors.UnexpectedAnswerError() | errors.ServerError():
            return NO_ANSWER
    return REFUSED


def line_of(error: Exception) -> str:
    """Return what to say of an error, without control characters.

    >>> line_of(errors.NotFoundError("no conversation", code="not_found"))
    'no conversation'
    """
    if not isinstance(error, errors.ApiError):
        return visible(" ".join(str(error).split())) or type(error).__name__
    said = visible(" ".join(error.message.split())) or error.code or type(error).__name__
    why = error.reason or (error.field if isinstance(error, errors.BadRequestError) else None)
    seen = error.request_id if isinstance(error, errors.ServerError) else None
    if isinstance(error, errors.NotFoundError) and not is_forklores(error):
        return f"{said} (404: the address may be wrong)"
    return f"{said}{f' ({visible(why)})' if why else ''}{f' [request {visible(seen)}]' if seen else ''}"
