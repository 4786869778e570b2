"""Create, fork, read, list, change and delete conversations; health."""

import json

from forklore_service.api import answers, conversation_requests, cursors, requests
from forklore_service.api.operation import OF_TIME, Answer, CheckedRequest, Operation
from forklore_service.api.requests import ListPage
from forklore_service.domain.ids import EntryId
from forklore_service.domain.listing import Filter, ListPlace
from forklore_service.domain.model import Description, ForkPosition
from forklore_service.errors import (
    ForkLimitError,
    ForkTooDeepError,
    GroupFullError,
    NameMovedError,
    NotFoundError,
)
from forklore_service.usecases.branches import children, forks, promotion
from forklore_service.usecases.deletion import branch_removal, trash, tree_deletion
from forklore_service.usecases.deletion.branch_removal import Scope
from forklore_service.usecases.reading import conversation_lists, fork_lists, trash_list
from forklore_service.usecases.shared.cursors import PageOf, valid
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.requests import Fork
from forklore_service.usecases.writing import conversations, scores


def check_health(request: CheckedRequest) -> answers.Health:
    """Tell that the service answers. It asks nothing of the table.

    Needs no credentials. On one machine it also tells the version, and is 503 with the `reason`
    while the store cannot be used.
    """
    return answers.health(has_model=request.table.nearness is not None)


def create_conversation(request: CheckedRequest) -> answers.Conversation:
    """Create a conversation without entries.

    You become its owner. Without an `id` the service chooses one. Appending to an id that does
    not exist creates the conversation, too.
    """
    body: conversation_requests.CreateConversation = request.body
    request.require_own(body.user_id)
    details = conversations.create_conversation(
        request.table,
        caller=request.caller,
        request=conversations.NewConversation(
            conversation_id=body.id, described=Description(**body.said), agent_id=body.agent_id
        ),
        idempotency_key=request.idempotency_key(answers.conversation),
    )
    return answers.conversation(details)


def get_conversation(request: CheckedRequest) -> answers.Conversation:
    """Show a conversation.

    For every member of its fork tree.
    """
    details = conversations.get_conversation(
        request.table, caller=request.caller, conversation_id=request.conversation_id
    )
    return answers.conversation_for(request.caller, details)


def update_conversation(request: CheckedRequest) -> answers.Conversation:
    """Replace a conversation's title, tags or metadata.

    For writers. What the body names is replaced as a whole, the rest stays. `title: null`
    clears the title. With `If-Match` only if `updatedAt` has not changed.
    """
    body: conversation_requests.UpdateConversation = request.body
    request.require_own(body.user_id)
    details = conversations.update_conversation(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        change=conversations.Patch(body.said, request.if_match),
    )
    return answers.conversation(details)


def set_scores(request: CheckedRequest) -> None:
    """Score conversations of the fork tree, all or none: what evaluations say of tries.

    For writers. A score is the number `score` in a conversation's metadata; the rest of its
    metadata stays. Each conversation's `updatedAt` moves.
    """
    body: conversation_requests.SetScores = request.body
    scores.set_scores(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        scores={one.conversation_id: one.score for one in body.scores},
        idempotency_key=request.idempotency_key(),
    )


def delete_conversation(request: CheckedRequest) -> Answer[None]:
    """Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.

    Every tree started from what is deleted goes with it. The tree is for the owner, a branch for
    managers: other branches keep what they inherited from it. Either can be restored while it is in
    the trash; `forGood` takes it out, or never puts it there. Deleting the last branch is deleting
    the tree. 202 says that closing a very wide tree goes on in the
    background. An id cannot be used again for 30 days after its tree has left the trash.
    """
    query: conversation_requests.DeleteConversation = request.query
    is_branch = query.scope is Scope.BRANCH
    delete = branch_removal.remove_branch if is_branch else tree_deletion.delete_conversation
    is_closed = delete(
        request.table,
        request.service.queue,
        caller=request.caller,
        conversation_id=request.conversation_id,
        wait_s=request.service.delete_wait_s,
        days=0 if query.for_good else request.service.days_in_trash,
    )
    return Answer(204 if is_closed else 202, None)


def list_trash(request: CheckedRequest) -> answers.TrashPage:
    """List the fork trees and branches that you can restore, those of the newest tree first.

    What went only with the conversation that had started it comes back with that, and is not
    listed. A page may be short, even empty: only an `afterCursor` of null ends the list.
    """
    return page_of_trash(request, request.caller.user_id, "trash")


