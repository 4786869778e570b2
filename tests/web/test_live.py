"""What others do appears by itself, for one small request each time, while somebody looks."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Request, Response, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.steps import EVERY_MS

ANSWER_BYTES_MAX = 500
LOOKS = 8

HIDE = """isHidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  Object.defineProperty(document, "visibilityState",
    { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def hide(page: Page, is_hidden: bool = True) -> None:
    """Hide the page's tab, or show it. A browser without windows has no other way to do so."""
    page.evaluate(HIDE, is_hidden)


def test_many_entries_that_were_appended_elsewhere_appear_in_order(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Message 000")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "Message 000")).to_be_visible()
    texts = [f"Message {number:03}" for number in range(131)]

    steps.say_all(made, texts[1:], first=1)
    steps.let_time_pass(page, lambda: steps.entries(page).count() == len(texts))

    steps.expect_messages(page, texts)


def test_the_first_entry_of_an_empty_conversation_appears(timed: Page, api: Forklore, user: str) -> None:
    made = api.create(title="Empty")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(page.get_by_text("No messages yet", exact=True).last).to_be_visible()

    made.say("user", "A asks")

    steps.expect_messages(page, ["A asks"])
    steps.let_time_pass(page, steps.dot(page, "A asks").is_visible)


def test_what_is_new_does_not_move_what_one_reads(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *[f"Message {number:03}. " + "More. " * 60 for number in range(40)])
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "Message 039")).to_be_in_viewport()
    steps.entry(page, "Message 030").scroll_into_view_if_needed()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    before = steps.entry(page, "Message 030").bounding_box()

    made.say("user", "Something new")

    expect(page.get_by_role("button", name="New messages")).to_be_visible()
    assert steps.entry(page, "Message 030").bounding_box() == before
    page.get_by_role("button", name="New messages").click()
    expect(steps.entry(page, "Something new")).to_be_in_viewport()
    expect(page.get_by_role("button", name="New messages")).to_be_hidden()


def test_looking_for_news_costs_one_small_request_each_time(timed: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", "B answers")
    made.fork(title="other").say("user", "C asks on")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "C asks on")).to_be_visible()
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if "/v1/" in request.url else None)
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    times = 1  # what was due in that minute is done once

    def look() -> bool:
        nonlocal times
        page.clock.fast_forward(EVERY_MS)  # does nothing while the page still reads an answer
        times += 1
        page.wait_for_timeout(50)
        return all(one.response() for one in sent) and len(news()) >= LOOKS

    def news() -> list[Response]:
        return [answer for one in sent if steps.is_news(one) and (answer := one.response())]

    steps.wait_until(page, look)

    assert len(news()) <= times
    assert 3 <= len(sent) - len(news()) <= 5  # every second time the tree is looked at, too
    assert all(answer.json()["data"] == [] for answer in news())
    assert max(len(answer.body()) for answer in news()) < ANSWER_BYTES_MAX


def look_at_tree(page: Page) -> list[str]:
    """Let the time pass until the tree has asked for news, and return the entries that came."""

    def is_look(response: Response) -> bool:
        return "allForks" in response.url and "afterCursor" in response.url

    with page.expect_response(is_look) as found:
        steps.let_time_pass(page, found.is_done)
    return [entry["id"] for entry in found.value.json()["data"]]


def test_an_idle_tree_downloads_no_entry_again_and_misses_none(timed: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", "B answers", "C asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "C asks")).to_be_visible()

    assert look_at_tree(page) != [], "others may have arrived late"
    page.clock.fast_forward(30_000)
    look_at_tree(page)
    assert look_at_tree(page) == []
    new = made.say("ai", "D answers")
    assert look_at_tree(page) == [new.id]
    expect(steps.dot(page, "D answers")).to_be_visible()


def test_a_hidden_tab_asks_for_nothing_and_goes_on_when_it_is_seen_again(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    steps.wait_for_news(page, 2)

    hide(page)
    steps.expect_silence(page)
    made.say("ai", "B answers")
    steps.expect_silence(page)
    steps.expect_messages(page, ["A asks"])
    hide(page, False)

    steps.expect_messages(page, ["A asks", "B answers"])
    steps.wait_for_news(page, 2)


@pytest.mark.parametrize("scope", ["tree", "branch"])
def test_a_conversation_that_was_deleted_elsewhere_is_asked_about_no_more(
    timed: Page, api: Forklore, user: str, watch: Watch, scope: str
) -> None:
    root = steps.talk(api, "A asks", title="Lisbon")
    fork = root.fork(title="Porto")
    watch.expect_status("404", fork.id)
    fork.say("ai", "B answers")
    page = steps.sign_in(timed, user, at=steps.at_conversation(fork.id))
    steps.wait_for_news(page, 2)

    (fork.delete if scope == "branch" else fork.delete_tree)()

    expect(steps.said(page, "This conversation does not exist, or was deleted.")).to_be_visible()
    expect(steps.box(page)).to_be_hidden()
    expect(steps.row(page, "Porto")).to_have_count(0)
    steps.expect_silence(page)


def test_a_half_written_text_can_be_read_when_its_conversation_is_gone(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    made = steps.talk(api, "A asks", title="Lisbon")
    watch.expect_status("404", made.id)
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.box(page).fill("Half a thought")
    steps.press(page, "A asks", "Edit")
    edited = page.get_by_role("textbox", name="The message in other words")
    edited.fill("A2 asks")

    made.delete()

    expect(steps.said(page, "This conversation does not exist, or was deleted.")).to_be_visible()
    for box, text in ((steps.box(page), "Half a thought"), (edited, "A2 asks")):
        expect(box).to_have_value(text)
        expect(box).not_to_be_editable()
    expect(page.get_by_role("button", name="Send")).to_have_count(0)


def test_a_fork_that_was_made_elsewhere_appears_in_the_tree_and_the_switcher(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", "B answers", title="Lisbon")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "B answers")).to_be_visible()
    expect(steps.switcher(page)).to_have_count(0)
    answer = made.entries().list()[1]

    made.fork(before=answer, title="Porto").say("ai", "B2 answers")

    steps.let_time_pass(page, steps.dot(page, "B2 answers").is_visible)
    steps.let_time_pass(page, steps.switcher(steps.turn(page, "B answers")).is_visible)
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 2)
    page.get_by_role("button", name="Later alternative").click()
    steps.expect_messages(page, ["A asks", "B2 answers"])


def test_a_branch_that_was_deleted_elsewhere_leaves_the_tree_and_the_switcher(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", "B answers", title="Lisbon")
    fork = made.fork(before=made.entries().list()[1], title="Porto")
    fork.say("ai", "B2 answers")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 2)
    expect(steps.dot(page, "B2 answers")).to_be_visible()

    fork.delete()

    steps.let_time_pass(page, lambda: not steps.switcher(page).count())
    steps.let_time_pass(page, lambda: not steps.dot(page, "B2 answers").count())


def test_a_title_that_was_changed_elsewhere_appears_in_the_tree(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", title="Lisbn")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "Lisbn")).to_be_visible()

    made.update(title="Lisbon")

    steps.let_time_pass(page, steps.dot(page, "Lisbon").is_visible)
    expect(steps.title(page)).to_have_text("Lisbon")
