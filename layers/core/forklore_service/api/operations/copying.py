"""Copy entries: to another branch of their tree, or to a tree of the caller's."""

from forklore_service.api import answers, entry_requests
from forklore_service.api.operation import Answer, CheckedRequest, Operation
from forklore_service.domain.ids import EntryId
from forklore_service.errors import GroupFullError
from forklore_service.usecases.branches import copying, copying_trees
from forklore_service.usecases.writing import merging


def merge_conversation(request: CheckedRequest) -> Answer[answers.Entries]:
    """Append copies of what another branch of the fork tree shows, all or none, in order.

    For writers. At most 50 history entries of the other branch: those after the last one that both
    branches show, or after `afterEntryId`, up to `upToEntryId` or the end. What the conversation
    has already is left out, unless `again`. A copy names its original and has no `usage`.
    `withContext` is for agents: in the same step their context becomes that of the other branch.
    200 says that nothing was written.
    """
    body: entry_requests.MergeConversation = request.body
    merged = merging.merge_branch(
        request.table,
        caller=request.caller,
        request=merging.Merge(
            conversation_id=request.conversation_id,
            from_id=body.from_conversation_id,
            after=body.after_entry_id,
            up_to=body.up_to_entry_id,
            again=body.again is True,
            with_context=body.with_context is True,
            if_match=None if request.if_match is None else EntryId(request.if_match),
        ),
        idempotency_key=request.idempotency_key(),
    )
    return Answer(201 if merged.has_written else 200, answers.together(merged))


def copy_conversation(request: CheckedRequest) -> answers.Conversation:
    """Copy a conversation to a new fork tree that belongs to you alone.

    For every member. At most 1,000 history entries, all that the conversation shows or those up to
    `upToEntryId`. A copy names its original and has no `usage`. Without an `id` the service chooses
    one; with an `id`, the same request sent again goes on with a copy that did not end.
    """
    body: entry_requests.CopyConversation = request.body
    details = copying.copy_conversation(
        request.table,
        caller=request.caller,
        request=copying.Copy(
            source_id=request.conversation_id,
            copy_id=body.id,
            title=body.title,
            up_to=body.up_to_entry_id,
        ),
        idempotency_key=request.idempotency_key(answers.conversation),
    )
    return answers.conversation(details)


def copy_tree(request: CheckedRequest) -> answers.Conversation:
    """Copy the whole fork tree of a conversation, with its branches, to one of your own.

    For every member. At most 30 branches and 1,000 entries, with the context of every client.
    Members, names, links, pins and notes stay behind, and an answer in progress. The answer is the
    copy of this conversation. With an `id`, the same request sent again completes a copy that did
    not end.
    """
    body: entry_requests.CopyTree = request.body
    details = copying_trees.copy_tree(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        copy_id=body.id,
        idempotency_key=request.idempotency_key(answers.conversation),
    )
    return answers.conversation(details)


_ONE = "/v1/conversations/{conversationId}"

OPERATIONS = (
    Operation(
        "mergeConversation",
        "POST",
        f"{_ONE}/merge",
        merge_conversation,
        status=201,
        also=(200,),
        body=entry_requests.MergeConversation,
        errors=(403, 404, 409, 413),
        own_errors=(GroupFullError,),
        takes_if_match=True,
    ),
    Operation(
        "copyConversation",
        "POST",
        f"{_ONE}/copy",
        copy_conversation,
        status=201,
        body=entry_requests.CopyConversation,
        errors=(403, 404, 409, 413),
    ),
    Operation(
        "copyTree",
        "POST",
        f"{_ONE}/copy-tree",
        copy_tree,
        status=201,
        body=entry_requests.CopyTree,
        errors=(403, 404, 409, 413),
    ),
)
