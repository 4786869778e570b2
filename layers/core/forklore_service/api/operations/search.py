"""Search the history of all conversations that the caller may see."""

import json
from typing import TYPE_CHECKING

from forklore_service.api import answers, conversation_requests, cursors, fields
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.domain import ids
from forklore_service.domain.matching import query_of
from forklore_service.domain.meaning import question_in
from forklore_service.errors import NotFoundError, SearchTypeUnavailableError, brief
from forklore_service.usecases.reading import search

if TYPE_CHECKING:
    from forklore_service.api import admin_requests  # only the functions with administration load it

LIMIT = 20
AVAILABLE_TYPES = (fields.FULLTEXT,)


def search_conversations(request: CheckedRequest) -> answers.SearchPage:
    """Find the entries that have words of a query, those that fit best first.

    It looks through the history of every conversation that you may see, or of the one with
    `conversationId`: texts, events, tools, file names, `indexedContent` and `agentId`. `+word` and
    `"some words"` must occur, anywhere; a query of these alone finds the newest first. A page may
    be short, even empty: only an `afterCursor` of null ends the search.
    """
    return _search(request, ["search", request.caller.user_id], of_user=None)


def search_everybodys(request: CheckedRequest) -> answers.SearchPage:
    """Find the entries that have words of a query, in everybody's history or in one user's."""
    body: admin_requests.AdminSearchConversations = request.body
    return _search(request, ["admin/search", body.user_id], of_user=body.user_id)


def _search(request: CheckedRequest, list_of: list[str | None], *, of_user: str | None) -> answers.SearchPage:
    body: conversation_requests.SearchConversations = request.body
    inside = [] if body.conversation_id is None else [body.conversation_id]
    query, nearness = query_of(body.query), request.table.nearness
    kinds = set(body.search_type or [fields.AUTO])
    of_everybody = request.caller.bypasses_membership and of_user is None
    has_vectors = bool(inside) or (request.table.by_meaning and not of_everybody)
    if nearness is not None and nearness.is_remote and (query.demanded or not has_vectors):
        nearness = None  # what has no vector is not sent to it
    by_meaning = nearness is not None and bool(query.words) and kinds != {fields.FULLTEXT}
    model = [nearness.model, *sorted(kinds)] if nearness is not None and by_meaning else []
    resource = json.dumps([*list_of, query, *inside, *model])
    if kinds == {fields.SEMANTIC} and nearness is None:
        raise SearchTypeUnavailableError(
            "there is no semantic search of this kind", field="searchType", availableTypes=AVAILABLE_TYPES
        )
    if body.conversation_id is not None and not ids.is_uuid(body.conversation_id):
        raise NotFoundError(f"no conversation {brief(body.conversation_id)}")
    with_entries = body.include_entry is not False
    page = search.search(
        request.table,
        caller=request.caller,
        request=search.SearchRequest(
            query=query,
            question=question_in(body.query) if by_meaning else None,
            by_words=kinds != {fields.SEMANTIC},
            limit=body.limit or LIMIT,
            after=cursors.to_search(resource, body.after_cursor, query),
            with_entries=with_entries,
            of_user=of_user,
            conversation_id=body.conversation_id,
            around=body.around,
            score_min=body.min_score,
        ),
    )
    return {
        "data": [
            answers.hit(hit, with_entry=with_entries, with_around=body.around is not None)
            for hit in page.rows
        ],
        "afterCursor": cursors.of_search(resource, page.resume),
        "complete": page.is_complete,
    }


OPERATIONS = (
    Operation(
        "searchConversations",
        "POST",
        "/v1/conversations/search",
        search_conversations,
        body=conversation_requests.SearchConversations,
        errors=(403, 404, 501),
        own_errors=(SearchTypeUnavailableError,),
        only_reads=True,
    ),
)
