"""What operations answer: frozen dataclasses, which keep members that they do not know.

Generated from the models of the service by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, Literal

from forklore.client.result_base import Value, an_id, many, result, sha_256
from forklore.client.spoken import Spoken


@result
class Health(Value):
    """The service answers. `version`, `commit`: of a server on one machine, where it is known.
    `startedAt`: of a server that forgets all when it stops. `searchTypes`: how it can search,
    if it
    has a model of meaning, too."""

    status: Literal["ok"]
    search_types: list[Literal["fulltext", "semantic"]] | None = None
    version: str | None = None
    commit: str | None = None
    started_at: str | None = None


@result
class Answering(Value):
    """An answer that is not ended. `since`: when it was begun. A list of conversations reads no
    `state`."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"answer_id": an_id}

    answer_id: str
    after_entry_id: str | None
    user_id: str
    since: str
    state: Literal["open", "silent", "stopped", "finished", "dropped"] | None = None


@result
class Metrics(Value):
    """Sums over the appends, on top of what a fork started with."""

    entries: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cost_usd: float | Decimal


@result
class ConversationDetails(Value):
    """A conversation as its member sees it."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "forked_at_conversation_id": an_id,
        "forked_at_entry_id": an_id,
        "started_by_conversation_id": an_id,
        "started_by_entry_id": an_id,
        "answering": Answering.of,
        "metrics": Metrics.of,
    }

    id: str
    title: str | None
    owner_user_id: str
    access_level: Literal["owner", "manager", "writer", "reader"]
    archived: bool | None = None
    pinned: bool | None = None
    is_current: bool
    agent_id: str | None = None
    tags: dict[str, str]
    metadata: dict[str, Any]
    created_at: str
    updated_at: str
    last_used_at: str
    branches: int | None = None
    last_message_preview: str | None = None
    history_entries: int | None = None
    forked_at_conversation_id: str | None = None
    forked_at_entry_id: str | None = None
    forked_at_position: Literal["before", "after", "blank"] | None = None
    started_by_conversation_id: str | None = None
    started_by_entry_id: str | None = None
    answering: Answering | None = None
    metrics: Metrics


@result
class ConversationPage(Value):
    """Conversations in the list's order."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(ConversationDetails.of)}

    data: tuple[ConversationDetails, ...]
    after_cursor: str | None


@result
class Trashed(Value):
    """A deleted fork tree that can be restored, as its current branch, or a branch of a live
    tree.

    `keptUntil`: when it is removed, if nobody restores it before."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id}

    id: str
    scope: Literal["tree", "branch"]
    title: str | None
    owner_user_id: str
    created_at: str
    deleted_at: str
    kept_until: str


@result
class TrashPage(Value):
    """Deleted fork trees, the newest tree first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Trashed.of)}

    data: tuple[Trashed, ...]
    after_cursor: str | None


@result
class Conversations(Value):
    """Equal forks that were made together."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(ConversationDetails.of)}

    data: tuple[ConversationDetails, ...]


Forked = ConversationDetails | Conversations
"""The fork, or with `count` in the request `data` with all of them."""


def forked(given: Any) -> Forked:
    """Return the one result, or several of them."""
    chosen = Conversations if isinstance(given, Mapping) and "data" in given else ConversationDetails
    return chosen.of(given)


@result
class Fork(Value):
    """A conversation of a fork tree. `lastEntryId`: the last history entry that it shows."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "conversation_id": an_id,
        "forked_at_conversation_id": an_id,
        "forked_at_entry_id": an_id,
        "answering": Answering.of,
    }

    conversation_id: str
    title: str | None
    agent_id: str | None = None
    tags: dict[str, str]
    metadata: dict[str, Any]
    forked_at_conversation_id: str | None = None
    forked_at_entry_id: str | None = None
    forked_at_position: Literal["before", "after", "blank"] | None = None
    last_entry_id: str | None
    is_current: bool
    created_at: str
    answering: Answering | None = None


@result
class ForkPage(Value):
    """The conversations of a fork tree, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Fork.of)}

    data: tuple[Fork, ...]
    after_cursor: str | None


@result
class AttachedFile(Value):
    """A file that the content of an entry names. `url`: its bytes, until `urlExpiresAt`."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id}

    id: str
    name: str
    content_type: str
    size: int
    url: str | None = None
    url_expires_at: str | None = None


