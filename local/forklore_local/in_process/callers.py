"""Who calls the service in this process."""

from collections.abc import Iterable

from forklore_service.domain.model import Caller
from forklore_service.domain.users import ROLES, is_user_id

__all__ = ["Caller", "CallerError", "make_caller"]


class CallerError(ValueError):
    """What was given names no caller. field: `user`, `client` or `roles`."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def make_caller(user: str, client: str | None, roles: Iterable[str]) -> Caller:
    """Return the caller. Raises CallerError for what is no name of a user, a client or a role."""
    for field, named in (("user", user), ("client", client)):
        if not is_user_id(named) and not (field == "client" and named is None):
            raise CallerError(f"{field} cannot be {named!r}", field)
    if not ROLES.issuperset(roles):
        raise CallerError(f"roles are {', '.join(sorted(ROLES))}", "roles")
    return Caller(user, client, frozenset(roles))
