"""What others do appears by itself, for one small request each time, while somebody looks."""

import pytest
from playwright.sync_api import Page, Response, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch

ANSWER_BYTES_MAX = 500
LOOKS = 4

HIDE = """isHidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  Object.defineProperty(document, "visibilityState",
    { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def hide(page: Page, is_hidden: bool = True) -> None:
    """Hide the page's tab, or show it. A browser without windows has no other way to do so."""
    page.evaluate(HIDE, is_hidden)


def test_entries_that_were_appended_elsewhere_appear_in_order(blank: Page, api: Forklore, user: str) -> None:
    made = api.create(title="Empty")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(page.get_by_role("main").get_by_text("No messages yet", exact=True)).to_be_visible()
    texts = [f"Message {number:03}" for number in range(131)]

    steps.say_all(made, texts)

    expect(steps.entry(page, texts[-1])).to_be_in_viewport()
    expect(page.get_by_text("No messages yet", exact=True)).to_be_hidden()
    seen: set[str] = set()

    def look() -> bool:
        """Read what is drawn, which is not what is far away, and scroll up."""
        shown = steps.messages(page)
        assert shown == sorted(shown)
        seen.update(shown)
        page.locator(".talk .scroll").evaluate("one => one.scrollTop -= 600")
        return texts[0] in seen

    steps.wait_until(page, look)
    assert seen == set(texts)


def test_an_answer_appears_while_it_is_written_and_can_be_stopped(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", title="Lisbon")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    live = page.get_by_role("article", name="An answer that is written")
    answer = api.api.begin_answer(made.id)

    for after, words, shown in [(0, "It is ", "It is"), (1, "written", "It is written")]:
        api.api.append_to_answer(made.id, answer.id, after=after, content=[words])
        expect(live.locator(".body")).to_have_text(shown)
    steps.look_now(page)
    expect(steps.row(page, "Lisbon")).to_contain_text("now")
    page.get_by_role("button", name="Stop").click()

    expect(live).to_contain_text("stopped")
    made.say("ai", "It is written", answer_id=answer.id)
    steps.expect_messages(page, ["A asks", "It is written"])
    steps.look_now(page)
    expect(steps.row(page, "Lisbon")).not_to_contain_text("now")


def test_a_message_that_waits_for_an_answer_is_held_and_can_be_taken_back(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks")
    answer = api.api.begin_answer(made.id)
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(page.get_by_role("button", name="Stop")).to_be_visible()

    steps.write(page, "Half a")
    expect(page.get_by_text("Your message waits")).to_be_visible()
    expect(steps.box(page)).not_to_be_editable()
    page.get_by_role("button", name="Do not send yet").click()
    expect(page.get_by_text("Your message waits")).to_have_count(0)
    steps.write(page, "A whole")
    expect(page.get_by_text("Your message waits")).to_be_visible()
    made.say("ai", "B answers", answer_id=answer.id)

    steps.expect_messages(page, ["A asks", "B answers", "A whole"])


def test_what_is_new_does_not_move_what_one_reads(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *[f"Message {number:03}. " + "More. " * 60 for number in range(40)])
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "Message 039")).to_be_in_viewport()
    steps.entry(page, "Message 030").scroll_into_view_if_needed()
    expect(steps.entry(page, "Message 030")).to_be_in_viewport(ratio=1)
    before = steps.resting(page, steps.entry(page, "Message 030"))

    made.say("user", "Something new")

    expect(page.get_by_role("button", name="New messages")).to_be_visible()
    assert steps.entry(page, "Message 030").bounding_box() == before
    page.get_by_role("button", name="New messages").click()
    expect(steps.entry(page, "Something new")).to_be_in_viewport()
    expect(page.get_by_role("button", name="New messages")).to_be_hidden()


def test_looking_for_news_costs_small_requests(timed: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", "B answers")
    made.fork(title="other").say("user", "C asks on")
    with timed.expect_response(lambda one: "/names" in one.url):  # of the first look for what stands beside
        page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.dot(page, "C asks on")).to_be_visible()
    sent: list[Response] = []
    page.on("response", lambda answer: sent.append(answer) if "/v1/" in answer.url else None)

    steps.wait_for_news(page, LOOKS)

    assert len(sent) <= 4 * LOOKS  # the branches, the list, and now and then the names, or what is new
    assert all(len(answer.body()) < ANSWER_BYTES_MAX for answer in sent if answer.status != 304)
    lists = [answer.json()["data"] for answer in sent if "/entries" in answer.url and answer.status == 200]
    assert [one for some in lists for one in some] == []


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
    expect(steps.entry(page, "B answers")).to_be_visible()

    (fork.delete if scope == "branch" else fork.delete_tree)()

    expect(steps.title(page)).to_have_text("This conversation is not here")
    expect(steps.box(page)).to_have_count(0)
    expect(steps.row(page, "Porto")).to_have_count(0)
    steps.expect_silence(page, fork.id)


def test_a_half_written_text_can_be_read_when_its_conversation_is_gone(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    made = steps.talk(api, "A asks", title="Lisbon")
    watch.expect_status("404", made.id)
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.box(page).fill("Half a thought")
    steps.press(page, "A asks", "Edit")
    steps.edit_box(page).fill("A asks anew")

    made.delete()

    expect(steps.title(page)).to_have_text("This conversation is not here")
    boxes = page.get_by_role("textbox", name="What you had written")
    expect(boxes).to_have_count(2)
    for box, words in ((boxes.first, "Half a thought"), (boxes.last, "A asks anew")):
        expect(box).to_have_value(words)
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
    steps.look_now(page)

    expect(steps.dot(page, "B2 answers")).to_be_visible()
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 2)
    page.get_by_role("button", name="Next way").click()
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
    steps.look_now(page)

    expect(steps.switcher(page)).to_have_count(0)
    expect(steps.dot(page, "B2 answers")).to_have_count(0)


def test_a_title_that_was_changed_elsewhere_appears(timed: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", title="Lisbn")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.title(page)).to_have_text("Lisbn")

    made.update(title="Lisbon")
    steps.look_now(page)

    expect(steps.title(page)).to_have_text("Lisbon")
    expect(steps.row(page, "Lisbon")).to_be_visible()
