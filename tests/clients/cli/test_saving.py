"""Files on the command line: what goes with a message, and how it is saved."""

import json
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.cli.connecting import connected
from forklore.cli.settings import OverHttp
from tests.clients.cli.running import Forklore

PHOTO, OTHER = b"\x89PNG", b"another one"


@pytest.fixture
def trip(run: Forklore, tmp_path: Path) -> Forklore:
    """A conversation whose second message has two files."""
    (tmp_path / "casa 1.png").write_bytes(PHOTO)
    (tmp_path / "plan.pdf").write_bytes(OTHER)
    assert run("say trip hello").code == 0
    ran = run(f"say trip 'Is it this one?' --attach '{tmp_path}/casa 1.png' --attach {tmp_path}/plan.pdf")
    assert ran.code == 0, ran
    return run


def client_of(run: Forklore, folder: Path) -> Any:
    return forklore.Forklore.local(user=run.options[-1], data=folder)


def test_a_log_and_an_entry_name_what_goes_with_a_message(trip: Forklore) -> None:
    assert "    Is it this one?\n    [file casa 1.png]\n    [file plan.pdf]\n" in trip("log trip").out
    shown = trip("show trip -1").out
    [said] = [json.loads(line) for line in trip("show trip -1 --json").lines]
    assert [one["name"] for one in said["attachments"]] == ["casa 1.png", "plan.pdf"]
    assert f"attachment\tcasa 1.png image/png 4 {said['attachments'][0]['id']}\n" in shown
    assert "more" not in shown


def test_a_log_shows_files_that_a_program_names_beside_its_records(run: Forklore, folder: Path) -> None:
    with client_of(run, folder) as client:
        made = client.upload(("casa.png", PHOTO))
        chat = client.create(id="0190a4f1-8c3e-7b12-9a01-52f0c3d4e5f6")
        chat.append(
            [{"text": "", "attachments": [{"id": made.id}]}], content_type="history", channel="history"
        )
        chat.append([{"text": "", "data": "eJw"}], content_type="application/vnd.a+json")

    shown = run(f"log {chat.id}").out

    assert "    [file casa.png]\n" in shown
    assert shown.count("entry ") == 1


def test_files_are_saved_once_and_found_again(trip: Forklore, tmp_path: Path) -> None:
    folder = tmp_path / "saved"

    first, second = trip(f"show trip --save {folder}"), trip(f"show trip -1 --save {folder} --json")

    assert first.lines == [f"{folder}/casa 1.png", f"{folder}/plan.pdf"]
    assert [json.loads(line)["path"] for line in second.lines] == first.lines
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == {
        "casa 1.png": PHOTO,
        "plan.pdf": OTHER,
    }
    assert trip(f"show trip -2 --save {tmp_path}/none").out == ""
    assert not (tmp_path / "none").exists()


def test_another_file_is_replaced_only_if_the_user_says_so(trip: Forklore, tmp_path: Path) -> None:
    mine, elsewhere = tmp_path / "saved" / "plan.pdf", tmp_path / "elsewhere"
    mine.parent.mkdir()
    elsewhere.write_bytes(b"mine")
    mine.symlink_to(elsewhere)

    refused = trip(f"show trip --save {mine.parent}")
    no = trip(f"show trip --save {mine.parent}", is_terminal=True, stdin=b"n\n", FORKLORE_PAGER="")
    assert (refused.code, no.code) == (4, 0)
    assert "plan.pdf is there already" in refused.err
    assert mine.read_bytes() == b"mine"

    yes = trip(f"show trip --save {mine.parent}", is_terminal=True, stdin=b"y\n", FORKLORE_PAGER="")
    assert (yes.code, mine.read_bytes(), elsewhere.read_bytes()) == (0, OTHER, b"mine")


def test_hostile_and_equal_names_stay_in_the_folder(run: Forklore, folder: Path, tmp_path: Path) -> None:
    names = [".bashrc", "CON", "a.png", "A.png", "ä" * 127]
    with client_of(run, folder) as client:
        files = [(name, name.encode()) for name in names]
        client.named("trip").say("user", "Look:", files=files)

    saved = run(f"show trip --save {tmp_path}/saved")

    assert saved.code == 0, saved
    assert {one.name: one.read_bytes().decode() for one in (tmp_path / "saved").iterdir()} == {
        "bashrc": ".bashrc",
        "_CON": "CON",
        "a.png": "a.png",
        "A-2.png": "A.png",
        "ä" * 100: "ä" * 127,
    }


def test_a_removed_file_is_told_of_and_the_others_are_saved(
    trip: Forklore, folder: Path, tmp_path: Path
) -> None:
    with forklore.Forklore.local(user="adam", data=folder, roles=("admin",)) as admin:
        [said] = [json.loads(line) for line in trip("show trip -1 --json").lines]
        admin.api.admin_remove_attachment(said["attachments"][0]["id"])

    saved = trip(f"show trip --save {tmp_path}/saved")

    assert saved.lines == [f"{tmp_path}/saved/plan.pdf"]
    assert saved.err == "casa 1.png has no bytes: it is removed\n"


def test_a_file_that_is_not_there_is_one_line_and_nothing_is_said(run: Forklore, tmp_path: Path) -> None:
    ran = run(f"say trip hello --attach {tmp_path}/none.png")

    assert (ran.code, ran.err) == (2, "forklore: none.png: No such file or directory\n")
    assert run("log trip").code == 3


def test_files_go_to_a_server_and_come_back(url: str, tmp_path: Path) -> None:
    run = Forklore(("--url", url, "--token", "ann"), {"XDG_CONFIG_HOME": str(tmp_path)})
    contents = {"casa.png": PHOTO, "film.mp4": b"film" * 300_000}  # the second goes to an address of its own
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    attached = " ".join(f"--attach {tmp_path}/{name}" for name in contents)

    said, saved = run(f"say trip Look: {attached}"), run(f"show trip --save {tmp_path}/saved")

    assert (said.code, saved.code) == (0, 0), (said, saved)
    assert {one.name: one.read_bytes() for one in (tmp_path / "saved").iterdir()} == contents


def test_on_this_machine_bytes_are_where_its_server_says() -> None:
    with connected(OverHttp("http://127.0.0.1:8080", "ann", None), makes=False) as client:
        assert client.api.located("/files/x?a=1") == "http://127.0.0.1:8080/files/x?a=1"
