"""What is shown of the files of messages."""

import io
import json
import re
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from forklore import Conversation, Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.conftest import ADMIN
from tests.web.png import grey

RUN = "window.ran=1"
SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'><script>{RUN}</script></svg>".encode()
LIFE_MS = 16 * 60_000
"""Longer than a link lives."""


def tone() -> bytes:
    """Return a second of sound."""
    held = io.BytesIO()
    with wave.open(held, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes(range(250)) * 32)
    return held.getvalue()


def answer_json(route: Route, change: Callable[[Any], object]) -> None:
    """Let the service answer, and change what it says."""
    answer = route.fetch()
    said = answer.json()
    change(said)
    route.fulfill(response=answer, body=json.dumps(said))


def opened(page: Page, user: str, made: Conversation) -> Page:
    return steps.sign_in(page, user, at=steps.at_conversation(made.id))


@pytest.fixture
def spoilt(blank: Page) -> Callable[[str], list[str]]:
    """Return a function by which the links in entries end at a time, and lead nowhere.

    It returns a list that gets the addresses at which another link was asked for.
    """

    def spoil(ends_at: str) -> list[str]:
        def change(said: Any) -> None:
            for one in said["data"]:
                for file in one.get("attachments", []):
                    file.update(url="/files/00000000-0000-7000-8000-000000000000", urlExpiresAt=ends_at)

        asked: list[str] = []
        blank.route(re.compile(r"/entries\?(?!.*wait=)"), lambda route: answer_json(route, change))
        blank.on("request", lambda one: asked.append(one.url) if "/v1/attachments/" in one.url else None)
        return asked

    return spoil


def test_pictures_are_shown_in_a_bounded_height_and_opened_in_full(
    blank: Page, api: Forklore, user: str
) -> None:
    made = api.create(title="Casa")
    made.say("user", "Is it this one?", files=[("casa.png", grey(900, 1200)), ("dot.png", grey(1, 1))])
    page = opened(blank, user, made)

    for name, height in (("casa.png", "220px"), ("dot.png", "1px")):
        steps.expect_shown(steps.picture(page, name))
        expect(steps.picture(page, name)).to_have_css("height", height)
    expect(steps.entry(page, "Is it this one?")).to_contain_text("casa.png")

    page.get_by_role("button", name="casa.png").click()
    whole = steps.dialog(page)
    steps.expect_shown(steps.picture(whole, "casa.png"))
    assert whole.bounding_box()["height"] <= page.viewport_size["height"]  # type: ignore[index]
    with page.expect_download() as download:
        whole.get_by_role("button", name="Download casa.png").click()
    assert Path(download.value.path()).read_bytes() == grey(900, 1200)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="casa.png")).to_be_focused()


def test_what_may_run_is_named_and_only_downloaded(blank: Page, api: Forklore, user: str) -> None:
    files = [
        ("<img src=x onerror=window.ran=1>.svg", "image/svg+xml", SVG),
        ("page.html", "text/html", f"<script>{RUN}</script>".encode()),
        ("picture.png.html", "image/png", SVG),
        ("é" * 120 + "🌍" * 3 + ".pd", "application/pdf", b"%PDF"),
        ("a.weird", "image/png+xml", SVG),
    ]
    sent = [api.upload((name, held), content_type=kind) for name, kind, held in files]
    made = api.create()
    made.say("user", "", files=sent)
    page = opened(blank, user, made)
    card = steps.entries(page)

    for name, _, held in files:
        expect(card.get_by_text(name, exact=True)).to_be_visible()
        with page.expect_download() as download:
            card.get_by_role("button", name=f"Download {name}", exact=True).click()
        assert Path(download.value.path()).read_bytes() == held
    expect(card).to_contain_text("4 bytes")
    expect(card.locator("iframe, object, embed, script, svg [onload]")).to_have_count(0)
    expect(card.locator("img")).to_have_count(0)
    assert page.evaluate("window.ran") is None


def test_sound_is_asked_for_when_it_is_played_and_a_film_has_controls(
    blank: Page, api: Forklore, user: str
) -> None:
    made = api.create()
    made.say("ai", "Listen", files=[("voice.wav", tone()), ("clip.mp4", b"x")])
    asked: list[str] = []
    blank.on("request", lambda one: asked.append(one.url) if "/files/" in one.url else None)
    page = opened(blank, user, made)
    sound = page.get_by_label("voice.wav", exact=True)

    expect(sound).to_have_attribute("controls", "")
    expect(page.locator("video")).to_have_attribute("controls", "")
    assert asked == []
    sound.evaluate("sound => sound.play()")
    steps.wait_until(page, lambda: sound.evaluate("sound => sound.currentTime") > 0)
    with page.expect_download():
        page.get_by_role("button", name="Download voice.wav").click()
    assert sound.evaluate("sound => sound.currentTime") > 0


