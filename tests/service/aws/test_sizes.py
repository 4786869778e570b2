"""Size limits of requests and answers: Lambda's 6 MB each way, DynamoDB's 400 KB per item."""

import json

import pytest

from forklore_service.limits import ENTRY_BYTES_MAX, PAGE_BYTES_MAX
from tests.service.aws.errors import VALIDATION, assert_refused
from tests.service.aws.world import (
    World,
    append,
    conversation_id,
    conversations,
    create,
    entries,
    with_content,
    with_usage,
)
from tests.support.growth import takes_at_most

TOO_LARGE = (413, "payload_too_large")
SMALL_VALUES = 60_000


def text_of(size: int) -> list[str]:
    """Return content that takes `size` bytes, escaped, in Lambda's answer."""
    return ["x" * (size - len(r"[\"\"]"))]


def test_an_entry_of_the_largest_size_is_accepted_and_comes_back(open_world: World) -> None:
    content = text_of(ENTRY_BYTES_MAX)
    made = open_world.send(append(with_content(content), to=conversation_id(90)))

    assert made.status == 201, made.text[:500]
    assert open_world.send(entries(of=conversation_id(90))).json["data"] == [made.json]


@pytest.mark.failure("too-large")
@pytest.mark.parametrize(
    ("letter", "size"),
    [("x", 1), ("\N{GRINNING FACE}", 12)],
    ids=["one byte too many", "characters of four bytes"],
)
def test_an_entry_beyond_the_largest_size_is_413_and_changes_nothing(
    world: World, letter: str, size: int
) -> None:
    body = '{"contentType":"x","content":["' + letter * (ENTRY_BYTES_MAX // size) + '"]}'

    assert_refused(world.send(append(body)), TOO_LARGE)


@pytest.mark.failure("too-large")
def test_a_batch_that_is_too_large_for_an_answer_is_413_and_changes_nothing(world: World) -> None:
    quarter = with_content(text_of(PAGE_BYTES_MAX // 4 + 1))

    assert_refused(world.send(append({"entries": [quarter] * 4})), TOO_LARGE)


@pytest.mark.failure("too-large")
def test_a_page_of_entries_is_cut_before_it_outgrows_an_answer(open_world: World) -> None:
    """A page ends at 5 MB. The escaped form in the answer is what counts."""
    to = conversation_id(91)
    content = text_of(ENTRY_BYTES_MAX // 2)
    made = [open_world.send(append(with_content(content), to=to)).json["id"] for _ in range(7)]
    seen: list[list[str]] = []
    query: str | None = ""
    while query is not None:
        answer = open_world.send(entries(query, of=to)).json
        seen.append([one["id"] for one in answer["data"]])
        query = f"afterCursor={answer['afterCursor']}" if answer["afterCursor"] else None

    assert [one for page in seen for one in page] == made
    assert len(seen) > 1
    assert all(seen), "a page without entries"


@pytest.mark.failure("too-large")
def test_a_page_of_lines_fits_into_an_answer_however_large_its_entries_are(open_world: World) -> None:
    to, letter = conversation_id(92), "\N{GRINNING FACE}"
    tool = {"type": "tool", "name": letter * 40, "isError": True}
    message = {"role": "AI", "text": letter * 1_000, "events": [tool], "data": 1, "more": 1}
    draft = {
        "contentType": "history/" + letter * 119,
        "content": [message],
        "agentId": letter * 255,
        "metadata": {"a": "x" * 10_000},
    }
    for _ in range(14):
        made = open_world.send(append({"entries": [draft] * 50}, to=to))
        assert made.status == 201, made.text[:500]
    answer = open_world.send(entries("view=line&limit=1000", of=to))
    lines = answer.json["data"]

    assert 500 < len(lines) < 700
    assert len(json.dumps(answer.text)) < PAGE_BYTES_MAX
    assert answer.json["afterCursor"] == lines[-1]["id"]


def test_lines_of_300_entries_of_60_kb_are_one_page_of_150_kb(open_world: World) -> None:
    to = conversation_id(93)
    message = {"role": "AI", "text": "Say it once more, please. " * 2_300, "events": [{"type": "note"}]}
    draft = {"contentType": "history", "content": [message], "agentId": "planner"}
    for _ in range(6):
        assert open_world.send(append({"entries": [draft] * 50}, to=to)).status == 201
    answer = open_world.send(entries("view=line&allForks=true&channel=history&limit=1000", of=to))

    assert len(answer.json["data"]) == 300
    assert answer.json["afterCursor"] is None
    assert len(answer.text) < 150_000


def test_a_page_of_conversations_is_cut_before_it_outgrows_an_answer(open_world: World) -> None:
    tags = {f"key{n}": "\\" * 256 for n in range(50)}
    made = [open_world.send(create({"tags": tags}, user="zoe")).json["id"] for _ in range(130)]
    seen: list[str] = []
    query: str | None = "limit=200"
    while query is not None:
        page = open_world.send(conversations(query, user="zoe")).json
        seen += [one["id"] for one in page["data"]]
        query = f"limit=200&afterCursor={page['afterCursor']}" if page["afterCursor"] else None

    assert seen == made[::-1]


@pytest.mark.parametrize(
    "usage",
    ['{"inputTokens":1.' + "0" * 300_000 + "}", "{" + " " * 300_000 + "}"],
    ids=["of digits", "of spaces"],
)
def test_usage_of_300_kb_is_refused(world: World, usage: str) -> None:
    assert_refused(world.send(append(with_usage(usage))), VALIDATION)


def test_ten_times_as_many_small_values_take_about_ten_times_as_long(open_world: World) -> None:
    def send(values: int) -> None:
        made = open_world.send(append('{"contentType":"x","content":[[' + "[]," * values + "[]]]}"))
        assert made.status == 201, made.text[:500]

    assert takes_at_most(40, lambda: send(SMALL_VALUES), than=lambda: send(SMALL_VALUES // 10))