@result
class Entry(Spoken, Value):
    """What was appended. `parentId`: the history entry that is shown just before it."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "attachments": many(AttachedFile.of),
        "merged_from_conversation_id": an_id,
        "merged_up_to_entry_id": an_id,
        "copied_from_conversation_id": an_id,
        "copied_from_entry_id": an_id,
    }

    id: str
    conversation_id: str
    parent_id: str | None
    user_id: str
    client_id: str | None = None
    agent_id: str | None = None
    channel: Literal["history", "context"]
    epoch: int | None = None
    key: str | None = None
    content_type: str
    content: list[Any]
    attachments: tuple[AttachedFile, ...] = ()
    erased: bool | None = None
    usage: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    merged_from_conversation_id: str | None = None
    merged_up_to_entry_id: str | None = None
    copied_from_conversation_id: str | None = None
    copied_from_entry_id: str | None = None
    created_at: str


@result
class Synced(Value):
    """What a sync did. `entry`: null if nothing was written. `lastEntryId`: the last context
    entry now."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"entry": Entry.of}

    epoch: int | None
    no_op: bool
    epoch_incremented: bool
    entry: Entry | None
    last_entry_id: str | None


@result
class AppendedEntry(Entry):
    """The entry that was appended."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "attachments": many(AttachedFile.of),
        "merged_from_conversation_id": an_id,
        "merged_up_to_entry_id": an_id,
        "copied_from_conversation_id": an_id,
        "copied_from_entry_id": an_id,
        "context": Synced.of,
    }

    context: Synced | None = None


@result
class Entries(Value):
    """Entries appended together, in order."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Entry.of), "context": Synced.of}

    data: tuple[Entry, ...]
    context: Synced | None = None


Appended = AppendedEntry | Entries
"""The entry, or with `entries` in the request `data` with all of them."""


def appended(given: Any) -> Appended:
    """Return the one result, or several of them."""
    chosen = Entries if isinstance(given, Mapping) and "data" in given else AppendedEntry
    return chosen.of(given)


@result
class Line(Value):
    """What an entry says, on one line: the role and the first words of it.

    `tool`, `failed`:
    the first tool that its first element names, and whether one of these failed.
    `holds`:
    what its first element has beside role and text. `saidAt`: when it was said elsewhere."""

    role: str | None = None
    text: str | None = None
    tool: str | None = None
    failed: bool | None = None
    holds: list[Literal["attachments", "data", "events", "other"]] | None = None
    said_at: str | None = None


@result
class ListedEntry(Entry):
    """An entry in a list. `alternatives`: the conversations that go on differently before it.
    `line`: with `view` = `line`, in place of `content` and `metadata`. `content` is empty
    then."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "attachments": many(AttachedFile.of),
        "merged_from_conversation_id": an_id,
        "merged_up_to_entry_id": an_id,
        "copied_from_conversation_id": an_id,
        "copied_from_entry_id": an_id,
        "line": Line.of,
    }

    alternatives: list[str] | None = None
    line: Line | None = None


@result
class EntryPage(Value):
    """Entries, oldest first. At the end of the view stand two more members.
    `alternativesAtEnd`: those that go on where this one ends. `answering`: the answer that is
    written there."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "data": many(ListedEntry.of),
        "answering": Answering.of,
    }

    data: tuple[ListedEntry, ...]
    after_cursor: str | None
    before_cursor: str | None
    alternatives_at_end: list[str] | None = None
    answering: Answering | None = None


@result
class Base(Value):
    """The last history entry that both conversations show; null: there is none."""

    entry_id: str | None


@result
class ComparedBranch(Value):
    """What a conversation shows of the history after the base, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"conversation_id": an_id, "data": many(Entry.of)}

    conversation_id: str
    data: tuple[Entry, ...]
    after_cursor: str | None


@result
class Comparison(Value):
    """Where two conversations part, and how each goes on: first the one in the path."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "base": Base.of,
        "branches": many(ComparedBranch.of),
    }

    base: Base
    branches: tuple[ComparedBranch, ...]


