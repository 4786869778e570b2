"""Conversations full of hostile text: all of it is shown as text, and nothing of it runs."""

import re
from typing import Any

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch, traced
from tests.web.conftest import AGENTS

RUN = "window.ran=1"
ELSEWHERE = "http://elsewhere.invalid/x"
TURNED = "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe\N{POP DIRECTIONAL FORMATTING}"
HOSTILE = [
    f"<img src=/x onerror={RUN}>",
    f"<svg/onload={RUN}><b>bold</b>",
    f"</script><script>{RUN}</script>",
    f"</title></textarea><iframe src=javascript:parent.{RUN}>",
    f"javascript:{RUN}//",
    f"[click](javascript:{RUN}) <a href=javascript:{RUN}>click</a>",
    f"\" onmouseover={RUN} x='",
    f"<link rel=stylesheet href={ELSEWHERE}><base href={ELSEWHERE}>",
    "&lt;img&gt; &amp; &#60;b&#62; %3Cb%3E",
    f"{{{{constructor.constructor('{RUN}')()}}}} ${{{RUN}}}",
    f"photo {TURNED} \N{FIRST STRONG ISOLATE}x\N{RIGHT-TO-LEFT MARK}",
    "אבג left to right, العربية",
    "tab\tbell\x07 escape\x1b[31m nul\x00",
]
HIDDEN = re.compile("(?![\t\n\r])[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

FOUND = """() => {
  const all = [...document.querySelectorAll("*")];
  const own = one => one.matches('img[src*="/web/mark"]');
  return {
    ran: window.ran ?? null,
    elements: all.filter(one => !own(one) && !document.head.contains(one) && one.matches(
      "img, script, iframe, object, embed, style, base, meta, link, video, audio, title, b > b"))
      .map(one => one.outerHTML.slice(0, 200)),
    attributes: all.flatMap(one => one.getAttributeNames().filter(name => name.startsWith("on"))),
    links: all.filter(one => one.matches("a[href]")).map(one => one.getAttribute("href"))
      .filter(href => !/^(#|\\/(?!\\/)|https?:\\/\\/|mailto:)/.test(href)),
    origin: document.baseURI.startsWith(location.origin),
  };
}"""
NOTHING: dict[str, Any] = {"ran": None, "elements": [], "attributes": [], "links": [], "origin": True}


def shown(text: str) -> str:
    """Return a text as the page spells it: what turns or hides text by name."""
    return HIDDEN.sub(lambda one: f"[U+{ord(one.group()):04X}]", text)


def line(text: str) -> str:
    """Return a text as Playwright compares it: with single spaces."""
    return " ".join(shown(text).split())


@pytest.fixture(autouse=True)
def dialogs(blank: Page) -> list[str]:
    """The dialogs of the browser itself that scripts open."""
    opened: list[str] = []

    def note(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    blank.on("dialog", note)
    return opened


@pytest.fixture
def quiet(blank: Page, dialogs: list[str]) -> Any:
    """Return a function that fails if any text became more than text."""

    def look() -> None:
        assert blank.evaluate(FOUND) == NOTHING
        assert dialogs == []

    return look


def expect_texts(texts: Locator, expected: list[str]) -> None:
    """Wait until elements have these texts, letter by letter."""
    written = [shown(text) for text in expected]
    steps.expect_read(
        texts.page, lambda: texts.evaluate_all("all => all.map(one => one.textContent)"), written
    )


def test_hostile_titles_previews_and_tags_are_text_in_the_list(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    for text in HOSTILE:
        made = steps.talk(api, text, title=text)
        made.update(tags={"tag": text})

    page = steps.sign_in(blank, user)

    newest = HOSTILE[::-1]
    expect_texts(steps.rows(page).locator("b"), newest)
    expect(steps.rows(page).filter(has_text="tag:")).to_have_count(len(HOSTILE))
    quiet()
    expect(steps.search(page, "script").first).to_be_visible()
    quiet()


def test_hostile_markdown_is_read_and_nothing_of_it_is_active_or_asked_for(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    """The watch fails for any request to another origin."""
    marked = [
        f"![picture]({ELSEWHERE}.png) ![x](javascript:{RUN})",
        f"[one](javascript:{RUN}) [two](JaVaScRiPt:{RUN}) [three](data:text/html,<script>{RUN}</script>)",
        f"<javascript:{RUN}> [four][ref]\n\n[ref]: vbscript:{RUN}",
        f"```<img src=/x onerror={RUN}>\n<script>{RUN}</script>\n```",
        f"| <img src=/x onerror={RUN}> |\n|---|\n| <iframe src={ELSEWHERE}> |",
        f"# <svg/onload={RUN}>\n\n> - <style>@import '{ELSEWHERE}'</style>",
    ]
    made = steps.talk(api, *HOSTILE, *marked)

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entries(page)).to_have_count(len(HOSTILE + marked))
    expect(
        steps.feed(page).get_by_role("cell").or_(steps.feed(page).get_by_role("heading"))
    ).not_to_have_count(0)
    for text in (HOSTILE[0], HOSTILE[2], HOSTILE[10], HOSTILE[11]):
        expect(steps.entry(page, line(text)).first).to_be_attached()
    picture = steps.feed(page).get_by_role("link", name="image: picture")
    expect(picture).to_have_attribute("href", f"{ELSEWHERE}.png")
    expect(picture).to_have_attribute("rel", re.compile("noopener noreferrer"))
    quiet()


def test_a_hostile_formula_leads_nowhere_and_has_no_style(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    formulas = [
        rf"\href{{javascript:{RUN}}}{{x}}",
        rf"\htmlStyle{{position:fixed}}{{x}} \htmlData{{a=b}}{{x}} \url{{{ELSEWHERE}}}",
        rf"\includegraphics{{{ELSEWHERE}.png}}",
        rf"\text{{<img src=/x onerror={RUN}> ]]> <style>}} \pmb{{x}}",
        r"\fcolorbox{red}{yellow}{z} \rule{1000em}{1000em} \kern{-1000em}",
    ]
    made = steps.talk(api, *[f"$${one}$$" for one in formulas])

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    drawn = steps.feed(page).locator("math")
    expect(drawn).to_have_count(len(formulas))
    expect(drawn.nth(3)).to_contain_text("<img src=/x")
    expect(steps.feed(page).locator("math [style], math [href], math [src], math a")).to_have_count(0)
    assert (steps.resting(page, drawn.last))["height"] < 500
    quiet()


def test_a_hostile_message_is_written_sent_and_edited(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = steps.talk(api, "Hello")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    steps.send(page, HOSTILE[0])
    steps.press(page, HOSTILE[0], "Edit")
    expect(steps.edit_box(page)).to_have_value(HOSTILE[0])
    quiet()
    steps.edit_box(page).fill(HOSTILE[2])
    page.get_by_role("button", name="Send on a new branch").click()

    expect(steps.edit_box(page)).to_have_count(0)  # its text is one of the entry, too
    expect(steps.entry(page, HOSTILE[2])).to_be_visible()
    quiet()
    assert steps.stored(api.conversation(steps.place_of(page)[0])) == ["USER: Hello", f"USER: {HOSTILE[2]}"]


def test_hostile_titles_are_text_in_the_tree_the_head_and_the_comparison(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    root = steps.talk(api, HOSTILE[0], title=HOSTILE[0])
    branches = [root.fork(title=text) for text in HOSTILE[1:]]
    for branch, text in zip(branches, HOSTILE[1:], strict=True):
        branch.say("ai", text)
    root.update(tags={"tag": HOSTILE[2]})

    page = steps.sign_in(blank, user, at=steps.at_conversation(root.id))

    expect_texts(steps.title(page), [HOSTILE[0]])
    expect(steps.head(page)).to_contain_text(f"tag:{HOSTILE[2]}")
    expect(steps.dot(page, re.compile("branch .*onmouseover"))).to_be_attached()
    quiet()
    for at in (1, 9):
        steps.go_to(page, steps.at_conversation(branches[at].id))
        expect(steps.title(page)).to_have_text(line(HOSTILE[at + 1]))
    quiet()
    steps.go_to(page, f"#/c/{branches[0].id}/compare/{branches[1].id},{branches[9].id}")
    expect(page.get_by_role("heading", name="Compare 3 branches")).to_be_visible()
    expect(page.get_by_role("region", name="Branches side by side")).to_contain_text(line(HOSTILE[2]))
    quiet()
    steps.go_to(page, f"#/c/{root.id}/alternatives/{root.entries().list()[0].id}")
    expect(page.get_by_role("main").locator("tbody tr").filter(has_text="onmouseover")).to_be_visible()
    quiet()


def test_hostile_titles_and_user_ids_are_text_in_dialogs(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    text = f"<img src=/x onerror={RUN}> {TURNED}"
    root = steps.talk(api, "A asks", title=text)
    root.fork(title=f"2 {text}", promote=True).say("ai", "B answers")
    member = f"{text} {user}"
    root.share(member, "reader")
    page = steps.sign_in(blank, user, at=steps.at_conversation(root.id))
    told = {
        "Names and tags": "",
        "Make current": line(text)[:20],
        "Merge into": line(text)[:20],
        "Share": line(member),
        "Hand over": line(member),
        "Delete this branch": line(text)[:20],
        "Delete the whole tree": line(text)[:20],
    }

    for label, words in told.items():
        steps.act(page, label)
        dialog = steps.dialog(page)
        expect(dialog).to_contain_text(words)
        quiet()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_hostile_user_id_is_text_everywhere(
    blank: Page, api: Forklore, user: str, url: str, quiet: Any
) -> None:
    hostile = f"<img src=/x onerror={RUN}> {user}"
    with Forklore(url, token=hostile) as theirs:
        made = steps.talk(theirs, "A asks", title="Shared")
        made.share(user, "writer")
        theirs.api.request_transfer(conversation_id=made.id, new_owner_user_id=user)

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entry(page, "A asks")).to_have_accessible_name(hostile)
    expect(steps.head(page)).to_contain_text(f"of {hostile}")
    expect(steps.row(page, "Shared").last).to_contain_text(f"of {hostile}")
    expect(steps.conversations(page)).to_contain_text(f"{hostile} offers you")
    quiet()
    steps.sign_out(page)
    steps.fill_sign_in(page, hostile)
    expect(steps.conversations(page).get_by_text(hostile, exact=True).first).to_be_visible()
    quiet()


def test_attachments_events_and_other_fields_are_text(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    hrefs = [
        f"javascript:{RUN}",
        f" JavaScript:{RUN}",
        "java\nscript:alert(1)",
        f"data:text/html,<script>{RUN}</script>",
        "//elsewhere.invalid/x",
        "file:///etc/passwd",
    ]
    href = f'https://elsewhere.invalid/"onclick={RUN}'
    deep: Any = HOSTILE[0]
    for level in range(58):
        deep = [deep] if level % 2 else {HOSTILE[2]: deep}
    made = api.create()
    content = {
        "role": "AI",
        "text": "See",
        "attachments": [
            {"href": one, "name": HOSTILE[0], "contentType": HOSTILE[2]} for one in [*hrefs, href]
        ],
        "events": HOSTILE,
        **{name: name for name in (HOSTILE[0], "__proto__", "constructor", "toString")},
    }
    made.append([content], key=HOSTILE[0])
    made.append([deep], content_type=HOSTILE[0])

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    card = steps.entry(page, "See")
    expect(card.locator(".file")).to_have_count(len(hrefs) + 1)
    expect(card.get_by_role("link")).to_have_count(1)
    expect(card.get_by_role("link")).to_have_attribute("href", href)
    card.get_by_text("More fields").click()
    expect(card.get_by_text("__proto__", exact=True).first).to_be_visible()
    last = steps.entries(page).last
    last.locator("summary").first.click()
    expect(last.locator(".json").first).to_contain_text("1 member")
    quiet()


def test_an_agent_and_its_memory_are_text(
    blank: Page, api: Forklore, user: str, url: str, quiet: Any
) -> None:
    parent = steps.talk(api, "Plan", title="Parent")
    child = parent.start_child(HOSTILE[0], title=HOSTILE[2])
    child.say("user", "Find")
    with Forklore(url, token=user, client_key=AGENTS["planner"]) as planner:
        context = planner.conversation(child.id).context
        context.sync(HOSTILE)
        context.sync([dict.fromkeys(HOSTILE, HOSTILE[0])])

    page = steps.sign_in(blank, user, key=AGENTS["planner"], at=steps.at_conversation(child.id))

    expect(steps.head(page)).to_contain_text(HOSTILE[0])
    page.get_by_role("tab", name="Memory").click()
    memory = page.get_by_role("tabpanel", name="memory")
    expect(memory).to_contain_text("epoch 2")
    expect(memory).to_contain_text(HOSTILE[0])
    quiet()


def test_texts_of_5_mb_are_shown_in_parts_and_the_page_stays_usable(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = api.create(title="Long")
    longest = f"<img src=/x onerror={RUN}> ".ljust(40) * 60_000
    made.say("ai", longest)
    made.append([{"data": longest}], content_type="application/x-long")

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    first = steps.entries(page).first
    expect(first.get_by_role("button", name="more characters")).to_be_visible()
    assert len(first.locator(".body").text_content() or "") < 10_000
    steps.entries(page).last.locator("summary").first.click()
    expect(steps.entries(page).last.get_by_role("button", name="2,400,000 characters")).to_be_visible()
    quiet()
    steps.send(page, "The page is usable")
    expect(steps.dot(page, re.compile("The page is usable"))).to_be_attached()


def test_texts_that_slow_readers_of_markdown_down_take_no_time(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    slow = ["[", "*a ", "<a ", "`a", "![", "[a](", "http://", "> ", "|a", "**", "a@", "<!--"]
    slow += ["$a", "$a ", "$$", "\n$$a", "\\(a", "\n\\[a"]
    formulas = [r"\frac{1}{" * 330 + "}" * 330, "x^{" * 800 + "}" * 800, r"\sqrt" * 670 + "2", "{" * 3_300]
    slow += [f"\n\n$${one}$$\n" for one in formulas]
    slow += [r"$$\def\a{" + "x" * 900 + "}" + r"\a" * 1_200 + "$$"]
    texts = [f"{number} is slow\n{one * (3_500 // len(one))}" for number, one in enumerate(slow)]
    steps.say_all(made, [*texts, f"a is slow\n```a{' ' * 3_500}b"])

    with traced(blank) as tasks:
        page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
        # All are drawn at once, then those that are far from the last one leave the page.
        expect(steps.entry(page, "a is slow")).to_be_visible()

    assert max(tasks) < 3_000


def test_3_000_combining_characters_stay_in_their_own_entry(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    marks = "a" + "\N{COMBINING ACUTE ACCENT}\N{COMBINING DIAERESIS BELOW}" * 1_500
    made = steps.talk(api, "Before", marks, "After", title=marks[:500])

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entry(page, "After")).to_be_visible()
    # What is painted outside of an element covers its neighbours, unless the element clips it.
    shown = steps.entries(page).nth(1).locator(".body")
    for one in (shown, steps.title(page), steps.rows(page).first.locator("b")):
        overflow, contain = one.evaluate(
            "one => [getComputedStyle(one).overflowY, getComputedStyle(one).contain]"
        )
        assert overflow != "visible" or "paint" in contain or contain in ("strict", "content")
    steps.press(page, "After", "Fork here")
    quiet()


def test_an_address_that_names_nothing_is_the_list(blank: Page, api: Forklore, user: str, quiet: Any) -> None:
    steps.talk(api, "A asks", title="Lisbon")

    page = steps.sign_in(blank, user, at=f"?q=<script>#/c/<img src=/x onerror={RUN}>")

    expect(steps.row(page, "Lisbon")).to_be_visible()
    quiet()


@pytest.mark.parametrize(
    "code",
    [
        "document.body.append(document.createElement('script'))",
        "document.body.append(Object.assign(document.createElement('a'), {href: 'javascript:1'}))",
        "document.body.setAttribute('onclick', 'x')",
        "window.ran = 1",
        "alert(1)",
    ],
)
def test_the_check_finds_what_it_is_for(blank: Page, watch: Watch, quiet: Any, code: str) -> None:
    watch.expect("Content Security Policy|default-src")
    blank.goto("/")
    expect(blank.get_by_label("User id")).to_be_visible()
    quiet()

    blank.evaluate(code)

    with pytest.raises(AssertionError):
        quiet()
