"""Forks of sessions: as the SDK makes them, but nothing is copied."""

import re
import uuid
from typing import Any

import pytest
from claude_agent_sdk import (
    SessionKey,
    SessionStoreEntry,
    fork_session_via_store,
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
)

from tests.clients.adapters.claude_agent_lines import other, said, store_of, turn
from tests.clients.adapters.services import Service

DIRECTORY = "/home/ann/trip"
PROJECT = project_key_for_directory(DIRECTORY)


def key_of(session_id: str | None = None) -> SessionKey:
    return SessionKey(project_key=PROJECT, session_id=session_id or str(uuid.uuid4()))


def session_lines(session_id: str) -> list[SessionStoreEntry]:
    """Return lines of each kind that the SDK treats in its own way when it forks."""
    lines = turn(1)
    progress = other("progress", uuid=str(uuid.uuid4()), parentUuid=lines[-1]["uuid"], timestamp="2026-03-01")
    after = said("user", "after a progress", progress, slug="s", teamName="t")
    boundary = other(
        "system",
        uuid=str(uuid.uuid4()),
        parentUuid=None,
        logicalParentUuid=after["uuid"],
        subtype="compact_boundary",
    )
    return [
        *lines,
        progress,
        after,
        said("assistant", "aside", after, isSidechain=True),
        other("file-history-snapshot", snapshot={}),
        boundary,
        said("user", "the summary", boundary, isMeta=True, logicalParentUuid=progress["uuid"]),
        other("content-replacement", sessionId=session_id, replacements=[{"a": 1}]),
        *turn(2, boundary),
        other("custom-title", customTitle="Trip", uuid=str(uuid.uuid4()), timestamp="2026-03-01"),
    ]


def without_ids(lines: list[SessionStoreEntry] | None) -> list[Any]:
    """Return lines in which each id is a number, by its first place, without the time of now."""
    numbers: dict[str, int] = {}

    def number(one: Any) -> Any:
        return one and numbers.setdefault(one, len(numbers))

    fields = ("uuid", "parentUuid", "logicalParentUuid", "sessionId")
    settled: list[Any] = []
    for line in lines or []:
        of_now = str(line.get("timestamp")) > "2026-03-02"
        ids = {field: number(line[field]) for field in fields if field in line}  # type: ignore[literal-required]
        settled.append({**line, **ids, **({"timestamp": None} if of_now else {})})
    return settled


@pytest.mark.parametrize("title", [None, "Porto"])
@pytest.mark.parametrize("place", [None, 0, 3, 6, 7, 9])
async def test_a_fork_is_that_of_the_sdk_but_for_its_ids(
    service: Service, user: str, place: int | None, title: str | None
) -> None:
    source = key_of()
    lines = session_lines(source["session_id"])
    up_to = None if place is None else lines[place]["uuid"]
    async with store_of(service, user) as (store, _):
        for line in lines:
            await store.append(source, [line])
        theirs = await fork_session_via_store(store, source["session_id"], DIRECTORY, up_to, title)
        ours = await store.fork(source, up_to=up_to, title=title)
        wanted = without_ids(await store.load(key_of(theirs.session_id)))
        made = await store.load(ours)
        assert without_ids(made) == wanted
        assert await store.load(ours) == made  # the ids last
        ids: list[Any] = [dict(line)["sessionId"] for line in made or []]
        assert {*ids} == {ours["session_id"]}
        # The first line of a fork that nobody knows has ids of no other line.
        assert not {line["uuid"] for line in made or []} & {line.get("uuid") for line in lines}

        # Both go on, and are forked again.
        more = turn(3)
        await store.append(ours, more)
        await store.append(key_of(theirs.session_id), more)
        ours = await store.fork(ours, up_to=more[0]["uuid"])
        again = await fork_session_via_store(store, theirs.session_id, DIRECTORY, more[0]["uuid"])
        made, wanted_lines = await store.load(ours), await store.load(key_of(again.session_id))
        for line in [*(made or []), *(wanted_lines or [])]:
            line.pop("forkedFrom", None)  # type: ignore[misc]
        assert without_ids(made) == without_ids(wanted_lines)
        infos = {one.session_id: one for one in await list_sessions_from_store(store, DIRECTORY)}
        assert infos[ours["session_id"]].summary == infos[again.session_id].summary


