"""`forklore undo` takes back what was done last, and overwrites nothing of what came after."""

from pathlib import Path

import pytest

import forklore
from tests.clients.cli.running import Forklore

UNDO = ": `forklore undo "


@pytest.fixture
def trip(run: Forklore) -> Forklore:
    """A conversation with a name, and a branch of it."""
    assert run('say trip "Two nights in Lisbon?"').code == 0
    assert run("fork trip --name other").code == 0
    return run


def test_a_deleted_tree_comes_back_with_its_names(trip: Forklore) -> None:
    before = trip("log trip --oneline").out
    deleted = trip("rm trip --yes")
    assert "this brings it back" in deleted.err
    assert UNDO in deleted.err
    assert trip("log trip").code == 3

    assert trip("undo").out == f"restored {trip.id_of('trip')}  Two nights in Lisbon?\n"

    assert trip("log trip --oneline").out == before
    assert trip("log other --oneline").out == before


def test_a_tree_is_undeleted_by_its_name_and_by_a_part_of_its_id(trip: Forklore) -> None:
    held = trip.id_of("trip")
    for reference in ("trip", held[-12:], held):
        trip("rm trip --yes")
        undeleted = trip(f"undelete {reference}")
        assert (undeleted.out, undeleted.err) == (f"restored {held}  Two nights in Lisbon?\n", "")
        assert trip("log trip").code == 0
    missing = trip(f"undelete {held[-12:]}")
    assert (missing.code, "of your trash" in missing.err) == (3, True)


def test_what_was_deleted_for_good_does_not_come_back(trip: Forklore) -> None:
    gone = trip.id_of("trip")
    trip("title trip Lisbon")
    trip("branch other -d --yes")
    trip("trash --empty --yes")

    refused = trip("undo")
    assert (refused.code, "is deleted for good" in refused.err) == (4, True)
    assert trip("undo").out == f"{gone} is called 'Two nights in Lisbon?' again\n"
    trip("rm trip --yes")
    trip("trash --empty --yes")
    assert trip("undo").code == 4
    assert trip("rm trip --yes").code == 0, "the name alone goes"
    assert trip("name trip").code == 3


