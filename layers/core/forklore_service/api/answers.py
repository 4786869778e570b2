"""Answers: what each one holds, and how domain values become one.

An answer is described once, by a TypedDict. mypy checks against it what is answered here, and
`results.py` makes a model of it, for the API document, the clients and tests. Docstrings of answers
are descriptions in the document. Content keeps the spelling that was sent.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, ParamSpec, TypedDict, TypeVar

from pydantic import Field

from forklore_service.api.fields import UUID_PATTERN, Time
from forklore_service.domain import content, ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.alternatives import ALTERNATIVES_MAX
from forklore_service.domain.answer_logs import AnswerState, Standing
from forklore_service.domain.attachments import SHA256_PATTERN, FileState
from forklore_service.domain.content import LINE_CHARACTERS, WORD_CHARACTERS, BesideText
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.links import ReaderLink
from forklore_service.domain.model import Channel, ForkPosition
from forklore_service.limits import KEY_CHARACTERS_MAX

if TYPE_CHECKING:  # a function loads only the use cases of its own operations
    from forklore_service.domain import model, notes, tree
    from forklore_service.domain.erasures import Erasure as ErasureRecord
    from forklore_service.storage.objects import Upload
    from forklore_service.usecases.answers import reading as logs
    from forklore_service.usecases.attachments import reading as files
    from forklore_service.usecases.attachments import uploading
    from forklore_service.usecases.people import sharing
    from forklore_service.usecases.reading import ancestors, comparing, linked, search, trash_list
    from forklore_service.usecases.reading import entries as listing
    from forklore_service.usecases.shared import appended as appending
    from forklore_service.usecases.shared import loading, syncing
    from forklore_service.usecases.writing import names

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Answer = TypeVar("_Answer", bound=Mapping[str, object])

LEFT_OUT = "left out"
Maybe = Annotated[_T | None, LEFT_OUT]
"""A member that an answer leaves out where there is nothing to show. It is never null."""
Id = Annotated[str, Field(pattern=UUID_PATTERN)]
Sha256 = Annotated[str, Field(pattern=SHA256_PATTERN)]
Cursor = Annotated[str | None, Field(description="The position to go on from; null where the list ends.")]
Array = Annotated[JsonText, list[Any]]
Object = Annotated[JsonText, dict[str, Any]]
Number = Annotated[JsonText, float]
"""JSON text, and the type of its value."""
Others = Annotated[list[str], Field(max_length=ALTERNATIVES_MAX)]
"""Ids of conversations that go on differently."""


Position = Annotated[int, Field(ge=0)]
"""A place in the log of an answer. It begins with 0."""


class EitherOf(NamedTuple):
    """The name and the description of an answer that is one of two."""

    name: str
    description: str


class Health(TypedDict):
    """The service answers. `version`, `commit`: of a server on one machine, where it is known.

    `startedAt`: of a server that forgets all when it stops. `searchTypes`: how it can search, if it
    has a model of meaning, too.
    """

    status: Literal["ok"]
    searchTypes: Maybe[list[Literal["fulltext", "semantic"]]]
    version: Maybe[str]
    commit: Maybe[str]
    startedAt: Maybe[str]


class Metrics(TypedDict):
    """Sums over the appends, on top of what a fork started with."""

    entries: int
    inputTokens: int
    outputTokens: int
    cachedInputTokens: int
    costUsd: Number


class Answering(TypedDict):
    """An answer that is not ended. `since`: when it was begun. A list of conversations reads no
    `state`."""

    answerId: Id
    afterEntryId: str | None
    userId: str
    since: Time
    state: Maybe[AnswerState]


class Conversation(TypedDict):
    """A conversation as its member sees it."""

    id: Id
    title: str | None
    ownerUserId: str
    accessLevel: AccessLevel
    archived: Maybe[
        Annotated[bool, Field(default=False, description="Whether you have archived the fork tree.")]
    ]
    pinned: Maybe[
        Annotated[
            bool,
            Field(
                default=False, description="In the list of conversations: whether you have pinned the tree"
            ),
        ]
    ]
    isCurrent: bool
    agentId: Maybe[str]
    tags: dict[str, str]
    metadata: Object
    createdAt: Time
    updatedAt: Time
    lastUsedAt: Time
    branches: Maybe[
        Annotated[int, Field(ge=1, description="In the list of conversations: those of the fork tree")]
    ]
    lastMessagePreview: Maybe[Annotated[str, Field(max_length=100)]]
    historyEntries: Maybe[
        Annotated[int, Field(ge=1, description="Entries of the history that were appended to it")]
    ]
    forkedAtConversationId: Maybe[Id]
    forkedAtEntryId: Maybe[Id]
    forkedAtPosition: Maybe[ForkPosition]
    startedByConversationId: Maybe[Id]
    startedByEntryId: Maybe[Id]
    answering: Maybe[Answering]
    metrics: Metrics


class ConversationPage(TypedDict):
    """Conversations in the list's order."""

    data: list[Conversation]
    afterCursor: Cursor


