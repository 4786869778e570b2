"""The import of one file: its plans, what is left out of it, and what became of each tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from forklore.exporting.kept_files import ENDING
from forklore.importing.brought_files import Brought
from forklore.importing.carrying_out import Unchanged
from forklore.importing.files import Measure, read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport, MalformedFileError, Reason
from forklore.importing.formats.own_lines import ForkTree
from forklore.importing.held_files import Held
from forklore.importing.plan import Plan, digest_of, plan_tree
from forklore.importing.plan_forks import plan_fork_tree

Known = Callable[[str, str], Unchanged | None]


class _EnoughError(Exception):
    """As many trees as were wanted are found. No more of the file is read."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read and planned.

    owner, again: as for `namespace_of`. agent: whose context is imported, too. trees_max: of all
    files together.
    """

    owner: str
    agent: str | None = None
    given: str | None = None
    again: str = ""
    trees_max: int | None = None


@dataclass(slots=True)
class FileImport:
    """A file that is imported.

    shown: what it is called; without it the path. problem: why it was not read to its end. trees:
    how many were planned. passed: how many of these were not read, because they have not changed.
    """

    path: Path
    options: ImportOptions
    report: ImportReport = field(default_factory=ImportReport)
    problem: str | None = None
    trees: int = 0
    passed: int = 0
    entries: int = 0
    shown: str = ""
    measure: Measure = field(default_factory=Measure)
    held: Held = field(default_factory=Held)
    brought: Brought = field(init=False)

    def __post_init__(self) -> None:
        self.brought = Brought(Path(f"{self.path}{ENDING}"), self.held, self._not_taken)

    def _not_taken(self, place: str) -> None:
        self.report.add(Reason.NOT_TAKEN, place)

    def plans(
        self,
        *,
        trees_max: int | None = None,
        on_total: Callable[[int], None] = lambda _: None,
        known: Known = lambda _kind, _digest: None,
    ) -> Iterator[Plan | Unchanged]:
        """Yield the plan of each tree, or that it is there. on_total: called with how many entries
        there will be.

        That is estimated from how far the file is read, as long as it is not read to its end.
        known: returns what is there of a tree by the format and the digest of its text. It is not
        asked before a tree was found.

        What ends the reading becomes the file's problem, and is not raised.
        """
        try:
            for one in islice(self._found(known, trees_max), trees_max):
                self.trees += 1
                self.entries += one.entries
                self.passed += isinstance(one, Unchanged)
                if self.measure.share and trees_max is None:
                    on_total(round(self.entries / self.measure.share))
                yield one
        except MalformedFileError as error:
            self.problem = f"{self.shown or self.path}: {error}"
        except OSError as error:
            self.problem = f"{self.shown or self.path}: {error.strerror or error}"
        on_total(self.entries)

    def _found(self, known: Known, trees_max: int | None) -> Iterator[Plan | Unchanged]:
        options, passed = self.options, list[Unchanged]()

        def passes(kind: str, digest: str) -> str:
            """Return the id of a conversation that is there as the file has it. It is not read."""
            if self.trees + len(passed) == trees_max:
                raise _EnoughError
            told = digest_of(digest, owner=options.owner, kind=kind, again=options.again)
            there = known(kind, told) if self.trees else None
            passed.extend([there] if there else [])
            return there.tree_id if there else ""

        trees = read_file(
            self.path,
            self.report,
            given=options.given,
            measure=self.measure,
            held=self.held,
            passes=passes,
        )
        try:
            for tree in trees:
                plan = self._plan(tree)
                yield from passed
                passed.clear()
                yield plan
        except (MalformedFileError, OSError, _EnoughError) as error:
            yield from passed
            if not isinstance(error, _EnoughError):
                raise
        else:
            yield from passed

    def _plan(self, tree: ForeignTree | ForkTree) -> Plan:
        """Return the plan of a tree. Raises MalformedFileError."""
        owner, again, agent = self.options.owner, self.options.again, self.options.agent
        if isinstance(tree, ForeignTree):
            return plan_tree(tree, owner=owner, report=self.report, again=again, client=agent)
        for entry in (one for stored in tree.conversations for one in stored.entries):
            for lost in self.brought.find(entry.members, entry.attachments):
                self.report.add(Reason.WITHOUT_FILE, lost)
        return plan_fork_tree(
            tree, owner=owner, report=self.report, again=again, with_context=agent is not None
        )
