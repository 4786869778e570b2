"""A file that is not what an export wrote is refused, and nothing is written."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forklore_local.porting.failures import FormatError, PortingError, RefusedError
from forklore_local.porting.importing import check
from tests.local.fsck import world
from tests.local.porting.round_trip import EVERYTHING, exported, imported, lines_of
from tests.service.reliability.service import Process
from tests.support.tables import Store, fresh_store

Lines = list[bytes]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The lines of an export of two trees: one with a fork, and one with a child's parent."""
    path = tmp_path_factory.mktemp("whole") / "all.jsonl"
    with fresh_store() as store:
        process = Process(store)
        world.say(process, world.ROOT, "one", usage={"inputTokens": 1})
        said = world.say(process, world.ROOT, "two", key="k")
        world.think(process, world.ROOT, "a")
        process.ask("forkConversation", world.ANN, conversationId=world.ROOT, id=world.FORK, atEntryId=said)
        world.say(process, world.FORK, "three")
        process.ask(
            "shareConversation", world.ANN, conversationId=world.ROOT, userId="bob", accessLevel="reader"
        )
        process.ask("requestTransfer", world.ANN, conversationId=world.ROOT, newOwnerUserId="bob")
        world.say(process, world.PLAIN, "other")
        exported(store, path)
    return list(lines_of(path))


@pytest.fixture
def empty() -> Iterator[Store]:
    with fresh_store("other") as store:
        yield store


def at(lines: Lines, kind: str, number: int = 0) -> int:
    """Return where the line of a kind stands: an item by its sort key, another by its type."""
    return [place for place, line in enumerate(lines) if kind_of_line(json.loads(line)) == kind][number]


def kind_of_line(value: Any) -> str:
    if "type" in value:
        return str(value["type"])
    return "ENTRY" if "content" in value else str(value["SK"]).partition("#")[0]


def changed(lines: Lines, kind: str, number: int = 0, **members: Any) -> Lines:
    """Return the lines with other members in one of them. The digests are made to fit."""
    place = at(lines, kind, number)
    value = {**json.loads(lines[place]), **members}
    kept = {name: held for name, held in value.items() if held is not None}
    return resealed([*lines[:place], spelled(kept), *lines[place + 1 :]])


def without(lines: Lines, kind: str, number: int = 0) -> Lines:
    place = at(lines, kind, number)
    return resealed([*lines[:place], *lines[place + 1 :]])


def twice(lines: Lines, kind: str, number: int = 0) -> Lines:
    place = at(lines, kind, number)
    return resealed([*lines[: place + 1], *lines[place:]])


def swapped(lines: Lines, kind: str) -> Lines:
    first, second = at(lines, kind), at(lines, kind, 1)
    moved = list(lines)
    moved[first], moved[second] = moved[second], moved[first]
    return resealed(moved)


def resealed(lines: Lines) -> Lines:
    """Return the lines with the digests that they have."""
    sealed: Lines = []
    chain, digest = hashlib.sha256(lines[0]).hexdigest(), hashlib.sha256()
    for number, line in enumerate(lines):
        value = json.loads(line)
        if "type" not in value:
            digest.update(line)
        elif value["type"] == "end":
            value["sha256"] = digest.hexdigest()
            chain = hashlib.sha256(f"{chain}{value['sha256']}".encode()).hexdigest()
            digest = hashlib.sha256()
        elif value["type"] == "total":
            value["sha256"] = chain
        sealed.append(spelled(value) if number and "type" in value else line)
    return sealed


