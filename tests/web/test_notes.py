"""Notes on messages: one reads, adds and deletes them. The history is there without them."""

import re

from playwright.sync_api import Locator, Page, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.steps import at_conversation, dialog, go_to, sign_in

NOTES = re.compile(r"/v1/conversations/[^/]+/notes(\?|$)")


def mark(page: Page, text: str) -> Locator:
    """The mark of the message with this text in it."""
    return steps.entry(page, text).get_by_role("button", name=re.compile(r"^\d+ notes?\b"))


def notes(page: Page) -> Locator:
    """The notes that are shown."""
    return page.get_by_role("list", name="Notes").get_by_role("listitem")


def test_notes_are_read_added_and_deleted(blank: Page, api: Forklore, user: str, url: str) -> None:
    made = steps.talk(api, "Where to?", "By train")
    answer = made.entries().list()[1]
    bob = f"bob-{user}"
    made.share(bob, "writer")
    with Forklore(url, token=bob) as client:
        client.conversation(made.id).note(answer, "<b>Too slow</b>\nBy far", score=0)
    page = sign_in(blank, user, at=at_conversation(made.id))
    expect(mark(page, "By train")).to_have_accessible_name("1 note, mean 0")
    expect(mark(page, "Where to?")).to_have_count(0)

    mark(page, "By train").click()
    expect(notes(page)).to_have_count(1)
    expect(notes(page)).to_contain_text("<b>Too slow</b>")
    page.get_by_label("Text of the note").fill("I like it")
    page.get_by_role("textbox", name="Score").fill("high")
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    expect(steps.problem(page, "“high” is no number.")).to_be_visible()
    page.get_by_role("textbox", name="Score").fill("1")
    page.get_by_label("Text of the note").press("Enter")
    expect(notes(page)).to_have_count(2)
    expect(mark(page, "By train")).to_have_accessible_name("2 notes, mean 0.5")
    assert [(one.text, one.score) for one in made.notes()] == [
        ("<b>Too slow</b>\nBy far", 0),
        ("I like it", 1),
    ]

    notes(page).filter(has_text="Too slow").get_by_role("button", name="Delete").click()
    dialog(page).get_by_role("button", name="Delete").click()
    expect(mark(page, "By train")).to_have_accessible_name("1 note, mean 1")
    expect(steps.entry(page, "By train")).to_be_focused()
    assert [one.text for one in made.notes()] == ["I like it"]


def test_who_may_not_write_reads_notes_and_deletes_only_their_own(
    blank: Page, api: Forklore, user: str, url: str
) -> None:
    made = steps.talk(api, "Where to?", "By train")
    _, answer = made.entries().list()
    bob = f"bob-{user}"
    made.share(bob, "writer")
    with Forklore(url, token=bob) as client:
        client.conversation(made.id).note(answer, "Of Bob")
    made.note(answer, "Of the owner")
    made.share(bob, "reader")
    page = sign_in(blank, bob, at=at_conversation(made.id))

    mark(page, "By train").click()
    expect(notes(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Add a note")).to_have_count(0)
    expect(page.get_by_label("Text of the note")).to_have_count(0)
    expect(notes(page).filter(has_text="Of the owner").get_by_role("button")).to_have_count(0)
    notes(page).filter(has_text="Of Bob").get_by_role("button", name="Delete").click()
    dialog(page).get_by_role("button", name="Delete").click()
    expect(notes(page).filter(has_text="Of Bob")).to_have_count(0)
    expect(notes(page)).to_contain_text("Of the owner")
    assert [one.text for one in made.notes()] == ["Of the owner"]


def test_by_keyboard_a_note_is_added_to_a_message_and_is_in_every_branch_that_shows_it(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Where to?", "By train")
    asked, _ = made.entries().list()
    other = made.fork(after=asked)
    other.say("assistant", "By ship")
    page = sign_in(blank, user, at=at_conversation(made.id, asked.id))
    expect(steps.entry(page, "Where to?")).to_be_visible()
    steps.entry(page, "Where to?").focus()

    page.keyboard.press("n")
    expect(page.get_by_label("Text of the note")).to_be_focused()
    page.keyboard.type("Which one?")
    page.keyboard.press("Enter")
    expect(mark(page, "Where to?")).to_have_accessible_name("1 note")
    page.keyboard.press("Escape")
    expect(notes(page)).to_have_count(0)
    expect(steps.entry(page, "Where to?")).to_be_focused()
    go_to(page, at_conversation(other.id))
    expect(steps.entry(page, "By ship")).to_be_visible()
    mark(page, "Where to?").click()
    expect(notes(page)).to_contain_text("Which one?")


def test_the_history_is_there_without_notes(blank: Page, api: Forklore, user: str, watch: Watch) -> None:
    watch.expect_status("404", "/notes")
    made = steps.talk(api, "Where to?", "By train")
    asked, answer = made.entries().list()
    made.note(asked, "First")
    made.note(answer, "Second")

    def answer_404(route: Route) -> None:
        route.fulfill(status=404, json={"error": "not_found", "message": "no such route"})

    blank.route(NOTES, answer_404)
    with blank.expect_response(NOTES):
        page = sign_in(blank, user, at=at_conversation(made.id))
    steps.expect_messages(page, ["Where to?", "By train"])
    steps.send(page, "And back?")
    expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    expect(mark(page, "By train")).to_have_count(0)

    page.unroute(NOTES)
    page.reload()
    expect(mark(page, "By train")).to_be_visible()
    expect(mark(page, "Where to?")).to_be_visible()
