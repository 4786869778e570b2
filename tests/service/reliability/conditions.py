"""The conditions of the service's writes, and how to remove one: for the check `needed-conditions`.

A condition is a clause of a ConditionExpression: the whole expression, or a part between ANDs. Its
name is its write and the clause, such as `Update HEAD (first): last = :after`. The brackets
distinguish writes to one kind of item. They hold the first attributes that the write changes; for
a ConditionCheck, the first that it compares.

Most conditions belong to a kind of write, whichever use case makes it. But each use case chooses
its ConditionChecks, and whether the caller must still be the owner. The names of those conditions
begin with the purpose of the transaction, such as `fork: Update GROUP (forks): owner = :owner`.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.service.reliability.faults import PUT, WRITE, Call, Rewrite

TRUE = "(attribute_exists(PK) OR attribute_not_exists(PK))"
SAME = {
    "attribute_not_exists(nonce)": "nonce = :made",
    "attribute_not_exists(current)": "current = :current",
    "attribute_not_exists(usedAt)": "usedAt = :used",
    "attribute_not_exists(restoredAt)": "restoredAt = :restored",
    "attribute_not_exists(digest)": "digest = :known",
    "(attribute_exists(PK) AND attribute_not_exists(due))": "due = :was",
}
"""Another form of a clause, which the same code writes for a tree that no request has marked, or of
which no branch was promoted or removed, for a context whose digest is not known, or for an
attachment without a job."""
BESIDE = {"promotions", "usedAt", "forkedAt", "spreading", "due"}
"""What a write counts or notes beside what it is about."""
CHOSEN = "owner = :owner"
PURPOSES: Mapping[str, set[str]] = {
    "child": {"Put CHILD"},
    "copy": {"Put MEM", "ConditionCheck HEAD"},
    "branch": {"Put GONE"},
    "pruning": {"Delete GONE"},
    "coming back": {"Put JOB", "ConditionCheck GROUP", "ConditionCheck HEAD"},
    "retention": {"Put JOB", "ConditionCheck HEAD"},
    "fork": {"Put PTR", "Update GROUP"},
    "linking": {"Put LINK"},
    "promotion": {"Update GROUP", "ConditionCheck HEAD"},
    "sync": {"Put ENTRY", "Update CTX of a sync"},
    "append": {"Put ENTRY", "Update HEAD"},
    "answer": {"Put ANSWER"},
    "change": {"Update CONV", "Update HEAD"},
    "rewriting": {"Update HEAD"},
    "copying entries": {"Put ENTRY", "ConditionCheck GROUP"},
    "share": {"Put MEM", "Update GROUP"},
    "settling": {"Delete JOB", "ConditionCheck FILE"},
    "copying members": {"Put MEM", "ConditionCheck GROUP"},
    "removal": {"Delete MEM", "Update GROUP"},
    "level": {"Update MEM", "Update GROUP"},
    "offer": {"Put XFER"},
    "acceptance": {"Delete XFER", "Put JOB"},
    "deletion": {"Put JOB", "Update GROUP"},
    "ending a link": {"Delete LINK"},
    "noting": {"Put NOTE"},
    "deleting a note": {"Delete NOTE"},
    "clearing up": {"ConditionCheck GROUP"},
    "naming": {"Update NAME"},
    "letting go": {"Put JOB", "Update FILE"},
    "shelving": {"ConditionCheck SHELF"},
}
"""The purpose of a transaction is the first of these whose writes are all in it."""
EXPRESSIONS = ("ConditionExpression", "UpdateExpression")
_ATTACHED = {"#": "ExpressionAttributeNames", ":": "ExpressionAttributeValues"}
Part = tuple[str, dict[str, Any]]
"""A write of a transaction: its verb and its parameters."""
_GLUE = re.compile(r"\b(AND|OR)\b")


def conditions_of(call: Call) -> set[str]:
    """Return every condition in a transaction, a put or an update. Other calls have none."""
    parts = list(_parts(call.body, call))
    return {_named(verb, part, clause, parts) for verb, part in parts for clause in _clauses(part)}


def without(condition: str) -> Rewrite:
    """Return a function that removes the condition from a call."""

    def rewrite(call: Call) -> Mapping[str, Any]:
        body = copy.deepcopy(dict(call.body))
        parts = list(_parts(call.body, call))
        for verb, part in _parts(body, call):
            for clause in _clauses(part):
                if _named(verb, part, clause, parts) == condition:
                    part["ConditionExpression"] = part["ConditionExpression"].replace(clause, TRUE)
                    _prune(part)
        return body

    return rewrite


def _parts(body: Any, call: Call) -> Iterator[Part]:
    if call.operation == WRITE:
        for write in body["TransactItems"]:
            [(verb, part)] = write.items()
            yield verb, part
    elif call.operation == PUT:
        yield "Put", body
    elif call.operation == "UpdateItem":
        yield "Update", body


def _clauses(part: Mapping[str, Any]) -> list[str]:
    """Return the clauses of a write's condition, at any depth of brackets, outermost first."""
    return list(_split(part["ConditionExpression"])) if "ConditionExpression" in part else []


