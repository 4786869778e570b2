"""Which commit is told."""

import subprocess
import sys
from pathlib import Path

from forklore_local.version import Version, commit_in

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")


def test_the_commit_is_what_an_installer_noted_or_the_one_of_the_checkout(tmp_path: Path) -> None:
    def of(folder: Path, *, editable: bool = True) -> str:
        return commit_in({"url": folder.as_uri(), "dir_info": {"editable": editable}})

    checkout, copy = tmp_path / "a checkout", tmp_path / "a checkout" / "copy"
    copy.mkdir(parents=True)
    assert of(checkout) == ""
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*GIT, *command], cwd=checkout, check=True)
    found = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=checkout, text=True)

    assert len(of(checkout)) == 12
    assert found.startswith(of(checkout))
    assert of(checkout, editable=False) == ""
    assert of(copy) == of(tmp_path / "missing") == ""
    assert commit_in(
        {"url": "https://host/a", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}
    ) == ("0123456789ab")
    assert commit_in({"url": "https://host/a.whl", "archive_info": {}}) == ""


def test_what_a_build_has_left_in_the_folder_hides_no_commit(tmp_path: Path) -> None:
    left = tmp_path / "forklore.egg-info"
    left.mkdir()
    (left / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: forklore\nVersion: 0\n")
    code = "from forklore_local.version import version; print(version())"
    told = [
        subprocess.check_output([sys.executable, "-c", code], cwd=folder, text=True)
        for folder in (tmp_path, tmp_path.parent)
    ]

    assert told[0] == told[1] != "0\n"


def test_a_version_is_told_with_its_commit_if_that_is_known() -> None:
    known, unknown = Version("1.2", "abc"), Version("1.2", "")

    assert (str(known), known.fields) == ("1.2 (abc)", {"version": "1.2", "commit": "abc"})
    assert (str(unknown), unknown.fields) == ("1.2", {"version": "1.2"})
