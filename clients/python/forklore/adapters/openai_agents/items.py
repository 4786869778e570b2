"""How items of the OpenAI Agents SDK are stored as messages of the history, and read again. Pure.

An entry holds one item; where more than 50 are added at once, some that follow one another. Its
content is `[{"role", "text", "events": [item, …], "textIn"?, "attachments"?}]`. With `textIn` the
text of the item stands in `text` alone, and `textIn` is the path to its place in the item.
"""

import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from forklore.adapters.files import Stored, attachments
from forklore.adapters.storable import checked_size, restored, shortened
from forklore.client.errors import TooLargeError
from forklore.client.generated.limits import (
    APPEND_ENTRIES_MAX,
    ATTACHMENTS_PER_ENTRY_MAX,
    PAGE_BYTES_MAX,
    packs,
)
from forklore.client.generated.results import Entry
from forklore.client.messages import role_of, text_of

Item = dict[str, Any]
CONTENT_TYPE = "history/openai-agents"
ROLES = {"user": "USER", "assistant": "AI", "system": "SYSTEM", "developer": "SYSTEM"}
AUTHORS = {"user": "user", "ai": "assistant", "system": "system"}
"""Who says a message that another program has appended. A tool's output needs its call."""
PACKS, PACK_BYTES_MAX = 25, 420_000
"""Items of a pack: so many that all items are in 25 packs, unless their bytes end a pack earlier.

The bytes end less than 24 packs of an append: a pack and the first item after it pass their
bound, and each item stands in two of these sums at most. So there are never more than 50 packs,
unless their files end many of them.
"""


def plain(items: Sequence[Any]) -> list[Item]:
    """Return the items as JSON has them. Raises TypeError or ValueError for what it cannot hold."""
    return [json.loads(json.dumps(item)) for item in items]


def drafts_of(items: Sequence[Item], stored: Sequence[Stored]) -> list[dict[str, Any]]:
    """Return the entries that hold the items, in order: at most 50, for one append.

    stored: what is stored of each item.
    Raises TooLargeError for an item beyond 2.5 MB, or for items beyond 5 MB, as escaped.
    """
    both = list(zip(items, stored, strict=True))
    contents = [_content([one]) for one in both]
    sizes = [checked_size("an item", content) for content in contents]
    if sum(sizes) > PAGE_BYTES_MAX:
        told = f"items added at once have at most {PAGE_BYTES_MAX} bytes as escaped JSON, not {sum(sizes)}"
        raise TooLargeError(told)
    files = [len(one.ids) for one in stored]
    if len(contents) > APPEND_ENTRIES_MAX:
        contents = [_content(both[start:stop]) for start, stop in packs_of(sizes, files)]
    if len(contents) > APPEND_ENTRIES_MAX:
        told = f"items added at once name {sum(files)} large files, more than an append can"
        raise TooLargeError(told)
    return [{"contentType": CONTENT_TYPE, "content": content} for content in contents]


def packs_of(sizes: Sequence[int], files: Sequence[int]) -> list[tuple[int, int]]:
    """Return from where to where each pack goes; no pack of several passes its bounds.

    files: how many attachments each item names.

    >>> packs_of([400_000, 100_000, 1, 1], [0, 0, 6, 6])
    [(0, 1), (1, 2), (2, 3), (3, 4)]
    >>> len(packs_of([1] * 1000, [0] * 1000)), len(packs_of([99_000] * 50, [0] * 50))
    (25, 25)
    """
    most = ceil(len(sizes) / PACKS), PACK_BYTES_MAX, ATTACHMENTS_PER_ENTRY_MAX
    some = packs(range(len(sizes)), most, lambda at: (1, sizes[at], files[at]))
    return [(pack[0], pack[-1] + 1) for pack in some]


def items_of(entry: Entry) -> list[Item]:
    """Return the items of an entry. A message of another program is one, another entry has none."""
    if entry.content_type != CONTENT_TYPE:
        role, text = role_of(entry), text_of(entry)
        return [] if role not in AUTHORS or text is None else [{"role": AUTHORS[role], "content": text}]
    if entry.erased:
        return []
    held = entry.content[0]
    items = [restored(item) for item in held["events"]]
    if "textIn" in held:
        *path, last = held["textIn"]
        place = items[0]
        for step in path:
            place = place[step]
        place[last] = held["text"]
    return items


def is_said_by_user(item: Mapping[str, Any]) -> bool:
    """Return whether a turn begins with the item."""
    return item.get("role") == "user" and item.get("type", "message") == "message"


def _content(both: Sequence[tuple[Item, Stored]]) -> list[dict[str, Any]]:
    items, stored = zip(*both, strict=True)
    values, named = [one.value for one in stored], attachments(stored)
    if len(items) > 1:
        text = "\n".join(f"{_role(item).lower()}: {shown_of(item)}" for item in items)
        return [{"role": _role(items[0]), "text": shortened(text), "events": values, **named}]
    [item], role = items, _role(items[0])
    path = _path_of_text(item)
    if path is None or isinstance(values[0], str):
        return [{"role": role, "text": shortened(shown_of(item)), "events": values, **named}]
    *steps, last = path
    lifted: Any = json.loads(json.dumps(values[0]))
    place = lifted
    for step in steps:
        place = place[step]
    text, place[last] = place[last], ""
    return [{"role": role, "text": text, "events": [lifted], "textIn": path, **named}]


def _path_of_text(item: Item) -> list[str | int] | None:
    """Return where the text of a message is; None if it is in several places, or nowhere."""
    content = item.get("content")
    if "role" not in item:
        return None
    if isinstance(content, str):
        return ["content"]
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        return ["content", 0, "text"] if isinstance(content[0].get("text"), str) else None
    return None


def _role(item: Item) -> str:
    """Return who shows as the author: of a call the agent, of what a tool returns the system."""
    role = item.get("role")
    if isinstance(role, str):
        return ROLES.get(role, "SYSTEM")
    return "SYSTEM" if str(item.get("type")).endswith("_output") else "AI"


def shown_of(item: Item) -> str:
    """Return the text that people see of an item.

    >>> shown_of({"type": "function_call", "name": "pay", "arguments": "{}", "call_id": "c"})
    '[calls pay {}]'
    """
    content, kind = item.get("content"), item.get("type")
    if isinstance(content, str):
        return content
    if "role" in item and isinstance(content, list):
        return "\n".join(map(_shown_part, content))
    if "name" in item and "arguments" in item:
        return f"[calls {item['name']} {item['arguments']}]"
    if "output" in item:
        output = item["output"]
        return f"[returned {output if isinstance(output, str) else json.dumps(output)}]"
    return f"[{kind}]"


def _shown_part(part: Any) -> str:
    if not isinstance(part, dict):
        return f"[{part}]"
    for member in ("text", "refusal"):
        if isinstance(part.get(member), str):
            return str(part[member])
    return f"[{part.get('type')}]"
