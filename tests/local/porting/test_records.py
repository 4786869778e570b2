"""Each record comes back from its line as it was, with all its fields."""

import json
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import pytest

from forklore_local.porting.from_line import record_of
from forklore_local.porting.lines import read, written
from forklore_local.porting.records import (
    Branch,
    ContextLine,
    End,
    EntryLine,
    Header,
    Parent,
    Record,
    Removed,
    Total,
    TreeStart,
)
from forklore_local.porting.to_line import line_of
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Segment
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import EntryId, created_at, fresh_id
from forklore_service.domain.model import (
    Channel,
    Conversation,
    Entry,
    EntryRef,
    ForkPoint,
    ForkPosition,
    Head,
    LastEntries,
    Metrics,
    TokenUsage,
    Transfer,
    Turn,
    Words,
)
from forklore_service.domain.names import Name, NameOwner, NameRef
from forklore_service.domain.tree import ClientContext, Member
from tests.service.domain.builders import filled
from tools.harness.gateway import PROJECT

ONE, TWO, THREE, FOUR = (fresh_id(1_772_356_500_000, number) for number in range(4))
TREE, FORK, OTHER = (f"0000000{number}-0000-4000-8000-000000000000" for number in range(3))
NOW = created_at(ONE)
LASTS, LATER = LastEntries(ONE, TWO), LastEntries(THREE, FOUR)
LINES = '[{"text":\n "two lines", "n": 1.50, "big": 123456789012345678901234567890}]'
PATH = (Segment(TREE, TWO), Segment(OTHER, THREE))

RECORDS: list[Record] = [
    Header(OTHER, NOW, ("owner", "ann")),
    TreeStart(TREE, "ann", NOW, FORK, Parent(OTHER, FORK, ONE), 7, 3, NOW),
    Member("zoë", AccessLevel.WRITER, NOW, is_archived=True),
    Transfer(ONE, TREE, FORK, "ann", "zoë", NOW),
    Name(NameRef(NameOwner("zoë", "app"), "a / name"), FORK, 3, NOW, NOW, "", '{"a": 1.0}'),
    Branch(
        filled(
            Conversation(
                *(FORK, TREE, NOW),
                fork_point=ForkPoint(TREE, ONE, ForkPosition.AFTER),
                titled_by="zoë",
            )
        ),
        Head(
            *("", NOW),
            floor=THREE,
            first=FOUR,
            last=FOUR,
            lasts=LASTS,
            history=1,
            context=2,
            metrics=Metrics(3, TokenUsage(1, 2, 3, 4)),
            untitled=True,
            preview=Words("said last", "zoë"),
        ),
        PATH,
    ),
    Removed(FORK, NOW, NOW, PATH),
    EntryLine(
        filled(
            Entry(
                *(TWO, FORK, "zoë", Channel.CONTEXT, "text/plain", LINES),
                after=LASTS,
                turn=Turn(ONE, TWO, LASTS, LATER),
                merged_from=EntryRef(TREE, ONE),
                copied_from=EntryRef(OTHER, TWO),
            )
        ),
        17,
    ),
    ContextLine(FORK, "app", ClientContext(Epoch(4, ONE, bytes(range(32))), last=TWO, entries=2)),
    End(TREE, 1, 2, "0f"),
    Total(1, 2, 3, "0f"),
]
SAID_ELSEWHERE = {
    *(("Head", "owner"), ("Head", "promoted_at")),
    *(("Conversation", "started_by"), ("Name", "nonce")),
}
"""What another line says, or an import gives; and what only tells of a read at that moment."""


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_with_all_its_fields_comes_back_from_its_line(record: Record) -> None:
    line = line_of(record)

    assert record_of(read(line), TREE) == record
    assert line.count(b"\n") == 1
    assert list(_defaults(record)) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_the_page_names_every_member_of_a_line(record: Record) -> None:
    """A name may be cut, as in `forkedAt…`. What a caller owns may be there as text."""
    page = (PROJECT / "docs" / "formats.md").read_text(encoding="utf-8").partition("table's export\n")[2]
    line = json.loads(line_of(record))
    [row] = re.findall(rf"^\| `{line.pop('type')}` \|(.*)$", page, flags=re.MULTILINE)
    named = re.findall(r"`(\w+…?)`", row)
    cut = tuple(name[:-1] for name in named if name.endswith("…"))
    members = {name.removesuffix("Text") for name in line}

    assert {name for name in members if not name.startswith(cut)} <= {*named}, "see docs/formats.md"


def _defaults(value: Any) -> list[tuple[str, str]]:
    """Return the fields that have their default: what they hold was not tried."""
    if is_dataclass(value):
        defaults = {field.name: field.default for field in fields(value)}
    elif hasattr(value, "_field_defaults"):
        defaults = {name: value._field_defaults.get(name, MISSING) for name in value._fields}
    else:
        return []
    kept = []
    for field, default in defaults.items():
        held, name = getattr(value, field), (type(value).__name__, field)
        if name not in SAID_ELSEWHERE and held == default:
            kept.append(name)
        kept += _defaults(held)
    return kept


def test_a_field_that_has_its_default_is_found_in_a_value_of_any_kind() -> None:
    branch = Branch(Conversation(TREE, TREE, NOW), Head("", NOW))

    assert {("Branch", "path"), ("Description", "title"), ("TokenUsage", "input_tokens")} <= {
        *_defaults(branch)
    }


def test_what_is_absent_comes_back_as_absent() -> None:
    entry = Entry(EntryId(ONE), TREE, "ann", Channel.HISTORY, "text/plain", "[]")
    bare: list[Record] = [
        Header(OTHER, NOW, ("everything", "")),
        TreeStart(TREE, "ann", NOW),
        Branch(Conversation(TREE, TREE, NOW), Head("", NOW)),
        Removed(TREE, None, NOW),
        EntryLine(entry, 0),
    ]

    assert [record_of(read(line_of(record)), TREE) for record in bare] == bare


def test_a_member_without_a_value_takes_no_room() -> None:
    assert (
        written("tree", {"id": "g", "title": None, "tags": {}, "n": 0}) == b'{"type":"tree","id":"g","n":0}\n'
    )
