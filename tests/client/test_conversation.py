"""A conversation to talk in, with and without `await`: the service runs in this process."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    TooLargeError,
    role_of,
    text_of,
)
from tests.client.ways import MODES, Way, opened

Do = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module", params=MODES)
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
def chat(ann: Any, do: Do) -> Any:
    """A conversation with four messages."""
    chat = ann.conversation()
    for n in range(4):
        do(lambda n=n: chat.say("user" if n % 2 == 0 else "ai", f"message {n}"))  # type: ignore[misc]
    return chat


def texts(do: Do, chat: Any, **more: Any) -> list[str | None]:
    return [text_of(one) for one in do(lambda: chat.entries(channel="history", **more).list())]


def test_a_name_stands_for_the_conversation_that_it_pointed_to_at_the_first_call(ann: Any, do: Do) -> None:
    chat, again = ann.named("first call"), ann.named("first call")
    assert repr(chat).endswith("Conversation('first call')")
    with pytest.raises(InputError, match="known after the first call"):
        _ = chat.id
    with pytest.raises(NotFoundError):
        do(chat.resolve)

    said = do(lambda: chat.say("user", "Hello"))
    assert (chat.id, chat.name) == (said.conversation_id, "first call")
    assert do(again.resolve) == chat.id
    other = ann.conversation()
    do(lambda: other.say("user", "elsewhere"))
    do(lambda: other.point("first call"))
    do(lambda: chat.say("user", "still here"))

    assert texts(do, chat) == texts(do, again) == ["Hello", "still here"]
    assert texts(do, ann.named("first call")) == ["elsewhere"]
    with pytest.raises(ConflictError) as caught:
        do(lambda: other.point("first call", expect_revision=0))
    assert caught.value.reason


def test_a_conversation_by_an_id_is_made_by_its_first_entry(ann: Any, do: Do) -> None:
    chat = ann.conversation()
    with pytest.raises(NotFoundError):
        do(chat.details)
    do(lambda: chat.say("user", "Hello", title="of the first entry"))

    assert do(chat.details).title == "of the first entry"
    made = do(lambda: ann.create(title="empty"))
    assert texts(do, made) == []
    assert do(made.details).title == "empty"


def test_a_message_can_be_bound_to_what_came_last(chat: Any, do: Do) -> None:
    last = do(lambda: chat.entries(backward=True).first())
    do(lambda: chat.say("user", "in time", if_last=last, key="mine"))

    with pytest.raises(ConflictError):
        do(lambda: chat.say("user", "too late", if_last=last.id))
    with pytest.raises(ConflictError):
        do(lambda: chat.say("user", "the same key", key="mine"))
    keyed = do(lambda: chat.entry_of("mine"))
    assert (text_of(keyed), role_of(keyed)) == ("in time", "user")
    assert do(lambda: chat.entry(keyed.id)).key == "mine"


def test_a_key_makes_one_entry_of_two_calls(chat: Any, do: Do) -> None:
    one = do(lambda: chat.say("user", "once", idempotency_key="k"))
    other = do(lambda: chat.say("user", "once", idempotency_key="k"))

    assert one == other
    assert texts(do, chat)[-2:] == ["message 3", "once"]


def test_a_turn_holds_a_message_and_the_whole_memory(chat: Any, do: Do) -> None:
    first = do(lambda: chat.turn("ai", "one", context=[{"n": 1}], usage={"inputTokens": 3}))
    second = do(lambda: chat.turn("ai", "two", context=({"n": 1}, {"n": 2})))
    alone = do(lambda: chat.turn("ai", "three"))

    assert (first.usage, first.context.epoch) == ({"inputTokens": 3}, 1)
    assert not second.context.epoch_incremented
    assert alone.context is None
    assert do(chat.context.latest) == [{"n": 1}, {"n": 2}]
    synced = do(lambda: chat.context.sync([{"n": 3}]))
    assert synced.epoch_incremented
    assert do(chat.context.latest) == [{"n": 3}]
    earlier = do(lambda: chat.context.entries(epoch=1).list())
    assert [one.content for one in earlier] == [[{"n": 1}], [{"n": 2}]]
    assert do(lambda: chat.context.sync(({"n": 3},))).no_op


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_entries_are_the_same_in_pages_of_any_size_and_in_both_directions(
    chat: Any, do: Do, size: int
) -> None:
    forward = [f"message {n}" for n in range(4)]

    assert texts(do, chat, page_entries=size) == forward
    assert texts(do, chat, page_entries=size, backward=True) == forward[::-1]
    second = do(lambda: chat.entries().list(limit=2))[1]
    assert texts(do, chat, page_entries=size, after=second) == forward[2:]
    assert texts(do, chat, after=second.id) == forward[2:]


def test_a_fork_goes_on_before_or_after_an_entry(chat: Any, do: Do) -> None:
    asked = do(lambda: chat.entries().list())[2]
    before, after, end = (
        do(lambda: chat.fork(before=asked)),
        do(lambda: chat.fork(after=asked.id, title="after")),
        do(chat.fork),
    )
    several = do(lambda: chat.fork(after=asked, count=3))

    shown = [f"message {n}" for n in range(4)]
    assert (texts(do, before), texts(do, after), texts(do, end)) == (shown[:2], shown[:3], shown)
    assert [texts(do, one) for one in several] == [shown[:3]] * 3
    assert do(after.details).title == "after"
    assert len({one.id for one in (chat, before, after, end, *several)}) == 7
    assert len(do(lambda: chat.forks().list())) == 7
    [alone] = do(lambda: chat.fork(count=1))
    assert texts(do, alone) == shown
    assert [one.conversation_id for one in do(before.ancestors)] == [chat.id, before.id]
    do(lambda: chat.say("user", "with a key", key="mine"))
    for more, shows in (({}, shown), ({"position": "after"}, [*shown, "with a key"])):
        assert texts(do, do(lambda more=more: chat.fork(at_key="mine", **more))) == shows  # type: ignore[misc]


def test_a_fork_can_take_a_name_or_the_name_of_its_origin(ann: Any, do: Do) -> None:
    chat = ann.named("moves")
    asked = do(lambda: chat.say("user", "Two nights?"))
    named = do(lambda: chat.fork(name="another"))
    edit = do(lambda: chat.fork(before=asked, move_name=True, promote=True))
    do(lambda: edit.say("user", "Three nights?"))

    assert (named.name, edit.name) == ("another", "moves")
    assert texts(do, ann.named("moves")) == ["Three nights?"]
    assert do(ann.named("another").resolve) == named.id
    assert texts(do, chat) == ["Two nights?"]
    assert [one.conversation_id for one in do(lambda: chat.forks().list()) if one.is_current] == [edit.id]
    do(chat.promote)
    assert [one.conversation_id for one in do(lambda: chat.forks().list()) if one.is_current] == [chat.id]


@pytest.mark.parametrize(
    "more", [{"before": "a", "after": "b"}, {"move_name": True}, {"name": "x", "move_name": True}]
)
def test_a_fork_that_is_asked_for_in_two_ways_is_refused(chat: Any, do: Do, more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        do(lambda: chat.fork(**more))


def test_entries_cannot_begin_in_the_middle_and_go_backward(chat: Any) -> None:
    with pytest.raises(InputError, match="without after"):
        chat.entries(backward=True, after="x")


def test_alternatives_are_the_branches_that_go_on_differently(chat: Any, do: Do) -> None:
    asked = do(lambda: chat.entries().list())[2]
    edit = do(lambda: chat.fork(before=asked))
    said = do(lambda: edit.say("user", "another"))

    assert [one.id for one in do(lambda: chat.alternatives_of(asked))] == [edit.id]
    assert [one.id for one in do(lambda: edit.alternatives_of(said.id))] == [chat.id]
    with pytest.raises(NotFoundError):
        do(lambda: chat.alternatives_of(said))
    compared = do(lambda: chat.compare(edit))
    assert [branch.conversation_id for branch in compared.branches] == [chat.id, edit.id]
    assert do(lambda: chat.compare(edit.id, limit=1)).branches[1].data[0].id == said.id


def test_what_a_branch_shows_can_be_merged_and_copied(chat: Any, do: Do) -> None:
    branch = do(chat.fork)
    do(lambda: branch.say("user", "of the branch"))
    merged = do(lambda: chat.merge(branch))
    assert [text_of(one) for one in merged] == ["of the branch"]
    assert texts(do, chat)[-1] == "of the branch"

    drafts = [{"contentType": "history", "content": [{"role": "USER", "text": str(n)}]} for n in range(50)]
    assert len(do(lambda: branch.append_all(drafts))) == 50
    do(lambda: branch.say("user", "one more"))
    with pytest.raises(TooLargeError):
        do(lambda: chat.merge(branch.id))
    copy = do(lambda: branch.copy(title="mine"))
    assert texts(do, copy) == texts(do, branch)
    assert do(copy.details).title == "mine"


def test_a_child_is_made_by_its_first_entry_and_only_then(chat: Any, do: Do) -> None:
    asked = do(lambda: chat.entries().first())
    child = do(lambda: chat.start_child("hotel-finder", by=asked, title="of a task"))
    assert do(lambda: chat.children().list()) == []
    do(lambda: child.say("user", "Find one"))
    do(lambda: child.say("ai", "Found"))
    other = do(chat.start_child)
    do(lambda: other.say("user", "Something else"))

    assert [one.id for one in do(lambda: chat.children().list())] == [child.id, other.id]
    assert [one.id for one in do(lambda: chat.children(by=asked).list())] == [child.id]
    details = do(child.details)
    assert (details.title, details.agent_id) == ("of a task", "hotel-finder")
    assert texts(do, child) == ["Find one", "Found"]


def test_a_tree_is_shared_changed_and_deleted_as_a_whole_or_by_branch(way: Way, chat: Any, do: Do) -> None:
    do(lambda: chat.update(title="new", tags={"a": "b"}))
    assert (do(chat.details).title, do(chat.details).tags) == ("new", {"a": "b"})
    membership = do(lambda: chat.share("bob", "writer"))
    assert (membership.user_id, membership.access_level) == ("bob", "writer")
    assert do(lambda: chat.share("bob", "reader")).access_level == "reader"
    assert do(lambda: chat.share("bob", "writer")).access_level == "writer"
    assert [one.user_id for one in do(lambda: chat.members().list())] == ["ann", "bob"]
    with pytest.raises(BadRequestError, match="by a transfer only"):
        do(lambda: chat.share("ann", "reader"))
    bobs = way.client("bob").conversation(chat.id)
    do(lambda: bobs.say("user", "from Bob"))
    do(lambda: chat.unshare("bob"))
    with pytest.raises(ForbiddenError):
        do(bobs.details)

    branch = do(chat.fork)
    do(branch.delete)
    with pytest.raises(NotFoundError):
        do(branch.details)
    assert texts(do, chat)[-1] == "from Bob"
    other = do(chat.fork)
    do(chat.delete_tree)
    for gone in (chat, other):
        with pytest.raises(NotFoundError):
            do(gone.details)


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


def test_an_append_of_one_returns_one_and_of_many_returns_many(chat: Any, do: Do) -> None:
    one = do(lambda: chat.append([{"any": "thing"}], content_type="mine"))
    assert (one.content_type, text_of(one), role_of(one)) == ("mine", None, None)
    [many] = do(lambda: chat.append_all([{"contentType": "x", "content": [1]}]))
    assert many.content == [1]
    with pytest.raises(InputError, match="entries has at most 50 elements"):
        do(lambda: chat.append_all([{"contentType": "x", "content": []}] * 51))


def test_a_key_that_was_sent_by_a_name_appends_nothing_where_the_name_points_later(ann: Any, do: Do) -> None:
    chat = ann.named("goes elsewhere")
    asked = do(lambda: chat.say("user", "once", idempotency_key="by the name"))
    assert do(lambda: chat.say("user", "once", idempotency_key="by the name")).id == asked.id
    fork = do(lambda: chat.fork(after=asked, move_name=True))

    with pytest.raises(InputError) as caught:
        do(lambda: chat.say("user", "once", idempotency_key="by the name"))

    assert caught.value.field == "idempotency_key"
    assert len(do(lambda: fork.entries().list())) == 1
