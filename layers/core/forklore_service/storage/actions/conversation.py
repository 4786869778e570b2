"""The actions about one conversation (items CONV, HEAD, PATH, TREE and the pointer PTR)."""

from collections.abc import Iterable, Sequence

from forklore_service.domain import ancestry, keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation, Head, Metrics, Tip, Words
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_NOT_KEPT, IS_OPEN, IS_THERE, Action, ActionKind
from forklore_service.storage.items import number, text

RETIRED_SECONDS = 30 * 24 * 3600
"""How long the ids of a deleted tree may not be used again."""


# The id


def claim_id(conversation: Conversation, *, nonce: str, now_s: int) -> Action:
    """Put the pointer of a new conversation, unless its id is in use or was deleted recently."""
    item = items.pointer_item(conversation, nonce)
    return action.put_unless_current(ActionKind.POINTER, item, now_s=now_s, of=conversation.conversation_id)


def free_id(conversation_id: str) -> Action:
    """Delete a pointer, so that its id may be used again at once."""
    return action.delete(ActionKind.POINTER, keys.pointer(conversation_id))


def retire_id(conversation_id: str, *, now_s: int) -> Action:
    """Replace the pointer of a deleted conversation: its id may not be used for 30 days."""
    item = items.retired_item(conversation_id, ttl_s=now_s + RETIRED_SECONDS)
    return action.put(ActionKind.POINTER, item, of=conversation_id)


def block_id(conversation_id: str, group_id: str) -> Action:
    """Replace the pointer of a removed branch: its id may not be used while the tree needs it."""
    return action.put(ActionKind.POINTER, items.resting_item(conversation_id, group_id), of=conversation_id)


# The conversation


def put(conversation: Conversation, head: Head, path: ancestry.Path = ()) -> list[Action]:
    """Put CONV, HEAD, TREE and PATH of an id that is claimed in the same transaction or before it.

    An empty path has no item.
    """
    return [*show(conversation, head), *place(conversation, path)]


def show(conversation: Conversation, head: Head) -> list[Action]:
    """Put CONV and HEAD alone: what tells of a conversation, and lets it be appended to."""
    of = conversation.conversation_id
    return [
        action.put(ActionKind.CONVERSATION, items.conversation_item(conversation), of=of),
        action.put(ActionKind.HEAD, items.head_item(conversation, head), of=of),
    ]


def place(conversation: Conversation, path: ancestry.Path) -> list[Action]:
    """Put TREE and PATH alone, into a tree that nobody can see yet."""
    of = conversation.conversation_id
    return [
        action.put(ActionKind.TREE, items.tree_item(conversation, path), of=of),
        *put_path(conversation, path),
    ]


def put_path(conversation: Conversation, path: ancestry.Path) -> list[Action]:
    """Put PATH alone. An empty path has no item."""
    of = conversation.conversation_id
    return [action.put(ActionKind.PATH, items.path_item(conversation, path), of=of)] if path else []


def set_title(group_id: str, conversation_id: str, title: Words) -> Action:
    """Give an untitled conversation its title.

    The same transaction moves HEAD, counts the change there, too, and checks there that the
    conversation is untitled.
    """
    return action.update(
        ActionKind.CONVERSATION,
        keys.conversation(group_id, conversation_id),
        f"SET #title = :title, #titledBy = :by ADD {_ONE_CHANGE}",
        values={":title": text(title.text), ":by": text(title.by), **_ONE},
    )


def describe(conversation: Conversation, fields: Iterable[str]) -> Action:
    """Replace these fields of the description in CONV by the conversation's.

    A title is then what somebody chose.
    The same transaction checks HEAD and counts the change there, too. CONV is there as long as HEAD
    is.
    """
    said = items.described(conversation, fields)
    values = {f":{name}": held for name, held in said.items() if held is not None}
    sets = [f"#{name} = :{name}" for name, held in said.items() if held is not None]
    removes = [f"#{name}" for name, held in said.items() if held is None]
    removes += ["#titledBy"] if "title" in said else []
    clauses = [
        *([f"SET {', '.join(sets)}"] if sets else []),
        *([f"REMOVE {', '.join(removes)}"] if removes else []),
        f"ADD {_ONE_CHANGE}",
    ]
    return action.update(
        ActionKind.CONVERSATION,
        keys.conversation(conversation.group_id, conversation.conversation_id),
        " ".join(clauses),
        of=conversation.conversation_id,
        values={**values, **_ONE},
    )


