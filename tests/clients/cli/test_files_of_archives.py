"""The files of archives of other systems become attachments."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from forklore_service.aws import wiring
from tests.clients.cli.running import Forklore
from tests.clients.python.here import served
from tools.harness.gateway import given, table_in_memory

PHOTO = os.urandom(3000)
FILM = os.urandom(1_200_000)
PHOTO_PLACE, FILM_PLACE = "file-photo12345-us.png", "user-1/file_00000film-1f.dat"


def said(text: str, *parts: Any, attachments: Any = ()) -> Any:
    content = {"content_type": "multimodal_text", "parts": [*parts, text]}
    return {"author": {"role": "user"}, "content": content, "metadata": {"attachments": list(attachments)}}


def pointer(to: str) -> Any:
    return {"content_type": "image_asset_pointer", "asset_pointer": to}


def chatgpt(*messages: Any) -> Any:
    nodes = [{"parent": f"n{at - 1}" if at else None, "message": one} for at, one in enumerate(messages)]
    return {"conversation_id": "c", "mapping": {f"n{at}": node for at, node in enumerate(nodes)}}


MESSAGES = (
    said(
        "Look:",
        pointer("file-service://file-photo12345"),
        attachments=[{"id": "file-photo12345", "name": "us.png", "mimeType": "image/png"}],
    ),
    said("And this:", pointer("sediment://file_00000film"), pointer("file-service://file-gone12345")),
)


@pytest.fixture(params=["archive", "folder"])
def export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An export of ChatGPT that holds a photo and a film, but not all that its messages name."""
    made = tmp_path / ("export.zip" if request.param == "archive" else "export")
    files = {"conversations.json": json.dumps([chatgpt(*MESSAGES)]).encode()}
    files |= {PHOTO_PLACE: PHOTO, FILM_PLACE: FILM, "chat.html": b"<html>"}
    if request.param == "archive":
        with zipfile.ZipFile(made, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    for name, content in files.items() if request.param == "folder" else ():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    return made


def test_the_files_of_an_archive_of_chatgpt_become_attachments(
    run: Forklore, export: Path, tmp_path: Path
) -> None:
    dry = run(f"import {export} --dry-run")
    first, again = run(f"import {export} --name trip"), run(f"import {export}")

    assert (dry.code, first.code, again.code) == (0, 0, 0), (dry, first, again)
    told = ["attachment without its file: 1 (n1)", "file without conversations: 1 (chat.html)"]
    assert all(one in ran.out + ran.err for one in told for ran in (dry, first))
    assert run(f"show trip --save {tmp_path}/saved").code == 0
    saved = {one.name: one.read_bytes() for one in (tmp_path / "saved").iterdir()}
    assert saved == {"us.png": PHOTO, Path(FILM_PLACE).name: FILM}
    rows = [json.loads(line) for line in run("log trip --reverse --json").lines]
    types = [[one["contentType"] for one in row["attachments"]] for row in rows]
    assert types == [["image/png"], ["application/octet-stream"]]
    lost = rows[1]["content"][0]["attachments"][1]
    assert lost["attachmentId"] == "file-service://file-gone12345"


def test_a_newer_export_adds_what_is_new_and_changes_nothing_else(run: Forklore, tmp_path: Path) -> None:
    made = tmp_path / "export"
    made.mkdir()
    (made / PHOTO_PLACE).write_bytes(PHOTO)
    for count in (1, 2):
        (made / "conversations.json").write_text(json.dumps([chatgpt(*MESSAGES[:count])]))
        ran = run(f"import {made} --name trip{count}")
        assert ran.code == 0, ran
        assert "changed" not in ran.out + ran.err
    assert len(run("log trip1").lines) == len(run("log trip2").lines) >= 2


def test_a_file_of_claude_is_known_by_its_id_or_by_its_name(run: Forklore, tmp_path: Path) -> None:
    message = {"uuid": "m", "sender": "human", "text": "Look:"}
    files = [
        {"file_uuid": "0a1b2c3d-1111", "file_name": "a.png"},
        {"file_name": "b.png"},
        {"file_name": "c.png"},
    ]
    made = tmp_path / "export.zip"
    with zipfile.ZipFile(made, "w") as archive:
        conversation = {"uuid": "c", "chat_messages": [message | {"files": files}]}
        archive.writestr("conversations.json", json.dumps([conversation]))
        archive.writestr("files/0a1b2c3d-1111.png", PHOTO)
        archive.writestr("files/b.png", FILM)

    ran = run(f"import {made} --name trip")

    assert "attachment without its file: 1 (m)" in ran.out + ran.err
    assert "file without conversations" not in ran.out + ran.err
    assert run(f"show trip --save {tmp_path}/saved").code == 0
    saved = {one.name: one.read_bytes() for one in (tmp_path / "saved").iterdir()}
    assert saved == {"a.png": PHOTO, "b.png": FILM}


def test_what_cannot_be_an_attachment_is_told_and_stays_named(run: Forklore, tmp_path: Path) -> None:
    names = [f"file-{at:08}.png" for at in range(11)]
    made = tmp_path / "export.zip"
    message = said("Look:", *(pointer(f"file-service://file-{at:08}") for at in range(11)))
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt(message)]))
        for name in names:
            archive.writestr(name, name)
    damaged = made.read_bytes().replace(names[0].encode() + names[0].encode(), names[0].encode() + b"x" * 17)
    made.write_bytes(damaged)

    ran = run(f"import {made} --name trip")

    assert ran.code == 0, ran
    assert (
        f"file that is there, and cannot be an attachment: 2 ({names[10]}, {names[0]})" in ran.out + ran.err
    )
    [row] = [json.loads(line) for line in run("log trip --json").lines]
    assert len(row["attachments"]) == 9
    named = [one.get("attachmentId") for one in row["content"][0]["attachments"]]
    assert named == [names[0], *[None] * 9, names[10]]


def test_a_deployment_without_attachments_takes_all_but_the_files(export: Path, tmp_path: Path) -> None:
    with (
        table_in_memory() as template,
        served(template) as url,
        given(wiring._given._replace(objects=None)),
    ):
        of_the_service = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        run = Forklore(("--url", url, "--token", "ann"), of_the_service)
        ran = run(f"import {export} --name trip")
        rows = [json.loads(line) for line in run("log trip --reverse --json").lines]

    assert ran.code == 0, ran
    assert "file that is there, and cannot be an attachment: 2 (" in ran.out + ran.err
    assert [row["content"][0]["text"] for row in rows] == ["Look:", "And this:"]
    assert rows[0]["content"][0]["attachments"][0]["attachmentId"] == PHOTO_PLACE
