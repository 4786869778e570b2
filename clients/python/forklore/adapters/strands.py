"""Sessions of Strands Agents, kept in forklore.

A session is a name, which points to a conversation. Everything is an entry of it, in `content[0]`
under `strands`: `{"kind", "id", "value"}`. What is updated is appended again; the newest counts.
Large files are attachments.
A value that the service does not take is JSON text.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from forklore import AsyncForklore, ConflictError, Conversation, Forklore, NotFoundError
from forklore.adapters.files import Files, Stored, attachments, misses_file
from forklore.adapters.running import run
from forklore.adapters.storable import checked_name, restored, shortened
from forklore.client.generated.limits import PAGE_ENTRIES_MAX
from forklore.client.generated.results import Entry
from forklore.client.kinds import as_sync
from forklore.extras import needing

with needing("strands"):
    from strands.session.repository_session_manager import RepositorySessionManager
    from strands.session.session_repository import SessionRepository
    from strands.types.content import Message
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

if TYPE_CHECKING:
    from strands.multiagent import MultiAgentBase

__all__ = ["ForkloreSessionManager", "ForkloreSessionRepository"]

SESSION, AGENT, MULTI_AGENT, MESSAGE = "session", "agent", "multi-agent", "message"
TAKEN = frozenset({"key_in_use", "not_the_fork"})
HISTORY, OPAQUE = "history", "application/vnd.strands+json"
NEWEST_ENTRIES = 50


class ForkloreSessionRepository(SessionRepository):
    """A session repository of Strands in forklore, which can fork a session without a copy.

    All processes that share a session use the same user and client.

    client: of either kind, made and closed by the caller. prefix: of the names.
    Raises SessionException for what exists already, or does not exist; TooLargeError for a message
    or a state beyond 2.5 MB, before anything is written.
    """

    def __init__(self, client: Forklore | AsyncForklore, *, prefix: str = "strands/") -> None:
        self._client = as_sync(client)
        self._prefix = prefix
        self._files = Files.of(client)
        self._ids: dict[str, str] = {}

    # Sessions

    def create_session(self, session: Session, **_: Any) -> Session:
        """Make a session. Its first entry has a key, so a second one of the same id is refused."""
        return self._begin(session)

    def read_session(self, session_id: str, **_: Any) -> Session | None:
        """Return a session; None if there is none."""
        try:
            found = self._conversation(session_id, anew=True).entry_of(_key(SESSION))
        except NotFoundError:
            return None
        value = dict(self._value(found))
        return Session.from_dict({**value, "session_type": SessionType(value["session_type"])})

    def fork_session(
        self,
        session_id: str,
        new_session_id: str,
        *,
        agent_id: str | None = None,
        before_message: int | None = None,
    ) -> Session:
        """Make a session that begins with what another one shows. Nothing is copied.

        agent_id, before_message: leave out this message and all that follows it, also what other
        agents of the session have done since then. Without them the fork has everything.
        """
        source = self._known(session_id)
        fork: dict[str, Any] = {"forked_at_conversation_id": source.id, "forked_at_position": "head"}
        if agent_id is not None or before_message is not None:
            key = _key(MESSAGE, agent_id or "", before_message)
            try:
                at = source.entry_of(key)
            except NotFoundError as error:
                raise SessionException(
                    f"Message {before_message} does not exist in session {session_id}"
                ) from error
            fork |= {"forked_at_entry_id": at.id, "forked_at_position": "before"}
        try:
            return self._begin(Session(session_id=new_session_id, session_type=SessionType.AGENT), **fork)
        except NotFoundError as error:
            raise SessionException(f"Session {session_id} does not exist") from error

    def _begin(self, session: Session, **fork: Any) -> Session:
        """Make the name and the conversation of a session, with its first entry."""
        session_id = session.session_id
        value = {**session.to_dict(), "session_type": session.session_type.value}
        drafts = [_draft(SESSION, session_id, Stored.whole(value), key=_key(SESSION))]
        named = self._client.named(self._name(session_id))
        with _refused_if_taken(f"Session {session_id} already exists"):
            named.append_all(drafts, **fork)
        return session

    def delete_session(self, session_id: str, **_: Any) -> None:
        """Delete a session. Forks of it stay whole."""
        try:
            self._conversation(session_id, anew=True).delete()
        except NotFoundError as error:
            if not self._free(session_id):
                raise SessionException(f"Session {session_id} does not exist") from error
        self._free(session_id)

    # Agents

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Make an agent in a session."""
        self._add(session_id, AGENT, session_agent.agent_id, session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> SessionAgent | None:
        """Return an agent; None if there is none."""
        value = self._newest(session_id, AGENT, agent_id)
        return None if value is None else SessionAgent.from_dict(dict(value))

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Append the agent's state of now."""
        made = self._first(session_id, AGENT, session_agent.agent_id)
        session_agent.created_at = made["created_at"]
        self._append(session_id, AGENT, session_agent.agent_id, session_agent.to_dict())

    # Several agents

    def create_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **_: Any) -> None:
        """Make the state of a multi-agent."""
        self._add(session_id, MULTI_AGENT, multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: Any) -> dict[str, Any] | None:
        """Return the state of a multi-agent; None if there is none."""
        value = self._newest(session_id, MULTI_AGENT, multi_agent_id)
        return None if value is None else dict(value)

    def update_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **_: Any) -> None:
        """Append the multi-agent's state of now."""
        self._first(session_id, MULTI_AGENT, multi_agent.id)
        self._append(session_id, MULTI_AGENT, multi_agent.id, multi_agent.serialize_state())

    # Messages

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Append a message of an agent. Of two with the same number the second is refused."""
        number, value = session_message.message_id, session_message.to_dict()
        key = _key(MESSAGE, agent_id, number)
        with _refused_if_taken(f"Message {number} of agent {agent_id} already exists in {session_id}"):
            self._append(session_id, MESSAGE, agent_id, value, shown=session_message.message, key=key)

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **_: Any
    ) -> SessionMessage | None:
        """Return a message; None if there is none."""
        return self._messages(session_id, agent_id).get(message_id)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Append what a message is from now on. What it was before stays stored."""
        number = session_message.message_id
        made = self._first(session_id, MESSAGE, agent_id, number)
        session_message.created_at = made["created_at"]
        self._append(session_id, MESSAGE, agent_id, session_message.to_dict())

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: Any
    ) -> list[SessionMessage]:
        """Return messages of an agent, by their numbers."""
        messages = self._messages(session_id, agent_id)
        chosen = [messages[number] for number in sorted(messages)]
        return chosen[offset:] if limit is None else chosen[offset : offset + limit]

    def _messages(self, session_id: str, agent_id: str) -> dict[int, SessionMessage]:
        found = {}
        for value in self._all(session_id, MESSAGE, agent_id):
            message = SessionMessage.from_dict(dict(value))
            found[message.message_id] = message
        return found

    # Entries

    def _name(self, session_id: str) -> str:
        return checked_name("session_id", self._prefix, session_id)

    def _conversation(self, session_id: str, *, anew: bool = False) -> Conversation:
        """Return a session's conversation. Raises NotFoundError if it has no name."""
        known = None if anew else self._ids.get(session_id)
        if known is None:
            known = self._ids[session_id] = self._client.named(self._name(session_id)).resolve()
        return self._client.conversation(known)

    def _known(self, session_id: str) -> Conversation:
        try:
            return self._conversation(session_id, anew=True)
        except NotFoundError as error:
            raise SessionException(f"Session {session_id} does not exist") from error

    def _free(self, session_id: str) -> bool:
        """Delete a name whose conversation is deleted; return whether it was there."""
        self._ids.pop(session_id, None)
        name = self._name(session_id)
        try:
            found = self._client.api.look_up_name(name=name)
            if found.deleted:
                self._client.api.delete_name(name=name, expect_revision=found.revision)
        except (NotFoundError, ConflictError):
            return False
        return found.deleted is True

    def _add(self, session_id: str, kind: str, thing_id: str, value: Mapping[str, Any]) -> None:
        with _refused_if_taken(f"{kind} {thing_id} already exists in session {session_id}"):
            self._append(session_id, kind, thing_id, value, key=_key(kind, thing_id))

    def _append(
        self,
        session_id: str,
        kind: str,
        thing_id: str,
        value: Mapping[str, Any],
        *,
        shown: Message | None = None,
        key: str | None = None,
    ) -> None:
        for once in self._files.tries():
            with once:
                [stored] = run(self._client, self._files.stored([value]))
                self._append_draft(session_id, _draft(kind, thing_id, stored, shown=shown, key=key))

    def _append_draft(self, session_id: str, draft: dict[str, Any]) -> None:
        try:
            self._conversation(session_id).append_all([draft])
        except NotFoundError as missing:
            if misses_file(missing):
                raise
            # The session may be a new one of the same name.
            try:
                self._known(session_id).append_all([draft])
            except NotFoundError as error:  # somebody was killed while it was deleted
                raise SessionException(f"Session {session_id} does not exist") from error

    def _first(
        self, session_id: str, kind: str, thing_id: str, number: int | None = None
    ) -> Mapping[str, Any]:
        """Return what was made first under a key. Raises SessionException if nothing was."""
        try:
            found = self._conversation(session_id).entry_of(_key(kind, thing_id, number))
        except NotFoundError:
            try:
                found = self._known(session_id).entry_of(_key(kind, thing_id, number))
            except NotFoundError as error:
                what = f"{kind} {thing_id}" if number is None else f"{kind} {number} of agent {thing_id}"
                raise SessionException(f"{what} does not exist in session {session_id}") from error
        return self._value(found)

    def _newest(self, session_id: str, kind: str, thing_id: str) -> Mapping[str, Any] | None:
        """Return the newest value of a thing; None if there is none. It reads from the end."""
        try:
            pages = self._conversation(session_id, anew=True).entries(
                backward=True, channel="history", page_entries=NEWEST_ENTRIES
            )
            for entry in pages:
                held = _held(entry)
                if held.get("kind") == kind and held["id"] == thing_id:
                    return self._value(entry)
        except NotFoundError:
            pass
        return None

    def _all(self, session_id: str, kind: str, thing_id: str) -> Iterator[Mapping[str, Any]]:
        """Yield all values of a thing, the oldest first."""
        try:
            pages = self._conversation(session_id, anew=True).entries(
                channel="history", page_entries=PAGE_ENTRIES_MAX
            )
            for entry in pages:
                held = _held(entry)
                if held.get("kind") == kind and held["id"] == thing_id:
                    yield self._value(entry)
        except NotFoundError:
            return

    def _value(self, entry: Entry) -> Mapping[str, Any]:
        """Return what an entry holds, with all its bytes."""
        [whole] = run(self._client, self._files.whole([entry]))
        read: Mapping[str, Any] = restored(_held(whole)["value"])
        return read


