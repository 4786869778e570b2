"""What LangGraph's conformance suite leaves out: kills, two writers, large states, long threads."""

import base64
import random
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from forklore import ConflictError, Forklore, InputError, role_of, text_of
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.langgraph.records import BACK_MAX, Record
from forklore.adapters.langgraph.steps import Known, back_of
from tests.clients.adapters.langgraph_threads import (
    after_each_kill,
    checkpoint_of,
    config_of,
    id_of,
    line,
    numbers,
    said,
    step,
)
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire

NOISE = random.Random(7).randbytes(5_000_000).hex()
"""A text of 10 MB, of which each two characters are a byte after compression."""


def test_a_step_stores_the_channels_that_changed_and_those_that_are_far_back(
    service: Service, user: str
) -> None:
    with service.client(user) as client:
        line(ForkloreSaver(client), "t", 40)
        heads = [
            entry.content[0]["langgraph"]
            for entry in client.named("langgraph/t").entries()
            if entry.content[0]["langgraph"]["kind"] == "checkpoint"
        ]
        assert [head["back"] for head in heads] == [number % (BACK_MAX + 1) for number in range(40)]
        assert numbers(ForkloreSaver(client), "t") == list(range(40))[::-1]


def test_channels_are_stored_again_one_by_one() -> None:
    """The stored distances are those that a second, slower count finds."""
    rng = random.Random(3)
    known, stored_at = None, dict[str, int]()
    versions = dict.fromkeys("abc", 0)
    for number in range(500):
        for name in versions:
            versions[name] += rng.random() < 0.1
        if rng.random() < 0.02:
            versions[f"new {number}"] = 0
        back = back_of(known, versions)
        stored_at |= {name: number for name in versions if back[name] == 0}
        assert back == {name: number - stored_at[name] for name in versions}
        assert max(back.values()) <= BACK_MAX
        changed = {name for name, each in versions.items() if known and known.versions.get(name) != each}
        assert all(back[name] == 0 for name in changed)
        known = Known(dict(versions), back, (), "")


def test_a_saver_that_does_not_know_the_parent_reads_it(service: Service, user: str) -> None:
    with service.client(user) as client:
        at = line(ForkloreSaver(client), "t", 3)[-1]
        step(ForkloreSaver(client), at, 3)
        heads = [entry.content[0]["langgraph"] for entry in client.named("langgraph/t").entries()]
        assert [head["back"] for head in heads if head["kind"] == "checkpoint"] == [0, 1, 2, 3]
        assert numbers(ForkloreSaver(client), "t") == [3, 2, 1, 0]


