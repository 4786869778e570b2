"""Imports on the real service: whole, stopped anywhere, repeated, and after somebody went on."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.importing import plan as plans
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree, ImportReport
from forklore.importing.laying_out import lines_of
from forklore.importing.loading import (
    ImportAnswer,
    ImportCall,
    ImportRefusal,
    ImportRefusedError,
    Loading,
)
from forklore.importing.plan import Plan, PlannedAt
from forklore.importing.plan_trees import plan_tree
from tests.clients.importing.builders import (
    SOUP,
    Raw,
    answer,
    ask,
    line_of,
    parse_trees,
    tree_of,
    tree_with_parents,
)
from tests.clients.importing.service import Service, Stopped
from tests.service.domain.builders import examples


def plan_of(tree: ForeignTree, service: Service, again: str = "") -> Plan:
    return plan_tree(tree, owner=service.user, report=ImportReport(), again=again)


def path_to(tree: ForeignTree, leaf: int) -> list[str]:
    path: list[str] = []
    at: int | None = leaf
    while at is not None:
        path.insert(0, tree.messages[at].text)
        at = tree.messages[at].parent
    return path


def check_shown(service: Service, tree: ForeignTree, loading: Loading) -> None:
    """Compare every path from a root to a leaf with what the leaf's conversation shows."""
    _, place_of = lines_of(tree)
    for index, message in enumerate(tree.messages):
        if not message.replies:
            shown = service.texts(loading.conversation_id(place_of[index].conversation))
            assert shown == path_to(tree, index)


def check_shown_within(service: Service, tree: ForeignTree, loading: Loading) -> None:
    """Compare as `check_shown`, but somebody may have gone on after the leaf."""
    _, place_of = lines_of(tree)
    for index, message in enumerate(tree.messages):
        if not message.replies:
            shown = service.texts(loading.conversation_id(place_of[index].conversation))
            path = path_to(tree, index)
            assert shown[: len(path)] == path
            assert set(shown[len(path) :]) <= {"mine"}


def backward(service: Service, plan: Plan) -> Loading:
    """Carry a plan out: each time, the last batch that can begin is next."""
    loading, waiting = Loading(plan), list(reversed(range(len(plan.batches))))
    done: set[int] = set()
    while waiting:
        number = next(n for n in waiting if done.issuperset(plan.batches[n].needs))
        waiting.remove(number)
        service.drive(loading, number)
        done.add(number)
    return loading


def long_line(length: int) -> ForeignTree:
    return tree_with_parents(list(range(length - 1)))


def test_each_conversation_shows_the_path_to_its_leaf(service: Service) -> None:
    tree = tree_of(SOUP)

    loading = service.load(plan_of(tree, service))

    check_shown(service, tree, loading)
    assert len(service.forks(loading.conversation_id(0))) == 5
    assert (loading.appended, loading.found, service.asked) == (11, 0, 5)


@pytest.mark.long
@examples(25)
@given(st.integers(0, 12).flatmap(lambda n: st.tuples(*(st.integers(0, i) for i in range(n)))), st.data())
def test_a_stopped_import_goes_on_and_doubles_nothing(
    new_service: Callable[..., Service], parents: tuple[int, ...], data: st.DataObject
) -> None:
    service, tree = new_service(), tree_with_parents(list(parents))
    plan = plan_of(tree, service)
    service.stop_after = data.draw(st.integers(0, len(plan.batches)))
    with suppress(Stopped):
        service.load(plan)
    service.stop_after = None
    service.forgets = data.draw(st.sampled_from(["", "x"]))

    loading = service.load(plan)

    check_shown(service, tree, loading)
    rows = service.ask("listEntries", conversationId=loading.conversation_id(0), allForks=True, limit=1000)
    assert len(rows["data"]) == len(tree.messages)
    assert len(service.forks(loading.conversation_id(0))) == len(plan.conversations)


