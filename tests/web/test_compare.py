"""Branches side by side, and all ways from one entry as a table."""

import csv
import json
import re
from io import StringIO
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from forklore import Conversation, Forklore
from forklore.client.generated.results import Entry
from tests.web.growing import Pond, grow, pond
from tests.web.steps import at_conversation, dialog, expect_read, go_to, let_time_pass, said, sign_in


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


def compared(page: Page, user: str, *branches: Conversation) -> Page:
    """Open branches side by side; the first is what the others are held against."""
    first, *others = [branch.id for branch in branches]
    sign_in_at(page, user, f"{at_conversation(first)}/compare/{','.join(others)}")
    return page


def sign_in_at(page: Page, user: str, at: str) -> None:
    sign_in(page, user)
    go_to(page, at)


@pytest.fixture
def page(timed: Page, user: str, grown: Pond) -> Page:
    return compared(timed, user, grown.main, grown.side)


def column(page: Page, name: str) -> Locator:
    """The head of a branch's column."""
    return page.get_by_role("region", name=name, exact=True)


def told(page: Page) -> list[str]:
    """Return what stands side by side, row by row."""
    found: list[str] = page.locator(".cell").evaluate_all(
        "all => all.map((one) => (one.querySelector('.who + *') ?? one).innerText.trim())"
    )
    return found


# Side by side


def test_branches_stand_side_by_side_from_where_they_part(page: Page, grown: Pond) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 2 branches")
    expect(page.get_by_role("main")).to_contain_text("The same up to A goldfish., 2 entries")
    expect(column(page, "Pond").get_by_role("heading")).to_have_text("How large?")
    expect(column(page, "Side arm")).to_contain_text("2 entries")
    expect(page.locator(".cell")).to_have_count(4)
    expect_read(page, lambda: told(page), ["How large?", "Side 1", "Ten centimetres.", "Side 2"])
    page.get_by_role("link", name="A goldfish.").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))


def test_words_that_differ_are_marked_against_the_chosen_branch(blank: Page, user: str, grown: Pond) -> None:
    other = grown.main.fork(after=grown.said[2])
    other.say("ai", "Twenty centimetres.")
    page = compared(blank, user, grown.main, other)

    expect(page.locator("del")).to_have_text("Ten")
    expect(page.locator("ins")).to_have_text("Twenty")
    page.get_by_label("The branch that the others are held against").select_option(other.id)
    expect(page.locator("ins")).to_have_text("Ten")
    page.get_by_label("Mark what differs from").uncheck()
    expect(page.locator("ins, del")).to_have_count(0)


def a_tool_run(chat: Conversation, result: str, *, failed: bool = False, answer: str = "So it is.") -> None:
    """Append two calls of tools, of which the first returns this."""
    for number, (name, returned, is_error) in enumerate(
        [("find_train", result, failed), ("seats", "2 seats free", False)]
    ):
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {"to": "Rome"}}
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": returned, "is_error": is_error}
        chat.append([{"role": "AI", "content": [call]}])
        chat.append([{"role": "USER", "content": [told]}])
    chat.say("ai", answer)


def cards(page: Page) -> Locator:
    """The calls of tools, in the order of the columns of each row."""
    return page.locator(".cell details.call")


def test_what_tools_have_returned_is_marked_where_it_differs(blank: Page, user: str, api: Forklore) -> None:
    main = api.create(title="Trip")
    asked = main.say("user", "What does the train cost?")
    later = main.fork(after=asked)
    a_tool_run(main, "Train 9412 at 09:15 costs 36 EUR.")
    a_tool_run(later, "Train 9412 at 09:15 costs 44 EUR.")
    page = compared(blank, user, main, later)

    expect(cards(page)).to_have_count(4)
    expect(page.locator("del")).to_have_text("36")
    expect(page.locator("ins")).to_have_text("44")
    expect(page.locator("details.call[open]")).to_have_count(1)
    expect(page.locator("details.call[open] summary")).to_contain_text("differs")
    cards(page).nth(2).locator("summary").click()
    expect(page.locator("details.call[open]")).to_have_count(0)

    page.get_by_label("Mark what differs from").uncheck()
    expect(page.get_by_text("differs", exact=True)).to_have_count(0)


