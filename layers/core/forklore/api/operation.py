"""What an operation is: one thing a caller can do, by whatever way it is asked for.

A route of the HTTP API and a direct invocation of the same name run the same operation, with the same
validation. This module knows nothing of either.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from forklore.api.answers import to_json
from forklore.api.requests import NoFields, NoParameters
from forklore.api.wording import told
from forklore.domain import ids, keys
from forklore.domain.jsontext import JsonText
from forklore.domain.model import Caller
from forklore.errors import NotFoundError, ValidationError, brief
from forklore.storage.queue import Queue
from forklore.storage.table import Table
from forklore.usecases.deletion import WAIT_SECONDS
from forklore.usecases.idempotency import IdempotencyKey, IdempotentReplay

IDEMPOTENCY_KEY_CHARACTERS_MAX = 255
MESSAGE_MAX, FIELD_MAX = 300, 100
"""Characters of a field's name and of what is wrong with it: both may hold text of the caller's."""


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request in plain values, not yet checked. body: JSON values; the fields kept as text are JsonText.

    delivery_id: names an asynchronous request, however often it is delivered; it stands for a missing key.
    """

    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    idempotency_key: str | None = None
    if_match: str | None = None
    delivery_id: str | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """What requests are answered with, and what the deployment has decided.

    table: as this request sees it. queue: where work for the worker is announced. delete_wait_s: how long the
    items of a deleted tree are kept. justification_required: of requests for administration.
    """

    table: Table
    queue: Queue
    delete_wait_s: int = WAIT_SECONDS
    justification_required: bool = False


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A checked request. query, body: instances of the operation's models."""

    service: Service
    caller: Caller
    path: Mapping[str, str]
    query: Any
    body: Any
    if_match: str | None
    idempotency: tuple[keys.Key, str] | None

    @property
    def table(self) -> Table:
        """The table as this request sees it."""
        return self.service.table

    @property
    def conversation_id(self) -> str:
        """The conversation that the path names. Raises NotFoundError for what can be no id."""
        conversation_id = self.path["conversationId"]
        if not ids.is_uuid(conversation_id):
            raise NotFoundError(f"no conversation {brief(conversation_id)}")
        return conversation_id

    def require_own(self, user_id: str | None) -> None:
        """Raise ValidationError if a body names another user than the caller."""
        if user_id not in (None, self.caller.user_id):
            raise ValidationError("userId must be absent or your own", field="userId")

    def idempotency_key(self, show: Callable[[Any], Mapping[str, Any] | None]) -> IdempotencyKey | None:
        """Return the request's Idempotency-Key with how its answer is shown; None without one.

        show: from what the use case returns to the answer's members; None for an answer without a body.
        """
        if self.idempotency is None:
            return None
        key, request_hash = self.idempotency
        return IdempotencyKey(key, request_hash, lambda answer: _text(show(answer)))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with a status other than the operation's own. members: None without a body."""

    status: int
    members: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing a caller can do.

    name: as a direct invocation calls it. path: with `{names}` in braces. run: from a Call to the answer's
    members; None for an answer without a body. query, body: what the request may hold. result: what the
    answer holds, for the documentation; None without a body. also: statuses of success beside `status`.
    errors: the statuses of its own, beside those that every operation has. is_public: needs no credentials.
    role: which one it is open to; such an operation is audited.
    """

    name: str
    method: str
    path: str
    run: Callable[[CheckedRequest], Mapping[str, Any] | Answer | None]
    result: type[pydantic.BaseModel] | None
    status: int = 200
    also: tuple[int, ...] = ()
    query: type[pydantic.BaseModel] = NoParameters
    body: type[pydantic.BaseModel] | None = None
    errors: tuple[int, ...] = ()
    takes_if_match: bool = False
    is_public: bool = False
    role: str | None = None

    @property
    def path_names(self) -> list[str]:
        """The names in the path's braces."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def query_names(self) -> set[str]:
        """What the query may hold."""
        return {field.alias or name for name, field in self.query.model_fields.items()}

    @property
    def takes_idempotency_key(self) -> bool:
        return self.method == "POST"

    def __call__(self, service: Service, raw: RawRequest) -> tuple[int, str]:
        """Return the answer's status and JSON text, empty without a body.

        Raises a ForkloreError for what the caller is told instead.
        """
        query = checked(self.query, raw.query)
        body = checked(self.body or NoFields, raw.body)
        request = CheckedRequest(
            service=service,
            caller=raw.caller,
            path=raw.path,
            query=query,
            body=body,
            if_match=self._if_match(raw),
            idempotency=self._once_key(raw, body),
        )
        try:
            answer = self.run(request)
        except IdempotentReplay as before:
            return self.status, before.record.body
        if not isinstance(answer, Answer):
            answer = Answer(self.status, answer)
        return answer.status, _text(answer.members)

    def _if_match(self, raw: RawRequest) -> str | None:
        value = raw.if_match
        if value is None or self.method == "GET":
            return None
        if not self.takes_if_match:
            raise ValidationError("If-Match goes with appending and forking only", field="If-Match")
        if len(value) < 2 or value[0] != '"' or value[-1] != '"' or not ids.is_uuid(value[1:-1]):
            raise ValidationError('If-Match must be an entry id in double quotes: "…"', field="If-Match")
        return value[1:-1]

    def _once_key(self, raw: RawRequest, body: Any) -> tuple[keys.Key, str] | None:
        """Return where the request's record lies and the hash of what is asked; None without a key.

        A key is text; the id of a delivery stands in a list, so that no key can be spelled like one.
        """
        if not self.takes_idempotency_key:
            return None
        key = raw.idempotency_key
        named: str | list[str] | None = key
        if key is None and raw.delivery_id is not None:
            named = [raw.delivery_id]
        if named is None:
            return None
        if key is not None and not _is_key(key):
            raise ValidationError(
                f"Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters",
                field="Idempotency-Key",
            )
        caller = raw.caller
        path = [raw.path[name] for name in sorted(raw.path)]
        scope = json.dumps([caller.user_id, caller.client_id, self.method, self.path, path, named])
        meaning = json.dumps([_meaning(body), raw.if_match], sort_keys=True)
        return keys.idempotency(scope), hashlib.sha256(meaning.encode()).hexdigest()


def _text(members: Mapping[str, Any] | None) -> str:
    return "" if members is None else to_json(members)


def _is_key(key: str) -> bool:
    return 1 <= len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX and key.isascii() and key.isprintable()


def _meaning(held: Any) -> Any:
    """Return a checked body as plain JSON values, without what is null; content and its like as text."""
    match held:
        case pydantic.RootModel():
            return _meaning(held.root)
        case pydantic.BaseModel():
            members = ((name, getattr(held, name)) for name in type(held).model_fields)
            return {name: _meaning(member) for name, member in members if member is not None}
        case JsonText():
            return held.text
        case list():
            return [_meaning(member) for member in held]
        case _:
            return held


def checked(model: type[pydantic.BaseModel], values: Mapping[str, Any]) -> pydantic.BaseModel:
    """Return `values` as an instance of `model`.

    Raises ValidationError, which names the first wrong field.
    """
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        field, message = told(error)
        raise ValidationError(message[:MESSAGE_MAX], field=field[:FIELD_MAX] or None) from None
