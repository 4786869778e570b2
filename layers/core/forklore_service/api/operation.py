"""An operation: one thing that a caller can do, and the entry that it has in the table.

A route of the HTTP API and a direct invocation of the same name run the same operation, with the
same validation. This module knows nothing of HTTP events or of Lambda.
"""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import NoneType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin

import pydantic

from forklore_service.api.fields import TIME_PATTERN, UUID_PATTERN
from forklore_service.api.requests import NoFields, NoParameters, Request
from forklore_service.api.responses import Response
from forklore_service.api.watching import watched
from forklore_service.api.wording import describe
from forklore_service.domain import ids, keys
from forklore_service.domain.jsontext import JsonText, to_json
from forklore_service.domain.model import Caller
from forklore_service.domain.retention import days_in_trash
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.domain.users import ADMIN
from forklore_service.errors import ForbiddenError, ForkloreError, NotFoundError, ValidationError, brief
from forklore_service.limits import ATTACHMENT_BYTES_MAX, IDEMPOTENCY_KEY_CHARACTERS_MAX
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay

MESSAGE_MAX, FIELD_MAX = 600, 100
"""Characters of an error's message and field name. Both may hold text that the caller sent."""
NOBODY = Caller("")
"""The caller of an operation that needs no credentials."""

Fields = Mapping[str, Any]
"""The fields of a JSON object."""
_AnswerFields = TypeVar("_AnswerFields", bound=Fields | None)


class MatchForm(NamedTuple):
    """What an If-Match holds between its quotes. meaning: for the API document."""

    what: str
    pattern: str
    meaning: str


OF_ENTRY = MatchForm("an entry id", UUID_PATTERN, "Only if this is the last history entry of the view.")
OF_TIME = MatchForm("an `updatedAt`", TIME_PATTERN, "Only if this is still the conversation's `updatedAt`.")


class Service(NamedTuple):
    """What operations work with, and the settings of the deployment.

    table: the table of this request. queue: takes the messages for the worker. delete_wait_s: how
    long the items of a deleted tree are kept. deleted_days: for how long a deleted tree can be
    restored; 0: it cannot. retention_days: for how long a tree is kept after its last use; 0: for
    ever. justification_required: for administration.
    attachment_bytes_max: of one that is uploaded. user_attachment_bytes_max: of all of one user
    together; 0: any number.
    """

    table: Table
    queue: Queue
    delete_wait_s: int = WAIT_SECONDS
    deleted_days: int = 0
    retention_days: int = 0
    justification_required: bool = False
    attachment_bytes_max: int = ATTACHMENT_BYTES_MAX
    user_attachment_bytes_max: int = 0

    @property
    def days_in_trash(self) -> int:
        """For how many days a deleted tree can be restored: no longer than the retention."""
        return days_in_trash(self.deleted_days, self.retention_days)


class CheckedRequest(NamedTuple):
    """A checked request. query, body: instances of the operation's models.

    if_match: what the header holds between its quotes. key: the Idempotency-Key; a delivery id
    stands in a list, so that no key is mistaken for it.
    """

    service: Service
    operation: "Operation"
    caller: Caller
    path: Mapping[str, str]
    query: Any
    body: Any
    if_match: str | None
    key: str | list[str] | None

    @property
    def table(self) -> Table:
        """The table of this request."""
        return self.service.table

    @property
    def conversation_id(self) -> str:
        """The conversation in the path. Raises NotFoundError for a text that cannot be an id."""
        conversation_id = self.path["conversationId"]
        if not ids.is_uuid(conversation_id):
            raise NotFoundError(f"no conversation {brief(conversation_id)}")
        return conversation_id

    @property
    def answer_id(self) -> str:
        """The answer in the path. Raises NotFoundError for a text that cannot be an id."""
        answer_id = self.path["answerId"]
        if not ids.is_uuid(answer_id):
            raise NotFoundError(f"no answer {brief(answer_id)}")
        return answer_id

    def require_own(self, user_id: str | None) -> None:
        """Raise ValidationError if the body names a user other than the caller."""
        if user_id not in (None, self.caller.user_id):
            raise ValidationError("userId must be absent or your own", field="userId")

    def idempotency_key(self, to_fields: Callable[[Any], Fields] | None = None) -> IdempotencyKey | None:
        """Return the request's Idempotency-Key, or None without one.

        to_fields: turns the use case's result into the answer that a replay repeats. None where the
        record keeps no answer.
        """
        if self.key is None:
            return None

        def render(result: Any) -> str:
            return "" if to_fields is None else to_json(to_fields(result))

        match = None if self.if_match is None else f'"{self.if_match}"'
        counts = json.dumps([_plain(self.body), match], sort_keys=True)
        return IdempotencyKey(self.record_key(), hashlib.sha256(counts.encode()).hexdigest(), render)

    def record_key(self, *, path: str | None = None, ids: Sequence[str] | None = None) -> keys.Key:
        """Return the key of the record that the same Idempotency-Key has on a path with these ids.

        It belongs to a caller, and to a route with the ids in it. None: the request's own.
        """
        own_ids = [self.path[name] for name in sorted(self.path)]
        route = [self.operation.method, path or self.operation.path, own_ids if ids is None else ids]
        return keys.idempotency(json.dumps([self.caller.user_id, self.caller.client_id, *route, self.key]))


