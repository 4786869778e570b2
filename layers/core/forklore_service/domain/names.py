"""Names: pointers of a user to conversations. A name moves; the conversations never do."""

from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.model import Caller
from forklore_service.domain.users import has_controls
from forklore_service.errors import NameMovedError, brief
from forklore_service.limits import NAME_BYTES_MAX

REVISION_BITS = 52
"""Of a new name's revision, which is random.

A name can be deleted and made again. Who expects a revision of the deleted one must not meet it
again. A clock can go back, and a counter would have to outlive the name. At random, one of a
thousand moves is met with a chance of one in 4 * 10^12. JSON's numbers are exact up to 2^53, which
leaves room for as many moves.
"""


def is_name(text: str) -> bool:
    """Tell whether `text` has 1 to 255 bytes of UTF-8 and no control character.

    >>> is_name("trip"), is_name(" "), is_name(""), is_name("a\\nb"), is_name("\\ud800")
    (True, True, False, False, False)
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return False
    return 1 <= size <= NAME_BYTES_MAX and not has_controls(text)


class NameOwner(NamedTuple):
    """Whose names they are: a user's and a client's, or the user's alone.

    Names of different owners never meet.
    """

    user_id: str
    client_id: str | None

    @classmethod
    def of(cls, caller: Caller) -> "NameOwner":
        return cls(caller.user_id, caller.client_id)


class NameRef(NamedTuple):
    """Which name."""

    owner: NameOwner
    name: str

    @classmethod
    def of(cls, caller: Caller, name: str) -> "NameRef":
        return cls(NameOwner.of(caller), name)


class Name(NamedTuple):
    """A name as it is stored.

    revision: random for a new name, one more for each move.
    updated_at: of the last move or append, by the clock of the process that did it. Clocks differ,
    so an append can set it back. A move is later than what it moves.
    data: the caller's JSON object as it was sent; None without one. nonce: of the last move.
    previous_id: the conversation that it pointed to before this one; None: there was none.
    """

    ref: NameRef
    conversation_id: str
    revision: int
    created_at: str
    updated_at: str
    nonce: str
    data: str | None = None
    previous_id: str | None = None


class NameMove(NamedTuple):
    """What a request wants to do with a name.

    expect_revision: the revision that the caller knows; 0: the name must be new; None: any.
    data: replaces the name's; None: it stays.
    left: the name as it was read, if a new conversation takes it from one that is deleted.
    """

    ref: NameRef
    expect_revision: int | None = None
    data: str | None = None
    left: Name | None = None

    def decide(
        self, was: Name | None, *, conversation_id: str, now: str, nonce: str, first_revision: int
    ) -> Name:
        """Return the name as it is after the move. was: as it was read.

        first_revision: of a new name. Raises NameMovedError if the caller expects another revision.
        """
        self.require(was)
        previous_id = was.previous_id if was else None
        if was and was.conversation_id != conversation_id:
            previous_id = was.conversation_id
        return Name(
            ref=self.ref,
            conversation_id=conversation_id,
            revision=was.revision + 1 if was else first_revision,
            created_at=was.created_at if was else now,
            updated_at=max(now, ids.timestamp(ids.milliseconds(was.updated_at) + 1)) if was else now,
            nonce=nonce,
            data=self.data if self.data is not None or was is None else was.data,
            previous_id=previous_id,
        )

    def require(self, was: Name | None) -> None:
        """Raise NameMovedError if the caller expects another revision."""
        require_revision(was, self.expect_revision)


def require_revision(name: Name | None, expected: int | None) -> None:
    """Raise NameMovedError unless the name has the revision; 0: unless there is none. None: any."""
    if expected is not None and expected != (name.revision if name else 0):
        raise name_moved(name, was_new=expected == 0)


def name_moved(name: Name | None, *, was_new: bool = False) -> NameMovedError:
    """Return the error that says where a name points now. None: there is no such name.

    was_new: whether the caller wanted a new name.
    """
    if name is None:
        return NameMovedError("there is no such name", revision=0)
    said = f"the name {brief(name.ref.name)} is in use" if was_new else "the name is at another revision"
    return NameMovedError(said, revision=name.revision, conversation_id=name.conversation_id)