_ONE_CHANGE, _ONE = "#changes :oneChange", {":oneChange": number(1)}
"""What is added to both CONV and HEAD where one transaction changes CONV.

So a reader of both sees whether they belong together (`Found.torn`).
"""


def forget_words(of: Key, user_id: str) -> Action:
    """Remove the title from a CONV, or the preview from a HEAD, if it is the user's words.

    The conversation gets no new title by itself.
    """
    told, by, kind = _words_in(of)
    condition, values = f"{by} = :user", {":user": text(user_id)}
    return action.update(kind, of, f"REMOVE {told}, {by}", of=of.sort, condition=condition, values=values)


def forget_unsigned(of: Key, words: str) -> Action:
    """Remove the title from a CONV, or the preview from a HEAD, if it is this and has no author."""
    told, by, kind = _words_in(of)
    condition, values = f"{told} = :words AND attribute_not_exists({by})", {":words": text(words)}
    return action.update(kind, of, f"REMOVE {told}", of=of.sort, condition=condition, values=values)


def _words_in(of: Key) -> tuple[str, str, ActionKind]:
    """Return where a CONV or a HEAD holds what somebody said, and who did, with its kind."""
    if keys.is_head(of.sort):
        return "#preview", "#previewBy", ActionKind.HEAD
    return "#title", "#titledBy", ActionKind.CONVERSATION


# HEAD


def move_head(
    group_id: str,
    conversation_id: str,
    *,
    after: EntryId,
    first: EntryId,
    tip: Tip,
    history: int,
    context: int,
    added: Metrics,
    preview: Words | None,
    owner: str | None,
    titles: bool,
    promoted_at: str | None,
    finishes: str | None = None,
    entries_max: int = 0,
) -> Action:
    """Move HEAD over new entries, if its last entry is still the one that they follow.

    This one condition orders all appends to a conversation.
    after: the last entry before the new ones. first: the first new one. tip: where the next one
    goes. history, context: how many of each are new. owner: the caller, if the append is allowed
    because they are the owner. titles: whether the append sets the title. promoted_at: the time
    now, if the append makes the conversation the current branch. finishes: the answer that was
    begun here and ends with the entries. entries_max: own entries that the conversation may have;
    0: any number.
    """
    shown = tip.lasts
    sets = {"last": text(tip.last)}
    if history and shown.history:
        sets["lastHistory"] = text(shown.history)
    if context and shown.context:
        sets["lastContext"] = text(shown.context)
    if preview is not None:
        sets |= {"preview": text(preview.text), "previewBy": text(preview.by)}
    if promoted_at is not None:
        sets["promotedAt"] = text(promoted_at)
    counts = {"history": history, "context": context, **items.counters(added)}
    adds = {name: number(count) for name, count in counts.items() if count}
    change = "SET #first = if_not_exists(#first, :first)"
    change += "".join(f", #{name} = :{name}" for name in sets)
    change += f" ADD {', '.join(f'#{name} :add{name}' for name in adds)}"
    condition = "#last = :after"
    values = {
        ":first": text(first),
        ":after": text(after),
        **{f":{name}": value for name, value in sets.items()},
        **{f":add{name}": value for name, value in adds.items()},
    }
    if owner is not None:
        condition += " AND #owner = :owner"
        values[":owner"] = text(owner)
    removes = []
    if titles:
        change += f", {_ONE_CHANGE}"
        removes.append("untitled")
        condition += " AND attribute_exists(#untitled)"
        values |= _ONE
    if entries_max:
        condition += " AND (attribute_not_exists(#entries) OR #entries <= :room)"
        values[":room"] = number(entries_max - added.entries)
    if finishes is not None:
        removes += items.ANSWERING
        condition += " AND #answer = :answer"
        values[":answer"] = text(finishes)
    if removes:
        change += f" REMOVE {', '.join(f'#{name}' for name in removes)}"
    key = keys.head(group_id, conversation_id)
    return action.update(ActionKind.HEAD, key, change, of=conversation_id, condition=condition, values=values)


