"""Restore a stage's table to a point in time, and let the stack use the restored table.

python -m tools.deployment.restore STAGE TIME

`make restore` runs it. TIME is a moment with its offset, as 2026-11-23T17:15:00Z. These variables
may be set:

* CONFIRM=no: ask nothing.
* SOURCE: the table to restore from, if not the stack's: the one that an earlier restore replaced.
* CHECK=no: do not run fsck on the restored table before the stack uses it.
* FSCK_PYTHON: the Python that has forklore, for fsck.

The steps: stop the functions; restore into a new table; give it the old one's settings; check it
with fsck; let the functions use it; make it the stack's table; start the functions. What is done is
read from AWS each time. So after any failure the same command goes on where it stopped. The old
table is never changed and never deleted.

Exit codes: 0; 1 if a step failed; 2 for bad input, before anything is changed; 130 after Ctrl+C.
"""

import os
import re
import subprocess  # nosec B404 # it starts fsck with a fixed command
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from tools.deployment.account import Account, AccountError, find_account
from tools.deployment.adopting import Adoption
from tools.deployment.asking_aws import Aws, WaitError
from tools.deployment.restored_table import Restoration, RestoreError
from tools.deployment.samconfig import FILE, Kept, read_file, read_stage

SUFFIX = re.compile(r"-[0-9]{8}T[0-9]{6}Z$")


class InputError(Exception):
    """The input is wrong. Nothing has been changed."""


def moment(text: str) -> datetime:
    """Return the moment that a text names, in UTC, without a part of a second.

    Raises InputError for a text without a date, a time to the second or an offset.

    >>> moment("2026-11-23T18:15:00+01:00").isoformat()
    '2026-11-23T17:15:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or len(text) < len("2026-11-23T17:15:00Z"):
        raise InputError(f"TIME={text} is no moment such as 2026-11-23T17:15:00Z, with its offset")
    return found.astimezone(UTC).replace(microsecond=0)


def target_name(table: str, at: datetime) -> str:
    """Return the name of the table that is restored to a moment.

    >>> at = moment("2026-11-23T17:15:00Z")
    >>> target_name("forklore-Table-1A", at)
    'forklore-Table-1A-20261123T171500Z'
    >>> target_name("forklore-Table-1A-20260101T000000Z", at)
    'forklore-Table-1A-20261123T171500Z'
    """
    return f"{SUFFIX.sub('', table)}-{at:%Y%m%dT%H%M%SZ}"


def restore(
    aws: Aws,
    stack: str,
    at: datetime,
    *,
    confirm: Callable[[str], bool],
    check: Callable[[str], bool],
    source: str | None = None,
) -> str:
    """Do all steps that are not done yet. Return the name of the restored table.

    source: the table to restore from; None: the stack's.

    confirm: tells whether to go on, given what will happen. check: tells whether a table is intact.
    Raises InputError before anything is changed, RestoreError if a step fails.
    """
    adoption = Adoption(aws, stack)
    adoption.settle()
    named, is_adopted = adoption.table()
    if source and SUFFIX.sub("", source) != SUFFIX.sub("", named):
        raise InputError(f"SOURCE={source} is no table of {stack}, which has {named}")
    target = target_name(named, at)
    restoration = Restoration(aws, stack, source=source or named, target=target, at=at)
    reserved = restoration.foreign_reservations()
    if reserved:
        raise InputError(
            f"{', '.join(reserved)}: reserved concurrency is set, and a restore would lose it. "
            "Remove it first."
        )
    if named != target and not is_adopted:
        raise InputError(f"The restore that made {named} is not finished. Repeat its command first.")
    if named != target:
        problem = restoration.problem()
        if problem:
            raise InputError(problem)
    elif is_adopted and not restoration.stopped():
        aws.tell(f"{stack} uses {target} already.")
        return target
    if not confirm(f"{stack} gets the table {target}. Until that is done, no request is answered."):
        raise InputError("Nothing is changed.")
    restoration.stop()
    if named != target:
        restoration.restore()
        restoration.configure()
        aws.tell(f"Checking {target}.")
        if not check(target):
            raise RestoreError(
                f"{target} is not intact, or could not be checked; {stack} still has {named} and is stopped. "
                "CHECK=no goes on all the same, another TIME restores another table."
            )
        adoption.switch(named, target)
    adoption.adopt(target)
    restoration.start()
    aws.tell(f"{stack} uses {target}. The old table is kept, and costs, until you delete it.")
    return target


def intact(table: str, account: Account, environ: Mapping[str, str]) -> bool:
    """Tell whether fsck finds a table intact. It prints what it finds. With CHECK=no: True."""
    if environ.get("CHECK") == "no":
        return True
    python = environ.get("FSCK_PYTHON") or sys.executable
    command = [python, "-m", "forklore.cli", "fsck", "--table", table, "--region", account.region]
    return subprocess.run(command, check=False, env=account.environment(environ)).returncode == 0  # nosec B603 # no shell


def asks(environ: Mapping[str, str]) -> Callable[[str], bool]:
    """Return what tells a person what will happen, and asks. With CONFIRM=no it only tells."""

    def confirm(what: str) -> bool:
        print(what)
        return environ.get("CONFIRM") == "no" or input("Go on? [yes/no]: ").strip() == "yes"

    return confirm


def kept_of(stage: str) -> Kept:
    """Return what is kept of a stage. Raises InputError."""
    try:
        return read_stage(read_file(FILE), stage)
    except ValueError as error:
        raise InputError(f"{FILE.name} cannot be read: {error}") from error


def main(stage: str, time: str, environ: Mapping[str, str] = os.environ) -> int:
    """Restore. Return the exit code."""
    try:
        at = moment(time)
        kept = kept_of(stage)
        account = find_account(kept.region, environ, profile=kept.profile)
        print(f"The stack {kept.stack} in account {account.id}, {account.region}, as {account.who}.")
        restore(
            Aws(account.client),
            kept.stack,
            at,
            confirm=asks(environ),
            check=lambda table: intact(table, account, environ),
            source=environ.get("SOURCE") or None,
        )
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except (AccountError, RestoreError, WaitError, ClientError, BotoCoreError) as error:
        print(f"{error}\nThe same command goes on where it stopped.", file=sys.stderr)
        return 1
    except (EOFError, KeyboardInterrupt):
        print("\nStopped. The same command goes on where it stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