@examples(25)
@given(
    st.integers(0, 12).flatmap(lambda n: st.tuples(*(st.integers(0, i) for i in range(n)))),
    st.sets(st.integers(0, 12)),
    st.integers(1, 6),
    st.data(),
)
def test_an_agent_remembers_the_last_summary_and_what_follows_and_so_does_every_fork(
    new_service: Callable[..., Service],
    parents: tuple[int, ...],
    summaries: set[int],
    size: int,
    data: st.DataObject,
) -> None:
    service, plain = new_service("planner"), tree_with_parents(list(parents))
    messages = [replace(one, is_summary=at in summaries) for at, one in enumerate(plain.messages)]
    tree = replace(plain, messages=tuple(messages))
    with mock.patch.object(plans, "BATCH_ENTRIES_MAX", size):
        plan = plan_tree(tree, owner=service.user, report=ImportReport(), client="planner")
    service.stop_after = data.draw(st.integers(0, len(plan.batches)))
    with suppress(Stopped):
        service.load(plan)
    service.stop_after, service.forgets = None, data.draw(st.sampled_from(["", "x"]))

    loading = service.load(plan)

    _, place_of = lines_of(tree, {at: [one] for at, one in enumerate(messages) if _memory(tree, at)})
    for at, one in enumerate(messages):
        shown = loading.conversation_id(place_of[at].conversation)
        if one.replies and size > 1:
            entry = loading.placed[place_of[at]][1]
            shown = service.ask("forkConversation", conversationId=shown, atEntryId=entry, position="after")[
                "id"
            ]
        elif one.replies:
            continue
        rows = service.ask("listEntries", conversationId=shown, channel="history", limit=1000)["data"]
        assert [row["content"][0]["text"] for row in rows] == path_to(tree, at)
        rows = service.ask("listEntries", conversationId=shown, channel="context", limit=1000)["data"]
        assert [row["content"][0]["text"] for row in rows] == _memory(tree, at)


@examples(25)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=10),
    st.sets(st.integers(0, 10), min_size=1),
    st.integers(2, 6),
    st.data(),
)
def test_whoever_imports_what_has_grown_doubles_nothing_and_no_context_has_a_hole(
    new_service: Callable[..., Service],
    numbers: list[int],
    summaries: set[int],
    size: int,
    data: st.DataObject,
) -> None:
    service, said = new_service(), False
    parents = [number % (index + 1) for index, number in enumerate(numbers)]
    ends = data.draw(st.lists(st.integers(0, len(parents)), min_size=1, max_size=3))
    for end in sorted([*ends, len(parents)]):
        service.agent = data.draw(st.sampled_from([None, "planner", "other"]))
        service.forgets += "x"
        plain = tree_with_parents(parents[:end])
        messages = [replace(one, is_summary=int(one.text[1:]) in summaries) for one in plain.messages]
        tree = replace(plain, messages=tuple(messages))
        with mock.patch.object(plans, "BATCH_ENTRIES_MAX", size):
            plan = plan_tree(tree, owner=service.user, report=ImportReport(), client=service.agent)

        loading = service.load(plan)

        check_remembered(service, tree, loading)
        root = loading.conversation_id(0)
        rows = service.ask("listEntries", conversationId=root, channel="history", allForks=True, limit=1000)[
            "data"
        ]
        texts = [row["content"][0]["text"] for row in rows]
        assert len(set(texts) - {"mine"}) == len([text for text in texts if text != "mine"]) == len(messages)
        if not said and data.draw(st.booleans()):
            service.say(loading.conversation_id(len(plan.conversations) - 1), "mine")
            said = True


def check_remembered(service: Service, tree: ForeignTree, loading: Loading) -> None:
    """Compare what each leaf shows with the way to it, and the context with a memory of the way.

    It is the whole memory, where nothing of it was left out.
    """
    remembered = {at: [at] for at in range(len(tree.messages)) if service.agent and _memory(tree, at)}
    _, place_of = lines_of(tree, remembered)
    for at, one in enumerate(tree.messages):
        if one.replies:
            continue
        way = path_to(tree, at)
        shown = loading.conversation_id(place_of[at].conversation)
        rows = service.ask("listEntries", conversationId=shown, channel="history", limit=1000)["data"]
        assert [row["content"][0]["text"] for row in rows][: len(way)] == way
        if service.agent is None:
            continue
        answer = service.answer(
            ImportCall("listEntries", {"conversationId": shown, "channel": "context", "limit": 1000})
        )
        texts = (
            [row["content"][0]["text"] for row in answer.body["data"]]
            if isinstance(answer, ImportAnswer)
            else []
        )
        if any(f"context {text}" in loading.left_out for text in _memory(tree, at)):
            above = [_memory(tree, one) for one in range(at) if tree.messages[one].text in way]
            assert texts in [[], *above]
        else:
            assert texts == _memory(tree, at)


def _memory(tree: ForeignTree, at: int) -> list[str]:
    """Return the texts from the last summary on the way to a message to it; nothing without one."""
    texts: list[str] = []
    way: int | None = at
    while way is not None:
        texts.insert(0, tree.messages[way].text)
        if tree.messages[way].is_summary:
            return texts
        way = tree.messages[way].parent
    return []


