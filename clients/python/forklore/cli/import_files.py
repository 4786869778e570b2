"""An import of several files, which are read one after the other."""

import gc
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain, islice
from pathlib import Path

from forklore.cli.exits import DONE, INTERRUPTED, NO, REFUSED, USAGE, CommandError
from forklore.cli.import_reporting import HEADER, Reporter, counted
from forklore.cli.owner import agent_of, owner_of
from forklore.cli.progress import Bar, progress
from forklore.cli.shell import Shell
from forklore.client.errors import ConflictError, NotFoundError
from forklore.extras import from_extra
from forklore.importing.carrying_out import Carried, Unchanged, carry_out, sender
from forklore.importing.databases import Framework, framework_of
from forklore.importing.earlier_imports import EarlierImports
from forklore.importing.files import Input, inputs_of
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.one_file import FileImport, ImportOptions
from forklore.importing.plan import Plan

GARBAGE_OBJECTS = 20_000


def import_files(
    shell: Shell,
    files: Sequence[Path],
    *,
    again: str,
    name: str | None,
    threads: int,
    given: str | None = None,
    trees_max: int | None = None,
    is_dry: bool = False,
    redacts: bool = False,
    shown: str | None = None,
) -> int:
    """Import files, and say what became of each. Return the exit code.

    given, again, trees_max, redacts: as in ImportOptions. name: for the current branch of the one
    tree. shown: what each file is called; None: its path.
    """
    target = shell.target
    options = ImportOptions(owner_of(target), agent_of(target), given, again, trees_max, redacts)
    with inputs_of(files) as sources, _seldom_collected():
        if name is not None:
            _check_name(shell, name, sources, options)
        importing = _Importing(shell, options, threads=threads, name=name, is_dry=is_dry)
        try:
            for source in sources:
                importing.file(source if shown is None else replace(source, shown=shown))
            importing.rest()
        except KeyboardInterrupt:
            shell.say("interrupted; the same command goes on where it stopped")
            return INTERRUPTED
        return importing.code


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let Python look for garbage seldom: an import makes many objects, and hardly a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Importing:
    """A run of the command. code: its exit code so far."""

    def __init__(
        self, shell: Shell, options: ImportOptions, *, threads: int, name: str | None, is_dry: bool
    ) -> None:
        self._shell = shell
        self._options = options
        self._threads = threads
        self._name = name
        self._is_dry = is_dry
        self._left = options.trees_max
        self._earlier = EarlierImports(lambda: shell.client, options.again)
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._waiting: list[tuple[FileImport, Reporter]] = []
        self.code = DONE

    def file(self, source: Input) -> None:
        """Import a file, and say what became of it. Raises the ApiError that ends all."""
        if self._left == 0:
            return
        framework = framework_of(source.path)
        if framework is not None and self._options.redacts:
            raise CommandError(f"{source.shown}: nothing can be left out of sessions of {framework}")
        if framework is not None:
            code = _import_sessions(
                self._shell, source.path, framework, shown=source.shown, is_dry=self._is_dry
            )
            self.code = self.code or code
            return
        one = FileImport(source.path, self._options, shown=source.shown)
        telling = Reporter(self._shell, source.shown)
        is_over = False
        try:
            if self._is_dry:
                self._planned(one)
            else:
                with progress(f"importing {source.shown}") as bar:
                    self._imported(one, telling, bar)
            is_over = True
        finally:
            if is_over and one.later:
                self._waiting.append((one, telling))
            else:
                one.held.close()
                self._summary(one, telling)
        if self._left is not None:
            self._left -= one.trees

    def rest(self) -> None:
        """Import what goes on from what other files have brought, or from what none has."""
        for one, telling in self._waiting:
            try:
                if self._left != 0:
                    with progress(f"importing {one.shown}") as bar:
                        self._imported(one, telling, bar, rest=True)
            finally:
                one.held.close()
                self._summary(one, telling)

    def _imported(self, one: FileImport, telling: Reporter, bar: Bar, *, rest: bool = False) -> None:
        plans = one.plans(trees_max=self._left, on_total=bar.expect, earlier=self._earlier, rest=rest)
        first = next(plans, None)
        if first is None:  # a file that is refused makes no folder of data
            return
        carrying = carry_out(
            chain([first], plans),
            sender(self._shell.client, one.brought),
            threads=self._threads,
            since=self._since,
            on_begin=telling.begin,
            on_entries=bar.advance,
        )
        with closing(carrying) as carried:
            for tree in carried:
                telling.add(tree)
                if isinstance(tree, Carried):
                    self._compared(tree, one.report)
                self._ended(tree)

    def _planned(self, one: FileImport) -> None:
        """Show what each tree would become."""
        out = self._shell.out
        plans = (plan for plan in one.plans(trees_max=self._left) if isinstance(plan, Plan))
        told = ((plan, len(plan.conversations)) for plan in plans)
        if out.is_json:
            out.results(
                {"type": "tree", "treeId": plan.tree_id, "conversations": size, "entries": plan.entries}
                for plan, size in told
            )
        else:
            header = ("conversations", "entries", "title")
            out.table(header, [(str(size), str(plan.entries), plan.title) for plan, size in told])

    def _compared(self, tree: Carried, report: ImportReport) -> None:
        """Report what differs from the source, and let the tree tell of the source as it is now."""
        differs = [(Reason.CHANGED, key) for key in sorted(tree.loading.changed)]
        differs += [(Reason.CONTEXT, key) for key in tree.loading.left_out]
        differs += [(Reason.NOTE, key) for key in tree.loading.unnoted]
        if self._earlier.is_renamed(tree.plan):
            differs.append((Reason.TITLE, tree.title))
        for reason, where in differs:
            report.add(reason, where)
        if tree.plan.kind and not tree.problems:
            is_same = not tree.loading.left_out if tree.plan.session else not differs
            self._earlier.bring_up_to_date(tree, is_same=is_same)
        else:
            self._earlier.give_up(tree.plan)

    def _ended(self, tree: Carried | Unchanged) -> None:
        if tree.problems:
            self.code = self.code or NO
            return
        if self._name is not None:
            self._point(tree.conversation_id)

    def _point(self, conversation_id: str) -> None:
        """Let the name point to what was imported, unless it does already."""
        assert self._name is not None
        try:
            self._shell.client.conversation(conversation_id).point(self._name, expect_revision=0)
        except ConflictError:
            if self._shell.client.api.look_up_name(name=self._name).conversation_id != conversation_id:
                self._shell.say(f"the name {self._name} points elsewhere meanwhile, and stays there")
                self.code = self.code or REFUSED

    def _summary(self, one: FileImport, telling: Reporter) -> None:
        if one.problem is not None:
            self.code = USAGE
        out, report = self._shell.out, one.report
        unfinished = telling.end()
        if out.is_json:
            left_out = [
                {"reason": str(reason), "count": count, "examples": report.examples[reason]}
                for reason, count in report.counts.most_common()
            ]
            told = {"type": "file", "file": one.shown, "problem": one.problem}
            out.result({**told, "leftOut": left_out, "notReadAgain": one.passed})
            return
        if one.problem is not None:
            self._shell.say(f"forklore: {one.problem}")
        if self._is_dry:
            said = f"{counted(one.trees, 'tree')}, {counted(one.entries, 'entry')} to import"
        else:
            before = f", {telling.found:,} of them from an earlier import" if telling.found else ""
            open_trees = f"; {counted(unfinished, 'tree')} unfinished" if unfinished else ""
            said = (
                f"{counted(telling.trees, 'tree')}, {counted(telling.entries, 'entry')}{before}{open_trees}"
            )
        self._shell.say(f"{one.shown}: {said}")
        if one.passed:
            self._shell.say(f"  not read again, as unchanged: {counted(one.passed, 'tree')}")
        for line in report.lines():
            self._shell.say(f"  left out: {line}")