def test_a_tool_that_failed_or_was_called_on_one_side_alone_is_marked(
    blank: Page, user: str, api: Forklore
) -> None:
    main = api.create(title="Trip")
    asked = main.say("user", "What does the train cost?")
    failed, alone = main.fork(after=asked), main.fork(after=asked)
    a_tool_run(main, "36 EUR")
    a_tool_run(failed, "36 EUR", failed=True)
    alone.append([{"role": "AI", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}])

    page = compared(blank, user, main, failed, alone)

    expect(page.get_by_text("differs", exact=True)).to_have_count(1)
    expect(cards(page).filter(has_text="look")).to_contain_text("only here")


def test_a_corrected_result_is_marked_against_what_the_tool_returned(
    blank: Page, user: str, api: Forklore
) -> None:
    main = api.create(title="Trip")
    main.say("user", "What does the train cost?")
    a_tool_run(main, "The train costs 36 EUR.")
    result = main.entries().list()[2]
    right = main.fork(before=result, title="Corrected")
    told = {"type": "tool_result", "tool_use_id": "c0", "content": "The train costs 44 EUR."}
    right.append([{"role": "USER", "content": [told]}])

    page = compared(blank, user, main, right)

    expect(page.locator(".tools.result del")).to_have_text("36")
    expect(page.locator(".tools.result ins")).to_have_text("44")


def test_branches_are_added_and_taken_out(page: Page, grown: Pond) -> None:
    third = grown.main.fork(after=grown.said[0], title="Third")
    let_time_pass(page, page.get_by_label("Add a branch").is_visible)

    page.get_by_label("Add a branch").select_option(label="Third")

    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 3 branches")
    expect(page.get_by_role("main")).to_contain_text("The same up to Which fish?, 1 entry")
    expect(page).to_have_url(re.compile(third.id))
    column(page, "Side arm").get_by_role("button", name="Take out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 2 branches")
    expect(page.locator(".cell")).to_have_count(6)


def test_a_long_side_is_shown_in_pages_and_what_is_new_comes(timed: Page, user: str, api: Forklore) -> None:
    long = pond(api, own=120)
    page = compared(timed, user, long.main, long.side)

    for count in (50, 100):
        expect(page.get_by_role("article").filter(has_text="Side ")).to_have_count(count)
        page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("article").filter(has_text="Side ")).to_have_count(120)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)

    grow(long.side, ["Side 121"])
    let_time_pass(page, page.get_by_text("Side 121", exact=True).is_visible)


def test_a_side_is_merged_into_the_other_and_promoted(page: Page, grown: Pond) -> None:
    column(page, "Side arm").get_by_role("button", name="Merge…").click()
    expect(dialog(page)).to_contain_text("Copies of 2 entries are appended at the end.")
    dialog(page).get_by_role("button", name="Merge").click()
    let_time_pass(page, lambda: page.locator(".cell", has_text="Side 2").count() == 2)

    column(page, "Side arm").get_by_role("button", name="Make current…").click()
    dialog(page).get_by_role("button", name="Make current").click()
    expect(column(page, "Pond").get_by_role("button", name="Make current…")).to_be_visible()
    assert grown.side.details().is_current


def test_a_branch_and_a_message_that_are_not_there_are_told(page: Page, grown: Pond) -> None:
    go_to(page, f"{at_conversation(grown.main.id)}/compare/{grown.side.id},{uuid4()}")
    expect(page.get_by_role("main")).to_contain_text("1 branch is not here.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 2 branches")

    go_to(page, f"{at_conversation(grown.main.id)}/alternatives/{uuid4()}")

    expect(page.get_by_role("main")).to_contain_text("This tree does not show that message")
    expect(page.get_by_role("table")).to_have_count(0)


def test_who_may_only_read_can_compare_and_nothing_else(blank: Page, user: str, grown: Pond) -> None:
    reader = f"{user}-reader"
    grown.main.share(reader, "reader")

    page = compared(blank, reader, grown.main, grown.side)

    expect(page.locator(".cell")).to_have_count(4)
    expect(page.get_by_role("button", name=re.compile("Merge|Make current"))).to_have_count(0)


