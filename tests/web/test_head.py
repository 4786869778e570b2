"""What stands above the messages: what a branch is, whence it comes, what one may do with it."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from forklore import Forklore
from tests.web.browser import Watch
from tests.web.growing import Pond, grow, pond
from tests.web.steps import (
    at_conversation,
    box,
    dot,
    entries,
    entry,
    feed,
    go_to,
    head,
    hold,
    let_go,
    row,
    said,
    send,
    sign_in,
    switcher,
    title,
    wait_until,
)

FORKS = "**/forks?*"


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


def test_the_head_says_what_the_branch_is_and_leads_to_where_it_comes_from(
    blank: Page, user: str, grown: Pond
) -> None:
    grown.side.say("ai", "Side 3", usage={"inputTokens": 1200, "outputTokens": 34, "costUsd": 0.5})
    grown.side.update(tags={"topic": "fish", "note": "a: b"})
    sign_in(blank, user, at=at_conversation(grown.side.id))

    expect(title(blank)).to_have_text("Side arm")
    for told in ["topic:fish", "note:a: b", "5 entries", "1.2k in, 34 out", "$0.50"]:
        expect(head(blank).get_by_text(told, exact=True)).to_be_visible()
    expect(head(blank).get_by_title("The current branch opens first")).to_have_count(0)
    head(blank).locator(".sep", has_text="from").get_by_role("link").click()

    expect(title(blank)).to_have_text("Pond")
    expect(blank).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))
    expect(head(blank).get_by_title("The current branch opens first")).to_be_visible()


def test_the_head_says_from_which_branch_each_branch_comes_and_no_title_twice(
    blank: Page, user: str, grown: Pond
) -> None:
    brook = grown.side.fork(after=grown.answered[0], title="Brook")
    sign_in(blank, user, at=at_conversation(brook.id))

    expect(head(blank)).to_contain_text(re.compile("from Side arm.*which is from Pond"))
    expect(head(blank).get_by_text("Brook", exact=True)).to_have_count(1)
    head(blank).get_by_role("link", name="Pond").click()
    expect(blank).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[1].id)))
    expect(head(blank).get_by_text("Pond", exact=True)).to_have_count(1)


def test_the_head_leads_to_what_started_a_child(blank: Page, user: str, grown: Pond) -> None:
    child = grown.main.start_child("hotel-finder", by=grown.said[2], title="Hotels")
    child.say("user", "Find hotels.")
    sign_in(blank, user, at=at_conversation(child.id))

    expect(head(blank).get_by_text("hotel-finder", exact=True)).to_be_visible()
    head(blank).get_by_role("link", name="started by another conversation").click()

    expect(blank).to_have_url(re.compile(at_conversation(grown.main.id, grown.said[2].id)))


def test_a_child_of_a_conversation_that_one_cannot_see_can_be_read(
    blank: Page, user: str, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("403", grown.main.id)
    child = grown.main.start_child(title="Hotels")
    child.say("user", "Find hotels.")
    child.share(f"{user}-bob", "reader")
    sign_in(blank, f"{user}-bob", at=at_conversation(child.id))
    expect(entry(blank, "Find hotels.")).to_be_visible()

    head(blank).get_by_role("link", name="another conversation").click()

    expect(said(blank, "not shared with you")).to_be_visible()


def test_a_conversation_opens_at_its_end_also_when_the_head_grows_later(
    blank: Page, user: str, grown: Pond, api: Forklore
) -> None:
    """The head has fewer facts before the branches are known."""
    grow(grown.side, ["A long story. " * 60, "And its end. " * 40])
    grown.side.update(tags={f"tag-{number}": "value" for number in range(20)})
    blank.set_viewport_size({"width": 1100, "height": 600})
    sign_in(blank, user)
    held = hold(blank, FORKS)
    go_to(blank, at_conversation(grown.side.id))
    expect(entry(blank, "And its end.").locator("p").last).to_be_in_viewport()
    let_go(blank, FORKS, held)

    expect(head(blank).get_by_text("6 entries")).to_be_visible()

    below = "one => one.scrollHeight - one.scrollTop - one.clientHeight"
    wait_until(blank, lambda: blank.locator(".talk .scroll").evaluate(below) < 2)


def test_a_chosen_entry_stays_in_view_when_switchers_appear_above_it(
    blank: Page, user: str, grown: Pond
) -> None:
    said = grow(grown.main, [f"Line {number}" for number in range(40)])
    for entry_before in said[:30:2]:
        grow(grown.main.fork(after=entry_before), ["Or so"])
    sign_in(blank, user)
    held = hold(blank, FORKS)
    go_to(blank, at_conversation(grown.main.id, said[30].id))
    expect(entry(blank, "Line 30")).to_be_in_viewport(ratio=1)
    expect(switcher(feed(blank))).to_have_count(0)

    let_go(blank, FORKS, held)

    expect(switcher(feed(blank)).first).to_be_attached()
    expect(entry(blank, "Line 30")).to_be_in_viewport(ratio=1)


def test_a_press_on_the_title_renames(blank: Page, user: str, grown: Pond) -> None:
    sign_in(blank, user, at=at_conversation(grown.side.id))
    field = head(blank).get_by_role("textbox", name="Title")

    title(blank).get_by_text("Side arm").click()
    expect(field).to_be_focused()
    field.fill("No")
    blank.keyboard.press("Escape")
    expect(title(blank)).to_have_text("Side arm")
    expect(title(blank).get_by_role("button")).to_be_focused()

    blank.keyboard.press("Enter")
    field.fill(" Left arm ")
    blank.keyboard.press("Enter")
    expect(title(blank)).to_have_text("Left arm")
    expect(dot(blank, "branch Left arm").first).to_be_visible()

    title(blank).get_by_text("Left arm").click()
    field.fill("Right arm")
    entries(blank).first.click()
    expect(title(blank)).to_have_text("Right arm")
    assert grown.side.details().title == "Right arm"
    assert grown.main.details().title == "Pond"


def test_who_may_only_read_renames_nothing(blank: Page, user: str, grown: Pond) -> None:
    grown.main.share(f"{user}-reader", "reader")
    sign_in(blank, f"{user}-reader", at=at_conversation(grown.side.id))

    expect(title(blank)).to_have_text("Side arm")
    expect(title(blank).get_by_role("button")).to_have_count(0)


def test_the_list_shows_what_one_has_said_last(blank: Page, user: str, grown: Pond) -> None:
    sign_in(blank, user, at=at_conversation(grown.main.id))
    expect(row(blank, "Pond")).to_contain_text("Ten centimetres.")

    send(blank, "Is it deep?")

    expect(row(blank, "Pond")).to_contain_text("Is it deep?")


def test_a_conversation_that_is_not_shared_or_not_there_says_so(
    blank: Page, user: str, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("40[34]")
    sign_in(blank, f"{user}-other", at=at_conversation(grown.main.id))
    expect(title(blank)).to_have_text("This conversation is not here")
    expect(blank.locator("body")).not_to_contain_text("Pond")

    go_to(blank, at_conversation(str(uuid4())))

    expect(said(blank, "It was deleted, or it is not shared with you.")).to_be_visible()
    expect(entries(blank)).to_have_count(0)
    expect(box(blank)).to_be_hidden()
    expect(head(blank)).to_be_hidden()
    go_to(blank, f"{at_conversation(str(uuid4()))}/tree")
    expect(title(blank)).to_have_text("This conversation is not here")
