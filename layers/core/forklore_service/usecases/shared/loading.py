"""Look a conversation up: its items, the caller's access and its path, in one or two reads."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from forklore_service.domain import access, ancestry, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import Standing
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, Conversation, Description, Head
from forklore_service.domain.spelling import json_fields
from forklore_service.domain.tree import Group
from forklore_service.errors import NotFoundError, brief
from forklore_service.limits import escaped_size
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.found import Found
from forklore_service.storage.table import LOOKS_MAX, Table

_JSON_TEXTS = json_fields(Description)
_ENCODER = json.JSONEncoder(default=dict)


class LoadedConversation(NamedTuple):
    """A live conversation as it was read.

    level: the caller's. None: the caller is not a member. is_archived: the tree, by the caller.
    `look_up` says when the description and is_archived are not read.
    """

    conversation: Conversation
    head: Head
    group: Group
    path: ancestry.Path
    level: AccessLevel | None
    is_archived: bool = False

    @property
    def view(self) -> ancestry.View:
        """What the conversation shows."""
        return ancestry.view_of(self.conversation.conversation_id, self.path)

    @property
    def inherited(self) -> ancestry.View:
        """What the conversation shows of its ancestors."""
        return ancestry.inherited(self.path)

    def details(self, *, now_s: int) -> "ConversationDetails":
        """Return the conversation as the caller, a member, sees it."""
        assert self.level is not None, "shown to a member only"
        return ConversationDetails.of(
            self.conversation, self.head, self.group, self.level, is_archived=self.is_archived, now_s=now_s
        )


class ConversationDetails(NamedTuple):
    """A conversation as a member of level `level` sees it.

    owner: the owner of the tree. is_current: whether it is the tree's current branch. is_archived:
    whether that member has archived the tree. answering: the answer that is not ended in it.
    In a list, branches: how many conversations are in its tree; is_pinned: by that member; and
    where the conversation stands for its tree, tree_used_at: when that was last used.
    """

    conversation: Conversation
    head: Head
    level: AccessLevel
    owner: str
    is_current: bool
    is_archived: bool = False
    answering: Standing | None = None
    tree_used_at: str = ""
    branches: int | None = None
    is_pinned: bool = False

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        head: Head,
        group: Group,
        level: AccessLevel,
        *,
        is_archived: bool,
        now_s: int,
    ) -> "ConversationDetails":
        is_current = conversation.conversation_id == group.current
        answering = Standing.of(head.answer, now_s=now_s)
        return cls(conversation, head, level, group.owner, is_current, is_archived, answering)

    @property
    def last_used_at(self) -> str:
        """When the conversation was created or last appended to, or its tree was used later."""
        return max(self.conversation.used_at(self.head), self.tree_used_at)

    @property
    def escaped_bytes(self) -> int:
        """About how many bytes the description takes in an answer."""
        return escaped_bytes(self.conversation)


def escaped_bytes(conversation: Conversation) -> int:
    """Return about how many bytes the description of a conversation takes in an answer."""
    said: dict[str, Any] = dict(zip(Description._fields, conversation.described, strict=True))
    texts = [said.pop(name) for name in _JSON_TEXTS]
    return sum(map(escaped_size, [*texts, _ENCODER.encode([*said.values()])]))


class LookUp(NamedTuple):
    """The result of a look-up. exists: whether the id is or was in use. found: all items read."""

    exists: bool
    loaded: LoadedConversation | None
    found: Found

    def require(self, conversation_id: str, minimum: AccessLevel) -> LoadedConversation:
        """Return the conversation.

        Raises NotFoundError if there is none, ForbiddenError if the level is below `minimum`.
        """
        if self.loaded is None:
            raise NotFoundError(f"no conversation {brief(conversation_id)}")
        access.require(self.loaded.level, minimum)
        return self.loaded

    def other(self, conversation_id: str) -> "OtherConversation | None":
        """Return what `TreeExtras.other` read; None: the tree has no such live conversation."""
        group_id = self.loaded.group.group_id if self.loaded else ""
        head = self.found.head(group_id, conversation_id)
        if head is None:
            return None
        path = self.found.path(group_id, conversation_id)
        return OtherConversation(ancestry.view_of(conversation_id, path), head)


class OtherConversation(NamedTuple):
    """Another live conversation of the same tree: what it shows, and its HEAD."""

    view: ancestry.View
    head: Head


class TreeExtras(NamedTuple):
    """What a look-up also reads of the conversation's tree.

    entries: the entries with these ids. member: the membership of this user.
    transfer: whether to read the tree's pending transfer.
    context_of: the client whose CTX item of the conversation is read.
    entry_key: the key of an own entry, whose KEY item is read. link: a link for readers.
    other: a conversation that is perhaps of the same tree; `LookUp.other` returns it.
    part: an answer, and the position of the part of its log that is read.
    """

    entries: tuple[EntryId, ...] = ()
    member: str | None = None
    transfer: bool = False
    context_of: str | None = None
    entry_key: str | None = None
    link: str | None = None
    other: str | None = None
    part: tuple[str, int] | None = None


NO_EXTRAS = TreeExtras()


def load_conversation(
    table: Table,
    conversation_id: str,
    *,
    caller: Caller,
    minimum: AccessLevel = AccessLevel.READER,
    describes: bool = True,
) -> LoadedConversation:
    """Return a conversation that the caller may use at level `minimum`.

    describes: as for `look_up`. Raises NotFoundError if the conversation does not exist or is
    deleted. Raises ForbiddenError if the caller's level is too low.
    """
    return look_up(table, conversation_id, caller=caller, describes=describes).require(
        conversation_id, minimum
    )


def look_up(
    table: Table,
    conversation_id: str,
    *,
    caller: Caller,
    extra_keys: Iterable[Key] = (),
    extras: TreeExtras = NO_EXTRAS,
    existed: bool = False,
    describes: bool = True,
) -> LookUp:
    """Look a conversation up, and read further items in the same request.

    The tree's id comes from the cache. Without it, the first read assumes that the conversation is
    a root, whose id is the tree's id. If that is wrong, a second request follows.
    extra_keys: keys that do not depend on the tree. extras: what else to read of the tree.
    existed: whether the conversation is known to exist. If so, a missing pointer is read again.
    describes: whether the description is needed, and whether the caller has archived the tree. If
    not, these are not read of a conversation that is cached.
    """
    extra_keys, pointer_key = list(extra_keys), keys.pointer(conversation_id)
    cached = table.cache.get(conversation_id)
    found = Found()
    for attempt in range(LOOKS_MAX):
        table.pause(max(attempt - 1, 0))
        known = cached if not describes else None
        if cached is not None:
            group_id = cached.group_id
            found = table.get([*_keys_of(group_id, conversation_id, caller, extras, known), *extra_keys])
        else:
            group_id = conversation_id
            guessed = _keys_of(group_id, conversation_id, caller, extras)
            found = table.get([pointer_key, *guessed, *extra_keys])
            pointer = found.pointer(conversation_id, now_s=table.now_s())
            if pointer is None and existed:
                continue
            if pointer is None or pointer.group_id is None:
                return LookUp(pointer is not None, None, found)
            if pointer.group_id != group_id:
                group_id = pointer.group_id
                found |= table.get(_keys_of(group_id, conversation_id, caller, extras))
        is_doubted = attempt == 0 and _lacks_something(found, group_id, caller, extras, known)
        if not is_doubted and not _is_torn(found, conversation_id, group_id, caller, extras.other, known):
            loaded = _loaded(found, conversation_id, group_id, caller, known)
            if loaded is not None:
                _learn(table, loaded)
                return LookUp(True, loaded, found)
            if cached is None:
                break
        if cached is not None:
            table.cache.forget(conversation_id)
            cached = None
    return LookUp(True, None, found)


def _keys_of(
    group_id: str,
    conversation_id: str,
    caller: Caller,
    extras: TreeExtras,
    known: CachedConversation | None = None,
) -> list[Key]:
    """Return the keys to read for a conversation of a tree. A root has no PATH.

    known: what is cached of it, if the description is not needed. Then of CONV only the client
    counts, which never changes. MEM of the owner is not needed either: GROUP names the owner.
    """
    client_id, entry_key = extras.context_of, extras.entry_key
    return [
        keys.group(group_id),
        *([keys.conversation(group_id, conversation_id)] if known is None else []),
        *([keys.path(group_id, conversation_id)] if conversation_id != group_id else []),
        keys.head(group_id, conversation_id),
        *([keys.member(group_id, caller.user_id)] if not _is_owner(known, caller) else []),
        *([keys.member(group_id, extras.member)] if extras.member is not None else []),
        *([keys.transfer_of_group(group_id)] if extras.transfer else []),
        *([keys.context(group_id, conversation_id, client_id)] if client_id is not None else []),
        *([keys.entry_key(group_id, conversation_id, entry_key)] if entry_key is not None else []),
        *([keys.link(group_id, extras.link)] if extras.link else []),
        *([keys.head(group_id, extras.other), keys.path(group_id, extras.other)] if extras.other else []),
        *([keys.part(group_id, *extras.part)] if extras.part else []),
        *(keys.entry(group_id, entry_id) for entry_id in extras.entries),
    ]


def _is_owner(known: CachedConversation | None, caller: Caller) -> bool:
    return known is not None and known.owner == caller.user_id


def _is_torn(
    found: Found,
    conversation_id: str,
    group_id: str,
    caller: Caller,
    other: str | None,
    known: CachedConversation | None = None,
) -> bool:
    """Return whether only a part of a transaction was read, as BatchGetItem is not a snapshot.

    One transaction writes all items of a new conversation. If one of them is missing in a live
    tree, the read came too early.
    Source: read-committed isolation of BatchGetItem (DynamoDB developer guide, transaction
    isolation levels).
    """
    group, head = found.group(group_id), found.head(group_id, conversation_id)
    if group is not None and not group.is_live:
        return False
    if group is None or head is None:
        return True
    if known is None and keys.conversation(group_id, conversation_id) not in found:
        return True
    heads = {conversation_id: head, **({other: found.head(group_id, other)} if other else {})}
    for of, held in heads.items():
        if held is not None and held.floor != FIRST and keys.path(group_id, of) not in found:
            return True
    if _is_owner(known, caller):
        return False
    return group.owner == caller.user_id and keys.member(group_id, caller.user_id) not in found


def _lacks_something(
    found: Found,
    group_id: str,
    caller: Caller,
    extras: TreeExtras,
    known: CachedConversation | None = None,
) -> bool:
    """Return whether something is missing in a live tree that a refusal would rest on.

    It may have gone with the tree, or come with it, after the one was read and before the other.
    So the refusal needs a second look. What is known may be of an earlier owner, or tree.
    """
    group = found.group(group_id)
    if group is None or not group.is_live:
        return False
    if known is not None and (group.owner, group.created_at) != (known.owner, known.tree_created_at):
        return True
    is_member = caller.bypasses_membership or _is_owner(known, caller)
    needed = [
        *([] if is_member else [keys.member(group_id, caller.user_id)]),
        *([keys.head(group_id, extras.other)] if extras.other else []),
        *(keys.entry(group_id, entry_id) for entry_id in extras.entries),
    ]
    return any(key not in found for key in needed)


def _loaded(
    found: Found,
    conversation_id: str,
    group_id: str,
    caller: Caller,
    known: CachedConversation | None = None,
) -> LoadedConversation | None:
    """Return the conversation if all its items were read and its tree is live."""
    group = found.group(group_id)
    conversation = found.conversation(group_id, conversation_id)
    if known is not None:
        conversation = Conversation(conversation_id, group_id, known.created_at, client_id=known.client_id)
    head = found.head(group_id, conversation_id)
    if group is None or not group.is_live or conversation is None or head is None:
        return None
    path = found.path(group_id, conversation_id)
    level = AccessLevel.OWNER if _is_owner(known, caller) else level_of(found, group_id, caller)
    # One who bypasses membership has archived nothing.
    member = None if caller.bypasses_membership else found.member(group_id, caller.user_id)
    is_archived = member is not None and member.is_archived
    return LoadedConversation(conversation, head, group, path, level, is_archived)


def require_group(table: Table, group_id: str) -> Group:
    """Return a tree as it is now. Raises NotFoundError if it is not live."""
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or not group.is_live:
        raise NotFoundError("the conversation is deleted")
    return group


def keys_of_root(group_id: str) -> list[Key]:
    """Return the keys of a tree and its root."""
    return [
        keys.group(group_id),
        keys.conversation(group_id, group_id),
        keys.head(group_id, group_id),
    ]


def root_of(found: Found, group_id: str, caller: Caller) -> LoadedConversation | None:
    """Return a tree's root from the items that were read, without a path.

    Return its current branch if the root was removed and `keys_of_current` was read, too.
    None: the tree is not live.
    """
    group = found.group(group_id)
    has_root = found.head(group_id, group_id) is not None
    shown = group_id if group is None or has_root else group.current
    return _loaded(found, shown, group_id, caller)


def keys_of_current(found: Found, group_ids: Iterable[str]) -> list[Key]:
    """Return the keys of the current branches of those trees whose root is not among `found`."""
    groups = [found.group(group_id) for group_id in group_ids]
    rootless = [one for one in groups if one and one.is_live and not found.head(one.group_id, one.group_id)]
    return [
        key
        for one in rootless
        if one.current != one.group_id
        for key in (keys.conversation(one.group_id, one.current), keys.head(one.group_id, one.current))
    ]


def level_of(found: Found, group_id: str, caller: Caller) -> AccessLevel | None:
    """Return the caller's access level in a tree. None: the caller is not a member.

    A caller who bypasses membership has the owner's level.
    """
    if caller.bypasses_membership:
        return AccessLevel.OWNER
    member = found.member(group_id, caller.user_id)
    return member.level if member else None


def _learn(table: Table, loaded: LoadedConversation) -> None:
    conversation, head = loaded.conversation, loaded.head
    known = table.cache.get(conversation.conversation_id)
    epochs, tree_created_at = known.epochs if known else (), loaded.group.created_at
    cached = CachedConversation.of(conversation, head, epochs, tree_created_at=tree_created_at)
    table.cache.put(conversation.conversation_id, cached)