# All ways from one entry


class Tries:
    """Four answers to one question: right and dear, right and cheap, wrong, without a score."""

    def __init__(self, api: Forklore) -> None:
        self.main = api.create(title="Haiku")
        self.asked: Entry = self.main.say("user", "Write a haiku")
        self.main.say("ai", "Old pond", usage={"costUsd": 0.3, "inputTokens": 900, "outputTokens": 20})
        self.main.update(metadata={"score": 1})
        self.cheap, self.wrong, self.none = [
            self._try(*one) for one in (("A frog", 0.02, 1), ("Limerick", 0.001, 0), ("Silence", 0.2, None))
        ]

    def _try(self, text: str, cost: float, score: float | None) -> Conversation:
        made = self.main.fork(after=self.asked, metadata={} if score is None else {"score": score})
        made.say("ai", text, usage={"costUsd": cost, "inputTokens": 900, "outputTokens": 20})
        return made


@pytest.fixture
def tries(api: Forklore) -> Tries:
    return Tries(api)


@pytest.fixture
def table(timed: Page, user: str, tries: Tries) -> Page:
    sign_in_at(timed, user, f"{at_conversation(tries.main.id)}/alternatives/{tries.asked.id}")
    expect(timed.locator("td", has_text="none")).to_have_count(1)
    return timed


def ways(page: Page) -> list[str]:
    """Return the names of the rows, from the top."""
    return page.locator(".way-name a").all_inner_texts()


def test_all_ways_are_in_a_table_which_sorts_and_the_best_of_the_good_are_green(table: Page) -> None:
    expect(table.get_by_role("heading", level=1)).to_have_text("4 ways from “Write a haiku”")
    expect_read(table, lambda: ways(table), ["A frog", "Old pond", "Limerick", "Silence"])
    expect(table.get_by_role("row", name="Choose A frog")).to_contain_text("900, 20")
    expect(table.locator("td.best")).to_have_text(["$0.02"])

    table.get_by_role("button", name="Cost").click()
    expect_read(table, lambda: ways(table), ["Limerick", "A frog", "Silence", "Old pond"])
    expect(table.get_by_role("columnheader", name="Cost")).to_have_attribute("aria-sort", "ascending")
    table.get_by_role("button", name="Cost").click()
    expect_read(table, lambda: ways(table)[0], "Old pond")


def test_a_way_shows_its_title_a_failure_and_what_sets_its_metadata_apart(table: Page, tries: Tries) -> None:
    for way, model in ((tries.main, "big"), (tries.cheap, "small")):
        way.update(metadata={"score": 1, "model": model, "of": "all"})
    tries.wrong.update(title="Five lines", metadata={"score": 0, "of": "all"})
    tries.none.update(metadata={"of": "all"})
    a_tool_run(tries.wrong, "503", failed=True)
    let_time_pass(table, table.get_by_text("Five lines").is_visible)

    expect(table.get_by_role("row", name="Choose Limerick").locator(".failed")).to_have_text("failed")
    expect(table.locator(".failed")).to_have_count(1)
    heads = table.get_by_role("columnheader")
    expect(heads.get_by_role("button", name="model")).to_be_visible()
    expect(heads.get_by_role("button", name="of", exact=True)).to_have_count(0)
    heads.get_by_role("button", name="model").click()
    expect_read(table, lambda: ways(table)[:2], ["Old pond", "A frog"])


def test_one_names_the_score_from_which_green_is_looked_for(table: Page) -> None:
    expect(table.get_by_label("Green is best")).to_have_value("0.9")

    table.get_by_label("Green is best").fill("0")

    expect(table.locator("td.best")).to_have_text(["$0.001"])
    table.get_by_label("Green is best").fill("")
    expect(table.locator("td.best")).to_have_text(["$0.02"])


