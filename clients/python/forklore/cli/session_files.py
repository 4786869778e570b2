"""Which sessions of programs a command means, and where forklore remembers them."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forklore.cli.exits import CommandError
from forklore.cli.owner import store_of
from forklore.cli.settings import Target
from forklore.sessions.finding import SessionFile, files_here
from forklore.sessions.programs import NAMES, PROGRAMS, Program
from forklore.sessions.seen import Seen, state_folder

_AGO = re.compile(r"(\d{1,5})([dhm])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def program_of(name: str) -> Program:
    """Return a program by its name, or by how only its name begins. Raises CommandError."""
    found = [one for one in PROGRAMS if one.name == name] or [
        one for one in PROGRAMS if one.name.startswith(name.lower())
    ]
    if len(found) != 1:
        raise CommandError(f"no program {name!r}; there are: {', '.join(NAMES)}")
    return found[0]


def time_of(given: str, now: datetime, *, option: str = "--since") -> datetime:
    """Return the time that an option names. Raises CommandError.

    >>> time_of("7d", datetime(2026, 11, 28, tzinfo=UTC)).isoformat()
    '2026-11-21T00:00:00+00:00'
    """
    ago = _AGO.fullmatch(given)
    if ago:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    with suppress(ValueError):
        return datetime.fromisoformat(given).astimezone()
    raise CommandError(
        f"{option} is a time as 2026-11-28 or 2026-11-28T09:15, or 7d, 12h, 30m, not {given!r}"
    )


def chosen(folder: Path | None, programs: Sequence[str] | None, since: str | None) -> list[SessionFile]:
    """Return the files of sessions that the options mean. Raises CommandError."""
    wanted = [program_of(name) for name in programs] if programs else PROGRAMS
    begin = time_of(since, datetime.now(UTC)).timestamp() if since else 0.0
    if folder is not None and not folder.is_dir():
        raise CommandError(f"{folder}: no such folder")
    if folder is None:
        found = files_here(Path.home(), os.environ, wanted)
    else:
        from forklore.sessions.listing import files_in

        found = files_in(folder, wanted)
    return [one for one in found if one.changed >= begin]


def seen_of(target: Target, agent: str | None) -> Seen:
    """Return what was collected into a store already, as far as this machine remembers."""
    return Seen(lambda: state_folder(os.environ, Path.home()) / f"collected-{store_of(target, agent)}.json")
