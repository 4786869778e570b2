import pytest

from forklore_service.domain import access
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import ForbiddenError

OWNER, MANAGER, WRITER, READER = AccessLevel
ALLOWED = {
    OWNER: {OWNER, MANAGER, WRITER, READER},
    MANAGER: {MANAGER, WRITER, READER},
    WRITER: {WRITER, READER},
    READER: {READER},
}


def allows(level: AccessLevel | None, minimum: AccessLevel) -> bool:
    try:
        access.require(level, minimum)
    except ForbiddenError:
        return False
    return True


def test_the_levels_have_the_names_of_the_api() -> None:
    assert (OWNER, MANAGER, WRITER, READER) == ("owner", "manager", "writer", "reader")


@pytest.mark.parametrize("level", AccessLevel)
def test_each_level_allows_itself_and_those_below_it_and_no_more(level: AccessLevel) -> None:
    assert {minimum for minimum in AccessLevel if allows(level, minimum)} == ALLOWED[level]
    assert {minimum for minimum in AccessLevel if level.implies(minimum)} == ALLOWED[level]


def test_somebody_who_is_not_a_member_is_allowed_nothing() -> None:
    assert not any(allows(None, minimum) for minimum in AccessLevel)


def test_the_levels_that_are_enough_are_those_that_imply_the_minimum() -> None:
    assert {minimum: access.levels_from(minimum) for minimum in AccessLevel} == {
        READER: (OWNER, MANAGER, WRITER, READER),
        WRITER: (OWNER, MANAGER, WRITER),
        MANAGER: (OWNER, MANAGER),
        OWNER: (OWNER,),
    }


@pytest.mark.parametrize(
    ("client_id", "bound_to", "may"),
    [
        (None, None, False),
        (None, "planner", False),
        ("planner", None, True),
        ("planner", "planner", True),
        ("planner", "coder", False),
        ("planner", "Planner", False),
    ],
    ids=[
        "a user, where a user created it",
        "a user, where a client created it",
        "an agent, where a user created it",
        "the agent that created it",
        "another agent",
        "an agent of another case",
    ],
)
def test_context_is_for_agents_and_only_for_the_client_that_the_conversation_is_bound_to(
    client_id: str | None, bound_to: str | None, may: bool
) -> None:
    caller = Caller("ann", client_id, frozenset({"admin"}))

    assert access.may_use_context(caller, bound_to=bound_to) is may
    if may:
        access.require_context(caller, bound_to=bound_to)
    else:
        with pytest.raises(ForbiddenError):
            access.require_context(caller, bound_to=bound_to)


def test_an_owner_gives_each_lower_level_a_manager_those_below_and_others_none() -> None:
    assert {level: access.grants(level) for level in AccessLevel} == {
        OWNER: (MANAGER, WRITER, READER),
        MANAGER: (WRITER, READER),
        WRITER: (),
        READER: (),
    }
    access.require_grant(MANAGER, WRITER, READER)
    for level, wanted in ((MANAGER, (READER, MANAGER)), (WRITER, (READER,)), (OWNER, (OWNER,))):
        with pytest.raises(ForbiddenError, match="has no say in level"):
            access.require_grant(level, *wanted)


def test_a_user_without_an_agent_is_told_what_a_context_needs() -> None:
    with pytest.raises(ForbiddenError, match="only an agent"):
        access.require_context(Caller("ann"), bound_to=None)
    with pytest.raises(ForbiddenError, match="belongs to another client"):
        access.require_context(Caller("ann", "coder"), bound_to="planner")
