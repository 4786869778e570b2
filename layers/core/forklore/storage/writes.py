"""The parts of every transaction, each with the condition that makes it safe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forklore.domain import access, ancestry, keys
from forklore.domain.access import AccessLevel
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key
from forklore.domain.model import Conversation, Entry, Head, Metrics, Tip, Transfer
from forklore.domain.tree import Group, IdempotencyRecord, Member, State
from forklore.storage import items
from forklore.storage.connection import Item, Write
from forklore.storage.items import key_of, number, text

IDEMPOTENCY_SECONDS = 24 * 3600
RETIRED_SECONDS = 30 * 24 * 3600
"""How long the ids of a deleted tree may not be used again."""

IDEMPOTENCY = "idempotency"
ENTRY = "entry"
HEAD = "head"
MEMBER = "member"
CONTEXT = "context"
POINTER = "pointer"
GROUP = "group"
TARGET = "target"
JOB = "job"
TRANSFER = "transfer"
PARENT = "parent"
MAKING = "making"
CREATION = "create"

MEMBERS_MAX = 500
FORKS_MAX = 9_999
"""Of a tree, which so has 10,000 conversations: what reads all of it must end some time."""


class Names:
    """Collects the attribute names and values of one expression, so that no reserved word bites."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def name(self, attribute: str) -> str:
        self.names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, label: str, typed: dict[str, Any]) -> str:
        self.values[f":{label}"] = typed
        return f":{label}"

    def parts(self) -> dict[str, Any]:
        """Return the request members for what was collected; DynamoDB refuses empty ones."""
        return {
            **({"ExpressionAttributeNames": self.names} if self.names else {}),
            **({"ExpressionAttributeValues": self.values} if self.values else {}),
        }