def test_where_a_service_has_no_trash_the_name_goes_with_the_tree(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore_local.in_process.service.DELETED_DAYS", 0)
    run = Forklore(("--data", str(tmp_path), "--user", "ann"), {"XDG_CONFIG_HOME": str(home), "PAGER": ""})
    run('say trip "Two nights in Lisbon?"')

    deleted = run("rm trip --yes")

    assert (deleted.code, UNDO in deleted.err) == (0, False)
    assert run("name trip").code == 3
    refused = run("undo")
    assert (refused.code, "is deleted for good" in refused.err) == (4, True)


def test_a_tree_comes_back_after_what_has_started_it(trip: Forklore, folder: Path) -> None:
    parent = trip.id_of("trip")
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        child = client.conversation(parent).start_child()
        child.say("assistant", "A hotel")
    trip(f"rm {child.id} --yes")
    _elsewhere(trip, "rm trip --yes")

    refused = trip("undo")
    assert (refused.code, "restore that first" in refused.err) == (4, True)
    _elsewhere(trip, "undelete trip")
    assert trip("undo").out == f"restored {child.id}  A hotel\n"


def test_a_deleted_branch_comes_back_with_its_name(trip: Forklore) -> None:
    other, before = trip.id_of("other"), trip("log other --oneline").out
    deleted = trip("branch other -d --yes")
    assert "this brings it back" in deleted.err
    assert UNDO in deleted.err
    assert trip("log other").code == 3

    assert trip("undo").out == f"restored {other}  Two nights in Lisbon?\n"

    assert trip("log other --oneline").out == before
    assert len(trip("branch trip").lines) == 2


def test_a_manager_takes_back_the_deletion_of_a_branch_that_no_trash_of_theirs_lists(trip: Forklore) -> None:
    manager = Forklore((*trip.options[:-1], f"{trip.options[-1]}-manager"), trip.variables)
    other, before = trip.id_of("other"), trip("log other --oneline").out
    trip(f"share trip {manager.options[-1]} manager")
    manager(f"name mine {other}")
    assert UNDO not in manager("branch mine -d --yes").err
    assert manager("name mine").code == 3, "the name goes"

    assert manager("undo").lines == [
        f"restored {other}  Two nights in Lisbon?",
        f"mine points to {other} again",
    ]
    assert manager("log mine --oneline").out == before


def test_the_last_branch_of_a_tree_comes_back_with_its_name(trip: Forklore) -> None:
    trip("branch other -d --yes")
    assert "this brings it back" in trip("branch trip -d --yes").err

    assert trip("undo").out == f"restored {trip.id_of('trip')}  Two nights in Lisbon?\n"
    assert trip("log trip").code == 0


def test_a_title_comes_back_unless_there_is_another_one_since(trip: Forklore) -> None:
    held = trip.id_of("trip")
    told = trip("title trip Lisbon")
    assert "it was 'Two nights in Lisbon?'" in told.err
    assert UNDO in told.err
    assert trip("undo --json").out == f'{{"undone":["{held} is called \'Two nights in Lisbon?\' again"]}}\n'
    assert trip("title trip").out == "Two nights in Lisbon?\n"

    trip("title trip --clear")
    trip("say trip more")
    trip("undo")
    assert trip("title trip").out == "Two nights in Lisbon?\n", "an append is no change of the title"

    trip("title trip Porto")
    _elsewhere(trip, "title trip Faro")
    refused = trip("undo")
    assert (refused.code, refused.err) == (4, f"forklore: {held} has another title since: Faro\n")
    assert trip("title trip").out == "Faro\n"


def test_a_promotion_is_taken_back_unless_another_branch_was_promoted_since(trip: Forklore) -> None:
    first, other = trip.id_of("trip"), trip.id_of("other")
    trip("switch other --name trip")
    assert set(trip("undo").lines) == {
        f"{first} is the current branch again",
        f"trip points to {first} again",
    }

    trip("fork trip --name third --promote")
    assert trip("undo").out == f"{first} is the current branch again\n"
    trip("switch other")
    _elsewhere(trip, "switch third")
    refused = trip("undo")
    assert (refused.code, "another branch was made the current one" in refused.err) == (4, True)
    assert trip(f"show {other}").out.count("current") == 1


def test_a_name_goes_back_unless_somebody_has_moved_it_since(trip: Forklore) -> None:
    first, other = trip.id_of("trip"), trip.id_of("other")
    trip("name trip other")
    assert trip("undo").out == f"trip points to {first} again\n"
    trip("name best other")
    assert trip("undo").out == "the name best is deleted\n"

    trip("name trip other")
    _elsewhere(trip, f"name trip {first}")
    refused = trip("undo")
    assert (refused.code, refused.err) == (
        4,
        f"forklore: trip has moved since: it points to {first} now (name_moved)\n",
    )
    assert trip.id_of("trip") == first != other


def test_a_deleted_and_a_renamed_name_come_back_with_their_data(trip: Forklore, folder: Path) -> None:
    held = trip.id_of("trip")
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        client.api.set_name(name="trip", conversation_id=held, data={"step": 3})
        for line in ("name trip -d --yes", "name trip --rename ours"):
            trip(line)
            assert trip("undo").code == 0
            found = client.api.look_up_name(name="trip")
            assert (found.conversation_id, found.data) == (held, {"step": 3})
    assert trip("name ours").code == 3


def test_a_name_that_is_in_use_by_now_is_not_taken(trip: Forklore) -> None:
    trip("name trip --rename ours")
    _elsewhere(trip, 'say trip "Another one"')

    assert trip("undo").code == 4
    assert trip("log trip --oneline").out.count("Another one") == 1
    assert trip("name ours").code == 0


def test_commands_are_taken_back_one_after_the_other(trip: Forklore, there: Forklore) -> None:
    titles = ["One", "Two", "Three"]
    for title in titles:
        trip(f"title trip {title}")

    assert there("undo").code == 4, "another user has done nothing"
    for title in [*titles[1::-1], "Two nights in Lisbon?"]:
        trip("undo")
        assert trip("title trip").out == f"{title}\n"


def test_what_cannot_be_noted_is_done_all_the_same(trip: Forklore) -> None:
    unwritable = {**(trip.variables or {}), "XDG_STATE_HOME": "/dev/null"}

    assert trip("title trip Lisbon", unwritable).code == 0
    refused = trip("undo", unwritable)
    assert (refused.code, "nothing to take back" in refused.err) == (4, True)


@pytest.mark.parametrize("written", ["", '[{"what": "what no version knows"}]'])
def test_a_note_that_cannot_be_read_hides_no_earlier_one(trip: Forklore, written: str) -> None:
    trip("title trip Lisbon")
    trip("name best other")
    folder = Path((trip.variables or {})["XDG_CONFIG_HOME"])
    max(folder.glob("**/undo-*/*.json")).write_text(written)

    refused = trip("undo")
    assert (refused.code, "was not noted" in refused.err) == (4, True)
    assert trip("undo").out.endswith("is called 'Two nights in Lisbon?' again\n")


def _elsewhere(run: Forklore, line: str) -> None:
    """Run a line as on another machine, whose notes are its own."""
    elsewhere = Path((run.variables or {})["XDG_CONFIG_HOME"]).with_name("elsewhere")
    assert run(line, {**(run.variables or {}), "XDG_STATE_HOME": str(elsewhere)}).code == 0