class Answer(NamedTuple, Generic[_AnswerFields]):
    """An answer whose status is not the operation's usual one. fields: None without a body."""

    status: int
    fields: _AnswerFields


class Operation(NamedTuple):
    """One entry of the table of operations. Everything else is made from it: routes, docs, tests.

    name: as a direct invocation calls it.
    path: with names in braces, as `{conversationId}`.
    run: returns the answer's fields, as its annotation describes them; None for an answer without a
        body. The first paragraph of its docstring is the summary in the API document, and the rest
        is the description.
    answer: what describes the answer instead of that annotation.
    status, also: the usual status of a success, and other ones. A 302 leads to the answer's `url`.
    query, body: the models of what the request may hold.
    errors: the statuses of errors that not every operation has.
    own_errors: kinds of errors that only this operation and others that list them can answer.
    only_reads: writes nothing, although it is a POST, because it has a body.
    repeats: a POST whose second sending does no harm, so that it takes no Idempotency-Key.
    takes_if_match, match: whether it takes an If-Match, and of which form.
    is_public: needs no credentials. reads_link: the secret of a link in the path stands for them.
    role: the role that the caller needs. The caller then sees every conversation, and each request
        is written to the audit log.
    summary, description: replace those of `run`'s docstring.
    """

    name: str
    method: str
    path: str
    run: Callable[[CheckedRequest], Fields | Answer[Any] | None]
    answer: Any = None
    status: int = 200
    also: tuple[int, ...] = ()
    query: type[pydantic.BaseModel] = NoParameters
    body: type[pydantic.BaseModel] | None = None
    errors: tuple[int, ...] = ()
    own_errors: tuple[type[ForkloreError], ...] = ()
    takes_if_match: bool = False
    only_reads: bool = False
    repeats: bool = False
    match: MatchForm = OF_ENTRY
    is_public: bool = False
    reads_link: bool = False
    role: str | None = None
    summary: str = ""
    description: str = ""

    @property
    def result(self) -> type[pydantic.BaseModel] | None:
        """The model of the answer, for the API document and tests. No function loads the models."""
        from forklore_service.api import answer_models

        described = self.answer or self.run.__annotations__["return"]
        if get_origin(described) is Answer:
            [described] = get_args(described)
        return None if described in (None, NoneType) else answer_models.model_of(described)

    @property
    def path_names(self) -> list[str]:
        """The names in the path's braces."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def query_names(self) -> set[str]:
        """The names of the query parameters."""
        return {field.alias or name for name, field in self.query.model_fields.items()}

    @property
    def is_read(self) -> bool:
        """Whether the operation writes nothing."""
        return self.method == "GET" or self.only_reads

    @property
    def takes_if_none_match(self) -> bool:
        """Whether the answer has a tag, and is not sent to who names it."""
        return self.method == "GET" and not self.is_public

    @property
    def is_limited(self) -> bool:
        """Whether the limit of a user's requests holds for the operation."""
        return self.reads_link or (not self.is_public and self.role is None)

    @property
    def takes_idempotency_key(self) -> bool:
        return self.method == "POST" and not self.only_reads and not self.repeats

    def without_credentials(self, path: Mapping[str, str]) -> Caller:
        """Return the caller who needs none. Whoever reads by one link is limited as one user."""
        if not self.reads_link:
            return NOBODY
        return Caller(f"link:{hashlib.sha256(path.get('secret', '').encode()).hexdigest()}")

    def document(self) -> tuple[str, str]:
        """Return the summary and the description for the API document."""
        summary, _, description = (inspect.getdoc(self.run) or "").partition("\n\n")
        texts = (self.summary or summary, self.description or description)
        return texts[0].replace("\n", " "), texts[1].replace("\n", " ")

    def __call__(
        self,
        service: Service,
        *,
        caller: Caller,
        path: Mapping[str, str],
        query: Fields,
        body: Fields,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
        delivery_id: str | None = None,
    ) -> Response:
        """Return the answer to a request.

        body: JSON values; the fields in KEPT_AS_TEXT are JsonText. if_none_match: the tags of
        answers that the caller has, as the header names them. delivery_id: names an
        asynchronous request and is the same for each delivery; it serves as the Idempotency-Key
        where there is none.
        Raises a ForkloreError for an error that the caller sees.
        """
        request = CheckedRequest(
            service,
            self,
            caller,
            path,
            query=checked(self.query, query),
            body=checked(self.body or NoFields, body),
            key=self._key(idempotency_key, delivery_id),
            if_match=self._if_match(if_match),
        )
        if self.role is not None:
            request = _as_administrator(request, self.role)
        try:
            answer = self.run(request)
        except IdempotentReplay as replay:
            return Response(self.status, replay.record.body)
        status, fields = answer if isinstance(answer, Answer) else (self.status, answer)
        if fields is None or not self.takes_if_none_match:
            return Response(status, "" if fields is None else to_json(fields))
        location = fields["url"] if status == HTTPStatus.FOUND else ""
        return watched(Response(status, "", location=location), fields, if_none_match)

    def _if_match(self, value: str | None) -> str | None:
        """Return what the If-Match header holds, or None without one."""
        form = self.match
        if value is None or self.is_read:
            return None
        if not self.takes_if_match:
            raise ValidationError("this operation takes no If-Match", field="If-Match")
        is_quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        if not is_quoted or not re.fullmatch(form.pattern, value[1:-1]):
            raise ValidationError(f'If-Match must be {form.what} in double quotes: "…"', field="If-Match")
        return value[1:-1]

    def _key(self, key: str | None, delivery_id: str | None) -> str | list[str] | None:
        """Return the Idempotency-Key, if the operation takes one, or what serves as one."""
        if not self.takes_idempotency_key:
            return None
        if key is None:
            return None if delivery_id is None else [delivery_id]
        if not (1 <= len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX and key.isascii() and key.isprintable()):
            raise ValidationError(
                f"Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters",
                field="Idempotency-Key",
            )
        return key


