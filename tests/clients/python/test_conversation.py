"""A conversation to talk in: what the stories of test_contract.py do not tell."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore import ConflictError, InputError, text_of
from forklore.client.result_base import wire
from tests.clients.python.ways import EACH_MODE, Way, opened

Do = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module", params=EACH_MODE)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    with pytest.MonkeyPatch.context() as environment, opened("process", request.param, environment) as way:
        yield way


@pytest.fixture
def do(way: Way) -> Do:
    """Return the result of what one function calls, which is awaited if need be."""
    return way.run


@pytest.fixture
def ann(way: Way) -> Any:
    """The client of an agent of Ann's."""
    return way.client(agent="planner")


@pytest.fixture
def chat(ann: Any) -> Any:
    return ann.conversation()


def test_the_id_of_a_named_conversation_is_known_after_the_first_call(ann: Any, do: Do) -> None:
    chat = ann.named("first call")
    assert repr(chat).endswith("Conversation('first call')")
    with pytest.raises(InputError, match="known after the first call"):
        _ = chat.id

    said = do(lambda: chat.say("user", "Hello"))

    assert (chat.id, chat.name) == (said.conversation_id, "first call")


def test_several_branches_are_compared_from_where_all_of_them_part(chat: Any, do: Do) -> None:
    first = do(lambda: chat.say("user", "Where to?"))
    second = do(lambda: chat.say("ai", "Lisbon."))
    do(lambda: chat.say("user", "When?"))
    late, early = do(lambda: chat.fork(after=second)), do(lambda: chat.fork(after=first))
    blank = do(lambda: chat.fork(before=first))
    do(lambda: late.say("user", "How?"))
    do(lambda: early.say("ai", "Porto."))
    do(lambda: blank.say("user", "Hello"))

    def told(*others: Any) -> list[Any]:
        compared = do(lambda: chat.compare(*others, limit=2))
        said = [[text_of(entry) for entry in branch.data] for branch in compared.branches]
        return [compared.base.entry_id, *said]

    assert told(late) == [second.id, ["When?"], ["How?"]]
    assert told(late, early) == [first.id, ["Lisbon.", "When?"], ["Lisbon.", "How?"], ["Porto."]]
    assert told(early, late, chat.id)[3:] == [["Lisbon.", "How?"], ["Lisbon.", "When?"]]
    everything = [["Where to?", "Lisbon."], ["Where to?", "Lisbon."], ["Where to?", "Porto."], ["Hello"]]
    assert told(late, early, blank) == [None, *everything]
    compared = do(lambda: chat.compare(late, blank, limit=2))
    [rest] = do(lambda: late.entries(channel="history", after=compared.branches[1].after_cursor).list())
    assert text_of(rest) == "How?"


def test_an_entry_tells_who_says_what_and_has_no_files_if_there_are_none(chat: Any, do: Do) -> None:
    said = do(lambda: chat.say("user", "Where to?"))
    [shown] = do(chat.history().list)

    assert [(one.role, one.text, one.attachments) for one in (said, shown)] == [("user", "Where to?", ())] * 2
    assert "attachments" not in wire(said)


def test_a_fork_at_an_entry_ends_with_it(chat: Any, do: Do) -> None:
    first = do(lambda: chat.say("user", "Where to?"))
    do(lambda: chat.say("ai", "Lisbon."))

    for anchor in (first, first.id):
        fork = do(lambda anchor=anchor: chat.fork(anchor))  # type: ignore[misc]
        assert [one.text for one in do(fork.history().list)] == ["Where to?"]
    for wrong in ({"after": first}, {"before": first}, {"position": "before"}):
        with pytest.raises(InputError):
            do(lambda wrong=wrong: chat.fork(first, **wrong))  # type: ignore[misc]


def test_several_forks_have_names_of_their_own(ann: Any, chat: Any, do: Do) -> None:
    do(lambda: chat.say("user", "Where to?"))
    do(lambda: chat.point("taken-2"))

    forks = do(lambda: chat.fork(count=3, name="try", idempotency_key="tries"))
    again = do(lambda: chat.fork(count=3, name="try", idempotency_key="tries"))

    assert [one.id for one in again] == [one.id for one in forks]
    assert [one.name for one in forks] == ["try-1", "try-2", "try-3"]
    assert [do(ann.named(one.name).resolve) for one in forks] == [one.id for one in forks]
    with pytest.raises(ConflictError) as caught:
        do(lambda: chat.fork(count=3, name="taken"))
    assert caught.value.reason == "name_moved"
    with pytest.raises(InputError, match="moves to one fork"):
        do(lambda: chat.fork(count=2, name="try", move_name=True))


def test_usage_is_taken_in_the_words_of_python(chat: Any, do: Do) -> None:
    told = {"input_tokens": 3, "cached_input_tokens": 1, "cost_usd": 0.5}
    said = do(lambda: chat.say("ai", "Lisbon.", usage=told))

    assert said.usage == {"inputTokens": 3, "cachedInputTokens": 1, "costUsd": 0.5}
    synced = do(lambda: chat.context.sync(["m"], usage={"output_tokens": 2}))
    assert do(lambda: chat.entry(synced.last_entry_id)).usage == {"outputTokens": 2}


@pytest.mark.parametrize("count", [10, 11, 21])
def test_any_number_of_equal_forks_is_made_once(chat: Any, do: Do, count: int) -> None:
    first = do(lambda: chat.say("user", "Where to?"))
    do(lambda: chat.say("ai", "Lisbon."))

    forks = do(lambda: chat.fork(after=first, count=count, idempotency_key="tries"))
    again = do(lambda: chat.fork(after=first, count=count, idempotency_key="tries"))
    at_head = do(lambda: chat.fork(count=count))

    assert [one.id for one in again] == [one.id for one in forks]
    assert len({one.id for one in [*forks, *at_head]}) == 2 * count
    assert {len(do(one.entries().list)) for one in forks} == {1}
    assert {len(do(one.entries().list)) for one in at_head} == {2}


def test_entries_cannot_begin_in_the_middle_and_go_backward(chat: Any) -> None:
    with pytest.raises(InputError, match="without after"):
        chat.entries(backward=True, after="x")


def test_lists_of_the_client_go_over_all_pages(way: Way, do: Do) -> None:
    cat = way.client("cat")
    for n in range(3):
        do(lambda n=n: cat.named(f"list {n}").say("user", f"word number {n}"))  # type: ignore[misc]

    assert [one.name for one in do(lambda: cat.names("list").list())] == ["list 0", "list 1", "list 2"]
    assert do(lambda: cat.names("nothing").list()) == []
    assert len(do(lambda: cat.conversations(page_rows=1).list())) == 3
    assert len(do(lambda: cat.conversations().list())) == 3
    hits = do(lambda: cat.search("word", page_rows=1).list())
    assert sorted(text_of(one.entry) or "" for one in hits) == [f"word number {n}" for n in range(3)]
    assert do(lambda: cat.search("nowhere").first()) is None
