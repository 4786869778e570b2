"""`forklore import` of a database of the OpenAI Agents SDK: the agent goes on where it was."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from agents import SQLiteSession

from forklore import Forklore
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.openai_agents.databases import copied_sessions

ITEMS: list[Any] = [
    {"role": "user", "content": "Pay 5 euros"},
    {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"euros": 5}'},
    {"type": "function_call_output", "call_id": "c1", "output": "paid"},
    *({"role": "user", "content": f"and {number}"} for number in range(120)),
]


def added(path: Path, name: str, items: list[Any]) -> None:
    session = SQLiteSession(name, path)
    asyncio.run(session.add_items(items))
    session.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with two sessions."""
    made = tmp_path / "sessions.db"
    added(made, "trip", ITEMS)
    added(made, "fish", ITEMS[:1])
    return made


async def items_of(client: Forklore, name: str) -> list[Any]:
    held: list[Any] = await ForkloreSession(name, client).get_items(limit=-1)
    return held


def test_the_sessions_are_copied_once_and_what_is_new_is_added(path: Path) -> None:
    with Forklore.local(user="ann") as client:
        first = list(copied_sessions(path, client))
        assert sorted(first) == [("openai/fish", 1, 0, ""), ("openai/trip", len(ITEMS), 0, "")]
        assert asyncio.run(items_of(client, "trip")) == ITEMS

        added(path, "fish", ITEMS[1:2])
        again = list(copied_sessions(path, client))
        assert sorted(again) == [("openai/fish", 2, 1, ""), ("openai/trip", len(ITEMS), len(ITEMS), "")]
        assert asyncio.run(items_of(client, "fish")) == ITEMS[:2]


def test_a_session_that_went_on_otherwise_in_forklore_stays_as_it_is(path: Path) -> None:
    other: Any = {"role": "user", "content": "Something else"}
    with Forklore.local(user="ann") as client:
        asyncio.run(ForkloreSession("fish", client).add_items([other]))

        told = {name: problem for name, _, _, problem in copied_sessions(path, client)}

        assert told == {"openai/trip": "", "openai/fish": "the session in forklore has other items"}
        assert asyncio.run(items_of(client, "fish")) == [other]


def test_the_database_stays_as_it_is_and_a_damaged_one_is_an_error(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    assert len(list(copied_sessions(path, None))) == 2
    assert path.read_bytes() == before

    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\0" + bytes(5_000))
    with pytest.raises(sqlite3.Error):
        list(copied_sessions(damaged, None))
