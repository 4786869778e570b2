"""Read a table, report what is wrong, and return it as the exit code."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from forklore_local.fsck import objects
from forklore_local.fsck.check import findings
from forklore_local.fsck.chunks import OPEN_MAX
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.recheck import Moving, by_tree, look_again
from forklore_local.fsck.report import Report, Verdict
from forklore_local.fsck.source import NotForkloreError, Source
from forklore_local.fsck.survey import Survey
from forklore_service.domain import ids
from forklore_service.domain.keys import Key
from forklore_service.errors import ForkloreError
from forklore_service.storage.clients import make_client, make_objects_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.objects import Objects
from forklore_service.storage.objects_s3 import S3Objects

INTACT, DAMAGED, UNKNOWN, INTERRUPTED = 0, 1, 2, 130
_EXIT = {Verdict.INTACT: INTACT, Verdict.DAMAGED: DAMAGED, Verdict.UNKNOWN: UNKNOWN}


def check_table(
    table: str,
    *,
    endpoint: str | None,
    region: str | None,
    bucket: str | None,
    report: str | None,
    segments: int,
    is_quiet: bool,
) -> int:
    """Return the exit code: 0 intact, 1 findings, 2 could not check, 130 interrupted.

    endpoint, region: of DynamoDB and S3; None: AWS's defaults. bucket: of the attachments; None:
    their bytes are not looked for. report: the file of the report as JSON; `-` prints it, without
    the summary. segments: how many parts to read at the same time.
    """
    if not 1 <= segments <= OPEN_MAX:
        return _give_up(f"--segments {segments} is not from 1 to {OPEN_MAX}")

    def check() -> Report:
        source = Source(Connection(make_client(endpoint, region=region), table, Clock()))
        bytes_at = None if bucket is None else S3Objects(bucket, make_objects_client(endpoint, region=region))
        return run(source, table, segments=segments, is_quiet=is_quiet, bytes_at=bytes_at)

    return _reported(check, table, report)


def check_folder(folder: Path, *, report: str | None, is_quiet: bool) -> int:
    """Return the exit code, as check_table does, for the table that a folder keeps.

    Where the file is damaged, so that not all items can be read, only that is reported.
    """
    from forklore_local.embedded.database import Database
    from forklore_local.embedded.engine import NAME, Engine
    from forklore_local.in_process.folder import FILE, DataError
    from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects
    from forklore_local.in_process.upkeep import IN_FILE, damage_in

    def check() -> Report:
        started_at = _now()
        try:
            damage = damage_in(folder)
        except DataError as error:
            raise NotForkloreError(str(error)) from error
        if damage:
            found = [
                Finding(Key(*place), "damaged_file" if place == IN_FILE else "damaged_row", detail)
                for place, detail in damage
            ]
            return Report(str(folder), started_at, _now(), suspects=len(found), findings=found)
        with closing(Database(folder.absolute() / FILE)) as database:
            source = Source(Connection(Engine(database), NAME, Clock()))
            bytes_at = FolderObjects(folder / ATTACHMENTS)
            return run(source, str(folder), segments=1, is_quiet=is_quiet, bytes_at=bytes_at)

    return _reported(check, str(folder), report)


def _reported(check: Callable[[], Report], table: str, report: str | None) -> int:
    """Check, report what was found, and return the exit code."""
    try:
        if report is not None and report != "-":
            Path(report).touch()  # A bad path fails now, not after an hour of reading.
        found = check()
        _write(found, report)
    except ClientError as error:
        return _give_up(_said(error, table))
    except (BotoCoreError, ForkloreError, NotForkloreError, OSError, ValueError) as error:
        return _give_up(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return _EXIT[found.verdict]


def run(
    source: Source,
    table: str,
    *,
    segments: int,
    is_quiet: bool,
    bytes_at: Objects | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Read the whole table, look at the suspects again, and report those that remain.

    bytes_at: where the bytes of attachments are looked for; None: nowhere.
    """
    about = source.describe()
    report = Report(table, started_at=_now())
    survey = Survey(now_s=source.now_s())
    with _progress("reading", total=about, is_quiet=is_quiet) as advance:
        for page in source.scan(segments=segments):
            survey.take_all(page)
            advance(len(page))
    suspects = findings(survey)
    report.take(survey)
    report.suspects = len(suspects)
    with _progress("looking again", total=len(suspects), is_quiet=is_quiet or not suspects) as advance:
        for group_id, some in by_tree(suspects):
            try:
                report.findings += look_again(source, group_id, some, now_s=source.now_s(), sleep=sleep)
            except Moving:
                report.unsettled += some
            advance(len(some))
    if bytes_at is not None:
        report.findings += objects.check(bytes_at, survey, source)
    report.read_units = source.read_units
    report.finished_at = _now()
    return report


def _now() -> str:
    return ids.timestamp(int(datetime.now(UTC).timestamp() * 1000))


@contextmanager
def _progress(what: str, *, total: int, is_quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr while the block runs, if stderr is a terminal.

    Yields a function. Call it with the size of each step.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=is_quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total or None)
        yield lambda steps: bar.advance(task, steps)


def _write(report: Report, to: str | None) -> None:
    """Print the summary and write the report to a file. If `to` is "-", print only the report."""
    if to == "-":
        print(report.as_json())
        return
    if to is not None:
        Path(to).write_text(report.as_json() + "\n", encoding="utf-8")
    print(report.as_text())


def _said(error: ClientError, table: str) -> str:
    told = error.response["Error"]
    if told["Code"] == "ResourceNotFoundException":
        return f"there is no table {table!r} here"
    return f"{told['Code']}: {told.get('Message', '')}".splitlines()[0]


def _give_up(reason: str) -> int:
    print(f"fsck: {reason}", file=sys.stderr)
    return UNKNOWN
