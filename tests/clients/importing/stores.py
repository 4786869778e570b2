"""What an import has made, as a person sees it: trees of branches, and what they show."""

import json
from collections.abc import Iterable
from typing import Any

import forklore
from forklore.client.result_base import wire
from tests.clients.cli.running import Forklore

Line = tuple[str, str]
"""What is said, such as `user` or `call`, and the words."""
ROLES = {"USER": "user", "AI": "assistant", "SYSTEM": "system"}
IMAGES = ("image", "input_image", "image_url", "file")


def rows(run: Forklore) -> list[dict[str, Any]]:
    """Return all conversations of the user, also those that entries have started."""
    _, data, _, user = run.options
    with forklore.Forklore.local(user=user, data=data) as client:
        listed = client.conversations(mode="all", order="created", ancestry="all", archived="include")
        return [wire(one) for one in listed]


def trees(run: Forklore) -> list[list[dict[str, Any]]]:
    """Return the branches of each fork tree that is not archived, the current one first.

    Those that entries have started come last.
    """
    of_root: dict[str, list[dict[str, Any]]] = {}
    held = {row["id"]: row for row in rows(run)}
    for row in held.values():
        root = row
        while root.get("forkedAtConversationId") in held:
            root = held[root["forkedAtConversationId"]]
        if not root.get("archived"):
            of_root.setdefault(root["id"], []).append(row)
    found = sorted(of_root, key=lambda root: bool(held[root].get("startedByConversationId")))
    return [sorted(of_root[root], key=lambda row: not row["isCurrent"]) for root in found]


def lines(run: Forklore, conversation: str) -> list[Line]:
    """Return what a conversation shows."""
    _, data, _, user = run.options
    with forklore.Forklore.local(user=user, data=data) as client:
        entries = client.conversation(conversation).entries(page_entries=1_000)
        return [line for entry in entries for line in _lines_of(entry.content[0])]


def texts(run: Forklore, conversation: str) -> list[str]:
    """Return the texts that a conversation shows."""
    return [words for kind, words in lines(run, conversation) if kind in ROLES.values()]


def shown(run: Forklore) -> list[list[str]]:
    """Return the texts of each branch of each tree, sorted."""
    return sorted(texts(run, branch["id"]) for branches in trees(run) for branch in branches)


def _lines_of(element: dict[str, Any]) -> Iterable[Line]:
    role = ROLES.get(str(element.get("role")), "tool")
    text, events = str(element.get("text", "")), element.get("events", [])
    if not any(event["type"] == "text" for event in events) and text:
        yield role, text
    for event in events:
        match event["type"]:
            case "text":
                start, end = event["textAt"]
                yield role, text[start:end]
            case "thinking":
                yield "thought", str(event["thinking"])
            case "tool_use":
                yield "call", str(event["name"])
            case "tool_result":
                yield "result", json.dumps(event.get("content", ""))
            case kind if kind in IMAGES:
                yield "image", str(event.get("name", ""))
    for file in element.get("attachments", []):
        yield "image", str(file.get("name", ""))
