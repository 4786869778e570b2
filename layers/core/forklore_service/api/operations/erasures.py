"""The erasure of a user, for admins."""

from forklore_service.api import admin_requests, answers
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.domain.users import ADMIN
from forklore_service.usecases.people import erasure_requests


def erase_user(request: CheckedRequest) -> answers.Erasure:
    """Erase a user: delete their trees, end their memberships, and erase what they wrote elsewhere.

    The answer comes at once; the work goes on in the background. Every tree that the user owns is
    deleted. In the trees of others the user's entries stay where they are, without content and with
    `erased`, under a random pseudonym. Stop the user's logins first: what the user writes meanwhile
    delays the end.
    """
    body: admin_requests.EraseUser = request.body
    erasure = erasure_requests.erase_user(
        request.table,
        request.service.queue,
        caller=request.caller,
        user_id=body.user_id,
        idempotency_key=request.idempotency_key(answers.erasure),
    )
    return answers.erasure(erasure)


def get_erasure(request: CheckedRequest) -> answers.Erasure:
    """Show how far an erasure has come. It does not name the user."""
    return answers.erasure(erasure_requests.get_erasure(request.table, erasure_id=request.path["erasureId"]))


_ERASURES = "/v1/admin/erasures"

OPERATIONS = (
    Operation(
        "adminEraseUser",
        "POST",
        _ERASURES,
        erase_user,
        status=202,
        query=admin_requests.Justified,
        body=admin_requests.EraseUser,
        errors=(403,),
        role=ADMIN,
    ),
    Operation(
        "adminGetErasure",
        "GET",
        f"{_ERASURES}/{{erasureId}}",
        get_erasure,
        query=admin_requests.Justified,
        errors=(403, 404),
        role=ADMIN,
    ),
)