@pytest.mark.parametrize("forgets", ["", "x"])
@pytest.mark.parametrize("stop_after", range(7))
def test_an_archived_tree_with_a_child_is_whole_wherever_its_import_was_stopped(
    service: Service, stop_after: int, forgets: str
) -> None:
    texts = [("q", None), ("a", 0), ("child", 1), ("more", 2), ("b", 0)]
    replies: dict[int, tuple[int, ...]] = {0: (1, 4), 2: (3,)}
    messages = tuple(
        ForeignMessage(text, {"text": text}, parent, replies.get(at, ()), is_child=text == "child")
        for at, (text, parent) in enumerate(texts)
    )
    plan = plan_of(ForeignTree("t", messages, current=4, is_archived=True), service)
    service.stop_after = stop_after
    with suppress(Stopped):
        service.load(plan)
    service.stop_after, service.forgets = None, forgets

    loading = service.load(plan)

    root, child, fork = (loading.conversation_id(number) for number in range(3))
    assert [service.texts(one) for one in (root, child, fork)] == [["q", "a"], ["child", "more"], ["q", "b"]]
    told = service.ask("getConversation", conversationId=child)
    assert told["startedByConversationId"] == root
    assert told["startedByEntryId"] == service.view(root)[1]["id"]
    assert service.ask("getConversation", conversationId=fork)["isCurrent"]
    assert [service.ask("getConversation", conversationId=one).get("archived") for one in (root, child)] == [
        True,
        None,
    ]
    assert len(service.ask("listChildren", conversationId=root)["data"]) == 1
    assert service.asked <= stop_after + 12


def test_a_second_import_finds_all_and_asks_twice_for_each_conversation(service: Service) -> None:
    tree = long_line(100)
    first = service.load(plan_of(tree, service))
    service.asked, service.forgets = 0, "x"

    second = service.load(plan_of(tree, service))

    assert second.placed == first.placed
    assert (second.appended, second.found, service.asked) == (0, 100, 2)


def test_a_newer_export_adds_to_the_older_one(service: Service) -> None:
    older = tree_of(ask("a", answer("b")))
    newer = tree_of(ask("a", answer("b", ask("c", answer("d"), answer("e"))), answer("f")))
    first = service.load(plan_of(older, service))

    second = service.load(plan_of(newer, service))

    check_shown(service, newer, second)
    assert second.conversation_id(0) == first.conversation_id(0)
    assert (second.appended, second.found) == (4, 2)


def test_the_order_of_the_replies_may_change(service: Service) -> None:
    service.load(plan_of(tree_of(ask("a", answer("b", ask("c")), answer("d"))), service))
    tree = tree_of(ask("a", answer("d", ask("e")), answer("b", ask("c"))))

    loading = service.load(plan_of(tree, service))

    check_shown(service, tree, loading)
    rows = service.ask("listEntries", conversationId=loading.conversation_id(0), allForks=True)["data"]
    texts = sorted(row["content"][0]["text"] for row in rows)
    assert texts == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("length", [43, 44, 45])
def test_the_order_of_the_replies_may_change_where_a_batch_ends(service: Service, length: int) -> None:
    one, other = answer("one", ask("one more")), answer("other", ask("other more"))
    for replies in ((one, other), (other, one)):
        prompt = ask(f"m{length - 1}", *replies)
        for number in reversed(range(length - 1)):
            prompt = ask(f"m{number}", prompt)
        tree = tree_of(prompt)
        loading = backward(service, plan_of(tree, service))
        check_shown(service, tree, loading)
        root = loading.conversation_id(0)
        rows = service.ask("listEntries", conversationId=root, allForks=True, limit=100)["data"]
        assert len(rows) == length + 4


def test_what_comes_later_is_forked_off_where_somebody_went_on(service: Service) -> None:
    older = tree_of(ask("a", answer("b")))
    newer = tree_of(ask("a", answer("b", ask("c", answer("d"), answer("e")))))
    first = service.load(plan_of(older, service))
    service.say(first.conversation_id(0), "mine")

    second = service.load(plan_of(newer, service))
    service.forgets = "x"
    third = service.load(plan_of(newer, service))

    assert service.texts(first.conversation_id(0)) == ["a", "b", "mine"]
    check_shown(service, newer, second)
    check_shown(service, newer, third)
    assert third.placed == second.placed
    assert third.appended == 0


@pytest.mark.long
@examples(25)
@given(st.lists(st.integers(0, 100), min_size=2, max_size=10), st.data())
def test_newer_exports_and_words_of_others_never_mix(
    new_service: Callable[..., Service], numbers: list[int], data: st.DataObject
) -> None:
    service = new_service()
    parents = [number % (index + 1) for index, number in enumerate(numbers)]
    said: dict[str, list[str]] = {}
    tree = tree_with_parents(parents)
    root = plan_of(tree, service).conversations[0].conversation_id
    for end in sorted({data.draw(st.integers(0, len(parents))), len(parents)}):
        tree = tree_with_parents(parents[:end])
        service.forgets += "x"
        loading = service.load(plan_of(tree, service))
        check_shown_within(service, tree, loading)
        for number in data.draw(st.sets(st.integers(0, len(loading.plan.conversations) - 1), max_size=2)):
            conversation_id = loading.conversation_id(number)
            service.say(conversation_id, "mine")
            said[conversation_id] = service.texts(conversation_id)

    service.forgets += "x"
    again = service.load(plan_of(tree, service))

    check_shown_within(service, tree, again)
    assert again.appended == 0
    assert {conversation_id: service.texts(conversation_id) for conversation_id in said} == said
    rows = service.ask("listEntries", conversationId=root, allForks=True, limit=1000)
    texts = [row["content"][0]["text"] for row in rows["data"]]
    assert sorted(set(texts) - {"mine"}) == sorted(text for text in texts if text != "mine")


