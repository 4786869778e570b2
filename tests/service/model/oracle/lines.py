"""Lines of entries."""

from tests.service.model.asking import Json, texts_of

HELD, SAID = ("attachments", "data", "events"), ("role", "text")
"""Members of a message that a line names, and those that it shows."""


def as_line(entry: Json) -> Json:
    """Return an entry as a page of lines shows it."""
    rest = {name: held for name, held in entry.items() if name != "metadata"}
    said = [[one] if isinstance(one, str) else texts_of(one) for one in entry["content"]]
    text = " ".join(" ".join(text for texts in said for text in texts).split())[:100]
    first = next((one for one in entry["content"][:1] if isinstance(one, dict)), {})
    held = {name if name in HELD else "other" for name, value in first.items() if value and name not in SAID}
    line = {"role": first.get("role"), "text": text or None, "holds": sorted(held) or None}
    tools = tools_in(first)
    line["tool"] = next((tool["type"].removeprefix("tool-") for tool in tools), None)
    line["failed"] = any(tool["state"] == "output-error" for tool in tools) or None
    said_at = first.get("source", {}).get("createdAt", "")
    line["saidAt"] = said_at if said_at.endswith("Z") else None
    return rest | {"content": [], "line": {name: held for name, held in line.items() if held is not None}}


def tools_in(value: Json) -> list[Json]:
    """Return the calls of tools in a value: those that choices.py makes."""
    if isinstance(value, dict):
        is_tool = str(value.get("type")).startswith("tool-")
        return [value] if is_tool else tools_in(list(value.values()))
    return [tool for one in value for tool in tools_in(one)] if isinstance(value, list) else []
