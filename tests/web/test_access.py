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
from tests.web.png import grey
from tests.web.steps import (
    act,
    at_conversation,
    box,
    dialog,
    dot,
    entries,
    entry,
    feed,
    fill_sign_in,
    go_to,
    press,
    row,
    said,
    search,
    sign_in,
    sign_out,
    switcher,
    title,
    tree,
)

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
NARROW = {"width": 390, "height": 844}
TABS_MAX = 150
"""So many presses of Tab lead once around the page, and further."""


@pytest.fixture
def grown(api: Forklore, url: str, user: str) -> Pond:
    """A tree with tags, a member, a child, code, costs and a memory."""
    grown = pond(api)
    grown.main.update(tags={"topic": "fish"})
    grown.side.start_child("finder", title="Errand").say("user", "Buy food.")
    grown.main.share(f"{user}-bob", "writer")
    call = {"type": "tool_use", "id": "c", "name": "feed", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "No food", "is_error": True}
    grown.main.append([{"role": "AI", "content": [call]}])
    grown.main.append([{"role": "USER", "content": [result]}])
    grown.main.note(grown.said[0], "Goldfish", score=0.5)
    with Forklore(url, token=user, client_key=AGENTS["planner"]) as agent:
        said = "See https://fish.invalid\n```python\nprint(1)\n```"
        files = [("fish.png", grey()), ("fish.wav", b"?"), (f"{'fish ' * 40}.pdf", b"?")]
        agent.conversation(grown.main.id).turn(
            "ai", said, context=[{"fish": "gold"}], usage={"inputTokens": 12}, files=files
        )
    return grown


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Return a function that fails if axe finds something wrong in what a page shows."""
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
            for node in rule["nodes"]
        ]
        assert wrong == [], "\n".join(wrong)

    return look


SIDEWAYS = """() => {
    const overflow = (one) => getComputedStyle(one).overflowX;
    const isCut = (one) => {
        for (let up = one.parentElement; up; up = up.parentElement)
            if (overflow(up) !== "visible") return up.getBoundingClientRect().right <= innerWidth + 1;
        return false;
    };
    const isWrong = (one) => {
        if (!one.checkVisibility() || one.closest("pre, [role=tree]")) return false;
        const scrolls = ["auto", "scroll"].includes(overflow(one)) || one === document.scrollingElement;
        if (scrolls && one.scrollWidth > one.clientWidth + 1) return true;
        return one.getBoundingClientRect().right > innerWidth + 1 && !isCut(one);
    };
    const all = [document.scrollingElement, ...document.body.querySelectorAll("*")];
    return all.filter(isWrong).map((one) => one.outerHTML.slice(0, 120));
}"""
"""What can be scrolled to the side, but for code and trees; what stands outside."""


def enclose(page: Page) -> None:
    """Let the message that is written have files."""
    given: list[Any] = [
        {"name": name, "mimeType": "image/png", "buffer": grey()} for name in ("a.png", f"{'b ' * 99}.png")
    ]
    page.locator("input[type=file]").set_input_files(given)
    expect(page.get_by_role("list", name="Files of this message").locator("img")).to_have_count(2)


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


def test_axe_finds_nothing_wrong_in_any_view(
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
    expect(page.get_by_role("button", name="Load the example")).to_be_visible()
    axe(page)
    sign_out(page)
    fill_sign_in(page, user, AGENTS["planner"])
    row(page, "Pond").click()
    expect(dot(page, "See https://fish.invalid")).to_be_visible()
    axe(page)
    page.get_by_role("button", name="Failed", exact=True).click()
    row(page, "Pond").click()
    row(page, "Pond").hover()
    axe(page)
    press(page, "How large?", "Edit")
    press(page, "Which fish?", "1 note")
    enclose(page)
    for tab in ["Costs", "Memory"]:
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel")).not_to_contain_text("Loading")
        axe(page)
    for more in ["tree", f"compare/{grown.main.id}", f"alternatives/{grown.said[1].id}"]:
        go_to(page, f"{at_conversation(grown.side.id)}/{more}")
        expect(page.get_by_role("link", name="Back to the conversation")).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        axe(page)
    go_to(page, at_conversation("00000000-0000-4000-8000-000000000000"))
    expect(title(page)).to_have_text("This conversation is not here")
    axe(page)


def test_axe_finds_nothing_wrong_in_the_dialogs(
    new_context: Callable[..., BrowserContext],
    user: str,
    grown: Pond,
    scheme: str,
    axe: Callable[[Page], None],
) -> None:
    page = sign_in(new_context(color_scheme=scheme).new_page(), user, at=at_conversation(grown.side.id))
    expect(switcher(page).first).to_be_visible()

    def look() -> None:
        expect(dialog(page)).to_be_visible()
        axe(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)

    page.get_by_role("button", name="More actions").click()
    axe(page)
    page.keyboard.press("Escape")
    for label in [
        "Names and tags",
        "Make current",
        "Merge into",
        "Hand over",
        "Delete this",
        "Delete the whole",
    ]:
        act(page, label)
        look()
    act(page, "Share")
    expect(dialog(page).get_by_role("listitem")).to_have_count(2)
    look()
    expect(search(page, "fish").first).to_be_visible()
    expect(dialog(page)).not_to_contain_text("Searching…")
    look()
    act(page, "Names and tags")
    dialog(page).get_by_label("Tags").fill("bad name")
    dialog(page).get_by_role("button", name="Save").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text("no name of a tag")
    look()


# The keyboard


def press_until(page: Page, key: str, target: Locator) -> None:
    """Press a key until something has the focus."""
    target.evaluate("one => (window.target = one)")  # once: to look for it takes longer than a press
    for _ in range(TABS_MAX):
        page.keyboard.press(key)
        if page.evaluate("() => document.activeElement === window.target"):
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
    use(page, page.get_by_role("link", name="Skip to the conversation"))
    expect(page.get_by_role("main")).to_be_focused()

    use(page, box(page), "End")
    page.keyboard.type("Is it deep?")
    page.keyboard.press("Enter")
    expect(entry(page, "Is it deep?")).to_be_visible()
    use(page, entry(page, "Is it deep?").get_by_role("button", name="Fork here"))
    expect(page).not_to_have_url(re.compile(at_conversation(grown.main.id)))
    use(page, box(page), "End")
    page.keyboard.type("Two metres.")
    page.keyboard.press("Enter")
    expect(entry(page, "Two metres.")).to_be_visible()

    use(page, tree(page), "Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/e/{grown.said[0].id}"))
    expect(entry(page, "Which fish?")).to_be_in_viewport()

    use(page, page.get_by_role("button", name="More actions"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete this branch")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_role("button", name="Keep it")).to_be_focused()
    use(page, dialog(page).get_by_role("button", name="Delete 1 entry"))
    expect(said(page, "The branch is deleted.")).to_be_visible()
    expect(title(page)).to_have_text("Pond")
    assert page.evaluate("document.activeElement !== document.body")


# A narrow screen


SMALL = """() => [...document.querySelectorAll("button, .b, .row, .kid, .brand a")]
    .filter((one) => one.checkVisibility())
    .filter((one) => one.getBoundingClientRect().height < 43.5)
    .map((one) => `${one.getBoundingClientRect().height} ${one.outerHTML.slice(0, 120)}`)"""
"""What is too small for a finger."""


def test_on_a_phone_each_view_has_a_tab_and_fits_for_fingers(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond, axe: Callable[[Page], None]
) -> None:
    grown.main.say("user", "m" * 500)
    page = new_context(viewport=NARROW, has_touch=True).new_page()
    page.goto("/")
    expect(page.get_by_label("User id")).to_be_visible()
    expect_no_sideways(page)
    fill_sign_in(page, user, AGENTS["planner"])
    views = {
        "Conversations": row(page, "Pond"),
        "Messages": feed(page),
        "Tree": tree(page),
        "Memory": page.get_by_role("tabpanel", name="memory"),
    }
    axe(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")
    row(page, "Pond").click()
    expect(feed(page)).to_be_visible()
    expect(row(page, "Pond")).to_be_hidden()

    small: list[str] = []
    for name in views:
        tab = page.get_by_role("navigation", name="Views").get_by_role("button", name=name)
        tab.click()
        expect(tab).to_have_attribute("aria-current", "page")
        for other, view in views.items():
            expect(view).to_be_visible() if other == name else expect(view).to_be_hidden()
        if name in ("Tree", "Memory"):
            expect(title(page)).to_have_text("Pond")
        if name == "Messages":
            enclose(page)
            press(page, "Which fish?", "1 note")
            entries(page).first.focus()  # then it shows its buttons
        expect_no_sideways(page)
        axe(page)
        small += page.evaluate(SMALL)
    assert small == [], "\n".join(small)


def test_on_a_phone_a_tab_leads_from_the_whole_tree_to_its_view(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond
) -> None:
    page = new_context(viewport=NARROW).new_page()
    sign_in(page, user, at=f"{at_conversation(grown.main.id)}/tree")
    expect(tree(page)).to_have_accessible_name("Fork tree, 2 branches")
    root = tree(page).get_by_role("treeitem", name="Pond").locator("bdi")
    root.click()
    assert root.evaluate("one => one.scrollWidth <= one.clientWidth"), "the root's title is cut"

    for name, view in (("Messages", feed(page)), ("Conversations", row(page, "Pond"))):
        go_to(page, f"{at_conversation(grown.main.id)}/tree")
        expect(page.get_by_role("link", name="Back to the conversation")).to_be_visible()
        page.get_by_role("navigation", name="Views").get_by_role("button", name=name).click()
        expect(view).to_be_visible()

    row(page, "Pond").click()
    expect(feed(page)).to_be_visible()
    page.get_by_role("navigation", name="Views").get_by_role("button", name="Conversations").click()
    row(page, "Pond").click()  # the address is that of the row already
    expect(feed(page)).to_be_visible()


def test_a_person_on_a_phone_has_no_tab_for_the_memory(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond
) -> None:
    page = new_context(viewport=NARROW).new_page()
    sign_in(page, user, at=at_conversation(grown.main.id))

    expect(page.get_by_role("navigation", name="Views").get_by_role("button")).to_have_text(
        ["Conversations", "Messages", "Tree"]
    )


# The dark


def test_the_page_is_as_dark_as_the_system_until_one_chooses(
    new_context: Callable[..., BrowserContext], user: str, grown: Pond, scheme: str
) -> None:
    page = new_context(color_scheme=scheme).new_page()
    sign_in(page, user, at=at_conversation(grown.main.id))
    expect(entries(page).first).to_be_visible()
    brightness = """(one, property) => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d");
        canvas.fillStyle = getComputedStyle(one)[property];
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return (red + green + blue) / 765;
    }"""

    def is_dark() -> bool:
        body = page.locator("body")
        back, front = body.evaluate(brightness, "backgroundColor"), body.evaluate(brightness, "color")
        assert abs(back - front) > 0.5
        return bool(back < front)

    assert is_dark() == (scheme == "dark")
    page.get_by_role("button", name="Dark or light").click()
    assert is_dark() == (scheme == "light")
    page.reload()
    expect(entries(page).first).to_be_visible()
    assert is_dark() == (scheme == "light")
