"""A process dies at any request, or loses an answer; another one goes on."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from claude_agent_sdk import SessionKey, SessionStoreEntry, fold_session_summary

from forklore.adapters.claude_agent import ForkloreSessionStore
from tests.clients.adapters.claude_agent_lines import KilledError, new_key, other, said, store_of, turn
from tests.clients.adapters.services import Service

Work = Callable[[ForkloreSessionStore], Awaitable[object]]
LIVES_MAX = 40

pytestmark = pytest.mark.parametrize("is_sent", [False, True], ids=["before", "after"])


async def until_done(service: Service, user: str, work: Work, check: Work, *, is_sent: bool) -> int:
    """Do the work in a process that dies at its first request, then at its second, and so on.

    check: is called after each death. Return how many deaths there were.
    """
    for lives in range(LIVES_MAX):
        async with store_of(service, user, lives=lives, is_sent=is_sent) as (store, operations):
            try:
                await work(store)
            except KilledError:
                assert len(operations) == lives + 1
            else:
                return lives
        async with store_of(service, user) as (store, _):
            await check(store)
    raise AssertionError("the work never ends")


async def test_a_batch_is_there_or_not_and_is_appended_again(
    service: Service, user: str, is_sent: bool
) -> None:
    key, sub = new_key(), new_key("subagents/agent-1")
    first, second = turn(1), turn(2)
    steps = [(key, first), (SessionKey(**{**sub, "session_id": key["session_id"]}), first), (key, second)]

    async def work(store: ForkloreSessionStore) -> None:
        for place, lines in steps:
            await store.append(place, lines)

    async def check(store: ForkloreSessionStore) -> None:
        assert await store.load(key) in (None, first, first + second)
        assert await store.load(steps[1][0]) in (None, first)
        for one in await store.list_session_summaries(key["project_key"]):
            # Lines that were appended twice change no summary.
            assert one["data"] == fold_session_summary(None, key, await store.load(key) or [])["data"]

    assert await until_done(service, user, work, check, is_sent=is_sent) >= 4
    async with store_of(service, user) as (store, _):
        assert await store.load(key) == first + second
        assert await store.list_subkeys(key) == ["subagents/agent-1"]


async def test_a_subagent_that_dies_before_its_session_leaves_one_conversation(
    service: Service, user: str, is_sent: bool
) -> None:
    sub, lines = new_key("subagents/agent-1"), turn(1)
    key = SessionKey(project_key=sub["project_key"], session_id=sub["session_id"])

    async def check(store: ForkloreSessionStore) -> None:
        assert await store.load(key) is None
        assert await store.list_sessions(key["project_key"]) == []
        with service.client(user) as fl:
            held = fl.api.list_conversations(mode="all", ancestry="roots").data
            assert [one.id for one in held] == [one.conversation_id for one in fl.names("claude/").list()]

    assert await until_done(service, user, lambda s: s.append(sub, lines), check, is_sent=is_sent) >= 2
    async with store_of(service, user) as (store, _):
        await check(store)
        assert await store.load(sub) == lines
        await store.append(key, lines)
        assert await store.load(key) == lines
        [summary] = await store.list_session_summaries(key["project_key"])
        assert summary["data"] == fold_session_summary(None, key, lines)["data"]


@pytest.mark.parametrize("subpath", [None, "subagents/agent-1"])
async def test_a_batch_whose_answer_was_lost_is_appended_after_a_deletion(
    service: Service, user: str, is_sent: bool, subpath: str | None
) -> None:
    session = new_key()
    key = session if subpath is None else SessionKey(**session, subpath=subpath)
    lines = [*turn(1), other("tag", tag="a")]
    async with store_of(service, user) as (store, operations), store_of(service, user) as (second, _):
        await store.append(session, turn(2))
        watched = store._api._transport
        for deleting in (store, second):
            # The append is the last request: an unknown subpath is looked up first.
            lives = len(operations) + (subpath is not None)
            watched._lives, watched._is_sent = lives, is_sent  # type: ignore[attr-defined]
            with pytest.raises(KilledError):
                await store.append(key, lines)
            watched._lives = None  # type: ignore[attr-defined]
            await deleting.delete(session)
            await store.append(key, lines)
            assert await second.load(key) == lines
            await second.delete(session)
            await second.append(session, turn(3))


async def test_a_large_batch_is_a_beginning_of_it_and_is_appended_again(
    service: Service, user: str, is_sent: bool
) -> None:
    key = new_key()
    lines = [*turn(1), said("user", "x" * 2_000_000), *turn(2), said("user", "y" * 2_000_000)]

    async def check(store: ForkloreSessionStore) -> None:
        loaded = await store.load(key) or []
        assert loaded == lines[: len(loaded)]

    assert await until_done(service, user, lambda s: s.append(key, lines), check, is_sent=is_sent) >= 3
    async with store_of(service, user) as (store, _):
        assert await store.load(key) == lines


async def test_a_deletion_is_gone_on_with(service: Service, user: str, is_sent: bool) -> None:
    key, source = new_key(), new_key()
    subs = [SessionKey(**key, subpath=f"subagents/agent-{number}") for number in range(3)]
    async with store_of(service, user) as (store, _):
        for one in (source, key, *subs):
            await store.append(one, turn(1))
        fork = await store.fork(key)
        kept = await store.load(fork)

    async def check(store: ForkloreSessionStore) -> None:
        assert (await store.load(key) is None) or len(await store.list_subkeys(key)) == 3
        assert await store.load(fork) == kept
        ids = {one["session_id"] for one in await store.list_sessions(key["project_key"])}
        assert ids - {key["session_id"]} == {source["session_id"], fork["session_id"]}

    assert await until_done(service, user, lambda s: s.delete(key), check, is_sent=is_sent) >= 3
    again = turn(2)
    async with store_of(service, user) as (store, _):
        assert await store.list_subkeys(key) == []
        assert [await store.load(one) for one in (key, *subs)] == [None] * 4
        await store.append(key, again)
        assert await store.load(key) == again
    async with service.async_client(user) as client:
        names = await client.names("claude").list()
        assert not any(one.deleted for one in names)


async def test_an_append_goes_on_where_a_deletion_died(service: Service, user: str, is_sent: bool) -> None:
    for lives in range(6):
        key = new_key()
        sub = SessionKey(**key, subpath="subagents/agent-1")
        async with store_of(service, user) as (store, _):
            await store.append(key, turn(1))
            await store.append(sub, turn(1))
        async with store_of(service, user, lives=lives, is_sent=is_sent) as (store, _):
            with suppress(KilledError):
                await store.delete(key)
        more = turn(2)
        async with store_of(service, user) as (store, _):
            was = await store.load(key) or []
            sub_was = await store.load(sub) or []
            await store.append(sub, more)
            await store.append(key, more)
            assert await store.load(key) == was + more
            assert await store.load(sub) == sub_was + more


async def test_a_fork_is_whole_or_not_there(service: Service, user: str, is_sent: bool) -> None:
    source, lines = new_key(), turn(1)
    async with store_of(service, user) as (store, _):
        await store.append(source, lines)

    async def check(store: ForkloreSessionStore) -> None:
        assert await store.load(source) == lines
        for one in await store.list_sessions(source["project_key"]):
            assert await store.load({"project_key": source["project_key"], "session_id": one["session_id"]})

    assert await until_done(service, user, lambda s: s.fork(source), check, is_sent=is_sent) == 2


async def test_a_batch_that_failed_is_appended_once_more_by_the_sdk(
    service: Service, user: str, is_sent: bool
) -> None:
    """The SDK calls `append` again with the batch that failed. Not each line has a `uuid`."""
    key = new_key()
    big = [
        said("user", "x" * 1_500_000),
        other("mode", n=1),
        said("user", "y" * 1_500_000),
        other("mode", n=2),
    ]
    batches: list[list[SessionStoreEntry]] = [[*turn(1), other("tag", tag="a")], big, [other("tag", tag="a")]]
    async with store_of(service, user) as (store, operations):
        watched = store._api._transport
        failures = 0
        for lines in batches:
            for nth in range(3):  # fail at the first, the second and the third request of a batch
                watched._lives, watched._is_sent = len(operations) + nth, is_sent  # type: ignore[attr-defined]
                try:
                    await store.append(key, lines)
                except KilledError:
                    failures += 1
                else:
                    break
            else:
                watched._lives = None  # type: ignore[attr-defined]
                await store.append(key, lines)
        watched._lives = None  # type: ignore[attr-defined]
        assert failures >= 4
        assert await store.load(key) == [line for lines in batches for line in lines]
