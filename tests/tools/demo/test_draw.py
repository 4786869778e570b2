import io

from rich.console import Console

from forklore.cli.importing.values import Tree
from tests.tools.demo.builders import SOUP, answer, ask, deep_line, loaded_tree, parse_trees, tree_of
from tools.demo.draw import MESSAGES_MAX, draw_tree
from tools.demo.shorten import shorten


def drawn(tree: Tree, *, width: int = 80) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False, force_terminal=False)
    console.print(draw_tree(loaded_tree(tree), width=width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_drawing_shows_the_messages_and_which_conversation_each_is_in() -> None:
    assert drawn(tree_of(SOUP)) == [
        "tree t",
        "└── c0 USER flat soup?",
        "    ├── c0 AI   lemon",
        "    │   └── c0 USER too sour",
        "    │       ├── c0 AI   honey",
        "    │       └── c1 AI   sugar",
        "    │           └── c1 USER thanks",
        "    ├── c2 AI   roast it",
        "    │   └── c2 USER how long?",
        "    │       ├── c2 AI   3 minutes",
        "    │       └── c3 AI   until sweet",
        "    └── c4 AI   herbs",
        "",
        "c0 c0  root",
        "c1 c1  fork of c0 before “honey”",
        "c2 c2  fork of c0 before “lemon”",
        "c3 c3  fork of c2 before “3 minutes”",
        "c4 c4  fork of c0 before “lemon”",
    ]


def test_a_long_text_is_cut_at_the_width_of_the_terminal() -> None:
    lines = drawn(tree_of(ask("x" * 500, answer("漢字" * 300))), width=50)

    assert [line[:16] for line in lines[1:3]] == ["└── c0 USER xxxx", "    └── c0 AI   "]
    assert all(line.endswith("…") and len(line) <= 50 for line in lines[1:3])


def test_markup_and_control_characters_in_a_text_do_nothing_to_the_terminal() -> None:
    lines = drawn(tree_of(ask("[bold]a[/nothing]\n\x1b[31mred\x07 :smile:")))

    assert lines[1] == "└── c0 USER [bold]a[/nothing] [31mred :smile:"


def test_a_deep_tree_is_drawn_as_deep_as_there_is_room_and_the_rest_counted() -> None:
    (deep,) = parse_trees([deep_line(5_000)])

    lines = drawn(deep, width=80)
    assert lines[12].strip() == "└── c0 USER m11"
    assert lines[13] == "… and 4988 more messages"
    assert drawn(deep, width=28)[1:3] == ["└── c0 USER m0", "… and 4999 more messages"]


def test_a_wide_tree_is_drawn_up_to_a_number_of_messages() -> None:
    lines = drawn(tree_of(ask("a", *(answer(f"b{number}") for number in range(500)))))

    assert lines[MESSAGES_MAX + 1] == "… and 301 more messages"
    assert len(lines) == 1 + MESSAGES_MAX + 1 + 1 + (MESSAGES_MAX - 1)


def test_a_shortened_text_is_one_line_of_printable_characters() -> None:
    assert shorten("a\n\n b\tc", 10) == "a b c"
    assert shorten("0123456789", 10) == "0123456789"
    assert shorten("0123456789X", 10) == "012345678…"
    assert shorten("", 10) == ""
    assert shorten(" " * 100 + "a\x1b\u200b", 10) == "a"
