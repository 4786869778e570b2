"""`forklore import`: conversations from elsewhere, with all their branches."""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.exits import DONE, INTERRUPTED, NO, REFUSED, USAGE, CommandError
from forklore.cli.importing.carrying_out import Carried, carry_out
from forklore.cli.importing.one_file import FileImport, Options, title_of
from forklore.cli.importing.owner import is_agent, owner_of
from forklore.cli.importing.plan import Plan
from forklore.cli.importing.sending import sender
from forklore.cli.importing.values import Format
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import ConflictError, NotFoundError

PARALLEL, PARALLEL_MAX = 8, 64


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "import", makes=True, example="forklore import conversations.json")
    def import_(
        shell: Shell,
        files: Annotated[
            list[Path],
            typer.Argument(metavar="FILE...", help="JSON, JSON Lines, or a ZIP.", show_default=False),
        ],
        given: Annotated[
            Format | None,
            typer.Option("--format", help="The files' format; without it their content tells."),
        ] = None,
        parallel: Annotated[
            int, typer.Option("--parallel", min=1, max=PARALLEL_MAX, metavar="N", help="Requests at a time.")
        ] = PARALLEL,
        limit_trees: Annotated[
            int | None,
            typer.Option("--limit-trees", min=1, metavar="N", help="Import the first N trees only."),
        ] = None,
        name: Annotated[
            str | None,
            typer.Option("--name", metavar="NAME", help="A new name for the current branch of the one tree."),
        ] = None,
        again: Annotated[
            str,
            typer.Option(
                "--again",
                metavar="TEXT",
                help="Import once more, beside what was imported before; each TEXT once.",
                show_default=False,
            ),
        ] = "",
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, but send nothing.")] = False,
    ) -> int:
        """Import conversations with all their branches.

        It reads forklore's own JSON Lines, a ChatGPT export, a Claude export, and message trees.
        It can be stopped and run again: what is there already is found, and nothing is doubled.
        """
        target = shell.target
        options = Options(owner_of(target), is_agent(target), given, again, limit_trees)
        if name is not None:
            _check_name(shell, name, files, options)
        importing = _Importing(shell, options, threads=parallel, name=name, is_dry=dry_run)
        try:
            for path in files:
                importing.file(path)
        except KeyboardInterrupt:
            shell.say("interrupted; the same command goes on where it stopped")
            return INTERRUPTED
        return importing.code


