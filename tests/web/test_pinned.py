"""Pinned messages: one pins and unpins them, and goes to them from the bar above."""

from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from forklore import Conversation, Forklore
from tests.web import steps
from tests.web.steps import at_conversation, go_to, sign_in


def bar(page: Page) -> Locator:
    """The links to what is pinned."""
    return page.get_by_role("navigation", name="Pinned messages").get_by_role("link")


def mark(page: Page, text: str) -> Locator:
    return steps.entry(page, text).get_by_title("Pinned, for all who see it")


def pinned(conversation: Conversation) -> list[str]:
    return [str(entry.content[0]["text"]) for entry in conversation.pinned_entries()]


def press(page: Page, text: str, label: str) -> None:
    steps.entry(page, text).hover()
    steps.entry(page, text).get_by_role("button", name=label).click()


def test_a_message_is_pinned_for_every_branch_that_shows_it_and_unpinned(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Where to?", "By train", "When?")
    asked, answer, _ = made.entries().list()
    other = made.fork(after=answer)
    other.say("user", "How much?")
    page = sign_in(blank, user, at=at_conversation(made.id))
    expect(steps.entry(page, "When?")).to_be_visible()
    expect(bar(page)).to_have_count(0)

    press(page, "By train", "Pin message")
    expect(bar(page)).to_have_text(["By train"])
    expect(steps.said(page, "It is pinned above the messages, for all who see it.")).to_be_visible()
    press(page, "When?", "Pin message")
    press(page, "Where to?", "Pin message")
    expect(bar(page)).to_have_text(["Where to?", "By train", "When?"])
    expect(mark(page, "By train")).to_be_visible()
    assert pinned(made) == ["Where to?", "By train", "When?"]

    go_to(page, at_conversation(other.id))
    expect(steps.entry(page, "How much?")).to_be_visible()
    expect(bar(page)).to_have_text(["Where to?", "By train"])
    press(page, "By train", "Unpin message")
    expect(bar(page)).to_have_text(["Where to?"])
    expect(mark(page, "By train")).to_have_count(0)
    assert pinned(made) == ["Where to?", "When?"]
    made.unpin_entry(asked)
    made.pin_entry(answer)
    page.reload()
    expect(bar(page)).to_have_text(["By train"])


def test_by_keyboard_a_message_is_pinned_and_gone_to(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *(f"Step {number:03}" for number in range(120)))
    first = made.entries().first()
    assert first is not None
    page = sign_in(blank, user, at=at_conversation(made.id, first.id))
    expect(steps.entry(page, "Step 000")).to_be_visible()
    steps.entry(page, "Step 000").focus()
    page.keyboard.press("p")
    expect(bar(page)).to_have_text(["Step 000"])

    go_to(page, at_conversation(made.id))
    expect(steps.entry(page, "Step 119")).to_be_visible()
    expect(steps.entry(page, "Step 000")).to_have_count(0)
    bar(page).first.focus()
    page.keyboard.press("Enter")
    expect(steps.entry(page, "Step 000")).to_be_visible()
    expect(bar(page).first).to_have_attribute("aria-current", "location")
    steps.entry(page, "Step 000").focus()
    page.keyboard.press("p")
    expect(bar(page)).to_have_count(0)
    assert pinned(made) == []


@pytest.mark.parametrize("level", ["writer", "reader"])
def test_who_may_write_unpins_what_others_have_pinned(
    blank: Page, api: Forklore, user: str, level: Literal["writer", "reader"]
) -> None:
    made = steps.talk(api, "Where to?", "<b>By</b> train")
    made.pin_entry(made.entries().list()[1])
    bob = f"bob-{user}"
    made.share(bob, level)
    page = sign_in(blank, bob, at=at_conversation(made.id))
    expect(bar(page)).to_have_text(["<b>By</b> train"])
    expect(mark(page, "By")).to_be_visible()
    if level == "reader":
        expect(page.get_by_role("button", name="Unpin message")).to_have_count(0)
        return

    press(page, "By", "Unpin message")
    expect(bar(page)).to_have_count(0)
    assert pinned(made) == []


def test_a_pin_is_no_note(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Where to?")
    entry = made.entries().list()[0]
    made.pin_entry(entry)
    made.note(entry, "So so", score=1)
    page = sign_in(blank, user, at=at_conversation(made.id))

    expect(steps.entry(page, "Where to?").get_by_role("button", name="1 note, mean 1")).to_be_visible()
    expect(bar(page)).to_have_text(["Where to?"])
