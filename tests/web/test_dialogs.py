"""What all dialogs have in common."""

import pytest
from playwright.sync_api import Page, Request, Route, expect

from forklore import Forklore
from tests.web.browser import Watch
from tests.web.growing import Pond, pond
from tests.web.steps import (
    at_conversation,
    conversations,
    deed,
    dialog,
    go_to,
    head,
    hold,
    let_go,
    said,
    sign_in,
    title,
    wait_until,
)

SHARES = "**/v1/conversations/*/memberships"
FORKS = "**/forks?*"
PROMOTES = "**/v1/conversations/*/promote"


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.fixture
def page(blank: Page, user: str, grown: Pond) -> Page:
    sign_in(blank, user, at=at_conversation(grown.side.id))
    expect(title(blank)).to_have_text("Side arm")
    return blank


@pytest.fixture
def held(page: Page) -> list[Route]:
    """The requests for a promotion: they wait until the test lets them go."""
    return hold(page, PROMOTES, "POST")


def promote(page: Page) -> None:
    deed(page, "Promote").click()
    dialog(page).get_by_role("button", name="Make it current").click()


def test_the_focus_goes_into_the_dialog_and_returns(page: Page) -> None:
    deed(page, "Rename").focus()
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_label("Title")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog(page)).to_have_count(0)
    expect(deed(page, "Rename")).to_be_focused()

    page.keyboard.press("Enter")
    for _ in range(10):
        expect(dialog(page).get_by_label("Title")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")  # at once: the browser may not have told that the dialog is closed
    dialog(page).get_by_label("Title").fill("Left arm")
    page.keyboard.press("Enter")

    expect(dialog(page)).to_have_count(0)
    expect(title(page)).to_have_text("Left arm")
    expect(deed(page, "Rename")).to_be_focused()


def test_the_focus_returns_to_a_button_that_was_drawn_anew(blank: Page, user: str, grown: Pond) -> None:
    """The list of the branches comes while the dialog is open, and with it another head."""
    forks = hold(blank, FORKS)
    sign_in(blank, user, at=at_conversation(grown.side.id))
    deed(blank, "Rename").click()
    expect(dialog(blank).get_by_label("Title")).to_be_focused()
    promotes = head(blank).locator("button").filter(has_text="Promote…")
    expect(promotes).to_be_disabled()

    let_go(blank, FORKS, forks)
    expect(promotes).to_be_enabled()
    blank.keyboard.press("Escape")

    expect(dialog(blank)).to_have_count(0)
    expect(deed(blank, "Rename")).to_be_focused()


def test_tab_stays_in_the_dialog(page: Page) -> None:
    deed(page, "Rename").click()
    expect(dialog(page)).to_be_visible()

    outside = """() => document.activeElement !== document.body
        && !document.querySelector("dialog").contains(document.activeElement)"""
    for _ in range(8):
        page.keyboard.press("Tab")
        assert not page.evaluate(outside)


def test_one_can_stop_to_wait_for_an_answer(page: Page, grown: Pond, held: list[Route]) -> None:
    promote(page)
    expect(dialog(page).get_by_role("button", name="Make it current")).to_have_attribute("aria-busy", "true")

    page.keyboard.press("Escape")

    expect(dialog(page)).to_have_count(0)
    expect(said(page, "You stopped waiting for the answer. It may have been done.")).to_be_visible()
    expect(deed(page, "Promote")).to_be_visible()
    assert not grown.side.details().is_current


def test_a_second_press_while_one_waits_sends_nothing(page: Page, grown: Pond, held: list[Route]) -> None:
    promote(page)
    dialog(page).get_by_role("button", name="Make it current").click(click_count=2)
    page.keyboard.press("Enter")
    wait_until(page, lambda: bool(held))
    held[0].continue_()

    expect(dialog(page)).to_have_count(0)
    assert len(held) == 1
    assert grown.side.details().is_current


def test_an_error_stays_in_the_dialog_with_the_id_of_its_request(
    page: Page, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("404")
    ids: list[str] = []
    page.on("response", lambda one: ids.append(one.headers["x-request-id"]) if one.status == 404 else None)
    deed(page, "Promote").click()
    grown.main.delete_tree()

    dialog(page).get_by_role("button", name="Make it current").click()

    alert = dialog(page).get_by_role("alert")
    expect(alert).to_contain_text("o conversation")
    assert alert.inner_text().partition("Request ")[2] in ids
    expect(dialog(page).get_by_role("button", name="Make it current")).to_be_enabled()


def test_the_same_deed_keeps_its_key_and_another_one_gets_another(
    page: Page, grown: Pond, watch: Watch, user: str
) -> None:
    """The service adds the member each time, and the page is told twice that it failed."""
    watch.expect_status("500", "/memberships")
    sent: list[Request] = []

    def fail_twice(route: Route) -> None:
        if route.request.method != "POST":
            return route.continue_()
        sent.append(route.request)
        answered = route.fetch()
        if len(sent) <= 2:
            return route.fulfill(status=500, json={"message": "it broke"})
        return route.fulfill(response=answered)

    page.route(SHARES, fail_twice)
    deed(page, "Share").click()
    dialog(page).get_by_role("button", name="Add a member…").click()
    add = dialog(page).get_by_role("button", name="Add", exact=True)
    for name in [f"{user}-bob", f"{user}-carl"]:
        dialog(page).get_by_label("User id").fill(name)
        add.click()
        expect(dialog(page).get_by_role("alert")).to_contain_text("It broke.")
        expect(add).not_to_have_attribute("aria-busy", "true")  # what is pressed before is lost
    add.click()

    expect(page.get_by_role("dialog")).to_have_count(1)
    keys = [request.headers["idempotency-key"] for request in sent]
    assert keys[0] != keys[1]
    assert keys[1] == keys[2]
    assert [one.user_id for one in grown.main.members()] == [user, f"{user}-bob", f"{user}-carl"]


def test_escape_closes_one_dialog_after_the_other(page: Page) -> None:
    deed(page, "Share").click()
    dialog(page).get_by_role("button", name="Add a member…").click()
    expect(page.get_by_role("dialog")).to_have_count(2)

    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(deed(page, "Share")).to_be_focused()


@pytest.fixture
def two_open(page: Page) -> Page:
    """A page with a dialog over a dialog."""
    deed(page, "Share").click()
    dialog(page).get_by_role("button", name="Add a member…").click()
    expect(page.get_by_role("dialog")).to_have_count(2)
    return page


def test_who_goes_elsewhere_leaves_no_dialog_behind(two_open: Page) -> None:
    go_to(two_open, "#/")

    expect(two_open.get_by_role("dialog")).to_have_count(0)
    expect(conversations(two_open)).to_be_visible()


def test_who_signs_out_leaves_no_dialog_behind(two_open: Page) -> None:
    behind = two_open.get_by_role("button", name="Sign out", include_hidden=True)
    behind.dispatch_event("click")  # a person cannot press what is behind a dialog

    expect(two_open.get_by_label("User id")).to_be_visible()
    expect(two_open.get_by_role("dialog")).to_have_count(0)