def test_somebody_who_writes_during_the_import_stays_apart(service: Service) -> None:
    tree = long_line(100)
    plan = plan_of(tree, service)
    service.stop_after = 1
    with pytest.raises(Stopped):
        service.load(plan)
    service.stop_after = None
    service.say(plan.conversations[0].conversation_id, "mine")

    loading = service.load(plan)

    check_shown(service, tree, loading)
    assert service.texts(plan.conversations[0].conversation_id)[-2:] == ["m43", "mine"]


def test_an_import_that_was_deleted_is_not_made_again_unless_asked(service: Service) -> None:
    tree = tree_of(SOUP)
    first = service.load(plan_of(tree, service))
    service.ask("deleteConversation", conversationId=first.conversation_id(0))

    with pytest.raises(ImportRefusedError, match="was imported before, and deleted since"):
        service.load(plan_of(tree, service))

    check_shown(service, tree, service.load(plan_of(tree, service, again="2")))


def test_the_context_of_another_agent_behind_its_own_is_in_nobodys_way(service: Service) -> None:
    def load(prompt: Raw) -> Loading:
        plain, service.forgets = tree_of(prompt), service.forgets + "x"
        first, *others = plain.messages
        tree = replace(plain, messages=(replace(first, is_summary=True), *others))
        return service.load(plan_tree(tree, owner=service.user, report=ImportReport(), client=service.agent))

    root = load(ask("a")).conversation_id(0)
    service.agent = "planner"
    load(ask("a"))
    service.agent = "other"
    service.ask("syncContext", conversationId=root, contentType="x", content=["mine"])
    service.agent = "planner"

    loading = load(ask("a", answer("b")))

    assert (loading.appended, loading.left_out) == (2, [])
    assert service.texts(root) == ["a", "a", "b", "b"]


def test_a_file_that_is_gone_is_not_told_as_a_deleted_conversation(service: Service) -> None:
    steps = Loading(plan_of(tree_of(SOUP), service)).batch(0)
    next(steps)

    with pytest.raises(ImportRefusedError, match="404 no attachment"):
        steps.send(ImportRefusal(404, message="no attachment", field="attachments"))


def test_a_fork_waits_for_the_reply_behind_a_message_and_its_context(service: Service) -> None:
    plain = tree_of(ask("a", answer("b"), answer("c")))
    tree = replace(plain, messages=tuple(replace(one, is_summary=one.text == "a") for one in plain.messages))
    with mock.patch.object(plans, "BATCH_ENTRIES_MAX", 2):
        plan = plan_tree(tree, owner=service.user, report=ImportReport(), client="planner")

    assert [batch.needs for batch in plan.batches] == [(), (0,), (0, 1)]


def test_two_users_import_the_same_file_apart(new_service: Callable[..., Service]) -> None:
    tree, ann, bob = tree_of(SOUP), new_service(), new_service()

    first, second = ann.load(plan_of(tree, ann)), bob.load(plan_of(tree, bob))

    assert first.conversation_id(0) != second.conversation_id(0)
    check_shown(bob, tree, second)


def test_messages_with_one_id_stay_apart(service: Service) -> None:
    tree = tree_of(ask("a", answer("b"), answer("b"), answer("b", ask("é" * 200))))

    loading = service.load(plan_of(tree, service))

    check_shown(service, tree, loading)
    assert loading.plan.conversations[2].entries[0].key == "b~3"


def test_large_messages_go_in_batches_that_the_service_takes(service: Service) -> None:
    prompt = ask("a" * 2_000_000, answer("b" * 2_000_000, ask("c" * 1_000_000)))
    (tree,) = parse_trees([line_of(prompt)])

    loading = service.load(plan_of(tree, service))

    check_shown(service, tree, loading)
    assert [(batch.start, batch.end) for batch in loading.plan.batches] == [(0, 1), (1, 2), (2, 3)]


def test_batches_of_a_plan_may_run_in_any_order_that_keeps_their_needs(service: Service) -> None:
    tree = tree_with_parents([0, 1, 0, 3, 1, 2, 0, 7, 4])
    plan = plan_of(tree, service)
    loading = backward(service, plan)

    check_shown(service, tree, loading)
    assert set(loading.placed) == {
        PlannedAt(number, index)
        for number, conversation in enumerate(plan.conversations)
        for index in range(len(conversation.entries))
    }
