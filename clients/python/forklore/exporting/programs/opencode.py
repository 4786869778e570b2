"""opencode: the form of its export, which `opencode import` takes.

Seen with 1.18.33: results of tools stand with their call; a message of the user that is a part
`compaction` alone, and an answer with `summary`, is where a session was summed up.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    images_of,
    milliseconds,
    result_in,
    thought_in,
)
from forklore.exporting.written_ids import id_beside

Row = dict[str, Any]


def written(talk: Talk) -> Written:
    """Return the session's file, and how opencode goes on with it."""
    session = _id("ses", talk.session)
    first, last = (talk.turns[0].at, talk.turns[-1].at) if talk.turns else ("1970-01-01T00:00:00Z",) * 2
    about = {
        "id": session,
        "slug": session,
        "projectID": "global",
        "directory": str(talk.folder),
        "title": talk.title or "forklore",
        "version": "1.18.33",
        "time": {"created": milliseconds(first), "updated": milliseconds(last)},
    }
    text = jsontext.write({"info": about, "messages": [*_messages(talk, session)]}) + "\n"
    commands = [["opencode", "import", "{file}"], ["opencode", "--session", session]]
    return Written(f"{talk.session}.json", text, commands)


def _id(kind: str, uuid: str) -> str:
    return f"{kind}_{uuid.replace('-', '')}"


def _messages(talk: Talk, session: str) -> Iterator[Row]:
    asked, model = _id("msg", talk.session), _model(talk)
    results = {str(part.get("tool_use_id")): part for turn in talk.turns for part in turn.of("tool_result")}
    for turn in talk.turns:
        own, at = _id("msg", turn.turn_id), milliseconds(turn.at)
        named = {"id": own, "sessionID": session}
        if turn.is_summary:
            asked = _id("msg", id_beside(turn.turn_id, 1))
            kept = talk.kept_from(turn, "user", "assistant")
            begin = {"tail_start_id": _id("msg", kept)} if kept else {}
            yield _message(
                {**_asking(at - 1, model), "id": asked, "sessionID": session},  # it is sorted by time
                [{"type": "compaction", "auto": False, **begin}],
            )
            yield _message(
                {**_answering(talk, turn, asked, at, model), **named, "summary": True}, [_text(turn.text)]
            )
        elif turn.role == "assistant":
            parts = [_part(part, results, at) for part in turn.parts]
            yield _message({**_answering(talk, turn, asked, at, model), **named}, parts)
        elif turn.role == "system":
            talk.left_out["messages of the system"] += 1
        elif shown := [_said(part) for part in turn.parts if part.get("type") != "tool_result"]:
            asked = own
            yield _message({**_asking(at, model), **named}, shown)


def _message(info: Row, parts: list[Row]) -> Row:
    ids = {"sessionID": info["sessionID"], "messageID": info["id"]}
    numbered = enumerate(parts)
    return {
        "info": info,
        "parts": [{**one, "id": f"prt_{info['id'][4:]}{at:04}", **ids} for at, one in numbered],
    }


def _asking(at: int, model: Row) -> Row:
    return {"role": "user", "time": {"created": at}, "agent": "build", "model": model}


def _model(talk: Talk) -> Row:
    """Return the model of the newest session, or of the settings: one that opencode knows."""
    with suppress(sqlite3.Error, ValueError, KeyError, TypeError):
        place = f"{(talk.home / 'opencode.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as database:
            [told] = database.execute(_NEWEST).fetchone()
        model = json.loads(told)
        return {"providerID": model["providerID"], "modelID": model["id"]}
    with suppress(OSError, ValueError, KeyError, AttributeError, IndexError):
        settings = talk.home.parents[2] / ".config/opencode/opencode.json"
        provider, _, model = json.loads(settings.read_text(encoding="utf-8"))["model"].partition("/")
        return {"providerID": provider, "modelID": model}
    return {"providerID": "forklore", "modelID": "unknown"}


_NEWEST = "SELECT model FROM session WHERE model IS NOT NULL ORDER BY time_updated DESC LIMIT 1"


def _answering(talk: Talk, turn: Turn, asked: str, at: int, model: Row) -> Row:
    """Return a message of the model that goes on: a thought of another is sent as words."""
    tokens = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    folder = str(talk.folder)
    return {
        "role": "assistant",
        "parentID": asked,
        "mode": "build",
        "agent": "build",
        "path": {"cwd": folder, "root": folder},
        "cost": 0,
        "tokens": tokens,
        **model,
        "time": {"created": at, "completed": at},
        "finish": "tool-calls" if turn.of("tool_use") else "stop",
    }


def _text(text: str) -> Row:
    return {"type": "text", "text": text}


def _said(part: Part) -> Row:
    image = image_in(part)
    return _file(image, "image") if image else _text(line_of(part))


def _part(part: Part, results: Mapping[str, Part], at: int) -> Row:
    time = {"start": at, "end": at}
    match part.get("type"):
        case "thinking":
            return {"type": "reasoning", "text": thought_in(part), "time": time}
        case "tool_use":
            result = results.get(str(part.get("id")))
            state = {
                "input": part.get("input", {}),
                "time": time,
                "metadata": {},
                "title": str(part.get("name")),
            }
            if result is None or result.get("is_error") is True:
                state |= {"status": "error", "error": "no result" if result is None else result_in(result)}
            else:
                state |= {"status": "completed", "output": result_in(result)}
                state["attachments"] = [_file(image, "result") for image in images_of(result)]
            return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": state}
        case _:
            return _said(part)


def _file(image: tuple[str, str], name: str) -> Row:
    return {"type": "file", "mime": image[0], "filename": name, "url": f"data:{image[0]};base64,{image[1]}"}
