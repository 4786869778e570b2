"""Which refusal a caller is told when several would do: 403, then 404 or 400, then 409."""

from typing import Any

import pytest

from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, EntryRef, StartedBy
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    ValidationError,
)
from forklore_service.usecases.branches.copying import Copy, copy_conversation
from forklore_service.usecases.branches.forks import ForkRequest, fork_conversation
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing.append import append_turn
from forklore_service.usecases.writing.merging import Merge, merge_branch
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BLANK,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    fork,
    said,
    say,
    thought,
)
from tests.support.tables import Store

STALE = EntryId("019a0000-0000-7000-8000-000000000000")
NAMES_NOTHING = said("summary", merged_from=EntryRef(OTHER, None))

NEW = Append(TWIG, [NAMES_NOTHING], if_match=STALE)
REQUESTS = {
    "to a conversation": NEW._replace(conversation_id=ROOT),
    "to a new root": NEW,
    "to a new fork": NEW._replace(fork=Fork(ROOT, None, AFTER)),
    "to a new child": NEW._replace(start=StartedBy(ROOT, None)),
}


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize(
    ("caller", "drafts", "error"),
    [
        (ANN, [NAMES_NOTHING, thought("a")], ForbiddenError),
        (PLANNER, [NAMES_NOTHING, thought("a", 1)], ValidationError),
        (PLANNER, [said("a"), thought("a", 1)], ConflictError),
    ],
    ids=["403", "400", "409"],
)
def test_access_is_refused_first_then_what_entries_name_then_a_conflict(
    store: Store, knows: bool, name: str, caller: Caller, drafts: list[Draft], error: type[ForkloreError]
) -> None:
    process = store.process()
    append(process, ROOT, thought("a", 3), by=PLANNER)
    say(process, ROOT, "b")
    request = REQUESTS[name]._replace(drafts=drafts)

    with store.refuses(error):
        append_turn(process if knows else store.process(), caller=caller, request=request)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_plain_user_is_refused_a_present_context_before_anything_else(store: Store, name: str) -> None:
    process = store.process()
    append(process, ROOT, "b", by=PLANNER)
    request = REQUESTS[name]._replace(context=thought("a"))

    with store.refuses(ForbiddenError):
        append_turn(process, caller=ANN, request=request)


NOT_SHOWN = EntryId("019a0000-0000-7000-8000-000000000001")
"""An entry that does not exist."""


@pytest.mark.parametrize(
    "begun",
    [Append(TWIG, [], fork=Fork(ROOT, NOT_SHOWN, AFTER)), Append(TWIG, [], start=StartedBy(ROOT, NOT_SHOWN))],
)
def test_context_of_a_plain_user_is_refused_before_the_entry_to_begin_at(store: Store, begun: Append) -> None:
    process = store.process()
    say(process, ROOT, "b")

    for given in (
        begun._replace(drafts=[thought("a")]),
        begun._replace(drafts=[said("a")], context=thought("a")),
    ):
        with store.refuses(ForbiddenError):
            append_turn(process, caller=ANN, request=given)


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize(
    ("caller", "drafts", "error"),
    [
        (ANN, [NAMES_NOTHING, thought("a")], ForbiddenError),
        (ANN, [NAMES_NOTHING], ValidationError),
        (ANN, [said("a")], ConflictError),
    ],
    ids=["403", "400", "409"],
)
@pytest.mark.parametrize("lineage", [{"fork": Fork(OTHER, None, BLANK)}, {"start": StartedBy(OTHER, None)}])
def test_the_wrong_fork_or_child_is_a_conflict_like_others(
    store: Store,
    knows: bool,
    caller: Caller,
    drafts: list[Draft],
    error: type[ForkloreError],
    lineage: dict[str, Any],
) -> None:
    process = store.process()
    say(process, ROOT, "b")
    say(process, OTHER, "c")

    with store.refuses(error):
        request = Append(ROOT, drafts, **lineage)
        append_turn(process if knows else store.process(), caller=caller, request=request)


# An id that is in use


@pytest.mark.parametrize(
    ("what", "code", "reason"),
    [
        ({"entry_id": NOT_SHOWN}, "not_found", None),
        ({"key": "unknown"}, "not_found", None),
        ({"key": "of the fork"}, "not_found", None),
        ({}, "conflict", "id_in_use"),
        ({"key": "of the root"}, "conflict", "id_in_use"),
    ],
)
def test_a_fork_is_refused_by_its_anchor_before_its_id(
    store: Store, what: dict[str, Any], code: str, reason: str | None
) -> None:
    process = store.process()
    append(process, ROOT, said("a", key="of the root"))
    fork(process)
    append(process, FORK, said("b", key="of the fork"))
    request = ForkRequest(Fork(ROOT, None, AFTER)._replace(**what), FORK, if_match=STALE)

    with store.unchanged(), pytest.raises(ForkloreError) as refused:
        fork_conversation(process, caller=ANN, request=request)
    assert (refused.value.code, refused.value.details.get("reason")) == (code, reason)


def test_a_fork_is_refused_by_an_anchor_that_its_source_does_not_show_before_its_id(store: Store) -> None:
    process = store.process()
    say(process, ROOT, "a")
    fork(process)
    [own] = say(process, FORK, "b")

    with store.refuses(ValidationError):
        fork(process, ROOT, FORK, own, AFTER)


def test_a_copy_is_refused_by_its_last_entry_before_its_id(store: Store) -> None:
    process = store.process()
    say(process, ROOT, "a")

    with store.refuses(ValidationError):
        copy_conversation(process, caller=ANN, request=Copy(ROOT, ROOT, up_to=NOT_SHOWN))
    with store.refuses(ConflictError):
        copy_conversation(process, caller=ANN, request=Copy(ROOT, ROOT))


@pytest.mark.parametrize("ends", [{"after": NOT_SHOWN}, {"up_to": NOT_SHOWN}])
def test_a_merge_is_refused_by_the_entries_that_it_names_before_if_match(
    store: Store, ends: dict[str, Any]
) -> None:
    process = store.process()
    say(process, ROOT, "a")
    fork(process)
    say(process, FORK, "b")

    with store.refuses(ValidationError):
        merge_branch(process, caller=ANN, request=Merge(ROOT, FORK, if_match=STALE, **ends))
    with store.refuses(ConflictError):
        merge_branch(process, caller=ANN, request=Merge(ROOT, FORK, if_match=STALE))
