"""Files of messages: what is shown of them, and how they are sent."""

import io
import json
import re
import wave
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from forklore import Conversation, Forklore
from forklore.client.results import AttachedFile
from tests.clients.cli.exploring import forwarder
from tests.web import steps
from tests.web.browser import Watch
from tests.web.conftest import ADMIN
from tests.web.png import grey

RUN = "window.ran=1"
SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'><script>{RUN}</script></svg>".encode()
LARGE = bytes(1_500_000)
"""More than goes along in a request."""
LIFE_MS = 16 * 60_000
"""Longer than a link lives."""
IS_LOADED = "image => image.complete && image.naturalWidth > 0"
GIVE = """([name, type, files, kinds]) => {
  const data = new DataTransfer();
  for (const [name, type, size] of files) {
    const piece = new Blob([new Uint8Array(Math.min(size, 1_000_000))]);
    data.items.add(new File(Array(Math.ceil(size / 1_000_000)).fill(piece), name, { type }));
  }
  for (const kind of kinds) data.setData(kind, "words");
  const options = { bubbles: true, cancelable: true };
  const event = type === "ClipboardEvent"
    ? new ClipboardEvent(name, { ...options, clipboardData: data })
    : new DragEvent(name, { ...options, dataTransfer: data });
  document.querySelector(".pen textarea").dispatchEvent(event);
  return event.defaultPrevented;
}"""
"""Drops or pastes files with a name, a type and a size."""


def tone() -> bytes:
    """Return a second of sound."""
    held = io.BytesIO()
    with wave.open(held, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes(range(250)) * 32)
    return held.getvalue()


def opened(page: Page, user: str, made: Conversation) -> Page:
    return steps.sign_in(page, user, at=steps.at_conversation(made.id))


