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
    deed,
    dialog,
    dots,
    entries,
    entry,
    feed,
    go_to,
    head,
    hold,
    let_go,
    problem,
    row,
    said,
    send,
    sign_in,
    switcher,
    title,
    turn,
)
from tests.web.wording import words

FORKS = "**/forks?*"
READER = {"Compare…", "Members…"}
WRITER = READER | {"Rename…", "Tags…", "Promote…"}
MANAGER = WRITER - {"Members…"} | {"Share…", "Delete branch…"}
OWNER = MANAGER | {"Hand over…", "Delete tree…"}


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.mark.parametrize(
    ("level", "deeds"), [("reader", READER), ("writer", WRITER), ("manager", MANAGER), ("owner", OWNER)]
)
def test_one_is_offered_what_the_own_level_allows(
    blank: Page, user: str, grown: Pond, level: str, deeds: set[str]
) -> None:
    who = user if level == "owner" else f"{user}-{level}"
    if level != "owner":
        grown.main.share(who, level)  # type: ignore[arg-type]
    sign_in(blank, who, at=at_conversation(grown.side.id))

    expect(head(blank).get_by_role("button")).to_have_count(len(deeds))
    assert set(head(blank).get_by_role("button").all_inner_texts()) == deeds
    mine = "yours" if level == "owner" else f"of {user}, you: {level}"
    expect(head(blank).get_by_text(mine)).to_be_visible()
    expect(entry(blank, "Side 2")).to_be_visible()
    expect(box(blank)).to_have_count(0 if level == "reader" else 1)
    offered = [] if level == "reader" else ["Edit", "Try again", "Fork here"]
    expect(turn(blank, "Side 2").get_by_role("button")).to_have_text([*offered, "Copy link"])


def test_the_head_says_what_the_branch_is_and_leads_to_the_current_one(
    blank: Page, user: str, grown: Pond
) -> None:
    grown.side.say("ai", "Side 3", usage={"inputTokens": 1200, "outputTokens": 34, "costUsd": 0.5})
    grown.side.update(tags={"topic": "fish", "note": "a: b"})
    sign_in(blank, user, at=at_conversation(grown.side.id))

    expect(title(blank)).to_have_text("Side arm")
    for told in ["topic:fish", "note:a: b", "3 entries, 1,200 in, 34 out, $0.5"]:
        expect(head(blank).get_by_text(told)).to_be_visible()
    expect(head(blank).get_by_text("current branch")).to_have_count(0)
    head(blank).get_by_role("link", name="Pond").last.click()

    expect(title(blank)).to_have_text("Pond")
    expect(head(blank).get_by_text("current branch")).to_be_visible()


