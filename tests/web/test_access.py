"""The page for everybody: with a screen reader, by keyboard alone, narrow, and dark."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from forklore import Forklore
from tests.web.browser import Watch, skip_or_fail
from tests.web.conftest import AGENTS
from tests.web.growing import Pond, pond
from tests.web.steps import (
    at_conversation,
    box,
    conversations,
    deed,
    dialog,
    dots,
    entries,
    entry,
    feed,
    fill_sign_in,
    go_to,
    head,
    problem,
    row,
    said,
    sign_in,
    title,
    tree,
    turn,
)

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
BAD = ("serious", "critical")
NARROW = {"width": 390, "height": 844}
TABS_MAX = 150
"""So many presses of Tab lead once around the page, and further."""


@pytest.fixture
def grown(api: Forklore) -> Pond:
    """A tree with tags, members, a child and a table of what it cost."""
    grown = pond(api)
    grown.main.update(tags={"topic": "fish"})
    grown.main.say("ai", "See https://fish.invalid\n```python\nprint(1)\n```", usage={"inputTokens": 12})
    grown.side.start_child("finder", title="Errand").say("user", "Buy food.")
    return grown


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Return a function that fails if axe finds something serious in what a page shows."""
    if not AXE.is_file():
        skip_or_fail("axe-core is missing: npm installs it")
    source = AXE.read_text()

    def look(page: Page) -> None:
        page.evaluate(f"() => {{ if (!window.axe) {{ {source} }} }}")
        options = {"resultTypes": ["violations"], "preload": False}
        found: list[dict[str, Any]] = page.evaluate("options => axe.run(document, options)", options)[
            "violations"
        ]
        wrong = [
            f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
            for rule in found
            if rule["impact"] in BAD
            for node in rule["nodes"]
        ]
        assert wrong == []

    return look


SIDEWAYS = """() => {
    const overflow = (one) => getComputedStyle(one).overflowX;
    const isCut = (one) => {
        for (let up = one.parentElement; up; up = up.parentElement)
            if (overflow(up) !== "visible") return up.getBoundingClientRect().right <= innerWidth + 1;
        return false;
    };
    const isWrong = (one) => {
        if (!one.checkVisibility() || one.closest("pre, .head")) return false;
        const scrolls = ["auto", "scroll"].includes(overflow(one)) || one === document.scrollingElement;
        if (scrolls && one.scrollWidth > one.clientWidth + 1) return true;
        return one.getBoundingClientRect().right > innerWidth + 1 && !isCut(one);
    };
    const all = [document.scrollingElement, ...document.body.querySelectorAll("*")];
    return all.filter(isWrong).map((one) => one.outerHTML.slice(0, 120));
}"""
"""What can be scrolled to the side, but for code and the bars of the head; what stands outside."""


def expect_no_sideways(page: Page) -> None:
    """Check that all of the page fits into its width."""
    assert page.evaluate(SIDEWAYS) == []


# axe


def test_axe_finds_what_is_wrong(blank: Page, user: str, axe: Callable[[Page], None]) -> None:
    sign_in(blank, user)
    axe(blank)

    blank.evaluate("() => document.body.append(document.createElement('input'))")

    with pytest.raises(AssertionError, match="label"):
        axe(blank)


def test_axe_finds_nothing_serious_in_the_parts_of_the_page(
    new_context: Callable[..., BrowserContext],
    user: str,
    grown: Pond,
    scheme: str,
    axe: Callable[[Page], None],
    watch: Watch,
) -> None:
    watch.expect_status("404", "00000000-0000-4000-8000-000000000000")
    page = new_context(color_scheme=scheme).new_page()
    page.goto("/")
    expect(page.get_by_label("User id")).to_be_visible()
    axe(page)
    fill_sign_in(page, f"{user}-nobody")
    expect(conversations(page)).to_contain_text("Nothing here yet")
    axe(page)
    page.get_by_role("button", name="Sign out").click()
    fill_sign_in(page, user)
    expect(row(page, "Pond")).to_be_visible()
    axe(page)
    row(page, "Pond").click()
    expect(dots(page)).to_have_count(7)
    axe(page)
    turn(page, "How large?").get_by_role("button", name="Edit").click()
    go_to(page, at_conversation(grown.side.id, grown.said[0].id))
    expect(title(page)).to_have_text("Side arm")
    axe(page)
    deed(page, "Compare").click()
    merge = page.get_by_role("region", name="Side arm").get_by_role("button", name="Merge")
    expect(merge).to_be_visible()
    axe(page)
    merge.click()
    expect(dialog(page)).to_contain_text("Copies of 2 entries")
    axe(page)
    page.keyboard.press("Escape")
    go_to(page, at_conversation("00000000-0000-4000-8000-000000000000"))
    expect(problem(page, "o conversation")).to_be_visible()
    axe(page)


def test_axe_finds_nothing_serious_in_the_dialogs(
    new_context: Callable[..., BrowserContext],
    user: str,
    grown: Pond,
    scheme: str,
    axe: Callable[[Page], None],
    api: Forklore,
) -> None:
    grown.main.share(f"{user}-bob", "writer")
    page = sign_in(new_context(color_scheme=scheme).new_page(), user, at=at_conversation(grown.side.id))
    expect(deed(page, "Delete tree")).to_be_enabled()

    def look(*more: str) -> None:
        for label in more:
            dialog(page).get_by_role("button", name=label).first.click()
        expect(page.get_by_role("dialog")).to_have_count(1 + len(more))
        axe(page)
        for _ in range(1 + len(more)):
            page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)

    conversations(page).get_by_role("button", name="New conversation").first.click()
    look()
    for label in ["Rename", "Tags", "Promote", "Hand over", "Delete branch", "Delete tree"]:
        deed(page, label).click()
        look()
    for more in [[], ["Add a member…"], ["Change"]]:
        deed(page, "Share").click()
        expect(dialog(page).get_by_role("listitem")).to_have_count(2)
        look(*more)
    deed(page, "Tags").click()
    dialog(page).get_by_label("Tags").fill("bad name")
    dialog(page).get_by_role("button", name="Save").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text("no name of a tag")
    look()


