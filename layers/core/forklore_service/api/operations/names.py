"""Names of conversations: make, move, look up, list and delete them, and append by one."""

from typing import TYPE_CHECKING

from forklore_service.api import answers, cursors, naming
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.api.operations import entries
from forklore_service.domain import ids
from forklore_service.domain.keys import Key
from forklore_service.domain.names import NameMove, NameOwner, NameRef
from forklore_service.errors import (
    ForkLimitError,
    ForkTooDeepError,
    GroupFullError,
    NameMovedError,
    NotFoundError,
    brief,
)
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.writing import names
from forklore_service.usecases.writing.append_by_name import append_by_name

if TYPE_CHECKING:
    from forklore_service.api import admin_requests  # only the functions with administration load it


def set_name(request: CheckedRequest) -> answers.Name:
    """Make a name, or point it to another conversation.

    For every member of the conversation. A name is yours: names of other users and of other clients
    never meet. `expectRevision` moves it only if nobody has moved it meanwhile.
    """
    body: naming.SetName = request.body
    if not ids.is_uuid(body.conversation_id):
        raise NotFoundError(f"no conversation {brief(body.conversation_id)}")
    shown = names.set_name(
        request.table,
        caller=request.caller,
        conversation_id=body.conversation_id,
        move=NameMove(
            NameRef.of(request.caller, body.name),
            body.expect_revision,
            body.data.text if body.data else None,
        ),
        idempotency_key=request.idempotency_key(answers.name),
    )
    return answers.name(shown)


def list_names(request: CheckedRequest) -> answers.NamePage:
    """List your names that begin with `prefix`, in the order of their UTF-8 bytes.

    An agent lists the names of its own client. A name whose conversation you cannot see any more
    is `deleted`.
    """
    query: naming.ListNames = request.query
    owner = NameOwner.of(request.caller)
    resource = f"names/{owner.user_id}/{owner.client_id}/{query.prefix}"
    page = names.list_names(
        request.table,
        caller=request.caller,
        owner=owner,
        prefix=query.prefix,
        after=cursors.to_name(resource, query.after_cursor, user_id=owner.user_id),
        limit=query.limit,
    )
    return {
        "data": [answers.name(shown) for shown in page.rows],
        "afterCursor": cursors.of_name(resource, page.resume),
    }


def list_all_names(request: CheckedRequest) -> answers.AdminNamePage:
    """List all names of a user: those without a client, then client by client."""
    query: admin_requests.AdminListNames = request.query
    resource = f"admin/names/{query.user_id}"
    page = names.list_names_of_user(
        request.table,
        caller=request.caller,
        user_id=query.user_id,
        after=cursors.to_name(resource, query.after_cursor, user_id=query.user_id),
        limit=query.limit,
    )
    return {
        "data": [answers.admin_name(shown) for shown in page.rows],
        "afterCursor": cursors.of_name(resource, page.resume),
    }


def look_name_up(request: CheckedRequest) -> answers.Name:
    """Show a name and where it points.

    `deleted` says that you cannot see its conversation any more.
    """
    shown = names.get_name(request.table, caller=request.caller, ref=_ref(request))
    return answers.name_for(request.caller, shown)


def delete_name(request: CheckedRequest) -> None:
    """Delete a name; its conversation stays as it is.

    The name can be used again at once. `expectRevision` deletes it only if nobody has moved it
    meanwhile.
    """
    query: naming.DeleteName | admin_requests.AdminDeleteName = request.query
    names.delete_name(request.table, ref=_ref(request), expect_revision=query.expect_revision)


def append_entry_by_name(request: CheckedRequest) -> answers.Appended:
    """Append to the conversation that a name points to; a name that does not exist is made.

    The first append by a name makes the conversation and the name at once. Later ones follow the
    name, even if it moves at the same moment; one whose caller cannot see the conversation any more
    makes a new one, which takes the name. The rest of the body is that of appendEntry. `data`
    replaces the name's.
    """
    body: naming.AppendEntryByName | naming.AppendEntriesByName = request.body.root
    what = entries.append_of(request, body, conversation_id="", key=_key_by_name(request, body.name))
    appended = append_by_name(
        request.table,
        caller=request.caller,
        move=NameMove(
            NameRef.of(request.caller, body.name),
            expect_revision=0,
            data=body.data.text if body.data else None,
        ),
        request=what,
    )
    return answers.appended(appended, is_batch=body.is_batch)


def _key_by_name(request: CheckedRequest, name: str) -> IdempotencyKey | None:
    """Return the Idempotency-Key of an append by a name.

    It belongs to the name, and to the conversation as that of an append by the id does.
    """
    key = request.idempotency_key()
    if key is None:
        return None

    def of_conversation(conversation_id: str) -> Key:
        return request.record_key(path=entries.APPEND_PATH, ids=[conversation_id])

    return key._replace(key=request.record_key(ids=[name]), of_conversation=of_conversation)


def list_named_entries(request: CheckedRequest) -> answers.EntryPage:
    """List what the conversation shows that a name points to, oldest first.

    For every member. The parameters and the answer are those of `listEntries`.
    """
    query: naming.ListNamedEntries = request.query
    conversation_id = names.conversation_named(request.table, caller=request.caller, name=query.name)
    return entries.list_entries(request._replace(path={"conversationId": conversation_id}))


def _ref(request: CheckedRequest) -> NameRef:
    """Return the name in the query: the caller's, or for an administrator any user's."""
    query: naming.OneName = request.query
    return query.of(request.caller)


_NAMES = "/v1/names"

OPERATIONS = (
    Operation(
        "setName",
        "POST",
        _NAMES,
        set_name,
        body=naming.SetName,
        errors=(403, 404, 409),
        own_errors=(NameMovedError,),
    ),
    Operation("listNames", "GET", _NAMES, list_names, query=naming.ListNames),
    Operation(
        "lookUpName",
        "GET",
        f"{_NAMES}/lookup",
        look_name_up,
        query=naming.OneName,
        errors=(404,),
    ),
    Operation(
        "deleteName",
        "DELETE",
        _NAMES,
        delete_name,
        status=204,
        query=naming.DeleteName,
        errors=(404, 409),
        own_errors=(NameMovedError,),
    ),
    Operation(
        "appendEntryByName",
        "POST",
        f"{_NAMES}/entries",
        append_entry_by_name,
        status=201,
        body=naming.AppendByName,
        errors=(403, 404, 409, 413),
        own_errors=(ForkTooDeepError, ForkLimitError, GroupFullError),
        takes_if_match=True,
    ),
    Operation(
        "listEntriesByName",
        "GET",
        f"{_NAMES}/entries",
        list_named_entries,
        query=naming.ListNamedEntries,
        errors=(403, 404),
    ),
)
