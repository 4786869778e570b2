"""fsck looks for the bytes of attachments, and for those of none."""

import json
import uuid
from pathlib import Path

import pytest

from forklore_local.fsck.command import DAMAGED, INTACT, check_folder
from forklore_local.in_process.folder import FILE
from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects
from forklore_local.in_process.service import EmbeddedService
from tests.local.in_process.asking import call
from tests.local.in_process.test_upkeep import ADAM, uploaded


def found(folder: Path, to: Path) -> tuple[int, set[tuple[str, str]]]:
    """Return the exit code, and the kind and the attachment of each finding."""
    code = check_folder(folder, report=str(to), is_quiet=True)
    findings = json.loads(to.read_text())["findings"]
    return code, {(one["kind"], one["key"]["PK"].partition("#")[2]) for one in findings}


@pytest.mark.failure("damaged-folder")
def test_lost_bytes_are_found_and_those_of_nobody(tmp_path: Path) -> None:
    data, report = tmp_path / "data", tmp_path / "report.json"
    objects, stray = FolderObjects(data / ATTACHMENTS), str(uuid.uuid4())
    with EmbeddedService.open(data) as service:
        uploaded(service, b"kept")
        uploaded(service, b"not sent yet", is_sent=False)
        lost, spoiled, removed = (uploaded(service, content) for content in (b"lost", b"spoiled", b"removed"))
        assert call(service, "adminRemoveAttachment", {"attachmentId": removed}, ADAM).status < 300
    assert found(data, report) == (INTACT, set())

    objects.delete(lost)
    objects.place(spoiled).write_bytes(b"other")
    objects.place(stray).parent.mkdir(exist_ok=True)
    objects.place(stray).write_bytes(b"of nobody")
    before = (data / FILE).read_bytes()

    damaged = {("missing_object", lost), ("missing_object", spoiled), ("orphan_object", stray)}
    assert found(data, report) == (DAMAGED, damaged)
    assert (data / FILE).read_bytes() == before


@pytest.mark.failure("damaged-folder")
def test_what_changes_while_it_is_looked_at_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attachment goes after the items were read, and another one comes."""
    data, report, listed = tmp_path / "data", tmp_path / "report.json", FolderObjects.all
    with EmbeddedService.open(data) as service:
        going = [uploaded(service, b"going")]

        def change(objects: FolderObjects) -> object:
            while going:
                call(service, "adminRemoveAttachment", {"attachmentId": going.pop()}, ADAM)
                uploaded(service, b"coming")
            return listed(objects)

        monkeypatch.setattr(FolderObjects, "all", change)
        assert found(data, report) == (INTACT, set())
    assert not going
