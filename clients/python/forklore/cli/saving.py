"""Attachments of entries as files of a folder. Their names are what others have given them."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import typer

from forklore.cli.escaping import visible
from forklore.cli.exits import REFUSED, CommandError
from forklore.cli.progress import moving
from forklore.cli.shell import Shell
from forklore.client.generated.results import Entry
from forklore.exporting.kept_files import is_file_of, make_folder

NAME_BYTES_MAX = 200
"""Of the file, so that a number and the marks of programs fit behind it."""
SUFFIX_BYTES_MAX = 20
NOT_IN_NAMES = frozenset('/\\:*?"<>|')
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{one}{n}" for one in ("com", "lpt") for n in range(10))})
"""Names that are no files on Windows."""


def saved(shell: Shell, entries: Iterable[Entry], folder: Path) -> Iterator[Mapping[str, Any]]:
    """Save each attachment once, and yield its `id`, its `name`, and the `path` that it has.

    A file with the same bytes is left as it is. Another one is replaced only if the user says so.
    Raises CommandError where nobody can be asked, and for a folder that cannot be made.
    """
    seen, taken = set[str](), set[str]()
    for attached in (one for entry in entries for one in entry.attachments):
        if attached.id in seen:
            continue
        seen.add(attached.id)
        found = shell.client.api.get_attachment(attached.id)
        if found.url is None:
            shell.say(f"{attached.name} has no bytes: it is {found.state}")
            continue
        make_folder(folder)
        path = folder / _free(safe_name(attached.name), taken)
        if not os.path.lexists(path) or (not is_file_of(path, found.sha_256) and _may_replace(path)):
            with moving(f"saving {path.name}") as moved:
                shell.client.download(found, path, progress=moved)
        yield {"id": attached.id, "name": attached.name, "path": str(path)}


def safe_name(name: str) -> str:
    """Return a name for a file that is in its folder, is not hidden, and is a file on any machine.

    >>> safe_name("../.ssh/key"), safe_name(".bashrc"), safe_name("a\\0b.png"), safe_name("NUL.txt")
    ('_.ssh_key', 'bashrc', 'a_b.png', '_NUL.txt')
    >>> safe_name("..."), safe_name("Casa 1.jpg"), len(safe_name("ä" * 250 + ".jpg").encode())
    ('file', 'Casa 1.jpg', 200)
    """
    shown = "".join("_" if one in NOT_IN_NAMES or not one.isprintable() else one for one in name)
    shown = shown.strip(". ") or "file"
    shown = f"_{shown}" if shown.partition(".")[0].lower().strip() in DEVICES else shown
    suffix = PurePosixPath(shown).suffix
    suffix = suffix if len(suffix.encode()) <= SUFFIX_BYTES_MAX else ""
    stem = shown.removesuffix(suffix).encode()[: NAME_BYTES_MAX - len(suffix.encode())]
    return stem.decode(errors="ignore") + suffix


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with a number if another attachment has it, and note it."""
    path, number = PurePosixPath(name), 1
    while name.casefold() in taken:
        number += 1
        name = f"{path.stem}-{number}{path.suffix}"
    taken.add(name.casefold())
    return name


def _may_replace(path: Path) -> bool:
    if not sys.stdin.isatty():
        raise CommandError(f"{path} is there already, and is another file", REFUSED)
    return typer.confirm(f"Replace {visible(str(path))}?", err=True)
