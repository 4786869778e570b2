"""Debian's Chromium, and what a page does that no test may overlook."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

REQUIRED = "FORKLORE_REQUIRE_CHROMIUM"
"""If this variable is set, a test fails where Chromium is missing. Otherwise it is skipped."""
ARGUMENTS = [
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def skip_or_fail(missing: str) -> None:
    """Skip the test, or fail it if this machine must have what is missing (REQUIRED)."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{missing}; install it, or unset {REQUIRED}", pytrace=False)
    pytest.skip(f"NOT TESTED in a browser: {missing}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a Chromium without windows. If there is none, skip the test or fail it (REQUIRED).

    Debian's `chromium-headless-shell` takes half the time of `chromium`.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        skip_or_fail("there is no chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def traced(page: Page) -> Iterator[list[float]]:
    """Record what the page does. Afterwards the list has the processor time of each task, in ms.

    A frame is one task of the main thread. What else this machine does at the time does not count.
    """
    browser, tasks = page.context.browser, list[float]()
    assert browser
    browser.start_tracing(page=page, categories=["toplevel"])
    yield tasks
    events = json.loads(browser.stop_tracing())["traceEvents"]
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks += [one["tdur"] / 1000 for one in events if "tdur" in one and (one["pid"], one["tid"]) in mains]


def slow_down(page: Page, times: float) -> None:
    """Give a page so many times less of the processor."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": times})


@dataclass
class Watch:
    """What went wrong in the pages of a context, in order. Each test ends with none of it.

    origin: where everything of the page comes from.
    """

    origin: str
    wrong: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        """Follow a context and all its pages."""
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.wrong.append(f"uncaught: {error.error}"))
        context.on("page", lambda page: page.on("crash", self._crash))

    def expect(self, pattern: str) -> None:
        """Let pass what this regular expression finds: the test causes it on purpose."""
        self.expected.append(pattern)

    def expect_status(self, status: str, path: str = "") -> None:
        """Let pass answers with this status, such as `40[34]`, from addresses with this path."""
        self.expect(rf"^console: error: Failed to load resource: .* a status of {status} .*\(.*{path}.*\)$")

    def unexpected(self) -> list[str]:
        """Return what went wrong and was not expected."""
        return [one for one in self.wrong if not any(re.search(pattern, one) for pattern in self.expected)]

    def _request(self, request: Request) -> None:
        if not request.url.removeprefix("blob:").startswith(f"{self.origin}/"):
            self.wrong.append(f"request: {request.method} {request.url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            place = message.location.get("url", "")
            self.wrong.append(f"console: {message.type}: {message.text} ({place})")

    def _crash(self, page: Page) -> None:
        self.wrong.append(f"crash: {page.url}")
