"""Shows what became of the trees of a file, as they end, and counts it."""

from forklore.cli.exits import line_of
from forklore.cli.output import Part
from forklore.cli.shell import Shell
from forklore.importing.carrying_out import Carried, Unchanged

PROBLEMS_SHOWN_MAX = 3  # of one tree
HEADER = ("id", "entries", "title")
Row = dict[str, object]
Told = tuple[Row, str]
"""What is kept of a tree that has ended, and its title."""


class Reporter:
    """Shows the trees in the file's order. It keeps what is shown of a tree, and not its content.

    On a terminal the rows wait for the end, because a progress bar stands below them.
    """

    def __init__(self, shell: Shell, shown: str) -> None:
        self._shell = shell
        self._shown = shown
        self._open: dict[int, Carried] = {}
        self._waiting: dict[int, Told] = {}
        self._held: list[tuple[Part, ...]] = []
        self._next = 0
        self.entries = self.found = 0
        self._roots: set[str] = set()

    @property
    def trees(self) -> int:
        """How many trees have ended. What several sources tell of one is one."""
        return len(self._roots)

    def begin(self, tree: Carried) -> None:
        """Note that a tree has begun."""
        self._open[tree.number] = tree

    def add(self, tree: Carried | Unchanged) -> None:
        """Show a tree that has ended, as soon as those before it have."""
        self._open.pop(tree.number, None)
        self._count(tree)
        self._roots.add(tree.root_id)
        self._waiting[tree.number] = (_row(self._shown, tree), tree.title)
        while not self._shell.out.is_terminal and self._next in self._waiting:
            self._show(*self._waiting.pop(self._next))
            self._next += 1

    def end(self) -> int:
        """Show the rest. Return how many trees have begun and not ended.

        Their entries are counted.
        """
        for number in sorted(self._waiting):
            self._show(*self._waiting.pop(number))
        if self._held:
            self._shell.out.table(HEADER, self._held)
        for tree in self._open.values():
            self._count(tree)
        return len(self._open)

    def _count(self, tree: Carried | Unchanged) -> None:
        self.entries += tree.entries
        self.found += tree.found

    def _show(self, row: Row, title: str) -> None:
        out, problems = self._shell.out, row["problems"]
        assert isinstance(problems, list)
        if out.is_json:
            out.result(row)
            return
        if problems:
            self._problems(row, problems)
            return
        shown = ((str(row["conversationId"]), "yellow"), str(row["entries"]), title)
        if out.is_terminal:
            self._held.append(shown)
        else:
            out.table(HEADER, [shown])

    def _problems(self, row: Row, problems: list[str]) -> None:
        for problem in problems[:PROBLEMS_SHOWN_MAX]:
            self._shell.say(f"tree {row['treeId']}: {problem}")
        more = len(problems) - PROBLEMS_SHOWN_MAX
        rest = f", for {counted(more, 'other problem')}" if more > 0 else ""
        missing = row["missing"]
        assert isinstance(missing, int)
        self._shell.say(f"tree {row['treeId']}: {counted(missing, 'entry')} missing{rest}")


def _row(shown: str, tree: Carried | Unchanged) -> Row:
    return {
        "type": "tree",
        "file": shown,
        "treeId": tree.tree_id,
        "conversationId": tree.conversation_id,
        "conversations": tree.conversations,
        "entries": tree.entries,
        "found": tree.found,
        "missing": tree.skipped,
        "problems": list(map(line_of, tree.problems)),
    }


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "entry"), counted(1200, "entry"), counted(2, "tree")
    ('1 entry', '1,200 entries', '2 trees')
    """
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"