class ForkloreSessionManager(RepositorySessionManager):
    """A session manager of Strands that keeps a session in forklore.

    client, prefix: as of ForkloreSessionRepository, which is its `session_repository`.
    """

    def __init__(
        self, session_id: str, client: Forklore | AsyncForklore, *, prefix: str = "strands/", **more: Any
    ) -> None:
        super().__init__(session_id, ForkloreSessionRepository(client, prefix=prefix), **more)


@contextmanager
def _refused_if_taken(told: str) -> Iterator[None]:
    """Raise SessionException where the service says that a key or a name is in use."""
    try:
        yield
    except ConflictError as error:
        if error.reason not in TAKEN:
            raise
        raise SessionException(told) from error


def _key(kind: str, thing_id: str = "", number: int | None = None) -> str:
    """Return the key of what is made once: printable ASCII of less than 128 characters."""
    return f"{kind}/{hashlib.sha256(thing_id.encode()).hexdigest()}/{'' if number is None else number}"


def _draft(
    kind: str,
    thing_id: str,
    stored: Stored,
    *,
    shown: Message | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    held = {"kind": kind, "id": thing_id, "value": stored.value}
    content = {"strands": held, **attachments([stored])}
    if shown is not None:
        content = {"role": _role(shown), "text": _text(shown), **content}
    draft: dict[str, Any] = {"contentType": OPAQUE, "content": [content]}
    if shown is not None or stored.ids:  # only the history names attachments
        draft = {"channel": HISTORY, "contentType": HISTORY, "content": [content]}
    return draft if key is None else {**draft, "key": key}


def _role(message: Message) -> str:
    """Return who shows as the author: of what tools return the system."""
    if message["role"] == "assistant":
        return "AI"
    is_returned = ["toolResult" in block for block in message["content"]]
    return "SYSTEM" if is_returned and all(is_returned) else "USER"


def _text(message: Message) -> str:
    """Return the text that people see of a message."""
    return shortened("\n".join(line for block in message["content"] if (line := _line(block))))


def _line(block: Mapping[str, Any]) -> str:
    if "text" in block:
        return str(block["text"])
    if "toolUse" in block:
        used = block["toolUse"]
        return f"[calls {used.get('name')} {used.get('input')}]"
    if "toolResult" in block:
        parts = block["toolResult"].get("content") or ()
        return f"[returned {', '.join(str(part.get('text', part.get('json', '…'))) for part in parts)}]"
    return f"[{next(iter(block), '')}]"


def _held(entry: Entry) -> Mapping[str, Any]:
    first = entry.content[0] if entry.content else None
    held = first.get("strands") if isinstance(first, Mapping) else None
    return held if isinstance(held, Mapping) else {}