def page_of_trash(request: CheckedRequest, user_id: str, resource: str) -> answers.TrashPage:
    """Return a page of a user's trash. resource: what its cursors belong to."""
    query: ListPage = request.query
    page = trash_list.list_trash(
        request.table,
        user_id=user_id,
        after=cursors.to_place(f"{resource}/{user_id}", query.after_cursor),
        limit=query.limit,
    )
    days = request.service.days_in_trash
    return {
        "data": [answers.trashed(one, days=days) for one in page.rows],
        "afterCursor": cursors.of_place(f"{resource}/{user_id}", page.resume),
    }


def restore_conversation(request: CheckedRequest) -> answers.Conversation:
    """Restore a deleted branch, or the fork tree of a conversation, with all that went with it.

    For the owner; a branch for whoever may delete it. Members, names, lists and attachments are as
    they were, and a tree's retention begins anew. A conversation that is not deleted is answered as
    it is. What had been started by a conversation comes back after that one.
    """
    details = trash.restore_conversation(
        request.table,
        request.service.queue,
        caller=request.caller,
        conversation_id=request.conversation_id,
    )
    return answers.conversation_for(request.caller, details)


def list_conversations(request: CheckedRequest) -> answers.ConversationPage:
    """List the caller's conversations, tree by tree, the tree that was used last first.

    With `order=created` the newest root comes first. `mode` chooses which conversations of a
    fork tree are shown, `query` those with a text in their title, `agentId` and `tag` (`name` or
    `name:value`) those that have them; `pinned` only what you have pinned, in the order of your
    pins. A page may be short, even empty: only an `afterCursor` of
    null ends the list.
    """
    query: conversation_requests.ListConversations = request.query
    resource = json.dumps(["conversations", request.caller.user_id, *query.filters])
    page = page_of_list(request, resource)
    return {
        "data": [answers.conversation(details) for details in page.rows],
        "afterCursor": cursors.of_place(resource, page.resume),
    }


def page_of_list(
    request: CheckedRequest, resource: str, *, of_user: str | None = None
) -> PageOf[ConversationDetails, ListPlace]:
    """Return a page of the list that a query asks for. resource: what its cursors belong to."""
    query: conversation_requests.ListConversations = request.query
    return conversation_lists.list_conversations(
        request.table,
        caller=request.caller,
        request=conversation_lists.ListRequest(
            mode=query.mode,
            order=query.order,
            ancestry=query.ancestry,
            archived=query.archived,
            pinned=query.pinned,
            wanted=Filter(*(getattr(query, name) for name in Filter._fields)),
            after=cursors.to_place(resource, query.after_cursor),
            limit=query.limit,
            of_user=of_user,
        ),
    )


def fork_conversation(request: CheckedRequest) -> answers.Forked:
    """Fork a conversation before or after an entry, or at its head. Nothing is copied.

    For writers. The fork shows what its source showed up to `atEntryId`, excluded or included
    as `position` says, or everything without it. Later entries of either are not shown in the
    other. With `count` that many equal forks are made, and the answer is `{"data": […]}`. With
    `promote` the fork becomes the tree's current branch.
    """
    body: conversation_requests.ForkConversation = request.body
    request.require_own(body.user_id)
    at_head = body.at_entry_id is None and body.at_key is None
    answer = answers.conversation_alone if body.count is None else answers.conversations
    made = forks.fork_conversation(
        request.table,
        caller=request.caller,
        request=forks.ForkRequest(
            fork=Fork(
                source_id=request.conversation_id,
                entry_id=None if body.at_entry_id is None else EntryId(body.at_entry_id),
                key=body.at_key,
                position=ForkPosition.AFTER if at_head else ForkPosition(body.position or "before"),
            ),
            fork_id=body.id,
            described=Description(**body.said),
            name=body.name.of(request.caller) if body.name else None,
            promotes=body.promote is True,
            agent_id=body.agent_id,
            reset_metrics=body.reset_metrics is not False,
            if_match=None if request.if_match is None else EntryId(request.if_match),
            times=body.count or 1,
        ),
        idempotency_key=request.idempotency_key(answer),
    )
    return answer(made)


def promote_conversation(request: CheckedRequest) -> None:
    """Make a conversation the current branch of its fork tree.

    For writers. The last promotion wins. Until one is made, the root is the current branch.
    """
    promotion.promote_conversation(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        idempotency_key=request.idempotency_key(),
    )