class Writer:
    """Makes the parts of transactions on one table."""

    def __init__(self, table_name: str) -> None:
        self._table = table_name

    def put_new(self, name: str, item: Item) -> Write:
        """Put an item that must not exist yet."""
        return self._write(name, "Put", Item=item, ConditionExpression="attribute_not_exists(PK)")

    def put_idempotency_record(self, key: Key, record: IdempotencyRecord, *, now_s: int) -> Write:
        """Remember the answer for 24 hours, unless one is remembered already."""
        return self._put_unless_current(
            IDEMPOTENCY, items.idempotency_record_item(key, record, ttl_s=now_s + IDEMPOTENCY_SECONDS), now_s
        )

    def put_pointer(self, conversation: Conversation, *, nonce: str, now_s: int) -> Write:
        """Claim the id, unless it is in use or was deleted lately."""
        return self._put_unless_current(POINTER, items.pointer_item(conversation, nonce), now_s)

    def _put_unless_current(self, name: str, item: Item, now_s: int) -> Write:
        return self._write(
            name,
            "Put",
            Item=item,
            ConditionExpression="attribute_not_exists(PK) OR #ttl < :now",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":now": number(now_s)},
        )

    def put_entry(
        self, group_id: str, entry: Entry, *, name: str, nonce: str, escaped_bytes: int
    ) -> list[Write]:
        """Put an entry and the chunks of its body."""
        item, blobs = items.entry_items(group_id, entry, nonce=nonce, escaped_bytes=escaped_bytes)
        return [
            self.put_new(name, item),
            *(self._write(f"{name}/{at}", "Put", Item=blob) for at, blob in enumerate(blobs)),
        ]

    def move_head(self, move: "HeadMove") -> Write:
        """Move HEAD over new entries: the one condition that orders all appends to a conversation.

        The last entry is still the one that the new ones follow.
        """
        n = Names()
        shown = move.tip.shown
        sets = {
            "last": text(move.tip.last),
            "lastHistory": text(shown.history) if move.history and shown.history else None,
            "lastContext": text(shown.context) if move.context and shown.context else None,
            "preview": text(move.preview) if move.preview is not None else None,
        }
        first = n.value("first", text(move.first))
        adds = {
            "history": move.history,
            "context": move.context,
            **items.counters(move.added),
        }
        set_part = ", ".join(
            [
                f"{n.name('first')} = if_not_exists(#first, {first})",
                *(f"{n.name(a)} = {n.value(a, v)}" for a, v in sets.items() if v is not None),
            ]
        )
        add_part = ", ".join(f"{n.name(a)} {n.value('add' + a, number(v))}" for a, v in adds.items() if v)
        conditions = [f"{n.name('last')} = {n.value('after', text(move.after))}"]
        if move.owner is not None:
            conditions.append(f"{n.name('owner')} = {n.value('owner', text(move.owner))}")
        if move.titles:
            conditions.append(f"attribute_exists({n.name('untitled')})")
        return self._write(
            HEAD,
            "Update",
            Key=key_of(keys.head(move.group_id, move.conversation_id)),
            UpdateExpression=f"SET {set_part} ADD {add_part}"
            + (f" REMOVE {n.name('untitled')}" if move.titles else ""),
            ConditionExpression=" AND ".join(conditions),
            **n.parts(),
        )

    def check_member(self, group_id: str, user_id: str, minimum: AccessLevel) -> Write:
        """Hold a member, who is not the owner, to the level that the write was allowed by."""
        levels = {f":{level}": text(level) for level in access.levels_from(minimum)}
        return self._write(
            MEMBER,
            "ConditionCheck",
            Key=key_of(keys.member(group_id, user_id)),
            ConditionExpression=f"#level IN ({', '.join(levels)})",
            ExpressionAttributeNames={"#level": "level"},
            ExpressionAttributeValues=levels,
        )

    def move_context(self, move: "ContextMove") -> Write:
        """Move a client's CTX over new entries: they join its epoch, or start a higher one."""
        n = Names()
        epoch, last = n.value("epoch", number(move.epoch)), n.value("last", text(move.last))
        first, count = n.value("first", text(move.first)), n.value("count", number(move.count))
        if not move.starts_epoch:
            first = f"if_not_exists({n.name('first')}, {first})"
            count = f"if_not_exists({n.name('count')}, {n.value('none', number(0))}) + {count}"
        if not move.is_sync and not move.starts_epoch:
            condition = "attribute_not_exists(PK) OR #epoch = :epoch"
        elif not move.is_sync:
            lowest = n.value("lowest", number(move.lowest))
            condition = f"attribute_not_exists(PK) OR (#epoch < :epoch AND #epoch <= {lowest})"
        elif move.decided_on is None:
            condition = "attribute_not_exists(PK)"
        else:
            condition = f"#last = {n.value('decided', text(move.decided_on))}"
        return self._write(
            CONTEXT,
            "Update",
            Key=key_of(keys.context(move.group_id, move.conversation_id, move.client_id)),
            UpdateExpression=f"SET {n.name('epoch')} = {epoch}, {n.name('last')} = {last}"
            f", {n.name('first')} = {first}, {n.name('count')} = {count}",
            ConditionExpression=condition,
            **n.parts(),
        )

    def change_members(self, group_id: str, *, by: int, owner: str | None, target: str) -> Write:
        """Count members of a live tree, and move the version that children are copied under.

        With `owner` only while that is the owner. target: who is changed; not while HEADs may still name them
        as their owner.
        """
        n = Names()
        rewriting = n.name("rewriting")
        conditions = [
            f"{n.name('state')} = {n.value('live', text(State.LIVE))}",
            f"(attribute_not_exists({rewriting}) OR {rewriting} <> {n.value('target', text(target))})",
        ]
        if owner is not None:
            conditions.append(f"{n.name('owner')} = {n.value('owner', text(owner))}")
        if by > 0:
            conditions.append(f"{n.name('members')} < {n.value('most', number(MEMBERS_MAX))}")
        return self._write(
            GROUP,
            "Update",
            Key=key_of(keys.group(group_id)),
            UpdateExpression=f"ADD {n.name('membersVersion')} {n.value('one', number(1))}"
            f", {n.name('members')} {n.value('by', number(by))}",
            ConditionExpression=" AND ".join(conditions),
            **n.parts(),
        )

    def set_level(self, group_id: str, user_id: str, *, was: AccessLevel, level: AccessLevel) -> Write:
        """Change a member's level from what was read."""
        return self._write(
            TARGET,
            "Update",
            Key=key_of(keys.member(group_id, user_id)),
            UpdateExpression="SET #level = :level",
            ConditionExpression="#level = :was",
            ExpressionAttributeNames={"#level": "level"},
            ExpressionAttributeValues={":level": text(level), ":was": text(was)},
        )

    def delete_member(self, group_id: str, user_id: str, *, was: AccessLevel) -> Write:
        """Remove a member of the level that was read."""
        return self._write(
            TARGET,
            "Delete",
            Key=key_of(keys.member(group_id, user_id)),
            ConditionExpression="#level = :was",
            ExpressionAttributeNames={"#level": "level"},
            ExpressionAttributeValues={":was": text(was)},
        )

    def check_owner(self, group_id: str, owner: str) -> Write:
        """Hold a tree to be live and the user's."""
        return self._write(
            GROUP,
            "ConditionCheck",
            Key=key_of(keys.group(group_id)),
            ConditionExpression="#state = :live AND #owner = :owner",
            ExpressionAttributeNames={"#state": "state", "#owner": "owner"},
            ExpressionAttributeValues={":live": text(State.LIVE), ":owner": text(owner)},
        )

    def put_transfer(self, transfer: Transfer, *, nonce: str) -> list[Write]:
        """Put a pending transfer, unless the tree has one."""
        only, *others = items.transfer_items(transfer, nonce=nonce)
        return [
            self.put_new(TRANSFER, only),
            *(self.put(f"{TRANSFER}{at}", item) for at, item in enumerate(others)),
        ]

    def delete_transfer(self, transfer: Transfer) -> list[Write]:
        """Delete a pending transfer while it is the tree's."""
        only, *others = keys.transfer_keys(transfer)
        return [
            self._write(
                TRANSFER,
                "Delete",
                Key=key_of(only),
                ConditionExpression="#id = :id",
                ExpressionAttributeNames={"#id": "id"},
                ExpressionAttributeValues={":id": text(transfer.transfer_id)},
            ),
            *(self.delete(f"{TRANSFER}{at}", key) for at, key in enumerate(others)),
        ]

    def check_no_transfer_to(self, group_id: str, user_id: str) -> Write:
        """Hold that the tree's ownership is not offered to the user."""
        return self._write(
            TRANSFER,
            "ConditionCheck",
            Key=key_of(keys.transfer_of_group(group_id)),
            ConditionExpression="attribute_not_exists(PK) OR #to <> :user",
            ExpressionAttributeNames={"#to": "to"},
            ExpressionAttributeValues={":user": text(user_id)},
        )

    def accept_transfer(self, transfer: Transfer, *, nonce: str, at: str) -> list[Write]:
        """Make the recipient the owner and the sender a manager, at once; HEADs are rewritten afterwards.

        While the transfer is pending the sender is the owner and both are members. Nothing was being
        rewritten when the caller read GROUP, after the transfer, and only this acceptance can begin that. So
        no more than the transfer need be held. at: the time now.
        """
        group_id = transfer.group_id
        n = Names()
        group = self._write(
            GROUP,
            "Update",
            Key=key_of(keys.group(group_id)),
            UpdateExpression=f"SET {n.name('owner')} = {n.value('to', text(transfer.to_user_id))}"
            f", {n.name('rewriting')} = {n.value('from', text(transfer.from_user_id))}"
            f", {n.name('nonce')} = {n.value('nonce', text(nonce))}"
            f" ADD {n.name('membersVersion')} {n.value('one', number(1))}",
            ConditionExpression=f"{n.name('state')} = {n.value('live', text(State.LIVE))}",
            **n.parts(),
        )
        return [
            *self.delete_transfer(transfer),
            group,
            self._change_level("sender", group_id, transfer.from_user_id, AccessLevel.MANAGER),
            self._change_level("recipient", group_id, transfer.to_user_id, AccessLevel.OWNER),
            self.put_job(JOB, TRANSFER, group_id, at=at),
        ]

    def _change_level(self, name: str, group_id: str, user_id: str, level: AccessLevel) -> Write:
        return self._write(
            name,
            "Update",
            Key=key_of(keys.member(group_id, user_id)),
            UpdateExpression="SET #level = :level",
            ExpressionAttributeNames={"#level": "level"},
            ExpressionAttributeValues={":level": text(level)},
        )

    def rewrite_owner(self, group: Group, conversation_ids: Sequence[str]) -> list[Write]:
        """Give HEADs the tree's owner, where they name the one before, and only in this very rewriting.

        A finisher that was held up would else write into a later transfer between the same two.
        """
        return [
            self._while_rewriting("ConditionCheck", group),
            *(
                self._write(
                    head_name(conversation_id),
                    "Update",
                    Key=key_of(keys.head(group.group_id, conversation_id)),
                    UpdateExpression="SET #owner = :owner",
                    ConditionExpression="#owner = :was",
                    ExpressionAttributeNames={"#owner": "owner"},
                    ExpressionAttributeValues={
                        ":owner": text(group.owner),
                        ":was": text(group.rewriting or ""),
                    },
                )
                for conversation_id in conversation_ids
            ),
        ]

    def end_rewriting(self, group: Group) -> list[Write]:
        """Note that no HEAD names the owner before any more."""
        ended = self._while_rewriting("Update", group, UpdateExpression="REMOVE rewriting")
        return [ended, self.delete(JOB, keys.job(TRANSFER, group.group_id))]

    def _while_rewriting(self, verb: str, group: Group, **request: Any) -> Write:
        """Write to GROUP in this very rewriting: its mark is that of the acceptance that has begun it."""
        n = Names()
        condition = _made(n, group)
        key = key_of(keys.group(group.group_id))
        return self._write(GROUP, verb, Key=key, ConditionExpression=condition, **request, **n.parts())

    def forget_rewriting(self, group_id: str) -> list[Write]:
        """Delete the job of a tree whose HEADs all name its owner, or that is gone."""
        group = self._write(
            GROUP,
            "ConditionCheck",
            Key=key_of(keys.group(group_id)),
            ConditionExpression="attribute_not_exists(#rewriting) OR #state <> :live",
            ExpressionAttributeNames={"#rewriting": "rewriting", "#state": "state"},
            ExpressionAttributeValues={":live": text(State.LIVE)},
        )
        return [group, self.delete(JOB, keys.job(TRANSFER, group_id))]

    def put(self, name: str, item: Item) -> Write:
        """Put an item, whether it is there or not."""
        return self._write(name, "Put", Item=item)

    def delete(self, name: str, key: Key) -> Write:
        """Delete an item, whether it is there or not."""
        return self._write(name, "Delete", Key=key_of(key))

    def set_title(self, group_id: str, conversation_id: str, title: str) -> Write:
        """Give an untitled conversation its title; HEAD's `untitled` guards it."""
        return self.change_conversation(group_id, conversation_id, {"title": text(title)})

    def change_conversation(
        self, group_id: str, conversation_id: str, changes: Mapping[str, dict[str, Any] | None]
    ) -> Write:
        """Replace attributes of CONV, which is there as long as its HEAD; None removes one."""
        n = Names()
        sets = [f"{n.name(a)} = {n.value(a, v)}" for a, v in changes.items() if v is not None]
        removes = [n.name(a) for a, v in changes.items() if v is None]
        return self._write(
            "conversation",
            "Update",
            Key=key_of(keys.conversation(group_id, conversation_id)),
            UpdateExpression=" ".join(
                [
                    *([f"SET {', '.join(sets)}"] if sets else []),
                    *([f"REMOVE {', '.join(removes)}"] if removes else []),
                ]
            ),
            **n.parts(),
        )

    def touch_head(
        self,
        group_id: str,
        conversation_id: str,
        *,
        changed_at: str,
        was: str,
        owner: str | None,
        titled: bool,
    ) -> Write:
        """Move `changedAt` on from what was read; with `owner` only while that is the owner."""
        n = Names()
        conditions = [f"{n.name('changedAt')} = {n.value('was', text(was))}"]
        if owner is not None:
            conditions.append(f"{n.name('owner')} = {n.value('owner', text(owner))}")
        return self._write(
            HEAD,
            "Update",
            Key=key_of(keys.head(group_id, conversation_id)),
            UpdateExpression=f"SET #changedAt = {n.value('now', text(changed_at))}"
            + (f" REMOVE {n.name('untitled')}" if titled else ""),
            ConditionExpression=" AND ".join(conditions),
            **n.parts(),
        )

    def count_fork(self, group_id: str, *, owner: str) -> Write:
        """Count a fork in a live tree with room for it, whose owner is the one that its HEAD copies."""
        return self._write(
            GROUP,
            "Update",
            Key=key_of(keys.group(group_id)),
            UpdateExpression="ADD #forks :one",
            ConditionExpression="#state = :live AND #owner = :owner AND #forks < :most",
            ExpressionAttributeNames={"#forks": "forks", "#state": "state", "#owner": "owner"},
            ExpressionAttributeValues={
                ":one": number(1),
                ":live": text(State.LIVE),
                ":owner": text(owner),
                ":most": number(FORKS_MAX),
            },
        )

    def count_child(self, parent: Group) -> Write:
        """Count a child in the tree that starts it: still live, and its members those that were read."""
        return self._write(
            PARENT,
            "Update",
            Key=key_of(keys.group(parent.group_id)),
            UpdateExpression="ADD #children :one",
            ConditionExpression="#state = :live AND #membersVersion = :membersVersion",
            ExpressionAttributeNames={
                "#children": "children",
                "#state": "state",
                "#membersVersion": "membersVersion",
            },
            ExpressionAttributeValues={
                ":one": number(1),
                ":live": text(State.LIVE),
                ":membersVersion": number(parent.members_version),
            },
        )

    def count_child_no_more(self, parent_group_id: str) -> Write:
        """Take a child that goes from its parent's count, if the parent is there."""
        return self._write(
            PARENT,
            "Update",
            Key=key_of(keys.group(parent_group_id)),
            UpdateExpression="ADD #children :less",
            ConditionExpression="attribute_exists(PK)",
            ExpressionAttributeNames={"#children": "children"},
            ExpressionAttributeValues={":less": number(-1)},
        )

    def put_root(self, root: Conversation, head: Head, *, nonce: str, now_s: int) -> list[Write]:
        """Put a tree of one conversation with its owner."""
        owner = Member(head.owner, AccessLevel.OWNER, root.created_at)
        return self.put_tree(root, head, [owner], nonce=nonce, now_s=now_s)

    def put_tree(
        self,
        root: Conversation,
        head: Head,
        members: Sequence[Member],
        *,
        nonce: str,
        now_s: int,
        child_key: Key | None = None,
    ) -> list[Write]:
        """Put a tree of one conversation with its members.

        kid: where a started child stands in its parent's list.
        """
        group = items.group_item(root, owner=head.owner, members=len(members), child_key=child_key)
        return [
            self.put_pointer(root, nonce=nonce, now_s=now_s),
            self.put_new(GROUP, group),
            *self._put_conversation(root, head),
            *(write for member in members for write in self.copy_member(root, member)),
        ]

    def copy_member(self, root: Conversation, member: Member) -> list[Write]:
        """Put a member into a tree that is being made."""
        copy = replace(member, created_at=root.created_at)
        mine = items.user_tree_item(
            root.group_id,
            member.user_id,
            created_at=root.created_at,
            is_child=root.started_by is not None,
        )
        return [
            self.put(f"{MEMBER} {member.user_id}", items.member_item(root.group_id, copy)),
            self.put(f"mine {member.user_id}", mine),
        ]

    def drop_member(self, root: Conversation, member: Member) -> list[Write]:
        """Take a member out of a tree that is being made."""
        is_child = root.started_by is not None
        mine = keys.user_tree(member.user_id, root.created_at, root.group_id, is_child=is_child)
        return [
            self.delete(f"{MEMBER} {member.user_id}", keys.member(root.group_id, member.user_id)),
            self.delete(f"mine {member.user_id}", mine),
        ]

    def begin_tree(
        self,
        root: Conversation,
        *,
        owner: str,
        members: int,
        child_key: Key,
        nonce: str,
        taken_from: Group | None,
        now_s: int,
    ) -> list[Write]:
        """Claim the id for a tree that nobody can see yet. taken_from: the tree as another has begun it."""
        group = items.group_item(
            root, owner=owner, members=members, child_key=child_key, state=State.CREATING, nonce=nonce
        )
        if taken_from is None:
            claim = [self.put_pointer(root, nonce=nonce, now_s=now_s), self.put_new(MAKING, group)]
        else:
            claim = [self._write(MAKING, "Put", Item=group, **self._while_making(taken_from.nonce))]
        return [*claim, self.put_job(JOB, CREATION, root.group_id, at=root.created_at)]

    def check_making(self, group_id: str, *, nonce: str) -> Write:
        """Hold that a tree is still being made, and by this request."""
        key = key_of(keys.group(group_id))
        return self._write(MAKING, "ConditionCheck", Key=key, **self._while_making(nonce))

    def open_tree(self, root: Conversation, head: Head, *, members: int, nonce: str) -> list[Write]:
        """Make a tree that was being made live, with its first conversation."""
        made = self._while_making(nonce)
        group = self._write(
            MAKING,
            "Update",
            Key=key_of(keys.group(root.group_id)),
            UpdateExpression="SET #state = :live, #owner = :owner, #members = :members",
            ConditionExpression=made["ConditionExpression"],
            ExpressionAttributeNames=made["ExpressionAttributeNames"]
            | {"#owner": "owner", "#members": "members"},
            ExpressionAttributeValues=made["ExpressionAttributeValues"]
            | {":live": text(State.LIVE), ":owner": text(head.owner), ":members": number(members)},
        )
        return [
            group,
            *self._put_conversation(root, head),
            self.delete(JOB, keys.job(CREATION, root.group_id)),
        ]

    def _while_making(self, nonce: str | None) -> dict[str, Any]:
        return {
            "ConditionExpression": "#state = :creating AND #nonce = :nonce",
            "ExpressionAttributeNames": {"#state": "state", "#nonce": "nonce"},
            "ExpressionAttributeValues": {":creating": text(State.CREATING), ":nonce": text(nonce or "")},
        }

    def put_fork(
        self, fork: Conversation, head: Head, path: ancestry.Path, *, nonce: str, now_s: int
    ) -> list[Write]:
        """Put a conversation into a live tree: its path, and nothing that the path shows."""
        return [
            self.put_pointer(fork, nonce=nonce, now_s=now_s),
            self.count_fork(fork.group_id, owner=head.owner),
            *self._put_conversation(fork, head),
            *([self.put("path", items.path_item(fork, path))] if path else []),
        ]

    def _put_conversation(self, conversation: Conversation, head: Head) -> list[Write]:
        """Put what belongs to an id that the same transaction claims, or that was claimed before."""
        return [
            self.put("conversation", items.conversation_item(conversation)),
            self.put(HEAD, items.head_item(conversation, head)),
            self.put("tree", items.tree_item(conversation)),
        ]

    # Deleting

    def mark_deleted(self, name: str, group_id: str, *, at: str, owner: str | None = None) -> Write:
        """Set the tombstone of a live tree and take it off the list of all trees.

        With `owner` only while that is the owner.
        """
        n = Names()
        conditions = [f"{n.name('state')} = {n.value('live', text(State.LIVE))}"]
        if owner is not None:
            conditions.append(f"{n.name('owner')} = {n.value('owner', text(owner))}")
        return self._tombstone(name, group_id, n, at=at, conditions=conditions)

    def bury_unborn(self, group: Group, *, at: str) -> Write:
        """Set the tombstone of a tree that has not come alive, if nobody has gone on with it since."""
        n = Names()
        n.value("neverLive", {"BOOL": True})
        conditions = [
            f"{n.name('state')} = {n.value('creating', text(State.CREATING))}",
            _made(n, group),
        ]
        return self._tombstone(GROUP, group.group_id, n, at=at, conditions=conditions)

    def _tombstone(self, name: str, group_id: str, n: Names, *, at: str, conditions: Sequence[str]) -> Write:
        sets = [
            f"{n.name('state')} = {n.value('dying', text(State.DELETING))}",
            f"{n.name('deletedAt')} = {n.value('at', text(at))}",
            *([f"{n.name('neverLive')} = :neverLive"] if ":neverLive" in n.values else []),
        ]
        return self._write(
            name,
            "Update",
            Key=key_of(keys.group(group_id)),
            UpdateExpression=f"SET {', '.join(sets)} REMOVE {n.name('G1')}, {n.name('G1S')}",
            ConditionExpression=" AND ".join(conditions),
            **n.parts(),
        )

    def put_job(self, name: str, kind: str, group_id: str, *, at: str) -> Write:
        """Note work in progress on a tree since `at`, whether it is noted already or not."""
        return self._write(name, "Put", Item=items.job_item(kind, group_id, created_at=at))

    def lease_job(self, key: Key, *, was: str, until: str) -> Write:
        """Take work in progress from who held it until `was`, if it is there and theirs still."""
        return self._write(
            JOB,
            "Update",
            Key=key_of(key),
            UpdateExpression="SET #leasedUntil = :until",
            ConditionExpression="#leasedUntil = :was",
            ExpressionAttributeNames={"#leasedUntil": "leasedUntil"},
            ExpressionAttributeValues={":until": text(until), ":was": text(was)},
        )

    def put_retired(self, name: str, conversation_id: str, *, now_s: int) -> Write:
        """Replace a pointer to a dead tree by what keeps its id from being used again for 30 days."""
        return self.put(name, items.retired_item(conversation_id, ttl_s=now_s + RETIRED_SECONDS))

    def check_deleting(self, group: Group) -> Write:
        """Hold what is deleted to the tree that was read: still this one, still dead."""
        return self._of_dying("ConditionCheck", group)

    def delete_group(self, group: Group) -> Write:
        """Delete a tree's own item: still this one, still dead."""
        return self._of_dying("Delete", group)

    def _of_dying(self, verb: str, group: Group) -> Write:
        n = Names()
        condition = f"{n.name('state')} = {n.value('dying', text(State.DELETING))} AND {_made(n, group)}"
        key = key_of(keys.group(group.group_id))
        return self._write(GROUP, verb, Key=key, ConditionExpression=condition, **n.parts())

    def check_no_group(self, group_id: str, *, but: State | None = None) -> Write:
        """Hold that there is no such tree; with `but`, none in that state."""
        n = Names()
        conditions = ["attribute_not_exists(PK)"]
        if but is not None:
            conditions.append(f"{n.name('state')} <> {n.value('but', text(but))}")
        return self._write(
            GROUP,
            "ConditionCheck",
            Key=key_of(keys.group(group_id)),
            ConditionExpression=" OR ".join(conditions),
            **n.parts(),
        )

    def _write(self, name: str, verb: str, **request: Any) -> Write:
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return Write(name, {verb: {"TableName": self._table, **request}})