@result
class Ancestor(Value):
    """A conversation that is shown in part, up to `inheritedUpToEntryId`."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "conversation_id": an_id,
        "inherited_up_to_entry_id": an_id,
    }

    conversation_id: str
    title: str | None = None
    removed: bool | None = None
    inherited_up_to_entry_id: str | None = None


@result
class Ancestors(Value):
    """Whose entries a conversation shows, the oldest first; the last one is the conversation."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Ancestor.of)}

    data: tuple[Ancestor, ...]


@result
class AnswerStatus(Value):
    """An answer that is written piece by piece. `position`: of the last thing in its log.

    A
    `finished` one has become the entry `entryId` of `entryConversationId`."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "entry_conversation_id": an_id,
        "entry_id": an_id,
    }

    id: str
    conversation_id: str
    after_entry_id: str | None
    user_id: str
    client_id: str | None = None
    agent_id: str | None = None
    state: Literal["open", "silent", "stopped", "finished", "dropped"]
    position: int
    entry_conversation_id: str | None = None
    entry_id: str | None = None
    created_at: str


@result
class AppendedPart(Value):
    """Where the part stands: what the next one is `after`."""

    position: int


@result
class Part(Value):
    """A piece of an answer. Without content it only says that somebody is at it."""

    position: int
    content: list[Any]


@result
class AnswerLog(AnswerStatus):
    """An answer with its pieces after a position."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "entry_conversation_id": an_id,
        "entry_id": an_id,
        "parts": many(Part.of),
    }

    parts: tuple[Part, ...]


@result
class Hit(Value):
    """An entry that fits the query. `highlights`: its text around the words. `score`: how well.
    `around`: whole exchanges with it, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "conversation_id": an_id,
        "entry_id": an_id,
        "line": Line.of,
        "entry": Entry.of,
        "around": many(Entry.of),
    }

    conversation_id: str
    conversation_title: str | None
    entry_id: str
    created_at: str
    agent_id: str | None = None
    line: Line
    highlights: list[str]
    score: float | Decimal
    entry: Entry | None = None
    around: tuple[Entry, ...] = ()


@result
class SearchPage(Value):
    """Hits, the best first. `complete`: whether all that you may see was ranked together."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Hit.of)}

    data: tuple[Hit, ...]
    after_cursor: str | None
    complete: bool


@result
class Membership(Value):
    """What a user may do in a fork tree."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"conversation_id": an_id}

    conversation_id: str
    user_id: str
    access_level: Literal["owner", "manager", "writer", "reader"]
    created_at: str


@result
class MembershipPage(Value):
    """The members of a fork tree, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Membership.of)}

    data: tuple[Membership, ...]
    after_cursor: str | None


@result
class ChangedMembership(Membership):
    """What a member may do from now on."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"conversation_id": an_id}

    children: int


@result
class RemovedMembership(Value):
    """How far a removal went."""

    children: int


@result
class Link(Value):
    """A link by which people without an account read. It ends at `endsAt`.

    `upToEntryId`: the
    last entry that it shows; left out if it shows the whole fork tree. `opens`:
    how often it
    was opened."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "up_to_entry_id": an_id,
    }

    id: str
    conversation_id: str
    all_forks: bool
    up_to_entry_id: str | None = None
    user_ids: bool
    keep_on_transfer: bool
    opens: int
    created_at: str
    ends_at: str


@result
class CreatedLink(Link):
    """A new link. `secret` stands in its address, and is told only this once."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "up_to_entry_id": an_id,
    }

    secret: str


@result
class LinkPage(Value):
    """The links of a fork tree that have not ended, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Link.of)}

    data: tuple[Link, ...]
    after_cursor: str | None


@result
class Transfer(Value):
    """An ownership that is offered."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id, "conversation_id": an_id}

    id: str
    conversation_id: str
    from_user_id: str
    to_user_id: str
    created_at: str


@result
class TransferPage(Value):
    """Pending transfers, oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Transfer.of)}

    data: tuple[Transfer, ...]
    after_cursor: str | None


@result
class LinkedConversation(Value):
    """What a link leads to. `allForks`: it shows the whole fork tree, and what is said later."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"conversation_id": an_id}

    conversation_id: str
    title: str | None
    all_forks: bool
    ends_at: str


@result
class LinkedEntry(Value):
    """What was said. `userId`: only if who has made the link asked for it.

    `alternatives`:
    conversations that go on differently here, if the link shows them."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id, "attachments": many(AttachedFile.of)}

    id: str
    created_at: str
    user_id: str | None = None
    agent_id: str | None = None
    content_type: str
    content: list[Any]
    attachments: tuple[AttachedFile, ...] = ()
    erased: bool | None = None
    alternatives: list[str] | None = None


