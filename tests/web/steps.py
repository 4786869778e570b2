"""What a person does in the explorer, and where the parts of the page are."""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from playwright.sync_api import FloatRect, Locator, Page, Request, Route, expect

from forklore import Conversation, Forklore, role_of, text_of

WAIT_S = 30
"""How long something may take on a machine that has other work, too."""
LOST = "The server does not answer."
"""What the page says while no request comes back."""
APPENDS = "**/v1/conversations/*/entries"
EVERY_MS = 3000
"""How often the page looks at the tree, as in web/explorer/service/grove.ts."""
expect.set_options(timeout=WAIT_S * 1000)

# Coming and going


def sign_in(page: Page, user: str, *, key: str = "", at: str = "#/") -> Page:
    """Open the page, say who one is, and return it.

    key: of an agent. at: what to open, such as `at_conversation(id)`.
    """
    page.goto(f"/{at}")
    fill_sign_in(page, user, key)
    expect(page.locator(".frame")).to_be_visible()
    return page


def fill_sign_in(page: Page, user: str, key: str = "") -> None:
    """Fill the form that asks who one is, and send it."""
    page.get_by_label("User id").fill(user)
    page.get_by_label("Agent key").fill(key)
    page.get_by_role("button", name="Open", exact=True).click()


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("User id")).to_be_visible()


def at_conversation(conversation_id: str, entry_id: str = "") -> str:
    """Return the end of the address of a conversation, or of an entry in it."""
    return f"#/c/{conversation_id}" + (f"/e/{entry_id}" if entry_id else "")


def go_to(page: Page, at: str) -> None:
    """Open another address in a page that knows who one is."""
    page.goto(f"/{at}")


def place_of(page: Page) -> tuple[str, str]:
    """Return the ids of the open conversation and of the chosen entry, or "" for each."""
    found = re.search(r"#/c/([0-9a-f-]{36})(?:/e/([0-9a-f-]{36}))?$", page.url)
    return (found.group(1), found.group(2) or "") if found else ("", "")


# The parts of the page


def conversations(page: Page) -> Locator:
    """The list of conversations."""
    return page.get_by_role("navigation", name="Conversations")


def rows(page: Page) -> Locator:
    """The links in the list of conversations, from the top."""
    return conversations(page).get_by_role("listitem").get_by_role("link")


def row(page: Page, title: str) -> Locator:
    """The link to the conversation with this title."""
    return rows(page).filter(has=page.get_by_text(title, exact=True))


def title(page: Page) -> Locator:
    """The title of the open conversation."""
    return page.get_by_role("main").get_by_role("heading", level=1)


def head(page: Page) -> Locator:
    """What stands above the messages: the title, what one may do, chips."""
    return page.locator("header.head")


def deeds(page: Page) -> Locator:
    """Open what one may do with the open branch, and return its items."""
    head(page).get_by_role("button", name="More actions").click()
    return page.get_by_role("menuitem")


def act(page: Page, label: str) -> None:
    """Choose what one may do with the open branch, by the beginning of its words."""
    deeds(page).filter(has_text=label).click()


def feed(page: Page) -> Locator:
    """The messages of the open conversation."""
    return page.get_by_role("group", name="Messages", exact=True)


def entries(page: Page) -> Locator:
    """The cards of the entries that are loaded, the oldest first."""
    return feed(page).get_by_role("article")


def entry(page: Page, text: str) -> Locator:
    """The card of the entry with this text in it."""
    return entries(page).filter(has_text=text)


def turn(page: Page, text: str) -> Locator:
    """An entry's card together with its buttons and the ways before it."""
    return feed(page).locator(".step").filter(has=page.get_by_role("article").filter(has_text=text))


def switcher(place: Locator | Page) -> Locator:
    """Where ways part before a turn, ‹ 2 / 3 ›; of a page: all of them."""
    return place.get_by_role("group", name=re.compile(r"^Way \d|ways? from here$"))


