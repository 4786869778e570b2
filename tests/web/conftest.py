"""A real server, a real browser, and for each test a user of its own who has just come."""

import os
import uuid
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from forklore import Forklore
from tests.web.browser import Watch, chromium, slow_down
from tests.web.steps import WAIT_S
from tools.harness.local_server import local_server

AGENTS = {"planner": "planner-key", "hotels": "hotels-key"}
"""The agents that the server knows, and their keys."""
ADMIN = "adam"
SLOWER = "FORKLORE_TEST_SLOWER"
"""If this variable is set, such as to 6, pages have so many times less of the processor."""


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a local server that keeps everything in memory."""
    keys = ",".join(f"{agent}={key}" for agent, key in AGENTS.items())
    with local_server(FORKLORE_API_KEYS=keys, FORKLORE_ADMINS=ADMIN) as url:
        yield url


@pytest.fixture
def recalling() -> Iterator[str]:
    """The address of a server that has a model of meaning."""
    with local_server("forklore_local.server", "--recall", "tests.support.meaning:vectors_of") as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def user() -> str:
    """A user whom no other test uses, so that tests do not meet."""
    return f"ann-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def api(url: str, user: str) -> Iterator[Forklore]:
    """The user's client, which makes what the page shows."""
    with Forklore(url, token=user) as client:
        yield client


@pytest.fixture
def watch(url: str) -> Iterator[Watch]:
    """What goes wrong in the pages of this test. At its end the test fails if there is anything."""
    watch = Watch(url)
    yield watch
    assert watch.unexpected() == []


@pytest.fixture
def new_context(browser: Browser, url: str, watch: Watch) -> Iterator[Callable[..., BrowserContext]]:
    """Return a function that makes another profile of the browser. Options are Playwright's."""
    made: list[BrowserContext] = []

    def new(**options: object) -> BrowserContext:
        context = browser.new_context(base_url=url, reduced_motion="reduce", **options)  # type: ignore[arg-type]
        context.set_default_timeout(WAIT_S * 1000)
        watch.follow(context)
        if slower := os.environ.get(SLOWER):
            context.on("page", lambda page: slow_down(page, float(slower)))
        made.append(context)
        return context

    yield new
    for context in made:
        context.close()


@pytest.fixture
def context(new_context: Callable[..., BrowserContext]) -> BrowserContext:
    """A new profile of the browser."""
    return new_context()


@pytest.fixture
def blank(context: BrowserContext) -> Page:
    """A page that shows nothing yet."""
    return context.new_page()


@pytest.fixture
def timed(blank: Page) -> Page:
    """A blank page in which the test can let time pass: `page.clock`."""
    blank.clock.install()
    return blank
