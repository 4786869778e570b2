"""Links for readers: a manager makes and ends one; whoever has it reads, without an account."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.png import grey
from tests.web.steps import act, at_conversation, sign_in
from tests.web.test_shown_files import answer_json


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


def _note(asked: list[Request], one: Request) -> None:
    asked.append(one)


def test_a_link_shows_the_files_of_what_was_said(
    blank: Page, api: Forklore, user: str, new_context: Callable[..., BrowserContext]
) -> None:
    made = api.create(title="Casa")
    made.say("user", "Before")
    made.say("user", "This one?", files=[("casa.png", grey(90, 120)), ("plan.pdf", b"%PDF")])
    page = sign_in(blank, user, at=at_conversation(made.id))
    address = linked(page, shows="branch")

    for scheme, width in (("light", 1200), ("dark", 360)):
        reader = new_context(color_scheme=scheme, viewport={"width": width, "height": 700}).new_page()
        asked: list[Request] = []
        reader.on("request", partial(_note, asked))
        reader.route("**/entries?limit=100", lambda route: answer_json(route, spoil))
        reader.goto(address)

        steps.expect_shown(steps.picture(reader, "casa.png"))
        assert len([one for one in asked if "limit=1&" in one.url]) == 1  # the first link was too old
        with reader.expect_download() as download:
            reader.get_by_role("button", name="Download plan.pdf").click()
        assert Path(download.value.path()).read_bytes() == b"%PDF"
        reader.get_by_role("button", name="casa.png").click()
        steps.expect_shown(steps.picture(steps.dialog(reader), "casa.png"))
        reader.keyboard.press("Escape")
        expect(reader.get_by_role("dialog")).to_have_count(0)


def spoil(said: Any) -> None:
    """Let the links in entries be over."""
    for one in said["data"]:
        for file in one.get("attachments", []):
            file.update(
                url="/files/00000000-0000-7000-8000-000000000000", urlExpiresAt="2020-01-01T00:00:00.000Z"
            )


def test_a_link_to_many_branches_asks_for_few_titles(
    blank: Page, api: Forklore, user: str, new_context: Callable[..., BrowserContext]
) -> None:
    """All readers of a link share its requests of a minute."""
    made = api.create(title="Tries")
    asked = made.say("user", "Where to?")
    for _ in range(22):
        made.fork(after=asked)
    made.say("assistant", "By train")
    page = sign_in(blank, user, at=at_conversation(made.id))
    reader = new_context().new_page()
    sent: list[Request] = []
    reader.on("request", partial(_note, sent))
    reader.goto(linked(page, shows="tree"))

    expect(reader.get_by_role("button", name="Branch 22")).to_be_visible()
    reader.wait_for_timeout(500)
    assert len([one for one in sent if "conversationId=" in one.url]) == 20


def test_a_branch_that_comes_late_is_not_shown_under_another(
    blank: Page, api: Forklore, user: str, new_context: Callable[..., BrowserContext]
) -> None:
    made = api.create(title="A trip")
    asked = made.say("user", "Where to?")
    other = made.fork(after=asked)
    other.say("assistant", "By ship")
    other.update(title="At sea")
    made.fork(after=asked).update(title=None)
    made.say("assistant", "By train")
    page = sign_in(blank, user, at=at_conversation(made.id))
    reader = new_context().new_page()
    reader.goto(linked(page, shows="tree"))
    expect(reader.get_by_text("By train")).to_be_visible()
    held: list[Route] = []
    reader.route("**/entries?*conversationId=*", lambda route: held.append(route))  # noqa: PLW0108 (a method has no attributes)
    expect(reader.get_by_role("button", name="Branch 2")).to_be_visible()

    reader.get_by_role("button", name="At sea").click()
    with reader.expect_response("**/entries?limit=100"):
        reader.get_by_role("button", name="Back to the first branch").click()
    [late] = held
    with reader.expect_response("**/entries?*conversationId=*"):
        late.continue_()

    reader.wait_for_timeout(200)
    expect(reader.get_by_text("By train")).to_be_visible()
    expect(reader.get_by_text("By ship")).to_have_count(0)
