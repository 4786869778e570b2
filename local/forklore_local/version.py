"""Which forklore this is: its version, and the commit, where that is known."""

import json
import subprocess  # nosec B404 # git, in the checkout that this is
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

COMMIT_LETTERS = 12
GIT_SECONDS = 5


class Version(NamedTuple):
    """commit: empty if it is not known, as of a package that was not made from a checkout."""

    number: str
    commit: str

    @property
    def fields(self) -> dict[str, str]:
        """The members of an answer that tell it."""
        return {"version": self.number, **({"commit": self.commit} if self.commit else {})}

    def __str__(self) -> str:
        return f"{self.number} ({self.commit})" if self.commit else self.number


@cache
def version() -> Version:
    """Return what is installed; of a checkout the commit of now.

    Source: PEP 610, direct_url.json, which an installer leaves.
    """
    number = "unknown"
    for found in distributions(name="forklore"):
        told, number = found.read_text("direct_url.json"), found.version
        if told:  # else it is what a build has left in the folder
            return Version(number, commit_in(json.loads(told)))
    return Version(number, "")


def commit_in(origin: Mapping[str, object]) -> str:
    """Return the commit that a package was made from, by what its installer has noted."""
    match origin:
        case {"vcs_info": {"commit_id": str(commit)}}:
            return commit[:COMMIT_LETTERS]
        case {"dir_info": {"editable": True}, "url": str(url)}:
            folder = Path(url2pathname(urlsplit(url).path))
            command = ["git", "-C", str(folder), "rev-parse", f"--short={COMMIT_LETTERS}", "HEAD"]
            if not (folder / ".git").exists():  # a copy inside another checkout is none of that
                return ""
            with suppress(OSError, subprocess.SubprocessError):
                return subprocess.run(
                    command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
                ).stdout.strip()
    return ""