def test_axe_finds_nothing_serious_on_a_narrow_screen(
    new_context: Callable[..., BrowserContext],
    user: str,
    grown: Pond,
    axe: Callable[[Page], None],
) -> None:
    page = new_context(viewport=NARROW).new_page()
    sign_in(page, user, key=AGENTS["planner"])
    go_to(page, at_conversation(grown.main.id))
    for name in ["Conversations", "Messages", "Tree", "Context"]:
        tab(page, name).click()
        axe(page)


# The keyboard


def press_until(page: Page, key: str, target: Locator) -> None:
    """Press a key until something has the focus."""
    for _ in range(TABS_MAX):
        page.keyboard.press(key)
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"the focus does not come to {target}")


def use(page: Page, target: Locator, key: str = "Enter") -> None:
    """Go to something by keyboard, and press a key there."""
    expect(target).to_be_visible()
    press_until(page, "Tab", target)
    page.keyboard.press(key)


def test_a_person_needs_no_mouse(blank: Page, user: str, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")  # what was asked while it was deleted
    page = blank
    page.goto("/")
    expect(page.get_by_label("User id")).to_be_focused()
    page.keyboard.type(user)
    page.keyboard.press("Enter")
    use(page, row(page, "Pond"))
    expect(title(page)).to_have_text("Pond")

    use(page, box(page), "End")
    page.keyboard.type("Is it deep?")
    page.keyboard.press("Enter")
    expect(entry(page, "Is it deep?")).to_be_visible()

    use(page, turn(page, "Is it deep?").get_by_role("button", name="Fork here"))
    expect(page).not_to_have_url(re.compile(at_conversation(grown.main.id)))
    expect(entry(page, "Is it deep?")).to_be_visible()
    use(page, box(page), "End")
    page.keyboard.type("Two metres.")
    page.keyboard.press("Enter")
    expect(entry(page, "Two metres.")).to_be_visible()

    use(page, deed(page, "Compare"))
    expect(page.get_by_role("main").get_by_role("region")).to_have_count(2)
    use(page, page.get_by_role("main").get_by_role("region").first.get_by_role("link"))
    expect(entry(page, "Two metres.")).to_be_visible()

    use(page, tree(page), "Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/e/"))

    use(page, deed(page, "Delete branch"))
    use(page, dialog(page).get_by_role("checkbox"), "Space")
    use(page, dialog(page).get_by_role("button", name="Delete the branch"))
    expect(said(page, "The branch is deleted.")).to_be_visible()
    expect(title(page)).to_have_text("Pond")


# A narrow screen


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Parts of the page").get_by_role("button", name=name)


def test_on_a_narrow_screen_each_part_has_a_tab_and_nothing_scrolls_sideways(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond
) -> None:
    grown.main.say("user", "m" * 500)
    page = new_context(viewport=NARROW).new_page()
    page.goto("/")
    expect(page.get_by_label("User id")).to_be_visible()
    expect_no_sideways(page)
    fill_sign_in(page, user, AGENTS["planner"])
    parts = {
        "Conversations": conversations(page),
        "Messages": feed(page),
        "Tree": tree(page),
        "Context": page.get_by_role("region", name="Context"),
    }
    row(page, "Pond").click()
    expect(feed(page)).to_be_visible()
    expect(conversations(page)).to_be_hidden()

    for name in parts:
        tab(page, name).click()
        expect(tab(page, name)).to_have_attribute("aria-pressed", "true")
        for other, part in parts.items():
            expect(part).to_be_visible() if other == name else expect(part).to_be_hidden()
        expect_no_sideways(page)

    tab(page, "Tree").click()
    expect(dots(page)).to_have_count(8)
    tab(page, "Messages").click()
    deed(page, "Compare").click()
    sides = page.get_by_role("main").get_by_role("region")
    expect(sides).to_have_count(2)
    expect_no_sideways(page)
    upper, lower = sides.nth(0).bounding_box(), sides.nth(1).bounding_box()
    assert upper
    assert lower
    assert upper["y"] + upper["height"] <= lower["y"], "one below the other"
    page.go_back()
    deed(page, "Delete tree").click()
    expect_no_sideways(page)
    page.keyboard.press("Escape")


def test_a_person_on_a_phone_has_no_tab_for_the_context(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond
) -> None:
    page = sign_in(new_context(viewport=NARROW).new_page(), user)

    for name in ["Conversations", "Messages", "Tree"]:
        expect(tab(page, name)).to_be_visible()
    expect(tab(page, "Context")).to_be_hidden()


# The dark


def test_the_page_is_dark_when_the_system_is(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond, scheme: str
) -> None:
    page = new_context(color_scheme=scheme).new_page()
    sign_in(page, user, at=at_conversation(grown.main.id))
    expect(entries(page).first).to_be_visible()

    brightness = """(one, property) => {
        const [red, green, blue] = getComputedStyle(one)[property].match(/[0-9.]+/g).map(Number);
        return (red + green + blue) / 765;
    }"""
    for part in [page.locator("body"), box(page), head(page).get_by_role("button").first]:
        back, front = part.evaluate(brightness, "backgroundColor"), part.evaluate(brightness, "color")
        assert (back < 0.3 and front > 0.6) if scheme == "dark" else (back > 0.8 and front < 0.4)