@result
class LinkedEntryPage(Value):
    """Entries, oldest first, as people without an account see them."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(LinkedEntry.of)}

    data: tuple[LinkedEntry, ...]
    after_cursor: str | None
    before_cursor: str | None
    alternatives_at_end: list[str] | None = None


@result
class Note(Value):
    """A note on an entry. `conversationId`: the one that the entry was written in.

    `clientId`:
    the agent that has written it. `pinned`: it pins the entry, and says no more."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "conversation_id": an_id,
        "entry_id": an_id,
    }

    id: str
    conversation_id: str
    entry_id: str
    user_id: str
    client_id: str | None = None
    text: str | None = None
    score: float | Decimal | None = None
    pinned: bool | None = None
    created_at: str


@result
class NotePage(Value):
    """Notes in the order of their entries, those on one entry oldest first."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Note.of)}

    data: tuple[Note, ...]
    after_cursor: str | None


@result
class Name(Value):
    """A name and where it points.

    `previousConversationId`: where it pointed before that.
    `deleted`: you cannot see the
    conversation any more. It is deleted, or you are no member."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "conversation_id": an_id,
        "previous_conversation_id": an_id,
    }

    name: str
    conversation_id: str
    revision: int
    data: dict[str, Any]
    created_at: str
    updated_at: str
    previous_conversation_id: str | None = None
    deleted: bool | None = None


@result
class NamePage(Value):
    """Names in the order of their UTF-8 bytes."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(Name.of)}

    data: tuple[Name, ...]
    after_cursor: str | None


@result
class Attachment(Value):
    """A file beside the log. `url`: its bytes, until `urlExpiresAt`, if they are there.
    `pending`: nobody has seen its bytes yet. `removed`: an admin has removed them."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id, "sha_256": sha_256}

    id: str
    name: str
    content_type: str
    size: int
    sha_256: str
    state: Literal["pending", "ready", "removed"]
    created_at: str
    url: str | None = None
    url_expires_at: str | None = None


@result
class Sending(Value):
    """The request that brings the bytes of an attachment, until `expiresAt`."""

    method: str
    url: str
    headers: dict[str, str]
    expires_at: str


@result
class UploadedAttachment(Attachment):
    """An attachment. `upload`: how to send its bytes, if they are not there."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "sha_256": sha_256,
        "upload": Sending.of,
    }

    upload: Sending | None = None


@result
class AdminConversation(ConversationDetails):
    """A conversation as an auditor sees it. `clientId`: the client that its context is bound to."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "id": an_id,
        "forked_at_conversation_id": an_id,
        "forked_at_entry_id": an_id,
        "started_by_conversation_id": an_id,
        "started_by_entry_id": an_id,
        "answering": Answering.of,
        "metrics": Metrics.of,
    }

    client_id: str | None = None


@result
class AdminConversationPage(Value):
    """Conversations in the list's order."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(AdminConversation.of)}

    data: tuple[AdminConversation, ...]
    after_cursor: str | None


@result
class AdminName(Name):
    """A name as an auditor sees it, with whose it is. `deleted`: the conversation is deleted."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "conversation_id": an_id,
        "previous_conversation_id": an_id,
    }

    user_id: str
    client_id: str | None = None


@result
class AdminNamePage(Value):
    """Names of a user: those without a client, then client by client."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(AdminName.of)}

    data: tuple[AdminName, ...]
    after_cursor: str | None


@result
class AdminAttachment(Attachment):
    """An attachment as an auditor sees it. `userId`: who has uploaded it, unless erased."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id, "sha_256": sha_256}

    user_id: str | None = None


@result
class AdminAttachmentPage(Value):
    """Attachments of a user in the order of `sha256`, without links."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"data": many(AdminAttachment.of)}

    data: tuple[AdminAttachment, ...]
    after_cursor: str | None


@result
class Erasure(Value):
    """The erasure of a user: what stands for the user now, and how many things were changed."""

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"id": an_id}

    id: str
    state: Literal["running", "done"]
    pseudonym: str
    trees: int
    memberships: int
    entries: int
    passes: int
    created_at: str
    finished_at: str | None = None
