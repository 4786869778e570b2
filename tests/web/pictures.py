"""`python -m tests.web.pictures`: take the pictures of the explorer for the README.

They show the example on a local server: one message was edited, an agent has a memory. And a table
of answers to one question, and a tree of 300 branches.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from forklore import Forklore
from tests.web.browser import chromium
from tests.web.growing import forest
from tests.web.png import smaller
from tests.web.steps import (
    at_conversation,
    dots,
    edit,
    entry,
    expect_switcher,
    go_to,
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
WIDE, NARROW = {"width": 1280, "height": 720}, {"width": 390, "height": 700}
LOADS_MS = 60_000
ASKED, ASKED_ANEW = "Lemon helped a lot!", "Lemon helped a lot! May I freeze the rest?"
ANSWER = "Yes, for three months. Leave the cream out and stir it in when you warm the soup."
ROUTE = "Where should I stop"
HAIKUS = [
    ("Rain drums on the roof; / the old tin remembers each / summer it has known.", 0.9, 0.0041, 41),
    ("Tin roof, silver song, / a thousand small hands knocking / to be let inside.", 0.8, 0.0112, 38),
    ("It rains. The roof is loud. / I like it very much. / The end.", 0.2, 0.0009, 19),
    ("Drop by drop by drop / the night learns how to applaud / on a borrowed roof.", 0.9, 0.0126, 40),
    ("As an assistant, I can write many kinds of poems about the rain.", 0.0, 0.0010, 17),
    ("Grey clouds come to type / long letters on corrugated / sheets, and send them all.", 0.7, 0.0038, 44),
]
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
            tries = haikus(api)
            woods = forest(api, branches=300, entries=3_000)
        expect(dots(page).filter(has_text="Then stay near the station")).to_be_visible(timeout=LOADS_MS)
        page.get_by_role("tab", name="Memory").click()
        expect(page.get_by_text("no stairs")).to_be_visible()
        take(page, "explorer-dark")

        page = opened(browser, url, viewport=NARROW)
        page.goto(edited)
        expect(entry(page, ANSWER)).to_be_visible()
        take(page, "explorer-narrow")

        page = opened(browser, url, viewport=WIDE)
        go_to(page, tries)
        expect(page.get_by_role("row")).to_have_count(1 + len(HAIKUS), timeout=LOADS_MS)
        expect(page.locator("td", has_text="0.9").first).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer-alternatives")

        page = opened(browser, url, viewport=WIDE, color_scheme="dark")
        go_to(page, f"{at_conversation(woods.id)}/tree")
        expect(page.get_by_text("Branch 10").first).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer-tree")


def opened(browser: Browser, url: str, *, key: str = "", **options: object) -> Page:
    """Return a page in a profile of its own. key: of an agent. options: Playwright's."""
    context = browser.new_context(base_url=url, locale="en-GB", reduced_motion="reduce", **options)  # type: ignore[arg-type]
    return sign_in(context.new_page(), USER, key=key)


def load_example(page: Page) -> None:
    """Load the example, and open its first conversation."""
    page.get_by_role("button", name="Load the example").click()
    expect(entry(page, ASKED)).to_be_visible(timeout=LOADS_MS)
    expect(switcher(turn(page, ASKED))).to_be_visible()


def haikus(api: Forklore) -> str:
    """Ask for a haiku some times. Return the address of the table of all answers."""
    main = api.create(title="A haiku about rain")
    asked = main.say("user", "Write a haiku about rain on a tin roof.")
    for number, (text, score, cost, tokens) in enumerate(HAIKUS):
        chat = main if number == 0 else main.fork(after=asked)
        chat.say("ai", text, usage={"costUsd": cost, "inputTokens": 900, "outputTokens": tokens})
        chat.update(metadata={"score": score})
    return f"{at_conversation(main.id)}/alternatives/{asked.id}"


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
