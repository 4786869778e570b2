"""Exports of a table and imports into one. An operator makes them, without the service."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forklore.cli.exits import DONE, NO, NOT_FOUND, REFUSED, CommandError
from forklore.cli.progress import progress
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell
from forklore.extras import from_extra

if TYPE_CHECKING:
    from forklore_local.porting.importing import Imported
    from forklore_local.porting.opening import Table
    from forklore_local.porting.scope import Choice


@dataclass(frozen=True, slots=True)
class TableAt:
    """A table that the command line names. Without a name it is in the folder of `--data`."""

    name: str | None
    endpoint: str | None = None
    region: str | None = None
    bucket: str | None = None

    def check(self) -> None:
        """Raise CommandError for an address, a region or a bucket without a table."""
        for name in ("endpoint", "region", "bucket"):
            if getattr(self, name) is not None and self.name is None:
                raise CommandError(f"--{name} goes with --table")

    @contextmanager
    def opened(self, shell: Shell, *, makes: bool = False) -> Iterator["Table"]:
        """Yield the table. makes: a folder that does not exist is made.

        Raises CommandError if there is none.
        """
        from forklore_local.porting.opening import table_at, table_in

        if self.name is not None:
            where = {"endpoint": self.endpoint, "region": self.region, "bucket": self.bucket}
            with table_at(self.name, **where) as table:
                yield table
            return
        folder = folder_of(shell)
        if not makes and not folder.exists():
            raise CommandError(f"there is no folder {folder}")
        with from_extra("local"), table_in(folder) as table:
            yield table

    def is_missing(self, shell: Shell) -> bool:
        """Tell whether the table would be in a folder that does not exist."""
        target = shell.target
        if self.name is not None or not isinstance(target, InProcess) or target.data is None:
            return False
        return not Path(target.data).exists()


def folder_of(shell: Shell) -> Path:
    """Return the folder of `--data`. Raises CommandError if there is none."""
    target = shell.target
    if not isinstance(target, InProcess) or target.data is None:
        raise CommandError("name the table: --table NAME, or --data DIR")
    return Path(target.data)


def export_table(shell: Shell, at: TableAt, choice: "Choice", output: str, *, skip_damaged: bool) -> int:
    """Write the trees of a choice to a file, and say what was written. Return the exit code."""
    from forklore_local.porting.exporting import export
    from forklore_local.porting.failures import NoSuchTreeError, PortingError, UnreadableError
    from forklore_local.porting.scope import Scope

    try:
        with at.opened(shell) as table, progress("exporting") as bar:
            done = export(
                table,
                choice,
                Path(output),
                skip_damaged=skip_damaged,
                on_total=bar.expect,
                on_done=bar.advance,
            )
    except NoSuchTreeError as error:
        raise CommandError(str(error), NOT_FOUND) from error
    except UnreadableError as error:
        hint = "" if choice.scope is Scope.TREE else "; --skip-damaged leaves it out"
        raise CommandError(f"{error}{hint}", REFUSED) from error
    except PortingError as error:
        raise CommandError(str(error), REFUSED) from error
    told = {"trees": done.trees, "conversations": done.conversations, "entries": done.entries}
    code = NO if done.damaged or done.lost else DONE
    if shell.out.is_json:
        counts = {**told, "leftOut": done.left_out, "damaged": [*done.damaged]}
        lost = {"lost": [*done.lost]} if done.lost else {}
        shell.out.result({"type": "file", "file": output, **counts, **lost})
        return code
    left_out = f"; {done.left_out:,} were being deleted and are left out" if done.left_out else ""
    shell.say(f"{output}: {_counts(told)}{left_out}")
    for group_id in done.damaged:
        shell.say(f"  not exported: tree {group_id} cannot be read; forklore fsck shows why")
    for attachment_id in done.lost:
        shell.say(f"  not exported: the bytes of attachment {attachment_id}, which are lost")
    return code


def import_table(shell: Shell, at: TableAt, path: Path, *, threads: int, is_dry: bool) -> int:
    """Import a file, and say what became of it. Return the exit code."""
    from forklore_local.porting.failures import FormatError, PortingError
    from forklore_local.porting.importing import carry_out, check

    try:
        opened = nullcontext() if is_dry and at.is_missing(shell) else at.opened(shell, makes=True)
        with opened as table:
            with progress(f"checking {path}") as bar:
                bar.expect(path.stat().st_size)
                checked = check(path, table=table, on_bytes=bar.advance)
            total = checked.total
            told = {"trees": total.trees, "conversations": total.conversations, "entries": total.entries}
            if is_dry or table is None:
                _say(shell, path, told, f"{_counts(told)} to import")
                return DONE
            with progress(f"importing {path}") as bar:
                bar.expect(path.stat().st_size)
                done = carry_out(table, checked, threads=threads, on_bytes=bar.advance)
    except FormatError as error:
        raise CommandError(f"{path}: {error}") from error
    except PortingError as error:
        raise CommandError(str(error), REFUSED) from error
    _tell(shell, path, told, done)
    return REFUSED if done.refusals else DONE


def _tell(shell: Shell, path: Path, told: dict[str, int], done: "Imported") -> None:
    counts = {
        "made": done.made,
        "there": done.there,
        "lostLinks": done.lost_links,
        "namesTaken": done.names_taken,
        "refused": done.refusals,
    }
    before = f", {done.there:,} of the trees from an earlier import" if done.there else ""
    _say(shell, path, {**told, **counts}, f"{_counts(told)}{before}")
    if shell.out.is_json:
        return
    if done.lost_links:
        shell.say(f"  {done.lost_links:,} trees do not name what started them: it is not there")
    if done.names_taken:
        shell.say(f"  {done.names_taken:,} names are in use, and stay as they are")
    for why in done.refused:
        shell.say(f"  not imported: {why}")
    if done.refusals > len(done.refused):
        shell.say(f"  not imported: {done.refusals - len(done.refused):,} more trees")


def _say(shell: Shell, path: Path, told: dict[str, int], line: str) -> None:
    if shell.out.is_json:
        shell.out.result({"type": "file", "file": str(path), **told})
    else:
        shell.say(f"{path}: {line}")


def _counts(told: dict[str, int]) -> str:
    one = {"trees": "tree", "conversations": "conversation", "entries": "entry"}
    return ", ".join(f"{count:,} {one[what] if count == 1 else what}" for what, count in told.items())