@dataclass(frozen=True, slots=True)
class HeadMove:
    """What an append does to HEAD.

    after: the last entry before the new ones. first: the first new one. tip: where the next one goes.
    history, context: how many of each. owner: the caller, when allowed as owner. titles: whether the title is
    set with it.
    """

    group_id: str
    conversation_id: str
    after: EntryId
    first: EntryId
    tip: Tip
    history: int
    context: int
    added: Metrics
    preview: str | None = None
    owner: str | None = None
    titles: bool = False


@dataclass(frozen=True, slots=True)
class ContextMove:
    """What an append of context entries does to its client's CTX.

    epoch: the highest of the new entries; first: the first of them in that epoch; count: how many are in it.
    lowest: the first epoch of the new entries. last: the last new id. starts_epoch: whether `epoch` is higher
    than the one known. is_sync: the write was decided on the context up to `decided_on`, the last id in the
    CTX that was read; None: there was no CTX.
    """

    group_id: str
    conversation_id: str
    client_id: str
    epoch: int
    lowest: int
    first: EntryId
    last: EntryId
    count: int
    starts_epoch: bool
    decided_on: EntryId | None = None
    is_sync: bool = False


def _made(n: Names, group: Group) -> str:
    """Return the condition that a tree has the mark that was read.

    That is the mark of the request that makes the tree, or else of the last acceptance of its ownership.
    """
    named = n.name("nonce")
    if group.nonce is None:
        return f"attribute_not_exists({named})"
    return f"{named} = {n.value('made', text(group.nonce))}"


def head_name(conversation_id: str) -> str:
    """Return what a refusal calls the HEAD of one of several conversations."""
    return f"{HEAD} {conversation_id}"


def entry_name(at: int) -> str:
    """Return what a refusal calls the entry at place `at` of a request."""
    return f"{ENTRY}{at}"


def is_entry(name: str) -> bool:
    return name.startswith(ENTRY)