def test_a_link_that_is_old_is_not_followed(
    blank: Page, api: Forklore, user: str, spoilt: Callable[[str], list[str]]
) -> None:
    """The watch fails for a request that is refused."""
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    asked = spoilt("2026-01-01T00:00:00.000Z")
    page = opened(blank, user, made)

    steps.expect_shown(steps.picture(page, "casa.png"))
    assert len(asked) == 1
    assert f"conversationId={made.id}" in asked[0]


def test_a_link_that_leads_nowhere_is_asked_for_anew(
    blank: Page, api: Forklore, user: str, spoilt: Callable[[str], list[str]], watch: Watch
) -> None:
    watch.expect_status("403", "/files/")
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey()), ("voice.wav", tone())])
    asked = spoilt("2099-01-01T00:00:00.000Z")
    page = opened(blank, user, made)

    steps.expect_shown(steps.picture(page, "casa.png"))
    page.locator("audio").evaluate("sound => { sound.play().catch(() => 0) }")
    steps.wait_until(page, lambda: page.locator("audio").evaluate("sound => sound.currentTime") > 0)
    assert len(asked) == 2


def test_a_picture_that_was_open_for_long_is_opened_and_downloaded(
    timed: Page, api: Forklore, user: str
) -> None:
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    page = opened(timed, user, made)
    steps.expect_shown(steps.picture(page, "casa.png"))
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/v1/attachments/" in one.url else None)
    page.route("**/files/**", lambda route: route.fallback() if asked else route.fulfill(status=403))

    page.clock.fast_forward(LIFE_MS)
    with page.expect_request("**/v1/attachments/*"):
        page.get_by_role("button", name="casa.png").click()
    steps.expect_shown(steps.picture(steps.dialog(page), "casa.png"))

    with page.expect_request("**/v1/attachments/*"), page.expect_download():
        steps.dialog(page).get_by_role("button", name="Download casa.png").click()


def test_what_is_removed_or_no_picture_says_so(
    blank: Page, api: Forklore, user: str, url: str, watch: Watch
) -> None:
    watch.expect_status("404", "/files/")
    made = api.create()
    said = made.say("user", "Look", files=[("gone.png", grey()), ("plan.pdf", b"%PDF"), ("odd.png", b"no")])
    with Forklore(url, token=ADMIN) as admin:
        for file in (said.attachments or ())[:2]:
            admin.api.admin_remove_attachment(file.id)
    page = opened(blank, user, made)
    card = steps.entry(page, "Look")

    expect(card.locator(".file", has_text="gone.png")).to_contain_text("It was removed.")
    expect(card.locator(".file", has_text="odd.png")).to_contain_text("It cannot be shown.")
    expect(card.locator(".file", has_text="plan.pdf")).to_contain_text("4 bytes")
    card.get_by_role("button", name="Download plan.pdf").click()
    expect(card.locator(".file", has_text="plan.pdf")).to_contain_text("It was removed.")
    expect(card.locator("img")).to_have_count(0)


def test_all_members_see_a_file_and_who_was_removed_does_not(
    blank: Page, new_context: Callable[..., BrowserContext], api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("40[34]")
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey()), ("plan.pdf", b"%PDF")])
    made.share(f"{user}-bob", "reader")
    theirs = opened(new_context().new_page(), f"{user}-bob", made)
    for page in (opened(blank, user, made), theirs):
        steps.expect_shown(steps.picture(page, "casa.png"))

    refused: list[Route] = steps.hold(theirs, "**/v1/attachments/*")
    theirs.get_by_role("button", name="Download plan.pdf").click()
    steps.wait_until(theirs, lambda: bool(refused))
    made.unshare(f"{user}-bob")
    expect(theirs.get_by_role("heading", name="This conversation is not here")).to_be_visible()
    expect(steps.picture(theirs, "casa.png")).to_have_count(0)
    with theirs.expect_response("**/v1/attachments/*") as answer:
        refused[0].continue_()
    assert answer.value.status == 404


def test_lists_trees_and_comparisons_name_a_file(blank: Page, api: Forklore, user: str) -> None:
    made = api.create(title="Casa")
    first = made.say("user", "", files=[("casa.png", grey())])
    other = made.fork(after=first, title="Other")
    made.say("ai", "", files=[("yes.png", grey())])
    other.say("ai", "", files=[("no.png", grey())])
    page = opened(blank, user, made)

    for name in ("casa.png", "yes.png", "no.png"):
        expect(steps.tree(page).get_by_text(name, exact=True)).to_be_visible()
    steps.go_to(page, f"#/c/{made.id}/compare/{other.id}")
    sides = page.get_by_role("region", name="Branches side by side")
    for name in ("yes.png", "no.png"):
        expect(sides.get_by_text(name, exact=True).last).to_be_visible()
    expect(sides.locator("img")).to_have_count(0)