def picture(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("img", name=name, exact=True)


def expect_shown(image: Locator) -> None:
    """Wait until a picture is there, pixel by pixel."""
    expect(image).to_be_visible()
    steps.wait_until(image.page, lambda: bool(image.evaluate(IS_LOADED)))


def enclosed(page: Page) -> Locator:
    """The files of the message that is written."""
    return page.get_by_role("list", name="Files of this message").get_by_role("listitem")


def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Choose files with a name, a type and bytes."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    given: list[Any] = [{"name": name, "mimeType": kind, "buffer": held} for name, kind, held in files]
    chooser.value.set_files(given)


def attached(made: Conversation) -> Sequence[AttachedFile]:
    """Return the files of the last message."""
    return made.entries().list()[-1].attachments or ()


def drop(page: Page, *files: tuple[str, str, int]) -> bool:
    """Drop files with a name, a type and a size. Returns whether they were taken."""
    return bool(page.evaluate(GIVE, ["drop", "DragEvent", files, []]))


def answer_json(route: Route, change: Callable[[Any], object]) -> None:
    """Let the service answer, and change what it says."""
    answer = route.fetch()
    said = answer.json()
    change(said)
    route.fulfill(response=answer, body=json.dumps(said))


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


# What is shown


def test_pictures_are_shown_in_a_bounded_height_and_opened_in_full(
    blank: Page, api: Forklore, user: str
) -> None:
    made = api.create(title="Casa")
    made.say("user", "Is it this one?", files=[("casa.png", grey(900, 1200)), ("dot.png", grey(1, 1))])
    page = opened(blank, user, made)

    for name in ("casa.png", "dot.png"):
        expect_shown(picture(page, name))
        expect(picture(page, name)).to_have_css("height", "220px")
    expect(steps.entry(page, "Is it this one?")).to_contain_text("casa.png")

    page.get_by_role("button", name="casa.png").click()
    whole = steps.dialog(page)
    expect_shown(picture(whole, "casa.png"))
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

    expect_shown(picture(page, "casa.png"))
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

    expect_shown(picture(page, "casa.png"))
    page.locator("audio").evaluate("sound => { sound.play().catch(() => 0) }")
    steps.wait_until(page, lambda: page.locator("audio").evaluate("sound => sound.currentTime") > 0)
    assert len(asked) == 2


def test_a_picture_that_was_open_for_long_is_opened_and_downloaded(
    timed: Page, api: Forklore, user: str
) -> None:
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    page = opened(timed, user, made)
    expect_shown(picture(page, "casa.png"))

    page.clock.fast_forward(LIFE_MS)
    page.get_by_role("button", name="casa.png").click()

    with page.expect_request("**/v1/attachments/*"), page.expect_download():
        steps.dialog(page).get_by_role("button", name="Download casa.png").click()
    expect_shown(picture(steps.dialog(page), "casa.png"))


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
        expect_shown(picture(page, "casa.png"))

    refused: list[Route] = steps.hold(theirs, "**/v1/attachments/*")
    theirs.get_by_role("button", name="Download plan.pdf").click()
    steps.wait_until(theirs, lambda: bool(refused))
    made.unshare(f"{user}-bob")
    expect(theirs.get_by_role("heading", name="This conversation is not here")).to_be_visible()
    expect(picture(theirs, "casa.png")).to_have_count(0)
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


# What is sent


def test_files_are_chosen_dropped_and_pasted_and_sent_with_a_message(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()

    choose(page, ("casa.png", "image/png", grey()), ("large.bin", "", LARGE))
    assert drop(page, ("dropped.txt", "text/plain", 5))
    assert page.evaluate(GIVE, ["paste", "ClipboardEvent", [["pasted.png", "image/png", 7]], []])
    table = ["paste", "ClipboardEvent", [["table.png", "image/png", 7]], ["text/plain", "text/html"]]
    assert not page.evaluate(GIVE, table)  # its text is what was copied

    expect(enclosed(page)).to_have_text(
        [
            re.compile("casa.png"),
            re.compile("large.bin1.5 MB"),
            re.compile("dropped.txt5 bytes"),
            re.compile("pasted.png7 bytes"),
        ]
    )
    expect_shown(enclosed(page).first.locator("img"))
    page.get_by_role("button", name="Remove dropped.txt").click()
    steps.send(page, "With files")

    expect(enclosed(page)).to_have_count(0)
    expect_shown(picture(steps.entry(page, "With files"), "casa.png"))
    sent = attached(made)
    assert [one.name for one in sent] == ["casa.png", "large.bin", "pasted.png"]
    assert api.read(sent[1]) == LARGE


def test_a_message_of_files_alone_waits_for_them(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()
    held = steps.hold(page, "**/v1/attachments", "POST")

    choose(page, *((f"{at}.bin", "", bytes([at])) for at in range(5)))
    expect(enclosed(page)).to_have_text([re.compile("sending")] * 3 + [re.compile("waiting")] * 2)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("It is sent when its files are there.")).to_be_visible()
    steps.let_go(page, "**/v1/attachments", held)

    expect(steps.entries(page)).to_have_count(2)
    expect(enclosed(page)).to_have_count(0)
    assert [one.name for one in attached(made)] == [f"{at}.bin" for at in range(5)]


def test_how_much_of_a_large_file_has_gone_is_told(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()
    network = page.context.new_cdp_session(page)
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": 200_000})

    choose(page, ("large.bin", "", LARGE))
    expect(enclosed(page)).to_have_text(re.compile(r"[1-9]\d? % of 1\.5 MB"))
    expect(enclosed(page).get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Remove large.bin").click()
    expect(enclosed(page)).to_have_count(0)


def test_a_draft_keeps_files_that_have_arrived_over_a_reload(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    choose(page, ("casa.png", "image/png", grey()))
    expect(enclosed(page)).to_have_text(re.compile("bytes"))

    page.reload()

    expect(enclosed(page)).to_have_text(re.compile("casa.png"))
    page.get_by_role("button", name="Send", exact=True).click()
    expect_shown(picture(steps.feed(page), "casa.png"))
    page.reload()
    expect_shown(picture(steps.feed(page), "casa.png"))
    expect(enclosed(page)).to_have_count(0)


def test_who_signs_out_sends_no_more_of_a_file_and_leaves_nothing(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    held = steps.hold(page, "**/v1/attachments", "POST")
    ended: list[str] = []
    page.on("requestfailed", lambda one: ended.append(one.url))
    choose(page, ("casa.png", "image/png", grey()))
    steps.box(page).fill("A secret")
    steps.wait_until(page, lambda: bool(held))

    steps.sign_out(page)

    steps.wait_until(page, lambda: any(one.endswith("/v1/attachments") for one in ended))
    assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"


def test_what_cannot_be_sent_is_told_and_tried_again(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("400", "/v1/attachments")
    watch.expect("ERR_FAILED")
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()

    assert drop(page, ("huge.bin", "", 100_000_001 + 999_999), ("\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe", "", 1))
    expect(enclosed(page).first).to_contain_text("It has more than 100 MB.")
    expect(enclosed(page).last).to_contain_text("[U+202E]gnp.exe")
    expect(enclosed(page).last.get_by_role("alert")).to_be_visible()
    for name in ("huge.bin", "[U+202E]gnp.exe"):
        page.get_by_role("button", name=f"Remove {name}").click()

    page.route("**/files/**", lambda route: route.abort())
    choose(page, ("large.bin", "", LARGE))
    expect(enclosed(page).get_by_role("alert")).to_be_visible()
    steps.write(page, "With a file")
    expect(page.get_by_text("A file was not sent. Try again, or remove it.")).to_be_visible()
    page.unroute("**/files/**")
    page.get_by_role("button", name="Try again: large.bin").click()
    expect(enclosed(page)).to_have_text(re.compile("large.bin1.5 MB"))
    page.get_by_role("button", name="Send", exact=True).click()
    expect(steps.entry(page, "With a file")).to_contain_text("large.bin")


def test_a_message_has_at_most_ten_files(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()

    drop(page, *((f"{at}.txt", "", at + 1) for at in range(12)))

    expect(page.get_by_text("A message has at most 10 files: 2 files are left out.")).to_be_visible()
    expect(enclosed(page)).to_have_count(10)
    expect(enclosed(page).get_by_text("byte")).to_have_count(10)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(steps.entries(page).last.locator(".file")).to_have_count(10)


def test_a_server_that_keeps_no_files_is_asked_once(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    watch.expect_status("409", "/v1/attachments")
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    said = {"message": "this deployment keeps no attachments", "reason": "attachments_off"}
    refusal = json.dumps({"code": "conflict", "error": "Conflict", "details": said})
    page.route("**/v1/attachments", lambda route: route.fulfill(status=409, body=refusal))

    choose(page, ("casa.png", "image/png", grey()))

    expect(enclosed(page)).to_contain_text("This deployment keeps no attachments.")
    expect(page.get_by_role("button", name="Attach files")).to_have_count(0)
    page.get_by_role("button", name="Remove casa.png").click()
    steps.send(page, "Without")


# A stage


@pytest.fixture
def staged(url: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[tuple[Page, Watch]]:
    """The page of `forklore explore` for a stage whose files are at an address of their own."""
    allowed = getattr(request, "param", True)
    elsewhere = lambda route: answer_text(route, '"/files/', f'"{url}/files/')  # noqa: E731
    with forwarder(url, files_at=url if allowed else None) as server:
        watch = Watch(server.url.rstrip("/"))
        watch.expect(f"^request: (GET|PUT|OPTIONS) {url}/files/")
        with browser.new_context(base_url=server.url) as context:
            context.set_default_timeout(steps.WAIT_S * 1000)
            watch.follow(context)
            page = context.new_page()
            page.route(re.compile("/v1/(attachments|conversations/.*/entries(?!.*wait=))"), elsewhere)
            yield page, watch


def answer_text(route: Route, old: str, new: str) -> None:
    """Let the service answer, and change what it says."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(old, new))


def sign_in_to_stage(page: Page, user: str, made: Conversation) -> None:
    page.goto(f"/{steps.at_conversation(made.id)}")
    page.get_by_label("Token").fill(user)
    page.get_by_role("button", name="Open").click()


def test_files_of_a_stage_are_got_from_its_bucket_and_sent_there_without_a_token(
    staged: tuple[Page, Watch], api: Forklore, user: str
) -> None:
    page, watch = staged
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    to_bucket: list[str] = []
    page.on("request", lambda one: to_bucket.append(str(one.all_headers())) if "/files/" in one.url else None)
    sign_in_to_stage(page, user, made)

    expect_shown(picture(page, "casa.png"))
    choose(page, ("large.bin", "", LARGE))
    expect(enclosed(page)).to_have_text(re.compile("large.bin1.5 MB"))

    assert len(to_bucket) >= 2
    assert [one for one in to_bucket if user in one or "authorization" in one.lower()] == []
    assert watch.unexpected() == []


@pytest.mark.parametrize("staged", [False], indirect=True)
def test_files_of_a_stage_whose_bucket_was_not_named_are_not_asked_for(
    staged: tuple[Page, Watch], api: Forklore, user: str, url: str
) -> None:
    page, _ = staged
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    sign_in_to_stage(page, user, made)

    told = f"To see it here, start forklore explore with --attachments {url}"
    expect(steps.entry(page, "Look")).to_contain_text(told)
