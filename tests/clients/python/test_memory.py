"""An agent's memory is guarded: what another writer has added is not replaced unseen."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore import ConflictError, Memory
from tests.clients.python.ways import EACH_MODE, Way, opened

Do = Callable[[Callable[[], Any]], Any]
Write = Callable[[Any, Any], Any]
WRITES: dict[str, Write] = {
    "sync": lambda chat, memory: chat.context.sync(memory),
    "turn": lambda chat, memory: chat.turn("ai", "so", context=memory),
}


@pytest.fixture(scope="module", params=EACH_MODE)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    with pytest.MonkeyPatch.context() as environment, opened("process", request.param, environment) as way:
        yield way


@pytest.fixture
def do(way: Way) -> Do:
    return way.run


@pytest.fixture
def ann(way: Way) -> Any:
    return way.client(agent="planner")


@pytest.fixture
def chat(ann: Any, do: Do) -> Any:
    """A conversation with a memory."""
    chat = ann.conversation()
    do(lambda: chat.turn("user", "Hi", context=["known"]))
    return chat


def again(ann: Any, chat: Any) -> Any:
    """Return the same conversation as another process has it."""
    return ann.conversation(chat.id)


def moved(do: Do, write: Callable[[], Any]) -> None:
    with pytest.raises(ConflictError) as refused:
        do(write)
    assert refused.value.reason == "context_moved"


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    "spell", [lambda m, one: [*m, one], lambda m, one: (m.append(one), m)[1]], ids=["a new list", "the same"]
)
@pytest.mark.parametrize("is_kept", [True, False], ids=["one object", "another object"])
def test_of_two_writers_that_have_read_one_memory_the_second_is_refused(
    ann: Any, chat: Any, do: Do, write: Write, spell: Callable[[Any, str], Any], *, is_kept: bool
) -> None:
    one, other = again(ann, chat), again(ann, chat)
    mine, yours = do(one.context.latest), do(other.context.latest)
    do(lambda: write(one if is_kept else again(ann, chat), spell(mine, "mine")))

    moved(do, lambda: write(other if is_kept else again(ann, chat), spell(yours, "yours")))

    read = do(other.context.latest)
    assert read == ["known", "mine"]
    do(lambda: write(other, spell(read, "yours")))
    assert do(one.context.latest) == ["known", "mine", "yours"]
    assert len(do(chat.entries(channel="history").list)) == (1 if write is WRITES["sync"] else 3)


def test_a_memory_that_was_read_by_one_object_is_guarded_in_another(ann: Any, chat: Any, do: Do) -> None:
    read = do(again(ann, chat).context.latest)
    do(lambda: chat.context.sync(["known", "mine"]))
    read[:] = ["all new"]

    moved(do, lambda: again(ann, chat).context.sync(read))


def test_two_lists_of_one_object_are_told_apart(chat: Any, do: Do) -> None:
    mine, yours = do(chat.context.latest), do(chat.context.latest)
    mine.append("mine")
    do(lambda: chat.context.sync(mine))
    yours.append("yours")

    moved(do, lambda: chat.context.sync(yours))
    moved(do, lambda: chat.context.sync(["yours"], based_on=yours))
    moved(do, lambda: chat.turn("ai", "so", context=["yours"], based_on=yours))


def test_a_list_goes_on_from_what_it_has_written(chat: Any, do: Do) -> None:
    memory = do(chat.context.latest)
    for content in (["a", "b"], ["c"], ["c"], []):
        memory[:] = content
        do(lambda: chat.context.sync(memory))
        do(lambda: chat.turn("ai", "so", context=memory))
        assert do(chat.context.latest) == content


def test_two_writers_that_have_found_no_memory_are_told_apart(ann: Any, do: Do) -> None:
    chat = ann.conversation()
    do(lambda: chat.say("user", "Hi"))
    one, other = again(ann, chat), again(ann, chat)
    mine, yours = do(one.context.latest), do(other.context.latest)
    assert (mine, mine.based_on) == ([], "none")
    do(lambda: one.context.sync([*mine, "mine"]))

    moved(do, lambda: other.context.sync([*yours, "yours"]))


def test_a_memory_is_replaced_by_who_has_read_or_written_it_or_says_so(ann: Any, chat: Any, do: Do) -> None:
    moved(do, lambda: again(ann, chat).context.sync(["new"]))
    do(lambda: chat.context.sync(["new"]))
    other = again(ann, chat)
    do(other.context.latest)
    do(lambda: other.context.sync(["newer"]))
    assert do(lambda: chat.context.sync(["newest"], based_on=None)).epoch_incremented
    moved(do, lambda: chat.context.sync(["no"], based_on="none"))


def test_a_memory_that_goes_on_from_all_that_is_stored_is_never_refused(ann: Any, chat: Any, do: Do) -> None:
    other = again(ann, chat)
    memory = do(other.context.latest)
    do(lambda: chat.context.sync(["known", "mine"]))
    memory += ["mine", "yours"]

    assert not do(lambda: other.context.sync(memory)).epoch_incremented


def test_a_repeated_turn_is_the_same_although_the_list_has_moved_on(chat: Any, do: Do) -> None:
    memory = do(chat.context.latest)
    memory.append("more")
    first, second = (
        do(lambda: chat.turn("ai", "so", context=memory, idempotency_key="one turn")) for _ in range(2)
    )
    assert first == second


def test_the_latest_memory_is_asked_for_from_the_place_that_was_read(
    ann: Any, chat: Any, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, cursors, listing = again(ann, chat), [], ann.api.list_entries

    def listen(*of: Any, **given: Any) -> Any:
        cursors.append(given["after_cursor"])
        return listing(*of, **given)

    monkeypatch.setattr(ann.api, "list_entries", listen)
    do(other.context.latest).append("not stored")
    assert do(other.context.latest) == ["known"]
    do(lambda: chat.context.sync(["known", "mine"]))
    assert do(other.context.latest) == ["known", "mine"]
    last = do(lambda: chat.context.sync(["new", {"n": [1]}])).entry.id
    do(other.context.latest)[1]["n"].append(2)
    assert do(other.context.latest) == ["new", {"n": [1]}]

    assert cursors[0] is None
    assert None not in cursors[1:]
    assert cursors[-1] == last


def test_a_memory_is_a_list(chat: Any, do: Do) -> None:
    memory = do(chat.context.latest)

    assert isinstance(memory, Memory)
    assert memory == ["known"]
    assert repr(memory) == "['known']"


def test_a_conversation_exists_if_the_caller_may_see_it(way: Way, chat: Any, do: Do) -> None:
    assert do(chat.exists)
    assert not do(way.client("zoe").conversation(chat.id).exists)
    do(chat.delete)
    assert not do(chat.exists)
