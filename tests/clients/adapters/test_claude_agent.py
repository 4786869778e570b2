"""The session store for the Claude Agent SDK, beyond the SDK's own tests."""

import gc
import random
from typing import Any
from weakref import ref

import anyio
import pytest
from anyio import to_thread
from claude_agent_sdk import (
    SessionKey,
    SessionStoreEntry,
    fold_session_summary,
    get_session_info_from_store,
    list_sessions_from_store,
    project_key_for_directory,
    rename_session_via_store,
)

from forklore import TooLargeError, role_of, text_of
from forklore.adapters.claude_agent import ForkloreSessionStore, heads
from forklore.adapters.claude_agent.messages import BYTES_MAX, TEXT_MAX
from forklore.adapters.claude_agent.session_names import name_of
from forklore.adapters.storable import size_of
from forklore.client.generated.limits import APPEND_ENTRIES_MAX
from tests.clients.adapters.claude_agent_lines import new_key, other, said, store_of, turn
from tests.clients.adapters.services import Service


async def test_a_transcript_reads_as_a_conversation(service: Service, user: str) -> None:
    key = new_key()
    question = said("user", "Which files are here?")
    used = said("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}], question)
    result = said("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}], used)
    answer = said("assistant", [{"type": "text", "text": "One: a.txt."}], result)
    async with store_of(service, user) as (store, _):
        await store.append(
            key, [other("mode"), question, used, result, answer, *turn(2), other("tag", tag="x")]
        )

    with service.client(user) as fl:
        entries = fl.named(name_of(key)).entries().list()
    assert [(role_of(entry), text_of(entry)) for entry in entries] == [
        ("user", "Which files are here?"),
        ("ai", "[Bash]\n\nOne: a.txt."),
        ("user", "question 2"),
        ("ai", "answer 2"),
    ]


async def test_the_same_lines_are_appended_again_after_many_other_sessions(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "SESSIONS_MAX", 2)
    key, lines = new_key(), [other("mode")]
    async with store_of(service, user) as (store, _):
        await store.append(key, lines)
        for _ in range(3):
            await store.append(new_key(), lines)
        await store.append(key, lines)
        assert await store.load(key) == lines * 2


async def test_what_is_gone_leaves_no_locks_in_the_event_loop() -> None:
    sessions = heads.Sessions()
    locks = ref(sessions._locks_of_the_loop())

    del sessions

    gc.collect()
    assert locks() is None


@pytest.mark.failure("other-place")
async def test_event_loops_may_append_to_one_session_at_once(service: Service, user: str) -> None:
    key, lines = new_key(), [[other("mode", number=one) for one in range(each, 16, 4)] for each in range(4)]
    client = service.async_client(user)
    store = ForkloreSessionStore(client)

    async def append(mine: list[SessionStoreEntry]) -> None:
        async with anyio.create_task_group() as tasks:
            for line in mine:
                tasks.start_soon(store.append, key, [line])

    async with anyio.create_task_group() as threads:
        for mine in lines:
            threads.start_soon(to_thread.run_sync, anyio.run, append, mine)

    appended = await store.load(key) or []
    assert sorted(appended, key=str) == sorted((line for mine in lines for line in mine), key=str)
    await client.aclose()


@pytest.mark.parametrize("empty", ["", None])
async def test_an_empty_subpath_is_none(service: Service, user: str, empty: Any) -> None:
    key = new_key()
    same: Any = {**key, "subpath": empty}
    async with store_of(service, user) as (store, _), store_of(service, user) as (second, _):
        first, more = turn(1), turn(2)
        await store.append(key, first)
        await store.append(same, more)
        await second.append(same, more[:0])
        assert await second.load(same) == await second.load(key) == first + more
        assert await second.list_subkeys(key) == []
        [summary] = await second.list_session_summaries(key["project_key"])
        assert summary["data"] == fold_session_summary(None, key, first + more)["data"]
        await second.append(SessionKey(**key, subpath="subagents/agent-1"), first)
        assert await second.load(await second.fork(same)) is not None
        await second.delete(same)
        assert await second.load(key) is None
        assert await second.list_subkeys(key) == []


async def test_a_subagent_is_a_child_of_its_session(service: Service, user: str) -> None:
    key = new_key()
    sub = SessionKey(**key, subpath="subagents/agent-1")
    async with store_of(service, user) as (store, _):
        await store.append(sub, turn(1))  # before its session
        assert await store.load(key) is None
        assert await store.list_sessions(key["project_key"]) == []
        await store.append(key, turn(2))
    with service.client(user) as fl:
        [child] = fl.named(name_of(key)).children().list()
        assert child.id == fl.named(name_of(sub)).resolve()


async def test_subagents_that_begin_together_before_their_session_have_one_parent(
    service: Service, user: str
) -> None:
    for _ in range(5):
        key = new_key()
        subs = [SessionKey(**key, subpath=f"subagents/agent-{number}") for number in range(3)]
        lines = [turn(number) for number in range(4)]
        async with (
            store_of(service, user) as (one, _),
            store_of(service, user) as (two, _),
            store_of(service, user) as (three, _),
            store_of(service, user) as (four, _),
        ):
            async with anyio.create_task_group() as group:
                for store, place, said_there in zip(
                    (one, two, three, four), (*subs, key), lines, strict=True
                ):
                    group.start_soon(store.append, place, said_there)
            assert [await one.load(place) for place in (*subs, key)] == lines
            await two.append(key, turn(5))
            loaded = await one.load(key) or []
            assert loaded[:2] == lines[3]
            assert len(loaded) == 4
            summaries = await one.list_session_summaries(key["project_key"])
            [mine] = [one["data"] for one in summaries if one["session_id"] == key["session_id"]]
            assert mine == fold_session_summary(None, key, loaded)["data"]
        with service.client(user) as fl:
            parent = fl.named(name_of(key))
            assert len(parent.children().list()) == 3
            texts = [text_of(entry) for entry in parent.entries()]
            assert [text for text in texts if text] == [
                "question 3",
                "answer 3",
                "question 5",
                "answer 5",
            ]


async def test_a_deleted_session_can_be_used_again(service: Service, user: str) -> None:
    key = new_key()
    sub = SessionKey(**key, subpath="subagents/agent-1")
    first, second = turn(1), turn(2)
    async with store_of(service, user) as (store, _), store_of(service, user) as (other_store, _):
        await store.append(key, first)
        await store.append(sub, first)
        await other_store.append(key, turn(3))
        await other_store.delete(key)
        await store.append(sub, second)  # it knows of no deletion
        assert await store.load(key) is None
        await store.append(key, second)
        assert await other_store.load(key) == second
        assert await other_store.load(sub) == second
        assert await other_store.list_subkeys(key) == ["subagents/agent-1"]
        await store.delete(key)
        await store.delete(key)
        await other_store.append(key, first)
        assert await store.load(key) == first
        assert await store.list_subkeys(key) == []


async def test_two_writers_lose_and_double_nothing(service: Service, user: str) -> None:
    key, batches = new_key(), 12
    written: dict[int, list[SessionStoreEntry]] = {}

    async def write(writer: int) -> None:
        async with store_of(service, user) as (store, _):
            for number in range(batches):
                lines = [*turn(number), other("custom-title", customTitle=f"{writer}-{number}")]
                written.setdefault(writer, []).extend(lines)
                await store.append(key, lines)

    async with anyio.create_task_group() as group:
        group.start_soon(write, 1)
        group.start_soon(write, 2)

    async with store_of(service, user) as (store, _):
        loaded = await store.load(key)
        assert loaded is not None
        # Every line is there once, and each writer's lines are in order.
        assert len(loaded) == 2 * batches * 3
        for lines in written.values():
            assert [line for line in loaded if line in lines] == lines
        # A summary is missing, or it is that of all lines.
        assert await _summary_fits(store, key, loaded)
        await store.append(key, [other("custom-title", customTitle="the last")])
        [summary] = await store.list_session_summaries(key["project_key"])
        assert summary["data"]["custom_title"] == "the last"
        assert await _summary_fits(store, key, await store.load(key) or [])


async def _summary_fits(store: object, key: SessionKey, lines: list[SessionStoreEntry]) -> bool:
    summaries = await store.list_session_summaries(key["project_key"])  # type: ignore[attr-defined]
    wanted = fold_session_summary(None, key, lines)["data"]
    return all(summary["data"] == wanted for summary in summaries)


async def test_two_first_writers_make_one_session_and_a_true_summary(service: Service, user: str) -> None:
    for _ in range(5):
        key = new_key()
        async with store_of(service, user) as (one, _), store_of(service, user) as (two, _):
            async with anyio.create_task_group() as group:
                group.start_soon(one.append, key, turn(1))
                group.start_soon(two.append, key, turn(2))
            loaded = await one.load(key) or []
            assert len(loaded) == 4
            mine = [
                s
                for s in await one.list_session_summaries(key["project_key"])
                if s["session_id"] == key["session_id"]
            ]
            assert all(s["data"] == fold_session_summary(None, key, loaded)["data"] for s in mine)


async def test_a_line_of_2_4_megabytes_is_kept(service: Service, user: str) -> None:
    key, long = new_key(), said("user", "x" * 2_400_000)
    lines = [*turn(1), long, *turn(2), said("assistant", "y" * 2_400_000), *turn(3)]
    async with store_of(service, user) as (store, _):
        await store.append(key, lines)
        assert await store.load(key) == lines


async def test_lines_with_the_longest_texts_fill_one_append(service: Service, user: str) -> None:
    drawn = random.Random(1)  # it can hardly be compressed

    def rare() -> str:
        """Return a text whose characters count most: 12 bytes each."""
        return "".join(chr(drawn.randrange(0x20000, 0x2A000)) for _ in range(TEXT_MAX))

    async with store_of(service, user) as (store, operations):
        for messages in (1, APPEND_ENTRIES_MAX):
            key, last = new_key(), rare()
            lines = [*(said("user", rare()) for _ in range(messages - 1)), said("user", last)]
            left = BYTES_MAX - sum(map(size_of, lines)) - len('\\"pad\\":\\"\\",')
            lines[-1] = said("user", last, pad=drawn.randbytes(left).hex()[:left])
            assert BYTES_MAX - 10 <= sum(map(size_of, lines)) <= BYTES_MAX
            before = len(operations)
            await store.append(key, lines)
            assert operations[before:] == ["listEntriesByName", "appendEntryByName"]
            assert await store.load(key) == lines


async def test_a_longer_line_is_refused_before_anything_is_written(service: Service, user: str) -> None:
    key = new_key()
    lines = [*turn(1), said("user", "x" * 2_450_000)]
    assert size_of(lines[-1]) > BYTES_MAX
    async with store_of(service, user) as (store, operations):
        with pytest.raises(TooLargeError, match="at most 2,450,000 fit"):
            await store.append(key, lines)
        assert operations == []
        assert await store.load(key) is None


async def test_a_batch_of_500_lines_is_kept(service: Service, user: str) -> None:
    key = new_key()
    lines = [line for number in range(250) for line in turn(number)]
    async with store_of(service, user) as (store, _):
        await store.append(key, lines)
        assert await store.load(key) == lines


async def test_a_line_that_is_appended_again_is_loaded_once(service: Service, user: str) -> None:
    key, lines = new_key(), turn(1)
    async with store_of(service, user) as (store, _), store_of(service, user) as (again, _):
        await store.append(key, lines)
        await again.append(key, [*lines, *turn(2)[:1]])
        assert (await again.load(key) or [])[:2] == lines
        assert len(await again.load(key) or []) == 3


async def test_a_summary_of_more_than_4_kilobytes_is_left_to_the_sdk(service: Service, user: str) -> None:
    directory = "/home/ann/long"
    key = SessionKey(project_key=project_key_for_directory(directory), session_id=new_key()["session_id"])
    async with store_of(service, user) as (store, _):
        await store.append(key, [*turn(1), other("summary", summary="long " * 1_000)])
        assert await store.list_session_summaries(key["project_key"]) == []
        [info] = await list_sessions_from_store(store, directory=directory)
        assert info.first_prompt == "question 1"
        await rename_session_via_store(store, key["session_id"], "Trip", directory)
        found = await get_session_info_from_store(store, key["session_id"], directory)
        assert found is not None
        assert found.custom_title == "Trip"


@pytest.mark.parametrize("text", ["", "ä€😀\x00\u2028", "\ud83d", "/../%2F!"])
async def test_text_comes_back_as_it_was(service: Service, user: str, text: str) -> None:
    key = SessionKey(project_key="p" + text.replace("\ud83d", ""), session_id="s/!" + "x" * 300)
    sub = SessionKey(**key, subpath="sub/" + "y" * 300)
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    numbers: dict[str, Any] = {"int": 2**60, "float": 0.1, "small": 1e-300, "none": None, "deep": deep}
    lines = [*turn(1), said("user", text + "!", **numbers)]
    async with store_of(service, user) as (store, _):
        await store.append(key, lines)
        await store.append(sub, lines)
        assert await store.load(key) == lines
        assert await store.load(sub) == lines
        assert await store.list_subkeys(key) == [sub["subpath"]]
        assert [one["session_id"] for one in await store.list_sessions(key["project_key"])] == [
            key["session_id"]
        ]
