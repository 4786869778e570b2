"""One message tree in the terminal, with the conversation that each message was written to."""

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree as Drawing

from tools.demo.load import LoadedTree
from tools.demo.shorten import shorten

DEPTH_MAX = 12  # levels of messages; deeper messages are counted, not drawn
MESSAGES_MAX = 200
TEXT_MAX = 200  # characters, before the terminal's width cuts them
INDENT, TEXT_MIN = 4, 24  # columns
STYLES = ("cyan", "green", "magenta", "yellow", "blue", "red")


def draw_tree(loaded: LoadedTree, *, width: int) -> RenderableType:
    """Return the drawing of a tree: its messages, then the conversations with their numbers.

    width: columns of the terminal. At most MESSAGES_MAX messages are drawn, as deep as DEPTH_MAX
    and the width allow; a line says how many are not.
    """
    tree, plan = loaded.plan.tree, loaded.plan
    deepest = max(1, min(DEPTH_MAX, (width - TEXT_MIN) // INDENT))
    top = Drawing(Text(f"tree {shorten(tree.tree_id, 60)}", style="bold"), guide_style="dim")
    places: dict[int, tuple[Drawing, int]] = {}  # of the messages drawn, with their depth
    for index, message in enumerate(tree.messages):
        above, depth = (top, 0) if message.parent is None else places.get(message.parent, (top, deepest))
        if depth >= deepest or len(places) == MESSAGES_MAX:
            continue
        number = plan.conversation_of[index]
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"c{number} ", style=f"bold {_style(number)}")
        line.append(f"{message.role:<4} ", style="dim")
        line.append(shorten(message.text, TEXT_MAX), style=_style(number))
        places[index] = (above.add(line), depth + 1)
    hidden = len(tree.messages) - len(places)
    rest = [Text(f"… and {hidden} more messages", style="dim")] if hidden else []
    return Group(top, *rest, Text(), *_legend(loaded, {plan.conversation_of[index] for index in places}))


def _legend(loaded: LoadedTree, drawn: set[int]) -> list[Text]:
    """Return a line for each conversation that is in the drawing: its id, and where it forks."""
    lines = []
    for number in sorted(drawn):
        point = loaded.plan.conversations[number].fork_point
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"c{number} ", style=f"bold {_style(number)}")
        line.append(loaded.conversation_ids[number])
        if point is None:
            line.append("  root", style="dim")
        else:
            text = shorten(loaded.plan.tree.messages[point.before].text, TEXT_MAX)
            line.append(f"  fork of c{point.conversation} before “{text}”", style="dim")
        lines.append(line)
    return lines


def _style(number: int) -> str:
    return STYLES[number % len(STYLES)]
