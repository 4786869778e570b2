"""Compares two runs of the same requests. Ids, times and nonces differ between the runs."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from forklore_service.domain import keys
from forklore_service.storage import bodies, items
from forklore_service.storage.connection import Item
from tools.harness.service import Answer

_MADE = re.compile(r"0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_PSEUDONYM = re.compile(r"erased-[0-9a-f]{32}")
_LINK = re.compile(r'"id":"[^"]+"(?=.*"salt")|"salt":"[^"]+"')
_SHARD = re.compile(r"(TREES|TRASH)#\d")
ANY = {"ttl", "nonce", "version", "changes", "promotions", "memberChange", "passes", "spreading", "shelf"}
"""Attributes that may differ: they say when, by which attempt, or how often something changed."""
MOVED = {"L1", "moves"}
OPENS = "opens"
"""How often a link was opened. An opening may be counted twice, or not at all."""
LATER = "restoredAt"
"""When a tree was restored. A child that is restored while its parent is deleted may lack it."""


def seen(answers: Iterable[Answer], contents: Iterable[Item]) -> tuple[list[str], list[str]]:
    """Return answers and the items of a table as text that can be compared between runs.

    A generated id is replaced by its rank among all generated ids. Times, nonces and the messages
    of errors are left out, because one code can have several messages. So is how far a retention
    has looked, which it repeats if it was killed, and to how many children a change of a member has
    come with this very request. The items are sorted.
    """
    told = [_told(answer) for answer in answers]
    compared = (item for item in contents if items.key(item) != keys.retention())
    both = _ranked([*told, *map(_spelled, compared)])
    return both[: len(told)], sorted(both[len(told) :])


def _told(answer: Answer) -> str:
    said, status = _said(answer), answer.status
    if answer.status < 400 and isinstance(said, dict) and "children" in said:
        said, status = {**said, "children": "some"}, 200
    return f"{status} {json.dumps(said, default=str)}"


def _said(answer: Answer) -> Any:
    if answer.status < 400:
        return _without_secrets(answer.body)
    details = {name: value for name, value in answer.body["details"].items() if name != "message"}
    return {"code": answer.body["code"], **details}


def _without_secrets(body: Any) -> Any:
    """Return a body without the ids and the secrets of links, which are random."""
    match body:
        case {"data": [*rows], **rest}:
            return {**rest, "data": list(map(_without_secrets, rows))}
        case {"keepOnTransfer": _}:
            return {**body, "id": "of a link", "secret": "a secret"}
    return body


def _ranked(texts: Sequence[str]) -> list[str]:
    made = sorted({found for text in texts for found in _MADE.findall(text)})
    ranks = {one: f"<{rank}>" for rank, one in enumerate(made)}
    return [
        _PSEUDONYM.sub(
            "<pseudonym>",
            _SHARD.sub(r"\1#<shard>", _TIME.sub("<time>", _MADE.sub(lambda found: ranks[found[0]], text))),
        )
        for text in texts
    ]


def _spelled(item: Item) -> str:
    plain = items.plain(item)
    if plain["PK"].startswith("USER#"):  # a move in the list by use may be lost
        plain = {name: value for name, value in plain.items() if name not in MOVED}
    if plain["SK"].startswith("LINK#"):
        plain["SK"] = "LINK#<link>"
    if "path" in plain:
        plain["path"] = items.path(item)
    if "prev" in plain:
        plain["prev"] = items.lasts(item)
    if "turn" in plain:
        plain["turn"] = items.turn(item)
    if plain["PK"].startswith("IDEM#"):
        plain["PK"] = "IDEM#<hash>"  # perhaps of a generated id
        plain["body"] = _LINK.sub("<of a link>", bodies.decode(plain["body"]))
    plain.pop(LATER, None)
    plain.pop(OPENS, None)
    return str(sorted((name, name if name in ANY else value) for name, value in plain.items()))