class Trashed(TypedDict):
    """A deleted fork tree that can be restored, as its current branch, or a branch of a live tree.

    `keptUntil`: when it is removed, if nobody restores it before.
    """

    id: Id
    scope: Literal["tree", "branch"]
    title: str | None
    ownerUserId: str
    createdAt: Time
    deletedAt: Time
    keptUntil: Time


class TrashPage(TypedDict):
    """Deleted fork trees, the newest tree first."""

    data: list[Trashed]
    afterCursor: Cursor


class Conversations(TypedDict):
    """Equal forks that were made together."""

    data: list[Conversation]


Forked = Annotated[
    Conversation | Conversations,
    EitherOf("Forked", "The fork, or with `count` in the request `data` with all of them."),
]


class AdminConversation(Conversation):
    """A conversation as an auditor sees it. `clientId`: the client that its context is bound to."""

    clientId: Maybe[str]


class AdminConversationPage(TypedDict):
    """Conversations in the list's order."""

    data: list[AdminConversation]
    afterCursor: Cursor


class Fork(TypedDict):
    """A conversation of a fork tree. `lastEntryId`: the last history entry that it shows."""

    conversationId: Id
    title: str | None
    agentId: Maybe[str]
    tags: dict[str, str]
    metadata: Object
    forkedAtConversationId: Maybe[Id]
    forkedAtEntryId: Maybe[Id]
    forkedAtPosition: Maybe[ForkPosition]
    lastEntryId: str | None
    isCurrent: bool
    createdAt: Time
    answering: Maybe[Answering]


class ForkPage(TypedDict):
    """The conversations of a fork tree, oldest first."""

    data: list[Fork]
    afterCursor: Cursor


class AttachedFile(TypedDict):
    """A file that the content of an entry names. `url`: its bytes, until `urlExpiresAt`."""

    id: Id
    name: str
    contentType: str
    size: int
    url: Maybe[str]
    urlExpiresAt: Maybe[Time]


class Entry(TypedDict):
    """What was appended. `parentId`: the history entry that is shown just before it."""

    id: Id
    conversationId: Id
    parentId: str | None
    userId: str
    clientId: Maybe[str]
    agentId: Maybe[str]
    channel: Channel
    epoch: Maybe[Annotated[int, Field(default=1, ge=1)]]
    key: Maybe[Annotated[str, Field(max_length=KEY_CHARACTERS_MAX)]]
    contentType: str
    content: Array
    attachments: Maybe[list[AttachedFile]]
    erased: Maybe[
        Annotated[
            bool, Field(default=False, description="Whether the author was erased. Then `content` is empty.")
        ]
    ]
    usage: Maybe[Object]
    metadata: Maybe[Object]
    mergedFromConversationId: Maybe[Id]
    mergedUpToEntryId: Maybe[Id]
    copiedFromConversationId: Maybe[Id]
    copiedFromEntryId: Maybe[Id]
    createdAt: Time


class Synced(TypedDict):
    """What a sync did. `entry`: null if nothing was written. `lastEntryId`: the last context entry now."""  # noqa: W505 (the API shows it)

    epoch: int | None
    noOp: bool
    epochIncremented: bool
    entry: Entry | None
    lastEntryId: str | None


PresentContext = Maybe[
    Annotated[Synced, Field(description="What became of the request's `context`; left out without one.")]
]


class AppendedEntry(Entry):
    """The entry that was appended."""

    context: PresentContext


class Entries(TypedDict):
    """Entries appended together, in order."""

    data: list[Entry]
    context: PresentContext


