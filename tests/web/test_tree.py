"""The picture of a fork tree: what it shows, the pointer, the keyboard, and a large one."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from forklore import Forklore
from tests.web.browser import traced
from tests.web.growing import Pond, forest, grow, pond
from tests.web.steps import (
    at_conversation,
    deed,
    dialog,
    dot,
    dots,
    go_to,
    hold,
    let_go,
    let_time_pass,
    place_of,
    sign_in,
    tree,
    wait_until,
)

BEFORE = "**/entries?*beforeCursor=*"
ROW_PX, LANE_PX = 24, 14
"""How high a row is, and how wide a lane. As in web/views/tree.js."""


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
        """rows => rows.filter((row) => !row.hidden)
            .sort((one, other) => one.ariaPosInSet - other.ariaPosInSet)
            .map((row) => [...row.children].filter((part) => part.tagName !== "TIME" && !part.hidden)
            .map((part) => part.textContent).join(" | "))"""
    )
    return found


def told(page: Page) -> Locator:
    """The line below the picture."""
    return page.get_by_role("region", name="Tree").get_by_role("paragraph")


def colour(page: Page, *, lane: float, row: float) -> str:
    """Return which of the lanes' colours the picture has at a place, "" if nothing is drawn there.

    row: from the top, 0.5 for the line between the first and the second.
    """
    place = [(lane + 1) * LANE_PX, (row + 0.5) * ROW_PX]
    found: str = tree(page).evaluate(COLOUR, place)
    return found


COLOUR = """(list, [x, y]) => {
    const canvas = list.querySelector("canvas"), scale = canvas.width / canvas.clientWidth;
    const top = new DOMMatrix(getComputedStyle(canvas).transform).m42;
    const brush = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    brush.drawImage(canvas, -Math.floor(x * scale), -Math.floor((y - top) * scale));
    const [r, g, b, opaque] = brush.getImageData(0, 0, 1, 1).data;
    if (opaque < 100) return "";
    const sample = document.body.appendChild(document.createElement("i"));
    const distance = (name) => {
        sample.style.color = `var(--${name})`;
        const [red, green, blue] = getComputedStyle(sample).color.match(/[0-9]+/g);
        return Math.hypot(red - r, green - g, blue - b);
    };
    const names = Array.from({length: 8}, (_, lane) => `lane-${lane}`);
    const nearest = names.sort((one, other) => distance(one) - distance(other))[0];
    const found = distance(nearest) < 30 ? nearest : "unknown";
    sample.remove();
    return found;
}"""

ACTIVE = """(list) => document.getElementById(list.getAttribute("aria-activedescendant"))?.ariaLabel ?? "" """
"""The name of the row that the keyboard is at."""


def press(page: Page, *keys: str) -> None:
    """Press keys in the tree."""
    for key in keys:
        tree(page).press(key)


def expect_active(page: Page, text: str) -> None:
    """Wait until the keyboard is at the row with this text."""
    page.wait_for_function(
        f"([list, text]) => ({ACTIVE})(list).includes(`: ${{text}}, `)",
        arg=[tree(page).element_handle(), text],
    )


# What is drawn


def test_each_entry_has_a_row_and_each_branch_a_label(page: Page, user: str) -> None:
    assert picture(page) == [
        "Side arm | Side 2",
        "Side 1",
        "Pond | current | Ten centimetres.",
        "How large?",
        "A goldfish.",
        "Which fish?",
    ]
    expect(dot(page, re.compile(f"^ai, {user}, branch Pond, current: A goldfish., "))).to_be_visible()
    expect(dot(page, re.compile(f"^user, {user}, branch Side arm: Side 1, "))).to_be_visible()
    expect(dot(page, "Which fish?")).to_have_attribute("aria-posinset", "6")
    expect(dot(page, "Which fish?")).to_have_attribute("aria-setsize", "6")


def test_branches_have_lanes_and_colours_of_their_own_and_part_at_the_fork_point(page: Page) -> None:
    assert colour(page, lane=1, row=0.5) == "lane-1"
    assert colour(page, lane=1, row=3) == "lane-1", "the side branch goes on down to where it leaves"
    assert colour(page, lane=0.5, row=4) == "lane-1", "its line ends at the entry that it goes on after"
    assert colour(page, lane=1, row=4.6) == "", "and no further"
    assert colour(page, lane=0, row=2.5) == "lane-0"
    assert colour(page, lane=0, row=0.5) == "", "nothing of the main branch is newer than its end"


def test_the_picture_is_drawn_anew_when_the_system_turns_dark(page: Page) -> None:
    assert colour(page, lane=1, row=0.5) == "lane-1"
    place = [2 * LANE_PX, ROW_PX]
    is_drawn = f"([list, place]) => ({COLOUR})(list, place) === 'lane-1'"

    page.emulate_media(color_scheme="dark")

    page.wait_for_function(is_drawn, arg=[tree(page).element_handle(), place])


def test_the_row_of_what_is_open_is_selected(page: Page, grown: Pond) -> None:
    expect(dot(page, "Ten centimetres.")).to_have_attribute("aria-selected", "true")

    go_to(page, at_conversation(grown.side.id, grown.said[0].id))

    expect(dot(page, "Which fish?")).to_have_attribute("aria-selected", "true")
    expect(dot(page, "Ten centimetres.")).to_have_attribute("aria-selected", "false")


def test_what_others_do_to_the_tree_is_drawn_and_a_branch_without_entries_has_a_row_that_opens_it(
    page: Page, grown: Pond
) -> None:
    grown.side.promote()
    empty = grown.main.fork(after=grown.said[0], title="Empty")

    row = dot(page, "branch Empty: no entries of its own")
    let_time_pass(page, row.is_visible)
    assert picture(page)[:4] == [
        "Empty | no entries of its own",
        "Side arm | current | Side 2",
        "Side 1",
        "Pond | Ten centimetres.",
    ]
    row.click()
    expect(page).to_have_url(re.compile(at_conversation(empty.id)))


def test_a_deleted_branch_is_drawn_as_far_as_others_show_it(page: Page, grown: Pond) -> None:
    grow(grown.side, ["Side 3"])
    heir = grown.side.fork(after=grown.answered[1], title="Heir")
    let_time_pass(page, lambda: dots(page).count() == 8)

    grown.side.delete()

    let_time_pass(page, dot(page, "deleted branch: Side 2").is_visible)
    shown = picture(page)
    assert shown[:4] == [
        "Heir | no entries of its own",
        "deleted branch | Side 2",
        "Side 1",
        "Pond | current | Ten centimetres.",
    ]
    assert colour(page, lane=0.5, row=5) != "", "it leaves where it did before"
    page.reload()
    expect(dots(page)).to_have_count(7)
    assert picture(page) == shown
    dot(page, "deleted branch: Side 2").click()
    expect(page).to_have_url(re.compile(at_conversation(heir.id, grown.answered[1].id)))
    expect(page.get_by_role("article").filter(has_text="Side 2")).to_be_visible()


def test_the_list_of_many_branches_goes_on_while_one_opens_another(
    page: Page, grown: Pond, api: Forklore
) -> None:
    for number in range(200):
        grown.main.fork(after=grown.said[1], title=f"Arm {number}")
    page.reload()
    expect(dot(page, "Side 2")).to_have_attribute("aria-setsize", "206")
    held: list[Route] = []
    page.route("**/forks?*", lambda route: held.append(route), times=1)  # noqa: PLW0108 (Playwright notes something on it)
    deed(page, "Rename").click()
    dialog(page).get_by_label("Title").fill("Lake")
    dialog(page).get_by_role("button", name="Rename").click()
    wait_until(page, lambda: len(held) == 1)
    dot(page, "Side 2").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id)))

    with page.expect_request(lambda request: "/forks?" in request.url and "Cursor" in request.url) as later:
        held[0].continue_()

    assert f"/{grown.main.id}/" in later.value.url
    expect(dot(page, "branch Lake, current: Ten centimetres.")).to_be_attached()


# The pointer


def test_the_line_below_says_who_when_and_what_it_cost(page: Page, grown: Pond, user: str) -> None:
    entry = grown.main.say("ai", "Or a carp.", usage={"inputTokens": 1310, "costUsd": 0.25})
    page.reload()

    dot(page, "Or a carp.").hover()

    when = page.evaluate(
        "time => new Date(time).toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'medium'})",
        entry.created_at,
    )
    for part in [user, when, "1,310 in, $0.25", "Pond", "current"]:
        expect(told(page)).to_contain_text(part)
    dot(page, "Side 1").hover()
    expect(told(page)).to_contain_text("Side arm")
    expect(told(page)).not_to_contain_text("1,310 in")


def test_a_click_opens_the_entry_in_a_branch_that_shows_it(page: Page, grown: Pond) -> None:
    dot(page, "A goldfish.").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))

    dot(page, "Side 1").click()
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[0].id)))
    expect(page.get_by_role("article").filter(has_text="Side 1")).to_be_visible()

    dot(page, "Which fish?").click()  # the open branch shows it, too
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.said[0].id)))

    dot(page, "Side 2").get_by_text("Side arm", exact=True).click()  # the label of the branch
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id) + "$"))


# The keyboard


def test_up_and_down_walk_along_a_branch_and_into_what_it_inherits(page: Page, grown: Pond) -> None:
    go_to(page, at_conversation(grown.side.id))
    expect(dot(page, "Side 2")).to_have_attribute("aria-selected", "true")
    tree(page).focus()

    for text in ["Side 2", "Side 1", "A goldfish.", "Which fish?", "Which fish?"]:
        expect_active(page, text)
        press(page, "ArrowDown")
    expect_active(page, "Which fish?")
    press(page, "ArrowUp", "ArrowUp")
    expect_active(page, "Side 1")


def test_left_and_right_go_to_the_next_branch_and_home_and_end_to_the_ends(
    page: Page,
) -> None:
    tree(page).focus()
    expect_active(page, "Ten centimetres.")

    press(page, "ArrowRight")
    expect_active(page, "Side 1")
    press(page, "ArrowDown")
    expect_active(page, "A goldfish.")
    press(page, "ArrowRight", "ArrowLeft")
    expect_active(page, "Ten centimetres.")
    press(page, "ArrowLeft")
    expect_active(page, "Ten centimetres.")
    press(page, "End")
    expect_active(page, "Which fish?")
    press(page, "Home")
    expect_active(page, "Side 2")
    expect(told(page)).to_contain_text("Side arm")


def test_enter_opens_the_entry_and_with_shift_its_branch(page: Page, grown: Pond) -> None:
    tree(page).focus()

    press(page, "Home", "ArrowDown", "Enter")
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[0].id)))
    press(page, "Shift+Enter")
    expect(page).to_have_url(re.compile(at_conversation(grown.side.id) + "$"))


def test_keys_go_on_from_an_entry_while_it_is_opened(page: Page, api: Forklore) -> None:
    chat = api.create(title="Long")
    first = grow(chat, [f"Line {number}" for number in range(100)])[0]
    go_to(page, at_conversation(chat.id))
    expect(dot(page, ": Line 99, ")).to_have_attribute("aria-selected", "true")
    tree(page).focus()
    held = hold(page, BEFORE)

    press(page, "End", "Enter", "ArrowUp")
    expect_active(page, "Line 1")
    let_go(page, BEFORE, held)

    expect(page.get_by_role("article").filter(has_text="Line 0")).to_have_class(re.compile("chosen"))
    expect(dot(page, ": Line 0, ")).to_have_attribute("aria-selected", "true")
    expect_active(page, "Line 1")
    assert place_of(page) == (chat.id, first.id)


def test_keys_work_in_a_tree_that_had_the_focus_before_its_rows_came(
    page: Page, grown: Pond, api: Forklore
) -> None:
    other = api.create(title="Other")
    grow(other, ["First", "Second"])
    tree(page).focus()
    expect_active(page, "Ten centimetres.")

    go_to(page, at_conversation(other.id))
    expect(dots(page)).to_have_count(2)
    expect_active(page, "Second")
    press(page, "ArrowDown")
    expect_active(page, "First")


def test_keys_go_on_after_the_row_where_they_were_was_deleted(page: Page, grown: Pond) -> None:
    tree(page).focus()
    press(page, "Home")
    expect_active(page, "Side 2")

    grown.side.delete()

    let_time_pass(page, lambda: dots(page).count() == 4)
    press(page, "ArrowDown")
    expect_active(page, "How large?")


# News, and a large tree


def test_news_at_the_top_leave_what_one_looks_at_in_its_place(timed: Page, user: str, api: Forklore) -> None:
    chat = api.create(title="Long")
    said = grow(chat, [f"Line {number}" for number in range(200)])
    sign_in(timed, user, at=at_conversation(chat.id, said[100].id))
    row = dot(timed, "Line 100")
    expect(row).to_be_in_viewport()
    before = row.bounding_box()
    expect(row).to_have_attribute("aria-posinset", "100")

    grow(chat, ["News 1", "News 2", "News 3"])

    let_time_pass(timed, lambda: row.get_attribute("aria-posinset") == "103")
    assert row.bounding_box() == before


SHOWN = """addEventListener("DOMContentLoaded", () => {
    const look = () => {
        const list = document.querySelector("[role=listbox]");
        if (!list?.querySelector("[role=option]")) return requestAnimationFrame(look);
        requestAnimationFrame(() => (window.shown = performance.now()));
    };
    look();
});"""
"""Notes when the picture is shown first, in milliseconds after the page began to load."""

SCROLL = """list => new Promise((resolve) => {
    const end = list.scrollHeight - list.clientHeight, steps = 240;
    let step = 0;
    const go = () => {
        if (step++ === steps) return resolve({top: list.scrollTop, end});
        list.scrollTop = step === steps ? end : (step * 1000) % end;
        requestAnimationFrame(go);
    };
    requestAnimationFrame(go);
})"""
"""Scrolls by 1000 pixels in each frame, from the top again after the end; at last to the end."""

PAGES = """() => performance.getEntriesByType("resource").filter(
    (one) => one.name.includes("allForks") && one.responseEnd && one.responseEnd < window.shown).length"""
"""How many pages of entries had come when the picture was shown."""


def test_a_tree_of_1000_branches_and_10000_entries_is_shown_and_scrolls_like_one_of_a_tenth(
    api: Forklore, new_context: Callable[..., BrowserContext], user: str
) -> None:
    page = sign_in(new_context().new_page(), user)
    page.add_init_script(SHOWN)
    pages, busy_ms = list[int](), list[float]()
    for branches in (100, 1000):
        made = forest(api, branches=branches, entries=10 * branches)
        page.goto(f"/{at_conversation(made.id)}")
        page.reload()
        page.wait_for_function("() => window.shown", timeout=60_000)
        pages.append(page.evaluate(PAGES))
        expect(dots(page).first).to_have_attribute("aria-setsize", str(10 * branches), timeout=60_000)
        with traced(page) as tasks:
            scrolled = tree(page).evaluate(SCROLL)
        assert abs(scrolled["top"] - scrolled["end"]) < 1
        assert len(tasks) > 240
        busy_ms.append(sum(tasks))

        expect(dot(page, ": Trunk 0, ")).to_be_in_viewport()
        assert dots(page).count() < 100, "only what is visible is drawn"
        assert place_of(page)[0] == made.id
    assert pages == [1, 1], "the picture waits for more than it shows"
    assert busy_ms[1] < 5 * busy_ms[0]