def spelled(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _other_digit(line: bytes) -> bytes:
    return line.replace(b'\\"one\\"', b'\\"uno\\"')


def _unsealed(line: bytes) -> bytes:
    return spelled({**json.loads(line), "sha256": "0" * 64})


DAMAGES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "cut within a line": (lambda lines: [*lines[:-3], lines[-3][:-9]], "it is cut"),
    "cut after a line": (lambda lines: lines[:5], "the file is cut"),
    "cut after a tree": (lambda lines: lines[:-1], "the file is cut"),
    "empty": (lambda _: [], "the file is cut"),
    "another format": (lambda lines: changed(lines, "header", format="forklore"), "no export of a table"),
    "the old version": (
        lambda lines: changed(lines, "header", version=1),
        "an earlier checkout of forklore",
    ),
    "a newer version": (lambda lines: changed(lines, "header", version=3), "version 3 of the format"),
    "a newer attribute": (lambda lines: changed(lines, "MEM", mood="fine"), "MEM has another 'mood'"),
    "a newer kind": (lambda lines: changed(lines, "MEM", SK="GUEST#x"), "no item has the key"),
    "a newer line": (lambda lines: changed(lines, "end", type="note"), "no end"),
    "another content": (lambda lines: list(map(_other_digit, lines)), "a line was changed"),
    "another header": (lambda lines: [lines[0].replace(b'forklore"', b'forklora"'), *lines[1:]], "it says"),
    "an entry twice": (lambda lines: twice(lines, "ENTRY"), "each once"),
    "a member twice": (lambda lines: twice(lines, "MEM"), "comes twice"),
    "a tree twice": (lambda lines: [*lines[:-1], *lines[1:]], "comes twice"),
    "entries in another order": (lambda lines: swapped(lines, "ENTRY"), "the order of their ids"),
    "an entry less": (lambda lines: without(lines, "ENTRY"), "do not agree with HEAD"),
    "an owner less": (lambda lines: without(lines, "MEM"), "the members"),
    "a branch less": (lambda lines: without(lines, "CONV"), "a branch"),
    "a path less": (lambda lines: without(lines, "PATH"), "a path"),
    "a row less": (lambda lines: without(lines, "TREE"), "the list of branches"),
    "a context less": (lambda lines: without(lines, "CTX"), "a context"),
    "no GROUP": (lambda lines: without(lines, "GROUP"), "an item is damaged"),
    "an end less": (lambda lines: without(lines, "end"), "no item of the tree"),
    "an entry of another tree": (
        lambda lines: changed(lines, "ENTRY", L1=f"{world.PLAIN}#H#x"),
        "does not have this entry",
    ),
    "a member of another tree": (
        lambda lines: changed(lines, "MEM", PK="00000009-0000-4000-8000-000000000009"),
        "no item of the tree",
    ),
    "a transfer of another tree": (
        lambda lines: changed(lines, "XFER", group=world.PLAIN, conversation=world.PLAIN),
        "an offer of the owner",
    ),
    "a transfer whose id is none": (
        lambda lines: changed(lines, "XFER", id="x y#z"),
        "an offer of the owner",
    ),
    "another current branch": (lambda lines: changed(lines, "GROUP", current=world.PLAIN), "current branch"),
    "a time that is none": (lambda lines: changed(lines, "MEM", createdAt="today"), "'createdAt'"),
    "an id that is none": (lambda lines: changed(lines, "GROUP", PK="../../x"), "no item has the key"),
    "a level that is none": (lambda lines: changed(lines, "MEM", level="god"), "an item is damaged"),
    "a path that is none": (lambda lines: changed(lines, "PATH", path="00"), "an item is damaged"),
    "text for a number": (lambda lines: changed(lines, "HEAD", history="one"), "'history'"),
    "counts that are wrong": (lambda lines: changed(lines, "HEAD", history=7), "do not agree with HEAD"),
    "a digest that is wrong": (lambda lines: [*lines[:-1], _unsealed(lines[-1])], "it says"),
    "something at the end": (lambda lines: [*lines, lines[-1]], "something follows"),
    "half a character": (lambda lines: changed(lines, "CONV", title="\ud800"), "no JSON object"),
    "no JSON": (lambda lines: [lines[0], b"{]\n", *lines[2:]], "no JSON object"),
    "content that is no JSON": (lambda lines: changed(lines, "ENTRY", content="[1"), "content: "),
    "half a character in a content": (
        lambda lines: changed(lines, "ENTRY", content='["\\ud800"]'),
        "content: ",
    ),
    "a header of no export": (lambda lines: changed(lines, "header", exportId=None), "names no export"),
    "a number beyond doubles": (
        lambda lines: changed(lines, "ENTRY", content="[1e400]"),
        "content: a number",
    ),
    "too many digits": (lambda lines: changed(lines, "ENTRY", usage="9" * 401), "usage: a number"),
    "too large an exponent": (lambda lines: changed(lines, "CONV", metadata="1e-9999"), "metadata: a number"),
}


@pytest.mark.failure("damaged-export")
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_and_nothing_is_written(
    name: str, lines: Lines, empty: Store, tmp_path: Path
) -> None:
    damage, said = DAMAGES[name]
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(damage(lines)))

    with empty.unchanged(), pytest.raises(FormatError, match=r"^line [0-9]+: ") as raised:
        imported(empty, path)

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_whole_file_is_taken_as_it_was_written_and_resealed(lines: Lines, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(b"".join(lines))
    total = check(path).total
    path.write_bytes(b"".join(resealed(lines)))

    assert (total.trees, total.conversations, total.entries) == (2, 3, 5)
    assert check(path).total.trees == 2


def test_ids_in_use_are_refused_before_anything_is_written(
    lines: Lines, empty: Store, tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"".join(lines))
    world.say(Process(empty), world.PLAIN, "the id is mine")

    with empty.unchanged(), pytest.raises(RefusedError, match=f"{world.PLAIN} is in use"):
        imported(empty, path)


def test_an_id_that_was_deleted_lately_is_refused(lines: Lines, empty: Store, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"".join(lines))
    process = Process(empty)
    world.say(process, world.PLAIN, "soon gone")
    process.ask("deleteConversation", world.ANN, conversationId=world.PLAIN)

    with pytest.raises(RefusedError, match=f"{world.PLAIN} was deleted in the last 30 days"):
        imported(empty, path)


def test_a_file_that_is_there_is_not_replaced(empty: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("precious")

    with pytest.raises(PortingError, match="exists"):
        exported(empty, path, EVERYTHING)

    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
    assert path.read_text() == "precious"