Appended = Annotated[
    AppendedEntry | Entries,
    EitherOf("Appended", "The entry, or with `entries` in the request `data` with all of them."),
]


Word = Annotated[str, Field(max_length=WORD_CHARACTERS)]


class Line(TypedDict):
    """What an entry says, on one line: the role and the first words of it.

    `tool`, `failed`: the first tool that its first element names, and whether one of these failed.
    `holds`: what its first element has beside role and text. `saidAt`: when it was said elsewhere.
    """

    role: Maybe[Word]
    text: Maybe[Annotated[str, Field(max_length=LINE_CHARACTERS)]]
    tool: Maybe[Word]
    failed: Maybe[Annotated[bool, Field(default=False)]]
    holds: Maybe[list[BesideText]]
    saidAt: Maybe[Time]


class ListedEntry(Entry):
    """An entry in a list. `alternatives`: the conversations that go on differently before it.

    `line`: with `view` = `line`, in place of `content` and `metadata`. `content` is empty then.
    """

    alternatives: Maybe[Others]
    line: Maybe[Line]


class EntryPage(TypedDict):
    """Entries, oldest first. At the end of the view stand two more members.

    `alternativesAtEnd`: those that go on where this one ends. `answering`: the answer that is
    written there.
    """

    data: list[ListedEntry]
    afterCursor: Cursor
    beforeCursor: Cursor
    alternativesAtEnd: Maybe[Others]
    answering: Maybe[Answering]


class Part(TypedDict):
    """A piece of an answer. Without content it only says that somebody is at it."""

    position: Position
    content: Array


class AppendedPart(TypedDict):
    """Where the part stands: what the next one is `after`."""

    position: Position


class AnswerStatus(TypedDict):
    """An answer that is written piece by piece. `position`: of the last thing in its log.

    A `finished` one has become the entry `entryId` of `entryConversationId`.
    """

    id: Id
    conversationId: Id
    afterEntryId: str | None
    userId: str
    clientId: Maybe[str]
    agentId: Maybe[str]
    state: AnswerState
    position: Position
    entryConversationId: Maybe[Id]
    entryId: Maybe[Id]
    createdAt: Time


class AnswerLog(AnswerStatus):
    """An answer with its pieces after a position."""

    parts: list[Part]


class Base(TypedDict):
    """The last history entry that both conversations show; null: there is none."""

    entryId: str | None


class ComparedBranch(TypedDict):
    """What a conversation shows of the history after the base, oldest first."""

    conversationId: Id
    data: list[Entry]
    afterCursor: Cursor


class Comparison(TypedDict):
    """Where two conversations part, and how each goes on: first the one in the path."""

    base: Base
    branches: list[ComparedBranch]


class Ancestor(TypedDict):
    """A conversation that is shown in part, up to `inheritedUpToEntryId`."""

    conversationId: Id
    title: Maybe[str]
    removed: Maybe[Annotated[bool, Field(default=True)]]
    inheritedUpToEntryId: Maybe[Id]


class Ancestors(TypedDict):
    """Whose entries a conversation shows, the oldest first; the last one is the conversation."""

    data: list[Ancestor]


class Hit(TypedDict):
    """An entry that fits the query. `highlights`: its text around the words. `score`: how well.

    `around`: whole exchanges with it, oldest first.
    """

    conversationId: Id
    conversationTitle: str | None
    entryId: Id
    createdAt: Time
    agentId: Maybe[str]
    line: Line
    highlights: list[str]
    score: float
    entry: Maybe[Entry]
    around: Maybe[list[Entry]]


class SearchPage(TypedDict):
    """Hits, the best first. `complete`: whether all that you may see was ranked together."""

    data: list[Hit]
    afterCursor: Cursor
    complete: bool


class Membership(TypedDict):
    """What a user may do in a fork tree."""

    conversationId: Id
    userId: str
    accessLevel: AccessLevel
    createdAt: Time


Changed = Annotated[
    int, Field(ge=0, description="How many conversations that were started from here were changed, too.")
]


class ChangedMembership(Membership):
    """What a member may do from now on."""

    children: Changed


class RemovedMembership(TypedDict):
    """How far a removal went."""

    children: Changed


