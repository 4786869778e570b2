"""Sends the calls of an import with the client."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from forklore.cli.exits import is_forklores
from forklore.cli.importing.steps import Answer, Call, Refusal
from forklore.client.decoding import failure, result_of
from forklore.client.errors import NotFoundError

if TYPE_CHECKING:
    from forklore.client.synchronous.client import Forklore

Send = Callable[[Call], Answer | Refusal]
UNAUTHORIZED = 401


def sender(client: "Forklore") -> Send:
    """Return what sends a call, with the client's retries. Threads may share it.

    What it returns raises an ApiError for what no step of an import can answer: without an answer,
    for bad credentials, for a 404 of another service at the address, for an error of the service,
    and for what cannot be sent.
    """

    def send(call: Call) -> Answer | Refusal:
        answer = client.call(
            call.operation, call.given, idempotency_key=call.idempotency_key, if_match=call.if_match
        )
        if 400 <= answer.status < 500 and answer.status != UNAUTHORIZED:
            error = failure(answer)
            if isinstance(error, NotFoundError) and not is_forklores(error):
                raise error
            return Refusal(answer.status, error.reason, error.message)
        return Answer(result_of(answer, lambda body: body))

    return send