def test_the_table_is_saved_as_csv_in_its_order(table: Page, tries: Tries) -> None:
    expect_read(table, lambda: ways(table)[0], "A frog")

    with table.expect_download() as download:
        table.get_by_role("button", name="CSV").click()

    assert download.value.suggested_filename == "ways.csv"
    rows = [*csv.DictReader(StringIO(download.value.path().read_bytes().decode(), newline=""))]
    assert [one["way"] for one in rows] == ["A frog", "Old pond", "Limerick", "Silence"]
    assert rows[0]["id"] == tries.cheap.id
    assert (rows[0]["score"], rows[0]["cost in USD"], rows[3]["score"]) == ("1", "0.02", "")


def test_each_way_is_saved_as_a_line_of_json(table: Page, tries: Tries) -> None:
    expect_read(table, lambda: ways(table)[0], "A frog")

    answer = tries.cheap.last()
    assert answer is not None
    tries.cheap.note(answer.id, "good", score=0.5)
    with table.expect_download() as download:
        table.get_by_role("button", name="JSONL").click()

    assert download.value.suggested_filename == "ways.jsonl"
    rows = [json.loads(line) for line in download.value.path().read_text(encoding="utf-8").splitlines()]
    assert [one["first"] for one in rows] == ["A frog", "Old pond", "Limerick", "Silence"]
    assert (rows[0]["conversationId"], rows[0]["score"], rows[3]["score"]) == (tries.cheap.id, 1, None)
    assert [len(one["notes"]) for one in rows] == [1, 0, 0, 0]
    assert (rows[0]["notes"][0]["text"], rows[0]["notesScore"]) == ("good", 0.5)
    assert rows[0]["firstEntryId"] <= rows[0]["notes"][0]["entryId"]


def test_chosen_ways_are_tagged_deleted_and_put_side_by_side(table: Page, tries: Tries) -> None:
    for name in ("Limerick", "Silence"):
        table.get_by_label(f"Choose {name}").check()
    table.get_by_role("button", name="Tag…").click()
    dialog(table).get_by_role("textbox").fill("verdict:poor")
    dialog(table).get_by_role("button", name="Add").click()
    expect(table.locator(".chip", has_text="verdict: poor")).to_have_count(2)
    assert tries.wrong.details().tags == tries.none.details().tags == {"verdict": "poor"}

    table.get_by_role("button", name="Delete…").click()
    dialog(table).get_by_role("button", name="Delete 2 entries").click()
    expect(said(table, "The branches are deleted.")).to_be_visible()
    let_time_pass(table, lambda: ways(table) == ["A frog", "Old pond"])

    said(table, "The branches are deleted.").get_by_role("button", name="Undo").click()
    expect(said(table, "They are restored.")).to_be_visible()
    let_time_pass(table, lambda: ways(table) == ["A frog", "Old pond", "Limerick", "Silence"])
    tries.wrong.delete()
    tries.none.delete()
    let_time_pass(table, lambda: ways(table) == ["A frog", "Old pond"])

    table.get_by_label("Choose all").check()
    table.get_by_role("link", name="Side by side").last.click()
    expect(table.get_by_role("heading", level=1)).to_have_text("Compare 2 branches")


def test_a_score_that_is_given_later_is_shown(table: Page, tries: Tries) -> None:
    tries.none.update(metadata={"score": 0.5})

    let_time_pass(table, lambda: ways(table) == ["A frog", "Old pond", "Silence", "Limerick"])


def test_a_way_becomes_current_and_another_one_begins(table: Page, tries: Tries) -> None:
    table.get_by_role("row", name="Choose A frog").get_by_role("button", name="Make current…").click()
    dialog(table).get_by_role("button", name="Make current").click()
    frog = table.get_by_role("row", name="Choose A frog")
    expect(frog.get_by_role("button", name="Make current…")).to_have_count(0)
    assert tries.cheap.details().is_current

    table.get_by_role("button", name="Try again").click()
    dialog(table).get_by_label("Another answer").fill("A leap")
    dialog(table).get_by_role("button", name="Send on a new branch").click()
    expect(said(table, "The answer stands on a new branch.")).to_be_visible()
    let_time_pass(table, lambda: "A leap" in ways(table))
    assert len(tries.main.forks().list()) == 5
