"""What others do appears by itself, for one small request each time, while somebody looks."""

import re
import time

import pytest
from playwright.sync_api import Page, Request, Response, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.conftest import AGENTS

EVERY_S = 1.5
SHOWN_S = EVERY_S + 1.5  # for a loaded machine; the page itself needs far less than half a second
ANSWER_BYTES_MAX = 500
TREE_MS = 30_000  # the tree looks for new branches at every eighth time

HIDE = """isHidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  Object.defineProperty(document, "visibilityState",
    { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def to_service(page: Page) -> list[Request]:
    """Return a list that gets each request to the service from now on."""
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if "/v1/" in request.url else None)
    return sent


def hide(page: Page, is_hidden: bool = True) -> None:
    """Hide the page's tab, or show it. A browser without windows has no other way to do so."""
    page.evaluate(HIDE, is_hidden)


def test_an_entry_that_was_appended_elsewhere_appears_in_2_s(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()
    took = []

    for text in ("B answers", "C answers", "D answers"):
        made.say("ai", text)
        began = time.monotonic()
        expect(steps.entry(page, text)).to_be_in_viewport()
        took.append(time.monotonic() - began)

    assert max(took) < SHOWN_S, took
    steps.expect_messages(page, ["A asks", "B answers", "C answers", "D answers"])
    expect(steps.dot(page, "D answers")).to_be_visible(timeout=TREE_MS)


def test_many_entries_that_were_appended_elsewhere_appear_in_order(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Message 000")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "Message 000")).to_be_visible()
    texts = [f"Message {number:03}" for number in range(131)]

    steps.say_all(made, texts[1:], first=1)

    steps.expect_messages(page, texts)


def test_the_first_entry_of_an_empty_conversation_appears(blank: Page, api: Forklore, user: str) -> None:
    made = api.create(title="Empty")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(page.get_by_text("No messages yet", exact=True).last).to_be_visible()

    made.say("user", "A asks")

    steps.expect_messages(page, ["A asks"])
    expect(steps.dot(page, "A asks")).to_be_visible(timeout=TREE_MS)


def test_an_entry_of_an_agents_context_appears(blank: Page, api: Forklore, user: str, url: str) -> None:
    made = steps.talk(api, "A asks")
    key = AGENTS["planner"]
    page = steps.sign_in(blank, user, key=key, at=steps.at_conversation(made.id))
    expect(page.get_by_role("region", name="Context")).to_contain_text("remembers nothing here")

    with Forklore(url, token=user, client_key=key) as planner:
        planner.conversation(made.id).context.sync([{"remembered": "Lisbon"}])

    expect(page.get_by_role("region", name="Context")).to_contain_text("Epoch 1")


def test_what_is_new_does_not_move_what_one_reads(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *[f"Message {number:03}. " + "More. " * 60 for number in range(40)])
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "Message 039")).to_be_in_viewport()
    steps.entry(page, "Message 030").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    before = steps.entry(page, "Message 030").bounding_box()

    made.say("user", "Something new")

    expect(page.get_by_role("button", name="New messages")).to_be_visible()
    assert steps.entry(page, "Message 030").bounding_box() == before
    page.get_by_role("button", name="New messages").click()
    expect(steps.entry(page, "Something new")).to_be_in_viewport()
    expect(page.get_by_role("button", name="New messages")).to_be_hidden()


def test_looking_for_news_costs_one_small_request_each_time(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", "B answers")
    made.fork(title="other").say("user", "C asks on")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "C asks on")).to_be_visible()
    steps.wait_for_news(page)
    sent, began = to_service(page), time.monotonic()

    steps.wait_for_news(page, 8)
    took = time.monotonic() - began

    news = [request for request in sent if steps.is_news(request)]
    others = [request for request in sent if not steps.is_news(request)]
    assert 8 * EVERY_S * 0.95 <= took <= 8 * EVERY_S * 1.5
    assert len(news) <= 9
    assert 1 <= len(others) <= 3  # every fourth time the tree is looked at, too
    for request in news[:-1]:
        response = request.response()
        assert response is not None
        assert response.json()["data"] == []
        assert len(response.body()) < ANSWER_BYTES_MAX


def look_at_tree(page: Page) -> list[str]:
    """Let the time pass until the tree has asked for news, and return the entries that came."""

    def is_look(response: Response) -> bool:
        return "allForks" in response.url and "afterCursor" in response.url

    with page.expect_response(is_look) as found:
        for _ in range(8):  # every fourth look is for the tree, by turns for its entries and its branches
            with page.expect_request(steps.is_news):
                page.clock.fast_forward(int(EVERY_S * 1000))
    return [entry["id"] for entry in found.value.json()["data"]]