def test_a_record_whose_parts_are_on_an_older_page_is_read_whole(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        at = step(saver, step(saver, config_of("t"), 0), 1)
        saver.put_writes(at, [("large", NOISE[:5_000_000])], "task")  # two parts
        for size in (1, 2, 3):
            monkeypatch.setattr("forklore.adapters.langgraph.steps.PAGE_ENTRIES", size)
            monkeypatch.setattr("forklore.adapters.langgraph.steps.WHOLE_PAGE_ENTRIES", size)
            found = ForkloreSaver(client).get_tuple(config_of("t"))
            assert found is not None
            assert found.pending_writes == [("task", "large", NOISE[:5_000_000])]
            assert found.checkpoint["channel_values"]["n"] == 1


def test_a_write_that_came_before_its_root_checkpoint_is_found_on_an_older_page(
    service: Service, user: str
) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        other = line(saver, "t", 1)[0]
        root = config_of("t", "ffffffff-0000-6000-8000-000000000000")
        saver.put_writes(root, [("n", 5)], "early")
        for number in range(80):
            saver.put_writes(other, [("n", number)], f"between-{number}")
        checkpoint = {**checkpoint_of({"n": 5}, {"n": "1"}), "id": id_of(root)}
        saver.put(config_of("t"), checkpoint, {"source": "input", "step": -1}, {})  # type: ignore[arg-type]
        found = ForkloreSaver(client).get_tuple(config_of("t"))
        assert found is not None
        assert found.config == root
        assert found.pending_writes == [("early", "n", 5)]


def test_writes_that_came_before_the_parent_of_their_checkpoint_are_found(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore.adapters.langgraph.steps.PAGE_ENTRIES", 2)
    monkeypatch.setattr("forklore.adapters.langgraph.steps.WHOLE_PAGE_ENTRIES", 2)
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        at = line(saver, "t", 3)[-1]
        child = checkpoint_of({"base": "b" * 100, "n": 4}, {"base": "1", "n": "4"})
        saver.put_writes(config_of("t", child["id"]), [("n", 7)], "early")
        at = step(saver, at, 3)  # its put was slow
        late = saver.put(at, child, {"source": "loop", "step": 4}, {"n": "4"})
        found = ForkloreSaver(client).get_tuple(late)
        assert found is not None
        assert found.pending_writes == [("early", "n", 7)]


def test_writes_wait_for_their_checkpoint_that_is_on_its_way(service: Service, user: str) -> None:
    with service.client(user) as client, ThreadPoolExecutor(1) as workers:
        checkpoint = checkpoint_of({"n": 1}, {"n": "1"})
        place = config_of("t", checkpoint["id"])
        writing: list[Future[None]] = []

        class Slow(Wire):
            def note(self, call: Any) -> None:
                if not writing:
                    writing.append(workers.submit(saver.put_writes, place, [("n", 1)], "task"))
                    time.sleep(0.2)
                super().note(call)

        saver = ForkloreSaver(Slow().wrapped(client))
        saver.put(config_of("t"), checkpoint, {"source": "loop", "step": 0}, {"n": "1"})
        writing[0].result()
        heads = [entry.content[0]["langgraph"]["kind"] for entry in client.named("langgraph/t").entries()]
        assert heads == ["checkpoint", "writes"]


def test_two_savers_lose_and_double_nothing_while_a_third_prunes(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        at = line(saver, "t", 30)[-1]

        def write(letter: str) -> None:
            with service.client(user) as own:
                for number in range(15):
                    ForkloreSaver(own).put_writes(at, [("n", f"{letter}{number}")], f"{letter}{number}")

        with ThreadPoolExecutor(2) as workers:
            writing = [workers.submit(write, letter) for letter in "xy"]
            while not all(one.done() for one in writing):
                with suppress(ConflictError):  # it gives way
                    ForkloreSaver(client).prune(["t"])
            for one in writing:
                one.result()
        ForkloreSaver(client).prune(["t"])
        found = ForkloreSaver(client).get_tuple(config_of("t"))
        assert found is not None
        kept = sorted(str(write[2]) for write in found.pending_writes or ())
        assert kept == sorted(["29", *(f"{letter}{n}" for letter in "xy" for n in range(15))])


def test_prune_gives_way_to_an_append_after_its_read(service: Service, user: str) -> None:
    with service.client(user) as client:
        at = line(ForkloreSaver(client), "t", 5)[-1]
        pruning = Wire(lives=3)  # the name, the conversation, the entries
        with pytest.raises(Killed):
            ForkloreSaver(pruning.wrapped(client)).prune(["t"])
        assert pruning.sent == ["lookUpName", "getConversation", "listEntries"]

        class Late(Wire):
            def note(self, call: Any) -> None:
                if call.shape.name == "appendEntry" and "appendEntry" not in self.sent:
                    step(ForkloreSaver(client), at, 5)
                super().note(call)

        late = Late()
        ForkloreSaver(late.wrapped(client)).prune(["t"])
        assert late.sent.count("appendEntry") == 2
        assert numbers(ForkloreSaver(client), "t") == [5]


STORIES: dict[str, tuple[Callable[[ForkloreSaver], Any], dict[str, list[int]]]] = {
    "delete": (lambda saver: saver.delete_thread("t"), {"t": [], "u": [1, 0]}),
    "prune": (lambda saver: saver.prune(["t"]), {"t": [5], "u": [1, 0]}),
    "prune all": (lambda saver: saver.prune(["t"], strategy="delete"), {"t": [], "u": [1, 0]}),
    "copy": (lambda saver: saver.copy_thread("t", "v"), {"t": [5, 4, 3, 2, 1, 0], "v": [5, 4, 3, 2, 1, 0]}),
    "copy onto": (lambda saver: saver.copy_thread("t", "u"), {"u": [5, 4, 3, 2, 1, 0]}),
}


@pytest.mark.parametrize("name", STORIES)
def test_after_a_kill_between_any_two_requests_the_same_call_finishes(
    service: Service, user: str, name: str
) -> None:
    act, expected = STORIES[name]
    with service.client(user) as client:
        whole = ForkloreSaver(client)
        for _ in after_each_kill(client, lambda _: [line(whole, "t", 6), line(whole, "u", 2)], act):
            assert {thread: numbers(whole, thread) for thread in expected} == expected
            listed = [named.conversation_id for named in client.names()]
            assert sorted(one.id for one in client.conversations(mode="all")) == sorted(listed)
            for thread in "tuv":
                line(ForkloreSaver(client), thread, 1, first=9)  # each name can be used
                assert numbers(whole, thread)[0] == 9
                whole.delete_thread(thread)
            assert client.conversations(mode="all").list() == []
            assert client.names().list() == []


def test_a_thread_whose_deletion_was_killed_can_be_used_at_once(service: Service, user: str) -> None:
    with service.client(user) as client:
        line(ForkloreSaver(client), "t", 2)
        with pytest.raises(Killed):
            ForkloreSaver(Wire(3).wrapped(client)).delete_thread("t")
        assert ForkloreSaver(client).get_tuple(config_of("t")) is None
        line(ForkloreSaver(client), "t", 1, first=7)
        assert numbers(ForkloreSaver(client), "t") == [7]


def test_a_copy_lives_on_without_its_source(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        line(saver, "t", 20)
        saver.copy_thread("t", "u")
        saver.copy_thread("u", "u")
        saver.copy_thread("nowhere", "u")
        saver.delete_thread("t")
        assert numbers(saver, "t") == []
        assert numbers(saver, "u") == list(range(20))[::-1]
        line(saver, "t", 1, first=3)
        assert numbers(saver, "t") == [3]
        assert numbers(ForkloreSaver(client), "u") == list(range(20))[::-1]


@pytest.mark.parametrize("messages", [10, 3000])
def test_a_copy_takes_as_many_requests_however_long_the_thread_is(
    service: Service, user: str, messages: int
) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        at = step(saver, config_of("t"), 0)
        draft = {"contentType": "history", "content": [{"role": "USER", "text": "Hello."}]}
        for _ in range(messages // 50):
            client.named("langgraph/t").append_all([draft] * 50)
        at = step(saver, at, 1)
        wire = Wire()
        ForkloreSaver(wire.wrapped(client)).copy_thread("t", "u")
        assert wire.sent == ["lookUpName", "lookUpName", "getConversation", "forkConversation"]
        assert numbers(saver, "u") == [1, 0]


def test_a_large_value_takes_several_appends(service: Service, user: str) -> None:
    with service.client(user) as client:
        wire = Wire()
        saver = ForkloreSaver(wire.wrapped(client))
        at = step(saver, config_of("t"), 0)
        saver.put_writes(at, [("large", NOISE)], "task")
        assert wire.sent == ["appendEntryByName"] * 3
        found = ForkloreSaver(client).get_tuple(at)
        assert found is not None
        assert found.pending_writes == [("task", "large", NOISE)]
        # If the saver is killed before the last append, nothing of the value is there.
        wire.lives = 4
        with pytest.raises(Killed):
            saver.put_writes(at, [("large", NOISE)], "other")
        wire.lives = None
        for again in (saver.get_tuple(at), *saver.list(config_of("t"))):
            assert again == found


def test_a_large_value_is_whole_although_its_thread_is_deleted_meanwhile(service: Service, user: str) -> None:
    with service.client(user) as client:

        class Deleting(Wire):
            def note(self, call: Any) -> None:
                super().note(call)
                if len(self.sent) == 2:
                    ForkloreSaver(client).delete_thread("t")

        checkpoint = checkpoint_of({"large": NOISE}, {"large": "1"})
        metadata: Any = {"source": "loop", "step": 0}
        ForkloreSaver(Deleting().wrapped(client)).put(config_of("t"), checkpoint, metadata, {"large": "1"})
        found = ForkloreSaver(client).get_tuple(config_of("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"large": NOISE}


def test_an_id_of_a_thread_may_be_a_number_and_must_be_a_name(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver, number = ForkloreSaver(client), cast("str", 42)
        line(saver, number, 1)
        saver.copy_thread(number, cast("str", 43))
        saver.prune([cast("str", 43)])
        saver.delete_thread(number)
        assert (numbers(saver, number), numbers(saver, cast("str", 43))) == ([], [0])
        for wrong in ("x" * 250, "\u00e4" * 125, "a\nb", "\ud83d"):
            with pytest.raises(InputError, match=r"thread_id has at most 245 bytes .* no control character"):
                line(saver, wrong, 1)


def test_all_threads_are_listed_the_newest_checkpoint_first(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        made = [line(saver, thread, 1, first=number)[0] for number, thread in enumerate("bcabca")]
        for limit in (None, 2):
            listed = [one.config["configurable"] for one in saver.list(None, limit=limit)]
            assert [one["checkpoint_id"] for one in listed] == [id_of(one) for one in made[::-1]][:limit]


def test_a_list_of_all_threads_reads_of_an_older_thread_one_page(service: Service, user: str) -> None:
    with service.client(user) as client:
        wire = Wire()
        saver = ForkloreSaver(client)
        line(saver, "b", 100)
        line(saver, "a", 2, first=500, chosen=True)
        listed = ForkloreSaver(wire.wrapped(client)).list(None, filter={"chosen": True}, limit=2)
        assert [one.checkpoint["channel_values"]["n"] for one in listed] == [501, 500]
        assert wire.sent == ["listNames", "listEntriesByName", "listEntriesByName"]


def test_a_record_in_base_85_of_an_earlier_version_is_read() -> None:
    body = ("msgpack", bytes(range(256)) * 100)
    record = Record.of({"kind": "writes"}, body)
    earlier = {name: held for name, held in record.head.items() if name != "base"}
    text = base64.b85encode(zlib.compress(body[1])).decode()

    assert record.stored == Record(earlier, [text]).stored == ([], body[1])


def test_requests_of_the_calls(service: Service, user: str) -> None:
    with service.client(user) as client:
        wire = Wire()
        saver = ForkloreSaver(wire.wrapped(client))
        line(saver, "t", 200)
        assert wire.sent == ["appendEntryByName"] * 400
        wire.sent.clear()
        assert ForkloreSaver(wire.wrapped(client)).get_tuple(config_of("t")) is not None
        assert wire.sent == ["listEntriesByName"]
        wire.sent.clear()
        assert len(list(saver.list(config_of("t"), limit=5))) == 5
        assert wire.sent == ["listEntriesByName"]
        wire.sent.clear()
        saver.prune(["t"])
        assert wire.sent == [
            *("lookUpName", "getConversation", "listEntries", "appendEntry", "deleteConversation"),
        ]
        wire.sent.clear()
        saver.prune(["t"])
        assert wire.sent[-1] == "listEntries"  # there is nothing to prune
        saver.delete_thread("t")


def test_a_thread_is_shown_with_roles_and_texts(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        asked, told = HumanMessage("Lisbon?", id="1"), AIMessage("In May.", id="2")
        again = HumanMessage("And Porto?", id="3")
        at = said(saver, config_of("t"), asked)
        at = said(saver, at, asked, told)
        read = ForkloreSaver(client)
        found = read.get_tuple(at)
        assert found is not None
        said(read, found.config, asked, told, again, AIMessage("In June.", id="4"))
        assert shown_in(client, "t") == [
            ("user", "Lisbon?"),
            ("ai", "In May."),
            ("user", "And Porto?"),
            ("ai", "In June."),
        ]
        hidden = ForkloreSaver(client, show=False)
        said(hidden, config_of("u"), asked)
        assert shown_in(client, "u") == []
        line(saver, "t", 1)
        details = client.named("langgraph/t").details()
        assert (details.title, details.last_message_preview) == ("Lisbon?", "In June.")
        assert {text_of(one) for one in client.named("langgraph/u").entries()} == {""}
        assert not client.named("langgraph/u").details().title


def test_a_pruned_thread_still_shows_its_messages(service: Service, user: str) -> None:
    with service.client(user) as client:
        saver, at, talk = ForkloreSaver(client), config_of("t"), list[BaseMessage]()
        for number in range(25):
            talk += [HumanMessage(f"{number}?", id=f"{2 * number}")]
            talk += [AIMessage(f"{number}!", id=f"{2 * number + 1}")]
            at = said(saver, at, *talk)
        saver.prune(["t"])
        expected = [
            each for number in range(5, 25) for each in (("user", f"{number}?"), ("ai", f"{number}!"))
        ]
        assert shown_in(client, "t") == expected
        found = ForkloreSaver(client).get_tuple(config_of("t"))
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == talk
        said(saver, found.config, *talk, HumanMessage("more", id="50"))
        saver.get_tuple(config_of("t"))
        ForkloreSaver(client, show=False).prune(["t"])
        assert shown_in(client, "t") == []


@pytest.mark.parametrize("how", ["deleted", "used again", "replaced"])
def test_a_checkpoint_is_whole_although_its_thread_was_deleted_before(
    service: Service, user: str, how: str
) -> None:
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        at = line(saver, "t", 3)[-1]
        other = ForkloreSaver(client)
        line(other, "u", 2, first=90)
        other.delete_thread("t")
        if how == "used again":
            line(other, "t", 2, first=90)
        if how == "replaced":
            other.copy_thread("u", "t")
        at = step(saver, at, 3)
        assert numbers(ForkloreSaver(client), "t")[0] == 3
        found = ForkloreSaver(client).get_tuple(config_of("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"base": "b" * 100, "n": 3}
        wire = Wire()
        step(ForkloreSaver(wire.wrapped(client)), at, 4)
        step(saver, at, 5)
        assert numbers(ForkloreSaver(client), "t")[:3] == [5, 4, 3]


@pytest.mark.parametrize("lives", [1, 2])
def test_a_checkpoint_without_its_ancestors_does_not_hide_the_others(
    service: Service, user: str, lives: int
) -> None:
    with service.client(user) as client:
        wire = Wire()
        saver = ForkloreSaver(wire.wrapped(client))
        at = line(saver, "t", 3)[-1]
        ForkloreSaver(client).delete_thread("t")
        wire.lives = len(wire.sent) + lives  # the append, and the look for the parent
        with pytest.raises(Killed):
            step(saver, at, 3)
        assert ForkloreSaver(client).get_tuple(config_of("t")) is None
        line(ForkloreSaver(client), "t", 2, first=4)
        assert numbers(ForkloreSaver(client), "t") == [5, 4]


def test_a_forgotten_parent_hides_no_message(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore.adapters.langgraph.steps.KNOWN_MAX", 5)
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        asked, told = HumanMessage("Lisbon?", id="1"), AIMessage("In May.", id="2")
        at = said(saver, config_of("t"), asked)
        line(saver, "other", 6)
        said(saver, at, asked, told)
        assert shown_in(client, "t") == [("user", "Lisbon?"), ("ai", "In May.")]


def test_writes_that_came_before_a_put_that_failed_are_named_by_the_next(service: Service, user: str) -> None:
    with service.client(user) as client:
        wire = Wire()
        saver = ForkloreSaver(wire.wrapped(client))
        at = line(saver, "t", 2)[-1]
        early = checkpoint_of({"n": 5}, {"n": "00005"})
        saver.put_writes(config_of("t", early["id"]), [("n", 6)], "task")
        wire.lives = len(wire.sent)
        with pytest.raises(Killed):
            saver.put(at, early, {"source": "loop", "step": 5, "parents": {}}, {"n": "00005"})
        wire.lives = None
        saver.put(at, early, {"source": "loop", "step": 5, "parents": {}}, {"n": "00005"})
        [head] = [
            entry.content[0]["langgraph"]
            for entry in client.named("langgraph/t").entries()
            if entry.content[0]["langgraph"]["id"] == early["id"]
            and entry.content[0]["langgraph"]["kind"] == "checkpoint"
        ]
        assert len(head["early"]) == 1


def shown_in(client: Forklore, thread: str) -> list[tuple[str | None, str | None]]:
    entries = client.named(f"langgraph/{thread}").entries()
    return [(role_of(entry), text_of(entry)) for entry in entries if role_of(entry)]
