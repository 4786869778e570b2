"""The command line: read a table, report what is wrong, and return it as the exit code."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from forklore.domain import ids
from forklore.errors import ForkloreError
from forklore.fsck.again import Moving, by_tree, look_again
from forklore.fsck.check import findings
from forklore.fsck.chunks import OPEN_MAX
from forklore.fsck.report import Report, Verdict
from forklore.fsck.source import NotForkloreError, Source
from forklore.fsck.survey import Survey
from forklore.storage.clients import make_client
from forklore.storage.clock import Clock
from forklore.storage.connection import Connection

INTACT, DAMAGED, UNKNOWN, INTERRUPTED = 0, 1, 2, 130
_EXIT = {Verdict.INTACT: INTACT, Verdict.DAMAGED: DAMAGED, Verdict.UNKNOWN: UNKNOWN}


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 intact, 1 findings, 2 could not check, 130 interrupted.

    Raises SystemExit with 2 for bad arguments, and with 0 after --help.
    """
    options = _parser().parse_args(argv)
    try:
        if options.report not in (None, "-"):
            Path(options.report).touch()  # A bad path fails now, not after an hour of reading.
        client = make_client(options.endpoint, region=options.region)
        report = run(
            Source(Connection(client, options.table, Clock())),
            options.table,
            segments=options.segments,
            is_quiet=options.quiet,
        )
        _write(report, options.report)
    except ClientError as error:
        return _give_up(_said(error, options.table))
    except (BotoCoreError, ForkloreError, NotForkloreError, OSError, ValueError) as error:
        return _give_up(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return _EXIT[report.verdict]


def run(
    source: Source,
    table: str,
    *,
    segments: int,
    is_quiet: bool,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Read the whole table, look at the suspects again, and report those that remain."""
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


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        self.exit(UNKNOWN, f"fsck: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="forklore", description="Tools to operate forklore.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    fsck = commands.add_parser(
        "fsck",
        help="check what is stored; this writes nothing to the table",
        description="Read a whole table and check that its items agree with each other. "
        "This writes nothing to the table.",
        epilog="Exit code: 0 the table is intact, 1 there are findings, 2 the check was not possible.",
    )
    fsck.add_argument("--table", required=True, metavar="NAME", help="the table to read")
    fsck.add_argument("--endpoint", type=_url, metavar="URL", help="the address of DynamoDB; AWS if absent")
    fsck.add_argument("--region", metavar="NAME", help="the region; the default of AWS's tools if absent")
    fsck.add_argument(
        "--report", metavar="FILE", help="write the report as JSON; - prints it, without the summary"
    )
    fsck.add_argument(
        "--segments",
        type=_segments,
        default=4,
        metavar="N",
        help=f"how many parts to read at the same time, up to {OPEN_MAX} (default: %(default)s)",
    )
    fsck.add_argument("--quiet", action="store_true", help="show no progress")
    return parser


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"{value!r} is not an http:// or https:// address")
    return value


def _segments(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 4) or not 1 <= int(value) <= OPEN_MAX:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number from 1 to {OPEN_MAX}")
    return int(value)
