"""The import of one file: its plans, what is left out of it, and what became of each tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from forklore.exporting.kept_files import ENDING
from forklore.importing.brought_files import Brought
from forklore.importing.carrying_out import Unchanged, Wait
from forklore.importing.earlier_imports import EarlierImports
from forklore.importing.files import read_file
from forklore.importing.foreign_trees import (
    ForeignTree,
    ImportReport,
    MalformedFileError,
    NoConversationError,
    Reason,
)
from forklore.importing.formats.own_lines import ForkTree
from forklore.importing.held_files import Held
from forklore.importing.plan import Plan
from forklore.importing.plan_forks import plan_fork_tree
from forklore.importing.plan_trees import Draft, digest_of, drafted, plan_draft
from forklore.importing.redacting import redacted
from forklore.importing.unpacking import Measure


class _EnoughError(Exception):
    """As many trees as were wanted are found. No more of the file is read."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read and planned.

    owner, again: as for `namespace_of`. agent: whose context is imported, too. trees_max: of all
    files together. redacts: what looks like a key is left out.
    """

    owner: str
    agent: str | None = None
    given: str | None = None
    again: str = ""
    trees_max: int | None = None
    redacts: bool = False


@dataclass(slots=True)
class FileImport:
    """A file that is imported.

    shown: what it is called; without it the path. problem: why it was not read to its end.
    is_empty: that is because no conversation is in it. is_closed: the system did not let it be
    read, and may the next time. trees: how many were planned. passed: how many of these were not
    read, because they have not changed.
    later: the sessions that go on from one that is not there, and may come with another file.
    """

    path: Path
    options: ImportOptions
    report: ImportReport = field(default_factory=ImportReport)
    problem: str | None = None
    is_empty: bool = False
    is_closed: bool = False
    trees: int = 0
    passed: int = 0
    entries: int = 0
    later: list[Draft] = field(default_factory=list)
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
        earlier: EarlierImports | None = None,
        rest: bool = False,
    ) -> Iterator[Plan | Unchanged | Wait]:
        """Yield the plan of each tree, or that it is there. on_total: called with how many entries
        there will be.

        That is estimated from how far the file is read, as long as it is not read to its end.
        earlier: what is there already; it is not asked before a tree was found. rest: yield, later
        on, the `later` ones, whether what they go on from is there by now or not.

        What ends the reading becomes the file's problem, and is not raised.
        """
        try:
            for one in self._rest(earlier) if rest and earlier else self._found(earlier, trees_max):
                if isinstance(one, Wait):
                    yield one
                    continue
                self.trees += 1
                self.entries += one.entries
                if self.measure.share and trees_max is None and not rest:
                    on_total(round(self.entries / self.measure.share))
                yield one
                if self.trees == trees_max:
                    break
        except MalformedFileError as error:
            self.problem = f"{self.shown or self.path}: {error}"
            self.is_empty = isinstance(error, NoConversationError)
        except OSError as error:
            self.is_closed = True
            self.problem = f"{self.shown or self.path}: {error.strerror or error}"
        on_total(self.entries)

    def _found(
        self, earlier: EarlierImports | None, trees_max: int | None
    ) -> Iterator[Plan | Unchanged | Wait]:
        options, passed = self.options, list[Unchanged]()

        def passes(kind: str, digest: str) -> str:
            """Return the id of a conversation that is there as the file has it. It is not read."""
            if self.trees + len(passed) == trees_max:
                raise _EnoughError
            told = digest_of(digest, owner=options.owner, kind=kind, again=options.again)
            there = earlier.unchanged(kind, told) if earlier and self.trees else None
            passed.extend([there] if there else [])
            self.passed += there is not None
            return there.tree_id if there else ""

        trees = read_file(
            self.path,
            self.report,
            given=options.given,
            measure=self.measure,
            held=self.held,
            passes=passes,
        )
        kinds: dict[str, None] = {}
        try:
            for tree in trees:
                yield from passed
                passed.clear()
                if isinstance(tree, ForkTree):
                    yield self._plan_of_own(tree)
                    continue
                if tree.session:
                    kinds[tree.source] = None
                yield from self._planned(tree, earlier)
        except (MalformedFileError, OSError, _EnoughError) as error:
            yield from passed
            if not isinstance(error, _EnoughError):
                raise
        else:
            yield from passed
        for kind in kinds if earlier else ():
            yield Wait()
            for tree in earlier.rejoining(kind) if earlier else ():
                yield from self._planned(tree, earlier)

    def _planned(
        self, tree: ForeignTree, earlier: EarlierImports | None
    ) -> Iterator[Plan | Unchanged | Wait]:
        """Yield the plan of a tree, unless it goes on from a session that may come later."""
        options = self.options
        if options.redacts:
            tree = redacted(tree, self.report)
        draft = drafted(
            tree, owner=options.owner, report=self.report, again=options.again, client=options.agent
        )
        if earlier is None:
            yield plan_draft(draft)
        elif tree.origin and not earlier.is_known(tree.source, tree.origin.session):
            self.later.append(draft)
        else:
            if earlier.is_under_way(tree):
                yield Wait()
            yield earlier.plan(draft, self.report)

    def _rest(self, earlier: EarlierImports) -> Iterator[Plan | Unchanged | Wait]:
        """Yield the plans of the sessions that were left for later, each after what it follows."""
        while self.later:
            ready = [
                draft
                for draft in self.later
                if draft.tree.origin and earlier.is_known(draft.tree.source, draft.tree.origin.session)
            ]
            for draft in ready or self.later[:1]:
                self.later.remove(draft)
                yield Wait()
                yield earlier.plan(draft, self.report)

    def _plan_of_own(self, tree: ForkTree) -> Plan:
        """Return the plan of a tree of forklore's own. Raises MalformedFileError."""
        options = self.options
        if options.redacts:
            raise MalformedFileError("nothing can be left out of forklore's own lines")
        for entry in (one for stored in tree.conversations for one in stored.entries):
            for lost in self.brought.find(entry.members, entry.attachments):
                self.report.add(Reason.WITHOUT_FILE, lost)
        return plan_fork_tree(
            tree,
            owner=options.owner,
            report=self.report,
            again=options.again,
            with_context=options.agent is not None,
        )
