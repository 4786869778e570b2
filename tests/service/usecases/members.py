"""Short functions to share trees and transfer them, and the rules for members at every instant."""

from collections.abc import Callable
from typing import Any

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import Ancestry, Archived, Mode
from forklore_service.domain.model import Caller, Transfer
from forklore_service.domain.tree import State
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.people import archiving, sharing, transfers
from forklore_service.usecases.people.sharing import Membership
from forklore_service.usecases.people.spreading import Spread
from forklore_service.usecases.people.transfers import Role
from forklore_service.usecases.reading import conversation_lists
from forklore_service.usecases.reading.conversation_lists import ListRequest
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from tests.service.usecases.builders import ANN, ROOT
from tests.support.tables import Store
from tools.harness.wire import Request, Wire

OWNER, MANAGER, WRITER, READER = AccessLevel


class Killed(BaseException):
    """The process is killed."""


def share(
    table: Table,
    user_id: str,
    level: AccessLevel = WRITER,
    *,
    by: Caller = ANN,
    of: str = ROOT,
    idempotency_key: IdempotencyKey | None = None,
) -> Membership:
    return include(table, user_id, level, by=by, of=of, children=False, idempotency_key=idempotency_key)[0]


def include(
    table: Table,
    user_id: str,
    level: AccessLevel = WRITER,
    *,
    by: Caller = ANN,
    of: str = ROOT,
    children: bool = True,
    idempotency_key: IdempotencyKey | None = None,
) -> tuple[Membership, Spread]:
    """Share a tree with a user, and what was started from it."""
    return sharing.share_conversation(
        table,
        caller=by,
        conversation_id=of,
        user_id=user_id,
        level=level,
        includes_children=children,
        idempotency_key=idempotency_key,
    )


def update(table: Table, user_id: str, level: AccessLevel, *, by: Caller = ANN, of: str = ROOT) -> Membership:
    return lower(table, user_id, level, by=by, of=of)[0]


def lower(
    table: Table, user_id: str, level: AccessLevel, *, by: Caller = ANN, of: str = ROOT, keep: bool = False
) -> tuple[Membership, Spread]:
    return sharing.update_membership(
        table, caller=by, conversation_id=of, user_id=user_id, level=level, keep_children=keep
    )


def remove(table: Table, user_id: str, *, by: Caller = ANN, of: str = ROOT, keep: bool = False) -> Spread:
    return sharing.remove_membership(
        table, caller=by, conversation_id=of, user_id=user_id, keep_children=keep
    )


def members(table: Table, of: str = ROOT, *, by: Caller = ANN, limit: int = 200) -> dict[str, str]:
    """Return every member's level, the oldest member first, read page by page."""
    found: list[Membership] = []
    place: tuple[str, str] | None = None
    while True:
        page = sharing.list_memberships(
            table,
            caller=by,
            conversation_id=of,
            after=place,
            limit=limit,
        )
        assert len(page.rows) <= limit
        found += page.rows
        place = page.resume
        if place is None:
            assert all(one.conversation_id == of for one in found)
            assert len({one.member.user_id for one in found}) == len(found)
            return {one.member.user_id: str(one.member.level) for one in found}


def offer(
    table: Table,
    to: str = "bob",
    *,
    by: Caller = ANN,
    of: str = ROOT,
    idempotency_key: IdempotencyKey | None = None,
) -> Transfer:
    return transfers.request_transfer(
        table, caller=by, conversation_id=of, new_owner=to, idempotency_key=idempotency_key
    )


def accept(
    table: Table,
    transfer: Transfer,
    *,
    by: Caller | None = None,
    idempotency_key: IdempotencyKey | None = None,
) -> str | None:
    caller = by or Caller(transfer.to_user_id)
    return transfers.accept_transfer(
        table, caller=caller, transfer_id=transfer.transfer_id, idempotency_key=idempotency_key
    )


def end(table: Table, transfer: Transfer, *, by: Caller = ANN) -> None:
    """Cancel or decline."""
    transfers.delete_transfer(table, caller=by, transfer_id=transfer.transfer_id)


