# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""The client."""

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, Unpack

from forklore.client.calls import Call, RawAnswer
from forklore.client.errors import InputError
from forklore.client.files import FileGiven, Progress
from forklore.client.generated import results
from forklore.client.generated.arguments import ConversationsArguments, CreateConversation, SearchArguments
from forklore.client.generated.operations import SHAPES, Operations
from forklore.client.generated.synchronous import files
from forklore.client.generated.synchronous.conversation import Conversation
from forklore.client.generated.synchronous.pages import Page, Pages, refuse_paging
from forklore.client.omitted import OMITTED, Omitted
from forklore.client.opening import in_process, on_lambda, over_http
from forklore.client.questions import HITS, asked
from forklore.client.retrying import DEADLINE_S, TIMEOUT_S, Options
from forklore.client.transports import Transport
from forklore.client.transports.direct import Identity

if TYPE_CHECKING:
    import httpx2

    from forklore.client.transports.http import Credential
    from forklore.client.transports.in_process import Model

PAGE_ROWS = 100


class Forklore:
    """A client of forklore. Tasks may share it.

    url: the address of the API. token: the user's; on the local server this is the user's id.
    client_key: the agent's API key. Both can be a function that returns one for each sending.
    timeout: seconds of one sending. deadline: seconds of all of them, with their pauses. retries:
    how often a call is sent again at the most; None: as often as the deadline allows.
    http: a client of httpx2 to send with, which is not closed here.
    Raises InputError for what is no address.
    """

    __slots__ = ("__weakref__", "_identity", "_options", "_transport", "api")

    api: Operations
    """Every operation of the service, under its name."""

    def __init__(
        self,
        url: str,
        *,
        token: "Credential" = None,
        client_key: "Credential" = None,
        timeout: float = TIMEOUT_S,
        deadline: float = DEADLINE_S,
        retries: int | None = None,
        http: "httpx2.Client | None" = None,
    ) -> None:
        transport = over_http(url, token, client_key, http)
        self._set(transport, Options(timeout_s=timeout, deadline_s=deadline, retries_max=retries), None)

    @classmethod
    def on_lambda(
        cls,
        function: str,
        *,
        user: str,
        client: str | None = None,
        roles: tuple[str, ...] = (),
        boto_client: Any = None,
    ) -> Self:
        """Return a client that invokes the stack's `AgentFunction`. It needs the extra `lambda`.

        function: its name or ARN. user, client: on whose behalf. boto_client: a Lambda client of
        boto3 in place of the usual one; turn its own retries off.
        """
        identity = Identity(user, client, roles)
        return cls._over(on_lambda(function, identity, boto_client), identity)

    @classmethod
    def local(
        cls,
        *,
        user: str,
        client: str | None = None,
        data: str | Path | None = None,
        roles: tuple[str, ...] = (),
        recall: "Model | None" = None,
    ) -> Self:
        """Return a client with the whole service in this process. It needs the extra `local`.

        data: the folder that keeps everything; None: everything is forgotten at the end. recall:
        `"wordllama"`, which the extra `recall` installs, or a function that returns a vector of
        each text: by it `recall` finds what is meant. None: words do.
        `close` stops the service.
        Raises InputError if the folder cannot be used.
        """
        identity = Identity(user, client, roles)
        return cls._over(in_process(data, identity, recall), identity)

    @classmethod
    def _over(
        cls,
        transport: Transport,
        identity: Identity | None,
        options: Options = Options(),  # noqa: B008 (frozen)
    ) -> Self:
        made = cls.__new__(cls)
        made._set(transport, options, identity)
        return made

    def _set(self, transport: Transport, options: Options, identity: Identity | None) -> None:
        self._transport = transport
        self._options = options
        self._identity = identity
        self.api = Operations(transport, options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; in process, stop the service. Copies of the client end with it."""
        self._transport.close()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        deadline: float | None = None,
        retries: int | Omitted | None = OMITTED,
        budget: float | None = None,
    ) -> Self:
        """Return the same client with other limits. What is not given stays.

        budget: seconds from now that all calls of the returned client have together.
        """
        named = {"timeout_s": timeout, "deadline_s": deadline}
        given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        if not isinstance(retries, Omitted):
            given["retries_max"] = retries
        options = replace(self._options, **given)
        options = options if budget is None else options.ending(budget)
        return self._over(self._transport, self._identity, options)

    def acting_as(self, user: str, client: str | None = None, *, roles: tuple[str, ...] = ()) -> Self:
        """Return the same client on behalf of another user or agent.

        Raises InputError for a client over HTTP: there the token says who calls.
        """
        transport, identity = self._transport, Identity(user, client, roles)
        if self._identity is None:
            raise InputError("over HTTP the token says who calls: make another client")
        other: Transport = transport.acting_as(identity)  # type: ignore[attr-defined]
        return self._over(other, identity, self._options)

    def call(
        self,
        operation: str,
        given: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> RawAnswer:
        """Call an operation by its name, such as `listForks`; return the answer as it came.

        given: path, query and body fields side by side. An error is an answer, too. if_none_match:
        the `etag` of an answer; the next one is a 304 as long as it is the same.
        Raises InputError for an unknown operation, and NoAnswerError without any answer.
        """
        shape = SHAPES.get(operation)
        if shape is None:
            raise InputError(f"there is no operation {operation!r}", details={"field": "operation"})
        call = Call.of(
            shape,
            dict(given or {}),
            idempotency_key=idempotency_key,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        return self.api.send(call)

    # Conversations

    def named(self, name: str) -> Conversation:
        """Return the conversation that a name points to; its first entry makes both if need be."""
        return Conversation(self.api, None, name=name)

    def conversation(self, conversation_id: str | None = None) -> Conversation:
        """Return the conversation with an id; without an id one that its first entry makes."""
        if conversation_id == "":
            raise InputError("an id is not empty", details={"field": "conversation_id"})
        return Conversation(self.api, conversation_id or str(uuid.uuid4()))

    def create(self, **fields: Unpack[CreateConversation]) -> Conversation:
        """Make a conversation without entries. fields: arguments of `create_conversation`."""
        made = self.api.create_conversation(**fields)
        return Conversation(self.api, made.id)

    def conversations(
        self, *, page_rows: int = PAGE_ROWS, **chosen: Unpack[ConversationsArguments]
    ) -> Pages[results.ConversationDetails]:
        """Return the caller's conversations, what was used last first: what is told of each.

        To talk in one, hand its id to `conversation`. chosen: arguments of `list_conversations`.
        """
        refuse_paging(chosen, "page_rows says how long a page is")

        def fetch(cursor: str | None) -> Page[results.ConversationDetails]:
            page = self.api.list_conversations(after_cursor=cursor, limit=page_rows, **chosen)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def trash(self) -> Pages[results.Trashed]:
        """Return the caller's deleted trees that `conversation(id).restore` brings back."""

        def fetch(cursor: str | None) -> Page[results.Trashed]:
            page = self.api.list_trash(limit=PAGE_ROWS, after_cursor=cursor)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def search(
        self, query: str, *, page_rows: int | None = None, **chosen: Unpack[SearchArguments]
    ) -> Pages[results.Hit]:
        """Return the entries that fit a query, the best first.

        `+word` and `"some words"` must occur. chosen: arguments of `search_conversations`.
        """
        refuse_paging(chosen, "page_rows says how long a page is")

        def fetch(cursor: str | None) -> Page[results.Hit]:
            page = self.api.search_conversations(query=query, after_cursor=cursor, limit=page_rows, **chosen)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def recall(
        self,
        question: str,
        *,
        limit: int = HITS,
        around: int | None = None,
        min_score: float | None = None,
    ) -> tuple[results.Hit, ...]:
        """Return the entries that fit a question best, of all that the caller may see.

        By meaning and words where the service has a model, else by words. Marks demand nothing
        here: to demand words, `search`.
        around: each hit has its whole exchange (what a user has said, with all that answers it),
        and so many on each side. min_score: no hit has a lower score.
        """
        page = self.api.search_conversations(
            query=asked(question), limit=limit, around=around, min_score=min_score
        )
        return page.data

    def names(self, prefix: str | None = None) -> Pages[results.Name]:
        """Return the caller's names that begin with `prefix`; `deleted` ones lead nowhere."""

        def fetch(cursor: str | None) -> Page[results.Name]:
            page = self.api.list_names(prefix=prefix, limit=PAGE_ROWS, after_cursor=cursor)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def delete_name(self, name: results.Name | str) -> None:
        """Delete a name; what it points to stays. One of `names` goes only if nobody has moved it.

        Raises NotFoundError if there is none, and ConflictError for one that has moved.
        """
        revision = name.revision if isinstance(name, results.Name) else None
        held = name.name if isinstance(name, results.Name) else name
        self.api.delete_name(name=held, expect_revision=revision)

    # Files

    def upload(
        self,
        file: FileGiven,
        *,
        name: str | None = None,
        content_type: str | None = None,
        progress: Progress | None = None,
    ) -> results.Attachment:
        """Upload a file and return it, so that entries can name it: `say(…, files=[it])`.

        file: a path, a name with bytes, or what is open for reading bytes. name, content_type: in
        place of the file's own, and of the type that its name tells. progress: called with how many
        bytes have gone, and how many there are; in another thread where there are event loops.
        Bytes that the service has are not sent again, but for up to 1 MB, which is one request.
        Raises InputError for what is no file or cannot be read, TooLargeError for one with too many
        bytes, ConflictError with `attachments_off` if the deployment keeps none, and NoAnswerError
        if the bytes do not arrive.
        """
        return files.upload(self.api, file, name, content_type, progress)

    def download(
        self,
        attachment: results.Attachment | results.AttachedFile | str,
        to: str | os.PathLike[str] | IO[bytes],
        *,
        progress: Progress | None = None,
    ) -> results.Attachment:
        """Write the bytes of an attachment to a path, which gets all or nothing, or an open file.

        attachment: one of an entry's `attachments`, what `upload` returns, or an id. What is at the
        path is replaced. progress: as of `upload`.
        Raises NotFoundError for one that the caller may not read, or whose bytes are gone, and
        UnexpectedAnswerError if other bytes come than were uploaded.
        """
        return files.download(self.api, attachment, to, progress)

    def read(self, attachment: results.Attachment | results.AttachedFile | str) -> bytes:
        """Return the bytes of an attachment. It raises what `download` raises.

        What an entry shows has no SHA-256: of bytes that come by its link only the size is checked.
        """
        return files.read(self.api, attachment)
