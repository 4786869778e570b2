"""Long sessions of Claude Code and Codex of each kind are read in time that grows with them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.importing.formats.shapes import trees_of
from tests.support.growth import takes_at_most

Row = dict[str, Any]
AT = "2026-11-28T12:00:00.000Z"


def of_claude(number: int, parent: int | None, kind: str, **told: Any) -> Row:
    above = None if parent is None else f"{parent:08x}"
    row = {"uuid": f"{number:08x}", "parentUuid": above, "sessionId": "0001", "type": kind}
    return {**row, "isSidechain": False, "timestamp": AT, "cwd": "/home/ann", **told}


def asked(number: int, parent: int | None, content: Any = "Rain?", **told: Any) -> Row:
    return of_claude(number, parent, "user", message={"role": "user", "content": content}, **told)


def answered(number: int, parent: int, message_id: str) -> Row:
    call = {"type": "tool_use", "id": f"call_{number}", "name": "look", "input": {}}
    message = {"id": message_id, "role": "assistant", "content": [call]}
    return of_claude(number, parent, "assistant", message=message)


def hidden(count: int) -> Iterator[Row]:
    yield asked(0, None)
    yield from (of_claude(at, at - 1, "attachment", attachment={"type": "model"}) for at in range(1, count))
    yield asked(count, count - 1)


def calls_of_one_message(count: int) -> Iterator[Row]:
    yield asked(0, None)
    yield from (answered(at, at - 1, "msg_1") for at in range(1, count))
    for at in range(1, count):
        yield asked(count + at, at, [{"type": "tool_result", "tool_use_id": f"call_{at}", "content": "A"}])


def replies_to_one_message(count: int) -> Iterator[Row]:
    yield asked(0, None)
    yield from (asked(at, 0, f"Rain {at}?") for at in range(1, count))


def compactions(count: int) -> Iterator[Row]:
    for at in range(0, count, 3):
        yield asked(at, at - 1 if at else None)
        cut = {"subtype": "compact_boundary", "content": "", "logicalParentUuid": f"{at:08x}"}
        yield of_claude(at + 1, None, "system", **cut)
        yield asked(at + 2, at + 1, "So far.", isCompactSummary=True)


def sub_agent(count: int) -> Iterator[Row]:
    yield asked(0, None)
    for at in range(1, count):
        yield asked(at, at - 1 if at > 1 else None, isSidechain=True, agentId="a1")


def of_codex(rows: Iterator[Row]) -> Iterator[Row]:
    about = {"id": "0001", "timestamp": AT, "cwd": "/home/ann"}
    yield {"timestamp": AT, "type": "session_meta", "payload": about}
    for row in rows:
        yield {"timestamp": AT, "type": "response_item", "payload": row} if "payload" not in row else row


def texts(count: int) -> Iterator[Row]:
    for at in range(count):
        yield {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{at}"}]}


def calls(count: int) -> Iterator[Row]:
    for at in range(count):
        yield {"type": "function_call", "id": f"fc_{at}", "name": "look", "call_id": f"c{at}"}
    for at in range(count):
        yield {"type": "function_call_output", "call_id": f"c{at}", "output": "A"}


def with_events(count: int) -> Iterator[Row]:
    for row in texts(count):
        yield row
        for kind in ("event_msg", "turn_context", "token_usage_record", "world_state"):
            yield {"timestamp": AT, "type": kind, "payload": {"type": "token_count", "info": {}}}


def compacted(count: int) -> Iterator[Row]:
    for row in texts(count):
        yield row
        payload = {"message": "So far.", "replacement_history": [row]}
        yield {"timestamp": AT, "type": "compacted", "payload": payload}


def of_pi(rows: Iterator[Row]) -> Iterator[Row]:
    yield {"type": "session", "version": 3, "id": "0001", "timestamp": AT, "cwd": "/home/ann"}
    for at, row in enumerate(rows):
        above = f"{at - 1:08x}" if at else None
        yield {"type": "message", "id": f"{at:08x}", "parentId": above, "timestamp": AT, **row}


def compactions_that_keep_nothing(count: int) -> Iterator[Row]:
    for at in range(count):
        if at % 3 == 2:
            yield {"type": "compaction", "summary": "So far.", "firstKeptEntryId": f"{at:08x}"}
        else:
            yield {"message": {"role": "user", "content": "Rain?"}}


def of_kimi_with_one_id(count: int) -> Iterator[Row]:
    yield {"type": "metadata", "protocol_version": "1.5", "created_at": 1}
    for at in range(count):
        text = {"type": "text", "text": f"{at}"}
        message = {"role": "user", "id": "m", "content": [text], "origin": {"kind": "user"}}
        yield {"type": "context.append_message", "message": message, "time": at}


def compressions_of_gemini(count: int) -> Iterator[Row]:
    yield {"sessionId": "1", "projectHash": "p"}
    for at in range(0, count, 4):
        said = [
            {"id": f"{at + more}", "type": kind, "content": [{"text": f"{at + more}"}]}
            for more, kind in ((0, "user"), (1, "gemini"))
        ]
        summary = {"id": f"s{at}", "type": "user", "content": [{"text": "<state_snapshot>So far."}]}
        yield from said
        yield {"$set": {"messages": [summary, *({**one, "id": f"copy{one['id']}"} for one in said)]}}


KINDS: dict[str, Callable[[int], Iterator[Row]]] = {
    "rows that nobody sees": hidden,
    "calls of one message": calls_of_one_message,
    "replies to one message": replies_to_one_message,
    "compactions": compactions,
    "a sub-agent": sub_agent,
    "Codex, without ids": lambda count: of_codex(texts(count)),
    "Codex, calls": lambda count: of_codex(calls(count)),
    "Codex, events": lambda count: of_codex(with_events(count)),
    "Codex, compactions": lambda count: of_codex(compacted(count)),
    "pi, compactions that keep nothing": lambda count: of_pi(compactions_that_keep_nothing(count)),
    "Kimi Code, one id for all": of_kimi_with_one_id,
    "Gemini CLI, compressions": compressions_of_gemini,
}


@pytest.mark.parametrize("kind", KINDS)
def test_reading_takes_time_in_proportion_to_the_length(kind: str, tmp_path: Path) -> None:
    few, many = tmp_path / "few" / "0001.jsonl", tmp_path / "many" / "0001.jsonl"
    for file, count in ((few, 250), (many, 2000)):
        file.parent.mkdir()
        file.write_text("".join(json.dumps(row) + "\n" for row in KINDS[kind](count)))

    assert len(trees_of(few.parent)[0].messages) < len(trees_of(many.parent)[0].messages) or kind == (
        "rows that nobody sees"
    )
    assert takes_at_most(16, lambda: trees_of(many.parent), than=lambda: trees_of(few.parent))
