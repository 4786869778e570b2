"""The network fails, the service is slow or refuses: all goes on, and nothing is done twice."""

import json
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch

LOST = "The server does not answer. You see"
GREETING = "The server answers again."
GREETINGS = """() => {
  window.greetings = [];
  new MutationObserver(changes => changes.forEach(({ addedNodes }) => addedNodes.forEach(node => {
    const [said] = node.textContent.match(/The server answers again./) ?? [];
    if (said) greetings.push(said);
  }))).observe(document.getElementById("toasts"), { childList: true });
}"""
"""Keeps each greeting, however short one sees it."""
CUT_MS = 10_000
APPENDS = "**/v1/conversations/*/entries"


def post_keys(page: Page, end: str) -> list[str]:
    """Return a list that gets the Idempotency-Key of each POST whose address has this end."""
    keys: list[str] = []

    def look(request: Request) -> None:
        if request.method == "POST" and request.url.endswith(end):
            keys.append(request.headers["idempotency-key"])

    page.on("request", look)
    return keys


def lose_answers(page: Page, address: str | re.Pattern[str], times: int = 1) -> list[int]:
    """Let the service do it, and cut the connection before the page has the answer.

    Returns a list that gets the status of each answer that was lost.
    """
    statuses: list[int] = []

    def lose(route: Route) -> None:
        if route.request.method != "POST" or len(statuses) == times:
            route.fallback()
            return
        statuses.append(route.fetch().status)
        route.abort("connectionreset")

    page.route(address, lose)
    return statuses


def test_a_message_is_sent_once_though_the_network_is_cut_for_10_s(
    timed: Page, context: BrowserContext, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED|ERR_FAILED")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()
    keys = post_keys(page, "/entries")
    held = steps.hold(page, APPENDS, "POST")
    steps.write(page, "B answers")
    expect(page.get_by_text("Sending…")).to_be_visible()
    steps.wait_until(page, lambda: bool(held))

    context.set_offline(True)
    held[0].abort("internetdisconnected")
    page.unroute(APPENDS)
    expect(steps.said(page, LOST)).to_be_visible()
    expect(steps.box(page)).to_have_value("B answers")
    expect(steps.box(page)).not_to_be_editable()
    made.say("ai", "C from elsewhere")
    page.clock.fast_forward(CUT_MS)
    context.set_offline(False)

    expect(steps.said(page, LOST)).to_be_hidden()
    steps.expect_messages(page, ["A asks", "C from elsewhere", "B answers"])
    expect(steps.box(page)).to_have_value("")
    expect(steps.box(page)).to_be_editable()
    assert steps.stored(made) == ["USER: A asks", "AI: C from elsewhere", "USER: B answers"]
    assert len(keys) > 1
    assert len(set(keys)) == 1


def test_an_edit_is_sent_once_though_the_network_is_cut_for_10_s(
    timed: Page, context: BrowserContext, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_RESET")
    made = steps.talk(api, "A asks", "B answers", title="root")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "B answers")).to_be_visible()

    lost: list[int] = []

    def lose(route: Route) -> None:  # the service does it, and then the network is cut
        lost.append(route.fetch().status)
        context.set_offline(True)
        route.abort("connectionreset")
        page.unroute(APPENDS)

    page.route(APPENDS, lose)
    steps.edit(page, "A asks", "A2 asks")
    expect(steps.said(page, LOST)).to_be_visible()
    assert lost == [201]
    page.clock.fast_forward(CUT_MS)
    context.set_offline(False)

    steps.expect_messages(page, ["A2 asks"])
    steps.expect_switcher(steps.turn(page, "A2 asks"), 2, 2)
    expect(steps.said(page, LOST)).to_be_hidden()
    forks = made.forks().list()
    assert [steps.stored(api.conversation(one.conversation_id)) for one in forks] == [
        ["USER: A asks", "AI: B answers"],
        ["USER: A2 asks"],
    ]


