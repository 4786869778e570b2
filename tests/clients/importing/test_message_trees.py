import json
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignMessage, ImportReport, MalformedFileError, Reason
from tests.clients.importing.builders import answer, ask, deep_line, line_of, parse_trees, tree_of


def test_messages_lie_flat_in_preorder_with_their_parents_and_replies() -> None:
    tree = tree_of(ask("a", answer("b", ask("c")), answer("d")))

    assert tree.tree_id == "t"
    assert tree.messages == (
        ForeignMessage("a", {"role": "USER", "text": "a"}, None, (1, 3)),
        ForeignMessage("b", {"role": "AI", "text": "b"}, 0, (2,)),
        ForeignMessage("c", {"role": "USER", "text": "c"}, 1, ()),
        ForeignMessage("d", {"role": "AI", "text": "d"}, 0, ()),
    )


def test_texts_may_repeat_and_be_empty_and_hold_any_character() -> None:
    texts = ["", "same", "same", "Žametovka 🍷\u2028\u0000 [bold]"]

    tree = tree_of(ask(texts[0], *(answer(text) for text in texts[1:])))

    assert [message.text for message in tree.messages] == texts


def test_replies_may_be_left_out_and_other_fields_are_kept() -> None:
    line = (
        b'{"prompt": {"message_id": "a", "text": "x", "role": "assistant", "rank": 3}, "tree_state": "done"}'
    )

    (tree,) = parse_trees([line + b"\n"])

    assert (tree.tree_id, tree.messages) == (
        "a",
        (ForeignMessage("a", {"role": "AI", "text": "x", "source": {"rank": 3}}, None, ()),),
    )
    assert tree.metadata == {"tree_state": "done"}


def test_the_branch_of_the_best_replies_is_current_or_else_the_newest_leaf() -> None:
    ranked = tree_of(ask("a", answer("b") | {"rank": 1}, answer("c", ask("d")) | {"rank": 0}))
    dated = tree_of(ask("a", answer("b") | {"created_date": "2023-01-02T03:04:05+00:00"}, answer("c")))

    assert (ranked.current, dated.current, tree_of(ask("a", answer("b"), answer("c"))).current) == (3, 1, 1)
    assert dated.messages[1].said_at == "2023-01-02T03:04:05.000Z"


def alone(text: str, above: str | None, **more: Any) -> bytes:
    """Return a message of a tree that stands alone."""
    named = {"message_tree_id": "t", "message_id": text, "parent_id": above}
    return json.dumps({**named, "role": "prompter", "text": text, **more}).encode() + b"\n"


def test_messages_that_stand_alone_may_come_in_any_order() -> None:
    [tree] = parse_trees(
        [
            alone("worse", "q", rank=1, created_date="2026-01-02T00:00:00Z"),
            alone("q", None, created_date="2026-01-01T00:00:00Z"),
            alone("best", "q", rank=0, created_date="2026-01-03T00:00:00Z"),
        ]
    )

    assert tree.current is not None
    assert tree.messages[tree.current].text == "best"
    assert tree.created_at == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize("above", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": None, "b": "c", "c": "b"}])
@pytest.mark.parametrize("rank", [{}, {"rank": 0}])
def test_messages_in_a_circle_end(above: dict[str, str | None], rank: dict[str, int]) -> None:
    report = ImportReport()

    [tree] = parse_trees([alone(text, parent, **rank) for text, parent in above.items()], report)

    assert sorted(message.text for message in tree.messages) == sorted(above)
    assert report.counts[Reason.CYCLE] == 1


def test_a_tree_that_nests_deeper_than_json_is_read_is_named() -> None:
    (tree,) = parse_trees([deep_line(200)])
    assert tree.messages[-1] == ForeignMessage("m199", {"role": "USER", "text": "m199"}, 198, ())

    with pytest.raises(MalformedFileError, match="line 1: the text nests too deep"):
        parse_trees([deep_line(50_000)])


def _with(**fields: object) -> bytes:
    return line_of(ask("a", answer("b") | fields))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{nonsense}", "not JSON"),
        (b'{"prompt": {}} {}', "not JSON: Extra data at column 16"),
        (b"\xff\xfe", "not UTF-8 at byte 1"),
        (b"[]", "not a JSON object"),
        (b"{}", "no message under 'prompt'"),
        (b'{"prompt": "hello"}', "no message under 'prompt'"),
        (line_of(ask("a")).replace(b'"t"', b"7"), "'message_tree_id' is not a string"),
        (_with(message_id=None), "message 2 has no string 'message_id'"),
        (_with(text=5), "message 2 ('b') has no string 'text'"),
        (_with(role="system"), "message 2 ('b') has the role 'system', neither 'prompter' nor 'assistant'"),
        (_with(role=["prompter"]), "message 2 ('b') has the role ['prompter'], neither"),
        (_with(replies=None), "message 2 ('b') has 'replies' that are not a list"),
        (_with(replies=["c"]), "message 3 is not a JSON object"),
    ],
)
def test_a_malformed_line_is_named_by_its_number(line: bytes, reason: str) -> None:
    with pytest.raises(MalformedFileError) as caught:
        parse_trees([line_of(ask("a")), b"\n", line])

    assert str(caught.value).startswith(f"line 3: {reason}")


def test_a_file_without_a_tree_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "trees.jsonl"
    path.write_bytes(b"\n")

    with pytest.raises(MalformedFileError, match="no conversation in the file"):
        list(read_file(path, ImportReport()))


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    line = json.dumps({"prompt": ask("a\u2028b\x85c")}, ensure_ascii=False).encode()

    (tree,) = parse_trees([line])

    assert tree.messages[0].text == "a\u2028b\x85c"


def test_a_message_that_is_too_large_goes_on_in_further_entries() -> None:
    report, text = ImportReport(), "".join(map(str, range(90_000))) + "é" * 500_000

    (tree,) = parse_trees([line_of(ask("a", answer("b", ask("c")) | {"text": text}))], report)

    assert [(message.message_id, message.parent) for message in tree.messages] == [
        ("a", None),
        ("b", 0),
        ("b", 1),
        ("b", 2),
        ("c", 3),
    ]
    assert "".join(message.text for message in tree.messages[1:4]) == text
    assert report.lines() == ["message too large for one entry, and put into several: 1 (b)"]