def _split(expression: str) -> Iterator[str]:
    ands = _at_top(expression, "AND")
    if len(ands) > 1:
        for clause in ands:
            yield clause
            yield from _inside(clause)
    else:
        yield expression
        yield from _inside(expression)


def _inside(clause: str) -> Iterator[str]:
    """Yield the clauses between the ANDs in the brackets of a clause."""
    for either in _at_top(clause[1:-1] if _is_bracketed(clause) else clause, "OR"):
        if _is_bracketed(either):
            ands = _at_top(either[1:-1], "AND")
            yield from ands if len(ands) > 1 else ()


def _is_bracketed(text: str) -> bool:
    return text.startswith("(") and _end_of_bracket(text) == len(text) - 1


def _end_of_bracket(text: str) -> int:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at
    raise AssertionError(text)


def _at_top(expression: str, word: str) -> list[str]:
    """Split an expression at each `word` that is outside of brackets."""
    found, start = [], 0
    for match in _GLUE.finditer(expression):
        before = expression[: match.start()]
        if match[0] == word and before.count("(") == before.count(")"):
            found.append(expression[start : match.start()].strip())
            start = match.end()
    return [*found, expression[start:].strip()]


def _named(verb: str, part: Mapping[str, Any], clause: str, parts: Sequence[Part]) -> str:
    names = part.get("ExpressionAttributeNames", {})

    def plain(text: str) -> str:
        return re.sub(r"#(\w+)", lambda found: names[found[0]], text)

    kind = _kind(part.get("Key") or part["Item"])
    told_by = {"Update": part.get("UpdateExpression", ""), "ConditionCheck": part["ConditionExpression"]}
    told = re.findall(r"#\w+", re.split(r"(?<!^)\b(?:SET|ADD|REMOVE)\b", told_by.get(verb, ""))[0])
    first = [name for name in told if plain(name) not in BESIDE]
    clause = SAME.get(plain(clause), clause)
    which = f" ({plain(', '.join(dict.fromkeys(first[:2])))})" if first else ""
    chooser = f"{_purpose(parts)}: " if verb == "ConditionCheck" or plain(clause) == CHOSEN else ""
    return f"{chooser}{verb} {kind}{which}: {plain(clause)}"


def _purpose(parts: Sequence[Part]) -> str:
    writes = {f"{verb} {_kind(part.get('Key') or part['Item'])}" for verb, part in parts}
    if any(_is_of_sync(part) for verb, part in parts if verb == "Update"):
        writes.add("Update CTX of a sync")
    purpose = next((purpose for purpose, those in PURPOSES.items() if those <= writes), None)
    assert purpose, f"no purpose is known for a transaction of {writes}"
    return purpose


def _is_of_sync(part: Mapping[str, Any]) -> bool:
    """Tell whether an update of CTX is a sync's: its condition compares `last`, not an epoch."""
    return _kind(part["Key"]) == "CTX" and ":epoch" not in part["ConditionExpression"]


def _kind(key: Mapping[str, Any]) -> str:
    """Return the kind of the item with this key."""
    partition, sort = key["PK"]["S"], key["SK"]["S"]
    if partition.startswith("USER#") and sort.startswith("FILE#"):
        return "USER_FILE"
    if partition.startswith("USER#") and sort == "SHELF":
        return "SHELF"
    is_of_sort = sort.startswith(("NAME#", "REF#")) or ("#" not in partition and partition != "JOB")
    place = sort if is_of_sort else partition
    return "ENTRY" if place[0].isdigit() else str(place.partition("#")[0])


def _prune(part: dict[str, Any]) -> None:
    """Remove names and values that no expression uses any more. DynamoDB would refuse them."""
    used = set(re.findall(r"[#:]\w+", " ".join(part.get(name, "") for name in EXPRESSIONS)))
    for member in _ATTACHED.values():
        kept = {name: value for name, value in part.get(member, {}).items() if name in used}
        part.pop(member, None)
        if kept:
            part[member] = kept
