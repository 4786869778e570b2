"""What people without an account read by a link."""

from forklore_service.api import answers, cursors, entry_requests
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.usecases.reading import entries, linked


def open_link(request: CheckedRequest) -> answers.LinkedConversation:
    """Show what a link leads to, and count that it was opened.

    For who has its secret, without credentials. A secret that is unknown, one whose link has ended
    and one of a deleted conversation get the same 404. What `conversationId` asks for is not
    counted.
    """
    query: entry_requests.OpenLink = request.query
    opened = linked.open_link(
        request.table, secret=request.path["secret"], conversation_id=query.conversation_id
    )
    return answers.linked_conversation(opened)


def list_linked_entries(request: CheckedRequest) -> answers.LinkedEntryPage:
    """List the history that a link shows, oldest first.

    For who has its secret, without credentials. There is no context in it, and nothing of members.
    """
    query: entry_requests.ListLinkedEntries = request.query
    link, page = linked.list_linked_entries(
        request.table,
        secret=request.path["secret"],
        conversation_id=query.conversation_id,
        start=entries.PageStart(
            cursors.to_position(query.after_cursor), cursors.to_position(query.before_cursor), query.tail
        ),
        limit=query.limit,
    )
    return answers.linked_entries(link, page)


_LINK = "/v1/links/{secret}"

OPERATIONS = (
    Operation(
        "openLink",
        "GET",
        _LINK,
        open_link,
        query=entry_requests.OpenLink,
        errors=(404,),
        is_public=True,
        reads_link=True,
    ),
    Operation(
        "listLinkedEntries",
        "GET",
        f"{_LINK}/entries",
        list_linked_entries,
        query=entry_requests.ListLinkedEntries,
        errors=(404,),
        is_public=True,
        reads_link=True,
    ),
)
