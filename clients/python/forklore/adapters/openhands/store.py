"""A file store of OpenHands' SDK that keeps the files of one conversation as entries."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import Lock, RLock
from typing import Any
from uuid import UUID, uuid4

from forklore import AsyncForklore, ConflictError, Forklore, NotFoundError
from forklore.adapters.files import Files, Stored
from forklore.adapters.openhands.entries import (
    CHANGE,
    EVENT,
    FIRST,
    HISTORY,
    NO_PARENT,
    STATE,
    Kept,
    View,
    added_to,
    change_of,
    context_draft,
    event_draft,
    held_in,
    kept_in,
    longer,
    path_to,
    with_known_secrets,
)
from forklore.adapters.running import run
from forklore.adapters.storable import checked_name, checked_size, size_of, storable
from forklore.client import jsontext
from forklore.client.generated.limits import ENTRY_BYTES_MAX, PAGE_ENTRIES_MAX
from forklore.client.generated.results import Entries, Entry, ListedEntry
from forklore.client.kinds import as_sync
from forklore.extras import needing

with needing("openhands"):
    from openhands.sdk.conversation.persistence_const import BASE_STATE, EVENT_FILE_PATTERN, EVENTS_DIR
    from openhands.sdk.io import FileStore
    from openhands.sdk.utils.cipher import FERNET_TOKEN_PREFIX, Cipher

EVENT_FILE = re.compile(rf"{EVENTS_DIR}/event-(\d+)-.+\.json", re.DOTALL)
MARKER = re.compile(rf"{EVENTS_DIR}/\.eventlog-len-(\d+)\.marker")
"""A file that is there if the log has so many events. It is known without being stored."""
OVERTAKEN = frozenset({"epoch_over", "key_in_use", "name_moved", "stale"})
TRIES = 20
"""Of an append that other processes are ahead of each time."""
CHANGES, CHANGE_BYTES = 100, 1_000
"""After so many changes of a base state the whole is stored again: a reader needs what follows it.
But only if it has no more bytes for each of them: the metrics of a long conversation are long."""
NEWEST_ENTRIES = 100
"""Of a branch that was left: most are short."""


class ForkloreFileStore(FileStore):
    """The base state and the events of one conversation of OpenHands, in forklore.

    It is read at its first use. Processes may share a conversation, with the same user and client.

    client: of either kind, with the key of an agent; made and closed by the caller. prefix: of the
    name. cipher: of the conversation; what it encrypts anew is no change. Raises TooLargeError for
    an event, a change or a whole base state beyond 2.5 MB, before anything of it is written.
    """

    def __init__(
        self,
        client: Forklore | AsyncForklore,
        conversation_id: UUID,
        *,
        prefix: str = "openhands/",
        cipher: Cipher | None = None,
    ) -> None:
        self._client = as_sync(client)
        self._files = Files.of(client)
        self._given, self._prefix, self._cipher = client, prefix, cipher
        self._name = checked_name("conversation_id", prefix, conversation_id)
        self._log: list[Kept] = []
        self._number = 0
        self._view: View | None = None
        self._fork: dict[str, Any] | None = None
        self._turn, self._lock = RLock(), Lock()

    # What the SDK calls

    def read(self, path: str) -> str:
        """Return a file. Raises FileNotFoundError if there is none."""
        with self._turn:
            view = self._known()
            event = EVENT_FILE.fullmatch(path)
            if event and int(event[1]) < len(self._log):
                return self._log[int(event[1])].text()
            if path == BASE_STATE and view.state is not None:
                # Without the member the SDK takes a folder that nobody has named.
                return jsontext.write({"persistence_dir": None, **view.state})
        raise FileNotFoundError(path)

    def write(self, path: str, contents: str | bytes) -> None:
        """Store the base state or the next event. Raises ValueError for any other file."""
        text = contents.decode() if isinstance(contents, bytes) else contents
        with self._turn:
            if path == BASE_STATE:
                self._write_state(jsontext.read(text))
            elif event := EVENT_FILE.fullmatch(path):
                self._write_event(jsontext.read(text), text, int(event[1]))
            elif not MARKER.fullmatch(path):
                raise ValueError(f"forklore keeps no file {path!r} of a conversation")

    def list(self, path: str) -> list[str]:
        """Return the paths of the files in a folder."""
        with self._turn:
            view = self._known()
            if self._fork is not None:
                return []
            if path.strip("/") == EVENTS_DIR:
                return [f"{EVENTS_DIR}/{_file_of(at, one)}" for at, one in enumerate(self._log)]
            return [BASE_STATE, f"{EVENTS_DIR}/"] if not path.strip("/") and view.state is not None else []

    def exists(self, path: str) -> bool:
        """Return whether there is a file, or a folder with files."""
        with self._turn:
            view = self._known()
            if marker := MARKER.fullmatch(path):
                return int(marker[1]) == len(self._log)
            if event := EVENT_FILE.fullmatch(path):
                return int(event[1]) < len(self._log)
            return view.state is not None if path == BASE_STATE else bool(self.list(path))

    def delete(self, path: str) -> None:
        """Do nothing for a file that is not stored. Raises ValueError for one that is."""
        if not MARKER.fullmatch(path) and self.exists(path):
            raise ValueError(f"entries of forklore are not deleted alone: {path!r}")

    def get_absolute_path(self, path: str) -> str:
        """Return what names a file. It is on no disk."""
        return f"forklore:{self._name}/{path}"

    @contextmanager
    def lock(self, path: str, timeout: float = 30.0) -> Iterator[None]:
        """Let one thread append. What other processes append meanwhile stands before it."""
        if not self._lock.acquire(timeout=timeout):
            raise TimeoutError(f"{path} was locked for {timeout} s")
        try:
            yield
        finally:
            self._lock.release()

    # Forks, and the end

    def fork(self, conversation_id: UUID, from_event_id: str | None = None) -> "ForkloreFileStore":
        """Return the store of a fork. It has no files, and stores none until `commit`.

        from_event_id: the end of the branch that it inherits; None: it inherits the whole log.
        """
        with self._turn:
            view = self._known()
            made = self._store_of(conversation_id)
            if from_event_id is None:
                made._log = view.log(self._log)  # in the order in which others read it
                made._fork = _after(view.conversation_id, view.last)
                made._view = replace(view, conversation_id=None, events=list(view.events))
            else:
                made._log = path_to(from_event_id, self._log)
                made._fork = self._place_after(made._log[-1])
                made._view = View(events=list(made._log), epoch=view.epoch, sliced=from_event_id)
            made._number = _next_number(made._log)
            made._view.state = None
            return made

    def _store_of(self, conversation_id: UUID) -> "ForkloreFileStore":
        return ForkloreFileStore(self._given, conversation_id, prefix=self._prefix, cipher=self._cipher)

    def ids(self) -> Sequence[str]:
        """Return the ids of the events."""
        with self._turn:
            self._known()
            return [one.event_id for one in self._log]

    def commit(self) -> None:
        """Make the fork with its base state, in one request.

        Raises ConflictError if there is a conversation of its id.
        """
        with self._turn:
            view, place = self._known(), self._fork
            [entry] = self._sent([self._whole(view.state, view)], **(place or {}))
            view.conversation_id, self._fork = entry.conversation_id, None
            view.passed(entry)

    def erase(self) -> None:
        """Delete the conversation with all branches of its log. Forks of it stay."""
        with self._turn, suppress(NotFoundError):
            view = self._known()
            for each in (*view.left, view.conversation_id):
                with suppress(NotFoundError):
                    if each is not None:
                        self._client.api.delete_conversation(each, scope="branch")
            with suppress(NotFoundError):
                self._client.api.delete_name(name=self._name)
            self._view = None

    # Reading

    def _known(self) -> View:
        """Return what is stored, read once, and then what this process has added.

        Read again, what was known keeps its place, by which the SDK names it in this process, even
        if its branch has been deleted. Raises NotFoundError if the conversation has been.
        """
        if self._view is None:
            log, view = self._read()
            new = {one.event_id: one for one in log}
            known = [new.pop(one.event_id, one) for one in self._log]
            if known and len(new) == len(log):
                raise NotFoundError(f"the conversation {self._name!r} has been deleted")
            self._view, self._log = view, [*known, *new.values()]
            self._number = _next_number(self._log)
        return self._view

    def _read(self) -> tuple[Sequence[Kept], View]:
        view = View()
        with suppress(NotFoundError):
            name = self._client.api.look_up_name(name=self._name)
            view.conversation_id = None if name.deleted else name.conversation_id
        if view.conversation_id is None:
            return [], view
        for entry in run(self._client, self._files.whole(self._shown(view.conversation_id))):
            view.add(entry)
        found = {one.entry_id: one for one in view.events}
        for each in view.left:
            with suppress(NotFoundError):  # somebody has deleted it
                self._read_left(each, found)
        return view.log(found.values()), view

    def _shown(self, conversation_id: str) -> Sequence[ListedEntry]:
        """Return the entries, oldest first. From before the last whole base state: events alone."""
        pages: list[Sequence[ListedEntry]] = []
        cursor, has_state = None, False
        while cursor is not None or not pages:
            page = self._client.api.list_entries(
                conversation_id,
                channel=HISTORY if has_state else None,
                limit=PAGE_ENTRIES_MAX,
                tail=None if pages else True,
                before_cursor=cursor,
            )
            pages.append(page.data)
            has_state = has_state or any(held_in(one).get("kind") == STATE for one in page.data)
            cursor = page.before_cursor
        return [entry for page in reversed(pages) for entry in page]

    def _read_left(self, conversation_id: str, found: dict[str, Kept]) -> None:
        """Read a branch from its end to where it leaves what was found."""
        cursor: str | None = None
        while True:
            page = self._client.api.list_entries(
                conversation_id,
                channel=HISTORY,
                limit=NEWEST_ENTRIES,
                tail=True if cursor is None else None,
                before_cursor=cursor,
            )
            fresh: list[ListedEntry] = [one for one in page.data if held_in(one).get("kind") == EVENT]
            new = [one for one in fresh if one.id not in found]
            for entry in run(self._client, self._files.whole(new)):
                found[entry.id] = kept_in(entry, conversation_id)
            cursor = page.before_cursor
            if cursor is None or len(new) < len(fresh):
                return

    # Writing

    def _write_state(self, state: dict[str, Any]) -> None:
        view = self._known()
        if self._fork is not None:
            view.state = state
            return

        def send() -> None:
            view = self._known()
            known = with_known_secrets(view.state, state, self._is_same_secret)
            added = added_to(view.state or {}, known)
            change = change_of(longer(view.state or {}, added), known)
            if view.state is not None and change == added == {}:
                return
            if view.state is None or change is None or _is_worth_it(known, view.changes):
                draft = self._whole(known, view)
            else:
                draft = context_draft(CHANGE, storable(change), added=storable(added))
            # Whoever has stored a state that this process does not know has taken the key.
            # `if_match` does not tell: it looks no further than the last event.
            key = FIRST if view.state is None else f"{view.epoch}.{view.changes + 1}"
            [entry] = self._sent([{**draft, "key": key}], if_match=view.last)
            view.conversation_id, view.state = entry.conversation_id, known
            view.passed(entry)

        self._retried(send)

    def _is_same_secret(self, before: str, after: str) -> bool:
        """Return whether two texts hide one secret. By a key of old it is to be stored anew."""
        if self._cipher is None or not before.startswith(FERNET_TOKEN_PREFIX):
            return False
        if not self._cipher.is_current(before):
            return False
        known, given = self._cipher.try_decrypt_str(before), self._cipher.try_decrypt_str(after)
        return known is not None and known == given

    def _write_event(self, event: dict[str, Any], text: str, at: int) -> None:
        for once in self._files.tries():
            with once:
                [stored] = run(self._client, self._files.stored([event]))
                self._retried(partial(self._append, event, stored, text, at))

    def _append(self, event: dict[str, Any], stored: Stored, text: str, at: int) -> None:
        view = self._known()
        number = self._number
        draft = event_draft(event, stored, number)
        parent = event.get("parent_id")
        if parent is None or parent == view.tip():
            entry = self._sent([draft], if_match=view.last)[-1]
        else:
            entry = self._branch(draft, parent)
        view = self._known()
        view.conversation_id = entry.conversation_id  # without a base state it is new
        view.passed(entry)
        kept = Kept.of(event, number, entry.id, entry.conversation_id, text=text)
        view.take(kept)
        self._log.insert(at, kept)  # before what another process has appended meanwhile
        self._number = number + 1

    def _branch(self, draft: dict[str, Any], parent: str) -> Entry:
        """Go on after an event that is not the last one, in a fork that takes the name."""
        view, new = self._known(), str(uuid4())
        path = [] if parent == NO_PARENT else path_to(parent, self._log)
        place = self._place_after(path[-1]) if path else {"forked_at_conversation_id": view.conversation_id}
        is_here = place["forked_at_conversation_id"] == view.conversation_id
        left = (*view.left, view.conversation_id or "")
        made = View(new, path, view.state, epoch=view.epoch, left=left, sliced=view.sliced)
        name = self._client.api.look_up_name(name=self._name)
        if name.conversation_id != view.conversation_id:
            raise ConflictError("another process is on another branch", details={"reason": "name_moved"})
        drafts = [self._whole(view.state, made), draft]
        answer = self._client.api.append_entry(
            new,
            name={"name": self._name, "expectRevision": name.revision},
            if_match=view.last if is_here else None,
            entries=drafts,
            **place,
        )
        assert isinstance(answer, Entries)
        self._view = made
        for entry in answer.data:
            made.passed(entry)
        return answer.data[-1]

    def _place_after(self, event: Kept) -> dict[str, Any]:
        view = self._known()
        is_here = any(one.event_id == event.event_id for one in view.events)
        source = view.conversation_id if is_here and view.conversation_id else event.shown_by
        return _after(source, event.entry_id)

    def _whole(self, state: Any, view: View) -> dict[str, Any]:
        """Return an entry with the whole base state, as the first one of a conversation."""
        held = {"left": list(view.left), "sliced": view.sliced}
        return context_draft(STATE, storable(state), **held) | {"epoch": view.epoch + 1, "key": FIRST}

    def _sent(self, drafts: Sequence[dict[str, Any]], **where: Any) -> tuple[Entry, ...]:
        """Append by the name; return the entries."""
        for one in drafts:
            checked_size("an event or a base state", one["content"])
        made = self._client.api.append_entry_by_name(name=self._name, entries=[*drafts], **where)
        assert isinstance(made, Entries)
        return tuple(made.data)

    def _retried(self, send: Callable[[], None]) -> None:
        """Do what another process may be ahead of. Then what it has stored is read first."""
        for _ in range(TRIES - 1):
            try:
                send()
            except ConflictError as error:
                if error.reason not in OVERTAKEN:
                    raise
                self._view = None
            else:
                return
        send()


def _is_worth_it(state: Any, changes: int) -> bool:
    """Tell whether to store the whole base state again after so many changes."""
    if changes % CHANGES or not changes:
        return False
    return size_of(state) <= min(changes * CHANGE_BYTES, ENTRY_BYTES_MAX // 2)


def _after(conversation_id: str | None, entry_id: str | None) -> dict[str, Any]:
    """Return the place of a fork."""
    return {
        "forked_at_conversation_id": conversation_id,
        "forked_at_entry_id": entry_id,
        "forked_at_position": "after",
    }


def _next_number(log: Sequence[Kept]) -> int:
    return max((one.number for one in log), default=-1) + 1


def _file_of(at: int, event: Kept) -> str:
    return EVENT_FILE_PATTERN.format(idx=at, event_id=event.event_id)