async def test_a_fork_names_its_own_lines_as_those_that_a_compaction_kept(
    service: Service, user: str
) -> None:
    source, lines = key_of(), turn(1)
    anchor, kept = str(uuid.uuid4()), lines[-1]["uuid"]
    metadata = {
        "trigger": "manual",
        "preservedSegment": {"headUuid": kept, "anchorUuid": anchor, "tailUuid": kept},
        "preservedMessages": {"anchorUuid": anchor, "uuids": [kept], "allUuids": [kept]},
    }
    about = {"subtype": "compact_boundary", "compactMetadata": metadata}
    boundary = other("system", uuid=str(uuid.uuid4()), parentUuid=None, logicalParentUuid=kept, **about)
    summary = said("user", "the summary", boundary, uuid=anchor, isCompactSummary=True)
    async with store_of(service, user) as (store, _):
        await store.append(source, [*lines, boundary, summary])
        fork = await store.fork(await store.fork(source))
        _, answer, forked, after, _ = map(dict, await store.load(fork) or [])
        assert answer["uuid"] != kept
        names: Any = {kept: answer["uuid"], anchor: after["uuid"]}
        assert forked["compactMetadata"] == {
            "trigger": "manual",
            "preservedSegment": {
                "headUuid": names[kept],
                "anchorUuid": names[anchor],
                "tailUuid": names[kept],
            },
            "preservedMessages": {
                "anchorUuid": names[anchor],
                "uuids": [names[kept]],
                "allUuids": [names[kept]],
            },
        }


async def test_a_fork_lives_when_its_source_is_deleted(service: Service, user: str) -> None:
    source, lines = key_of(), turn(1)
    async with store_of(service, user) as (store, _):
        await store.append(source, lines)
        fork = await store.fork(source)
        deeper = await store.fork(fork)
        seen = await store.load(fork), await store.load(deeper)
        await store.append(source, turn(2))
        await store.delete(source)
        assert await store.load(source) is None
        assert (await store.load(fork), await store.load(deeper)) == seen
        await store.append(source, turn(3))  # the same id once more
        await store.append(fork, turn(4))
        assert (await store.load(fork) or [])[:3] == seen[0]
        await store.delete(fork)
        assert await store.load(deeper) == seen[1]


async def test_the_summary_of_a_fork_comes_with_its_first_turn(service: Service, user: str) -> None:
    source = key_of()
    async with store_of(service, user) as (store, _):
        await store.append(source, turn(1))
        fork = await store.fork(source, title="Porto")
        assert len(await store.list_session_summaries(PROJECT)) == 1
        titles = {
            one.session_id: one.custom_title for one in await list_sessions_from_store(store, DIRECTORY)
        }
        assert titles == {source["session_id"]: None, fork["session_id"]: "Porto"}
        await store.load(fork)  # the SDK does so when it resumes
        await store.append(fork, turn(2))
        summaries = {one["session_id"]: one["data"] for one in await store.list_session_summaries(PROJECT)}
        assert summaries[fork["session_id"]]["custom_title"] == "Porto"


async def test_a_second_answer_and_a_rewind(service: Service, user: str) -> None:
    source = key_of()
    first = turn(1)
    second = turn(2, first[-1])
    async with store_of(service, user) as (store, _):
        await store.append(source, first)
        await store.append(source, second)
        rewound = await store.fork(source, up_to=first[-1]["uuid"])
        kept = await store.load(rewound) or []
        await store.append(rewound, turn(3, kept[-2]))
        messages = await get_session_messages_from_store(store, rewound["session_id"], DIRECTORY)
        said_by = [re.sub(r"[^a-z0-9 ]", "", str(one.message.get("content"))[-12:]) for one in messages]
        assert [one.split()[-1] for one in said_by] == ["1", "1", "3", "3"]
        assert await store.load(source) == first + second


async def test_what_cannot_be_forked_is_refused(service: Service, user: str) -> None:
    source = key_of()
    async with store_of(service, user) as (store, _):
        with pytest.raises(FileNotFoundError):
            await store.fork(source)
        await store.append(source, turn(1))
        with pytest.raises(ValueError, match="badly formed"):
            await store.fork(source, up_to="the second one")
        with pytest.raises(ValueError, match="subpath"):
            await store.fork(SessionKey(**source, subpath="subagents/agent-1"))
        unknown = await store.fork(source, up_to=str(uuid.uuid4()))
        with pytest.raises(ValueError, match="not found in session"):
            await store.load(unknown)
        assert len(await store.list_sessions(PROJECT)) == 2
        await store.delete(unknown)


async def test_a_fork_costs_the_same_at_10_and_at_3000_messages(service: Service, user: str) -> None:
    costs = []
    async with store_of(service, user) as (store, operations):
        for count in (5, 1_500):
            source = key_of()
            lines = [line for number in range(count) for line in turn(number)]
            await store.append(source, lines)
            operations.clear()
            await store.fork(source, up_to=lines[6]["uuid"])
            costs.append(list(operations))
    assert costs == [["lookUpName", "appendEntryByName"]] * 2
