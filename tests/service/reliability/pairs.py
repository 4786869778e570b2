"""Pairs of simultaneous requests, for the checks `orders-of-two` and `needed-conditions`."""

from dataclasses import replace
from typing import Any

from forklore_service.domain.model import Caller
from tests.service.reliability.races import Actor, Pair
from tests.service.reliability.world import (
    ABANDONED_SECONDS,
    ANN,
    ANNS_ANSWER,
    ANSWER,
    BOB,
    CHILD,
    CODER,
    CROWD,
    CUT,
    CUT_FORK,
    CUT_TWIG,
    EVE,
    FORK,
    GIVEN,
    GIVEN_FORK,
    HALF,
    LONG,
    MIA,
    NEW,
    OPERATIONS,
    OTHER,
    PASSED,
    PLANNER,
    RITA,
    ROOT,
    ROOT_CALLER,
    TAKES,
    UNTITLED,
    WORDS,
    Operation,
    ahead,
    answer,
    answering,
    append,
    archived,
    attached,
    attached_removed,
    attached_twice,
    by_name,
    change,
    child_trashed,
    crowded,
    dead_family,
    delete,
    delete_unused,
    drop,
    embedded_erasing,
    family,
    finish,
    fork_trashed,
    full,
    given_up,
    half_copied,
    half_restored,
    half_root_restored,
    half_root_trashed,
    half_trashed,
    hushed,
    into_trash,
    leaving_answering,
    left,
    lengthy,
    linked,
    noted,
    offered,
    offered_answering,
    part,
    passed,
    peaceful,
    pinned,
    point,
    post,
    read,
    recall,
    removed,
    removed_both,
    removed_first,
    root_trashed,
    run_deletion,
    run_erasures,
    run_prune,
    said,
    sampled,
    score,
    showing,
    stop,
    thought,
    trashed,
    turn,
    untitled,
    unused,
    with_index,
    work,
)
from tools.catalogue import CARDS
from tools.harness.service import OPERATIONS as CALLED


def pair(one: Operation | str | Actor, other: Operation | str | Actor, **options: Any) -> Pair:
    """Return a pair. Each side is an operation, the name of one, or a sequence of operations."""
    return Pair(_actor(one), _actor(other), **options)


def _look(conversation_id: str, *, by: Caller = ANN, of: Any = family) -> Operation:
    return read("getConversation", by, of=of, conversationId=conversation_id)


def _fork_of(conversation_id: str, *, of: Any = family, by: Caller = ANN) -> Operation:
    return post("forkConversation", by, of=of, conversationId=conversation_id, id=NEW)


def _work_off(group_id: str, *, of: Any = family, in_seconds: int = 0) -> Operation:
    return work(run_deletion(group_id), of=of, in_seconds=in_seconds)


def _offer(caller: Caller, to: str, *, of: Any, what: str = ROOT) -> Operation:
    return post("requestTransfer", caller, of=of, conversationId=what, newOwnerUserId=to)


def _accept(caller: Caller, *, of: Any) -> Operation:
    """Accept the offer that the previous request made."""
    return post("acceptTransfer", caller, of=of, transferId="<last>")


def _entries(conversation_id: str) -> Operation:
    return read("listEntries", ANN, conversationId=conversation_id)


def _fork_of_fork_that_takes(**move: Any) -> Operation:
    return post("forkConversation", BOB, conversationId=FORK, id=OTHER, name=TAKES | move)


def _actor(one: Operation | str | Actor) -> Actor:
    match one:
        case tuple():
            return one
        case str():
            return (OPERATIONS[one],)
        case _:
            return (one,)


def by_key(one: Operation | str, **options: Any) -> Pair:
    """Return a pair of the same request: a caller repeats it without waiting for the answer."""
    return pair(one, one, key="one key", **options)


_DELETE = OPERATIONS["delete"]
_REVOKE = OPERATIONS["remove a member, but not of children"]
_DOWNGRADE = change(
    "updateMembership", MIA, conversationId=ROOT, userId="bob", accessLevel="reader", children="keep"
)
_ACCEPT, _CANCEL, _DECLINE = OPERATIONS["accept"], OPERATIONS["cancel"], OPERATIONS["decline"]
_DOWNGRADE_MIA = change(
    "updateMembership", ANN, conversationId=ROOT, userId="mia", accessLevel="reader", children="keep"
)
_MEMBERS = read("listMemberships", ANN, conversationId=ROOT)
_NO_MANAGER = (
    change("removeMembership", ANN, of=linked, conversationId=GIVEN, userId="mia"),
    read("listLinks", ANN, of=linked, conversationId=GIVEN),
)


def _without_notes_of(user: str) -> tuple[Operation, ...]:
    """Return the removal of a member of a tree with notes, and a look at the notes."""
    removed = change("removeMembership", ANN, of=noted, conversationId=ROOT, userId=user, children="keep")
    return removed, read("listNotes", ANN, of=noted, conversationId=FORK)


_DELETE_GIVEN = delete("deleteConversation", ANN, of=offered, conversationId=GIVEN)
_CHILD, _CROWD_CHILD = (
    OPERATIONS["append and start a child"],
    OPERATIONS["append and start a child with many members"],
)
_FORK = OPERATIONS["fork before an entry"]
_OWN_CHILD = append(ANN, to=NEW, startedByConversationId=ROOT)
_DELETE_CROWD = delete("deleteConversation", ANN, of=crowded, conversationId=CROWD)
_ADD = OPERATIONS["share"]
_REMOVE_FORK = delete("deleteConversation", ANN, conversationId=FORK, scope="branch")

_DELETE_UNTITLED = delete("deleteConversation", ANN, of=untitled, conversationId=UNTITLED)
_DELETE_AS_ADMIN = delete("adminDeleteConversation", ROOT_CALLER, of=untitled, conversationId=UNTITLED)
_TAKE_OVER = (
    _ACCEPT,
    delete("removeMembership", BOB, of=offered, conversationId=GIVEN, userId="ann"),
    _look(GIVEN, by=BOB, of=offered),
)
_CLEAR_UP = _work_off(HALF, of=given_up, in_seconds=ABANDONED_SECONDS)
BOTH_GONE = ((204, 204),)
"""Both delete the same thing. The second one finds it done, as if its first answer was lost."""
BOTH_REMOVED = ((200, 200),)
"""The same of a member: the second one goes on with what the first one has left in children."""
GOES_ON = ((202, 204), (204, 202))
"""A request that finds another one closing the tree leaves the rest to the worker."""


def _remove(conversation_id: str, *, by: Caller = ANN, of: Any = family) -> Operation:
    return delete("deleteConversation", by, of=of, conversationId=conversation_id, scope="branch")


def _prune(group_id: str, conversation_id: str, *, of: Any) -> Operation:
    return work(run_prune(group_id, conversation_id), of=of)


_CUT_OFF = _remove(FORK)
_SHOWING = _fork_of(FORK)
_LAST = _remove(UNTITLED, of=untitled)


_PART, _STOP, _DROP = part("c"), stop(), drop()
_FINISH, _FINISH_CACHED = OPERATIONS["finish an answer"], OPERATIONS["finish an answer, cached"]
_FINISH_ELSEWHERE = OPERATIONS["finish an answer in another conversation"]
_FINISH_IN_A_FORK = OPERATIONS["finish an answer and fork"]
_READ_ANSWER = read("getAnswer", RITA, of=answering, conversationId=FORK, answerId=ANSWER)
_TAKE_OVER_ANSWER = OPERATIONS["begin an answer over a silent one"]
_DELETE_ANSWERED, _REVOKE_ANSWERING, _DOWNGRADE_ANSWERING, _CUT_OFF_ANSWER = (
    replace(one, of=answering) for one in (_DELETE, _REVOKE, _DOWNGRADE, _CUT_OFF)
)
_LOOK_AT_ANSWER = _look(FORK, of=answering)


