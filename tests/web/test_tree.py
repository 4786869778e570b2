"""The picture of a fork tree, beside the conversation and at full size."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from forklore import Forklore
from tests.web.browser import traced
from tests.web.growing import Pond, forest, grow, pond
from tests.web.steps import (
    at_conversation,
    dot,
    dots,
    expect_read,
    go_to,
    hold,
    let_time_pass,
    place_of,
    resting,
    sign_in,
    title,
    tree,
    wait_until,
)


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.fixture
def page(timed: Page, user: str, grown: Pond) -> Page:
    """The tree's main branch, open at its end."""
    sign_in(timed, user, at=at_conversation(grown.main.id))
    expect(dots(timed)).to_have_count(6)
    return timed


def picture(page: Page) -> list[str]:
    """Return what is written in the rows that are drawn, from the top, without the times."""
    found: list[str] = dots(page).evaluate_all(
        """rows => rows.sort((one, other) => one.ariaPosInSet - other.ariaPosInSet).map((row) =>
            [...row.children].filter((part) => !part.matches("time, button, .sr") && part.textContent)
            .map((part) => part.textContent).join(" | "))"""
    )
    return found


def active(page: Page) -> Locator:
    """The row that the keyboard is at."""
    return page.locator("[role=treeitem].active")


def expect_active(page: Page, name: str) -> None:
    expect(tree(page)).to_be_focused()
    expect(active(page)).to_have_accessible_name(re.compile(name))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        tree(page).press(key)


# Beside the conversation


def test_a_branch_stands_below_the_entry_where_it_parts_with_a_line_in_its_colour(page: Page) -> None:
    rows = ["Which fish?", "A goldfish.", "Side 1", "Side 2", "How large?", "Ten centimetres. | current"]
    expect_read(page, lambda: picture(page), rows)
    names = ["branch Pond, current: A goldfish.", "branch Side arm: Side 1"]
    parts, first, bend = [
        resting(page, one) for one in [*(dot(page, name) for name in names), page.locator("path.bend")]
    ]
    assert abs(bend["y"] - (parts["y"] + parts["height"] / 2)) < 6
    assert abs(bend["y"] + bend["height"] - (first["y"] + first["height"] / 2)) < 6
    colour = "element => getComputedStyle(element).getPropertyValue('--c')"
    lanes = [
        page.locator("path.bend").evaluate(colour),
        *(dot(page, name).evaluate(colour) for name in names),
    ]
    assert lanes[0] == lanes[2] != lanes[1]


def test_the_row_of_what_is_open_is_selected(page: Page, grown: Pond) -> None:
    expect(dot(page, "Ten centimetres.")).to_have_attribute("aria-selected", "true")

    go_to(page, at_conversation(grown.side.id, grown.said[0].id))

    expect(dot(page, "Which fish?")).to_have_attribute("aria-selected", "true")
    expect(dot(page, "Ten centimetres.")).to_have_attribute("aria-selected", "false")


def test_what_others_do_is_drawn_and_a_branch_without_entries_has_a_row_that_opens_it(
    page: Page, grown: Pond
) -> None:
    grown.side.promote()
    empty = grown.main.fork(after=grown.said[0], title="Empty")

    row = dot(page, "no entries of its own, branch Empty")
    let_time_pass(page, row.is_visible)
    rows = ["Which fish?", "Empty", "A goldfish.", "Side 1", "Side 2 | current"]
    expect_read(page, lambda: picture(page)[:5], rows)
    row.click()
    expect(page).to_have_url(re.compile(at_conversation(empty.id)))


def test_what_is_open_stays_in_view_when_older_entries_come_above_it(
    blank: Page, api: Forklore, user: str
) -> None:
    made = api.create(title="Long")
    first, *_ = grow(made, ["First"])
    for at in range(40):
        grow(made.fork(after=first, title=f"Early {at}"), [f"Early {at}"])
    grow(made, [f"Line {at}" for at in range(260)])
    page = blank
    older = hold(page, re.compile("allForks=true.*beforeCursor=|beforeCursor=.*allForks=true"))
    sign_in(page, user, at=at_conversation(made.id))
    open_row = dot(page, "Line 259")
    wait_until(page, lambda: bool(older))
    expect(open_row).to_be_in_viewport()

    while older:
        older.pop().continue_()
    expect(page.get_by_text("loading older entries")).to_have_count(0)

    expect(dot(page, "Line 259")).to_have_attribute("aria-posinset", re.compile("^[4-9].$"))
    resting(page, open_row)
    expect(open_row).to_be_in_viewport()


def test_a_deleted_branch_is_drawn_as_far_as_others_show_it(page: Page, grown: Pond) -> None:
    grow(grown.side, ["Side 3"])
    heir = grown.side.fork(after=grown.answered[1], title="Heir")
    let_time_pass(page, lambda: dots(page).count() == 8)

    grown.side.delete()

    row = dot(page, re.compile("^user, .*, Side 1: Side 1|^ai, .*, Side 1: Side 2"))
    let_time_pass(page, lambda: row.count() == 2)
    expect_read(page, lambda: picture(page)[2:5], ["Side 1", "Side 2", "Heir"])
    dot(page, "Side 1: Side 2").click()
    expect(page).to_have_url(re.compile(at_conversation(heir.id, grown.answered[1].id)))


