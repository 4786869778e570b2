"""The files beside an export: written by their hash, and brought back by an import."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.brought_files import Brought
from tests.clients.cli.running import Forklore

PHOTO = os.urandom(3000)
FILM = os.urandom(1_200_000)


@pytest.fixture
def export(run: Forklore, tmp_path: Path) -> Path:
    """An export of a tree whose two branches name the same photo, and one of them a film."""
    (tmp_path / "casa.jpg").write_bytes(PHOTO)
    (tmp_path / "film.mp4").write_bytes(FILM)
    assert run(f"say trip 'This one?' --attach {tmp_path}/casa.jpg").code == 0
    assert run(f"say trip 'Or this?' --attach {tmp_path}/casa.jpg --attach {tmp_path}/film.mp4").code == 0
    assert run("fork trip --before -1 --name other").code == 0
    assert run("say other hello").code == 0
    made = tmp_path / "trip.jsonl"
    ran = run(f"export trip -o {made}")
    assert (ran.code, ran.err) == (0, "")
    return made


def files_of(there: Forklore, folder: Path) -> dict[str, bytes]:
    ran = there(f"show brought --save {folder}")
    assert ran.code == 0, ran
    return {one.name: one.read_bytes() for one in folder.iterdir()} if folder.exists() else {}


def attachments(there: Forklore) -> list[Any]:
    said = [json.loads(line) for line in there("log brought --reverse --json").lines]
    return [one["content"][0].get("attachments") for one in said]


def test_files_are_kept_once_by_their_hash_and_come_back(
    export: Path, there: Forklore, tmp_path: Path
) -> None:
    kept = {one.name: one.read_bytes() for one in Path(f"{export}.files").iterdir()}
    assert kept == {hashlib.sha256(one).hexdigest(): one for one in (PHOTO, FILM)}
    assert "urlExpiresAt" not in export.read_text()

    first, again = there(f"import {export} --name brought"), there(f"import {export}")

    assert (first.code, again.code) == (0, 0), (first, again)
    assert files_of(there, tmp_path / "saved") == {"casa.jpg": PHOTO, "film.mp4": FILM}
    [[one], [same, _]] = attachments(there)
    assert one == same
    assert one.keys() == {"id", "name"}


def test_what_is_not_there_or_has_other_bytes_is_told_and_the_rest_comes(
    export: Path, there: Forklore, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine")
    photo = Path(f"{export}.files") / hashlib.sha256(PHOTO).hexdigest()
    photo.unlink()
    photo.symlink_to(secret)
    text = export.read_text().replace(hashlib.sha256(FILM).hexdigest(), "../secret")
    export.write_text(text)

    ran = there(f"import {export} --name brought")

    assert ran.code == 0, ran
    assert "attachment without its file: 3" in ran.out + ran.err
    assert files_of(there, tmp_path / "saved") == {}
    [[one], _] = attachments(there)
    assert (one.keys(), one["name"]) == ({"attachmentId", "name", "contentType"}, "casa.jpg")


def test_an_export_without_a_place_for_files_says_so(run: Forklore, export: Path) -> None:
    ran = run("export trip")

    assert ran.err == "files that are left out: 2; --output FILE keeps them beside it\n"
    assert ran.out.splitlines()[1:] == export.read_text().splitlines()[1:]


@pytest.mark.parametrize(
    "entry",
    [
        {"contentType": "context", "channel": "context", "content": [{"attachments": [{"id": "a"}]}]},
        {"contentType": "history", "content": [{"attachments": [{"id": ["a"]}, {"id": "a", "href": "/"}]}]},
        {"contentType": "history", "content": ["a"]},
        {},
    ],
)
def test_what_names_no_attachment_of_the_service_stays_as_it_is(tmp_path: Path, entry: Any) -> None:
    before = json.dumps(entry)

    assert list(Brought(tmp_path).find(entry, [{"id": ["a"]}, {"id": "a"}])) == []
    assert json.dumps(entry) == before
