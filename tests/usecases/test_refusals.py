"""Which refusal a caller is told when several would do: 403, then 400, then 409."""

from dataclasses import replace

import pytest

from forklore.domain.ids import EntryId
from forklore.domain.model import Caller, EntryRef
from forklore.errors import ConflictError, ForbiddenError, ForkloreError, ValidationError
from forklore.usecases.append import append_turn
from forklore.usecases.append_request import Append, Fork, Start
from forklore.usecases.drafts import Draft
from tests.support.tables import Store
from tests.usecases.builders import AFTER, ANN, OTHER, PLANNER, ROOT, TWIG, append, said, say, thought

STALE = EntryId("019a0000-0000-7000-8000-000000000000")
NAMES_NOTHING = replace(said("summary"), merged_from=EntryRef(OTHER, None))

NEW = Append(TWIG, [NAMES_NOTHING], if_match=STALE)
REQUESTS = {
    "to a conversation": replace(NEW, conversation_id=ROOT),
    "to a new root": NEW,
    "to a new fork": replace(NEW, fork=Fork(ROOT, None, AFTER)),
    "to a new child": replace(NEW, start=Start(ROOT, None)),
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
    request = replace(REQUESTS[name], drafts=drafts)

    with store.refuses(error):
        append_turn(process if knows else store.process(), caller=caller, request=request)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_plain_user_is_refused_a_present_context_before_anything_else(store: Store, name: str) -> None:
    process = store.process()
    append(process, ROOT, "b", by=PLANNER)
    request = replace(REQUESTS[name], context=thought("a"))

    with store.refuses(ForbiddenError):
        append_turn(process, caller=ANN, request=request)