def test_a_page_that_was_cut_off_while_it_loaded_goes_on_by_itself(
    blank: Page, context: BrowserContext, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED")
    made = steps.talk(api, "A asks", "B answers", title="Lisbon")
    made.fork(title="Porto").say("user", "C asks on")
    page = steps.sign_in(blank, user)
    expect(steps.row(page, "Lisbon")).to_be_visible()

    context.set_offline(True)
    steps.row(page, "Lisbon").click()
    expect(steps.said(page, LOST)).to_be_visible()
    context.set_offline(False)

    steps.expect_messages(page, ["A asks", "B answers"])
    expect(steps.title(page)).to_have_text("Lisbon")
    expect(steps.dots(page)).to_have_count(3)
    assert steps.place_of(page)[0] == made.id


def test_the_views_of_a_whole_tree_say_that_the_server_is_gone(
    blank: Page, context: BrowserContext, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED")
    made = steps.talk(api, "A asks", "B answers")
    at = steps.at_conversation(made.id)
    page = steps.sign_in(blank, user, at=f"{at}/tree")
    expect(steps.dots(page)).to_have_count(1)

    context.set_offline(True)

    for view in ("tree", "alternatives", "compare"):
        steps.go_to(page, f"{at}/{view}")
        expect(steps.said(page, LOST)).to_be_visible()


# The answer is lost


def test_a_message_whose_answer_is_lost_is_there_once(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    keys = post_keys(page, "/entries")
    lost = lose_answers(page, APPENDS, times=2)

    steps.write(page, "B answers", role="AI")

    expect(steps.box(page)).to_have_value("")
    steps.expect_messages(page, ["A asks", "B answers"])
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]
    assert lost == [201, 201]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_fork_whose_answer_is_lost_is_made_once(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    made = steps.talk(api, "A asks", "B answers", "C asks on")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    lost = lose_answers(page, "**/fork")

    steps.press(page, "B answers", "Fork here")

    steps.expect_messages(page, ["A asks", "B answers"])
    assert lost == [201]
    assert len(made.forks().list()) == 2


def test_a_conversation_whose_answer_is_lost_is_made_once(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    page = steps.sign_in(blank, user)
    lost = lose_answers(page, "**/v1/conversations")
    page.get_by_role("button", name="New conversation").first.click()
    steps.dialog(page).get_by_label("Title").fill("Lisbon")

    steps.dialog(page).get_by_role("button", name="Create").click()

    expect(steps.title(page)).to_have_text("Lisbon")
    assert lost == [201]
    assert len(api.conversations().list()) == 1


# The page loads again, or one stops waiting


@pytest.mark.parametrize("is_done", [False, True], ids=["it did not arrive", "it arrived"])
def test_a_message_that_may_have_arrived_is_sent_again_after_a_reload(
    blank: Page, api: Forklore, user: str, watch: Watch, is_done: bool
) -> None:
    watch.expect("ERR_FAILED|ERR_CONNECTION_RESET")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    keys = post_keys(page, "/entries")
    if is_done:
        lose_answers(page, APPENDS, times=99)
    else:
        page.route(APPENDS, lambda route: route.abort())
    steps.write(page, "B answers", role="AI")
    expect(steps.said(page, LOST)).to_be_visible()

    page.reload()
    page.unroute(APPENDS)  # not before: the page tries again

    expect(steps.problem(page, "may not have arrived")).to_be_visible()
    expect(steps.box(page)).to_have_value("B answers")
    expect(steps.box(page)).not_to_be_editable()
    steps.expect_messages(page, ["A asks", "B answers"] if is_done else ["A asks"])
    page.get_by_role("button", name="Send again").click()
    expect(steps.box(page)).to_have_value("")
    steps.expect_messages(page, ["A asks", "B answers"])
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]
    assert len(set(keys)) == 1
    page.reload()
    expect(steps.entry(page, "B answers")).to_be_visible()
    expect(steps.box(page)).to_have_value("")


def test_a_message_that_may_have_arrived_waits_in_its_own_conversation(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_FAILED")
    made, other = steps.talk(api, "A asks", title="Lisbon"), steps.talk(api, "Hello", title="Porto")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    page.route(APPENDS, lambda route: route.abort())
    steps.write(page, "B answers")
    expect(steps.said(page, LOST)).to_be_visible()
    page.reload()
    page.unroute(APPENDS)

    steps.row(page, "Porto").click()
    steps.expect_messages(page, ["Hello"])
    expect(steps.box(page)).to_have_value("")
    expect(steps.box(page)).to_be_editable()
    steps.send(page, "Another message")
    steps.row(page, "Lisbon").click()

    expect(steps.box(page)).to_have_value("B answers")
    page.get_by_role("button", name="Give up").click()
    expect(steps.box(page)).to_be_editable()
    expect(steps.box(page)).to_have_value("B answers")
    steps.box(page).fill("B answers otherwise")
    page.get_by_role("button", name="Send", exact=True).click()
    steps.expect_messages(page, ["A asks", "B answers otherwise"])
    assert steps.stored(made) == ["USER: A asks", "USER: B answers otherwise"]
    assert steps.stored(other) == ["USER: Hello", "USER: Another message"]


def test_after_a_long_time_the_page_gives_up_and_a_second_press_sends_the_same(
    timed: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_FAILED")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    keys = post_keys(page, "/entries")
    page.route(APPENDS, lambda route: route.abort())
    steps.write(page, "B answers", role="AI")
    expect(steps.said(page, LOST)).to_be_visible()
    for _ in range(200):
        if page.get_by_text("Sending…").is_hidden():
            break
        page.clock.fast_forward(20_000)
        page.wait_for_timeout(50)

    expect(steps.problem(page, "The server does not answer.")).to_be_visible()
    expect(steps.box(page)).to_have_value("B answers")
    page.unroute(APPENDS)
    page.get_by_role("button", name="Send again").click()

    steps.expect_messages(page, ["A asks", "B answers"])
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]
    assert len(keys) > 2
    assert len(set(keys)) == 1


# The service answers late, or asks to wait


def overloaded(route: Route, retry_after: int) -> None:
    """Answer as a service that is overloaded."""
    route.fulfill(
        status=503,
        headers={"Retry-After": str(retry_after)},
        json={"code": "unavailable", "message": "too many requests", "requestId": "r-17", "details": {}},
    )


def test_a_service_that_asks_to_wait_is_asked_again_when_it_said(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("503", "/entries")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    at: list[float] = []

    def answer(route: Route) -> None:
        at.append(time.monotonic())
        if len(at) == 1:
            overloaded(route, 3)
        else:
            route.continue_()

    page.route(APPENDS, answer)
    keys = post_keys(page, "/entries")

    steps.send(page, "B answers", role="AI")

    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]
    assert len(at) == 2
    assert at[1] - at[0] >= 2.9
    assert len(set(keys)) == 1


def test_a_list_that_is_asked_to_wait_comes_later(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("503", r"/v1/conversations\?")
    steps.talk(api, "A asks", title="Lisbon")
    times = 0

    def answer(route: Route) -> None:
        nonlocal times
        times += 1
        if times < 3:
            overloaded(route, 1)
        else:
            route.continue_()

    blank.route("**/v1/conversations?*", answer)

    page = steps.sign_in(blank, user)

    expect(steps.row(page, "Lisbon")).to_be_visible()
    assert times >= 3  # the next look may have come


def test_an_answer_after_10_s_is_waited_for(timed: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()
    held = steps.hold(page, APPENDS, "POST")
    steps.write(page, "B answers", role="AI")
    expect(page.get_by_text("Sending…")).to_be_visible()

    page.clock.fast_forward(10_000)
    page.get_by_role("button", name="Send").click()
    steps.box(page).press("Enter")
    steps.wait_until(page, lambda: bool(held))
    assert len(held) == 1
    expect(steps.said(page, LOST)).to_be_hidden()
    held[0].continue_()

    steps.expect_messages(page, ["A asks", "B answers"])
    expect(steps.box(page)).to_have_value("")
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]


def test_a_failure_of_the_service_is_asked_again_by_itself(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("500", "/entries")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    keys = post_keys(page, "/entries")
    broken = {"code": "internal_error", "message": "something went wrong", "requestId": "r-17"}
    page.route(APPENDS, lambda route: route.fulfill(status=500, body=json.dumps(broken)), times=1)

    steps.write(page, "B answers")

    steps.expect_messages(page, ["A asks", "B answers"])
    expect(steps.box(page)).to_have_value("")
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_failure_of_the_service_that_lasts_is_told(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("500", "/entries")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    keys = post_keys(page, "/entries")
    broken = {"code": "internal_error", "message": "something went wrong", "requestId": "r-17"}
    page.route(APPENDS, lambda route: route.fulfill(status=500, body=json.dumps(broken)))

    steps.write(page, "B answers")

    expect(steps.problem(page, "Something went wrong. Request r-17")).to_be_visible()
    page.unroute(APPENDS)
    page.get_by_role("button", name="Send again").click()
    steps.expect_messages(page, ["A asks", "B answers"])
    assert len(keys) == 5
    assert len(set(keys)) == 1


def test_a_fork_and_a_dialog_tell_after_15_s_that_the_service_fails(
    timed: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("(500|404)")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    page.route(re.compile("/(fork|members)"), lambda route: route.fulfill(status=500, body="{}"))
    slow = steps.said(page, "The server has not done it yet. Trying again…")

    steps.press(page, "A asks", "Fork here")
    page.clock.fast_forward(10_000)
    expect(slow).to_have_count(0)
    steps.let_time_pass(page, slow.is_visible)
    steps.let_time_pass(page, steps.problem(page, "").first.is_visible)

    steps.act(page, "Delete the whole tree")
    dialog = steps.dialog(page)
    dialog.get_by_label("I know").check()
    held = steps.hold(page, re.compile("/v1/conversations/"), "DELETE")
    dialog.get_by_role("button", name="Delete 1 branch").click()
    steps.wait_until(page, lambda: bool(held))
    page.clock.fast_forward(10_000)
    expect(dialog.get_by_role("status")).to_have_text("")
    page.clock.fast_forward(6_000)
    expect(dialog.get_by_role("status")).to_have_text("The server has not done it yet. Trying again…")
    held[0].continue_()
    expect(steps.said(page, "The tree is deleted.")).to_be_visible()


def test_a_server_that_comes_and_goes_is_greeted_once(
    timed: Page, context: BrowserContext, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    page.evaluate(GREETINGS)

    for _ in range(2):
        context.set_offline(True)
        steps.let_time_pass(page, steps.said(page, LOST).is_visible)
        context.set_offline(False)
        steps.let_time_pass(page, lambda: not steps.said(page, LOST).is_visible())
        page.clock.fast_forward(9_000)
        expect(steps.said(page, GREETING)).to_have_count(0)
    assert page.evaluate("greetings") == [GREETING]


def test_a_conversation_that_could_not_be_loaded_is_asked_for_again(
    timed: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("500")
    made = steps.talk(api, "A asks")
    broken = {"code": "internal_error", "message": "something went wrong", "requestId": "r-17"}
    address = f"**/v1/conversations/{made.id}"
    timed.route(address, lambda route: route.fulfill(status=500, body=json.dumps(broken)))
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    told = steps.problem(page, "Something went wrong. Request r-17")
    steps.let_time_pass(page, told.is_visible)  # the client itself has asked for long

    page.unroute(address)
    steps.look_now(page)

    steps.expect_messages(page, ["A asks"])
    expect(told).to_be_hidden()
    made.say("ai", "B answers")
    steps.expect_messages(page, ["A asks", "B answers"])


def test_a_message_that_is_refused_can_be_changed(
    blank: Page, api: Forklore, user: str, url: str, watch: Watch, new_context: Callable[..., BrowserContext]
) -> None:
    watch.expect_status("403", "/entries")
    made = steps.talk(api, "A asks")
    made.share(f"bob-{user}", "writer")
    page = steps.sign_in(blank, f"bob-{user}", at=steps.at_conversation(made.id))
    expect(steps.box(page)).to_be_visible()
    api.api.update_membership(made.id, user_id=f"bob-{user}", access_level="reader")

    steps.write(page, "B answers")

    expect(steps.problem(page, re.compile("Request [0-9a-f-]{8}"))).to_be_visible()
    expect(steps.box(page)).to_have_value("B answers")
    expect(steps.box(page)).to_be_editable()
    assert steps.stored(made) == ["USER: A asks"]


# One signs in again, gives up, or goes elsewhere


REFUSED = {"code": "refused", "message": "not so", "requestId": "r-17", "details": {}}


def test_a_draft_is_there_after_one_had_to_sign_in_again(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("401")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.box(page).fill("Half a thought")
    page.route("**/v1/**", lambda route: route.fulfill(status=401, json=REFUSED))
    expect(page.get_by_label("User id")).to_be_visible()
    page.unroute("**/v1/**")

    steps.fill_sign_in(page, user)

    expect(steps.box(page)).to_have_value("Half a thought")
    expect(steps.box(page)).to_be_editable()


def test_a_message_that_may_have_arrived_is_kept_when_one_has_to_sign_in_again(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    watch.expect_status("401")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()
    keys = post_keys(page, "/entries")
    page.route(APPENDS, lambda route: route.fulfill(status=401, json=REFUSED))
    lost = lose_answers(page, APPENDS)
    steps.write(page, "B answers", role="AI")
    expect(page.get_by_label("User id")).to_be_visible()
    assert lost == [201]
    page.unroute(APPENDS)

    steps.fill_sign_in(page, user)

    expect(steps.problem(page, "may not have arrived")).to_be_visible()
    expect(steps.box(page)).to_have_value("B answers")
    page.get_by_role("button", name="Send again").click()
    expect(steps.box(page)).to_have_value("")
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]
    assert len(set(keys)) == 1


def test_a_message_that_is_given_up_is_not_sent_any_more(
    timed: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_FAILED")
    made = steps.talk(api, "A asks")
    page = steps.sign_in(timed, user, at=steps.at_conversation(made.id))
    page.route(APPENDS, lambda route: route.abort())
    steps.write(page, "First wording")
    expect(steps.said(page, LOST)).to_be_visible()

    page.get_by_role("button", name="Give up").click()
    page.unroute(APPENDS)
    steps.send(page, "Second wording")

    page.clock.fast_forward(6000)  # longer than the page waits before it tries again
    page.wait_for_timeout(500)
    assert steps.stored(made) == ["USER: A asks", "USER: Second wording"]


@pytest.mark.parametrize("is_edit", [False, True], ids=["a message", "an edit"])
def test_what_is_refused_while_one_is_elsewhere_is_told_and_waits_there(
    blank: Page, api: Forklore, user: str, watch: Watch, is_edit: bool
) -> None:
    watch.expect_status("413")
    made, _ = steps.talk(api, "A asks", title="Lisbon"), steps.talk(api, "Hello", title="Porto")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    held = steps.hold(page, APPENDS, "POST")
    if is_edit:
        steps.edit(page, "A asks", "A long text")
    else:
        steps.write(page, "A long text")
    steps.wait_until(page, lambda: bool(held))

    steps.row(page, "Porto").click()
    steps.expect_messages(page, ["Hello"])
    held[0].fulfill(status=413, json=REFUSED)

    expect(steps.problem(page, "Not so. Request r-17")).to_be_visible()
    expect(steps.box(page)).to_have_value("")
    for again in (steps.row(page, "Lisbon").click, page.reload):
        again()
        box = page.get_by_role("textbox", name="Your words in its place") if is_edit else steps.box(page)
        expect(box).to_have_value("A long text")
        expect(box).to_be_editable()


def test_an_edit_that_may_have_arrived_is_sent_again_after_a_reload(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    made = steps.talk(api, "A asks", "B answers")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    lost = lose_answers(page, APPENDS, times=99)
    steps.edit(page, "A asks", "A2 asks")
    expect(steps.said(page, LOST)).to_be_visible()
    assert set(lost) == {201}

    page.reload()
    page.unroute(APPENDS)

    expect(steps.problem(page, "may not have arrived")).to_be_visible()
    page.get_by_role("button", name="Send again").click()
    steps.expect_messages(page, ["A2 asks"])
    assert len(made.forks().list()) == 2
    page.get_by_role("button", name="Previous way").click()
    steps.expect_messages(page, ["A asks", "B answers"])
    expect(page.get_by_role("textbox", name="Your words in its place")).to_have_count(0)


def test_a_fork_that_is_asked_for_again_after_one_was_elsewhere_is_made_once(
    blank: Page, api: Forklore, user: str
) -> None:
    made, _ = steps.talk(api, "A asks", "B answers", title="Lisbon"), steps.talk(api, "Hello", title="Porto")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    held = steps.hold(page, "**/fork", "POST")
    steps.press(page, "A asks", "Fork here")
    steps.wait_until(page, lambda: len(held) == 1)
    steps.row(page, "Porto").click()
    steps.expect_messages(page, ["Hello"])
    steps.row(page, "Lisbon").click()

    steps.press(page, "A asks", "Fork here")
    steps.wait_until(page, lambda: len(held) == 2)
    for route in held:
        route.continue_()

    steps.expect_messages(page, ["A asks"])
    expect(steps.said(page, "goes on from here")).to_be_visible()
    assert len(made.forks().list()) == 2


def test_a_part_of_the_page_that_did_not_come_is_loaded_again(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect("ERR_FAILED")
    asked: list[str] = []

    def refuse_once(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.abort()
        else:
            route.continue_()

    blank.route("**/web/Markdown-*.js", refuse_once)
    made = steps.talk(api, "A asks", title="Lisbon")
    made.say("ai", "It is **by the sea**.")

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(page.locator("strong", has_text="by the sea")).to_be_visible()
    assert len(asked) == 2
