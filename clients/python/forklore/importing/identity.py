"""What a message is known by: the id that its source has given it, or its words and its place.

The same words at the same place are the same message, in whatever file and order they come. What
differs under one id is another message: a branch.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forklore.client import jsontext
from forklore.importing.checks import without_halves
from forklore.importing.members import listed, mapped, objects

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What makes colours on a terminal."""
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>|\s+")


def digest_of_words(*told: Any) -> str:
    """Return a text that only the same words have, as a key.

    >>> digest_of_words("", "Rain?") == digest_of_words("a", "Rain?")
    False
    """
    return hashlib.sha256(jsontext.write(without_halves(list(told))).encode()).hexdigest()[:32]


def words_of(content: Any) -> str:
    """Return what only an entry's content with the same words has: its text, calls, results, files.

    What its source tells beside them, who says them and where files are kept makes no difference.
    """
    return digest_of_words(*_words(content))


def loose_words_of(content: Any) -> str:
    """Return the same, where white space, tags and all beside the text make no difference.

    So an entry is known again that an earlier version of a reader has brought.
    """
    text, events = _words(content)
    plain = _TAGS.sub("", text if isinstance(text, str) else "")
    calls = [] if plain else [event for event in events if isinstance(event, Mapping)]
    return digest_of_words(plain, [[one.get("type"), one.get("id"), one.get("tool_use_id")] for one in calls])


def _words(content: Any) -> tuple[Any, list[Any]]:
    element = _element(content)
    events, files = element.get("events"), element.get("attachments")
    said = [
        {name: held for name, held in event.items() if name != "name"}
        if isinstance(event, Mapping)
        else event
        for event in listed(events)
    ]
    text = element.get("text") or ""
    return _ESCAPES.sub("", text) if isinstance(text, str) else text, [
        *said,
        len(files) if isinstance(files, list) else 0,
    ]


def calls_in(content: Any) -> Iterator[str]:
    """Yield the ids of the calls of tools that a content makes."""
    events = _element(content).get("events")
    for event in objects(events):
        if event.get("type") == "tool_use" and isinstance(event.get("id"), str):
            yield event["id"]


def results_that_tell(content: Any, text: str) -> Iterator[str]:
    """Yield the ids of the calls whose results, in a content, tell a text."""
    for event in objects(_element(content).get("events")):
        if event.get("type") == "tool_result" and text in jsontext.write(event.get("content")):
            yield str(event.get("tool_use_id"))


def parts_in(content: Any) -> int:
    """Return how many parts a content has beside its text."""
    return len(listed(_element(content).get("events")))


def number_in(content: Any) -> int | None:
    """Return the number that its source gives a message, if it gives any."""
    number = mapped(_element(content).get("source")).get("number")
    return number if type(number) is int else None


def _element(content: Any) -> Mapping[str, Any]:
    first = content[0] if isinstance(content, list) and content else {}
    return first if isinstance(first, Mapping) else {"text": first}


def made_keys(
    parents: Sequence[int | None], keys: Sequence[str | None], words: Sequence[Any], begins: Any = ""
) -> list[str]:
    """Return the key of each message: the one that it has, or one made of its words and its place.

    parents: the index of the message before each; None for a first one. begins: what is before the
    first ones. The work is linear, in whatever order they stand.

    >>> made_keys([None, 0], ["a", None], ["x", "y"]) == ["a", digest_of_words("a", "y")]
    True
    """
    made: list[str | None] = list(keys)
    for start in range(len(made)):
        way = [start]
        while made[way[-1]] is None and (above := parents[way[-1]]) is not None and made[above] is None:
            if len(way) > len(made):  # a cycle, which is cut elsewhere
                made[above] = digest_of_words(begins, words[above])
                break
            way.append(above)
        for at in reversed(way):
            if made[at] is None:
                above = parents[at]
                made[at] = digest_of_words(begins if above is None else made[above], words[at])
    return [key or "" for key in made]


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-7][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PREFIXED = re.compile(r"[a-z]{2,4}_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")


def own_ids_in(named: str) -> list[str]:
    """Return the ids of forklore that an id of a program may stand for, as `resume` writes them.

    >>> own_ids_in("msg_01a223bb645975fcbfabc49cc746d100")
    ['01a223bb-6459-75fc-bfab-c49cc746d100']
    >>> own_ids_in("01a223bb-6459-45fc-bfab-c49cc746d100")  # Qwen Code takes no version 7
    ['01a223bb-6459-45fc-bfab-c49cc746d100', '01a223bb-6459-75fc-bfab-c49cc746d100']
    """
    prefixed = _PREFIXED.fullmatch(named)
    if prefixed:
        return ["-".join(prefixed.groups())]
    if not _ID.fullmatch(named):
        return []
    return [named, f"{named[:14]}7{named[15:]}"] if named[14] == "4" else [named]