def pending(table: Table, *, by: Caller = ANN, role: Role = Role.ALL, limit: int = 50) -> list[Transfer]:
    """Return the caller's transfers, read page by page."""
    found: list[Transfer] = []
    place: ListKey | None = None
    while True:
        page = transfers.list_transfers(table, caller=by, role=role, after=place, limit=limit)
        assert len(page.rows) <= limit
        found += page.rows
        place = page.resume
        if place is None:
            return found


def archive(table: Table, of: str = ROOT, *, by: Caller = ANN) -> None:
    archiving.archive_conversation(table, caller=by, conversation_id=of, is_archived=True)


def unarchive(table: Table, of: str = ROOT, *, by: Caller = ANN) -> None:
    archiving.archive_conversation(table, caller=by, conversation_id=of, is_archived=False)


def listed(
    table: Table,
    by: Caller,
    *,
    ancestry: Ancestry = Ancestry.ALL,
    mode: Mode = Mode.ALL,
    archived: Archived = Archived.EXCLUDE,
) -> set[str]:
    """Return the ids in the caller's list."""
    request = ListRequest(mode=mode, ancestry=ancestry, archived=archived, limit=200)
    page = conversation_lists.list_conversations(table, caller=by, request=request)
    assert page.resume is None
    return {shown.conversation.conversation_id for shown in page.rows}


def meanwhile(table: Table, nth: int, act: Callable[[], object]) -> list[int]:
    """Run `act` right before the nth request from now. The returned list is filled when it runs."""
    ran: list[int] = []
    wire = Wire.of(table)

    def run(request: Request) -> None:
        if request.number == nth:
            ran.append(nth)
            act()

    wire.before(run)
    return ran


def dies(table: Table, nth: int, *, before: bool) -> Wire:
    """Kill the process at its nth request from now, before it is sent or after it is done."""
    wire = Wire.of(table)

    def kill(request: Request, _answer: Any = None) -> None:
        if request.number == nth:
            raise Killed

    if before:
        wire.before(kill)
    else:
        wire.after(kill)
    return wire


def assert_whole(store: Store) -> None:
    """Assert the rules of every instant: a live tree has one owner; members and lists agree."""
    contents = store.contents()
    for key, item in contents.items():
        if key.sort != "GROUP" or items.group(item).state is not State.LIVE:
            continue
        group = items.group(item)
        own = {
            k: items.member(i) for k, i in contents.items() if k[0] == key.partition and k[1][:4] == "MEM#"
        }
        levels = {member.user_id: member.level for member in own.values()}
        archived = {member.user_id for member in own.values() if member.is_archived}
        assert [user for user, level in levels.items() if level is OWNER] == [group.owner]
        assert len(levels) == group.members
        mine = {
            keys.user_tree(user, group.created_at, group.group_id, is_child=group.is_child): (
                level,
                user in archived,
            )
            for user, level in levels.items()
        }
        shown = {
            k: (items.tree_row(i).level, items.tree_row(i).is_archived)
            for k, i in contents.items()
            if k[0][:5] == "USER#" and k[1].endswith(f"#{group.group_id}")
        }
        assert mine == shown
        heads = {
            items.head(i).owner for k, i in contents.items() if k[0] == key.partition and k[1][:5] == "HEAD#"
        }
        assert heads <= {group.owner, group.rewriting}
        assert (keys.job("transfer", group.group_id) in contents) >= (group.rewriting is not None)
        assert (keys.job("members", group.group_id) in contents) is (group.spreading is not None)


def assert_settled(store: Store) -> None:
    """Assert the rules of a table without unfinished work."""
    assert_whole(store)
    for key, item in store.contents().items():
        assert key.partition != "JOB", key
        if key.sort == "GROUP":
            assert items.group(item).rewriting is None
            assert items.group(item).spreading is None


def owner_of_heads(store: Store) -> set[str]:
    """Return the owners that the HEADs of all trees name."""
    return {items.head(i).owner for k, i in store.contents().items() if k.sort.startswith("HEAD#")}
