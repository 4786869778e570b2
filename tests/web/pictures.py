"""`python -m tests.web.pictures`: take the pictures of the explorer for the README.

They show the example on a local server: one message was edited, and an agent has a memory.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from forklore import Forklore
from tests.web.browser import chromium
from tests.web.png import smaller
from tests.web.steps import (
    conversations,
    dots,
    edit,
    entry,
    expect_switcher,
    place_of,
    row,
    send,
    sign_in,
    switcher,
    turn,
)
from tools.harness.local_server import local_server

IMAGES = Path(__file__).parents[2] / "docs/images"
BYTES_MAX = 150_000
USER, AGENT, KEY = "ann", "planner", "planner-key"
WIDE, NARROW = {"width": 1180, "height": 600}, {"width": 390, "height": 700}
LOADS_MS = 60_000
ASKED, ASKED_ANEW = "Lemon helped a lot!", "Lemon helped a lot! May I freeze the rest?"
ANSWER = "Yes, for three months. Leave the cream out and stir it in when you warm the soup."
ROUTE = "Where should I stop"
FACTS = [{"fact": "four days in October"}, {"fact": "from Vienna to Ljubljana by train"}]


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with local_server(FORKLORE_API_KEYS=f"{AGENT}={KEY}") as url, chromium() as browser:
        load_example(opened(browser, url, key=KEY))

        page = opened(browser, url, viewport=WIDE)
        row(page, "My tomato soup tastes flat. What can I d").click()
        expect(entry(page, ASKED)).to_be_visible()
        edit(page, ASKED, ASKED_ANEW)
        expect(entry(page, ASKED_ANEW)).to_be_visible()
        send(page, ANSWER, role="AI")
        expect_switcher(turn(page, ASKED_ANEW), 3, 3)
        expect(dots(page).filter(has_text="Yes, for three months")).to_be_visible()
        take(page, "explorer")
        edited = page.url

        page = opened(browser, url, key=KEY, viewport=WIDE, color_scheme="dark")
        row(page, "I have four days in October and would li").click()
        expect(entry(page, ROUTE)).to_be_visible()
        with Forklore(url, token=USER, client_key=KEY) as api:
            chat = api.conversation(place_of(page)[0])
            chat.turn("user", "We are three, and one of us hates stairs.", context=FACTS)
            facts = [*FACTS[1:], {"fact": "four days, three people"}, {"fact": "no stairs"}]
            chat.turn("ai", "Then stay near the station, in a house with a lift.", context=facts)
        expect(page.get_by_role("region", name="Context").get_by_text("Epoch 2")).to_be_visible()
        expect(dots(page).filter(has_text="Then stay near the station")).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer-dark")

        page = opened(browser, url, viewport=NARROW)
        page.goto(edited)
        expect(entry(page, ANSWER)).to_be_visible()
        page.get_by_role("button", name="Tree", exact=True).click()
        expect(dots(page).filter(has_text="Yes, for three months")).to_be_visible()
        take(page, "explorer-narrow")


def opened(browser: Browser, url: str, *, key: str = "", **options: object) -> Page:
    """Return a page in a profile of its own. key: of an agent. options: Playwright's."""
    context = browser.new_context(base_url=url, locale="en-GB", reduced_motion="reduce", **options)  # type: ignore[arg-type]
    return sign_in(context.new_page(), USER, key=key)


def load_example(page: Page) -> None:
    """Load the example, and open its first conversation."""
    conversations(page).get_by_role("button", name="Load an example").click()
    expect(entry(page, ASKED)).to_be_visible(timeout=LOADS_MS)
    expect(switcher(turn(page, ASKED))).to_be_visible()


def take(page: Page, name: str) -> None:
    """Write the picture of a page as it is now."""
    page.mouse.move(0, 0)
    page.evaluate("() => document.activeElement.blur()")
    picture = smaller(page.screenshot())
    sys.stdout.write(f"{name}.png: {len(picture):,} bytes\n")
    assert len(picture) <= BYTES_MAX, "the picture is too large for a README"
    (IMAGES / f"{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