def touch_head(
    group_id: str,
    conversation_id: str,
    *,
    changed_at: str,
    was: str,
    last: EntryId | None,
    owner: str | None,
    titled: bool,
    changed: bool,
) -> Action:
    """Move `changedAt` of HEAD on from what was read.

    titled: the title is changed, too. changed: CONV is changed in the same transaction.
    last: if not None, what must still be the last own entry, or the floor.
    owner: if not None, the user who must still be the owner.
    """
    change, condition = "SET #changedAt = :now", f"{IS_OPEN} AND #changedAt = :was"
    values = {":now": text(changed_at), ":was": text(was)}
    if last is not None:
        condition += " AND #last = :last"
        values[":last"] = text(last)
    if owner is not None:
        condition += " AND #owner = :owner"
        values[":owner"] = text(owner)
    if titled:
        change += " REMOVE #untitled"
    if changed:
        change += f" ADD {_ONE_CHANGE}"
        values |= _ONE
    key = keys.head(group_id, conversation_id)
    return action.update(ActionKind.HEAD, key, change, of=conversation_id, condition=condition, values=values)


def change_owner(group_id: str, conversation_ids: Sequence[str], *, was: str, owner: str) -> list[Action]:
    """Give HEADs another owner, where each still names the one before."""
    return [
        action.update(
            ActionKind.HEAD,
            keys.head(group_id, conversation_id),
            "SET #owner = :owner",
            of=conversation_id,
            condition="#owner = :was",
            values={":owner": text(owner), ":was": text(was)},
        )
        for conversation_id in conversation_ids
    ]


def check_head(group_id: str, conversation_id: str, *, last: EntryId | None = None) -> Action:
    """Check that the conversation that the write is about is open.

    last: if not None, what must still be its last own entry, or its floor.
    """
    return _check_head(ActionKind.HEAD, group_id, conversation_id, last)


def check_exists(group_id: str, conversation_id: str, *, last: EntryId | None = None) -> Action:
    """Check that another conversation, which the write names, is open. last: as of `check_head`."""
    return _check_head(ActionKind.NAMED_HEAD, group_id, conversation_id, last)


def check_not_removed(conversation: Conversation, *, starts: bool = False) -> Action:
    """Check that a conversation of a live tree was not removed.

    TREE is there as long as HEAD is, and no append writes to it. In the trash it has a mark. A fork
    that comes late to that is as one that was made before. starts: whether a child is started.
    """
    return action.check(
        ActionKind.TREE,
        keys.tree_row(conversation.group_id, conversation.created_at, conversation.conversation_id),
        f"{IS_THERE} AND {IS_NOT_KEPT}" if starts else IS_THERE,
        of=conversation.conversation_id,
    )


def check_unused(group_id: str, conversation_id: str, head: Head) -> Action:
    """Check that nobody has appended to a conversation or changed it since its HEAD was read."""
    return action.check(
        ActionKind.NAMED_HEAD,
        keys.head(group_id, conversation_id),
        "#last = :last AND #changedAt = :changedAt",
        of=conversation_id,
        values={":last": text(head.last), ":changedAt": text(head.changed_at)},
    )


def _check_head(kind: ActionKind, group_id: str, conversation_id: str, last: EntryId | None) -> Action:
    return action.check(
        kind,
        keys.head(group_id, conversation_id),
        "#last = :last" if last else IS_OPEN,
        of=conversation_id,
        values={":last": text(last)} if last else {},
    )


