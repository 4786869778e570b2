"""What docs/adapters/claude-agent.md says is true: its code, and its counts of requests."""

import contextlib
import io
import re
from typing import Any

from claude_agent_sdk import SessionKey

from tests.clients.adapters.claude_agent_lines import new_key, store_of, turn
from tests.clients.adapters.services import Service
from tools.harness.local_server import ROOT

PAGE = (ROOT / "docs/adapters/claude-agent.md").read_text()


def test_the_code_of_the_page_says_what_the_page_says() -> None:
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for kind, text in blocks:
            if kind == "python":
                exec(compile(text, "claude-agent.md", "exec"), names)
    assert said.getvalue() == "".join(text for kind, text in blocks if kind == "text")
    assert [kind for kind, _ in blocks].count("text") == 3


async def test_the_requests_are_those_of_the_page(service: Service, user: str) -> None:
    counts: dict[str, int] = {}
    key = new_key()
    sub = SessionKey(**key, subpath="subagents/agent-1")
    async with store_of(service, user) as (store, operations), store_of(service, user) as (cold, others):

        async def count(what: str, work: Any) -> None:
            operations.clear()
            others.clear()
            await work
            counts[what] = len(operations) + len(others)

        await count("append to a new session", store.append(key, turn(1)))
        await count(
            "append, in a process that has loaded the session or appended to it", store.append(key, turn(2))
        )
        await count("append in a process that knows nothing of the session", cold.append(key, turn(3)))
        await count("append to a new subpath", store.append(sub, turn(1)))
        await count("load", store.load(key))
        await count("fork, of a session of any length", store.fork(key))
        await count("a list of sessions, or of their summaries", store.list_session_summaries("p"))
        await count("delete", store.delete(key))
    table = PAGE.partition("| what | requests |")[2].partition("\n\n")[0]
    said = {what: int(number) for what, number in re.findall(r"^\| ([^|]+?) \| (\d+)", table, re.MULTILINE)}
    said["delete"] += 1  # one subpath
    assert counts == said
