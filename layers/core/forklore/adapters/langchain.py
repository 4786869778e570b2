"""Chat histories of LangChain, kept in forklore."""

import json
from collections.abc import Sequence
from typing import Any

from forklore import ConflictError, Forklore, NotFoundError
from forklore.client.errors import BadRequestError, TooLargeError
from forklore.client.jsontext import write
from forklore.client.messages import role_of, text_of
from forklore.client.results import Entry, Name
from forklore.extras import needing

with needing("langchain"):
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        message_to_dict,
        messages_from_dict,
    )

__all__ = ["ForkloreChatMessageHistory"]

CONTENT_TYPE = "history/langchain"
ROLES = {"human": "USER", "ai": "AI"}
"""Who shows as the author of a message; of other ones the system."""
AUTHORS: dict[str, type[BaseMessage]] = {"user": HumanMessage, "ai": AIMessage, "system": SystemMessage}
"""The messages that another program has appended."""
ENTRIES_MAX, ENTRY_BYTES_MAX, APPEND_BYTES_MAX = 50, 2_500_000, 5_000_000
PAGE_ENTRIES_MAX = 1000
SHOWN_CHARACTERS_MAX = 8_000
"""Of the text that people see. The whole message is beside it."""


class ForkloreChatMessageHistory(BaseChatMessageHistory):
    """A chat history of LangChain in forklore, which can be forked without a copy.

    All processes that share a history use the same user and client. The asynchronous methods run
    the others in threads.

    client: made and closed by the caller. prefix: of the history's name.
    """

    def __init__(self, session_id: str, client: Forklore, *, prefix: str = "langchain/") -> None:
        self.session_id = session_id
        self._client = client
        self._prefix = prefix
        self._name = prefix + session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """Return the messages, the oldest first."""
        while True:
            try:
                entries = self._entries()
            except NotFoundError:
                return []
            except BadRequestError as error:
                if error.code != "invalid_cursor":
                    raise
                # Meanwhile the entry at the end of a page was taken away. Read what is left.
            else:
                return [message for entry in entries for message in _messages_of(entry)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one request, all or none.

        Raises TooLargeError for more than 50 messages, for one beyond 2.5 MB, and for messages
        beyond 5 MB together, as escaped JSON. Then nothing is written.
        """
        drafts = _drafts_of(messages)
        while drafts:
            try:
                self._client.api.append_entry_by_name(name=self._name, entries=drafts)
            except NotFoundError:
                if not self._free():
                    raise
            else:
                return

    def clear(self) -> None:
        """Take all messages away. What the history leaves stays."""
        try:
            self._client.api.delete_name(name=self._name)
        except NotFoundError:
            return

    def fork(self, session_id: str, *, before: int | None = None) -> "ForkloreChatMessageHistory":
        """Return a new history that begins with the messages of this one. Nothing is copied.

        before: leave out the message at this index of `messages` and what follows; None: nothing.
        Raises IndexError if there is no such message, ValueError if the new history exists already.
        """
        made = ForkloreChatMessageHistory(session_id, self._client, prefix=self._prefix)
        now = self._now()
        at = None if before is None else self._entry_at(before)[0]
        while now is not None:
            try:
                self._fork(now, at, {"name": made._name, "expectRevision": 0})
            except ConflictError as error:
                if error.reason != "name_moved":
                    raise
                if not made._free():
                    raise ValueError(f"history {session_id!r} exists already") from None
            else:
                return made
        if made._now() is not None:
            raise ValueError(f"history {session_id!r} exists already")
        return made

    def rewind(self, before: int) -> None:
        """Take away the message at an index of `messages` and what follows.

        The history goes on in a fork. The conversation that it leaves stays. Raises IndexError if
        there is no such message, ConflictError if the history has changed meanwhile.
        """
        now = self._now()
        at, last = self._entry_at(before)
        if now is not None:
            name = {"name": self._name, "expectRevision": now.revision}
            self._fork(now, at, name, if_match=last.id)

    def _fork(
        self, now: Name, at: Entry | None, name: dict[str, Any], *, if_match: str | None = None
    ) -> None:
        place: dict[str, Any] = {"if_match": if_match}
        if at is not None:
            place |= {"at_entry_id": at.id, "position": "before"}
        self._client.api.fork_conversation(now.conversation_id, **place, name=name)

    def _entry_at(self, index: int) -> tuple[Entry, Entry]:
        """Return a message's entry, and the newest. Raises IndexError if there is none."""
        try:
            entries = self._entries()
        except NotFoundError:
            raise IndexError(index) from None
        return [entry for entry in entries if _messages_of(entry)][index], entries[-1]

    def _entries(self) -> list[Entry]:
        """Return the entries of the history. Raises NotFoundError if there are none."""
        found: list[Entry] = []
        cursor: str | None = None
        while True:
            page = self._client.api.list_entries_by_name(
                name=self._name,
                channel="history",
                limit=PAGE_ENTRIES_MAX,
                tail=True if cursor is None else None,
                before_cursor=cursor,
            )
            found[:0] = page.data
            cursor = page.before_cursor
            if cursor is None:
                return found

    def _now(self) -> Name | None:
        """Return where the name points; None if there is no name, or no conversation any more."""
        try:
            found = self._client.api.look_up_name(name=self._name)
        except NotFoundError:
            return None
        return None if found.deleted else found

    def _free(self) -> bool:
        """Delete the name if its conversation is deleted; return whether it is free now."""
        try:
            found = self._client.api.look_up_name(name=self._name)
            if found.deleted:
                self._client.api.delete_name(name=self._name, expect_revision=found.revision)
        except (NotFoundError, ConflictError):
            return True
        return found.deleted is True


def _drafts_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    if len(messages) > ENTRIES_MAX:
        raise TooLargeError(f"at most {ENTRIES_MAX} messages are added at once, not {len(messages)}")
    contents = [_content(message) for message in messages]
    sizes = [len(json.dumps(write(content))) - 2 for content in contents]
    for size in sizes:
        if size > ENTRY_BYTES_MAX:
            raise TooLargeError(f"a message has at most {ENTRY_BYTES_MAX} bytes as escaped JSON, not {size}")
    if sum(sizes) > APPEND_BYTES_MAX:
        told = f"messages added at once have at most {APPEND_BYTES_MAX} bytes as escaped JSON"
        raise TooLargeError(f"{told}, not {sum(sizes)}")
    return [{"contentType": CONTENT_TYPE, "content": content} for content in contents]


def _content(message: BaseMessage) -> list[dict[str, Any]]:
    """Return a message as it is stored. Where its content is a text, that is stored once."""
    held = message_to_dict(message)
    role = ROLES.get(message.type, "SYSTEM")
    text = message.content
    if isinstance(text, str) and text:
        held["data"] = {**held["data"], "content": ""}
        return [{"role": role, "text": text, "events": [json.dumps(held)], "isText": True}]
    shown = str(message.text) or json.dumps(held["data"].get("tool_calls", []))
    return [{"role": role, "text": shown[:SHOWN_CHARACTERS_MAX], "events": [json.dumps(held)]}]


def _messages_of(entry: Entry) -> list[BaseMessage]:
    """Return the message of an entry; none if it holds no message."""
    if entry.content_type != CONTENT_TYPE:
        role, said = role_of(entry), text_of(entry)
        return [] if role is None or said is None else [AUTHORS[role](content=said)]
    [stored] = entry.content
    [event] = stored["events"]
    held = json.loads(event)
    if stored.get("isText"):
        held["data"]["content"] = stored["text"]
    return messages_from_dict([held])
