"""Opening a conversation: all that says what it is, who may use it and what it shows, in one or two reads."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from forklore.domain import access, ancestry, keys
from forklore.domain.access import AccessLevel
from forklore.domain.ids import FIRST
from forklore.domain.jsontext import escaped_size
from forklore.domain.keys import Key
from forklore.domain.model import Caller, Conversation, Head
from forklore.errors import NotFoundError, brief
from forklore.storage import items
from forklore.storage.cache import CachedConversation
from forklore.storage.connection import Item
from forklore.storage.items import Group
from forklore.storage.table import LOOKS_MAX, Table


@dataclass(frozen=True, slots=True)
class LoadedConversation:
    """A live conversation as it was read. level: the caller's; None for someone who is not a member."""

    conversation: Conversation
    head: Head
    group: Group
    path: ancestry.Path
    level: AccessLevel | None

    @property
    def view(self) -> ancestry.Path:
        return ancestry.view_of(self.conversation.conversation_id, self.path)

    @property
    def details(self) -> "ConversationDetails":
        """The conversation as its member sees it."""
        assert self.level is not None, "shown to a member only"
        return ConversationDetails(self.conversation, self.head, self.level, self.group.owner)


@dataclass(frozen=True, slots=True)
class ConversationDetails:
    """A conversation as a member of level `level` sees it. owner: the tree's."""

    conversation: Conversation
    head: Head
    level: AccessLevel
    owner: str

    @property
    def escaped_bytes(self) -> int:
        """About how many bytes of an answer the conversation's own text takes."""
        own = json.dumps([self.conversation.title, dict(self.conversation.tags)])
        return escaped_size(self.conversation.metadata) + escaped_size(own)


@dataclass(frozen=True, slots=True)
class LookUp:
    """What a look-up found. exists: whether the id is or was in use. beside: the other items asked for."""

    exists: bool
    loaded: LoadedConversation | None
    found: Mapping[Key, Item]

    def require(self, conversation_id: str, minimum: AccessLevel) -> LoadedConversation:
        """Return the conversation. Raises NotFoundError without one, ForbiddenError below `minimum`."""
        if self.loaded is None:
            raise NotFoundError(f"no conversation {brief(conversation_id)}")
        access.require(self.loaded.level, minimum)
        return self.loaded


def load_conversation(
    table: Table, conversation_id: str, *, caller: Caller, minimum: AccessLevel = AccessLevel.READER
) -> LoadedConversation:
    """Return a conversation that the caller may use at level `least`.

    Raises NotFoundError if there is none or it is deleted, ForbiddenError if the caller's level is too low.
    """
    return look_up(table, conversation_id, caller=caller).require(conversation_id, minimum)


def look_up(
    table: Table,
    conversation_id: str,
    *,
    caller: Caller,
    extra_keys: Iterable[Key] = (),
    in_group: Callable[[str], Iterable[Key]] = lambda _group_id: (),
    existed: bool = False,
) -> LookUp:
    """Look a conversation up, and further items in the same request; a root has no PATH.

    beside: keys that do not depend on the tree. in_group: makes keys from the tree's id. The tree is known
    from before, or guessed to be the conversation's own (a root's); a wrong guess costs a second request.
    existed: whether it is known to have been created, so that a missing pointer was read too early.
    """

    def group_keys(group_id: str) -> list[Key]:
        return [
            keys.group(group_id),
            keys.conversation(group_id, conversation_id),
            *([keys.path(group_id, conversation_id)] if conversation_id != group_id else []),
            keys.head(group_id, conversation_id),
            keys.member(group_id, user_id),
            *in_group(group_id),
        ]

    user_id = caller.user_id
    extra_keys, pointer_key = list(extra_keys), keys.pointer(conversation_id)
    cached = table.cache.get(conversation_id)
    found: dict[Key, Item] = {}
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        if cached is not None:
            group_id = cached.group_id
            found = table.get([*group_keys(group_id), *extra_keys])
        else:
            group_id = conversation_id
            found = table.get([pointer_key, *group_keys(group_id), *extra_keys])
            item = found.get(pointer_key)
            pointer = items.pointer(item, now_s=table.now_s()) if item else None
            if pointer is None and existed:
                continue
            if pointer is None or pointer.group_id is None:
                return LookUp(pointer is not None, None, found)
            if pointer.group_id != group_id:
                group_id = pointer.group_id
                found |= table.get(group_keys(group_id))
        if not _is_torn(found, conversation_id, group_id, user_id):
            loaded = _opened(found, conversation_id, group_id, caller)
            if loaded is not None:
                _learn(table, loaded)
                return LookUp(True, loaded, found)
            if cached is None:
                break
        if cached is not None:
            table.cache.forget(conversation_id)
            cached = None
    return LookUp(True, None, found)


def _is_torn(found: Mapping[Key, Item], conversation_id: str, group_id: str, user_id: str) -> bool:
    """Tell whether a transaction was read half way: BatchGetItem is no snapshot.

    What a creation puts, it puts together: a live tree without one of these was looked at too early.
    Source: read-committed isolation of BatchGetItem (DynamoDB developer guide, transaction isolation levels).
    """
    group, head = found.get(keys.group(group_id)), found.get(keys.head(group_id, conversation_id))
    if group is not None and not items.group(group).is_live:
        return False
    if group is None or head is None or keys.conversation(group_id, conversation_id) not in found:
        return True
    inherits = items.head(head).floor != FIRST
    is_owner = items.group(group).owner == user_id
    return (inherits and keys.path(group_id, conversation_id) not in found) or (
        is_owner and keys.member(group_id, user_id) not in found
    )


def _opened(
    found: Mapping[Key, Item], conversation_id: str, group_id: str, caller: Caller
) -> LoadedConversation | None:
    group = found.get(keys.group(group_id))
    conversation = found.get(keys.conversation(group_id, conversation_id))
    head = found.get(keys.head(group_id, conversation_id))
    if group is None or conversation is None or head is None:
        return None
    loaded = LoadedConversation(
        items.conversation(conversation),
        items.head(head),
        items.group(group),
        items.path(found.get(keys.path(group_id, conversation_id))),
        level_of(caller, found.get(keys.member(group_id, caller.user_id))),
    )
    return loaded if loaded.group.is_live else None


def keys_of_root(group_id: str, caller: Caller) -> list[Key]:
    """Return the keys of what says what a tree's root is and whether the caller may see it."""
    return [
        keys.group(group_id),
        keys.member(group_id, caller.user_id),
        keys.conversation(group_id, group_id),
        keys.head(group_id, group_id),
    ]


def root_of(found: Mapping[Key, Item], group_id: str, caller: Caller) -> LoadedConversation | None:
    """Return a tree's root from its items; None where there is none that lives."""
    return _opened(found, group_id, group_id, caller)


def level_of(caller: Caller, member: Item | None) -> AccessLevel | None:
    """Return the caller's access level, given their membership; one who sees all is taken for the owner."""
    return AccessLevel.OWNER if caller.bypasses_membership else items.level(member)


def _learn(table: Table, loaded: LoadedConversation) -> None:
    conversation, head = loaded.conversation, loaded.head
    known = table.cache.get(conversation.conversation_id)
    cached = CachedConversation.of(conversation, head, known.epochs if known else ())
    table.cache.put(conversation.conversation_id, cached)
