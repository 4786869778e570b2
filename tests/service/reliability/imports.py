"""Imports beside other requests, for the checks `orders-of-two` and `torn-reads`.

The table has a tree, and the file the child that Bob has started from it.
"""

import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from forklore_local.porting.failures import RefusedError
from forklore_local.porting.scope import Choice, Scope
from forklore_service.errors import UnavailableError
from tests.local.porting.failing import GIVEN_UP_SECONDS
from tests.local.porting.round_trip import exported, imported
from tests.service.reliability.pairs import pair
from tests.service.reliability.races import Pair
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.world import (
    ANN,
    BOB,
    CHILD,
    EVE,
    NEW,
    ROOT,
    ROOT_CALLER,
    Operation,
    World,
    append,
    build,
    built,
    delete,
    family,
    post,
    read,
    run_erasures,
    work,
)
from tests.support.tables import Store
from tools.harness.service import Answer

_FILES = ExitStack()


@cache
def _file_of(conversation_id: str) -> Path:
    """Return the export of a tree of the family."""
    folder = Path(_FILES.enter_context(tempfile.TemporaryDirectory()))
    with built(family, None).copy(None) as store:
        exported(store, folder / "one.jsonl", Choice(Scope.TREE, conversation_id))
    return folder / "one.jsonl"


def _alone(store: Store, _process: Process, _made: dict[str, str]) -> None:
    imported(store, _file_of(ROOT))
    _file_of(CHILD)  # two callers that asked for it first would each make one of their own


def _with_erasure(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("adminEraseUser", ROOT_CALLER, userId="bob").status == 202


def childless(endpoint: Endpoint) -> World:
    """Return the world of the tree that has started the child of the file, without this child."""
    return build(endpoint, _alone, later_s=GIVEN_UP_SECONDS)


def erasing(endpoint: Endpoint) -> World:
    """Return the same world, with an erasure of Bob that waits for the worker."""
    return build(endpoint, _alone, _with_erasure, later_s=GIVEN_UP_SECONDS)


REFUSED = Answer(409, {"code": "conflict", "details": {}})


def _import(of: Any = childless) -> Operation:
    """Return an import of the child. Its answer says whether it was refused."""

    def run(process: Process, _world: World, _key: str | None) -> Answer:
        try:
            done = imported(process.table, _file_of(CHILD))
        except UnavailableError as error:
            return Answer(error.status, None)
        except RefusedError:
            return REFUSED
        return REFUSED if done.refusals else Answer(200, None)

    return Operation(run, of=of)


IMPORTS: dict[str, Pair] = {
    f"import, {name}": pair(_import(one.of), one, is_endless=True)
    for name, one in {
        "import": _import(),
        "show": read("getConversation", BOB, of=childless, conversationId=CHILD),
        "show as an admin": read("adminGetConversation", ROOT_CALLER, of=childless, conversationId=CHILD),
        "list": read("listConversations", BOB, of=childless),
        "list of children": read("listChildren", ANN, of=childless, conversationId=ROOT),
        "list of forks": read("listForks", BOB, of=childless, conversationId=CHILD),
        "read": read("listEntries", BOB, of=childless, conversationId=CHILD),
        "append to the parent": append(BOB, of=childless),
        "create": post("createConversation", EVE, of=childless, id=CHILD),
        "fork": post("forkConversation", BOB, of=childless, conversationId=CHILD, id=NEW),
        "share": post(
            "shareConversation", ANN, of=childless, conversationId=ROOT, userId="eve", accessLevel="writer"
        ),
        "remove a member": delete("removeMembership", ANN, of=childless, conversationId=ROOT, userId="bob"),
        "erase": work(run_erasures, of=erasing),
    }.items()
}
"""Pairs of an import and another request."""