def test_a_merge_and_a_tree_that_an_entry_started_are_drawn(page: Page, grown: Pond, api: Forklore) -> None:
    grown.main.merge(grown.side)
    child = grown.main.start_child(by=grown.said[0], title="Ask the shop")
    child.say("user", "Have you got any?")

    page.reload()

    expect(page.locator("path.merge")).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="2 branches, 1 merge")).to_be_visible()
    dot(page, "child of branch Pond, current: Ask the shop").click()
    expect(page).to_have_url(re.compile(at_conversation(child.id)))


def test_a_tree_that_no_entry_started_stands_below_the_entry_that_was_the_last_then(
    page: Page, grown: Pond
) -> None:
    grown.main.start_child(title="Ask the shop").say("user", "Have you got any?")
    grown.main.say("user", "And the food?")

    page.reload()

    expect(dot(page, "And the food?")).to_be_visible()
    expect_read(page, lambda: picture(page)[-2:], ["Ask the shop", "And the food? | current"])
    card = page.get_by_role("article").filter(has_text="Ten centimetres.").get_by_role("link")
    expect(card).to_contain_text("Ask the shop")


def test_a_click_opens_the_entry_in_a_branch_that_shows_it(page: Page, grown: Pond) -> None:
    dot(page, "A goldfish.").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))

    dot(page, "Side 1").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[0].id)))
    expect(page.get_by_role("article").filter(has_text="Side 1")).to_be_visible()

    dot(page, "Which fish?").click()  # the open branch shows it, too
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.said[0].id)))


def test_runs_and_branches_fold_and_open(page: Page, grown: Pond) -> None:
    grow(grown.side, [f"Step {number}" for number in range(20)])
    page.reload()
    run = dot(page, "branch Side arm: 20 entries")
    run.click()
    expect(dots(page)).to_have_count(26)

    tree(page).focus()
    expect_active(page, "Side 2")
    press(page, "ArrowLeft")
    expect_active(page, "branch Side arm: 20 entries")
    press(page, "ArrowRight", "ArrowUp", "ArrowLeft")
    expect_active(page, "folded, branch Side arm 1 branch, 22")
    expect(dots(page)).to_have_count(5)
    press(page, "ArrowRight")
    expect(dots(page)).to_have_count(26)


def test_keys_walk_through_the_rows_and_enter_opens_one(page: Page, grown: Pond) -> None:
    tree(page).focus()
    expect_active(page, "Ten centimetres.")

    press(page, "ArrowUp", "k")
    expect_active(page, "Side 2")
    press(page, "ArrowLeft")
    expect_active(page, "Side 1")
    press(page, "End")
    expect_active(page, "Ten centimetres.")
    press(page, "Home", "ArrowDown", "j", "Enter")
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[0].id)))
    expect_active(page, "Side 1")
    press(page, "Shift+Enter")
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id) + "$"))


def test_keys_go_on_after_the_row_where_they_were_was_deleted(page: Page, grown: Pond) -> None:
    tree(page).focus()
    press(page, "ArrowUp", "ArrowUp")
    expect_active(page, "Side 2")

    grown.side.delete()

    let_time_pass(page, lambda: dots(page).count() == 4)
    press(page, "ArrowUp")
    expect_active(page, "How large\\?")


def test_a_filter_leaves_the_branches_that_fit(page: Page, grown: Pond) -> None:
    grown.side.update(tags={"verdict": "passed"})
    other = grown.main.fork(after=grown.said[0])
    grow(other, ["A carp?"])
    page.reload()
    expect(dots(page)).to_have_count(7)
    field = page.get_by_label("Filter branches")

    field.fill("carp")
    expect(dots(page)).to_have_count(5)
    expect(dot(page, "A carp?")).to_be_visible()
    field.fill("tag:passed")
    expect(dot(page, "A carp?")).to_have_count(0)
    expect(dot(page, "Side 2")).to_be_visible()
    field.fill("nothing like that")
    expect(page.get_by_text("No branch fits.")).to_be_visible()


def test_rows_that_come_above_leave_what_one_looks_at_in_its_place(
    timed: Page, user: str, api: Forklore
) -> None:
    chat = api.create(title="Long")
    said = grow(chat, [f"Line {number}" for number in range(200)])
    sign_in(timed, user, at=at_conversation(chat.id, said[100].id))
    row = dot(timed, ": Line 100")
    timed.get_by_role("button", name="Folded").click()
    expect(row).to_have_attribute("aria-posinset", "101")  # the older entries have come
    tree(timed).focus()
    press(timed, "ArrowUp", "ArrowDown")
    expect(row).to_be_in_viewport()
    before = resting(timed, row)

    side = chat.fork(after=said[10])
    grow(side, ["News 1", "News 2", "News 3"])

    let_time_pass(timed, lambda: row.get_attribute("aria-posinset") == "104")
    assert row.bounding_box() == before


