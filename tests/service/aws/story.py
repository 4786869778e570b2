"""The story of the catalogue, told to whoever answers it."""

import re
import time
from collections.abc import Callable
from typing import Any

from tools.catalogue import NAMES, STORY, Step

Ask = Callable[[Step], tuple[int, Any]]
"""Sends a step. Returns the status and the body; None if there is no body."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PSEUDONYM = re.compile(r"erased-[0-9a-f]{32}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def tell(ask: Ask) -> list[tuple[Step, int, Any]]:
    """Return the answer to every step. Ids are numbered; times, links and revisions are replaced.

    Each step has a millisecond of its own: what is made in the same one is listed by ids.
    """
    kept: dict[str, Any] = dict(NAMES)
    numbers: dict[str, str] = {}
    told = []
    for step in STORY:
        time.sleep(0.001)
        status, body = ask(step.named(kept))
        if step.keep:
            kept[step.keep] = body["revision" if "revision" in body else "id"]
            kept |= {name: body[name] for name in ("secret",) if name in body}
        told.append((step, status, _still(body, numbers)))
    return told


def _still(body: Any, numbers: dict[str, str]) -> Any:
    match body:
        case dict():
            return {
                name: f"a {name}"
                if name in ("afterCursor", "revision", "secret", "url") and held
                else _still(held, numbers)
                for name, held in body.items()
                if name != "requestId"
            }
        case list():
            return [_still(held, numbers) for held in body]
        case str():
            numbered = _UUID.sub(lambda match: numbers.setdefault(match[0], f"id {len(numbers)}"), body)
            return _PSEUDONYM.sub("a pseudonym", _TIME.sub("a time", numbered))
        case _:
            return body