def _given(one: Operation) -> Operation:
    return replace(one, of=offered_answering)


def _and_worked(also: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the same statuses, followed by one of the worker, which the other caller runs next."""
    return tuple((*statuses, 200) for statuses in also)


PAIRS: dict[str, Pair] = {
    "append, append": pair(OPERATIONS["append, cached"], append(BOB, entry=said("other"), knows=(ROOT, BOB))),
    "append, append by a slow clock": pair(
        replace(OPERATIONS["append, cached"], in_seconds=60), append(BOB, knows=(ROOT, BOB))
    ),
    "append, append of one id in two forks": pair(
        append(ANN, to=ROOT, of=ahead, knows=(ROOT, ANN), step=8),
        append(ANN, to=FORK, of=ahead, knows=(FORK, ANN), step=7),
    ),
    "append, append as the first text": pair(
        append(ANN, to=UNTITLED, of=untitled), append(BOB, to=UNTITLED, of=untitled, entry=said("other"))
    ),
    "append, append to a new conversation": pair(
        append(ANN, to=NEW), append(ANN, to=NEW, entry=said("other"))
    ),
    "append, append of two who do not share": pair(append(ANN, to=NEW), append(EVE, to=NEW)),
    "append, append with If-Match": pair(
        append(ANN, if_match="<third>", knows=(ROOT, ANN)),
        # Bob's clock is later than Ann's. Ids of the same millisecond can have any order; if the
        # second one were lower, it would be refused even without If-Match.
        replace(append(BOB, if_match="<third>", knows=(ROOT, BOB)), in_seconds=60),
    ),
    "append, append with one key": by_key(append(BOB, knows=(ROOT, BOB))),
    "append, sync by a slow clock": pair(
        replace(OPERATIONS["append, cached"], in_seconds=60), OPERATIONS["sync more"]
    ),
    "append, delete": pair(append(BOB, knows=(ROOT, BOB)), _DELETE),
    "append for the first time, delete": pair(append(BOB, to=FORK), _DELETE),
    "create, create": pair(post("createConversation", ANN, id=NEW), post("createConversation", BOB, id=NEW)),
    "create, create with one key": by_key(post("createConversation", ANN, title="t")),
    "create, fork under one id": pair(post("createConversation", EVE, id=NEW), _FORK),
    "create, append": pair(post("createConversation", ANN, id=NEW), append(ANN, to=NEW)),
    "fork, fork under one id": pair(_FORK, OPERATIONS["fork at the head"]),
    "fork, fork": pair(_FORK, post("forkConversation", ANN, conversationId=FORK, id=OTHER)),
    "fork, append": pair(OPERATIONS["fork at the head"], append(BOB, knows=(ROOT, BOB))),
    "fork, delete": pair(_FORK, _DELETE),
    "fork by an append, delete": pair(OPERATIONS["append and fork"], _DELETE),
    "fork, accept": pair(post("forkConversation", ANN, of=offered, conversationId=GIVEN, id=NEW), _ACCEPT),
    "fork, revoke": pair(_FORK, _REVOKE),
    "fork, downgrade": pair(_FORK, _DOWNGRADE),
    "child, parent's delete": pair(_CHILD, _DELETE),
    "child, parent's delete and a look": pair(_CHILD, (_DELETE, _look(NEW))),
    "child of the owner, revoke and a look": pair(_OWN_CHILD, (_REVOKE, _look(NEW))),
    "child, share": pair(_CHILD, _ADD),
    "child, revoke": pair(_CHILD, _REVOKE),
    "child, child": pair(_CHILD, OPERATIONS["append and start a child"]),
    "child, append to the new one": pair(_CHILD, append(EVE, to=NEW)),
    "child with many members, delete": pair(_CROWD_CHILD, _DELETE_CROWD),
    "child with many members, share": pair(
        _CROWD_CHILD,
        post("shareConversation", ANN, of=crowded, conversationId=CROWD, userId="eve", accessLevel="writer"),
    ),
    "grandchild, delete": pair(
        post("appendEntry", BOB, conversationId=NEW, **said("new"), startedByConversationId=CHILD), _DELETE
    ),
    "merge, append": pair(OPERATIONS["merge"], append(ANN, knows=(ROOT, ANN))),
    "merge, append to the other branch": pair(
        OPERATIONS["merge"], replace(append(ANN, to=FORK), in_seconds=60)
    ),
    "merge, append to the other branch and a look": pair(
        OPERATIONS["merge"], (replace(append(ANN, to=FORK), in_seconds=60), _entries(ROOT))
    ),
    "merge, merge": pair(OPERATIONS["merge"], OPERATIONS["merge"]),
    "merge, merge with one key": by_key("merge"),
    "merge with the memory, sync there": pair(
        OPERATIONS["merge with the memory"], replace(OPERATIONS["sync something else"], in_seconds=60)
    ),
    "merge, merge the other way": pair(
        OPERATIONS["merge"],
        replace(post("mergeConversation", ANN, conversationId=FORK, fromConversationId=ROOT), in_seconds=60),
    ),
    "merge, delete": pair(OPERATIONS["merge"], _DELETE),
    "merge, revoke": pair(OPERATIONS["merge"], _REVOKE),
    "summary, delete": pair(OPERATIONS["append a summary"], _DELETE),
    "fork with a summary, delete": pair(OPERATIONS["append a summary and fork"], _DELETE),
    "merge, remove the branch and a look": pair(
        OPERATIONS["merge"], (_REMOVE_FORK, read("listEntries", ANN, conversationId=ROOT))
    ),
    "summary, remove the branch and a look": pair(
        OPERATIONS["append a summary"], (_REMOVE_FORK, read("listEntries", ANN, conversationId=ROOT))
    ),
    "fork with a summary, remove the branch and a look": pair(
        OPERATIONS["append a summary and fork"], (_REMOVE_FORK, _look(NEW))
    ),
    "copy, append": pair(OPERATIONS["copy"], replace(append(BOB, to=FORK), in_seconds=60)),
    "copy, copy with one key": by_key("copy"),
    "copy, copy under one id": pair(
        OPERATIONS["copy"], post("copyConversation", ANN, conversationId=ROOT, id=NEW)
    ),
    "copy, delete": pair(OPERATIONS["copy"], _DELETE),
    "copy, delete and a look": pair(OPERATIONS["copy"], (_DELETE, _look(NEW, by=RITA))),
    "copy, revoke the reader and a look": pair(
        OPERATIONS["copy"],
        (
            delete("removeMembership", ANN, conversationId=ROOT, userId="rita", children="keep"),
            _look(NEW, by=RITA),
        ),
    ),
    "copy many entries, delete": pair(
        "copy many entries",
        delete("deleteConversation", ANN, of=lengthy, conversationId=LONG),
        is_endless=True,
    ),
    "continue a copy, continue it": pair(
        "continue an unfinished copy", "continue an unfinished copy", is_endless=True
    ),
    "give a copy up, continue it": pair(
        "the sweep gives up a copy", "continue an unfinished copy", is_endless=True
    ),
    "copy a tree, append": pair(
        OPERATIONS["copy a tree"], replace(append(BOB, to=FORK), in_seconds=60), is_endless=True
    ),
    # In these worlds the sweep gives up what a refused request has begun.
    "copy a tree, remove the branch": pair(
        replace(OPERATIONS["copy a tree"], of=half_copied),
        replace(_REMOVE_FORK, of=half_copied),
        is_endless=True,
    ),
    "copy a tree, delete and a look": pair(
        replace(OPERATIONS["copy a tree"], of=half_copied),
        (replace(_DELETE, of=half_copied), replace(_look(NEW, by=RITA), of=half_copied)),
        is_endless=True,
    ),
    "copy a tree, revoke the reader and a look": pair(
        replace(OPERATIONS["copy a tree"], of=half_copied),
        (
            delete(
                "removeMembership",
                ANN,
                of=half_copied,
                conversationId=ROOT,
                userId="rita",
                children="keep",
            ),
            replace(_look(NEW, by=RITA), of=half_copied),
        ),
        is_endless=True,
    ),
    "copy a tree, copy a conversation under one id": pair(
        OPERATIONS["copy a tree"],
        post("copyConversation", ANN, conversationId=ROOT, id=NEW),
        is_endless=True,
    ),
    "continue a copy of a tree, continue it": pair(
        "continue an unfinished copy of a tree", "continue an unfinished copy of a tree", is_endless=True
    ),
    "give a copy of a tree up, continue it": pair(
        "the sweep and the worker give up a copy of a tree",
        "continue an unfinished copy of a tree",
        is_endless=True,
    ),
    "revoke, append": pair(_REVOKE, append(BOB, knows=(ROOT, BOB))),
    "revoke, append and a look": pair(
        (_REVOKE, read("listEntries", ANN, conversationId=ROOT)), append(BOB, knows=(ROOT, BOB))
    ),
    "downgrade, append": pair(_DOWNGRADE, append(BOB, knows=(ROOT, BOB))),
    "revoke a manager, share by them": pair(
        delete("removeMembership", ANN, conversationId=ROOT, userId="mia", children="keep"),
        OPERATIONS["share as a manager"],
    ),
    "revoke a manager and a look, share by them": pair(
        (
            delete("removeMembership", ANN, conversationId=ROOT, userId="mia", children="keep"),
            read("listMemberships", ANN, conversationId=ROOT),
        ),
        OPERATIONS["share as a manager"],
    ),
    "downgrade a manager and a look, downgrade by them": pair((_DOWNGRADE_MIA, _MEMBERS), _DOWNGRADE),
    "downgrade a manager and a look, remove by them": pair(
        (_DOWNGRADE_MIA, _MEMBERS), OPERATIONS["remove a member as a manager"]
    ),
    "revoke and a look, child of the owner": pair(
        (
            delete("removeMembership", ANN, of=offered, conversationId=GIVEN, userId="mia"),
            _look(NEW, by=MIA, of=offered),
        ),
        append(ANN, to=NEW, of=offered, startedByConversationId=GIVEN),
    ),
    "revoke with the children, append to a child": pair(
        "remove a member", append(BOB, to=CHILD), is_endless=True
    ),
    "revoke with the children, start one of a child": pair(
        (OPERATIONS["remove a member"], _look(NEW, by=BOB)),
        append(ANN, to=NEW, startedByConversationId=CHILD),
        is_endless=True,
    ),
    "revoke and a look, fork": pair((_REVOKE, _look(NEW)), _FORK),
    "revoke and a look, fork by an append": pair((_REVOKE, _look(NEW)), OPERATIONS["append and fork"]),
    "revoke and a look, change": pair((_REVOKE, _look(ROOT)), OPERATIONS["change"]),
    "revoke and a look, sync": pair(
        (_REVOKE, read("listEntries", PLANNER, conversationId=ROOT, channel="context")),
        OPERATIONS["sync by a writer"],
    ),
    "revoke, change": pair(_REVOKE, OPERATIONS["change"]),
    "revoke, downgrade": pair(_REVOKE, _DOWNGRADE),
    "revoke, leave": pair(_REVOKE, OPERATIONS["remove oneself"], also=BOTH_REMOVED),
    "append ten minutes later, revoke": pair(OPERATIONS["append, ten minutes later"], _REVOKE),
    "archive, revoke": pair(OPERATIONS["archive"], _REVOKE),
    "archive, downgrade": pair(OPERATIONS["archive"], _DOWNGRADE),
    "archive, archive": pair(OPERATIONS["archive"], OPERATIONS["archive"]),
    "unarchive, archive": pair(
        OPERATIONS["unarchive"], change("archiveConversation", BOB, of=archived, conversationId=FORK)
    ),
    "archive, delete": pair(OPERATIONS["archive"], _DELETE),
    "list, archive": pair(read("listConversations", BOB), OPERATIONS["archive"]),
    "pin, pin": pair(OPERATIONS["pin"], change("pinConversation", BOB, conversationId=CHILD)),
    "pin after another, unpin that": pair(OPERATIONS["pin after another"], OPERATIONS["unpin"]),
    "unpin, pin": pair(OPERATIONS["unpin"], change("pinConversation", BOB, of=pinned, conversationId=GIVEN)),
    "pin, revoke": pair(OPERATIONS["pin"], _REVOKE),
    "pin, delete": pair(OPERATIONS["pin"], _DELETE),
    "list, pin": pair(read("listConversations", BOB, pinned=True), OPERATIONS["pin"]),
    "share, share": pair(_ADD, OPERATIONS["share as a manager"]),
    "share, delete": pair(_ADD, _DELETE),
    "change a level, change a level": pair(OPERATIONS["change a level"], _DOWNGRADE),
    "change, change": pair(
        OPERATIONS["change"], change("updateConversation", ANN, conversationId=ROOT, title="other")
    ),
    "change, append": pair(
        change("updateConversation", ANN, of=untitled, conversationId=UNTITLED, title=None),
        append(BOB, to=UNTITLED, of=untitled),
    ),
    "change, delete": pair(OPERATIONS["change"], _DELETE),
    "change with If-Match, append and a look": pair(
        OPERATIONS["change with If-Match"],
        (replace(append(BOB), in_seconds=60), replace(_look(ROOT, by=BOB), in_seconds=60)),
    ),
    "show, change": pair(_look(ROOT), OPERATIONS["change"]),
    "show, first text": pair(_look(UNTITLED, of=untitled), append(BOB, to=UNTITLED, of=untitled)),
    "show, accept": pair(_look(GIVEN, of=offered), _ACCEPT),
    "show, accept by the new owner": pair(_look(GIVEN, by=BOB, of=offered), _ACCEPT),
    "list, change": pair(read("listConversations", ANN), OPERATIONS["change"]),
    "list, accept": pair(read("listConversations", BOB, of=offered), _ACCEPT),
    "change with If-Match, change": pair(OPERATIONS["change with If-Match"], OPERATIONS["change"]),
    "score, score": pair(OPERATIONS["score"], (score(ANN, {ROOT: 2, FORK: 3}), _look(FORK)), is_endless=True),
    "score, score with one key": by_key(OPERATIONS["score"]),
    "score, change": pair(
        OPERATIONS["score as the owner"],
        change("updateConversation", BOB, conversationId=FORK, metadata={"n": 1}),
    ),
    "score, append": pair(OPERATIONS["score as the owner"], append(BOB, to=FORK, knows=(FORK, BOB))),
    "score, remove the branch": pair(
        OPERATIONS["score"], delete("deleteConversation", ANN, conversationId=FORK, scope="branch")
    ),
    "score, revoke": pair(OPERATIONS["score"], _REVOKE),
    "score, delete": pair(OPERATIONS["score"], _DELETE),
    "score, accept": pair(score(ANN, {GIVEN: 1}, of=offered), _ACCEPT),
    "promote, promote another and a look": pair(
        OPERATIONS["promote"],
        (post("promoteConversation", BOB, conversationId=ROOT), _look(ROOT, by=BOB), _look(FORK, by=BOB)),
    ),
    "promote, promote with one key": by_key(OPERATIONS["promote by a writer"]),
    "promote, fork and promote": pair(OPERATIONS["promote"], (OPERATIONS["fork and promote"], _look(NEW))),
    "promote, append": pair(OPERATIONS["promote"], append(BOB, to=FORK, knows=(FORK, BOB))),
    "promote another, append and promote": pair(
        post("promoteConversation", BOB, conversationId=ROOT),
        (OPERATIONS["append and promote"], _look(ROOT), _look(FORK)),
    ),
    "append and promote, remove the branch": pair(
        OPERATIONS["append and promote by a writer"],
        delete("deleteConversation", ANN, conversationId=FORK, scope="branch"),
    ),
    "append and promote, delete": pair(OPERATIONS["append and promote"], _DELETE),
    "promote, remove the branch": pair(
        OPERATIONS["promote"],
        delete("deleteConversation", ANN, conversationId=FORK, scope="branch"),
    ),
    "promote, delete": pair(OPERATIONS["promote"], _DELETE),
    "revoke and a look, promote by them": pair((_REVOKE, _look(FORK)), OPERATIONS["promote by a writer"]),
    "fork several, fork": pair(OPERATIONS["fork several"], _FORK),
    "fork several, delete": pair(OPERATIONS["fork several"], _DELETE),
    "offer, offer": pair(
        OPERATIONS["offer"], post("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId="mia")
    ),
    "offer, revoke the recipient": pair(OPERATIONS["offer"], _REVOKE),
    "offer, delete": pair(OPERATIONS["offer"], _DELETE),
    "accept, accept": pair(_ACCEPT, OPERATIONS["accept"]),
    "accept, accept with one key": by_key(_ACCEPT),
    "accept, cancel": pair(_ACCEPT, _CANCEL),
    "accept, decline": pair(_ACCEPT, _DECLINE),
    "accept, revoke the recipient": pair(_ACCEPT, OPERATIONS["remove the recipient"]),
    "accept, delete": pair(_ACCEPT, _DELETE_GIVEN),
    "link, accept": pair("link", "accept what has links", is_endless=True),
    "link by the owner, accept": pair(
        post("createLink", ANN, of=linked, conversationId=GIVEN), "accept what has links", is_endless=True
    ),
    "link, link with one key": by_key("link"),
    "link, delete and cascade": pair(
        "link",
        (delete("deleteConversation", ANN, of=linked, conversationId=GIVEN), _work_off(GIVEN, of=linked)),
    ),
    "link, delete": pair("link", delete("deleteConversation", ANN, of=linked, conversationId=GIVEN)),
    "link, remove the branch and prune": pair(
        post("createLink", ANN, conversationId=FORK), (_REMOVE_FORK, work(run_prune(ROOT, FORK), of=family))
    ),
    "link, remove the manager and a look": pair("link", _NO_MANAGER),
    "note, remove the branch and prune": pair(
        post("addNote", BOB, conversationId=FORK, entryId="<of fork>", score=1),
        (_REMOVE_FORK, work(run_prune(ROOT, FORK), of=family)),
    ),
    "note, delete": pair("note", delete("deleteConversation", ANN, of=noted, conversationId=ROOT)),
    "note, revoke and a look": pair("note", _without_notes_of("bob")),
    "delete one's own note, revoke and a look": pair("delete one's own note", _without_notes_of("bob")),
    "unpin an entry, revoke and a look": pair("unpin an entry", _without_notes_of("bob")),
    "delete a note, remove the manager and a look": pair(
        "delete a note of another", _without_notes_of("mia")
    ),
    "open a link, end it": pair("open a link", "end a link"),
    "end a link, remove the manager and a look": pair(
        delete("deleteLink", MIA, of=linked, conversationId=GIVEN, linkId="<link>"), _NO_MANAGER
    ),
    "hand on, hand on and link": pair(
        "the sweep",
        (
            OPERATIONS["the sweep"],
            post("createLink", BOB, of=passed, conversationId=PASSED),
            read("listLinks", BOB, of=passed, conversationId=PASSED),
        ),
    ),
    "accept, append by the previous owner": pair(
        _ACCEPT, append(ANN, to=GIVEN, of=offered, knows=(GIVEN, ANN))
    ),
    "accept and a look, share": pair(
        (_ACCEPT, read("listMemberships", BOB, of=offered, conversationId=GIVEN)),
        post("shareConversation", ANN, of=offered, conversationId=GIVEN, userId="eve", accessLevel="manager"),
    ),
    "accept and a look, downgrade by the previous owner": pair(
        (_ACCEPT, read("listMemberships", BOB, of=offered, conversationId=GIVEN)),
        change("updateMembership", ANN, of=offered, conversationId=GIVEN, userId="mia", accessLevel="reader"),
    ),
    "accept and a look, remove by the previous owner": pair(
        (_ACCEPT, read("listMemberships", BOB, of=offered, conversationId=GIVEN)),
        delete("removeMembership", ANN, of=offered, conversationId=GIVEN, userId="mia"),
    ),
    "cancel, decline": pair(_CANCEL, _DECLINE, also=BOTH_GONE),
    "remove the previous owner, append by them": pair(
        OPERATIONS["remove the previous owner"], OPERATIONS["append as the previous owner"]
    ),
    "remove the previous owner, the sweep": pair(
        OPERATIONS["remove the previous owner"], OPERATIONS["the sweep"]
    ),
    "context, context": pair(append(PLANNER, entry=thought("c")), append(PLANNER, entry=thought("d"))),
    "context, next epoch": pair(
        append(PLANNER, entry=thought("c")), append(PLANNER, entry=thought("d", epoch=2))
    ),
    "context, the same context in the next epoch": pair(
        append(PLANNER, entry=thought("c")), append(PLANNER, entry=thought("a", "b", epoch=2))
    ),
    "next epoch, next epoch": pair(
        append(PLANNER, entry=thought("c", epoch=2)), append(PLANNER, entry=thought("d", epoch=2))
    ),
    "first context, first context": pair(
        append(CODER, entry=thought("c")), append(CODER, entry=thought("d", epoch=3))
    ),
    "sync, sync": pair(OPERATIONS["sync more"], OPERATIONS["sync something else"]),
    "sync, sync based on the same": pair(
        *(
            post(
                "syncContext",
                PLANNER,
                conversationId=ROOT,
                contentType="note",
                content=["a", "b", more],
                basedOnEntryId="<noted more>",
            )
            for more in ("mine", "yours")
        )
    ),
    "sync, sync for the first time": pair(
        OPERATIONS["sync for the first time"],
        post("syncContext", CODER, conversationId=ROOT, contentType="note", content=["z"]),
    ),
    "sync, sync of a new conversation": pair(
        OPERATIONS["sync a new conversation"],
        post("syncContext", PLANNER, conversationId=NEW, contentType="note", content=["z"]),
    ),
    "sync, delete": pair(OPERATIONS["sync by a writer"], _DELETE),
    "sync, context": pair(OPERATIONS["sync more"], append(PLANNER, entry=thought("d"))),
    "turn, turn": pair("append with context", "append with another context"),
    "turn, the same turn": pair("append with context", "append with context by a writer, cached"),
    "turn, sync": pair("append with context", OPERATIONS["sync something else"]),
    "turn, history": pair("append with context", append(BOB)),
    "turn, context": pair("append with context", append(PLANNER, entry=thought("d"))),
    "turn without change, sync": pair("append with the same context", OPERATIONS["sync something else"]),
    "turn without context, sync for the first time": pair(
        "append with no context at all", OPERATIONS["sync for the first time"]
    ),
    "turn, turn of a new conversation": pair(
        "append with context to a new conversation", append(PLANNER, to=NEW, entry=turn("z"))
    ),
    "turn, first turn of a fork": pair(
        "append with context to a fork", append(PLANNER, to=FORK, entry=turn("a", "z"))
    ),
    "fork at the head, turn": pair("append and fork at the head", "append with context"),
    "revoke and a look, turn": pair(
        (_REVOKE, _look(ROOT)), "append with context by a writer, cached", is_endless=True
    ),
    "turn, delete": pair("append with context", _DELETE),
    "begin an answer, begin one": pair(answer(id=NEW), answer(ANN, id=OTHER)),
    "begin an answer, begin one under its id": pair(answer(id=NEW), answer(ANN, in_=FORK, id=NEW)),
    "begin an answer with one key": by_key(answer()),
    "begin an answer, append": pair(answer(id=NEW), append(ANN)),
    "begin an answer with If-Match, append and a look": pair(
        OPERATIONS["begin an answer with If-Match"],
        (replace(append(BOB), in_seconds=60), replace(_look(ROOT, by=BOB), in_seconds=60)),
    ),
    "begin an answer, write it": pair(answer(id=NEW), part("a", after=0, to=NEW, of=family, in_=ROOT)),
    "begin an answer, stop it": pair(answer(id=NEW), stop(of=family, in_=ROOT, what=NEW)),
    "begin an answer, drop it": pair(answer(id=NEW), drop(of=family, in_=ROOT, what=NEW)),
    "begin an answer, finish it": pair(answer(id=NEW), append(BOB, answerId=NEW)),
    "begin an answer, show": pair(answer(id=NEW), _look(ROOT)),
    "begin an answer, revoke and a look": pair(answer(id=NEW), (_REVOKE, _look(ROOT))),
    "begin an answer, downgrade": pair(answer(id=NEW), _DOWNGRADE),
    "begin an answer, remove the branch": pair(answer(in_=FORK, id=NEW), _CUT_OFF),
    "begin an answer, delete": pair(answer(id=NEW), _DELETE),
    "take over an answer, take it over": pair(_TAKE_OVER_ANSWER, answer(ANN, of=hushed, in_=FORK, id=OTHER)),
    **{
        f"take over an answer, {name}": pair(_TAKE_OVER_ANSWER, one)
        for name, one in {
            "write it": part("c", of=hushed),
            "stop it": stop(of=hushed),
            "drop it": drop(of=hushed),
            "finish it": finish(of=hushed),
            "finish it as another": finish(ANN, of=hushed),
            "finish it in a fork": replace(_FINISH_IN_A_FORK, of=hushed),
            "show": _look(FORK, of=hushed),
        }.items()
    },
    **{
        f"take over one's own answer, {name}": pair(OPERATIONS["begin an answer over one's own"], one)
        for name, one in {
            "take it over": answer(of=answering, in_=FORK, id=OTHER),
            "write it": part("c"),
            "stop it": stop(),
            "finish it": finish(),
        }.items()
    },
    "begin an answer, remove who writes another": pair(
        answer(ANN, of=answering, in_=FORK, id=NEW), _REVOKE_ANSWERING
    ),
    "take over an answer, finish it and begin another": pair(
        _TAKE_OVER_ANSWER, (finish(of=hushed), answer(ANN, of=hushed, in_=FORK, id=OTHER))
    ),
    "part, part": pair(_PART, part("d")),
    "part, the same part": pair(_PART, _PART),
    "part, the next part": pair(_PART, part("d", after=3)),
    "part, stop": pair(_PART, _STOP),
    "part, drop": pair(_PART, _DROP),
    "part, finish": pair(_PART, _FINISH),
    "part, finish in a fork": pair(_PART, _FINISH_IN_A_FORK),
    "part, read the answer": pair(_PART, _READ_ANSWER),
    "part, show": pair(_PART, _LOOK_AT_ANSWER),
    "part, revoke": pair(_PART, _REVOKE_ANSWERING),
    "part, downgrade": pair(_PART, _DOWNGRADE_ANSWERING),
    "part, remove the branch": pair(_PART, _CUT_OFF_ANSWER),
    "part, delete": pair(_PART, _DELETE_ANSWERED),
    "stop, stop": pair(_STOP, stop(BOB)),
    "stop, drop": pair(_STOP, _DROP),
    "stop, finish": pair(_STOP, _FINISH_CACHED),
    "stop, finish as another": pair(_STOP, finish(MIA)),
    "stop, read the answer": pair(_STOP, _READ_ANSWER),
    "stop, show": pair(_STOP, _LOOK_AT_ANSWER),
    "stop, revoke": pair(stop(BOB), _REVOKE_ANSWERING),
    "stop, remove the branch": pair(_STOP, _CUT_OFF_ANSWER),
    "stop, delete": pair(_STOP, _DELETE_ANSWERED),
    "drop, drop": pair(_DROP, drop(ANN)),
    "drop, finish": pair(_DROP, _FINISH_CACHED),
    "drop, finish in a fork": pair(_DROP, _FINISH_IN_A_FORK),
    "drop, show": pair(_DROP, _LOOK_AT_ANSWER),
    "drop, revoke and a look": pair(_DROP, (_REVOKE_ANSWERING, _LOOK_AT_ANSWER)),
    "drop, remove the branch": pair(_DROP, _CUT_OFF_ANSWER),
    "drop, delete": pair(_DROP, _DELETE_ANSWERED),
    "finish, finish": pair(_FINISH, finish(entry=said("other"))),
    "finish, finish elsewhere": pair(_FINISH_CACHED, _FINISH_ELSEWHERE),
    "finish, finish in a fork": pair(_FINISH_CACHED, _FINISH_IN_A_FORK),
    "finish in a fork, finish elsewhere": pair(_FINISH_IN_A_FORK, _FINISH_ELSEWHERE),
    "finish with one key": by_key(finish()),
    "finish, append": pair(_FINISH, append(ANN, to=FORK, of=answering)),
    "finish, show": pair(_FINISH_CACHED, _LOOK_AT_ANSWER),
    "finish, list": pair(_FINISH_CACHED, read("listEntries", ANN, of=answering, conversationId=FORK)),
    "finish, read the answer": pair(_FINISH_CACHED, _READ_ANSWER),
    "finish, begin another": pair(_FINISH_CACHED, answer(ANN, of=answering, in_=FORK, id=NEW)),
    "finish, revoke and a look": pair(_FINISH_CACHED, (_REVOKE_ANSWERING, _LOOK_AT_ANSWER)),
    "finish, remove the branch": pair(_FINISH_CACHED, _CUT_OFF_ANSWER),
    "finish elsewhere, remove the branch": pair(_FINISH_ELSEWHERE, _CUT_OFF_ANSWER),
    "finish in a fork, remove the branch": pair(_FINISH_IN_A_FORK, _CUT_OFF_ANSWER),
    "finish, delete": pair(_FINISH_CACHED, _DELETE_ANSWERED),
    "begin an answer, accept and remove the sender": pair(
        answer(ANN, of=offered_answering, in_=GIVEN, id=NEW),
        (*map(_given, _TAKE_OVER), _look(GIVEN, by=BOB, of=offered_answering)),
        is_endless=True,
    ),
    "drop, accept and remove the sender": pair(
        drop(ANN, of=offered_answering, in_=GIVEN_FORK, what=ANNS_ANSWER),
        (*map(_given, _TAKE_OVER), _look(GIVEN_FORK, by=BOB, of=offered_answering)),
        is_endless=True,
    ),
    "delete, delete": pair(
        _DELETE_GIVEN,
        delete("deleteConversation", ANN, of=offered, conversationId=GIVEN_FORK),
        also=BOTH_GONE + GOES_ON,
    ),
    "delete, delete of a child": pair(
        _DELETE, delete("deleteConversation", ANN, conversationId=CHILD), also=GOES_ON, is_endless=True
    ),
    "restore, the sweep on the trash": pair("restore", "the sweep, on the trash", is_endless=True),
    "restore, delete for good": pair("restore", "delete for good", is_endless=True),
    "restore, restore": pair("restore", "restore as an admin", is_endless=True),
    "restore, the worker": pair(
        change("restoreConversation", ANN, of=half_restored, conversationId=ROOT),
        OPERATIONS["the worker, on a restoring"],
        is_endless=True,
    ),
    "restore, the worker that shuts": pair(
        change("restoreConversation", ANN, of=half_trashed, conversationId=ROOT),
        OPERATIONS["the worker, on a tree in the trash"],
        is_endless=True,
        gone="trashedAt",  # some of the children may have been there, and tell since when they are back
    ),
    "remove into the trash, append and a look": pair(
        "remove a branch into the trash", (append(ANN, to=FORK), _entries(FORK))
    ),
    "remove into the trash, fork of it": pair("remove a branch into the trash", _SHOWING),
    "remove into the trash, remove for good": pair(
        "remove a branch into the trash", _CUT_OFF, is_endless=True
    ),
    "remove into the trash as a manager, child": pair(
        into_trash(MIA, FORK, scope="branch"),
        post(
            "appendEntry",
            ANN,
            conversationId=NEW,
            startedByConversationId=FORK,
            **said("task"),
        ),
    ),
    "remove the root into the trash, delete into the trash": pair(
        "remove the root into the trash", into_trash(ANN, FORK), also=BOTH_GONE, is_endless=True
    ),
    "restore a branch, the sweep on the trash": pair(
        "restore a branch", "the sweep, on a branch in the trash", is_endless=True
    ),
    "restore a branch, delete it for good": pair(
        "restore a branch", "delete a branch for good", is_endless=True
    ),
    "restore a branch, restore it": pair("restore a branch", "restore a branch as a manager"),
    "restore a branch, remove the other": pair(
        "restore a branch", _remove(ROOT, of=fork_trashed), is_endless=True
    ),
    "restore a branch, promote the other": pair(
        "restore a branch",
        change("promoteConversation", ANN, of=fork_trashed, conversationId=ROOT),
    ),
    "restore a branch, delete into the trash": pair(
        "restore a branch", into_trash(ANN, ROOT, of=fork_trashed), also=((404, 204),), is_endless=True
    ),
    "restore the root, the worker": pair(
        change("restoreConversation", ANN, of=half_root_trashed, conversationId=ROOT),
        "the worker, on a branch in the trash",
        is_endless=True,
    ),
    "restore the root, remove it": pair(
        "restore the root",
        into_trash(ANN, ROOT, of=root_trashed, scope="branch"),
        also=((404, 204),),
        is_endless=True,
    ),
    "the worker on a restored root, delete into the trash": pair(
        "the worker, on a restored branch", into_trash(ANN, FORK, of=half_root_restored), is_endless=True
    ),
    "restore a child, delete its parent": pair(
        "restore a child",
        into_trash(ANN, ROOT, of=child_trashed),
        also=((404, 204),),  # the child is back, and gone again before it is shown
        is_endless=True,
    ),
    "restore and append, delete for good": pair(
        (OPERATIONS["restore"], append(ANN, of=trashed)), OPERATIONS["delete for good"], is_endless=True
    ),
    "delete into the trash, append and a look": pair(
        "delete into the trash", (append(ANN, knows=(ROOT, ANN)), _entries(ROOT)), is_endless=True
    ),
    "delete into the trash, delete it there": pair(
        "delete into the trash", into_trash(ANN, FORK), also=BOTH_GONE + GOES_ON, is_endless=True
    ),
    "delete into the trash, accept": pair(into_trash(ANN, GIVEN, of=offered), "accept"),
    "remove the last into the trash, fork": pair(
        "remove the last branch into the trash", _fork_of(UNTITLED, of=untitled)
    ),
    "remove the last into the trash, fork and remove it and a look": pair(
        "remove the last branch into the trash",
        (_fork_of(UNTITLED, of=untitled), _LAST, _look(NEW, of=untitled)),
        also=tuple((one, 404, other, 404) for one, other in BOTH_GONE + GOES_ON),
        is_endless=True,
    ),
    "delete into the trash, fork": pair(
        into_trash(ANN, UNTITLED, of=untitled), _fork_of(UNTITLED, of=untitled)
    ),
    "delete into the trash, child and a look": pair(
        into_trash(ANN, UNTITLED, of=untitled),
        (
            post(
                "appendEntry",
                ANN,
                of=untitled,
                conversationId=NEW,
                startedByConversationId=UNTITLED,
                **said("task"),
            ),
            _look(NEW, of=untitled),
        ),
    ),
    "delete into the trash, the worker": pair(
        into_trash(ANN, ROOT, of=half_trashed), "the worker, on a tree in the trash", is_endless=True
    ),
    "delete, the sweep": pair(
        delete("deleteConversation", BOB, of=passed, conversationId=PASSED), OPERATIONS["the sweep"]
    ),
    "append with a key, append with it": pair(
        OPERATIONS["append with a key"], append(ANN, key="new key", knows=(ROOT, ANN))
    ),
    "append by a name, append by it": pair(
        OPERATIONS["append by a name"], by_name(**said("other"), knows=(ROOT, BOB))
    ),
    "append by a name and by its id with one key": pair(
        by_name(), append(BOB, entry=said("by name")), key="one key"
    ),
    "append by a name with one key": by_key(OPERATIONS["append by a name, cold"]),
    "append by a new name with one key": by_key(OPERATIONS["append by a new name"]),
    "append by a new name, append by it": pair(
        OPERATIONS["append by a new name"], by_name(name="new", data={"n": 3})
    ),
    "append by a new name, make it": pair(OPERATIONS["append by a new name"], OPERATIONS["make a name"]),
    "append by a name, move it": pair(OPERATIONS["append by a name"], OPERATIONS["move a name"]),
    "append by a name, move it and a look": pair(
        OPERATIONS["append by a name"], (OPERATIONS["move a name"], _entries(ROOT))
    ),
    "append by a name with data, move it and a look": pair(
        OPERATIONS["append by a name, cold"], (OPERATIONS["move a name"], _entries(ROOT))
    ),
    "append by a name with data, move it without": pair(
        OPERATIONS["append by a name, cold"], OPERATIONS["move a name"]
    ),
    "append by a name whose conversation is deleted, append by it": pair(
        "append by a name whose conversation is deleted", by_name(**said("other"), of=dead_family)
    ),
    "append by a name whose conversation is deleted, delete it": pair(
        "append by a name whose conversation is deleted",
        delete("deleteName", BOB, name="trip", of=dead_family),
    ),
    "append by a bare name with data, move it without": pair(
        by_name(name="bare", data={"n": 2}), OPERATIONS["move a name without data"]
    ),
    "append by a name, delete it": pair(OPERATIONS["append by a name"], OPERATIONS["delete a name"]),
    "append by a name, fork at the head that takes it": pair(
        OPERATIONS["append by a name"], OPERATIONS["fork at the head and move a name"]
    ),
    "append, fork before an entry with If-Match": pair(
        OPERATIONS["append"], OPERATIONS["fork before an entry with If-Match"]
    ),
    "append by a name, fork before an entry that takes it": pair(
        OPERATIONS["append by a name"], OPERATIONS["fork before an entry and move a name"]
    ),
    "append by a name, delete": pair(OPERATIONS["append by a name"], _DELETE),
    "append by a name, revoke": pair(OPERATIONS["append by a name"], _REVOKE),
    "move a name, move it": pair(OPERATIONS["move a name"], point(to=CHILD, expectRevision=1)),
    "move a name, move it whatever it is": pair(point(), point(to=CHILD)),
    "move a name, delete it": pair(point(), OPERATIONS["delete a name"]),
    "make a name, make it": pair(OPERATIONS["make a name"], point(name="new", expectRevision=0)),
    "delete a name, delete it": pair(OPERATIONS["delete a name"], OPERATIONS["delete a name as an admin"]),
    "fork that takes a name, fork that takes it": pair(
        OPERATIONS["fork at the head and move a name"], _fork_of_fork_that_takes(expectRevision=1)
    ),
    "fork that takes a name, move it": pair(OPERATIONS["fork before an entry and move a name"], point()),
    "make a name, delete and a look": pair(
        OPERATIONS["make a name"], (_DELETE, read("listNames", BOB, prefix="new"))
    ),
    "make a name, revoke and a look": pair(
        OPERATIONS["make a name"], (_REVOKE, read("listNames", BOB, prefix="new"))
    ),
    # The next pairs need a caller with several requests, or a request that is delayed for long.
    "offer, delete and the worker": pair("offer", (_DELETE, _work_off(ROOT)), is_endless=True),
    "fork, delete and the worker": pair(_FORK, (_DELETE, _work_off(ROOT)), is_endless=True),
    "recall, delete and the worker": pair(recall(), (_DELETE, _work_off(ROOT)), is_endless=True),
    "recall, recall in another tree": pair(
        with_index(recall(of=peaceful)), with_index(recall(of_=GIVEN, of=peaceful)), is_endless=True
    ),
    "recall where a shelf is known, recall in another tree": pair(
        with_index(recall(BOB, FORK, of=embedded_erasing)),
        with_index(recall(of_=CHILD, of=embedded_erasing)),
        is_endless=True,
    ),
    "recall, accept": pair(
        with_index(recall(of_=GIVEN, of=offered)), with_index(OPERATIONS["accept"]), is_endless=True
    ),
    "recall, erase": pair(recall(of=left), work(run_erasures, of=left), is_endless=True, gone=WORDS),
    "recall, recall": pair(recall(), recall(BOB), is_endless=True),
    "recall, recall in a fork": pair(recall(), recall(BOB, FORK), is_endless=True),
    "recall, append": pair(recall(of_=FORK), append(to=FORK), is_endless=True),
    # A recall that is refused because its branch was removed may have embedded the root before.
    "recall, remove the branch and prune": pair(
        recall(of_=FORK),
        (_REMOVE_FORK, work(run_prune(ROOT, FORK), of=family)),
        also=((404, 204, 200),),
        is_endless=True,
    ),
    "promote, delete and the worker": pair("promote", (_DELETE, _work_off(ROOT)), is_endless=True),
    "promote by a writer, delete and the worker": pair(
        "promote by a writer", (_DELETE, _work_off(ROOT)), is_endless=True
    ),
    "share, delete and the worker": pair(_ADD, (_DELETE, _work_off(ROOT)), is_endless=True),
    "change, delete and the worker": pair("change", (_DELETE, _work_off(ROOT)), is_endless=True),
    "delete, delete and the worker": pair(
        _DELETE_UNTITLED,
        (_DELETE_UNTITLED, _work_off(UNTITLED, of=untitled)),
        also=_and_worked(BOTH_GONE + GOES_ON),
        is_endless=True,
    ),
    "delete as an admin, delete and the worker": pair(
        _DELETE_AS_ADMIN,
        (_DELETE_AS_ADMIN, _work_off(UNTITLED, of=untitled)),
        also=_and_worked(BOTH_GONE + GOES_ON),
        is_endless=True,
    ),
    "delete, delete of a child and the worker": pair(
        _DELETE,
        (delete("deleteConversation", ANN, conversationId=CHILD), _work_off(CHILD)),
        also=_and_worked(GOES_ON),
        is_endless=True,
    ),
    "offer, offer and accept": pair(
        _offer(ANN, "mia", of=family),
        (_offer(ANN, "bob", of=family), _accept(BOB, of=family)),
        is_endless=True,
    ),
    "append, accept and remove the sender": pair(
        append(ANN, to=GIVEN, of=offered, knows=(GIVEN, ANN)), _TAKE_OVER, is_endless=True
    ),
    "sync, accept and remove the sender": pair(
        post("syncContext", PLANNER, of=offered, conversationId=GIVEN, contentType="note", content=["z"]),
        _TAKE_OVER,
        is_endless=True,
    ),
    "change, accept and remove the sender": pair(
        change("updateConversation", ANN, of=offered, conversationId=GIVEN, title="new"),
        _TAKE_OVER,
        is_endless=True,
    ),
    "append and promote, accept and remove the sender": pair(
        append(ANN, to=GIVEN_FORK, of=offered, promote=True, knows=(GIVEN_FORK, ANN)),
        (*_TAKE_OVER, _look(GIVEN_FORK, by=BOB, of=offered)),
        is_endless=True,
    ),
    "promote, accept and remove the sender": pair(
        post("promoteConversation", ANN, of=offered, conversationId=GIVEN_FORK),
        (*_TAKE_OVER, _look(GIVEN_FORK, by=BOB, of=offered)),
        is_endless=True,
    ),
    "revoke by a manager, promote": pair("remove a member as a manager", "change a level"),
    "share, share the last place": pair(
        post("shareConversation", ANN, of=full, conversationId=ROOT, userId="eve", accessLevel="reader"),
        post("shareConversation", ANN, of=full, conversationId=ROOT, userId="bob", accessLevel="reader"),
    ),
    "context of two epochs, context of one between": pair(
        post(
            "appendEntry",
            PLANNER,
            conversationId=ROOT,
            entries=[thought("c"), thought("d", epoch=3)],
            knows=(ROOT, PLANNER),
        ),
        append(PLANNER, entry=thought("e", epoch=2)),
    ),
    "rewrite, rewrite and hand on": pair(
        "the sweep",
        (
            OPERATIONS["the sweep"],
            _offer(BOB, "ann", of=passed, what=PASSED),
            _accept(ANN, of=passed),
            _offer(ANN, "mia", of=passed, what=PASSED),
            _accept(MIA, of=passed),
        ),
        is_endless=True,
    ),
    "the worker, the worker": pair("the worker", "the worker", is_endless=True),
    "continue a child, continue it": pair(
        "continue an unfinished child", "continue an unfinished child", is_endless=True
    ),
    "give a child up, continue it": pair(
        "the sweep gives up", "continue an unfinished child", is_endless=True
    ),
    "clear a child up, make another": pair(_CLEAR_UP, append(ANN, to=HALF, of=given_up), is_endless=True),
    "clear a child up, clear it up, make another and delete it": pair(
        _CLEAR_UP,
        (
            _CLEAR_UP,
            append(ANN, to=HALF, of=given_up),
            delete("deleteConversation", ANN, of=given_up, conversationId=HALF),
        ),
        also=((200, 200, 201, 202),),  # a deletion that finds the worker busy may leave the rest to it
        is_endless=True,
    ),
    "remove, fork of it": pair(_CUT_OFF, _SHOWING),
    "remove and the worker, fork of it": pair(
        (_CUT_OFF, _prune(ROOT, FORK, of=family)), _SHOWING, is_endless=True
    ),
    "remove, fork of its fork": pair(
        _remove(CUT_TWIG, of=removed), post("forkConversation", ANN, of=removed, conversationId=CUT, id=NEW)
    ),
    "remove, append": pair(_CUT_OFF, append(BOB, to=FORK, knows=(FORK, BOB))),
    "remove, child and a look": pair(
        (_remove(GIVEN_FORK, of=offered), _look(NEW, of=offered)),
        post(
            "appendEntry",
            ANN,
            of=offered,
            conversationId=NEW,
            **said("new"),
            startedByConversationId=GIVEN_FORK,
        ),
        is_endless=True,
    ),
    "remove as a manager, child": pair(
        _remove(FORK, by=MIA), append(ANN, to=NEW, startedByConversationId=FORK), is_endless=True
    ),
    "remove, promote": pair(_CUT_OFF, post("promoteConversation", ANN, conversationId=FORK)),
    "remove the current one, promote another": pair(
        _remove(ROOT), post("promoteConversation", ANN, conversationId=FORK), is_endless=True
    ),
    "remove, remove": pair(_CUT_OFF, _remove(FORK, by=MIA)),
    "remove, remove again": pair(_CUT_OFF, _CUT_OFF),
    "remove, remove the other": pair(_CUT_OFF, _remove(ROOT, by=MIA), also=GOES_ON, is_endless=True),
    "remove, delete": pair(_CUT_OFF, _DELETE, also=BOTH_GONE + GOES_ON),
    "remove, delete and the worker": pair(
        _remove(CUT_TWIG, of=removed),
        (delete("deleteConversation", ANN, of=removed, conversationId=CUT), _work_off(CUT, of=removed)),
        also=(*_and_worked(BOTH_GONE), (204, 202, 200)),
        is_endless=True,
    ),
    "remove, accept": pair(_remove(GIVEN_FORK, of=offered), _ACCEPT),
    "remove, accept and remove the sender": pair(
        _remove(GIVEN_FORK, of=offered),
        (*_TAKE_OVER, _look(GIVEN_FORK, by=BOB, of=offered)),
        is_endless=True,
    ),
    "remove as a manager, downgrade and a look": pair((_DOWNGRADE_MIA, _look(FORK)), _remove(FORK, by=MIA)),
    "remove the last, fork": pair(_LAST, _fork_of(UNTITLED, of=untitled)),
    "remove the last, fork and remove it and a look": pair(
        _LAST,
        (_fork_of(UNTITLED, of=untitled), _LAST, _look(NEW, of=untitled)),
        also=tuple((one, 404, other, 404) for one, other in BOTH_GONE + GOES_ON),
        is_endless=True,
    ),
    "remove the last, remove the last": pair(_LAST, _LAST, also=BOTH_GONE + GOES_ON),
    "prune, fork through another branch": pair(
        _prune(CUT, CUT_FORK, of=removed_first),
        post(
            "forkConversation",
            ANN,
            of=removed_first,
            conversationId=CUT_TWIG,
            id=NEW,
            atEntryId="<of fork>",
            position="after",
        ),
    ),
    "prune, prune of its fork": pair(
        _prune(CUT, CUT_FORK, of=removed_first),
        (_remove(CUT_TWIG, of=removed_first), _prune(CUT, CUT_TWIG, of=removed_first)),
        is_endless=True,
    ),
    "prune, delete and the worker": pair(
        _prune(CUT, CUT_TWIG, of=removed_both),
        (
            delete("deleteConversation", ANN, of=removed_both, conversationId=CUT),
            _work_off(CUT, of=removed_both),
        ),
        is_endless=True,
    ),
    **{
        f"erase, {name} an answer": pair(
            work(run_erasures, of=leaving_answering), one, is_endless=True, gone=WORDS
        )
        for name, one in {
            "begin": answer(of=leaving_answering, id=NEW, agentId=WORDS),
            "write": part(WORDS, of=leaving_answering, in_=ROOT),
            "drop": drop(ANN, of=leaving_answering, in_=ROOT),
            "finish": finish(to=ROOT, of=leaving_answering, entry=said(WORDS)),
        }.items()
    },
    **{
        f"erase, {name}": pair(
            work(run_erasures, of=left), (replace(one, of=left),), is_endless=True, gone=WORDS
        )
        for name, one in {
            "fork at the head": post("forkConversation", ANN, conversationId=ROOT, id=NEW),
            "fork after an entry": post(
                "forkConversation", ANN, conversationId=ROOT, id=NEW, atEntryId="<words>", position="after"
            ),
            "copy": post("copyConversation", ANN, conversationId=ROOT, id=NEW),
            "merge": post("mergeConversation", ANN, conversationId=OTHER, fromConversationId=ROOT),
        }.items()
    },
    **{
        # What is said between the tombstone and the worker's closing is deleted with the tree.
        f"{name}, retention": pair(
            replace(one, of=unused), work(delete_unused, of=unused), also=((201, 200), (204, 200))
        )
        for name, one in {
            "show": read("getConversation", BOB, conversationId=GIVEN),
            "show as an admin": read("adminGetConversation", ROOT_CALLER, conversationId=GIVEN),
            "list of forks": read("listForks", BOB, conversationId=GIVEN),
            "list": read("listConversations", BOB),
            "append": append(BOB, to=GIVEN),
            "fork": post("forkConversation", BOB, conversationId=GIVEN, id=NEW),
            "promote": post("promoteConversation", BOB, conversationId=GIVEN_FORK),
            "recall": recall(BOB, GIVEN),
        }.items()
    },
    "list of forks, fork and promote": pair(
        read("listForks", RITA, conversationId=ROOT), OPERATIONS["fork and promote"]
    ),
    **{
        f"{name}, append and promote": pair(one, append(to=FORK, of=one.of, promote=True))
        for name, one in OPERATIONS.items()
        if one.is_read and (one.of is family or name in ("list", "list the current", "list the latest"))
    },
}
PAIRS |= {
    "prune an attachment, prune it": pair(
        _prune(ROOT, FORK, of=attached_twice), _prune(ROOT, OTHER, of=attached_twice), is_endless=True
    ),
    "prune an attachment, append it": pair(
        _prune(ROOT, FORK, of=attached_removed),
        append(BOB, of=attached_removed, entry=showing("<photo>")),
        is_endless=True,
    ),
    "upload, upload": pair("upload", "upload"),
    "remove an attachment, append it": pair("remove an attachment", "append an attachment", is_endless=True),
    "remove an upload, append it": pair(
        "remove an attachment that nobody names",
        append(BOB, of=attached, entry=showing("<unnamed>")),
        is_endless=True,
    ),
}
PAIRS |= {
    f"{one.operation}, delete": pair(sampled(one), _DELETE)
    for one in CARDS
    if not CALLED[one.operation].is_read
    and one.operation not in {side.name for two in PAIRS.values() for side in (*two.one, *two.other)}
}
"""The pairs: each write at least beside the deletion of its tree."""
