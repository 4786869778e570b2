"""The conditions of the service's writes, and writes without one of them: the check `needed-conditions`.

A condition is a clause that stands alone, or between ANDs, in a ConditionExpression. Its name is the write
that it is in and the clause itself, such as `Update HEAD (first): last = :after`. The brackets tell writes of
one kind of item apart: they have the first attributes that are written or, by a ConditionCheck, compared.
Most conditions come with their write, whichever use case makes it. A use case chooses all ConditionChecks,
and whether the caller must still be the owner. The names of these begin with the purpose of the transaction,
such as `fork: Update GROUP (forks): owner = :owner`.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.reliability.faults import WRITE, Call, Rewrite

TRUE = "(attribute_exists(PK) OR attribute_not_exists(PK))"
SAME = {"attribute_not_exists(nonce)": "nonce = :made"}
"""What the same words of the code come to, for a tree that no request has marked."""
CHOSEN = "owner = :owner"
PURPOSES: Mapping[str, set[str]] = {
    "child": {"Put CHILD"},
    "fork": {"Put PTR", "Update GROUP"},
    "sync": {"Put ENTRY", "Update CTX of a sync"},
    "append": {"Put ENTRY", "Update HEAD"},
    "change": {"Update CONV", "Update HEAD"},
    "rewriting": {"Update HEAD"},
    "copying members": {"Put MEM", "ConditionCheck GROUP"},
    "share": {"Put MEM", "Update GROUP"},
    "removal": {"Delete MEM", "Update GROUP"},
    "level": {"Update MEM", "Update GROUP"},
    "offer": {"Put XFER"},
    "acceptance": {"Delete XFER", "Put JOB"},
    "deletion": {"Put JOB", "Update GROUP"},
    "clearing up": {"ConditionCheck GROUP"},
}
"""What a transaction is for: the first of these whose writes are all in it."""
EXPRESSIONS = ("ConditionExpression", "UpdateExpression")
_ATTACHED = {"#": "ExpressionAttributeNames", ":": "ExpressionAttributeValues"}
Part = tuple[str, dict[str, Any]]
"""A write of a transaction: its verb, and what it says."""
_GLUE = re.compile(r"\b(AND|OR)\b")


def conditions_of(call: Call) -> set[str]:
    """Return every condition in a transaction; of another call none."""
    parts = list(_parts(call.body, call))
    return {_named(verb, part, clause, parts) for verb, part in parts for clause in _clauses(part)}


def without(condition: str) -> Rewrite:
    """Return what makes of a call the same one without the condition."""

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


def _parts(body: Mapping[str, Any], call: Call) -> Iterator[Part]:
    if call.operation == WRITE:
        for write in body["TransactItems"]:
            [(verb, part)] = write.items()
            yield verb, part


def _clauses(part: Mapping[str, Any]) -> list[str]:
    """Return what stands alone or between ANDs, at any depth of brackets, outermost first."""
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
    """Return what stands between the words that are in no bracket."""
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
    first = re.findall(r"#\w+", re.split(r"(?<!^)\b(?:SET|ADD|REMOVE)\b", told_by.get(verb, ""))[0])
    clause = SAME.get(plain(clause), clause)
    which = f" ({plain(', '.join(dict.fromkeys(first[:2])))})" if first else ""
    chooser = f"{_purpose(parts)}: " if verb == "ConditionCheck" or plain(clause) == CHOSEN else ""
    return f"{chooser}{verb} {kind}{which}: {plain(clause)}"


def _purpose(parts: Sequence[Part]) -> str:
    writes = {f"{verb} {_kind(part.get('Key') or part['Item'])}" for verb, part in parts}
    if any(_is_of_sync(part) for verb, part in parts if verb == "Update"):
        writes.add("Update CTX of a sync")
    purpose = next((purpose for purpose, those in PURPOSES.items() if those <= writes), None)
    assert purpose, f"what is a transaction of {writes} for?"
    return purpose


def _is_of_sync(part: Mapping[str, Any]) -> bool:
    """Tell whether an update is of CTX, and held to what was seen in place of an epoch."""
    return _kind(part["Key"]) == "CTX" and ":epoch" not in part["ConditionExpression"]


def _kind(key: Mapping[str, Any]) -> str:
    """Return what kind of item has the key."""
    partition, sort = key["PK"]["S"], key["SK"]["S"]
    place = partition if "#" in partition or partition == "JOB" else sort
    return "ENTRY" if place[0].isdigit() else str(place.partition("#")[0])


def _prune(part: dict[str, Any]) -> None:
    """Take out the names and values that no expression of the part uses any more: DynamoDB refuses them."""
    used = set(re.findall(r"[#:]\w+", " ".join(part.get(name, "") for name in EXPRESSIONS)))
    for member in _ATTACHED.values():
        kept = {name: value for name, value in part.get(member, {}).items() if name in used}
        part.pop(member, None)
        if kept:
            part[member] = kept
