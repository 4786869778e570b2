"""What both agents are about: an older conversation, and a script that stands in for a model."""

import shutil
import sys
import uuid
from typing import Any

from forklore import Forklore

COMMAND = shutil.which("forklore") or sys.executable
ARGUMENTS = ["-m", "forklore.cli", "mcp"] if COMMAND is sys.executable else ["mcp"]
QUESTION = "Look for our trip to Lisbon, try another hotel in a fork, and compare."


def prepare(data: str) -> None:
    """Leave a conversation in a folder, as an agent did last week."""
    with Forklore.local(user="ann", data=data) as fl:
        chat = fl.conversation()
        chat.say("user", "Two nights in Lisbon?")
        chat.say("ai", "Casa do Jardim, 240 EUR.")


def arguments(data: str) -> list[str]:
    """Return the arguments that start the tools on a folder."""
    return [*ARGUMENTS, "--data", data, "--user", "ann"]


def next_call(results: list[dict[str, Any]]) -> tuple[str, dict[str, Any]] | str:
    """Return the next tool to call with its arguments, or the last answer.

    results: what the tools have answered so far. A model decides this by itself.
    """
    match results:
        case []:
            return "search_conversations", {"query": "lisbon"}
        case [search]:
            asked = search["found"][0]
            return "fork_conversation", {
                "call_id": str(uuid.uuid4()),
                "conversation_id": asked["conversation_id"],
                "after_entry_id": asked["entry_id"],
            }
        case [_, fork]:
            return "say", {
                "call_id": str(uuid.uuid4()),
                "conversation_id": fork["conversation_id"],
                "text": "Hotel Lumiares, 260 EUR.",
            }
        case [search, fork, _]:
            return "compare_conversations", {
                "conversation_id": search["found"][0]["conversation_id"],
                "other": fork["conversation_id"],
            }
        case [*_, compared]:
            answers = [branch["entries"][0]["text"] for branch in compared["branches"]]
            return f"One answer was {answers[0]!r}, the other is {answers[1]!r}."
        case _:
            raise ValueError(results)