def _as_administrator(request: CheckedRequest, role: str) -> CheckedRequest:
    """Return the request with a caller who sees every conversation.

    Raises ValidationError without a required justification, ForbiddenError without the role.
    """
    justification: str | None = request.query.justification
    if request.service.justification_required and not (justification or "").strip():
        raise ValidationError("this deployment asks for a justification", field="justification")
    if not {role, ADMIN} & request.caller.roles:
        raise ForbiddenError(f"this needs the role '{role}'")
    return request._replace(caller=request.caller._replace(bypasses_membership=True))


def _plain(held: Any) -> Any:
    """Return a checked body as plain JSON values. JsonText becomes its text.

    Nulls are left out, and fields that do not count when two requests are compared.
    """
    match held:
        case pydantic.RootModel():
            return _plain(held.root)
        case Request():
            counts = ((name, value) for name, value in vars(held).items() if name not in held.not_compared)
            return {name: _plain(value) for name, value in counts if value is not None}
        case JsonText():
            return held.text
        case list():
            return [_plain(value) for value in held]
        case _:
            return held


def checked(model: type[pydantic.BaseModel], values: Fields) -> pydantic.BaseModel:
    """Return `values` as an instance of `model`.

    Raises ValidationError, which names the first wrong field.
    """
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        field, message = describe(error)
        raise ValidationError(message[:MESSAGE_MAX], field=field[:FIELD_MAX] or None) from None
