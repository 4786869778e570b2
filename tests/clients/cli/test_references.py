"""How entries and conversations are named."""

import json
import uuid

import pytest

from forklore.cli.exits import CommandError
from forklore.cli.references import ById, ByKey, ByPart, FromEnd, is_id, read_reference
from tests.clients.cli.running import Forklore

ID = "019ca8ad-fa20-7000-8000-000000000005"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (ID, ById(ID)),
        (ID.upper(), ById(ID)),
        ("@q1", ByKey("q1")),
        ("@@", ByKey("@")),
        (f"@{ID}", ByKey(ID)),
        (ID[:8], ByPart(ID[:8])),
        (ID[:-1], ByPart(ID[:-1])),
        (ID[-8:], ByPart(ID[-8:])),
        ("-1", FromEnd(1)),
        ("-1000", FromEnd(1000)),
        ("HEAD", FromEnd(1)),
        ("HEAD~", FromEnd(2)),
        ("HEAD~2", FromEnd(3)),
        ("HEAD~999", FromEnd(1000)),
    ],
)
def test_a_reference_is_read(text: str, meant: object) -> None:
    assert read_reference(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "q1",
        "-0",
        "-1001",
        "HEAD~1000",
        "HEAD~x",
        "HEAD^",
        "-",
        "1",
        "-1x",
        "-٣",
        ID[:7],
        ID[-7:],
        ID[1:9],
        "--frob",
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        read_reference(text)


def test_a_name_is_what_is_no_id() -> None:
    assert is_id(ID)
    assert is_id(ID.upper())
    assert not any(map(is_id, ["trip", ID[:-1], f"{ID}0", ID.replace("-", ""), "-1"]))


def test_each_way_finds_the_entry(run: Forklore) -> None:
    entries = [json.loads(run(f"say trip {text} --key {text} --json").out) for text in ("one", "two")]
    conversation = run.id_of("trip")

    for reference in (entries[1]["id"], entries[1]["id"].upper(), "@two", "-1"):
        for named in ("trip", conversation, conversation.upper()):
            assert json.loads(run(f"show {named} {reference} --json").out) == entries[1]
    assert json.loads(run("show trip -2 --json").out) == entries[0]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("-3", "the history has no entry -3: it has 2"),
        ("@three", 'no entry with the key "three"'),
        (ID, "no entry"),
    ],
)
def test_an_entry_that_is_not_there_is_not_found(run: Forklore, reference: str, said: str) -> None:
    run("say trip one")
    run("say trip two")

    found = run(f"show trip {reference}")

    assert (found.code, found.out) == (3, "")
    assert found.err.startswith(f"forklore: {said}")


def test_a_name_that_is_not_there_is_not_found(run: Forklore) -> None:
    for more, whose in (("", "without a client"), (" --client planner", 'of client "planner"')):
        shown = run(f"log nowhere{more}")
        assert (shown.code, shown.err) == (3, f'forklore: no name "nowhere" among the names {whose}\n')


def test_a_part_of_an_id_is_enough(run: Forklore) -> None:
    entries = [json.loads(run(f"say trip {text} --json").out) for text in ("one", "two")]
    trip, fork = run.id_of("trip"), run("fork trip --title Fork").out.strip()

    for part in (fork[-8:], fork[-12:].upper()):
        assert json.loads(run(f"show {part} --json").out)["title"] == "Fork"
        assert run(f"log {part} --oneline").out == run("log trip --oneline").out
    assert json.loads(run(f"show trip {entries[0]['id'][-8:]} --json").out) == entries[0]
    assert run(f"fork {trip[-8:]} --after {entries[0]['id'][-10:]}").code == 0
    assert run(f"say {trip[-8:]} three").code == 0
    assert len(run("log trip --oneline").lines) == 3
    assert run(f"fork {trip[-8:]} --move-name").code == 2
    assert run(f"branch {fork[-8:]} -d --yes").out == f"deleted {fork}\n"


def test_a_part_of_several_ids_is_refused_and_one_of_none_is_not_found(run: Forklore) -> None:
    common = f"{uuid.uuid4()}"[:8]
    ids = [f"{common}-fa20-7000-8000-00000000000{number}" for number in range(3)]
    for one in ids:
        run(f"say {one} x --new")

    several, nothing = run(f"log {common}"), run("log ffffffff")

    assert (several.code, several.out, nothing.code, nothing.out) == (2, "", 3, "")
    assert several.err == f"forklore: '{common}' is a part of several ids: {ids[2]}, {ids[1]}, …\n"
    said = "neither begins nor ends an id of your newest 1,000 conversations, and is no name"
    assert nothing.err == f"forklore: 'ffffffff' {said}\n"
    assert run("show trip ffffffff").code == 3


def test_a_name_that_looks_like_a_part_of_an_id_goes_first(run: Forklore) -> None:
    run("say trip one")
    part = run.id_of("trip")[-8:]
    assert run(f"say {part} two --new").code == 0

    assert run(f"log {part} --oneline").out.endswith("two\n")


@pytest.mark.parametrize("typed", [ID, ID[:-1], f"{ID}0", ID.replace("9c", "9x"), "20261124"])
def test_a_mistyped_id_makes_no_conversation_unless_it_is_said(run: Forklore, typed: str) -> None:
    typed = typed.replace("00000005", f"{uuid.uuid4()}"[:8])
    refused = run(f"say {typed} hello")

    assert (refused.code, refused.out) == (3, "")
    assert refused.err.endswith("; --new makes a new one\n")
    assert run("ls").out == run("ls --names").out == ""
    assert run(f"say {typed} hello --new").code == 0
    assert run(f"log {typed} --oneline").out.endswith(" hello\n")
    assert run(f"say {typed} again").code == 0
