"""How entries and conversations are named."""

import json

import pytest

from forklore.cli.exits import CommandError
from forklore.cli.references import ById, ByKey, FromEnd, is_id, read_reference
from tests.cli.running import Forklore

ID = "019ca8ad-fa20-7000-8000-000000000005"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (ID, ById(ID)),
        (ID.upper(), ById(ID)),
        ("@q1", ByKey("q1")),
        ("@@", ByKey("@")),
        (f"@{ID}", ByKey(ID)),
        ("-1", FromEnd(1)),
        ("-1000", FromEnd(1000)),
    ],
)
def test_a_reference_is_read(text: str, meant: object) -> None:
    assert read_reference(text) == meant


@pytest.mark.parametrize("text", ["", "@", "q1", "-0", "-1001", "-", "1", "-1x", "-٣", ID[:-1], "--frob"])
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
    assert (run("log nowhere").code, run("log nowhere").err) == (3, 'forklore: no name "nowhere"\n')