class MembershipPage(TypedDict):
    """The members of a fork tree, oldest first."""

    data: list[Membership]
    afterCursor: Cursor


class Link(TypedDict):
    """A link by which people without an account read. It ends at `endsAt`.

    `upToEntryId`: the last entry that it shows; left out if it shows the whole fork tree. `opens`:
    how often it was opened.
    """

    id: Id
    conversationId: Id
    allForks: bool
    upToEntryId: Maybe[Id]
    userIds: bool
    keepOnTransfer: bool
    opens: Annotated[int, Field(ge=0)]
    createdAt: Time
    endsAt: Time


class CreatedLink(Link):
    """A new link. `secret` stands in its address, and is told only this once."""

    secret: str


class LinkPage(TypedDict):
    """The links of a fork tree that have not ended, oldest first."""

    data: list[Link]
    afterCursor: Cursor


class LinkedConversation(TypedDict):
    """What a link leads to. `allForks`: it shows the whole fork tree, and what is said later."""

    conversationId: Id
    title: str | None
    allForks: bool
    endsAt: Time


class LinkedEntry(TypedDict):
    """What was said. `userId`: only if who has made the link asked for it.

    `alternatives`: conversations that go on differently here, if the link shows them.
    """

    id: Id
    createdAt: Time
    userId: Maybe[str]
    agentId: Maybe[str]
    contentType: str
    content: Array
    attachments: Maybe[list[AttachedFile]]
    erased: Maybe[Annotated[bool, Field(default=False)]]
    alternatives: Maybe[Others]


class LinkedEntryPage(TypedDict):
    """Entries, oldest first, as people without an account see them."""

    data: list[LinkedEntry]
    afterCursor: Cursor
    beforeCursor: Cursor
    alternativesAtEnd: Maybe[Others]


class Note(TypedDict):
    """A note on an entry. `conversationId`: the one that the entry was written in.

    `clientId`: the agent that has written it. `pinned`: it pins the entry, and says no more.
    """

    id: Id
    conversationId: Id
    entryId: Id
    userId: str
    clientId: Maybe[str]
    text: Maybe[str]
    score: Maybe[float]
    pinned: Maybe[bool]
    createdAt: Time


class NotePage(TypedDict):
    """Notes in the order of their entries, those on one entry oldest first."""

    data: list[Note]
    afterCursor: Cursor


class Transfer(TypedDict):
    """An ownership that is offered."""

    id: Id
    conversationId: Id
    fromUserId: str
    toUserId: str
    createdAt: Time


class TransferPage(TypedDict):
    """Pending transfers, oldest first."""

    data: list[Transfer]
    afterCursor: Cursor


class Name(TypedDict):
    """A name and where it points.

    `previousConversationId`: where it pointed before that. `deleted`: you cannot see the
    conversation any more. It is deleted, or you are no member.
    """

    name: str
    conversationId: Id
    revision: Annotated[int, Field(ge=1)]
    data: Object
    createdAt: Time
    updatedAt: Time
    previousConversationId: Maybe[Id]
    deleted: Maybe[Annotated[bool, Field(default=False)]]


class NamePage(TypedDict):
    """Names in the order of their UTF-8 bytes."""

    data: list[Name]
    afterCursor: Cursor


class AdminName(Name):
    """A name as an auditor sees it, with whose it is. `deleted`: the conversation is deleted."""

    userId: str
    clientId: Maybe[str]


class AdminNamePage(TypedDict):
    """Names of a user: those without a client, then client by client."""

    data: list[AdminName]
    afterCursor: Cursor


class Attachment(TypedDict):
    """A file beside the log. `url`: its bytes, until `urlExpiresAt`, if they are there.

    `pending`: nobody has seen its bytes yet. `removed`: an admin has removed them.
    """

    id: Id
    name: str
    contentType: str
    size: int
    sha256: Sha256
    state: FileState
    createdAt: Time
    url: Maybe[str]
    urlExpiresAt: Maybe[Time]


class Sending(TypedDict):
    """The request that brings the bytes of an attachment, until `expiresAt`."""

    method: str
    url: str
    headers: dict[str, str]
    expiresAt: Time


class UploadedAttachment(Attachment):
    """An attachment. `upload`: how to send its bytes, if they are not there."""

    upload: Maybe[Sending]