def expect_switcher(place: Locator | Page, at: int, of: int) -> None:
    """Wait until the one switcher there has this count."""
    expect(switcher(place)).to_have_text(re.compile(rf"{at} / {of}"))
    expect(switcher(place)).to_have_accessible_name(f"Way {at} of {of}")


def messages(page: Page) -> list[str]:
    """Return the texts of the entries that are loaded, the oldest first."""
    return entries(page).locator(".body").all_inner_texts()


def expect_messages(page: Page, texts: Sequence[str]) -> None:
    """Wait until the entries that are loaded have these texts, and there are no others."""
    expect(entries(page).locator(".body")).to_have_text(list(texts))


def tree(page: Page) -> Locator:
    """The picture of the fork tree."""
    return page.get_by_role("tree", name="Fork tree")


def dots(page: Page) -> Locator:
    """The rows of the fork tree that are drawn, in no order."""
    return tree(page).get_by_role("treeitem")


def dot(page: Page, name: str | re.Pattern[str]) -> Locator:
    """The row of the fork tree with this in its accessible name."""
    return tree(page).get_by_role("treeitem", name=name)


def dialog(page: Page) -> Locator:
    """The newest of the open dialogs."""
    return page.get_by_role("dialog").last


def said(page: Page, sentence: str | re.Pattern[str]) -> Locator:
    """The status line with this sentence."""
    return page.get_by_role("status").filter(has_text=sentence)


def problem(page: Page, sentence: str | re.Pattern[str]) -> Locator:
    """What went wrong, in this sentence."""
    return page.get_by_role("alert").filter(has_text=sentence)


def search(page: Page, text: str) -> Locator:
    """Open the palette, type there, and return what it found."""
    field = page.get_by_role("combobox", name="Search or go to")
    if not field.is_visible():
        page.keyboard.press("Control+k")
    field.fill(text)
    return page.get_by_role("listbox", name="Found").get_by_role("option")


# News


def is_news(request: Request) -> bool:
    """Whether a request looks whether the tree has changed."""
    return "/forks?" in request.url


def wait_for_news(page: Page, times: int = 1) -> None:
    """Let time pass in a `timed` page until it has begun to ask for news so many times."""
    for _ in range(times):
        with page.expect_request(is_news):
            page.clock.fast_forward(EVERY_MS)


def look_now(page: Page) -> None:
    """Let a `timed` page look for news now, if it waits for its next look."""
    page.clock.fast_forward(2 * EVERY_MS)


def let_time_pass(page: Page, is_so: Callable[[], bool], *, drawn_ms: int = 50) -> None:
    """Let time pass in a `timed` page, one look for news after the other, until it is so.

    drawn_ms: for so long the page may draw what a look has found, before time passes again.
    """

    def look() -> bool:
        page.clock.fast_forward(EVERY_MS)
        page.wait_for_timeout(drawn_ms)
        return is_so()

    wait_until(page, look)


def expect_silence(page: Page, about: str = "/v1/") -> None:
    """Wait until a `timed` page asks for nothing with this in its address, though time passes."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if about in request.url else None)

    def is_silent() -> bool:
        before = len(sent)
        for _ in range(4):
            page.clock.fast_forward(EVERY_MS)
            page.wait_for_timeout(100)
        return len(sent) == before

    wait_until(page, is_silent)


def hold(page: Page, address: str | re.Pattern[str], method: str = "GET") -> list[Route]:
    """Hold the requests to this address back, in the list that is returned."""
    held: list[Route] = []

    def answer(route: Route) -> None:
        if route.request.method == method:
            held.append(route)
        else:
            route.fallback()

    page.route(address, answer)
    return held


def let_go(page: Page, address: str | re.Pattern[str], held: list[Route]) -> None:
    """Wait for a request that is held back, let all go, and hold no others."""
    wait_until(page, lambda: bool(held))
    while held:
        held.pop().continue_()
    page.unroute(address)


def expect_read(page: Page, read: Callable[[], object], value: object) -> None:
    """Wait until what is read in the page is this value."""
    give_up_at = time.monotonic() + WAIT_S
    while (found := read()) != value and time.monotonic() < give_up_at:
        page.wait_for_timeout(20)
    assert found == value


SCROLL = """(one, top) => new Promise((done) => {
    const wanted = Math.min(top, one.scrollHeight - one.clientHeight);
    one.scrollTop = wanted;
    requestAnimationFrame(() => done(Math.abs(one.scrollTop - wanted) < 1));
})"""
"""Scrolls, and tells whether the page has seen it: what is drawn before that may take it back."""
FAR = 1_000_000


def scroll(page: Page, box: Locator, top: int = FAR) -> None:
    """Scroll to a place, or to the end, and wait until the page has seen it."""
    wait_until(page, lambda: bool(box.evaluate(SCROLL, top)))


def resting(page: Page, part: Locator) -> FloatRect:
    """Return where a part of the page stands when it moves no more."""
    give_up_at = time.monotonic() + WAIT_S
    earlier = None
    while (place := part.bounding_box()) is None or place != earlier:
        assert time.monotonic() < give_up_at, f"{part} moves after {WAIT_S} s"
        earlier = place
        page.wait_for_timeout(200)
    return place


def wait_until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait until it is so. What happens in the page meanwhile is seen."""
    give_up_at = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < give_up_at, f"it is not so after {WAIT_S} s"
        page.wait_for_timeout(20)


