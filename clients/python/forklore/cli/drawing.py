"""`forklore log --graph`: reads a fork tree, draws it, and shows the lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from forklore.cli.entries import text_to_show
from forklore.cli.escaping import visible
from forklore.cli.graph import GraphEntry, GraphLine, draw
from forklore.cli.output import Output, Part
from forklore.cli.references import PART_MIN
from forklore.client.messages import role_of
from forklore.client.parts import is_shown
from forklore.exporting.branches import PAGE_ENTRIES, Row, live_rows

if TYPE_CHECKING:
    from forklore.client.generated.results import Entry
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.client.generated.synchronous.conversation import Conversation

COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
TEXT_MAX = 200  # characters kept of an entry
ENTRIES_MAX = 100_000
"""So many entries of a tree are read and drawn, its oldest ones."""
NAMES_MAX = 1_000
"""So many of the user's names are read, to find those of the branches."""
TITLE_MAX = 40  # characters of a branch's title
TEXT_CELLS_MIN = 20


def show_graph(
    out: Output,
    client: "Forklore",
    conversation: "Conversation",
    *,
    lines_max: int | None = None,
    is_whole: bool = False,
    with_records: bool = False,
) -> bool:
    """Write the drawing of the tree of a conversation. Return whether all its entries are in it.

    lines_max: how many lines at most. is_whole: no entry is folded away. with_records: also entries
    that `is_shown` leaves out.
    """
    rows = live_rows(conversation)
    entries, heads, is_all = _read(conversation, rows, with_records=with_records)
    branches = _at_their_heads(_named(client, rows), heads)
    shorter = short_ids(row["conversationId"] for row in rows)
    labels = {head: [_label(row, shorter) for row in held] for head, held in branches.items()}
    lines = islice(draw(entries, labels=labels, folded=not is_whole), lines_max)
    if out.is_json:
        out.results(_row(line, branches) for line in lines)
        return is_all
    shorter = short_ids(entry.entry_id for entry in entries)
    for line in lines:
        parts = [(cell.text, COLOURS[cell.colour % len(COLOURS)]) for cell in line.cells]
        cells = out.width - 2 * len(parts) if out.is_terminal else None
        out.line(*parts, *_told(line, cells, shorter))
    return is_all


def _read(
    conversation: "Conversation", rows: Iterable[Row], *, with_records: bool
) -> tuple[list[GraphEntry], dict[str, str | None], bool]:
    """Return what to draw, the last entry that each branch shows, and whether that is all.

    What follows an entry that is left out hangs on what is before it.
    """
    last: dict[str, str | None] = {row["conversationId"]: row["lastEntryId"] for row in rows}
    drawn: dict[str | None, str | None] = {}  # of each entry that was read: itself, or what is before it
    entries: list[GraphEntry] = []
    listed = iter(conversation.entries(all_forks=True, channel="history", page_entries=PAGE_ENTRIES))
    for entry in islice(listed, ENTRIES_MAX):
        drawn[entry.id] = parent = drawn.get(entry.parent_id)
        if with_records or is_shown(entry) or entry.merged_from_conversation_id:
            drawn[entry.id] = entry.id
            entries.append(_drawn(entry, parent))
        last[entry.conversation_id] = entry.id
    is_all = next(listed, None) is None
    return entries, {branch: drawn.get(at) for branch, at in last.items()}, is_all


def _drawn(entry: "Entry", parent: str | None) -> GraphEntry:
    text = _cut(text_to_show(entry), TEXT_MAX)
    said = f"{role_of(entry) or entry.content_type}: {text}"
    return GraphEntry(entry.id, entry.conversation_id, parent, said, entry.merged_from_conversation_id)


def _named(client: "Forklore", rows: Iterable[Row]) -> list[Row]:
    """Return the rows, each with its names."""
    names: dict[str, list[str]] = {}
    for one in islice(client.names(), NAMES_MAX):
        names.setdefault(one.conversation_id, []).append(one.name)
    return [{**row, "names": names.get(row["conversationId"], [])} for row in rows]


def _at_their_heads(rows: Iterable[Row], heads: Mapping[str, str | None]) -> dict[str, list[Row]]:
    """Return the branches by the last entry that they show. A title that is no news is left out."""
    found: dict[str, list[Row]] = {}
    titles: set[str | None] = set()
    for row in rows:
        title = row.get("title")
        head = heads[row["conversationId"]]
        if head is not None:
            found.setdefault(head, []).append({**row, "title": None if title in titles else title})
        titles.add(title)
    return found


def _label(row: Row, shorter: Mapping[str, str]) -> str:
    """Return what stands for a branch: its names or its id, its title, and `*` if it is current."""
    star = "* " if row["isCurrent"] else ""
    title = f" {_cut(row['title'], TITLE_MAX)}" if row["title"] else ""
    return f"{star}{' '.join(row['names']) or shorter[row['conversationId']]}{title}"


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the end of each id; where several ids end alike, the whole of each.

    >>> short_ids(["019ca8ad-fa20-7000-8000-000000000005"])["019ca8ad-fa20-7000-8000-000000000005"]
    '00000005'
    """
    whole = list(ids)
    count = Counter(one[-PART_MIN:] for one in whole)
    return {one: one[-PART_MIN:] if count[one[-PART_MIN:]] == 1 else one for one in whole}


def _told(line: GraphLine, cells: int | None, shorter: Mapping[str, str]) -> Iterator[Part]:
    """Yield what stands beside the cells. cells: how wide it may be; None: as wide as it is.

    The first label and some of the text are shown however narrow it is.
    """
    notes = ""
    if len(line.entries) == 1:
        notes = f"{shorter[line.entries[0]]} "
        yield (notes, "yellow")
    if line.labels:
        left = None if cells is None else cells - len(notes)
        labels = f"({_some([visible(label) for label in line.labels], left)}) "
        notes += labels
        yield (labels, "cyan")
    if line.merged_from:
        merged = f"(merged from {line.merged_from}) "
        notes += merged
        yield (merged, "magenta")
    if cells is None:
        yield line.text
        return
    from rich.cells import cell_len, set_cell_size

    left = max(TEXT_CELLS_MIN, cells - cell_len(notes))
    text = visible(line.text)
    yield text if cell_len(text) <= left else f"{set_cell_size(text, left - 1)}…"


def _some(labels: list[str], cells: int | None) -> str:
    """Return the labels that fit, and how many others there are. cells: of the whole line."""
    from rich.cells import cell_len

    whole = ", ".join(labels)
    if cells is None or cell_len(whole) <= cells - TEXT_CELLS_MIN:
        return whole
    left = cells - TEXT_CELLS_MIN - len(f", … and {len(labels):,} more")
    shown = [labels[0]]
    left -= cell_len(labels[0])
    for label in labels[1:]:
        left -= cell_len(label) + 2
        if left < 0:
            break
        shown.append(label)
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f", … and {more:,} more" if more else "")


def _cut(text: str, length_max: int) -> str:
    r"""Return a text on one line, of at most so many characters.

    >>> _cut("two\n nights", 8)
    'two nig…'
    """
    line = " ".join(text.split())
    return line if len(line) <= length_max else f"{line[: length_max - 1]}…"


def _row(line: GraphLine, branches: Mapping[str, Sequence[Row]]) -> Row:
    members = ("conversationId", "names", "title", "isCurrent")
    held = branches.get(line.entries[0], ()) if line.labels else ()
    return {
        "graph": line.graph,
        "entries": list(line.entries),
        "branches": [{member: row[member] for member in members} for row in held],
        "mergedFromConversationId": line.merged_from,
        "text": line.text,
    }
