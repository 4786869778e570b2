"""The checker of answers finds each planted fault, and none where all is well."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from forklore_service.domain.answer_logs import Part, PartKind
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import EntryRef
from tests.service.reliability.answer_logs import Asked, Final, Kind, check, of_lines, to_line
from tests.service.reliability.list_append import Outcome

OK, FAILED, UNKNOWN = Outcome
ENTRY = EntryId("e")


def asked(kind: Kind, sent_ns: int, text: str = "", *, outcome: Outcome = OK, after: int = 0) -> Asked:
    """Return a request of Bob that took five nanoseconds."""
    return Asked(
        f"{kind} {sent_ns}",
        kind,
        "bob",
        "root",
        "a",
        after=after,
        text=text,
        sent_ns=sent_ns,
        answered_ns=sent_ns + 5,
        outcome=outcome,
    )


def part(position: int, kind: PartKind, text: str = "", entry: EntryRef | None = None) -> Part:
    return Part(position, kind, "root", "", 0, content=f'["{text}"]' if text else "[]", entry=entry)


BEGUN = asked(Kind.BEGIN, 0)
ONE, TWO = asked(Kind.PART, 10, "one"), asked(Kind.PART, 20, "two", after=1)
REFUSED = asked(Kind.PART, 30, "three", outcome=FAILED, after=2)
READ = replace(asked(Kind.READ, 40), position=2, parts={1: "one", 2: "two"})
LAST = replace(asked(Kind.READ, 68), number="last", position=4, parts=READ.parts)
EMPTY = replace(LAST, parts={})
STOPPED = asked(Kind.STOP, 50)
FINISHED = asked(Kind.FINISH, 60, "whole")
REMOVED = replace(asked(Kind.REMOVE_MEMBER, 70), user="ann", answer="", member="bob")
LATE = asked(Kind.PART, 80, "late", outcome=FAILED, after=2)
ASKED = [BEGUN, ONE, TWO, REFUSED, READ, STOPPED, FINISHED, REMOVED, LATE]
END = part(4, PartKind.END, entry=EntryRef("root", ENTRY))
LOG = [
    part(0, PartKind.BEGIN),
    part(1, PartKind.DATA, "one"),
    part(2, PartKind.DATA, "two"),
    part(3, PartKind.STOP),
    END,
]


def faults(
    requests: Sequence[Asked] = ASKED, log: Sequence[Part] = LOG, entries: Sequence[str] = (ENTRY,)
) -> list[str]:
    kept = {"whole": entries} if entries else {}
    return check(requests, Final({"a": log}, kept, {"root": "root"}))


def replaced(read: Asked) -> list[str]:
    """Return what is found if another answer replaced this one before it was finished."""
    end = END._replace(entry=None, next_id="b")
    return faults([*ASKED[:6], read], [*LOG[:4], end], ())


def beside(read: Asked, kind: Kind, sent_ns: int, of: str = "root", to: str = "root") -> list[str]:
    """Return what is found if a removal runs. to: the conversation that got the entry."""
    removed = replace(asked(kind, sent_ns), number="removal", answer="", of=of, member="bob")
    requests = [*ASKED[:7], read, removed]
    log = [*LOG[:4], END._replace(entry=EntryRef(to, ENTRY))]
    return check(requests, Final({"a": log}, {"whole": (ENTRY,)}, {"root": "root", "other": "other"}))


def changed(was: Asked, **how: object) -> list[Asked]:
    return [replace(was, **how) if one is was else one for one in ASKED]  # type: ignore[arg-type]


def test_where_all_is_well_nothing_is_found() -> None:
    assert faults() == []
    assert faults(of_lines(to_line(one) + "\n" for one in ASKED)) == []
    lost = [replace(one, outcome=UNKNOWN) for one in ASKED]
    assert faults(lost) == faults(lost, [], ()) == []
    gone = replace(REMOVED, number="gone", kind=Kind.DELETE_TREE, of="root", sent_ns=55)
    assert faults([*ASKED[:6], gone], [part(4, PartKind.END)], ()) == []
    assert faults(ASKED[:6], [part(4, PartKind.END)], ()) != []


def test_a_read_may_show_no_parts_of_what_was_replaced_or_is_being_removed() -> None:
    assert faults([*ASKED, LAST]) == []
    assert replaced(EMPTY) == []
    assert beside(EMPTY, Kind.DELETE_TREE, 66, to="fork") == []
    for kind in (Kind.REMOVE_BRANCH, Kind.DELETE_TREE):
        assert beside(EMPTY, kind, 66) == beside(LAST, kind, 66) == beside(EMPTY, kind, 72) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (faults(log=[*LOG[:2], *LOG[3:]]), "there is a gap"),
        (
            faults(log=[*LOG[:2], part(2, PartKind.STOP), part(3, PartKind.DATA, "two"), END]),
            "its parts are bdsde",
        ),
        (faults(log=[*LOG, part(5, PartKind.DATA, "two")]), "its parts are bddsed"),
        (faults(log=[]), "begin is lost"),
        (faults(log=[*LOG[:2], part(2, PartKind.DATA, "other"), *LOG[3:]]), "the part 2 'two' is lost"),
        (faults(log=[*LOG[:3], part(3, PartKind.DATA, "three"), END]), "nobody wrote the part (3, 'three')"),
        (faults(log=[*LOG[:3], part(3, PartKind.END, entry=END.entry)]), "stop is lost"),
        (faults(changed(READ, parts={2: "two"})), "a read showed {2: 'two'}"),
        (faults(changed(READ, position=1, parts={1: "one"})), "a read did not reach the part 2"),
        (faults([*ASKED, EMPTY]), "a read showed {} instead of {1: 'one', 2: 'two'}"),
        (faults([*ASKED[:6], EMPTY], [*LOG[:4], part(4, PartKind.END)], ()), "a read showed {} instead"),
        (replaced(LAST), "instead of {}"),
        (replaced(replace(EMPTY, position=3)), "a read showed {} instead"),
        (beside(EMPTY, Kind.REMOVE_BRANCH, 80), "a read showed {} instead"),
        (beside(EMPTY, Kind.REMOVE_BRANCH, 60), "a read showed {} instead"),
        (beside(EMPTY, Kind.REMOVE_BRANCH, 66, "other"), "a read showed {} instead"),
        (beside(EMPTY, Kind.REMOVE_BRANCH, 66, to="fork"), "a read showed {} instead"),
        (beside(EMPTY, Kind.DELETE_TREE, 66, "other"), "a read showed {} instead"),
        (beside(EMPTY, Kind.REMOVE_MEMBER, 66), "a read showed {} instead"),
        (beside(replace(EMPTY, position=3), Kind.DELETE_TREE, 66), "a read showed {} instead"),
        (beside(replace(LAST, parts={2: "two"}), Kind.DELETE_TREE, 66), "a read showed {2: 'two'}"),
        (faults(entries=()), "its log says ['e'], and its entries are []"),
        (faults(entries=("e", "f")), "its log says ['e'], and its entries are ['e', 'f']"),
        (faults(log=[*LOG[:4], part(4, PartKind.END)]), "its log says [], and its entries are ['e']"),
        (faults(log=LOG[:4], entries=()), "the finish 'whole' is lost"),
        (faults(changed(FINISHED, outcome=FAILED)), "the finish 'whole' was refused"),
        (
            faults(changed(FINISHED, outcome=UNKNOWN, refused=True)),
            "finish 'whole' was written, and refused when it was sent again",
        ),
        (
            faults(changed(TWO, outcome=UNKNOWN, refused=True)),
            "part 'two' was written, and refused when it was sent again",
        ),
        (
            faults(changed(BEGUN, outcome=UNKNOWN, refused=True)),
            "begin '' was written, and refused when it was sent again",
        ),
        (faults(changed(LATE, outcome=OK)), "part of bob after remove a member"),
        (faults([*ASKED, replace(BEGUN, number="x", sent_ns=90)]), "begin of bob after remove a member"),
        (
            faults(changed(LATE, outcome=UNKNOWN), [*LOG[:3], part(3, PartKind.DATA, "late"), *LOG[3:]]),
            "'late' of bob was written after remove a member",
        ),
    ],
)
def test_each_fault_is_found(found: list[str], expected: str) -> None:
    assert [fault for fault in found if expected in fault] != [], found
