"""How files are sent with a message."""

import json
import re
from collections.abc import Sequence

from playwright.sync_api import Page, expect

from forklore import Conversation, Forklore
from forklore.client.generated.results import AttachedFile
from tests.web import steps
from tests.web.browser import Watch
from tests.web.png import grey

LARGE = bytes(1_500_000)
"""More than goes along in a request."""
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


def opened(page: Page, user: str, made: Conversation) -> Page:
    return steps.sign_in(page, user, at=steps.at_conversation(made.id))


def attached(made: Conversation) -> Sequence[AttachedFile]:
    """Return the files of the last message."""
    return made.entries().list()[-1].attachments or ()


def drop(page: Page, *files: tuple[str, str, int]) -> bool:
    """Drop files with a name, a type and a size. Returns whether they were taken."""
    return bool(page.evaluate(GIVE, ["drop", "DragEvent", files, []]))


def test_files_are_chosen_dropped_and_pasted_and_sent_with_a_message(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()

    pictures = [(name, "image/png", grey()) for name in ("other.png", "casa.png")]
    steps.choose(page, pictures[0], ("large.bin", "", LARGE), pictures[1])
    assert drop(page, ("dropped.txt", "text/plain", 5))
    assert page.evaluate(GIVE, ["paste", "ClipboardEvent", [["pasted.png", "image/png", 7]], []])
    table = ["paste", "ClipboardEvent", [["table.png", "image/png", 7]], ["text/plain", "text/html"]]
    assert not page.evaluate(GIVE, table)  # its text is what was copied

    expect(steps.enclosed(page)).to_have_text(
        [
            re.compile("other.png"),
            re.compile("large.bin1.5 MB"),
            re.compile("casa.png"),
            re.compile("dropped.txt5 bytes"),
            re.compile("pasted.png7 bytes"),
        ]
    )
    steps.expect_shown(steps.enclosed(page).first.locator("img"))
    for name in ("dropped.txt", "other.png"):
        page.get_by_role("button", name=f"Remove {name}").click()
    expect(steps.enclosed(page)).to_have_count(3)
    expect(steps.enclosed(page).first.locator("img")).to_have_count(0)
    steps.expect_shown(steps.enclosed(page).nth(1).locator("img"))
    steps.send(page, "With files")

    expect(steps.enclosed(page)).to_have_count(0)
    steps.expect_shown(steps.picture(steps.entry(page, "With files"), "casa.png"))
    sent = attached(made)
    assert [one.name for one in sent] == ["large.bin", "casa.png", "pasted.png"]
    assert api.read(sent[0]) == LARGE


def test_a_message_of_files_alone_waits_for_them(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()
    held = steps.hold(page, "**/v1/attachments", "POST")

    steps.choose(page, *((f"{at}.bin", "", bytes([at])) for at in range(5)))
    expect(steps.enclosed(page)).to_have_text([re.compile("sending")] * 3 + [re.compile("waiting")] * 2)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("It is sent when its files are there.")).to_be_visible()
    steps.let_go(page, "**/v1/attachments", held)

    expect(steps.entries(page)).to_have_count(2)
    expect(steps.enclosed(page)).to_have_count(0)
    assert [one.name for one in attached(made)] == [f"{at}.bin" for at in range(5)]


def test_a_message_that_waits_for_files_is_held_and_can_be_taken_back(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()
    held = steps.hold(page, "**/v1/attachments", "POST")
    steps.choose(page, ("casa.png", "image/png", grey()))

    steps.write(page, "Half a")
    expect(steps.box(page)).not_to_be_editable()
    expect(page.get_by_role("button", name="Remove casa.png")).to_have_count(0)
    page.get_by_role("button", name="Do not send yet").click()
    expect(page.get_by_text("It is sent when its files are there.")).to_have_count(0)
    steps.box(page).fill("A whole")
    steps.let_go(page, "**/v1/attachments", held)

    expect(steps.enclosed(page)).to_have_text(re.compile("bytes"))
    expect(steps.box(page)).to_have_value("A whole")
    page.get_by_role("button", name="Send", exact=True).click()
    steps.expect_shown(steps.picture(steps.entry(page, "A whole"), "casa.png"))
    steps.expect_read(page, lambda: steps.entries(page).count(), 2)


def test_how_much_of_a_large_file_has_gone_is_told(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()
    network = page.context.new_cdp_session(page)
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": 200_000})

    steps.choose(page, ("large.bin", "", LARGE))
    expect(steps.enclosed(page)).to_have_text(re.compile(r"[1-9]\d? % of 1\.5 MB"))
    expect(steps.enclosed(page).get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Remove large.bin").click()
    expect(steps.enclosed(page)).to_have_count(0)


def test_a_draft_keeps_files_that_have_arrived_over_a_reload(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    steps.choose(page, ("casa.png", "image/png", grey()))
    expect(steps.enclosed(page)).to_have_text(re.compile("bytes"))

    page.reload()

    expect(steps.enclosed(page)).to_have_text(re.compile("casa.png"))
    page.get_by_role("button", name="Send", exact=True).click()
    steps.expect_shown(steps.picture(steps.feed(page), "casa.png"))
    page.reload()
    steps.expect_shown(steps.picture(steps.feed(page), "casa.png"))
    expect(steps.enclosed(page)).to_have_count(0)


def test_who_signs_out_sends_no_more_of_a_file_and_leaves_nothing(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    held = steps.hold(page, "**/v1/attachments", "POST")
    ended: list[str] = []
    page.on("requestfailed", lambda one: ended.append(one.url))
    steps.choose(page, ("casa.png", "image/png", grey()))
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
    expect(steps.enclosed(page).first).to_contain_text("It has more than 100 MB.")
    expect(steps.enclosed(page).last).to_contain_text("[U+202E]gnp.exe")
    expect(steps.enclosed(page).last.get_by_role("alert")).to_be_visible()
    for name in ("huge.bin", "[U+202E]gnp.exe"):
        page.get_by_role("button", name=f"Remove {name}").click()

    page.route("**/files/**", lambda route: route.abort())
    steps.choose(page, ("large.bin", "", LARGE))
    expect(steps.enclosed(page).get_by_role("alert")).to_be_visible()
    steps.write(page, "With a file")
    expect(page.get_by_text("A file was not sent. Try again, or remove it.")).to_be_visible()
    page.unroute("**/files/**")
    page.get_by_role("button", name="Try again: large.bin").click()
    expect(steps.enclosed(page)).to_have_text(re.compile("large.bin1.5 MB"))
    page.get_by_role("button", name="Send", exact=True).click()
    expect(steps.entry(page, "With a file")).to_contain_text("large.bin")


def test_a_message_has_at_most_ten_files(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello")
    page = opened(blank, user, made)
    expect(steps.entry(page, "Hello")).to_be_visible()

    drop(page, *((f"{at}.txt", "", at + 1) for at in range(12)))

    expect(page.get_by_text("A message has at most 10 files: 2 files are left out.")).to_be_visible()
    expect(steps.enclosed(page)).to_have_count(10)
    expect(steps.enclosed(page).get_by_text("byte")).to_have_count(10)
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

    steps.choose(page, ("casa.png", "image/png", grey()))

    expect(steps.enclosed(page)).to_contain_text("This deployment keeps no attachments.")
    expect(page.get_by_role("button", name="Attach files")).to_have_count(0)
    page.get_by_role("button", name="Remove casa.png").click()
    steps.send(page, "Without")
