"""Links for readers: a manager makes and ends one; whoever has it reads, without an account."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.steps import act, at_conversation, sign_in


def linked(page: Page, *, shows: str) -> str:
    """Make a link in the dialog of sharing, and return its address."""
    act(page, "Share")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What the link shows").select_option(shows)
    dialog.get_by_role("button", name="Make").click()
    made = dialog.get_by_label("The new link")
    expect(made).to_have_value(re.compile(r"#link=[\w-]{43}$"))
    return made.input_value()


def test_a_link_shows_the_branch_as_it_was_to_who_has_no_account(
    blank: Page, api: Forklore, user: str, new_context: Callable[..., BrowserContext]
) -> None:
    made = steps.talk(api, "Where to?", "By **train**", title="A trip")
    page = sign_in(blank, user, at=at_conversation(made.id))
    address = linked(page, shows="branch")
    made.say("user", "Among ourselves")

    for scheme, width in (("light", 1200), ("dark", 360)):
        reader = new_context(color_scheme=scheme, viewport={"width": width, "height": 700}).new_page()
        reader.goto(address)
        expect(reader.get_by_role("heading", name="A trip")).to_be_visible()
        expect(reader.locator(".linked strong")).to_have_text("train")
        expect(reader.locator("article")).to_have_count(2)
        assert user not in reader.content()
        wide = reader.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        assert reader.evaluate("[...Object.keys(sessionStorage), ...Object.keys(localStorage)]") == []


def test_a_link_that_is_ended_leads_nowhere(
    blank: Page, api: Forklore, user: str, watch: Watch, new_context: Callable[..., BrowserContext]
) -> None:
    watch.expect_status("404", "/v1/links/")
    made = steps.talk(api, "Where to?", "By train", title="A trip")
    page = sign_in(blank, user, at=at_conversation(made.id))
    address = linked(page, shows="tree")
    made.say("user", "And back")
    reader = new_context().new_page()
    reader.goto(address)
    expect(reader.get_by_text("And back")).to_be_visible()

    dialog = page.get_by_role("dialog")
    dialog.get_by_role("list", name="Links").get_by_role("button", name="End").click()
    expect(dialog.get_by_role("list", name="Links")).to_have_count(0)

    reader.reload()
    expect(reader.get_by_role("alert")).to_contain_text("leads nowhere")
    reader.goto(address[:-43] + "A" * 43)
    expect(reader.get_by_role("alert")).to_contain_text("leads nowhere")


def test_a_branch_that_comes_late_is_not_shown_under_another(
    blank: Page, api: Forklore, user: str, new_context: Callable[..., BrowserContext]
) -> None:
    made = api.create(title="A trip")
    asked = made.say("user", "Where to?")
    made.fork(after=asked).say("assistant", "By ship")
    made.say("assistant", "By train")
    page = sign_in(blank, user, at=at_conversation(made.id))
    reader = new_context().new_page()
    reader.goto(linked(page, shows="tree"))
    expect(reader.get_by_text("By train")).to_be_visible()
    held: list[Route] = []
    reader.route("**/entries?*conversationId=*", lambda route: held.append(route))  # noqa: PLW0108 (a method has no attributes)

    reader.get_by_role("button", name="Branch 1").click()
    with reader.expect_response("**/entries?limit=100"):
        reader.get_by_role("button", name="Back to the first branch").click()
    [late] = held
    with reader.expect_response("**/entries?*conversationId=*"):
        late.continue_()

    reader.wait_for_timeout(200)
    expect(reader.get_by_text("By train")).to_be_visible()
    expect(reader.get_by_text("By ship")).to_have_count(0)