def test_the_head_leads_to_what_a_branch_comes_from(
    blank: Page, user: str, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("404")  # it asks for news of what is deleted
    twig = grown.side.fork(after=grown.answered[0], title="Twig")
    origins = blank.get_by_role("navigation", name="Origin")
    sign_in(blank, user, at=at_conversation(twig.id))

    expect(origins.get_by_role("listitem")).to_have_text(["Pond", "Side arm"])
    origins.get_by_role("link", name="Side arm").click()

    expect(title(blank)).to_have_text("Side arm")
    expect(blank).to_have_url(re.compile(at_conversation(grown.side.id, grown.answered[0].id)))
    expect(origins.get_by_role("listitem")).to_have_text(["Pond"])
    grown.side.delete()
    go_to(blank, at_conversation(twig.id))
    expect(origins.get_by_role("listitem")).to_have_text(["Pond", "deleted branch"])


def test_the_head_leads_to_what_started_a_child(blank: Page, user: str, grown: Pond) -> None:
    child = grown.main.start_child("hotel-finder", by=grown.said[2], title="Hotels")
    child.say("user", "Find hotels.")
    sign_in(blank, user, at=at_conversation(child.id))

    expect(head(blank).get_by_text("agent hotel-finder")).to_be_visible()
    expect(head(blank)).to_contain_text("Started by another conversation")
    head(blank).get_by_role("link", name="another conversation").click()

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

    expect(said(blank, "This conversation is not shared with you.")).to_be_visible()


def test_a_conversation_opens_at_its_end_also_when_the_head_grows_later(
    blank: Page, user: str, grown: Pond, api: Forklore
) -> None:
    """The head has one row of buttons first, and more rows once the branches are known."""
    grow(grown.side, ["A long story. " * 60, "And its end. " * 40])
    blank.set_viewport_size({"width": 1100, "height": 600})
    sign_in(blank, user)

    go_to(blank, at_conversation(grown.side.id))

    expect(deed(blank, "Delete branch")).to_be_enabled()
    expect(dots(blank)).to_have_count(8)
    expect(turn(blank, "And its end.").get_by_role("button", name="Copy link")).to_be_in_viewport(ratio=1)


def test_a_button_that_a_key_holds_down_while_the_head_is_drawn_anew_is_pressed(
    blank: Page, user: str, grown: Pond
) -> None:
    held = hold(blank, FORKS)
    sign_in(blank, user, at=at_conversation(grown.main.id))
    deed(blank, "Rename").focus()
    blank.keyboard.down("Space")
    let_go(blank, FORKS, held)
    expect(switcher(feed(blank)).first).to_be_visible()  # what else the branches change is drawn

    blank.keyboard.up("Space")

    expect(dialog(blank).get_by_label("Title")).to_have_value("Pond")
    blank.keyboard.press("Escape")
    expect(deed(blank, "Delete tree")).to_be_enabled()
    expect(deed(blank, "Rename")).to_be_focused()


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

    expect(switcher(feed(blank))).to_have_count(13)  # of those that are loaded
    expect(entry(blank, "Line 30")).to_be_in_viewport(ratio=1)


def test_the_list_shows_what_one_has_said_last(blank: Page, user: str, grown: Pond) -> None:
    sign_in(blank, user, at=at_conversation(grown.main.id))
    expect(row(blank, "Pond")).to_contain_text("Ten centimetres.")

    send(blank, "Is it deep?")

    expect(row(blank, "Pond")).to_contain_text("Is it deep?")


def test_a_branch_is_renamed_everywhere(blank: Page, user: str, grown: Pond) -> None:
    sign_in(blank, user, at=at_conversation(grown.main.id))

    deed(blank, "Rename").click()
    expect(dialog(blank)).to_contain_text("All members see the title. An empty one clears it.")
    expect(dialog(blank).get_by_label("Title")).to_have_value("Pond")
    dialog(blank).get_by_label("Title").fill("Lake <b>")
    dialog(blank).get_by_role("button", name="Rename").click()

    expect(said(blank, words("The branch is called “Lake <b>”."))).to_be_visible()
    expect(title(blank)).to_have_text("Lake <b>")
    expect(row(blank, "Lake <b>")).to_be_visible()
    expect(deed(blank, "Rename")).to_be_focused()
    assert grown.main.details().title == "Lake <b>"


def test_tags_are_changed_line_by_line(blank: Page, user: str, grown: Pond) -> None:
    grown.main.update(tags={"topic": "fish"})
    sign_in(blank, user, at=at_conversation(grown.main.id))

    deed(blank, "Tags").click()
    lines = dialog(blank).get_by_label("Tags")
    expect(lines).to_have_value("topic:fish")
    lines.fill("topic:fish\nbad name:1")
    dialog(blank).get_by_role("button", name="Save").click()
    expect(dialog(blank).get_by_role("alert")).to_contain_text("“bad name” is no name of a tag")
    lines.fill("topic: plants\ndone")
    dialog(blank).get_by_role("button", name="Save").click()

    expect(said(blank, "The tags are saved.")).to_be_visible()
    expect(head(blank).get_by_text("topic:plants")).to_be_visible()
    assert grown.main.details().tags == {"topic": "plants", "done": ""}


def test_tags_that_somebody_else_changed_meanwhile_are_not_overwritten(
    blank: Page, user: str, grown: Pond
) -> None:
    sign_in(blank, user, at=at_conversation(grown.main.id))
    deed(blank, "Tags").click()
    dialog(blank).get_by_label("Tags").fill("mine:1")
    grown.main.update(tags={"theirs": "2"})

    dialog(blank).get_by_role("button", name="Save").click()

    expect(dialog(blank).get_by_role("alert")).to_contain_text(
        "Somebody changed the tags meanwhile. They are now: theirs:2"
    )
    assert grown.main.details().tags == {"theirs": "2"}


def test_a_branch_is_promoted_in_the_head(blank: Page, user: str, grown: Pond) -> None:
    sign_in(blank, user, at=at_conversation(grown.side.id))

    deed(blank, "Promote").click()
    expect(dialog(blank)).to_contain_text(words("in place of “Pond”"))
    dialog(blank).get_by_role("button", name="Make it current").click()

    expect(said(blank, words("“Side arm” is the current branch."))).to_be_visible()
    expect(head(blank).get_by_text("current branch")).to_be_visible()
    expect(deed(blank, "Promote")).to_have_count(0)
    expect(row(blank, "Side arm")).to_be_visible()
    expect(row(blank, "Pond")).to_have_count(0)
    assert grown.side.details().is_current


def test_a_conversation_that_is_not_shared_or_not_there_says_so(
    blank: Page, user: str, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("40[34]")
    sign_in(blank, f"{user}-other", at=at_conversation(grown.main.id))
    expect(said(blank, "This conversation is not shared with you.")).to_be_visible()
    expect(blank.locator("body")).not_to_contain_text("Pond")

    go_to(blank, at_conversation(str(uuid4())))

    expect(said(blank, "This conversation does not exist, or was deleted.")).to_be_visible()
    expect(problem(blank, "Request ")).to_be_visible()
    expect(entries(blank)).to_have_count(0)
    expect(box(blank)).to_be_hidden()
    expect(head(blank).get_by_role("button")).to_have_count(0)