def list_forks(request: CheckedRequest) -> answers.ForkPage:
    """List every conversation of the fork tree, the root and the asked one included, oldest
    first.

    For every member. Each says where it was forked, and which entry of the history it shows last.
    With `missing=empty` a conversation that does not exist is an empty list and no 404.
    """
    query: conversation_requests.ListForks = request.query
    conversation_id = request.conversation_id
    resource = f"forks/{conversation_id}"
    after = cursors.to_list_key_or_id(resource, query.after_cursor)
    try:
        page = fork_lists.list_forks(
            request.table,
            caller=request.caller,
            conversation_id=conversation_id,
            after=after,
            limit=query.limit,
        )
    except NotFoundError:
        if query.missing is None:
            raise
        valid(after)
        return {"data": [], "afterCursor": None}
    now_s = request.table.now_s()
    return {
        "data": [
            answers.fork(one, tip, is_current=one.conversation_id == page.current, now_s=now_s)
            for one, tip in page.conversations
        ],
        "afterCursor": cursors.of_list_key(resource, page.resume),
    }


def list_children(request: CheckedRequest) -> answers.ConversationPage:
    """List the conversations that this one has started, oldest first, as far as you may see
    them.

    A child is a conversation for a delegated task: see `startedByConversationId` at
    appendEntry. With `startedByEntryId` only those that the entry has started.
    """
    query: conversation_requests.ListChildren = request.query
    conversation_id = request.conversation_id
    resource = json.dumps(["children", conversation_id, *query.filters])
    page = children.list_children(
        request.table,
        caller=request.caller,
        conversation_id=conversation_id,
        after=cursors.to_list_key_or_id(resource, query.after_cursor),
        limit=query.limit,
        started_by=query.started_by_entry_id,
    )
    return {
        "data": [answers.conversation_for(request.caller, child) for child in page.rows],
        "afterCursor": cursors.of_list_key(resource, page.resume),
    }


_ROOT = "/v1/conversations"
_ONE = f"{_ROOT}/{{conversationId}}"

OPERATIONS = (
    Operation("checkHealth", "GET", "/v1/health", check_health, is_public=True),
    Operation(
        "createConversation",
        "POST",
        _ROOT,
        create_conversation,
        status=201,
        body=conversation_requests.CreateConversation,
        errors=(403, 404, 409),
    ),
    Operation(
        "listConversations",
        "GET",
        _ROOT,
        list_conversations,
        query=conversation_requests.ListConversations,
    ),
    Operation(
        "getConversation",
        "GET",
        _ONE,
        get_conversation,
        query=requests.Watched,
        errors=(403, 404),
    ),
    Operation(
        "updateConversation",
        "PATCH",
        _ONE,
        update_conversation,
        body=conversation_requests.UpdateConversation,
        errors=(403, 404, 409),
        takes_if_match=True,
        match=OF_TIME,
    ),
    Operation(
        "setScores",
        "POST",
        f"{_ONE}/scores",
        set_scores,
        status=204,
        body=conversation_requests.SetScores,
        errors=(403, 404),
    ),
    Operation(
        "deleteConversation",
        "DELETE",
        _ONE,
        delete_conversation,
        query=conversation_requests.DeleteConversation,
        status=204,
        also=(202,),
        errors=(403, 404),
    ),
    Operation("listTrash", "GET", "/v1/trash", list_trash, query=ListPage),
    Operation(
        "restoreConversation",
        "POST",
        f"{_ONE}/restore",
        restore_conversation,
        errors=(403, 404, 409),
        repeats=True,
    ),
    Operation(
        "forkConversation",
        "POST",
        f"{_ONE}/fork",
        fork_conversation,
        status=201,
        body=conversation_requests.ForkConversation,
        errors=(403, 404, 409),
        own_errors=(ForkTooDeepError, ForkLimitError, GroupFullError, NameMovedError),
        takes_if_match=True,
    ),
    Operation(
        "promoteConversation",
        "POST",
        f"{_ONE}/promote",
        promote_conversation,
        status=204,
        errors=(403, 404),
    ),
    Operation(
        "listForks",
        "GET",
        f"{_ONE}/forks",
        list_forks,
        query=conversation_requests.ListForks,
        errors=(403, 404),
    ),
    Operation(
        "listChildren",
        "GET",
        f"{_ONE}/children",
        list_children,
        query=conversation_requests.ListChildren,
        errors=(403, 404),
    ),
)
