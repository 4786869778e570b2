"""Whom the page and the service trust: the small server for a stage, its successor, other pages."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from forklore import Forklore
from forklore.cli.exploring.forwarder import Forwarder
from tests.clients.cli.exploring import Seen, answering, forwarder, odd_stage
from tests.clients.cli.test_process import RUN_S, started
from tests.web import steps
from tests.web.browser import Watch
from tests.web.png import grey
from tests.web.steps import wait_until
from tests.web.test_restart import kept_port

CALL = """async ([url, key]) => {
  const headers = {
    Authorization: "Bearer ann",
    "X-API-Key": key,
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(),
    "X-Request-Id": "asked-for",
  };
  const told = [];
  const ask = async (method, path, more = {}) => {
    const body = method === "GET" || method === "DELETE" ? undefined : "{}";
    const answer = await fetch(url + path, { method, headers: { ...headers, ...more }, body });
    told.push([method, answer.status, answer.headers.get("X-Request-Id")]);
    return answer;
  };
  const made = await (await ask("POST", "/v1/conversations")).json();
  const path = `/v1/conversations/${made.id}`;
  await ask("GET", path);
  await ask("PATCH", path);
  await ask("POST", `${path}/promote`, { "If-Match": '"x"' });
  await ask("DELETE", path);
  await ask("GET", path);
  return told;
}"""
"""Calls of a page that is not the explorer: every method, every header, an error."""


@pytest.fixture
def elsewhere(browser: Browser) -> Iterator[Page]:
    """A page that another server of this machine serves, under no policy."""
    with (
        odd_stage(answering(200, b"<!doctype html><p>Hello", Content_Type="text/html")) as (url, _),
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(url)
        yield page


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Open").click()


@pytest.fixture
def staged(url: str, browser: Browser) -> Iterator[tuple[Forwarder, BrowserContext, Watch]]:
    """The page of `forklore explore`, with what goes wrong in it."""
    with forwarder(url) as server:
        watch = Watch(server.url.rstrip("/"))
        with browser.new_context(base_url=server.url) as context:
            watch.follow(context)
            yield server, context, watch
        assert watch.unexpected() == []


def test_the_page_shows_a_stage_to_who_pastes_a_token(
    staged: tuple[Forwarder, BrowserContext, Watch], api: Forklore, user: str
) -> None:
    api.create(title="Two nights in Lisbon")
    page = staged[1].new_page()
    page.goto("/")
    sign_in(page, user)

    expect(page.get_by_text("Two nights in Lisbon").first).to_be_visible()


@pytest.fixture
def with_files(url: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[tuple[Page, Watch]]:
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


def test_files_of_a_stage_are_got_from_its_bucket_and_sent_there_without_a_token(
    with_files: tuple[Page, Watch], api: Forklore, user: str
) -> None:
    page, watch = with_files
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    to_bucket: list[str] = []
    page.on("request", lambda one: to_bucket.append(str(one.all_headers())) if "/files/" in one.url else None)
    page.goto(f"/{steps.at_conversation(made.id)}")
    sign_in(page, user)

    steps.expect_shown(steps.picture(page, "casa.png"))
    steps.choose(page, ("large.bin", "", bytes(1_500_000)))
    expect(steps.enclosed(page)).to_have_text(re.compile("large.bin1.5 MB"))

    assert len(to_bucket) >= 2
    assert [one for one in to_bucket if user in one or "authorization" in one.lower()] == []
    assert watch.unexpected() == []


@pytest.mark.parametrize("with_files", [False], indirect=True)
def test_files_of_a_stage_whose_bucket_was_not_named_are_not_asked_for(
    with_files: tuple[Page, Watch], api: Forklore, user: str, url: str
) -> None:
    page, _ = with_files
    made = api.create()
    made.say("user", "Look", files=[("casa.png", grey())])
    page.goto(f"/{steps.at_conversation(made.id)}")
    sign_in(page, user)

    told = f"To see it here, start forklore explore with --attachments {url}"
    expect(steps.entry(page, "Look")).to_contain_text(told)


def test_the_form_says_of_which_stage_it_wants_a_token(browser: Browser) -> None:
    with (
        odd_stage(answering(200)) as (prod, _),
        odd_stage(answering(200)) as (test, _),
        browser.new_context() as context,
    ):
        for stage in (f"{prod}/prod", test):
            with forwarder(stage) as server:
                page = context.new_page()
                page.goto(server.url)

                expect(page.get_by_text(f"A token for {stage}, ")).to_be_visible()


def test_another_program_that_takes_the_port_gets_no_token(url: str, browser: Browser, user: str) -> None:
    with browser.new_context() as context:
        seen = lose_the_port(context.new_page(), url, user)

    asked = [(method, path) for method, path, _, _ in seen]
    assert ("HEAD", "/") in asked
    assert [path for _, path in asked if path.startswith("/v1")] == []  # Chromium may ask for the icon again
    assert [headers for _, _, headers, _ in seen if user in str(headers)] == []


def lose_the_port(page: Page, url: str, user: str) -> Seen:
    """Sign in, let another server take the port, and return what that one got."""
    under_way: Counter[str] = Counter()
    page.on("request", lambda request: under_way.update([request.url]))
    page.on("requestfinished", lambda request: under_way.subtract([request.url]))
    page.on("requestfailed", lambda request: under_way.subtract([request.url]))
    port = kept_port()
    with started("explore", "--no-browser", "--port", str(port), "--url", url) as process:
        assert process.stdout is not None
        page.goto(process.stdout.readline().strip())
        sign_in(page, user)
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        process.kill()
        process.communicate(timeout=RUN_S)
    page.evaluate("location.hash = '#/c/01a2052e-567d-7711-944c-5b6298f9875c'")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    sent = [one for one in under_way if "/v1" in one]
    wait_until(page, lambda: not any(under_way[one] for one in sent))  # sent before the page knew
    with odd_stage(answering(200), port) as (_, seen):
        expect(page.get_by_text("Another server answers")).to_be_visible()
        expect(page.get_by_role("button", name="Open")).to_be_visible()
    return seen


def test_a_page_on_another_port_may_call_the_local_server_in_every_way(url: str, elsewhere: Page) -> None:
    assert elsewhere.evaluate(CALL, [url, "planner-key"]) == [
        ["POST", 201, "asked-for"],
        ["GET", 200, "asked-for"],
        ["PATCH", 200, "asked-for"],
        ["POST", 400, "asked-for"],
        ["DELETE", 204, "asked-for"],
        ["GET", 404, "asked-for"],
    ]


def test_a_page_on_another_port_may_not_call_a_stage_through_the_small_server(elsewhere: Page) -> None:
    with odd_stage(answering(200)) as (stage, seen), forwarder(stage) as server:
        page = server.url.rstrip("/")
        failed = "async ([url, key]) => { try { await fetch(url); return false } catch { return true } }"
        assert elsewhere.evaluate(failed, [f"{page}/v1/conversations", ""])
        simple = "([url]) => fetch(url, {method: 'POST', mode: 'no-cors', body: 'x'}).then(() => 0, () => 0)"
        elsewhere.evaluate(simple, [f"{page}/v1/conversations"])
        navigated = elsewhere.goto(f"{page}/v1/conversations")
        assert navigated
        assert navigated.status == 403

    assert seen == []


READ = """async (url) => {
  try {
    const answer = await fetch(url + "/v1/conversations", {headers: {Authorization: "Bearer ann"}});
    return [answer.status, Boolean(answer.headers.get("X-Request-Id"))];
  } catch (error) {
    return [String(error)];
  }
}"""


def test_a_page_of_localhost_may_call_the_local_server_by_either_name(url: str, browser: Browser) -> None:
    by_name = url.replace("127.0.0.1", "localhost")
    with (
        odd_stage(answering(200, b"<!doctype html><p>Hello", Content_Type="text/html")) as (other, _),
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(other.replace("127.0.0.1", "localhost"))

        assert page.evaluate(READ, url) == [200, True]
        assert page.evaluate(READ, by_name) == [200, True]


def test_a_page_that_is_a_file_may_not_call_the_local_server(
    url: str, browser: Browser, tmp_path: Path
) -> None:
    """Its origin is `null`, as that of a frame that its page does not trust."""
    file = tmp_path / "page.html"
    file.write_text("<!doctype html><p>Hello")
    with browser.new_context() as context:
        page = context.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        page.goto(file.as_uri())

        assert page.evaluate(READ, url) == ["TypeError: Failed to fetch"]

    assert "from origin 'null' has been blocked by CORS policy" in told[0]
