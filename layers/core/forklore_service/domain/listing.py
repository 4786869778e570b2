"""Which conversations a list shows of each tree, and where it goes on."""

from enum import StrEnum
from typing import NamedTuple

from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Conversation


class Mode(StrEnum):
    """Which conversations of a tree are listed."""

    LATEST_FORK = "latest-fork"
    CURRENT = "current"
    ROOTS = "roots"
    ALL = "all"


class Order(StrEnum):
    """Which trees come first: those that were used last, or those that were created last."""

    USED = "used"
    CREATED = "created"


class Ancestry(StrEnum):
    """Which trees are listed: those that no conversation started, those that one did, or both."""

    ROOTS = "roots"
    CHILDREN = "children"
    ALL = "all"

    def includes(self, is_child: bool) -> bool:
        return self is Ancestry.ALL or (self is Ancestry.CHILDREN) == is_child


class Archived(StrEnum):
    """Which trees are listed: those that the user has not archived, all, or only archived ones."""

    EXCLUDE = "exclude"
    INCLUDE = "include"
    ONLY = "only"

    def includes(self, is_archived: bool) -> bool:
        return self is Archived.INCLUDE or (self is Archived.ONLY) == is_archived


class Tag(NamedTuple):
    """A tag that a conversation must have. value: of the tag; None: any."""

    name: str
    value: str | None = None

    @classmethod
    def of(cls, text: str) -> "Tag":
        """Return the tag that a caller has spelled as `name` or as `name:value`.

        >>> Tag.of("kind"), Tag.of("kind:a:b")
        (Tag(name='kind', value=None), Tag(name='kind', value='a:b'))
        """
        name, colon, value = text.partition(":")
        return cls(name, value if colon else None)

    def is_of(self, conversation: Conversation) -> bool:
        held = conversation.described.tags.get(self.name)
        return held is not None and self.value in (None, held)


class Filter(NamedTuple):
    """What a conversation must be like to be listed. None: anything.

    query: a part of a title; upper and lower case are equal. agent_id: its logical agent.
    tag: `name` or `name:value`. created_since: when it was created at the earliest.
    Each field has the name of a parameter of the list.
    """

    query: str | None = None
    agent_id: str | None = None
    tag: str | None = None
    created_since: str | None = None

    @property
    def is_open(self) -> bool:
        """Return whether every conversation passes."""
        return all(wanted in (None, "") for wanted in self)

    def passes(self, conversation: Conversation, *, root: Conversation | None = None) -> bool:
        """Return whether a conversation passes. root: of its tree, if its title and tags count."""
        query = (self.query or "").casefold()
        described = [one for one in (conversation, root) if one is not None]
        return (
            any(query in (one.described.title or "").casefold() for one in described)
            and self.agent_id in (None, conversation.agent_id)
            and (self.tag is None or any(map(Tag.of(self.tag).is_of, described)))
            and conversation.created_at >= (self.created_since or "")
        )


EVERYTHING = Filter()


TOP = ListKey("9999-12-31T23:59:59.999Z", "ffffffff-ffff-ffff-ffff-ffffffffffff")
"""A place above every tree."""
NONE_MOVED = TOP._replace(conversation_id="ffffffff-ffff-ffff-ffff-fffffffffffe")
"""Where a walk begins that shows each row where it stands now: above it no row has moved."""
BOTTOM = ListKey("", "")
"""A place below every tree."""


class Walk(NamedTuple):
    """A walk over the pages of a list by use, whose rows move meanwhile.

    A row that moved since the walk began is shown where it stood then. began: the place above which
    a row has moved since; TOP: the walk has not begun, and goes on at the top. shown: the trees
    that were shown although they stood below the place where the next page begins.
    """

    began: ListKey = TOP
    shown: tuple[str, ...] = ()


class ListPlace(NamedTuple):
    """A place in the list: a tree, and with Mode.ALL a conversation in it.

    conversation: None for the place after the whole tree. walk: of a list by use.
    used_before: of a list by use that goes on after a conversation, when that was used last, with
    its tree: what was used later in the same ten minutes comes before it.
    """

    tree: ListKey
    conversation: ListKey | None = None
    walk: Walk | None = None
    used_before: ListKey | None = None

    @property
    def bounds(self) -> tuple[ListKey | None, ListKey | None]:
        """Return the place before which the trees still to come are, or the one up to which."""
        if self.walk is not None and self.walk.began == TOP:
            return TOP, None
        return (None, self.tree) if self.conversation else (self.tree, None)

    @property
    def below(self) -> ListKey:
        """A bound above the trees that are still to come, and below the others."""
        before, _ = self.bounds
        return before or self.tree._replace(conversation_id=f"{self.tree.conversation_id} ")
