"""Calls by invoking the stack's `AgentFunction`, with boto3. It needs the extra `lambda`."""

import json
from copy import copy
from typing import Any

from forklore.client import jsontext
from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.errors import InvocationError, TooLargeError
from forklore.client.transports.addresses import located
from forklore.client.transports.direct import Identity, input_text
from forklore.client.transports.places import PerProcess

PAYLOAD_BYTES_MAX = 6 * 1024 * 1024
"""Lambda's quota for the request of a synchronous invocation."""
TOO_MANY, FAILED = 429, 500
CONNECTIONS_MAX = 50


class LambdaTransport:
    """Sends calls to a function. Threads may share it.

    function: its name or ARN. client: a Lambda client of boto3; None: one is made, that never
    retries by itself.
    """

    def __init__(self, function: str, identity: Identity, *, client: Any = None) -> None:
        self._function = function
        self._identity = identity
        self._clients: PerProcess[Any] = PerProcess(_client, client)
        if client is None:
            self._clients.client()  # what is missing is told now

    def acting_as(self, identity: Identity) -> "LambdaTransport":
        """Return the same transport for another caller."""
        other = copy(self)
        other._identity = identity
        return other

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InvocationError if AWS refuses.

        timeout_s: not used, because a client of boto3 has one timeout for all its calls.
        """
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
        from botocore.exceptions import ConnectionError as NoConnectionError

        client = self._clients.client()
        payload = self._payload(call)
        try:
            answer = client.invoke(
                FunctionName=self._function, InvocationType="RequestResponse", Payload=payload
            )
            text = answer["Payload"].read().decode()
        except ClientError as error:
            return _refused(error)
        except (HTTPClientError, IncompleteReadError, NoConnectionError) as error:
            raise TransportError(type(error).__name__) from error
        except BotoCoreError as error:  # nothing was sent: no credentials, no region
            raise InvocationError(f"the function cannot be invoked: {error}") from error
        except Exception as error:
            raise TransportError(type(error).__name__) from error
        request_id = answer.get("ResponseMetadata", {}).get("RequestId")
        if answer.get("FunctionError"):  # it ended without an answer, such as after its timeout
            return RawAnswer(FAILED, '{"code":"function_error"}', request_id)
        return _answer(text, request_id)

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return located(url, None)

    def close(self) -> None:
        """Leave the connections to boto3, which other transports may share."""

    def _payload(self, call: Call) -> bytes:
        caller = jsontext.write(self._identity.fields())
        text = (
            f'{{"operation":{json.dumps(call.shape.name)},"caller":{caller},'
            f'"input":{input_text(call)},"bodyJson":true}}'
        ).encode()
        if len(text) > PAYLOAD_BYTES_MAX:
            raise TooLargeError(f"an invocation holds at most {PAYLOAD_BYTES_MAX:,} bytes, not {len(text):,}")
        return text


class AsyncLambdaTransport:
    """The same for asyncio and trio: each call runs in a thread."""

    def __init__(self, inner: LambdaTransport) -> None:
        self._inner = inner

    def acting_as(self, identity: Identity) -> "AsyncLambdaTransport":
        """Return the same transport for another caller."""
        return AsyncLambdaTransport(self._inner.acting_as(identity))

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer."""
        import anyio.to_thread

        with anyio.move_on_after(timeout_s):
            return await anyio.to_thread.run_sync(self._inner.send, call, timeout_s, abandon_on_cancel=True)
        raise TransportError(f"no answer within {timeout_s:.0f} s")

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return located(url, None)

    def blocking(self) -> LambdaTransport:
        """Return the same transport for threads."""
        return self._inner

    async def aclose(self) -> None:
        """Leave the connections to boto3."""


def _client() -> Any:
    from forklore.extras import needing

    with needing("lambda"):
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=5,
        read_timeout=35,
        max_pool_connections=CONNECTIONS_MAX,
    )
    try:
        return boto3.client("lambda", config=config)
    except BotoCoreError as error:
        raise InvocationError(f"no client of Lambda can be made: {error}") from error


def _refused(error: Any) -> RawAnswer:
    """Return what Lambda's own refusal stands for, as an answer of the service.

    Raises InvocationError for one that is not about load: the next attempt would end alike.
    """
    meta = error.response.get("ResponseMetadata", {})
    said = error.response.get("Error", {})
    text = json.dumps({"code": said.get("Code", ""), "details": {"message": said.get("Message", "")}})
    status = int(meta.get("HTTPStatusCode", FAILED))
    if status < 500 and status != TOO_MANY:
        raise InvocationError(
            f"the function cannot be invoked: {said.get('Message', '')}",
            code=said.get("Code", ""),
            request_id=meta.get("RequestId"),
        ) from error
    return RawAnswer(status, text, meta.get("RequestId"))


def _answer(text: str, request_id: str | None) -> RawAnswer:
    try:
        given = jsontext.read(text)
        status, body, pace = int(given["status"]), given["bodyJson"], given.get("askAgainMs")
    except (ValueError, KeyError, TypeError) as error:
        raise TransportError("the function's answer is not forklore's") from error
    if not isinstance(body, str | None):
        raise TransportError("the function's answer is not forklore's")
    retry_after_s = _retry_after_s(status, body or "")
    return RawAnswer(status, body or "", request_id, retry_after_s=retry_after_s, ask_again_ms=pace)


def _retry_after_s(status: int, body: str) -> float | None:
    """Return after how many seconds a refused call may be sent again. An answer has no headers."""
    if status != TOO_MANY:
        return None
    try:
        return float(json.loads(body)["details"]["retryAfterSeconds"])
    except (ValueError, KeyError, TypeError):
        return None
