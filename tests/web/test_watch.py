"""The watch over the browser finds what it is there for."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Route

from tests.web.browser import Watch
from tests.web.steps import wait_until

PAGE = """<!doctype html><title>t</title><body>
<script src="/page.js"></script>"""
POLICY = "default-src 'self'"
ELSEWHERE = "http://elsewhere.invalid/x"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("console.error('oh')", "console: error: oh"),
        ("console.warn('oh')", "console: warning: oh"),
        ("throw new TypeError('oh')", "uncaught: oh"),
        ("Promise.reject(new Error('oh'))", "uncaught: oh"),
        (f"fetch('{ELSEWHERE}').catch(() => 0)", "Content Security Policy"),
        (f"new Image().src = '{ELSEWHERE}'", "Content Security Policy"),
        (f"location.href = '{ELSEWHERE}'", f"request: GET {ELSEWHERE}"),
        ("document.body.setAttribute('style', 'color: red')", "Content Security Policy"),
        ("document.body.innerHTML = '<b onclick=\"1\">x</b>'", "Content Security Policy"),
        (
            "const s = document.createElement('script'); s.textContent = '1'; document.body.append(s)",
            "Content",
        ),
        ("document.body.style.color = 'red'; console.log('fine')", None),
    ],
)
def test_what_goes_wrong_in_a_page_is_found(browser: Browser, code: str, found: str | None) -> None:
    watch = Watch("http://page.invalid")
    with browser.new_context() as context:
        watch.follow(context)
        serve(context, code)
        page = context.new_page()
        page.goto("http://page.invalid/")
        if found is None:
            page.wait_for_timeout(200)  # for what the page does after it has loaded
            assert watch.wrong == []
        else:
            wait_until(page, lambda: any(found in one for one in watch.wrong))


def serve(context: BrowserContext, code: str) -> None:
    """Answer a context's requests with a page that runs the code under the explorer's policy."""

    def answer(route: Route) -> None:
        if route.request.url == "http://page.invalid/":
            headers = {"Content-Security-Policy": POLICY, "Content-Type": "text/html"}
            route.fulfill(body=PAGE, headers=headers)
        elif route.request.url == "http://page.invalid/page.js":
            route.fulfill(body=code, headers={"Content-Type": "text/javascript"})
        else:
            route.abort()

    context.route("**/*", answer)


def test_what_a_test_expects_passes_and_nothing_else() -> None:
    watch = Watch("http://page.invalid", wrong=["console: error: one", "console: error: two"])
    watch.expect("one")

    assert watch.unexpected() == ["console: error: two"]


def test_a_status_that_a_test_expects_is_not_found_in_ports_and_ids(browser: Browser) -> None:
    """The text of the console is Chromium's."""
    paths = {"/gone": 404, "/404": 403, "/other": 404}

    def answer(route: Route) -> None:
        route.fulfill(status=paths.get(urlsplit(route.request.url).path, 200))

    watch = Watch("http://page.invalid:4040")
    watch.expect_status("404", "/gone")
    with browser.new_context() as context:
        watch.follow(context)
        context.route("**/*", answer)
        page = context.new_page()
        page.goto("http://page.invalid:4040/")
        for path in paths:
            page.evaluate("path => fetch(path).then(answer => answer.text())", path)
        wait_until(page, lambda: len(watch.wrong) == 3)

    found = watch.unexpected()
    assert [one[one.rindex("(") :] for one in found] == [
        "(http://page.invalid:4040/404)",
        "(http://page.invalid:4040/other)",
    ]
