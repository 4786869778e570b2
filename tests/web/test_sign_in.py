"""Who one is: it is asked first, kept for the tab only, and forgotten with all that was shown."""

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from forklore import Forklore
from forklore_local.version import version
from tests.web import steps
from tests.web.browser import Watch
from tests.web.conftest import AGENTS


def test_a_wrong_key_is_told_and_asked_for_again(blank: Page, user: str, watch: Watch) -> None:
    watch.expect_status("401")
    blank.goto("/")
    steps.fill_sign_in(blank, user, "wrong-key")

    expect(blank.get_by_role("alert")).to_contain_text("key")
    expect(blank.get_by_label("User id")).to_be_visible()
    expect(steps.conversations(blank)).to_be_hidden()

    steps.fill_sign_in(blank, user, AGENTS["planner"])

    expect(steps.conversations(blank)).to_contain_text(f"{user} with agent key")


def test_who_one_is_is_kept_when_the_tab_loads_again(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello", title="Lisbon")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    page.reload()

    expect(steps.conversations(page).get_by_text(user, exact=True)).to_be_visible()
    steps.expect_messages(page, ["Hello"])


def test_another_tab_asks_again(blank: Page, context: BrowserContext, user: str) -> None:
    steps.sign_in(blank, user)

    other = context.new_page()
    other.goto("/")

    expect(other.get_by_label("User id")).to_be_visible()
    assert other.evaluate("[localStorage.length, document.cookie]") == [0, ""]


def test_who_signs_out_leaves_nothing_behind(blank: Page, api: Forklore, user: str, watch: Watch) -> None:
    watch.expect("ERR_FAILED")
    made = steps.talk(api, "The secret of the first one", title="Secret plan")
    page = steps.sign_in(blank, user, key=AGENTS["planner"], at=steps.at_conversation(made.id))
    expect(steps.entry(page, "The secret")).to_be_visible()
    page.route(steps.APPENDS, lambda route: route.abort())
    steps.write(page, "A secret that never arrives")
    expect(steps.said(page, steps.LOST)).to_be_visible()

    steps.sign_out(page)

    body = page.locator("body")
    for word in ("ecret", user):
        expect(body).not_to_contain_text(word)
    values = page.locator("input, textarea").evaluate_all("all => all.map(one => one.value)")
    assert values == ["", ""]
    assert "ecret" not in page.title()
    assert page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})") == "{}"


def test_after_signing_out_no_request_has_the_old_credentials(
    timed: Page, api: Forklore, user: str, url: str
) -> None:
    made = steps.talk(api, "The secret of the first one", title="Secret plan")
    with Forklore(url, token=f"bob-{user}") as bobs:
        other = steps.talk(bobs, "Hello, it is Bob", title="Of Bob")
    page = steps.sign_in(timed, user, key=AGENTS["planner"], at=steps.at_conversation(made.id))
    expect(steps.entry(page, "The secret")).to_be_visible()
    steps.sign_out(page)
    sent: list[tuple[str, str | None]] = []
    page.on("request", lambda one: sent.append((one.headers.get("authorization", ""), agent_of(one))))

    steps.go_to(page, steps.at_conversation(other.id))
    steps.fill_sign_in(page, f"bob-{user}")
    expect(steps.entry(page, "it is Bob")).to_be_visible()
    steps.wait_for_news(page, 2)

    assert {one for one in sent if one[0]} == {(f"Bearer bob-{user}", None)}
    expect(page.locator("body")).not_to_contain_text("ecret")
    expect(page.get_by_role("tab", name="Memory")).to_be_hidden()


def test_two_presses_open_one_page_that_asks_for_nothing_after_one_signs_out(
    timed: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    timed.goto(f"/{steps.at_conversation(made.id)}")
    held = steps.hold(timed, "/", "HEAD")
    timed.get_by_label("User id").fill(user)
    timed.keyboard.press("Enter")
    timed.keyboard.press("Enter")
    steps.let_go(timed, "/", held)
    expect(steps.entry(timed, "Hello")).to_be_visible()

    steps.sign_out(timed)

    steps.expect_silence(timed)


def agent_of(request: Request) -> str | None:
    return request.headers.get("x-api-key")


@pytest.mark.parametrize("letters", ["Łukasz", "zoë", "安 🦊", "z a<b>&'\" ../x?y=z#w"])
def test_a_user_id_with_unusual_characters_comes_in(blank: Page, user: str, letters: str, url: str) -> None:
    unusual = f"{letters} {user}"

    page = steps.sign_in(blank, unusual)
    page.get_by_role("button", name="New conversation").first.click()
    steps.dialog(page).get_by_label("Title").fill("Made by somebody unusual")
    steps.dialog(page).get_by_role("button", name="Create").click()
    steps.send(page, "Hello")

    expect(page.get_by_text(unusual, exact=True).first).to_be_visible()
    expect(steps.entry(page, "Hello")).to_have_accessible_name(unusual)
    with Forklore(url, token=unusual) as theirs:
        assert [one.owner_user_id for one in theirs.conversations()] == [unusual]


def test_no_user_id_is_asked_for_again(blank: Page) -> None:
    blank.goto("/")

    steps.fill_sign_in(blank, "  ")

    expect(blank.get_by_role("alert")).to_contain_text("Choose a user id")


def test_the_page_tells_the_version(blank: Page, user: str) -> None:
    page = steps.sign_in(blank, user)

    expect(steps.conversations(page)).to_contain_text(f"forklore{version()}")