class _Importing:
    """A run of the command. code: its exit code so far."""

    def __init__(
        self, shell: Shell, options: Options, *, threads: int, name: str | None, is_dry: bool
    ) -> None:
        self._shell = shell
        self._options = options
        self._threads = threads
        self._name = name
        self._is_dry = is_dry
        self._left = options.trees_max
        self.code = DONE

    def file(self, path: Path) -> None:
        """Import a file, and say what became of it. Raises the ApiError that ends all."""
        if self._left == 0:
            return
        one = FileImport(path, self._options)
        done: list[Carried] = []
        try:
            if self._is_dry:
                self._planned(one)
            else:
                with (
                    progress(f"importing {path.name}") as bar,
                    closing(
                        carry_out(
                            one.plans(trees_max=self._left, on_end=lambda: bar.expect(one.entries)),
                            sender(self._shell.client),
                            threads=self._threads,
                            on_entries=bar.advance,
                        )
                    ) as carried,
                ):
                    done.extend(carried)
        finally:
            self._carried(path, sorted(done, key=lambda tree: tree.number))
            self._summary(one, done)
        if self._left is not None:
            self._left -= one.trees

    def _planned(self, one: FileImport) -> None:
        """Show what each tree would become."""
        out = self._shell.out
        plans = ((plan, len(plan.conversations)) for plan in one.plans(trees_max=self._left))
        if out.is_json:
            out.results(
                {"type": "tree", "treeId": plan.tree_id, "conversations": size, "entries": plan.entries}
                for plan, size in plans
            )
        else:
            header = ("conversations", "entries", "title")
            out.table(header, [(str(size), str(plan.entries), title_of(plan)) for plan, size in plans])

    def _carried(self, path: Path, done: list[Carried]) -> None:
        """Show what became of each tree."""
        for tree in done:
            if tree.problems:
                self.code = self.code or NO
            elif self._name is not None:
                self._point(_shown(tree))
        out = self._shell.out
        if out.is_json:
            out.results(_row(path, tree) for tree in done)
            return
        whole = [tree for tree in done if not tree.problems]
        if whole:
            rows = [((_shown(tree), "yellow"), str(tree.plan.entries), title_of(tree.plan)) for tree in whole]
            out.table(("id", "entries", "title"), rows)
        for tree in done:
            self._problems(tree)

    def _problems(self, tree: Carried) -> None:
        for problem in tree.problems[:PROBLEMS_SHOWN_MAX]:
            self._shell.say(f"tree {tree.plan.tree_id}: {problem}")
        more = len(tree.problems) - PROBLEMS_SHOWN_MAX
        rest = f", for {counted(more, 'other problem')}" if more > 0 else ""
        if tree.problems:
            self._shell.say(f"tree {tree.plan.tree_id}: {counted(tree.skipped, 'entry')} missing{rest}")

    def _point(self, conversation_id: str) -> None:
        """Let the name point to what was imported, unless it does already."""
        assert self._name is not None
        try:
            self._shell.client.conversation(conversation_id).point(self._name, expect_revision=0)
        except ConflictError:
            if self._shell.client.api.look_up_name(name=self._name).conversation_id != conversation_id:
                self._shell.say(f"the name {self._name} points elsewhere meanwhile, and stays there")
                self.code = self.code or REFUSED

    def _summary(self, one: FileImport, done: list[Carried]) -> None:
        if one.problem is not None:
            self.code = USAGE
        out, report = self._shell.out, one.report
        entries = sum(len(tree.loading.placed) for tree in done)
        found = sum(tree.loading.found for tree in done)
        if out.is_json:
            left_out = [
                {"reason": str(reason), "count": count, "examples": report.examples[reason]}
                for reason, count in report.counts.most_common()
            ]
            out.result({"type": "file", "file": str(one.path), "problem": one.problem, "leftOut": left_out})
            return
        if one.problem is not None:
            self._shell.say(f"forklore: {one.problem}")
        if self._is_dry:
            said = f"{counted(one.trees, 'tree')}, {counted(one.entries, 'entry')} to import"
        else:
            before = f", {found:,} of them from an earlier import" if found else ""
            said = f"{counted(len(done), 'tree')}, {counted(entries, 'entry')}{before}"
        self._shell.say(f"{one.path}: {said}")
        for line in report.lines():
            self._shell.say(f"  left out: {line}")


PROBLEMS_SHOWN_MAX = 3  # of one tree


def _check_name(shell: Shell, name: str, files: list[Path], options: Options) -> None:
    """Refuse a name that is in use, or that could mean several trees, before anything is sent."""
    read = chain.from_iterable(FileImport(path, options).plans() for path in files)
    plans = list(islice(read, 1 if options.trees_max == 1 else 2))
    if len(plans) > 1:
        raise CommandError("--name is for one tree: give --limit-trees 1, or leave it out")
    try:
        held = shell.client.api.look_up_name(name=name)
    except NotFoundError:
        return
    if not any(held.conversation_id in _ids(plan) for plan in plans):
        raise CommandError(f"the name {name} is in use", REFUSED)


def _ids(plan: Plan) -> Iterator[str]:
    return (conversation.conversation_id for conversation in plan.conversations)


def _shown(tree: Carried) -> str:
    """Return the current branch of a tree."""
    return tree.loading.conversation_id(tree.plan.current)


def _row(path: Path, tree: Carried) -> dict[str, object]:
    return {
        "type": "tree",
        "file": str(path),
        "treeId": tree.plan.tree_id,
        "conversationId": _shown(tree),
        "conversations": len(tree.plan.conversations),
        "entries": len(tree.loading.placed),
        "found": tree.loading.found,
        "missing": tree.skipped,
        "problems": tree.problems,
    }


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "entry"), counted(1200, "entry"), counted(2, "tree")
    ('1 entry', '1,200 entries', '2 trees')
    """
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"