def test_an_idle_tree_downloads_no_entry_again_and_misses_none(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", "B answers", "C asks")
    blank.clock.install()
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "C asks")).to_be_visible()

    assert look_at_tree(page) != [], "others may have arrived late"
    page.clock.fast_forward(30_000)
    look_at_tree(page)
    assert look_at_tree(page) == []
    new = made.say("ai", "D answers")
    assert look_at_tree(page) == [new.id]
    expect(steps.dot(page, "D answers")).to_be_visible()


def test_a_hidden_tab_asks_for_nothing_and_goes_on_when_it_is_seen_again(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.wait_for_news(page, 2)

    hide(page)
    page.wait_for_timeout(300)  # for what was under way
    sent = to_service(page)
    made.say("ai", "B answers")
    page.wait_for_timeout(3 * EVERY_S * 1000)
    assert sent == []
    steps.expect_messages(page, ["A asks"])
    hide(page, False)

    steps.expect_messages(page, ["A asks", "B answers"])
    steps.wait_for_news(page, 2)


@pytest.mark.parametrize("scope", ["tree", "branch"])
def test_a_conversation_that_was_deleted_elsewhere_is_asked_about_no_more(
    blank: Page, api: Forklore, user: str, watch: Watch, scope: str
) -> None:
    root = steps.talk(api, "A asks", title="Lisbon")
    fork = root.fork(title="Porto")
    watch.expect_status("404", fork.id)
    fork.say("ai", "B answers")
    page = steps.sign_in(blank, user, at=steps.at_conversation(fork.id))
    steps.wait_for_news(page, 2)

    (fork.delete if scope == "branch" else fork.delete_tree)()

    expect(steps.said(page, "This conversation does not exist, or was deleted.")).to_be_visible()
    expect(steps.box(page)).to_be_hidden()
    expect(steps.row(page, "Porto")).to_have_count(0)
    page.wait_for_timeout(500)  # the list is loaded anew
    sent = to_service(page)
    page.wait_for_timeout(3 * EVERY_S * 1000)
    assert sent == []


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


def test_who_is_a_member_no_more_is_told_so(blank: Page, api: Forklore, user: str, watch: Watch) -> None:
    made = steps.talk(api, "A asks", title="Lisbon")
    watch.expect_status("40[34]", made.id)
    made.share(f"bob-{user}", "writer")
    page = steps.sign_in(blank, f"bob-{user}", at=steps.at_conversation(made.id))
    expect(steps.box(page)).to_be_visible()

    api.api.remove_membership(made.id, user_id=f"bob-{user}")

    expect(page.get_by_text(re.compile("not shared with you|does not exist")).first).to_be_visible()
    expect(steps.box(page)).to_be_hidden()


def test_a_fork_that_was_made_elsewhere_appears_in_the_tree_and_the_switcher(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", "B answers", title="Lisbon")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "B answers")).to_be_visible()
    expect(steps.switcher(page)).to_have_count(0)
    answer = made.entries().list()[1]

    made.fork(before=answer, title="Porto").say("ai", "B2 answers")

    expect(steps.dot(page, "B2 answers")).to_be_visible(timeout=TREE_MS)
    expect(steps.switcher(steps.turn(page, "B answers"))).to_be_visible(timeout=TREE_MS)
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 2)
    page.get_by_role("button", name="Later alternative").click()
    steps.expect_messages(page, ["A asks", "B2 answers"])


def test_a_branch_that_was_deleted_elsewhere_leaves_the_tree_and_the_switcher(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", "B answers", title="Lisbon")
    fork = made.fork(before=made.entries().list()[1], title="Porto")
    fork.say("ai", "B2 answers")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 2)
    expect(steps.dot(page, "B2 answers")).to_be_visible()

    fork.delete()

    expect(steps.switcher(page)).to_have_count(0, timeout=TREE_MS)
    expect(steps.dot(page, "B2 answers")).to_have_count(0, timeout=TREE_MS)


def test_a_title_that_was_changed_elsewhere_appears_in_the_tree(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", title="Lisbn")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "Lisbn")).to_be_visible()

    made.update(title="Lisbon")

    expect(steps.dot(page, "Lisbon")).to_be_visible(timeout=TREE_MS)
    expect(steps.title(page)).to_have_text("Lisbon")
