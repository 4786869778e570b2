"""The checker of append logs finds each planted anomaly, and none in a good log."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from tests.service.reliability.list_append import (
    Append,
    Cut,
    Fork,
    Kind,
    Outcome,
    Page,
    Record,
    Shown,
    check,
    of_line,
    to_line,
)

OK, FAILED, UNKNOWN = Outcome
Final = dict[str, list[Shown]]


def appended(values: str, sent_ns: int, outcome: Outcome = OK, *, to: str = "root") -> Append:
    """Return an append that took ten nanoseconds. values: each letter is one value."""
    acknowledged = tuple(f"id-{value}" for value in values) if outcome is OK else ()
    return Append(to, tuple(values), sent_ns, sent_ns + 10, outcome, acknowledged)


def read(
    values: str,
    sent_ns: int,
    cut: Cut = Cut.START,
    at: str | None = None,
    *,
    of: str = "root",
    **cursors: str,
) -> Page:
    """Return a page that took ten nanoseconds. at: a value. before, after: values, for cursors."""
    named = {name: f"id-{value}" for name, value in cursors.items()}
    at_id = f"id-{at}" if at else None
    return Page(
        *(of, cut, at_id, sent_ns, sent_ns + 10),
        tuple((f"id-{value}", value) for value in values),
        named.get("before"),
        named.get("after"),
    )


def shown(values: str, of: str = "root") -> list[Shown]:
    return [Shown(f"id-{value}", value, of) for value in values]


LOG: Sequence[Record] = [
    appended("a", 0),
    appended("bcd", 20),
    appended("x", 40, FAILED),
    appended("e", 60, UNKNOWN),
    appended("y", 80, UNKNOWN),
    appended("f", 100),
    appended("g", 105),
    Fork("head", "root", None, False, 120, 130, OK),
    Fork("before", "root", "id-c", False, 120, 130, OK),
    Fork("after", "root", "id-c", True, 120, 130, UNKNOWN),
    Fork("nested", "head", "id-b", False, 140, 150, OK),
    Fork("refused", "root", None, False, 120, 130, FAILED),
    Fork("given up", "root", None, False, 120, 130, UNKNOWN),
    appended("i", 140),
    appended("j", 140, to="head"),
    read("abcd", 40),
    read("ab", 40, after="b"),
    read("cd", 50, Cut.AFTER, "b"),
    read("g", 115, Cut.TAIL, before="g"),
    read("ef", 130, Cut.BEFORE, "g", before="e"),
    read("abcd", 130, Cut.BEFORE, "e"),
    read("abc", 130, Cut.UP_TO, "c"),
    read("", 160, Cut.AFTER, "i"),
    read("abcdefgj", 160, of="head"),
]
FINAL: Mapping[str, Sequence[Shown]] = {
    "root": shown("abcdefgi"),
    "head": [*shown("abcdefg"), *shown("j", "head")],
    "before": shown("ab"),
    "after": shown("abc"),
    "nested": shown("a"),
}


def kinds(log: Sequence[Record], final: Mapping[str, Sequence[Shown]]) -> set[Kind]:
    return {anomaly.kind for anomaly in check([of_line(to_line(record)) for record in log], final)}


def test_in_a_good_log_nothing_is_found() -> None:
    assert check(LOG, FINAL) == []


def everywhere(change: Callable[[list[Shown]], list[Shown]]) -> Callable[[Final], Final]:
    """Return a function that makes the same change in every conversation."""
    return lambda final: {name: change(list(those)) for name, those in final.items()}


def without(value: str) -> Callable[[Final], Final]:
    return everywhere(lambda those: [one for one in those if one.value != value])


def swapped(one: str, other: str) -> Callable[[Final], Final]:
    names = {one: other, other: one}
    return everywhere(lambda those: [_named(shown, names.get(shown.value, shown.value)) for shown in those])


def _named(one: Shown, value: str) -> Shown:
    return Shown(f"id-{value}", value, one.conversation_id)


def also(name: str, at: int, *new: Shown) -> Callable[[Final], Final]:
    return lambda final: {**final, name: [*final[name][:at], *new, *final[name][at:]]}


@pytest.mark.parametrize(
    ("kind", "plant"),
    [
        (Kind.LOST, without("f")),
        (Kind.LOST, lambda final: {name: final[name] for name in final if name != "nested"}),
        (Kind.DOUBLED, also("root", 8, Shown("id-z", "a", "root"))),
        (Kind.DOUBLED, also("head", 8, Shown("id-z", "a", "head"))),
        (Kind.PHANTOM, also("root", 8, *shown("x"))),
        (Kind.PHANTOM, also("root", 8, *shown("z"))),
        (Kind.PHANTOM, also("head", 8, *shown("i", "head"))),
        (Kind.PHANTOM, lambda final: {**final, "refused": []}),
        (Kind.PARTED, swapped("b", "c")),
        (Kind.PARTED, without("c")),
        (Kind.PARTED, swapped("d", "e")),
        (Kind.REORDERED, swapped("a", "f")),
        (Kind.REORDERED, swapped("e", "d")),
        (Kind.REORDERED, everywhere(lambda those: those[::-1])),
        (Kind.CHANGED, everywhere(lambda those: [replace(s, entry_id=s.entry_id + "'") for s in those])),
        (Kind.FORK, also("before", 2, *shown("c"))),
        (Kind.FORK, also("after", 2, *shown("e"))),
        (Kind.FORK, also("head", 7, *shown("i"))),
        (Kind.FORK, also("head", 8, *shown("i"))),
        (Kind.FORK, lambda final: {**final, "before": final["before"][1:]}),
        (Kind.FORK, lambda final: {**final, "nested": final["nested"] * 2}),
        (Kind.FORK, lambda final: {**final, "another": shown("a")}),
    ],
)
def test_an_anomaly_planted_in_the_final_lists_is_found(kind: Kind, plant: Callable[[Final], Final]) -> None:
    planted = plant({name: list(those) for name, those in FINAL.items()})

    assert kind in kinds(LOG, planted)


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (Kind.LOST, appended("z", 0)),
        (Kind.LOST, Fork("z", "root", None, False, 0, 10, OK)),
        (Kind.PHANTOM, read("abcdz", 40)),
        (Kind.PHANTOM, read("e", 130, Cut.AFTER, "z")),
        (Kind.EARLY, read("abcde", 40)),
        (Kind.GAP, read("abd", 40)),
        (Kind.GAP, read("bcd", 40)),
        (Kind.GAP, read("aabcd", 40)),
        (Kind.GAP, read("acbd", 40)),
        (Kind.GAP, read("d", 40, Cut.AFTER, "b")),
        (Kind.GAP, read("bcd", 40, Cut.AFTER, "b")),
        (Kind.GAP, read("d", 130, Cut.BEFORE, "f", before="d")),
        (Kind.GAP, read("de", 130, Cut.BEFORE, "f")),
        (Kind.GAP, read("de", 130, Cut.BEFORE, "f", before="e")),
        (Kind.GAP, read("fg", 130, Cut.TAIL)),
        (Kind.GAP, read("ab", 40, after="c")),
        (Kind.GAP, read("ab", 130, Cut.UP_TO, "c")),
        (Kind.GAP, read("", 130, Cut.UP_TO, "c")),
        (Kind.GAP, read("ab", 130, Cut.UP_TO, "c", after="c")),
        (Kind.GAP, read("abcdefj", 160, of="head")),
        (Kind.STALE, read("abcde", 130)),
        (Kind.STALE, read("", 40)),
        (Kind.STALE, read("e", 130, Cut.TAIL, before="e")),
        (Kind.STALE, read("cde", 130, Cut.AFTER, "b")),
        (Kind.STALE, read("abcdefg", 160, of="head")),
        (Kind.FORK, Fork("before", "root", "id-j", False, 120, 130, OK)),
        (Kind.FORK, Fork("before", "root", "id-c", True, 120, 130, OK)),
        (Kind.FORK, Fork("head", "root", None, False, 90, 95, OK)),
    ],
)
def test_an_anomaly_planted_in_the_log_is_found(kind: Kind, record: Record) -> None:
    log = [record]
    log += [one for one in LOG if not (isinstance(one, Fork) and _is_of(record, one))]

    assert kind in kinds(log, FINAL)


def _is_of(record: Record, fork: Fork) -> bool:
    return isinstance(record, Fork) and record.conversation_id == fork.conversation_id


def test_a_read_that_lacks_what_an_earlier_read_showed_is_found_even_without_an_acknowledgement() -> None:
    log: list[Record] = [appended("a", 0, UNKNOWN), read("a", 20), read("", 40)]

    assert kinds(log, {"root": shown("a")}) == {Kind.STALE}


def test_a_fork_at_the_head_that_lacks_an_entry_acknowledged_before_it_is_found() -> None:
    log: list[Record] = [appended("a", 0), appended("b", 20), Fork("fork", "root", None, False, 40, 50, OK)]

    assert kinds(log, {"root": shown("ab"), "fork": shown("a")}) == {Kind.FORK}
    assert kinds(log, {"root": shown("ab"), "fork": shown("ab")}) == set()
