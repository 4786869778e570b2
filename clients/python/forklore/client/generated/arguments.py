"""What operations take, and methods hand on to them, for type checkers and completion.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Required, TypedDict

LENGTHS_MAX: Mapping[str, int] = {
    "afterConversationId": 1000,
    "afterEntryId": 1000,
    "afterKey": 128,
    "agentId": 255,
    "answerId": 1000,
    "atEntryId": 1000,
    "atKey": 128,
    "basedOnEntryId": 1000,
    "clientId": 255,
    "content": 1000,
    "contentType": 127,
    "conversationId": 1000,
    "entries": 50,
    "entries[].agentId": 255,
    "entries[].content": 1000,
    "entries[].contentType": 127,
    "entries[].indexedContent": 32768,
    "entries[].key": 128,
    "entries[].mergedFromConversationId": 1000,
    "entries[].mergedUpToEntryId": 1000,
    "entryId": 1000,
    "forkedAtConversationId": 1000,
    "forkedAtEntryId": 1000,
    "forkedAtKey": 128,
    "fromConversationId": 1000,
    "indexedContent": 32768,
    "justification": 1000,
    "key": 128,
    "mergedFromConversationId": 1000,
    "mergedUpToEntryId": 1000,
    "name": 255,
    "newOwnerUserId": 255,
    "prefix": 255,
    "query": 500,
    "scores": 40,
    "scores[].conversationId": 1000,
    "startedByConversationId": 1000,
    "startedByEntryId": 1000,
    "text": 2000,
    "title": 500,
    "upToEntryId": 1000,
    "userId": 255,
    "with": 1000,
}
"""The most characters or elements of arguments, by their names in JSON."""


class Keyed(TypedDict, total=False):
    idempotency_key: str | None


class Justified(TypedDict, total=False):
    justification: str | None


class Paged(TypedDict, total=False):
    limit: int | None
    after_cursor: str | None


class Watched(TypedDict, total=False):
    wait: int | None


class Described(TypedDict, total=False):
    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None


class Begun(TypedDict, total=False):
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    promote: bool | None


class ForkedAt(TypedDict, total=False):
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_key: str | None
    forked_at_position: Literal["before", "after", "head"] | None


class Written(TypedDict, total=False):
    agent_id: str | None
    channel: str | None
    user_id: str | None
    epoch: int | None
    metadata: Mapping[str, Any] | None
    indexed_content: str | None
    merged_from_conversation_id: str | None
    merged_up_to_entry_id: str | None


class LookUpEntry(TypedDict, total=False):
    key: Required[str]


class PinConversation(TypedDict, total=False):
    after_conversation_id: str | None


class OpenLink(TypedDict, total=False):
    conversation_id: str | None


class LookUpName(TypedDict, total=False):
    name: Required[str]


class SetScores(Keyed, total=False):
    scores: Required[Sequence[Mapping[str, Any]]]


class DeleteConversation(TypedDict, total=False):
    scope: Literal["tree", "branch"] | None
    for_good: bool | None


class CompareConversations(TypedDict, total=False):
    with_: Required[str]
    limit: int | None


class AppendToAnswer(TypedDict, total=False):
    after: Required[int]
    content: Required[Sequence[Any]]


class GetAnswer(Watched, total=False):
    after: int | None


class CopyTree(Keyed, total=False):
    id: str | None


class RemoveMembership(TypedDict, total=False):
    user_id: Required[str]
    children: Literal["include", "keep"] | None


class DeleteName(LookUpName, total=False):
    expect_revision: int | None


class AdminGetConversation(Justified, Watched, total=False):
    pass


class AdminLookUpEntry(Justified, LookUpEntry, total=False):
    pass


class ListTrash(Paged, Watched, total=False):
    pass


class UpdateMembership(RemoveMembership, total=False):
    access_level: Required[Literal["manager", "writer", "reader"]]


class AdminCompareConversations(CompareConversations, Justified, total=False):
    pass


class AdminGetAnswer(GetAnswer, Justified, total=False):
    pass


class AdminDeleteConversation(DeleteConversation, Justified, total=False):
    pass


class AdminEraseUser(Keyed, Justified, total=False):
    user_id: Required[str]


class ListForks(ListTrash, total=False):
    missing: Literal["empty"] | None


class ListChildren(ListTrash, total=False):
    started_by_entry_id: str | None


class CopyConversation(CopyTree, total=False):
    title: str | None
    up_to_entry_id: str | None


class ShareConversation(UpdateMembership, Keyed, total=False):
    pass


class RequestTransfer(Keyed, total=False):
    conversation_id: Required[str]
    new_owner_user_id: Required[str]
    user_id: str | None


class ListTransfers(ListTrash, total=False):
    role: Literal["sender", "recipient", "all"] | None


class AddNote(Keyed, total=False):
    text: str | None
    score: float | Decimal | None
    pinned: bool | None


class ListNames(ListTrash, total=False):
    prefix: str | None


class AdminListMemberships(ListTrash, Justified, total=False):
    pass


class AdminLookUpName(Justified, LookUpName, total=False):
    user_id: Required[str]
    client_id: str | None


class UpdateConversation(Described, total=False):
    user_id: str | None
    if_match: str | None


class ListLinkedEntries(Paged, OpenLink, total=False):
    before_cursor: str | None
    tail: bool | None


class ListNotes(ListTrash, total=False):
    entry_id: str | None
    all_forks: bool | None


class SetName(DeleteName, Keyed, total=False):
    conversation_id: Required[str]
    data: Mapping[str, Any] | None


class UploadAttachment(LookUpName, total=False):
    content_type: Required[str]
    size: Required[int]
    sha_256: Required[str]
    content: str | None


class AdminListTrash(AdminListMemberships, total=False):
    user_id: Required[str]


class AdminListForks(ListForks, Justified, total=False):
    pass


class AdminListChildren(ListChildren, Justified, total=False):
    pass


class AdminDeleteName(AdminLookUpName, total=False):
    expect_revision: int | None


class SearchArguments(OpenLink, total=False):
    search_type: Literal["auto", "fulltext", "semantic"] | Sequence[Literal["fulltext", "semantic"]] | None
    include_entry: bool | None
    around: int | None
    min_score: float | Decimal | None


class CreateLink(Keyed, total=False):
    days: int | None
    up_to_entry_id: str | None
    all_forks: bool | None
    user_ids: bool | None
    keep_on_transfer: bool | None


class AdminListNotes(ListNotes, Justified, total=False):
    pass


class MergeArguments(Keyed, total=False):
    after_entry_id: str | None
    up_to_entry_id: str | None
    again: bool | None
    with_context: bool | None
    if_match: str | None


class CreateConversation(Described, CopyTree, total=False):
    user_id: str | None
    agent_id: str | None


class BeginAnswer(CopyTree, total=False):
    after_entry_id: str | None
    after_key: str | None
    agent_id: str | None
    take_over: bool | None
    if_match: str | None


class MergeConversation(MergeArguments, total=False):
    from_conversation_id: Required[str]


class EntriesArguments(TypedDict, total=False):
    up_to_entry_id: str | None
    all_forks: bool | None
    forks: Literal["all"] | None
    own: bool | None
    alternatives: bool | None
    view: Literal["full", "line"] | None
    epoch: Literal["latest", "all"] | int | None


class SyncContext(Keyed, total=False):
    content_type: Required[str]
    content: Required[Sequence[Any]]
    agent_id: str | None
    based_on_entry_id: str | None
    channel: str | None
    user_id: str | None
    usage: Mapping[str, Any] | None


class SearchConversations(SearchArguments, Paged, total=False):
    query: Required[str]


class ConversationsArguments(TypedDict, total=False):
    mode: Literal["latest-fork", "current", "roots", "all"] | None
    order: Literal["used", "created"] | None
    ancestry: Literal["roots", "children", "all"] | None
    archived: Literal["exclude", "include", "only"] | None
    pinned: bool | None
    query: str | None
    agent_id: str | None
    tag: str | None
    created_since: str | None


class AdminListConversations(AdminListMemberships, total=False):
    user_id: str | None
    mode: Literal["latest-fork", "current", "roots", "all"] | None
    ancestry: Literal["roots", "children", "all"] | None
    agent_id: str | None
    tag: str | None
    created_since: str | None


class AdminSearchConversations(SearchConversations, Justified, total=False):
    user_id: str | None


class ForkArguments(CreateConversation, total=False):
    at_key: str | None
    position: Literal["before", "after"] | None
    reset_metrics: bool | None
    if_match: str | None


class ListConversations(ConversationsArguments, ListTrash, total=False):
    pass


class ListEntries(EntriesArguments, ListTrash, total=False):
    channel: str | None
    before_cursor: str | None
    tail: bool | None


class AdminListEntries(AdminListMemberships, total=False):
    channel: str | None
    before_cursor: str | None
    tail: bool | None
    up_to_entry_id: str | None
    all_forks: bool | None
    forks: Literal["all"] | None
    own: bool | None
    alternatives: bool | None
    view: Literal["full", "line"] | None


class ListEntriesByName(ListEntries, LookUpName, total=False):
    pass


class ForkConversation(ForkArguments, total=False):
    at_entry_id: str | None
    name: Mapping[str, Any] | None
    promote: bool | None
    count: int | None


class AppendAllArguments(ForkedAt, Described, Begun, Keyed, total=False):
    context: Mapping[str, Any] | None
    answer_id: str | None
    name: Mapping[str, Any] | None
    if_match: str | None


class TurnArguments(Written, ForkedAt, Begun, total=False):
    title: str | None
    tags: Mapping[str, Any] | None
    answer_id: str | None
    name: Mapping[str, Any] | None


class SayArguments(TurnArguments, total=False):
    context: Mapping[str, Any] | None


class AppendArguments(SayArguments, Keyed, total=False):
    key: str | None
    usage: Mapping[str, Any] | None
    if_match: str | None


class AppendEntry(AppendArguments, total=False):
    content_type: str | None
    content: Sequence[Any] | None
    entries: Sequence[Mapping[str, Any]] | None


class AppendEntryByName(Written, ForkedAt, Begun, Keyed, LookUpName, total=False):
    title: str | None
    tags: Mapping[str, Any] | None
    context: Mapping[str, Any] | None
    answer_id: str | None
    data: Mapping[str, Any] | None
    content_type: str | None
    content: Sequence[Any] | None
    key: str | None
    usage: Mapping[str, Any] | None
    entries: Sequence[Mapping[str, Any]] | None
    if_match: str | None