# Writing


def box(page: Page) -> Locator:
    """The text box under the open conversation."""
    return page.get_by_role("textbox", name=re.compile("^Write "))


def edit_box(page: Page) -> Locator:
    """The text box in which a message is put in other words."""
    return page.get_by_role("textbox", name="Your words in its place")


def write(page: Page, text: str, *, role: str = "") -> None:
    """Write a message and send it, and do not wait for the answer. role: such as "AI"."""
    if role:
        page.get_by_role("combobox", name="Role").select_option(role)
    box(page).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def send(page: Page, text: str, *, role: str = "") -> None:
    """Write a message, send it, and wait until it stands in the conversation."""
    write(page, text, role=role)
    expect(entry(page, text)).to_be_visible()
    expect(box(page)).to_have_value("")


def edit(page: Page, old: str, new: str) -> None:
    """Put a message in other words and send it in a new branch; do not wait for the answer."""
    turn(page, old).get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Your words in its place").fill(new)
    page.get_by_role("button", name="Send on a new branch").click()


def press(page: Page, text: str, label: str) -> None:
    """Press a button of the entry with this text."""
    turn(page, text).get_by_role("button", name=label).click()


# Files

IS_LOADED = "image => image.complete && image.naturalWidth > 0"


def picture(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("img", name=name, exact=True)


def expect_shown(image: Locator) -> None:
    """Wait until a picture is there, pixel by pixel."""
    expect(image).to_be_visible()
    wait_until(image.page, lambda: bool(image.evaluate(IS_LOADED)))


def enclosed(page: Page) -> Locator:
    """The files of the message that is written."""
    return page.get_by_role("list", name="Files of this message").get_by_role("listitem")


def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Choose files with a name, a type and bytes."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    given: list[Any] = [{"name": name, "mimeType": kind, "buffer": held} for name, kind, held in files]
    chooser.value.set_files(given)


# What is stored


def talk(api: Forklore, *texts: str, title: str | None = None) -> Conversation:
    """Return a conversation in which the user and the AI said these texts in turn."""
    made = api.create(title=title)
    say_all(made, texts)
    return made


def say_all(conversation: Conversation, texts: Sequence[str], *, first: int = 0) -> None:
    """Append messages of the user and the AI in turn. first: 1 if the AI begins."""
    told = [
        {"contentType": "history", "content": [{"role": ("USER", "AI")[(first + at) % 2], "text": text}]}
        for at, text in enumerate(texts)
    ]
    for at in range(0, len(told), 50):
        conversation.append_all(told[at : at + 50])


def stored(conversation: Conversation) -> list[str]:
    """Return what a conversation shows in the store: `USER: text` and so on."""
    shown = conversation.entries(channel="history").list()
    return [f"{(role_of(one) or '').upper()}: {text_of(one)}" for one in shown]
