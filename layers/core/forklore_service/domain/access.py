"""Access levels, and the one check."""

from enum import StrEnum

from forklore_service.domain.model import Caller
from forklore_service.errors import ForbiddenError


class AccessLevel(StrEnum):
    """What a membership allows; each level implies those below it."""

    OWNER = "owner"
    MANAGER = "manager"
    WRITER = "writer"
    READER = "reader"

    def implies(self, other: "AccessLevel") -> bool:
        return _ORDER.index(self) <= _ORDER.index(other)


_ORDER = tuple(AccessLevel)


def levels_from(minimum: AccessLevel) -> tuple[AccessLevel, ...]:
    """Return every level that implies `minimum`."""
    return tuple(level for level in _ORDER if level.implies(minimum))


def grants(level: AccessLevel) -> tuple[AccessLevel, ...]:
    """Return the levels that a member of `level` may give to others, and take from them."""
    match level:
        case AccessLevel.OWNER:
            return AccessLevel.MANAGER, AccessLevel.WRITER, AccessLevel.READER
        case AccessLevel.MANAGER:
            return AccessLevel.WRITER, AccessLevel.READER
        case _:
            return ()


def require_grant(level: AccessLevel, *levels: AccessLevel) -> None:
    """Raise ForbiddenError unless a member of `level` may give and take each of `levels`."""
    for wanted in levels:
        if wanted not in grants(level):
            raise ForbiddenError(f"a member of level '{level}' has no say in level '{wanted}'")


def require(level: AccessLevel | None, minimum: AccessLevel) -> None:
    """Raise ForbiddenError unless `level` (None: not a member) implies `minimum`."""
    if level is None:
        raise ForbiddenError("not a member of this conversation")
    if not level.implies(minimum):
        raise ForbiddenError(f"this needs the access level '{minimum}'")


def may_use_context(caller: Caller, *, bound_to: str | None) -> bool:
    """Tell whether the caller is an agent that has a context in a conversation bound to `bound_to`.

    bound_to: the client that created the conversation. None: a plain user created it, and each
    client has a context of its own.
    """
    return caller.client_id is not None and bound_to in (None, caller.client_id)


def require_context(caller: Caller, *, bound_to: str | None) -> None:
    """Raise ForbiddenError unless the caller has a context in the conversation."""
    if not may_use_context(caller, bound_to=bound_to):
        if caller.client_id is None:
            raise ForbiddenError("only an agent has a context: give its API key, or in process its `client`")
        raise ForbiddenError("this conversation's context belongs to another client: act as that one")
