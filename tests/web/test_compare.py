"""Two branches side by side, and what brings one into the other."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from forklore import Conversation, Forklore, text_of
from forklore.client.results import Entry
from tests.web.browser import Watch
from tests.web.growing import Pond, grow, pond
from tests.web.steps import at_conversation, deed, dialog, said, sign_in, title
from tests.web.wording import words

PAGE = 50
"""How many entries of each side are shown first."""
SENTENCE = "Nothing else changes."
MERGE = "**/v1/conversations/*/merge"


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api, own=3)


@pytest.fixture
def page(blank: Page, user: str, grown: Pond) -> Page:
    return compared(blank, user, grown.main, grown.side)


def compared(page: Page, user: str, one: Conversation, other: Conversation) -> Page:
    sign_in(page, user, at=f"#/c/{one.id}/compare/{other.id}")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    return page


def side(page: Page, name: str) -> Locator:
    """What stands of one of the two branches."""
    return page.get_by_role("region", name=name, exact=True)


def shown(page: Page, name: str) -> Locator:
    """The entries of a side."""
    return side(page, name).get_by_role("article").locator(".text")


def expect_sides(page: Page, *names: str) -> None:
    """Wait until these branches stand side by side, from the left."""
    places = page.get_by_role("main").get_by_role("region")
    expect(places).to_have_count(2)
    for at, name in enumerate(names):
        expect(places.nth(at)).to_have_accessible_name(name)


def copies(conversation: Conversation, originals: list[Entry]) -> list[int]:
    """Return which entries were copied, in the order of the copies: from 0."""
    places = {entry.id: at for at, entry in enumerate(originals)}
    entries = conversation.entries(channel="history").list()
    return [places[one.copied_from_entry_id] for one in entries if one.copied_from_entry_id]


def merge(page: Page, name: str) -> None:
    """Ask for a merge of a side into the other one."""
    side(page, name).get_by_role("button", name="Merge into the other…").click()


# Side by side


def test_two_branches_stand_side_by_side_from_where_they_part(page: Page, grown: Pond) -> None:
    expect_sides(page, "Pond", "Side arm")

    expect(shown(page, "Pond")).to_have_text(["How large?", "Ten centimetres."])
    expect(shown(page, "Side arm")).to_have_text(["Side 1", "Side 2", "Side 3"])
    left, right = side(page, "Pond").bounding_box(), side(page, "Side arm").bounding_box()
    assert left
    assert right
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    expect(page.get_by_role("main")).to_contain_text("Both show the same up to A goldfish.")
    page.get_by_role("main").get_by_role("link", name="A goldfish.").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))


def test_the_head_leads_to_the_comparison_with_the_current_branch(
    blank: Page, user: str, grown: Pond
) -> None:
    sign_in(blank, user, at=at_conversation(grown.side.id))

    deed(blank, "Compare").click()

    expect_sides(blank, "Side arm", "Pond")


def test_another_branch_can_be_chosen_and_the_sides_swapped(page: Page, grown: Pond) -> None:
    grow(grown.main.fork(before=grown.said[0], title="New start"), ["Elsewhere"])
    page.reload()

    page.get_by_role("combobox", name="With").select_option("New start")
    expect_sides(page, "Pond", "New start")
    expect(page.get_by_role("main")).to_contain_text("They share nothing.")
    page.get_by_role("button", name="Swap").click()
    expect_sides(page, "New start", "Pond")
    expect(shown(page, "Pond")).to_have_count(4)
    side(page, "Pond").get_by_role("link", name="Pond").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.main.id)))
    expect(title(page)).to_have_text("Pond")


def test_a_branch_that_has_nothing_more_says_so(blank: Page, user: str, grown: Pond) -> None:
    same = grown.main.fork(title="Same")

    compared(blank, user, grown.main, same)

    expect(side(blank, "Same")).to_contain_text("Nothing more than what both show.")


def test_a_long_side_is_shown_in_pages(blank: Page, user: str, api: Forklore) -> None:
    long = pond(api, own=120)
    page = compared(blank, user, long.main, long.side)
    more = side(page, "Side arm").get_by_role("button", name="Show more")

    for count in [PAGE, 2 * PAGE]:
        expect(shown(page, "Side arm")).to_have_count(count)
        more.click()

    expect(shown(page, "Side arm")).to_have_text([f"Side {number}" for number in range(1, 121)])
    expect(more).to_be_hidden()
    expect(side(page, "Pond").get_by_role("button", name="Show more")).to_be_hidden()


# Promote


def test_a_side_is_promoted(page: Page, grown: Pond) -> None:
    expect(side(page, "Pond")).to_contain_text("current branch")
    expect(side(page, "Pond").get_by_role("button", name="Promote…")).to_have_count(0)

    side(page, "Side arm").get_by_role("button", name="Promote…").click()
    expect(dialog(page)).to_have_accessible_name(words("Make “Side arm” the current branch?"))
    expect(dialog(page)).to_contain_text(
        words(
            "It becomes the branch that opens first for everybody, in place of “Pond”. Nothing else changes."
        )
    )
    dialog(page).get_by_role("button", name="Make it current").click()

    expect(said(page, words("“Side arm” is the current branch."))).to_be_visible()
    expect(side(page, "Side arm").get_by_text("current branch")).to_be_visible()
    expect(side(page, "Side arm").get_by_role("button", name="Promote…")).to_have_count(0)
    expect(side(page, "Pond").get_by_role("button", name="Promote…")).to_be_visible()
    assert grown.side.details().is_current
    assert not grown.main.details().is_current


# Merge


def test_a_merge_appends_copies_and_says_before_how_many(page: Page, grown: Pond) -> None:
    merge(page, "Side arm")
    expect(dialog(page)).to_have_accessible_name(words("Merge “Side arm” into “Pond”"))
    expect(dialog(page)).to_contain_text(
        words(f"Copies of 3 entries of “Side arm” are appended to “Pond”. {SENTENCE}")
    )
    dialog(page).get_by_role("button", name="Merge").click()

    expect(said(page, words("“Side arm” is merged into “Pond”."))).to_be_visible()
    expect(shown(page, "Pond")).to_have_text(["How large?", "Ten centimetres.", "Side 1", "Side 2", "Side 3"])
    expect(side(page, "Pond").get_by_text("Copied from another branch")).to_have_count(3)
    assert copies(grown.main, grown.answered) == [0, 1, 2]
    assert copies(grown.side, grown.answered) == []


def test_what_was_merged_before_is_not_copied_again(page: Page, grown: Pond) -> None:
    grown.main.merge(grown.side)
    merge(page, "Side arm")
    dialog(page).get_by_role("button", name="Merge").click()
    expect(dialog(page).get_by_role("alert")).to_have_text("There is nothing to copy.")
    dialog(page).get_by_role("button", name="Cancel").click()

    [more] = grow(grown.side, ["Side 4"])
    merge(page, "Side arm")
    expect(dialog(page)).to_contain_text(words("Copies of 1 entry of “Side arm” are appended to “Pond”."))
    expect(dialog(page)).to_contain_text("3 entries before them are left out")
    dialog(page).get_by_role("button", name="Merge").click()

    expect(dialog(page)).to_have_count(0)
    assert copies(grown.main, [*grown.answered, more]) == [0, 1, 2, 3]


def test_a_merge_with_lost_answers_copies_120_entries_once(
    blank: Page, user: str, api: Forklore, watch: Watch
) -> None:
    """The answer to the second part is lost, and the one to the third says that it failed."""
    long = pond(api, own=120)
    page = compared(blank, user, long.main, long.side)
    parts: list[str] = []

    def answer(route: Route) -> None:
        parts.append(str((route.request.post_data_json or {})["upToEntryId"]))
        answered = route.fetch()
        if len(parts) == 2:
            route.abort()
        elif len(parts) == 4:
            route.fulfill(status=500, json={"message": "it broke"}, headers={"X-Request-Id": "req-4"})
        else:
            route.fulfill(response=answered)

    page.route(MERGE, answer)
    watch.expect("ERR_FAILED")
    watch.expect_status("500", "/merge")
    merge(page, "Side arm")
    confirm = dialog(page).get_by_role("button", name="Merge")
    expect(dialog(page)).to_contain_text("Copies of 120 entries")
    confirm.click()

    expect(dialog(page).get_by_role("alert")).to_have_text(
        "It broke. Request req-4It may have been done. Press again: it is not done twice."
    )
    confirm.click()
    expect(dialog(page)).to_have_count(0, timeout=20_000)

    ends = [long.answered[at].id for at in (49, 99, 119)]
    assert parts == [ends[0], ends[1], ends[1], ends[2], ends[2]], "each part again until it is answered"
    assert copies(long.main, long.answered) == list(range(120))


def test_a_summary_that_one_types_is_appended_and_leads_to_what_it_sums_up(page: Page, grown: Pond) -> None:
    merge(page, "Side arm")
    dialog(page).get_by_role("combobox", name="As").select_option("a summary")
    expect(dialog(page)).to_contain_text(
        words("Your text is appended to “Pond”, as a summary of “Side arm”. " + SENTENCE)
    )
    dialog(page).get_by_role("combobox", name="Role").select_option("AI")
    dialog(page).get_by_role("textbox", name="Summary").fill("They counted to three.")
    dialog(page).get_by_role("button", name="Merge").click()

    expect(shown(page, "Pond")).to_have_text(["How large?", "Ten centimetres.", "They counted to three."])
    summary = grown.main.entries(channel="history").list()[-1]
    assert (text_of(summary), summary.content[0]["role"]) == ("They counted to three.", "AI")
    assert summary.merged_from_conversation_id == grown.side.id
    assert summary.merged_up_to_entry_id == grown.answered[-1].id
    side(page, "Pond").get_by_role("link", name="Sums up another branch").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[-1].id)))


def test_who_may_only_read_can_compare_and_nothing_else(blank: Page, user: str, grown: Pond) -> None:
    reader = f"{user}-reader"
    grown.main.share(reader, "reader")

    page = compared(blank, reader, grown.main, grown.side)

    expect(shown(page, "Side arm")).to_have_count(3)
    expect(page.get_by_role("button", name="Merge into the other…")).to_have_count(0)
    expect(page.get_by_role("button", name="Promote…")).to_have_count(0)