def _import_sessions(shell: Shell, path: Path, framework: Framework, *, shown: str, is_dry: bool) -> int:
    """Import the sessions of a database, and say what became of each. Return the exit code."""
    code, sessions, entries, before = DONE, 0, 0, 0
    try:
        with from_extra(framework.extra):
            reader = import_module(framework.reader)
            for name, size, found, problem in reader.copied_sessions(path, None if is_dry else shell.client):
                sessions, entries, before = sessions + 1, entries + size, before + found
                told = {"type": "session", "file": shown, "name": name, "entries": size, "found": found}
                if problem:
                    code = NO
                    shell.say(f"session {name}: {problem}")
                if shell.out.is_json:
                    shell.out.result({**told, "problems": [problem] if problem else []})
                elif not problem:
                    shell.out.table(HEADER[1:], [(str(size), name)])
    except sqlite3.Error as error:
        shell.say(f"forklore: {shown}: {error}")
        return USAGE
    there = f", {before:,} of them from an earlier import" if before else ""
    shell.say(f"{shown}: {counted(sessions, 'session')}, {counted(entries, 'entry')}{there}")
    return code


def _check_name(shell: Shell, name: str, sources: list[Input], options: ImportOptions) -> None:
    """Refuse a name that is in use, or that could mean several trees, before anything is sent."""
    read = chain.from_iterable(FileImport(source.path, options).plans() for source in sources)
    plans = list(islice(read, 1 if options.trees_max == 1 else 2))
    if not plans:
        return
    if len(plans) > 1:
        raise CommandError("--name is for one tree: give --limit-trees 1, or leave it out")
    try:
        held = shell.client.api.look_up_name(name=name)
    except NotFoundError:
        return
    made = (one.conversation_id for plan in plans if isinstance(plan, Plan) for one in plan.conversations)
    if held.conversation_id not in made:
        raise CommandError(f"the name {name} is in use", REFUSED)
