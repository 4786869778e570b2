"""`python -m tests.web.pictures`: take the pictures of the explorer for the README.

They show the two examples on a local server, the memory of an agent, and a tree of 300 branches.
"""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

from playwright.sync_api import Browser, Page, expect

from forklore import Forklore
from tests.web.browser import chromium
from tests.web.png import smaller
from tests.web.steps import at_conversation, dots, entry, go_to, place_of, row, sign_in
from tools.harness.local_server import local_server

ROOT = Path(__file__).parents[2]
IMAGES, EXAMPLES = ROOT / "docs/images", ROOT / "examples"
BYTES_MAX = 150_000
USER, AGENT, KEY = "ann", "planner", "planner-key"
WIDE, NARROW = {"width": 1280, "height": 720}, {"width": 390, "height": 700}
LOADS_MS = 60_000
EXPORT, ASKED, ANSWER = "The nightly export is slow", "Fix it, and show me", "Done: 2 min 51 s"
ROUTE = "Where should I stop"
FACTS = [{"fact": "four days in October"}, {"fact": "from Vienna to Ljubljana by train"}]
STEPS = ("Ask", "Offer", "Leave out", "Begin with", "End with", "Repeat", "Shorten", "Move up")
THINGS = (
    "the order number", "a refund", "the apology", "the customer's name", "a date",
    "one question", "the tracking link", "the small print", "a voucher", "the reason",
)  # fmt: skip


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with local_server(FORKLORE_API_KEYS=f"{AGENT}={KEY}") as url, chromium() as browser:
        for example in ("trees", "agent_run"):
            command = ("--url", url, "--token", USER, "import", str(EXAMPLES / f"{example}.jsonl"))
            subprocess.run([sys.executable, "-m", "forklore.cli", *command], check=True)

        page = opened(browser, url, viewport=WIDE)
        row(page, EXPORT).click()
        expect(entry(page, ANSWER)).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer")
        run = page.url

        page = opened(browser, url, viewport=NARROW)
        page.goto(run)
        expect(entry(page, ANSWER)).to_be_visible()
        take(page, "explorer-narrow")

        page = opened(browser, url, viewport=WIDE)
        row(page, EXPORT).click()
        entry(page, ASKED).scroll_into_view_if_needed()
        page.get_by_role("link", name="Compare all").click()
        expect(page.get_by_role("row")).to_have_count(5, timeout=LOADS_MS)
        expect(page.locator("td", has_text="0.96")).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer-alternatives")

        page = opened(browser, url, key=KEY, viewport=WIDE, color_scheme="dark")
        row(page, "I have four days in October and would li…").click()
        expect(entry(page, ROUTE)).to_be_visible()
        with Forklore(url, token=USER, client_key=KEY) as api:
            chat = api.conversation(place_of(page)[0])
            chat.turn("user", "We are three, and one of us hates stairs.", context=FACTS)
            facts = [*FACTS[1:], {"fact": "four days, three people"}, {"fact": "no stairs"}]
            chat.turn("ai", "Then stay near the station, in a house with a lift.", context=facts)
            best = search(api)
        expect(dots(page).filter(has_text="Then stay near the station")).to_be_visible(timeout=LOADS_MS)
        page.get_by_role("tab", name="Memory").click()
        expect(page.get_by_text("no stairs")).to_be_visible()
        take(page, "explorer-dark")

        page = opened(browser, url, viewport=WIDE, color_scheme="dark")
        go_to(page, f"{at_conversation(best)}/tree")
        expect(page.get_by_text("300 branches, $")).to_be_visible(timeout=LOADS_MS)
        take(page, "explorer-tree")


def search(api: Forklore) -> str:
    """Make a tree of 300 tries, of which good ones are tried further. Return the id of the best."""
    random, now = Random(3), datetime.now(UTC)
    root = api.create(title="Fewer angry replies: which prompt?")
    made = [(root.id, root.append_all([_try("Write a reply to a late parcel.", now, 0)] * 6), 0.3)]
    for number in range(1, 300):
        source, entries, before = max(random.sample(made, min(6, len(made))), key=lambda one: one[2])
        score = min(0.98, max(0.03, before + random.gauss(-0.01, 0.1)))
        at = now - timedelta(minutes=300 - number)
        said = f"{random.choice(STEPS)} {random.choice(THINGS)}"
        chat = api.conversation(str(uuid4()))
        tried = chat.append_all(
            [_try(said, at, random.random() / 200)] * random.randint(2, 9),
            forked_at_conversation_id=source,
            forked_at_entry_id=random.choice(entries).id,
            forked_at_position="after",
            metadata={"score": round(score, 2)},
        )
        made.append((chat.id, tried, score))
    return max(made, key=lambda one: one[2])[0]


def _try(text: str, at: datetime, cost: float) -> dict[str, object]:
    said = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = [{"role": "AI", "text": text, "source": {"createdAt": said}}]
    return {"contentType": "history", "content": content, "usage": {"costUsd": round(cost, 4)}}


def opened(browser: Browser, url: str, *, key: str = "", **options: object) -> Page:
    """Return a page in a profile of its own. key: of an agent. options: Playwright's."""
    context = browser.new_context(base_url=url, locale="en-GB", reduced_motion="reduce", **options)  # type: ignore[arg-type]
    return sign_in(context.new_page(), USER, key=key)


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