def remove(conversation: Conversation, *, answer_id: str | None) -> list[Action]:
    """Delete HEAD, CONV and TREE of a branch that is there, and block its id.

    answer_id: the answer that HEAD must still name; None: it must name none.
    The rest is for the worker.
    """
    conv, head, tree = _keys_of(conversation)
    seen = f"{IS_OPEN} AND attribute_not_exists(#answer)" if answer_id is None else "#answer = :seen"
    return [
        block_id(conversation.conversation_id, conversation.group_id),
        action.delete(
            ActionKind.HEAD,
            head,
            of=conversation.conversation_id,
            condition=seen,
            values={":seen": text(answer_id)} if answer_id is not None else {},
        ),
        action.delete(ActionKind.CONVERSATION, conv),
        action.delete(ActionKind.TREE, tree),
    ]


def remove_kept(conversation: Conversation) -> list[Action]:
    """Delete HEAD, CONV and TREE of a branch that is in the trash.

    The same transaction checks that it is.
    """
    conv, head, tree = _keys_of(conversation)
    return [
        action.delete(ActionKind.HEAD, head, of=conversation.conversation_id),
        action.delete(ActionKind.CONVERSATION, conv),
        action.delete(ActionKind.TREE, tree),
    ]


def keep(conversation: Conversation, *, at: str) -> list[Action]:
    """Hide HEAD, CONV and TREE of a branch that is open, and block its id: it is in the trash.

    HEAD names no owner there, because no transfer would change that.
    """
    conv, head, tree = _keys_of(conversation)
    mark, marked = "#kept = :kept", {":kept": text(at)}
    return [
        block_id(conversation.conversation_id, conversation.group_id),
        action.update(
            ActionKind.HEAD,
            head,
            f"SET #shut = #last, {mark} REMOVE #last, #owner",
            of=conversation.conversation_id,
            condition=IS_OPEN,
            values=marked,
        ),
        action.update(ActionKind.CONVERSATION, conv, f"SET {mark}", values=marked),
        action.update(ActionKind.TREE, tree, f"SET {mark}", values=marked),
    ]


def bring_back(conversation: Conversation, *, owner: str, nonce: str) -> list[Action]:
    """Show HEAD, CONV and TREE of a branch in the trash again, as they were, and its id.

    If HEAD is still shut and the version of the tree is the one that was read, as the same
    transaction checks, the branch is there since that removal. owner: the tree's as it is now.
    """
    conv, head, tree = _keys_of(conversation)
    mark = "REMOVE #kept"
    return [
        action.put(
            ActionKind.POINTER, items.pointer_item(conversation, nonce), of=conversation.conversation_id
        ),
        action.update(
            ActionKind.HEAD,
            head,
            f"SET #last = #shut, #owner = :owner {mark}, #shut",
            of=conversation.conversation_id,
            condition="attribute_exists(#shut)",
            values={":owner": text(owner)},
        ),
        action.update(ActionKind.CONVERSATION, conv, mark),
        action.update(ActionKind.TREE, tree, mark),
    ]


def _keys_of(conversation: Conversation) -> tuple[Key, Key, Key]:
    """Return the keys of CONV, HEAD and TREE."""
    group_id, conversation_id = conversation.group_id, conversation.conversation_id
    return (
        keys.conversation(group_id, conversation_id),
        keys.head(group_id, conversation_id),
        keys.tree_row(group_id, conversation.created_at, conversation_id),
    )


def delete_head(group_id: str, conversation_id: str) -> Action:
    """Delete HEAD: nothing can be appended to the conversation any more."""
    return action.delete(ActionKind.HEAD, keys.head(group_id, conversation_id), of=conversation_id)


def shut_head(group_id: str, conversation_id: str) -> Action:
    """Shut a HEAD that is open: what every append depends on gets another name."""
    return _turn_head(group_id, conversation_id, "SET #shut = #last REMOVE #last", IS_OPEN)


def open_head(group_id: str, conversation_id: str) -> Action:
    """Open a HEAD that is shut, as it was."""
    change = "SET #last = #shut REMOVE #shut"
    return _turn_head(group_id, conversation_id, change, "attribute_exists(#shut)")


def _turn_head(group_id: str, conversation_id: str, change: str, condition: str) -> Action:
    key = keys.head(group_id, conversation_id)
    return action.update(ActionKind.HEAD, key, change, of=conversation_id, condition=condition)
