"""`forklore log --graph`: reads a fork tree, draws it, and shows the lines."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from forklore.cli.entries import text_to_show
from forklore.cli.graph import GraphEntry, GraphLine, Linked, draw, link
from forklore.cli.output import Output, Part
from forklore.cli.trees import PAGE_ENTRIES, Row, live_rows, whole_rows
from forklore.cli.visible import visible
from forklore.client.messages import role_of

if TYPE_CHECKING:
    from forklore.client.results import Entry
    from forklore.client.synchronous.client import Forklore
    from forklore.client.synchronous.conversation import Conversation

COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
TEXT_MAX = 200  # characters kept of an entry
ENTRIES_MAX = 100_000
"""So many entries of a tree are read and drawn, its oldest ones."""
TITLE_MAX = 40  # characters of a branch's title
TEXT_CELLS_MIN = 20


def show_graph(
    out: Output,
    client: "Forklore",
    conversation: "Conversation",
    *,
    lines_max: int | None = None,
    is_whole: bool = False,
) -> bool:
    """Write the drawing of the tree of a conversation. Return whether all its entries are in it.

    lines_max: how many lines at most. is_whole: no entry is folded away.
    """
    linked, rows, is_all = _linked(client, conversation)
    drawn = draw(linked.entries, labels=_labels(rows, linked), folded=not is_whole)
    lines = islice(drawn, lines_max)
    if out.is_json:
        out.results(_row(line) for line in lines)
        return is_all
    for line in lines:
        parts = [(cell.text, COLOURS[cell.colour % len(COLOURS)]) for cell in line.cells]
        out.line(*parts, *_told(line, out.width - 2 * len(parts) if out.is_terminal else None))
    return is_all


def _linked(client: "Forklore", conversation: "Conversation") -> tuple[Linked, list[Row], bool]:
    """Return the linked entries, the rows of all branches, and whether all entries are there."""
    rows = live_rows(conversation)
    known = {row["conversationId"] for row in rows}
    first: dict[str, Entry] = {}
    entries: list[GraphEntry] = []
    listed = iter(conversation.entries(all_forks=True, channel="history", page_entries=PAGE_ENTRIES))
    for entry in islice(listed, ENTRIES_MAX):
        if entry.conversation_id not in known:
            first.setdefault(entry.conversation_id, entry)
        entries.append(_drawn(entry))
    is_all = next(listed, None) is None
    rows = whole_rows(client, rows, first)
    return link(rows, entries), rows, is_all


def _drawn(entry: "Entry") -> GraphEntry:
    text = _cut(text_to_show(entry), TEXT_MAX)
    said = f"{role_of(entry) or entry.content_type}: {text}"
    return GraphEntry(entry.id, entry.conversation_id, None, said, entry.merged_from_conversation_id)


def _labels(rows: Iterable[Row], linked: Linked) -> dict[str, list[str]]:
    """Return what stands beside the last entry of each branch: its id and title, `*` if current."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        head = linked.heads.get(row["conversationId"])
        if head is None or row.get("removed"):
            continue
        star = "* " if row["isCurrent"] else ""
        title = f" {_cut(row['title'], TITLE_MAX)}" if row.get("title") else ""
        labels.setdefault(head, []).append(f"{star}{row['conversationId']}{title}")
    return labels


def _told(line: GraphLine, cells: int | None) -> Iterator[Part]:
    """Yield what stands beside the cells. cells: how wide it may be; None: as wide as it is.

    The first label and some of the text are shown however narrow it is.
    """
    notes = ""
    if line.labels:
        notes = f"({_some([visible(label) for label in line.labels], cells)}) "
        yield (notes, "yellow")
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


def _row(line: GraphLine) -> Row:
    return {
        "graph": line.graph,
        "entries": list(line.entries),
        "labels": list(line.labels),
        "mergedFromConversationId": line.merged_from,
        "text": line.text,
    }