# At full size


def at_tree(page: Page, conversation_id: str) -> None:
    go_to(page, f"{at_conversation(conversation_id)}/tree")
    expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()


def cells(page: Page) -> list[list[str]]:
    """Return what stands in the columns of each row, but the time, from the top."""
    found: list[list[str]] = dots(page).evaluate_all(
        """rows => rows.sort((one, other) => one.ariaPosInSet - other.ariaPosInSet).map((row) =>
            [...row.children].slice(1, 5).map((cell) =>
                cell.innerText.replace("Open", "").trim().replace(/\\s+/g, " ")))"""
    )
    return found


def test_each_branch_has_a_row_with_what_it_is_worth_and_the_columns_sort(page: Page, grown: Pond) -> None:
    grown.side.update(metadata={"score": 0.25})
    grown.side.say("ai", "Side 3", usage={"costUsd": 0.5})
    better = grown.main.fork(after=grown.said[2], metadata={"score": 0.75}, title="Better")
    better.point("best-so-far")

    at_tree(page, grown.main.id)
    page.reload()

    rows = [
        ["Pond current", "", "4", ""],
        ["Better best-so-far", "0.75", "0", ""],
        ["Side arm", "0.25", "3", "$0.50"],
    ]
    expect_read(page, lambda: cells(page), rows)
    page.get_by_role("button", name="Cost").click()
    expect_read(page, lambda: cells(page)[0][0], "Side arm")
    page.get_by_role("button", name="Score").click()
    expect_read(page, lambda: [row[1] for row in cells(page)], ["0.75", "0.25", ""])


def test_weak_branches_are_one_row_which_opens(page: Page, grown: Pond) -> None:
    grown.side.update(metadata={"score": 0.25})
    twig = grown.side.fork(after=grown.answered[0], metadata={"score": 0.4}, title="Twig")
    at_tree(page, grown.main.id)
    expect(dot(page, re.compile(r"0\.40"))).to_be_visible()

    page.get_by_label("Least score").fill("0.5")

    expect(dots(page)).to_have_count(2)
    dot(page, "2 more branches, best 0.40").click()
    expect(dots(page)).to_have_count(3)
    tree(page).focus()
    press(page, "End", "Enter")
    expect(page).to_have_url(re.compile(at_conversation(twig.id)))


def test_one_chooses_a_branch_opens_it_compares_it_and_goes_back(page: Page, grown: Pond) -> None:
    at_tree(page, grown.main.id)
    expect(tree(page)).to_be_focused()

    press(page, "ArrowDown", "c")
    page.get_by_role("button", name="Compare 2").click()
    expect(page).to_have_url(re.compile(f"/compare/{grown.main.id}|{grown.main.id}/compare"))
    page.go_back()
    dot(page, "Side arm").click()
    expect(dot(page, "Side arm")).to_have_attribute("aria-selected", "true")
    dot(page, "Side arm").get_by_text("Open").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id) + "$"))
    page.keyboard.press("g")
    expect(page).to_have_url(re.compile("/tree$"))
    page.keyboard.press("Escape")
    expect(title(page)).to_have_text("Side arm")


# A large one

SCROLL = """list => new Promise((resolve) => {
    const box = list.closest(".mapscroll") ?? list, end = box.scrollHeight - box.clientHeight, steps = 80;
    let step = 0;
    const go = () => {
        if (step++ === steps) return resolve(box.scrollTop - end);
        box.scrollTop = step === steps ? end : (step * 120) % end;
        requestAnimationFrame(go);
    };
    requestAnimationFrame(go);
})"""
"""Scrolls a little in each frame, from the top again after the end; at last to the end."""


def test_a_tree_of_300_branches_and_5000_entries_scrolls_like_one_of_a_tenth(
    api: Forklore, new_context: Callable[..., BrowserContext], user: str
) -> None:
    # In a low window the smaller tree is long, too: new rows come with each step.
    page = sign_in(new_context(viewport={"width": 1280, "height": 320}).new_page(), user)
    busy_ms: dict[str, list[float]] = {"beside": [], "full": []}
    for branches, entries in ((30, 500), (300, 5000)):
        made = forest(api, branches=branches, entries=entries)
        for view, end in (("beside", ""), ("full", "/tree")):
            go_to(page, at_conversation(made.id) + end)
            count = str(entries if view == "beside" else branches)
            if view == "beside":
                page.get_by_role("button", name="Folded", pressed=True).click()
            expect(dots(page).first).to_have_attribute("aria-setsize", count, timeout=60_000)
            with traced(page) as tasks:
                assert abs(tree(page).evaluate(SCROLL)) < 1
            busy_ms[view].append(sum(tasks))
            assert dots(page).count() < 80, "only what is visible is drawn"
        assert place_of(page)[0] in ("", made.id)
    for few, many in busy_ms.values():
        assert many < 3 * few