class AdminAttachment(Attachment):
    """An attachment as an auditor sees it. `userId`: who has uploaded it, unless erased."""

    userId: Maybe[str]


class AdminAttachmentPage(TypedDict):
    """Attachments of a user in the order of `sha256`, without links."""

    data: list[AdminAttachment]
    afterCursor: Cursor


class Erasure(TypedDict):
    """The erasure of a user: what stands for the user now, and how many things were changed."""

    id: Id
    state: Literal["running", "done"]
    pseudonym: str
    trees: Annotated[int, Field(ge=0, description="Trees that were deleted because the user owned them.")]
    memberships: Annotated[int, Field(ge=0, description="Memberships that were ended.")]
    entries: Annotated[int, Field(ge=0, description="Entries of other users' trees that were erased.")]
    passes: Annotated[
        int,
        Field(
            ge=1, description="How often the table was read, or is being read. The last time finds nothing."
        ),
    ]
    createdAt: Time
    finishedAt: Maybe[Time]


def _shown(describe: Callable[_P, _Answer]) -> Callable[_P, _Answer]:
    """Return the function without the members of its answer that are None and may be left out."""
    members: Mapping[str, Any] = describe.__annotations__["return"].__annotations__
    optional = {name for name, held in members.items() if LEFT_OUT in getattr(held, "__metadata__", ())}

    @wraps(describe)
    def shown(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        answer = describe(*args, **kwargs)
        return {name: held for name, held in answer.items() if held is not None or name not in optional}

    return shown


def _text(json_text: str) -> JsonText:
    return JsonText(json_text, None)


@_shown
def health(*, has_model: bool) -> Health:
    """Return that the service answers."""
    types: list[Literal["fulltext", "semantic"]] | None = ["fulltext", "semantic"] if has_model else None
    return {"status": "ok", "searchTypes": types, "version": None, "commit": None, "startedAt": None}


def _entry(entry: "model.Entry") -> Entry:
    merged, copied = entry.merged_from, entry.copied_from
    return {
        "id": entry.entry_id,
        "conversationId": entry.conversation_id,
        "parentId": entry.after.history,
        "userId": entry.user_id,
        "clientId": entry.client_id,
        "agentId": entry.agent_id,
        "channel": entry.channel,
        "epoch": entry.epoch,
        "key": entry.key,
        "contentType": entry.content_type,
        "content": _text(entry.content),
        "attachments": [_attached(one) for one in entry.attachments] or None,
        "erased": entry.is_erased or None,
        "usage": _text(entry.usage) if entry.usage else None,
        "metadata": _text(entry.metadata) if entry.metadata else None,
        "mergedFromConversationId": merged and merged.conversation_id,
        "mergedUpToEntryId": merged and merged.entry_id,
        "copiedFromConversationId": copied and copied.conversation_id,
        "copiedFromEntryId": copied and copied.entry_id,
        "createdAt": ids.created_at(entry.entry_id),
    }


entry = _shown(_entry)
"""Return the entry."""


@_shown
def _attached(attached: "model.Attached") -> AttachedFile:
    return {
        "id": attached.attachment_id,
        "name": attached.name,
        "contentType": attached.content_type,
        "size": attached.size,
        "url": attached.url,
        "urlExpiresAt": attached.url_expires_at,
    }


def attachment_for(caller: "model.Caller", read: "files.ReadFile") -> Attachment:
    """Return an attachment for a user or an administrator."""
    return admin_attachment(read) if caller.bypasses_membership else attachment(read)


@_shown
def attachment(read: "files.ReadFile") -> Attachment:
    """Return an attachment."""
    file, link = read
    return {
        "id": file.attachment_id,
        "name": file.name,
        "contentType": file.content_type,
        "size": file.size,
        "sha256": file.sha256,
        "state": file.state,
        "createdAt": file.created_at,
        "url": link and link.url,
        "urlExpiresAt": link and link.expires_at,
    }


@_shown
def admin_attachment(read: "files.ReadFile") -> AdminAttachment:
    """Return an attachment for an administrator."""
    return {**attachment(read), "userId": read.file.owner}


@_shown
def uploaded_attachment(begun: "uploading.Begun") -> UploadedAttachment:
    """Return an attachment with the request that brings its bytes."""
    return {**attachment(begun.read), "upload": begun.upload and _sending(begun.upload)}


def _sending(upload: "Upload") -> Sending:
    return {
        "method": upload.method,
        "url": upload.url,
        "headers": upload.headers,
        "expiresAt": upload.expires_at,
    }


@_shown
def hit(hit: "search.Hit", *, with_entry: bool, with_around: bool) -> Hit:
    """Return what a search has found. with_entry, with_around: whether it holds these."""
    return {
        "conversationId": hit.conversation.conversation_id,
        "conversationTitle": hit.conversation.described.title,
        "entryId": hit.entry.entry_id,
        "createdAt": ids.created_at(hit.entry.entry_id),
        "agentId": hit.entry.agent_id,
        "line": _line(hit.line),
        "highlights": hit.highlights,
        "score": hit.score,
        "entry": entry(hit.entry) if with_entry else None,
        "around": [entry(one) for one in hit.around] if with_around else None,
    }


@_shown
def entry_page(page: "listing.EntryPage") -> EntryPage:
    """Return a page of entries."""
    return {
        "data": [
            _listed(one, page.alternatives.get(one.entry_id), page.lines.get(one.entry_id))
            for one in page.entries
        ],
        "afterCursor": page.after,
        "beforeCursor": page.before,
        "alternativesAtEnd": page.alternatives_at_end,
        "answering": _answering(page.answering),
    }


def _answering(standing: Standing | None) -> Answering | None:
    return None if standing is None else _standing(standing)


@_shown
def _standing(standing: Standing) -> Answering:
    answer = standing.answer
    return {
        "answerId": answer.answer_id,
        "afterEntryId": answer.after,
        "userId": answer.user_id,
        "since": answer.since,
        "state": standing.state,
    }


@_shown
def answer(answer: "logs.Answer") -> AnswerStatus:
    """Return an answer that is written piece by piece, without the pieces."""
    begin, entry = answer.begin, answer.last.entry
    return {
        "id": answer.answer_id,
        "conversationId": begin.conversation_id,
        "afterEntryId": begin.after,
        "userId": begin.user_id or "",
        "clientId": begin.client_id,
        "agentId": begin.agent_id,
        "state": answer.state,
        "position": answer.last.position,
        "entryConversationId": entry and entry.conversation_id,
        "entryId": entry and entry.entry_id,
        "createdAt": begin.created_at,
    }


@_shown
def answer_log(log: "logs.Answer") -> AnswerLog:
    """Return an answer with its pieces."""
    parts: list[Part] = [{"position": one.position, "content": _text(one.content)} for one in log.parts]
    return {**answer(log), "parts": parts}


@_shown
def _listed(one: "model.Entry", alternatives: list[str] | None, line: content.Line | None) -> ListedEntry:
    return {**_entry(one), "alternatives": alternatives, "line": line and _line(line)}


@_shown
def _line(line: content.Line) -> Line:
    return {
        "role": line.role,
        "text": line.text,
        "tool": line.tool,
        "failed": line.has_failed or None,
        "holds": list(line.holds) or None,
        "saidAt": line.said_at,
    }


def comparison(comparison: "comparing.Comparison") -> Comparison:
    """Return a comparison of two conversations."""
    return {
        "base": {"entryId": comparison.base},
        "branches": [
            {
                "conversationId": branch.conversation_id,
                "data": [entry(one) for one in branch.entries],
                "afterCursor": branch.after,
            }
            for branch in comparison.branches
        ],
    }


@_shown
def ancestor(ancestor: "ancestors.Ancestor") -> Ancestor:
    """Return an ancestor."""
    return {
        "conversationId": ancestor.conversation_id,
        "title": ancestor.title,
        "removed": ancestor.is_removed or None,
        "inheritedUpToEntryId": ancestor.up_to,
    }


def appended(appended: "appending.Appended", *, is_batch: bool) -> Appended:
    """Return an append's result. is_batch: whether the request had `entries`."""
    return together(appended) if is_batch else _appended_entry(appended.entries[0], _context(appended))


def _context(appended: "appending.Appended") -> Synced | None:
    return None if appended.synced is None else synced(appended.synced)


@_shown
def _appended_entry(alone: "model.Entry", context: Synced | None) -> AppendedEntry:
    return {**entry(alone), "context": context}


@_shown
def together(appended: "appending.Appended") -> Entries:
    """Return entries that were appended together, and what became of the context beside them."""
    return {"data": [entry(one) for one in appended.entries], "context": _context(appended)}


def synced(synced: "syncing.Synced") -> Synced:
    """Return a sync's result."""
    return {
        "epoch": synced.epoch,
        "noOp": synced.no_op,
        "epochIncremented": synced.epoch_incremented,
        "entry": None if synced.entry is None else entry(synced.entry),
        "lastEntryId": synced.last,
    }


def _metrics(metrics: "model.Metrics") -> Metrics:
    return {
        "entries": metrics.entries,
        "inputTokens": metrics.usage.input_tokens,
        "outputTokens": metrics.usage.output_tokens,
        "cachedInputTokens": metrics.usage.cached_input_tokens,
        "costUsd": _text(_dollars(metrics.usage.cost_nano_usd)),
    }


def _dollars(nano: int) -> str:
    """Return dollars as exact decimal text. nano: billionths of a dollar.

    >>> _dollars(1_500_000_000), _dollars(3), _dollars(2_000_000_000)
    ('1.5', '0.000000003', '2')
    """
    whole, rest = divmod(nano, 10**9)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def conversation_for(caller: "model.Caller", details: "loading.ConversationDetails") -> Conversation:
    """Return a conversation for a member or an administrator."""
    return admin_conversation(details) if caller.bypasses_membership else conversation(details)


@_shown
def admin_conversation(details: "loading.ConversationDetails") -> AdminConversation:
    """Return a conversation for an administrator."""
    return {**conversation(details), "clientId": details.conversation.client_id}


@_shown
def conversation(details: "loading.ConversationDetails") -> Conversation:
    """Return a conversation for a member. It holds no group id and no client id."""
    c, head = details.conversation, details.head
    point, started = c.fork_point, c.started_by
    return {
        "id": c.conversation_id,
        "title": c.described.title,
        "ownerUserId": details.owner,
        "accessLevel": details.level,
        "archived": details.is_archived or None,
        "pinned": details.is_pinned or None,
        "isCurrent": details.is_current,
        "agentId": c.agent_id,
        "tags": dict(c.described.tags),
        "metadata": _text(c.described.metadata),
        "createdAt": c.created_at,
        "updatedAt": head.updated_at,
        "lastUsedAt": details.last_used_at,
        "branches": details.branches,
        "lastMessagePreview": head.preview.text if head.preview else None,
        "historyEntries": head.history or None,
        "forkedAtConversationId": point and point.conversation_id,
        "forkedAtEntryId": point and point.entry_id,
        "forkedAtPosition": point and point.position,
        "startedByConversationId": started and started.conversation_id,
        "startedByEntryId": started and started.entry_id,
        "answering": _answering(details.answering),
        "metrics": _metrics(head.metrics),
    }


def conversation_alone(made: "Sequence[loading.ConversationDetails]") -> Conversation:
    """Return the one conversation that was made."""
    [details] = made
    return conversation(details)


def conversations(made: "Sequence[loading.ConversationDetails]") -> Conversations:
    """Return several conversations that were made together."""
    return {"data": [conversation(details) for details in made]}


def membership(membership: "sharing.Membership") -> Membership:
    """Return a membership."""
    return {
        "conversationId": membership.conversation_id,
        "userId": membership.member.user_id,
        "accessLevel": membership.member.level,
        "createdAt": membership.member.created_at,
    }


@_shown
def link(link: ReaderLink) -> Link:
    """Return a link for readers."""
    return {
        "id": link.link_id,
        "conversationId": link.conversation_id,
        "allForks": link.all_forks,
        "upToEntryId": link.up_to,
        "userIds": link.user_ids,
        "keepOnTransfer": link.stays,
        "opens": link.opens,
        "createdAt": link.created_at,
        "endsAt": link.ends_at,
    }


def linked_conversation(opened: "linked.Opened") -> LinkedConversation:
    """Return what a link leads to."""
    link, loaded = opened
    return {
        "conversationId": loaded.conversation.conversation_id,
        "title": loaded.conversation.described.title,
        "allForks": link.all_forks,
        "endsAt": link.ends_at,
    }


@_shown
def linked_entries(link: ReaderLink, page: "listing.EntryPage") -> LinkedEntryPage:
    """Return a page of what a link shows."""
    return {
        "data": [_linked(one, link, page.alternatives.get(one.entry_id)) for one in page.entries],
        "afterCursor": page.after,
        "beforeCursor": page.before,
        "alternativesAtEnd": page.alternatives_at_end,
    }


@_shown
def _linked(entry: "model.Entry", link: ReaderLink, alternatives: list[str] | None) -> LinkedEntry:
    return {
        "id": entry.entry_id,
        "createdAt": ids.created_at(entry.entry_id),
        "userId": entry.user_id if link.user_ids else None,
        "agentId": entry.agent_id,
        "contentType": entry.content_type,
        "content": _text(entry.content),
        "attachments": [_attached(one) for one in entry.attachments] or None,
        "erased": entry.is_erased or None,
        "alternatives": alternatives,
    }


@_shown
def note(note: "notes.Note") -> Note:
    """Return a note on an entry."""
    return {
        "id": note.ref.note_id,
        "conversationId": note.ref.conversation_id,
        "entryId": note.ref.entry_id,
        "userId": note.user_id,
        "clientId": note.client_id,
        "text": note.text,
        "score": note.score,
        "pinned": note.pinned or None,
        "createdAt": note.created_at,
    }


def transfer(transfer: "model.Transfer") -> Transfer:
    """Return a pending transfer."""
    return {
        "id": transfer.transfer_id,
        "conversationId": transfer.conversation_id,
        "fromUserId": transfer.from_user_id,
        "toUserId": transfer.to_user_id,
        "createdAt": transfer.created_at,
    }


def trashed(one: "trash_list.Trashed", *, days: int) -> Trashed:
    """Return a tree or a branch in the trash. days: for how long it stays there."""
    return {
        "id": one.conversation_id,
        "scope": "branch" if one.is_branch else "tree",
        "title": one.title,
        "ownerUserId": one.owner,
        "createdAt": one.created_at,
        "deletedAt": one.deleted_at,
        "keptUntil": one.kept_until(days),
    }


def name_for(caller: "model.Caller", shown: "names.ShownName") -> Name:
    """Return a name for its user or an administrator."""
    return admin_name(shown) if caller.bypasses_membership else name(shown)


@_shown
def admin_name(shown: "names.ShownName") -> AdminName:
    """Return a name for an administrator."""
    owner = shown.name.ref.owner
    return {**name(shown), "userId": owner.user_id, "clientId": owner.client_id}


@_shown
def name(shown: "names.ShownName") -> Name:
    """Return a name."""
    name = shown.name
    return {
        "name": name.ref.name,
        "conversationId": name.conversation_id,
        "revision": name.revision,
        "data": _text(name.data or "{}"),
        "createdAt": name.created_at,
        "updatedAt": name.updated_at,
        "previousConversationId": name.previous_id,
        "deleted": shown.is_deleted or None,
    }


@_shown
def erasure(erasure: "ErasureRecord") -> Erasure:
    """Return an erasure. It never names the user."""
    return {
        "id": erasure.erasure_id,
        "state": "done" if erasure.is_done else "running",
        "pseudonym": erasure.pseudonym,
        "trees": erasure.trees,
        "memberships": erasure.memberships,
        "entries": erasure.entries,
        "passes": erasure.passes,
        "createdAt": erasure.created_at,
        "finishedAt": erasure.finished_at,
    }


@_shown
def fork(conversation: "model.Conversation", tip: "tree.BranchTip", *, is_current: bool, now_s: int) -> Fork:
    """Return a conversation in a list of forks."""
    point = conversation.fork_point
    return {
        "conversationId": conversation.conversation_id,
        "title": conversation.described.title,
        "agentId": conversation.agent_id,
        "tags": dict(conversation.described.tags),
        "metadata": _text(conversation.described.metadata),
        "forkedAtConversationId": point and point.conversation_id,
        "forkedAtEntryId": point and point.entry_id,
        "forkedAtPosition": point and point.position,
        "lastEntryId": tip.last_history,
        "isCurrent": is_current,
        "createdAt": conversation.created_at,
        "answering": _answering(Standing.of(tip.answer, now_s=now_s)),
    }
