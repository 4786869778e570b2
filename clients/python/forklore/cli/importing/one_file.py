"""The import of one file: its plans, what is left out of it, and what became of each tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from forklore.cli.files_beside import ENDING, Brought
from forklore.cli.importing.files import Measure, read_file
from forklore.cli.importing.foreign_trees import ForeignTree, ImportReport, MalformedFileError, Reason
from forklore.cli.importing.own_lines import ForkTree
from forklore.cli.importing.plan import Plan, plan_tree
from forklore.cli.importing.plan_forks import plan_fork_tree


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read and planned.

    owner, again: as for `namespace_of`. is_agent: the context is imported, too. trees_max: of all
    files together.
    """

    owner: str
    is_agent: bool = False
    given: str | None = None
    again: str = ""
    trees_max: int | None = None


@dataclass(slots=True)
class FileImport:
    """A file that is imported.

    shown: what it is called; without it the path. problem: why it was not read to its end. trees:
    how many were planned.
    """

    path: Path
    options: ImportOptions
    report: ImportReport = field(default_factory=ImportReport)
    problem: str | None = None
    trees: int = 0
    entries: int = 0
    shown: str = ""
    measure: Measure = field(default_factory=Measure)
    brought: Brought = field(init=False)

    def __post_init__(self) -> None:
        self.brought = Brought(Path(f"{self.path}{ENDING}"))

    def plans(
        self, *, trees_max: int | None = None, on_total: Callable[[int], None] = lambda _: None
    ) -> Iterator[Plan]:
        """Yield the plan of each tree. on_total: called with how many entries there will be.

        That is estimated from how far the file is read, as long as it is not read to its end.

        What ends the reading becomes the file's problem, and is not raised.
        """
        try:
            read = read_file(self.path, self.report, given=self.options.given, measure=self.measure)
            for tree in islice(read, trees_max):
                plan = self._plan(tree)
                self.trees += 1
                self.entries += plan.entries
                if self.measure.share and trees_max is None:
                    on_total(round(self.entries / self.measure.share))
                yield plan
        except MalformedFileError as error:
            self.problem = f"{self.shown or self.path}: {error}"
        except OSError as error:
            self.problem = f"{self.shown or self.path}: {error.strerror or error}"
        on_total(self.entries)

    def _plan(self, tree: ForeignTree | ForkTree) -> Plan:
        """Return the plan of a tree. Raises MalformedFileError."""
        owner, again = self.options.owner, self.options.again
        if isinstance(tree, ForeignTree):
            return plan_tree(tree, owner=owner, report=self.report, again=again)
        for entry in (one for stored in tree.conversations for one in stored.entries):
            for lost in self.brought.find(entry.members, entry.attachments):
                self.report.add(Reason.WITHOUT_FILE, lost)
        with_context = self.options.is_agent
        return plan_fork_tree(tree, owner=owner, report=self.report, again=again, with_context=with_context)


def title_of(plan: Plan) -> str:
    """Return what the root of a plan is called; the tree's id if it has no title."""
    title = plan.conversations[0].settings.get("title")
    return title if isinstance(title, str) else plan.tree_id
