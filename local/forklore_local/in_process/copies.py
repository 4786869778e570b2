"""Copies of a folder in one place, of which the newest are kept, and the way back.

A copy is a folder that is named by the moment when it was begun: all that was written before is in
it. One process at a time makes copies in a place.
"""

import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.upkeep import back_up

NAME = re.compile(r"forklore-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z")
_LEFT = ".forklore-*"
"""What a process that was killed has left: a part of a copy."""


def name_at(moment: datetime) -> str:
    """Return the name of a copy that is begun at a moment.

    >>> name_at(datetime(2026, 3, 1, 9, 15, tzinfo=UTC))
    'forklore-2026-03-01T09-15-00.000Z'
    """
    at = moment.astimezone(UTC)
    return f"forklore-{at:%Y-%m-%dT%H-%M-%S}.{at.microsecond // 1000:03}Z"


def copies_in(place: Path) -> list[Path]:
    """Return the copies in a place, the oldest first."""
    found = place.iterdir() if place.is_dir() else ()
    return sorted(one for one in found if NAME.fullmatch(one.name) and (one / FILE).is_file())


def add_copy(folder: Path, place: Path, *, keep: int, moment: datetime) -> tuple[Path, list[str]]:
    """Copy a folder, which may be in use, into a place, and delete all but the newest copies.

    keep: how many stay. moment: now. Return the copy, and the attachments whose bytes are lost.
    Nothing is deleted before the new copy is whole. Raises DataError.
    """
    copy = place / name_at(moment)
    lost = back_up(folder, copy)
    try:
        for old in {*copies_in(place)[:-keep]} - {copy}:  # also if the clock was ahead before
            old.rename(place / f".{old.name}")  # none is ever there in part
        for left in place.glob(_LEFT):
            shutil.rmtree(left)
    except OSError as error:
        raise DataError(f"{copy} is made, but an old one cannot be deleted: {error.strerror}") from error
    return copy, lost


def newest_of(copy: Path) -> Path:
    """Return a copy, or the newest one in a place. Raises DataError if there is none."""
    found = [copy] if (copy / FILE).is_file() else copies_in(copy)
    if not found:
        raise DataError(f"{copy} is no copy of forklore, and has none")
    return found[-1]


def put_back(copy: Path, to: Path, *, is_good: Callable[[Path], bool]) -> Path | None:
    """Make a folder of a copy, or of the newest copy in a place, and return the copy.

    Returns and raises as `make_of`. Raises DataError if there is no copy, too.
    """
    found = newest_of(copy)

    def fetch(made: Path) -> None:
        try:
            back_up(found, made)
        except DataError as error:
            others = copies_in(copy)[:-1] if found != copy else []
            raise DataError(
                f"{found}: {error}" + (f"; the one before is {others[-1]}" if others else "")
            ) from error

    is_made = make_of(fetch, to, is_good=is_good)
    return found if is_made else None


def make_of(fetch: Callable[[Path], object], to: Path, *, is_good: Callable[[Path], bool]) -> bool:
    """Make a folder by what brings a copy to a place; it is there whole or not at all.

    is_good: is asked about the new folder before it has its name. False: it is not, and nothing was
    made. Raises DataError if `to` is in use or holds anything, or if the copy cannot be read.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        what = (
            "keeps data already: stop what uses it, and move it away" if (to / FILE).exists() else "has files"
        )
        raise DataError(f"{to} {what}")
    made = to.with_name(f".{to.name}.restored")
    shutil.rmtree(made, ignore_errors=True)  # an earlier attempt was ended
    try:
        fetch(made)
        if not is_good(made):
            return False
        made.rename(to)
    except OSError as error:
        raise DataError(f"cannot make {to}: {error.strerror}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return True
