"""Conversations of OpenHands in forklore, held beside those that the SDK keeps itself."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from openhands.sdk.conversation.event_store import EventLog
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.event.conversation_error import ConversationErrorEvent
from openhands.sdk.event.conversation_state import ConversationStateUpdateEvent
from openhands.sdk.io import InMemoryFileStore
from openhands.sdk.llm import ImageContent, Message
from openhands.sdk.utils.cipher import Cipher

from forklore import ConflictError, Forklore, InputError, NotFoundError, role_of, text_of
from forklore.adapters.openhands import Conversation, ForkloreConversation, ForkloreFileStore, store
from forklore.client.errors import TooLargeError
from tests.clients.adapters.openhands.conversations import agent, ask, emit, plain, said, shown
from tests.clients.adapters.openhands.model import KEY, speaking
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire

SEEDS = (1, 2, 3)


@pytest.fixture
def client(service: Service, user: str) -> Iterator[Forklore]:
    with service.client(user) as made:
        yield made


def kept(client: Any, folder: Path, conversation_id: UUID | None = None, **more: Any) -> ForkloreConversation:
    """Return a conversation that forklore keeps: a new one, or read from the start."""
    given = {"agent": agent(), "workspace": folder, "conversation_id": conversation_id, **more}
    return ForkloreConversation(client=client, visualizer=None, delete_on_close=False, **given)


def entries_of(client: Forklore, conversation: LocalConversation) -> list[Any]:
    return client.named(f"openhands/{conversation.id}").entries().list()


# A conversation


def test_what_is_stored_comes_back(client: Forklore, tmp_path: Path) -> None:
    own, ours = plain(tmp_path), kept(client, tmp_path)
    for text in ("Lisbon?", "In May."):
        event = said(text)
        for one in (own, ours):
            with one._state:
                one._on_event(event)
                one._state.agent_state = {**one._state.agent_state, "said": text, "none": None}
    assert shown(ours) == shown(own)
    again = kept(client, tmp_path, ours.id)
    assert shown(again) == shown(own)
    path = "base_state.json"
    assert json.loads(again._file_store.read(path)) == json.loads(ours._file_store.read(path))


def test_a_run_with_a_tool_shows_who_said_what(client: Forklore, tmp_path: Path) -> None:
    with speaking() as url:
        ours = kept(client, tmp_path, agent=agent(url))
        ask(ours, "Think: of Lisbon")
    lines = [(role_of(one), text_of(one)) for one in entries_of(client, ours) if text_of(one)]
    assert lines == [
        ("user", "Think: of Lisbon"),
        ("ai", 'This is answer 1.\n[calls think {"thought": "of Lisbon"}]'),
        ("system", "[think returned Your thought has been logged.]"),
        ("ai", "This is answer 1."),
    ]
    assert shown(kept(client, tmp_path, ours.id, agent=None)) == shown(ours)


def test_the_base_state_is_stored_where_it_changes(client: Forklore, tmp_path: Path) -> None:
    cipher = Cipher("key")
    ours = kept(client, tmp_path, cipher=cipher)
    for text in "abc":
        emit(ours, text, source="agent")
    kinds = [one.content[0]["openhands"]["kind"] for one in entries_of(client, ours)]
    # The first event has no parent, so what it moves is stored. It is encrypted anew each time.
    assert kinds == ["state", "event", "change", "event", "event"]
    again = kept(client, tmp_path, ours.id, agent=None, cipher=cipher)
    assert again.agent.llm.api_key == ours.agent.llm.api_key
    before = len(entries_of(client, ours))
    rotated = kept(client, tmp_path, ours.id, agent=None, cipher=Cipher("new", previous_keys=["key"]))
    rotated.state.agent_state = {"a": 1}
    assert len(entries_of(client, ours)) == before + 1
    last = kept(client, tmp_path, ours.id, agent=None, cipher=Cipher("new"))
    assert last.agent.llm.api_key == ours.agent.llm.api_key


def test_a_run_stores_no_line_of_the_metrics_twice(client: Forklore, tmp_path: Path) -> None:
    with speaking() as url:
        ours = kept(client, tmp_path, agent=agent(url))
        for number in range(12):
            ask(ours, f"{number}")
    metrics = ours.state.stats.usage_to_metrics["agent"]
    ids = [one.response_id for one in metrics.token_usages]
    assert len(set(ids)) == 12
    stored = "".join(json.dumps(one.content) for one in entries_of(client, ours) if one.channel == "context")
    assert all(stored.count(f'"response_id": "{one}"') <= 3 for one in ids), "usage, latency, the last one"
    read = kept(client, tmp_path, ours.id, agent=None)
    assert read.state.stats == ours.state.stats


@pytest.mark.parametrize(("size", "wholes"), [(10, [0, 101]), (150_000, [0, 201])])
def test_a_reader_needs_the_last_whole_base_state_alone(
    client: Forklore, tmp_path: Path, size: int, wholes: list[int]
) -> None:
    """A whole that is long is stored less often."""
    ours = kept(client, tmp_path)
    ours.state.agent_state = {"text": "x" * size}
    for step in range(2 * store.CHANGES):
        ours.state.agent_state = {**ours.state.agent_state, "step": step}
    entries = entries_of(client, ours)
    kinds = [one.content[0]["openhands"]["kind"] for one in entries]
    assert [at for at, kind in enumerate(kinds) if kind == "state"] == wholes
    assert entries[-1].epoch == len(wholes)
    assert shown(kept(client, tmp_path, ours.id, agent=None)) == shown(ours)


def test_files_are_attachments(client: Forklore, tmp_path: Path) -> None:
    photo = "data:image/png;base64," + "iVBORw0KGgo" + "A" * 60_000 + "="
    event = said("Is it this one?")
    content = [*event.llm_message.content, ImageContent(image_urls=[photo])]
    event = event.model_copy(update={"llm_message": Message(role="user", content=content)})
    ours = kept(client, tmp_path)
    with ours._state:
        ours._on_event(event)
    [attached] = entries_of(client, ours)[1].attachments
    assert attached.content_type == "image/png"
    assert shown(kept(client, tmp_path, ours.id)) == shown(ours)


def test_what_cannot_be_stored_is_refused(client: Forklore, tmp_path: Path) -> None:
    ours = kept(client, tmp_path)
    emit(ours, "a")
    with pytest.raises(TooLargeError):
        emit(ours, "€" * 900_000)
    store = ours._file_store
    assert store.list("") == ["base_state.json", "events/"]
    for path in ("caller.txt", "events/other"):
        with pytest.raises(ValueError, match="forklore"):
            store.write(path, "x")
        assert not store.exists(path)
        store.delete(path)
    with pytest.raises(ValueError, match="alone"):
        store.delete("base_state.json")
    with pytest.raises(FileNotFoundError):
        store.read("events/event-00009-00000000.json")
    with pytest.raises(InputError):
        ForkloreFileStore(client, uuid4(), prefix="p" * 250)
    assert len(kept(client, tmp_path, ours.id).state.events) == 1


# Branches and forks


@pytest.mark.parametrize("are_short", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_walk_is_as_with_the_sdk(
    client: Forklore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, are_short: bool
) -> None:
    """Messages, moves of the head, forks and new processes, in any order.

    are_short: whether pages are, and what follows a whole base state.
    """
    if are_short:
        monkeypatch.setattr(store, "PAGE_ENTRIES_MAX", 3)
        monkeypatch.setattr(store, "CHANGES", 2)
    draw = random.Random(seed)
    pairs: list[tuple[LocalConversation, ForkloreConversation]] = [(plain(tmp_path), kept(client, tmp_path))]
    for step in range(40):
        at = draw.randrange(len(pairs))
        own, ours = pairs[at]
        ids = [event.id for event in own.state.events]
        match draw.choice(
            ["emit"] * 5 + ["update", "state", "go", "go", "nowhere", "fork", "slice", "again"]
        ):
            case "emit":
                event = said(f"{step}")
                for one in pairs[at]:
                    with one._state:
                        one._on_event(event)
            case "update":  # it is in the log, and in no branch
                update = ConversationStateUpdateEvent(key="tags", value={"step": step})
                for one in pairs[at]:
                    with one._state:
                        one._on_event(update)
            case "state":
                values = list(range(draw.randrange(5)))
                for one in pairs[at]:
                    one.state.agent_state = {"step": step, "none": None, "deep": {str(step % 3): values}}
            case "go" if ids:
                there = draw.choice(ids)
                for one in pairs[at]:
                    one.navigate_to(there)
            case "nowhere":
                for one in pairs[at]:
                    one.navigate_to(None)
            case "fork" | "slice" as what:
                where = draw.choice(ids) if what == "slice" and ids else None
                made = uuid4()
                forked = [one.fork(conversation_id=made, from_event_id=where) for one in pairs[at]]
                assert isinstance(forked[1], ForkloreConversation)
                pairs.append((forked[0], forked[1]))
            case "again":
                pairs[at] = (own, kept(client, tmp_path, ours.id, agent=None))
        for own, ours in pairs[at:]:
            assert shown(ours) == shown(own), step
    assert len(pairs) > 2
    for own, ours in pairs:
        assert shown(kept(client, tmp_path, ours.id, agent=None)) == shown(own)


def test_branches_of_a_log_are_branches_here(client: Forklore, tmp_path: Path) -> None:
    ours = kept(client, tmp_path)
    root, _, left = emit(ours, "root"), emit(ours, "a"), emit(ours, "b")
    ours.navigate_to(root)
    emit(ours, "c")
    texts = [text_of(one) for one in entries_of(client, ours) if text_of(one)]
    assert texts == ["root", "c"]
    entries, branches = client.named(f"openhands/{ours.id}").tree()
    assert [text_of(one) for one in entries] == ["root", "a", "b", "c"]
    assert len(branches) == 2
    forked = kept(client, tmp_path, ours.id).fork(from_event_id=left)
    assert [text_of(one) for one in entries_of(client, forked) if text_of(one)] == ["root", "a", "b"]


def test_ids_that_are_no_uuids_are_kept(client: Forklore, tmp_path: Path) -> None:
    ours = kept(client, tmp_path)
    for number in range(3):
        ours.state.events.append(said(f"{number}", id=f"evt/{number}"))
    forked = ours.fork()
    assert [event.id for event in forked.state.events] == ["evt/0", "evt/1", "evt/2"]
    forked.state.events.append(said("3", id="evt/3"))
    [*_, last] = entries_of(client, forked)
    assert last.content[0]["openhands"]["value"]["id"] == "evt/3"
    assert len(ours.state.events) == 3


def test_a_log_without_a_base_state_is_kept(client: Forklore, tmp_path: Path) -> None:
    kept_id = uuid4()
    stores = [ForkloreFileStore(client, kept_id), InMemoryFileStore()]
    root, left, right = (f"{uuid4()}" for _ in range(3))
    for each in stores:
        log = EventLog(each)
        for event in (said("root", id=root), said("a", id=left, parent_id=root)):
            log.append(event)
        log.append(said("b", id=right, parent_id=root))
        read = EventLog(each)
        assert [event.id for event in read] == [root, left, right]
    read = EventLog(ForkloreFileStore(client, kept_id))
    assert [event.id for event in read.path_to_root(right)] == [root, right]


def test_a_log_from_before_there_was_a_tree_is_one_branch(client: Forklore, tmp_path: Path) -> None:
    """An error that a server has put behind it is no leaf."""
    own, ours = plain(tmp_path), kept(client, tmp_path)
    told = [said(f"{number}") for number in range(3)]
    error = ConversationErrorEvent(source="environment", code="E", detail="d", parent_id=told[-1].id)
    for event in (*told, error):
        own.state.events.append(event)
        ours.state.events.append(event)
    read = kept(client, tmp_path, ours.id)
    assert read.state.leaf_event_id is None
    assert shown(read) == shown(own)
    event = said("goes on")
    for one in (own, read):
        with one._state:
            one._on_event(event)
    assert shown(kept(client, tmp_path, ours.id)) == shown(own)


def test_a_fork_has_what_the_sdk_gives_it(client: Forklore, tmp_path: Path) -> None:
    with speaking() as url:
        ours = kept(client, tmp_path, agent=agent(url), cipher=Cipher("key"), tags={"a": "b"})
        ask(ours, "When?")
        other = agent(url)
        ours.state.agent_state = {"k": ["v"]}
        counted = ours.fork(reset_metrics=False, tags={"to": "go"})
        fresh = ours.fork(agent=other)
        for forked, tags in ((counted, {"to": "go"}), (fresh, {})):
            assert forked.state.tags == tags
            assert forked.state.agent_state == {"k": ["v"]}
            assert forked.state.agent_state["k"] is not ours.state.agent_state["k"]
            assert forked.state.execution_status.value == "idle"
            assert forked.workspace.working_dir == ours.workspace.working_dir
        assert fresh.agent.llm is not other.llm
        assert fresh.state.stats.usage_to_metrics == {}
        assert counted.state.stats.get_combined_metrics() == ours.state.stats.get_combined_metrics()
        count = len(ours.state.events)
        # The key of the model goes along, also into another process.
        again = kept(client, tmp_path, fresh.id, agent=None, cipher=Cipher("key"))
        ask(again, "And where?")
        assert "This is answer 2." in map(text_of, entries_of(client, again))
    assert len(ours.state.events) == count
    ours.state.events[1].llm_message.content[0].text = "changed"  # type: ignore[attr-defined]
    assert counted.state.events[1].llm_message.content[0].text == "When?"  # type: ignore[attr-defined]
    with pytest.raises(ConflictError):
        ours.fork(conversation_id=fresh.id)
    with pytest.raises(ValueError, match="nowhere"):
        ours.fork(from_event_id="nowhere")
    with pytest.warns(DeprecationWarning, match="no title"):
        ours.fork(title="A title")


def test_a_fork_is_one_request_and_one_entry(service: Service, user: str, tmp_path: Path) -> None:
    wire = Wire()
    with service.client(user) as inner:
        client = wire.wrapped(inner)
        ours = kept(client, tmp_path)

        def forked_after(events: int) -> LocalConversation:
            for number in range(events):
                emit(ours, f"{number}")
            wire.sent.clear()
            forked = ours.fork()
            assert wire.sent == ["appendEntryByName"]
            details = inner.named(f"openhands/{forked.id}").details()
            assert details.metrics.entries == 1
            return forked

        forked_after(2)
        forked = forked_after(98)
        wire.sent.clear()
        assert len(kept(client, tmp_path, forked.id, agent=None).state.events) == 100
        assert wire.sent == ["lookUpName", "listEntries"]


# Several processes, and the end of one


def test_two_processes_lose_nothing(client: Forklore, tmp_path: Path) -> None:
    ours = kept(client, tmp_path)
    emit(ours, "root")
    other = kept(client, tmp_path, ours.id)
    ids = [emit(ours, "0")]
    forked = other.fork()  # it has not seen that event
    emit(forked, "goes on")
    assert shown(kept(client, tmp_path, forked.id)) == shown(forked)
    ids.append(emit(other, "0"))
    ids += [emit(one, f"{number}") for number in (1, 2, 3) for one in (ours, other)]
    for log in (ours._state._events, other._state._events):
        named = [log.get_id(at) for at in range(len(log))]
        log._event_cache.clear()
        assert [event.id for event in log] == named
    ours.state.agent_state = {"of": "the last one"}
    read = kept(client, tmp_path, ours.id)
    assert [event.id for event in read.state.events][1:] == ids
    assert read.state.agent_state == {"of": "the last one"}
    lines = [[event.id for event in read.state.events.path_to_root(one)][1:] for one in ids[-2:]]
    assert lines == [ids[0::2], ids[1::2]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_walk_of_three_processes_loses_nothing(client: Forklore, tmp_path: Path, seed: int) -> None:
    """Messages, moves of the head, forks and new processes, in any order, on one conversation."""
    draw = random.Random(seed)
    ours = kept(client, tmp_path)
    follows: dict[str, str | None] = {emit(ours, "root"): None}
    processes = [kept(client, tmp_path, ours.id, agent=None) for _ in range(3)]
    for step in range(30):
        at = draw.randrange(3)
        one = processes[at]
        there = draw.choice([event.id for event in one.state.events])
        match draw.choice(["emit"] * 5 + ["state", "go", "go", "nowhere", "fork", "slice", "again"]):
            case "emit":
                leaf = one.state._resolve_active_leaf()
                follows[emit(one, f"{step}")] = leaf
            case "state":
                one.state.agent_state = {"step": step}
            case "go":
                one.navigate_to(there)
            case "nowhere":
                one.navigate_to(None)
            case "again":
                processes[at] = kept(client, tmp_path, ours.id, agent=None)
            case what:
                forked = one.fork(from_event_id=there if what == "slice" else None)
                emit(forked, "goes on")
                assert shown(kept(client, tmp_path, forked.id, agent=None)) == shown(forked), step
    read = kept(client, tmp_path, ours.id, agent=None).state.events
    assert {event.id: read._effective_parent_id(at, event) for at, event in enumerate(read)} == follows
    assert len(read) == len(follows)


def test_of_base_states_that_two_processes_store_the_last_one_counts(
    client: Forklore, tmp_path: Path
) -> None:
    """Also where no event stands between them, and where each has wholes of its own."""
    ours = kept(client, tmp_path)
    ours.state.agent_state = {"lines": [1], "q": 1}
    emit(ours, "Lisbon?")
    emit(ours, "When?", source="agent")
    other = kept(client, tmp_path, ours.id, agent=None)
    last: Any = None
    for number, one in enumerate([ours, other, ours, ours, other, other, ours]):
        if number == 4:
            emit(one, "In May.", source="agent")
        lines = {"lines": [*one.state.agent_state.get("lines", ()), number]} if number % 3 else {}
        last = {**lines, "odd": {"none": None}} if number in (2, 3) else lines
        one.state.agent_state = last
        assert kept(client, tmp_path, ours.id, agent=None).state.agent_state == last, number


def test_a_process_may_be_killed_anywhere(service: Service, user: str, tmp_path: Path) -> None:
    """Each event is stored whole or not at all, and a fork is there or not."""
    lives = 0
    is_done = False
    while not is_done:
        with service.client(user) as client:
            wire = Wire()
            ours = kept(wire.wrapped(client), tmp_path)
            root, known = emit(ours, "root"), [emit(ours, "a")]
            wire.sent.clear()
            wire.lives = lives
            fork = uuid4()
            try:
                known.append(emit(ours, "b"))
                ours.navigate_to(root)
                known.append(emit(ours, "c"))
                ours.fork(conversation_id=fork)
                is_done = True
            except Killed:
                pass
            read = kept(client, tmp_path, ours.id, agent=None)
            ids = [event.id for event in read.state.events]
            assert ids[: 1 + len(known)] == [root, *known]
            assert len(ids) <= 2 + len(known)
            emit(read, "goes on")
            assert len(kept(client, tmp_path, ours.id).state.events) == len(ids) + 1
            is_there = len(kept(client, tmp_path, fork).state.events) > 0
            assert is_there == is_done
        lives += 1
    assert lives > 5


def test_an_erased_conversation_leaves_its_forks(client: Forklore, tmp_path: Path) -> None:
    ours = kept(client, tmp_path)
    root = emit(ours, "root")
    emit(ours, "a")
    ours.navigate_to(root)
    emit(ours, "b")
    forked = ours.fork()
    store = ours._file_store
    assert isinstance(store, ForkloreFileStore)
    for _ in range(2):
        store.erase()
        assert len(kept(client, tmp_path, uuid4()).state.events) == 0
    read = kept(client, tmp_path, forked.id)
    # What the fork shows is there. The branch that only the other one showed is gone.
    assert [event.llm_message.content[0].text for event in read.state.active_branch()] == ["root", "b"]  # type: ignore[attr-defined]
    emit(read, "c")
    assert len(kept(client, tmp_path, forked.id).state.events) == 3
    assert len(kept(client, tmp_path, ours.id).state.events) == 0


def test_what_others_delete_is_not_made_again(client: Forklore, tmp_path: Path) -> None:
    """A process that does not know it yet writes nothing that cannot be read."""
    ours = kept(client, tmp_path)
    root, left = emit(ours, "root"), emit(ours, "a")
    ours.navigate_to(root)
    others = [kept(client, tmp_path, ours.id, agent=None) for _ in range(2)]
    emit(ours, "b")
    emit(others[0], "c")
    _, branches = client.named(f"openhands/{ours.id}").tree()
    client.conversation(branches[0].conversation_id).delete()  # the branch that `ours` has left
    for one in others:
        emit(one, "d")
        one._state._events._event_cache.clear()
        assert [event.id for event in one.state.events][:2] == [root, left]
    store = ours._file_store
    assert isinstance(store, ForkloreFileStore)
    store.erase()
    for one in (ours, *others):
        for number in range(2):
            with pytest.raises(NotFoundError, match="deleted"):
                one.state.agent_state = {"number": number}
            with pytest.raises(NotFoundError, match="deleted"):
                emit(one, "e")
    assert len(kept(client, tmp_path, ours.id).state.events) == 0
    with pytest.raises(NotFoundError, match="deleted"):
        emit(others[0], "e")


# In the place of the SDK's own


def test_programs_need_another_import_alone(tmp_path: Path) -> None:
    ours = Conversation(agent=agent(), workspace=tmp_path, persistence_dir=tmp_path, visualizer=None)
    emit(ours, "root")
    assert (tmp_path / "forklore").is_dir()
    again = Conversation(
        agent=agent(), workspace=tmp_path, persistence_dir=tmp_path, conversation_id=ours.id, visualizer=None
    )
    assert shown(again.fork()) == shown(ours)
    in_memory = Conversation(agent=agent(), workspace=str(tmp_path), visualizer=None)
    assert in_memory.fork().id != in_memory.id
    own = Conversation(agent=agent(), workspace=tmp_path, file_store=InMemoryFileStore(), visualizer=None)
    emit(own, "root")
    assert type(own.fork()) is LocalConversation


def test_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with speaking() as url:
        for name, value in (("MODEL", "openai/script"), ("BASE_URL", url), ("API_KEY", KEY)):
            monkeypatch.setenv(f"LLM_{name}", value)
        assert run_page("openhands") == 2
