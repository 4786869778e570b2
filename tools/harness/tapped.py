"""A client of the engine with the hooks of a client of botocore, for tests that look at calls."""

import base64
import json
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from forklore_service.storage.connection import CallRefused

OPERATIONS = {
    "batch_get_item": "BatchGetItem",
    "batch_write_item": "BatchWriteItem",
    "delete_item": "DeleteItem",
    "describe_table": "DescribeTable",
    "get_item": "GetItem",
    "put_item": "PutItem",
    "query": "Query",
    "scan": "Scan",
    "search_vectors": "SearchVectors",
    "transact_write_items": "TransactWriteItems",
    "update_item": "UpdateItem",
}


class _Exceptions:
    """The exceptions of a client by name. All of them are ClientErrors."""

    def __getattr__(self, _name: str) -> type[Exception]:
        return ClientError


class TappedClient:
    """Sends calls to `client`, and to who has registered for botocore's events of these names.

    It raises the errors of botocore.
    """

    exceptions = _Exceptions()

    def __init__(self, client: Any) -> None:
        self._client = client
        self._handlers: list[tuple[str, Callable[..., Any]]] = []
        self.meta = SimpleNamespace(events=self, region_name="us-east-1")

    def register(self, event: str, handler: Callable[..., Any]) -> None:
        self._handlers.append((event, handler))

    def register_first(self, event: str, handler: Callable[..., Any]) -> None:
        self._handlers.insert(0, (event, handler))

    def close(self) -> None:
        """There is nothing to close: the database is the store's."""

    def __getattr__(self, name: str) -> Any:
        if name not in OPERATIONS:
            raise AttributeError(name)
        return partial(self._call, name)

    def _emit(self, event: str, operation: str, **members: Any) -> Any:
        """Return the first answer that is not None."""
        full = f"{event}.dynamodb.{operation}"
        for wanted, handler in list(self._handlers):
            if full == wanted or full.startswith(f"{wanted}."):
                answer = handler(event_name=full, **members)
                if answer is not None:
                    return answer
        return None

    def _call(self, name: str, **parameters: Any) -> dict[str, Any]:
        operation = OPERATIONS[name]
        if not self._handlers:
            return self._answer(name, operation, parameters)
        context: dict[str, Any] = {}
        body = json.dumps(parameters, default=_base64).encode()
        sent: dict[str, Any] = {"body": body, "headers": {}}
        model = SimpleNamespace(name=operation)
        answered = self._emit(
            "before-call", operation, model=model, params=sent, context=context, request_signer=None
        )
        http = SimpleNamespace(content=b"", status_code=200)
        if answered is not None:
            parsed: dict[str, Any] = answered[1]
        else:
            if sent["body"] is not body:
                parameters = with_bytes(json.loads(sent["body"]))
            self._emit("before-send", operation, request=SimpleNamespace(body=sent["body"], headers={}))
            try:
                parsed = _dated(getattr(self._client, name)(**parameters))
            except CallRefused as error:
                parsed = _dated(error.response)
            http.content = json.dumps(parsed, default=_base64).encode()
        self._emit("after-call", operation, http_response=http, parsed=parsed, model=model, context=context)
        if parsed["ResponseMetadata"]["HTTPStatusCode"] >= 300:
            raise ClientError(parsed, operation)  # type: ignore[arg-type] # as botocore has it
        return parsed

    def _answer(self, name: str, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        try:
            return _dated(getattr(self._client, name)(**parameters))
        except CallRefused as error:
            raise ClientError(_dated(error.response), operation) from error  # type: ignore[arg-type]


def _dated(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer with the time of the machine, as DynamoDB has its own in each answer."""
    status = answer["ResponseMetadata"]["HTTPStatusCode"]
    headers = {"date": formatdate(usegmt=True)}
    return {**answer, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def with_bytes(value: Any) -> Any:
    """Return parameters that came as JSON."""
    match value:
        case {"B": str(text), **others} if not others:
            return {"B": base64.b64decode(text)}
        case dict():
            return {name: with_bytes(held) for name, held in value.items()}
        case list():
            return [with_bytes(held) for held in value]
    return value
