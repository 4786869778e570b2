"""Conversations full of hostile text: all of it is shown as text, and nothing of it runs."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from forklore import Conversation, Forklore
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
  const own = one => one.matches('img[src="/web/icon.svg"]');
  return {
    ran: window.ran ?? null,
    elements: all.filter(one => !own(one) && !document.head.contains(one) && one.matches(
      "img, svg, script, iframe, object, embed, style, base, meta, link, video, audio, title, b > b"))
      .map(one => one.outerHTML.slice(0, 200)),
    attributes: all.flatMap(one => one.getAttributeNames().filter(name => name.startsWith("on"))),
    links: all.filter(one => one.matches("a[href]")).map(one => one.getAttribute("href"))
      .filter(href => !/^(#|\\/(?!\\/)|https?:\\/\\/)/.test(href)),
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
    expect(texts).to_have_count(len(expected))
    found = texts.evaluate_all("all => all.map(one => one.textContent)")
    assert found == [shown(text) for text in expected]


def test_hostile_titles_previews_and_tags_are_text_in_the_list(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    for text in HOSTILE:
        made = steps.talk(api, text, title=text)
        made.update(tags={"tag": text})

    page = steps.sign_in(blank, user)

    newest = HOSTILE[::-1]
    expect_texts(steps.rows(page).locator("b"), newest)
    for row, text in zip(steps.rows(page).all(), newest, strict=True):
        expect(row).to_contain_text(f"tag: {line(text)}")
    quiet()

    page.get_by_role("searchbox").fill("script")
    expect(page.get_by_role("heading", name="Messages")).to_be_visible()
    expect(steps.rows(page).first).to_be_visible()
    quiet()


def test_hostile_messages_are_text_in_the_conversation(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = steps.talk(api, *HOSTILE)

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect_texts(steps.entries(page).locator(".text"), HOSTILE)
    for text in HOSTILE:
        expect(steps.dots(page).filter(has_text=line(text)[:80]).first).to_be_attached()
    steps.dots(page).first.hover()
    quiet()


def test_a_hostile_message_is_written_sent_and_edited(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = steps.talk(api, "Hello")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    steps.send(page, HOSTILE[0])
    steps.press(page, HOSTILE[0], "Edit")
    box = page.get_by_role("textbox", name="Your words in its place")
    expect(box).to_have_value(HOSTILE[0])
    quiet()
    box.fill(HOSTILE[2])
    page.get_by_role("button", name="Send in a new branch").click()

    steps.expect_messages(page, ["Hello", HOSTILE[2]])
    quiet()
    assert steps.stored(api.conversation(steps.place_of(page)[0])) == ["USER: Hello", f"USER: {HOSTILE[2]}"]


def hostile_tree(api: Forklore) -> tuple[Conversation, list[Conversation]]:
    """Return the root and the branches of a tree whose titles and messages are hostile."""
    root = steps.talk(api, HOSTILE[0], title=HOSTILE[0])
    branches = []
    for text in HOSTILE[1:]:
        branches.append(root.fork(title=text))
        branches[-1].say("ai", text)
    return root, branches


def test_hostile_titles_are_text_in_the_tree_and_above_the_messages(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    root, branches = hostile_tree(api)
    root.update(tags={"tag": HOSTILE[2]})

    page = steps.sign_in(blank, user, at=steps.at_conversation(root.id))

    expect_texts(steps.title(page), [HOSTILE[0]])
    expect(steps.head(page)).to_contain_text(f"tag:{HOSTILE[2]}")
    expect(steps.dots(page)).to_have_count(len(HOSTILE))
    names = steps.dots(page).evaluate_all("all => all.map(one => [one.ariaLabel, one.textContent])")
    for text in HOSTILE:
        label = shown(text)[:59]  # the rest of a long one is left out
        (found,) = [told for name, told in names if f"branch {label}" in name]
        assert found.startswith(label)
    quiet()
    for branch, text in zip(branches, HOSTILE[1:], strict=True):
        steps.go_to(page, steps.at_conversation(branch.id))
        expect(steps.title(page)).to_have_text(line(text))
        expect_texts(steps.entries(page).locator(".text"), [HOSTILE[0], text])
        expect(page.get_by_role("navigation", name="Origin")).to_contain_text(HOSTILE[0])
    quiet()


def test_hostile_titles_and_messages_are_text_in_the_comparison(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    root, branches = hostile_tree(api)
    page = steps.sign_in(blank, user, at=f"#/c/{root.id}/compare/{branches[0].id}")

    for branch, text in zip(branches, HOSTILE[1:], strict=True):
        steps.go_to(page, f"#/c/{root.id}/compare/{branch.id}")
        side = page.get_by_role("region", name=line(text), exact=True)
        expect_texts(side.get_by_role("article").locator(".text"), [text])
        expect_texts(side.get_by_role("heading").get_by_role("link"), [text])
    options = page.get_by_role("combobox", name="With").get_by_role("option")
    assert {shown(text) for text in HOSTILE[1:]} <= set(options.all_text_contents())
    quiet()


@pytest.mark.parametrize("text", [HOSTILE[0], HOSTILE[2], HOSTILE[10]], ids=["img", "script", "turned"])
def test_hostile_titles_and_user_ids_are_text_in_dialogs(
    blank: Page, api: Forklore, user: str, quiet: Any, text: str
) -> None:
    root = steps.talk(api, "A asks", title=text)
    root.update(tags={"tag": text})
    root.fork(title=f"2 {text}", promote=True).say("ai", "B answers")
    member = f"{text} {user}".replace("\t", " ")
    root.share(member, "reader")
    page = steps.sign_in(blank, user, at=steps.at_conversation(root.id))
    words = {
        "Rename": [],
        "Tags": [],
        "Promote": [text, f"2 {text}"],
        "Share": [text, member],
        "Hand over": [member],
        "Delete branch": [text],
        "Delete tree": [text],
    }

    for label, expected in words.items():
        steps.deed(page, label).click()
        dialog = steps.dialog(page)
        expect(dialog.get_by_role("button").last).to_be_enabled()
        for one in expected:
            expect(dialog).to_contain_text(line(one)[:79])
        if label == "Rename":
            expect(dialog.get_by_label("Title")).to_have_value(text)
        quiet()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()

    steps.deed(page, "Compare").click()
    page.get_by_role("button", name="Merge into the other").first.click()
    expect(steps.dialog(page)).to_contain_text(f"Merge “\u2068{line(text)}"[:70])
    quiet()
    page.keyboard.press("Escape")

    steps.go_to(page, steps.at_conversation(root.id))
    steps.deed(page, "Rename").click()
    steps.dialog(page).get_by_label("Title").fill(f"3 {text}")
    steps.dialog(page).get_by_role("button", name="Rename").click()
    expect(page.get_by_role("status").filter(has_text="The branch is called")).to_contain_text(
        line(f"3 {text}")
    )
    steps.deed(page, "Tags").click()
    steps.dialog(page).get_by_label("Tags").fill("<img src=/x onerror=window.ran=1>:x")
    steps.dialog(page).get_by_role("button", name="Save").click()
    expect(steps.dialog(page).get_by_role("alert")).to_contain_text("“<img src=/x onerror=window.ran=1>”")
    quiet()


def test_a_hostile_user_id_is_text_everywhere(
    blank: Page, api: Forklore, user: str, url: str, quiet: Any
) -> None:
    hostile = f"<img src=/x onerror={RUN}> {user}"
    with Forklore(url, token=hostile) as theirs:
        made = steps.talk(theirs, "A asks", title="Shared")
        made.share(user, "writer")
        theirs.api.request_transfer(conversation_id=made.id, new_owner_user_id=user)

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entry(page, "A asks")).to_have_accessible_name(f"User, {hostile}")
    expect(steps.head(page)).to_contain_text(f"of {hostile}")
    expect(steps.row(page, "Shared").last).to_contain_text(f"of {hostile}")
    expect(steps.dot(page, f"user, {hostile}")).to_be_visible()
    expect(steps.conversations(page)).to_contain_text(f"{hostile} offers you")
    quiet()
    steps.sign_out(page)
    steps.fill_sign_in(page, hostile)
    expect(page.get_by_text(hostile, exact=True).first).to_be_visible()
    quiet()


def test_attachments_events_keys_and_other_fields_are_text(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    hrefs = [
        f"javascript:{RUN}",
        f" JavaScript:{RUN}",
        "java\nscript:alert(1)",
        f"data:text/html,<script>{RUN}</script>",
        f"vbscript:{RUN}",
        "//elsewhere.invalid/x",
        "file:///etc/passwd",
    ]
    made = api.create()
    content = {
        "role": "AI",
        "text": "See",
        "attachments": [{"href": href, "name": HOSTILE[0], "contentType": HOSTILE[2]} for href in hrefs],
        "events": HOSTILE,
        **{name: name for name in (HOSTILE[0], "__proto__", "constructor", "toString")},
    }
    made.append([content], key=HOSTILE[0])
    made.append([HOSTILE, dict.fromkeys(HOSTILE, 1)], content_type=HOSTILE[0])

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    card = steps.entry(page, "See")
    expect(card.get_by_text("Attachment:")).to_have_count(len(hrefs))
    for href in hrefs:
        expect(card).to_contain_text(" ".join(href.split()))
    expect(card).to_contain_text(f"key {HOSTILE[0]}")
    assert card.get_by_role("link").evaluate_all("all => all.map(one => one.protocol)") == ["http:"]
    for folded in page.locator("summary").all():
        folded.click()
    expect(steps.entries(page).last).to_contain_text(json.dumps(HOSTILE[0])[1:-1])
    expect(card).to_contain_text('"__proto__": "__proto__"')
    quiet()


def test_a_web_address_leaves_the_page_without_telling_it(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = api.create()
    href = f'https://elsewhere.invalid/"onclick={RUN}'
    made.append([{"role": "AI", "text": "See", "attachments": [{"href": href, "contentType": "a/b"}]}])
    made.say("ai", f"https://elsewhere.invalid/{TURNED}")

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entry(page, "See").get_by_role("link").last).to_have_attribute("href", href)
    for link in steps.feed(page).locator("a[target]").all():
        expect(link).to_have_attribute("rel", re.compile("noopener noreferrer"))
        expect(link).not_to_contain_text("\N{RIGHT-TO-LEFT OVERRIDE}")
    quiet()


def test_an_agent_and_its_context_are_text(
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

    expect(steps.head(page)).to_contain_text(f"agent {HOSTILE[0]}")
    expect(steps.row(page, HOSTILE[2])).to_contain_text(HOSTILE[0])
    column = page.get_by_role("region", name="Context")
    expect(column).to_contain_text("Epoch 2")
    for folded in column.locator("summary").all():
        folded.click()
    expect(column).to_contain_text(json.dumps(HOSTILE[0])[1:-1])
    quiet()


def test_texts_of_5_mb_are_shown_in_parts_and_the_page_stays_usable(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    made = api.create(title="Long")
    longest = f"<img src=/x onerror={RUN}> ".ljust(40) * 60_000
    made.say("ai", longest)
    made.append([{"data": longest}], content_type="application/x-long")
    fork = made.fork(title="Other")
    fork.say("user", "Hello")

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    first, second = steps.entries(page).first, steps.entries(page).last
    expect(first.get_by_role("button", name="Show more: 2,380,000 characters left")).to_be_visible()
    assert shown_length(first) == 20_000
    first.get_by_role("button", name="Show more").click()
    expect(first.get_by_role("button", name="Show more: 2,180,000 characters left")).to_be_visible()
    assert shown_length(first) == 220_000
    second.locator("summary").click()
    expect(second.get_by_role("button", name="Show more")).to_be_visible()
    quiet()
    steps.send(page, "The page is usable")
    expect(steps.dot(page, "The page is usable")).to_be_visible()
    steps.go_to(page, f"#/c/{fork.id}/compare/{made.id}")
    expect(page.get_by_role("region", name="Other")).to_contain_text("Hello")
    quiet()


def shown_length(card: Locator) -> int:
    """Return how many characters of the text of an entry are shown."""
    parts = card.locator(".text > :not(button)").all()
    return sum(len(part.text_content() or "") for part in parts)


def test_many_spaces_behind_a_fence_and_many_half_addresses_take_no_time(
    blank: Page, api: Forklore, user: str
) -> None:
    made = api.create()
    texts = [f"{number} is slow\n```a{' ' * 19_000}b" for number in range(25)]
    texts += [f"{number} is slow {'http://' * 1_000}{'.' * 12_000}" for number in range(25)]
    steps.say_all(made, texts)

    with traced(blank) as tasks:
        page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
        expect(steps.entries(page)).to_have_count(50)

    assert max(tasks) < 3_000


def test_10_000_combining_characters_stay_in_their_own_entry(
    blank: Page, api: Forklore, user: str, quiet: Any
) -> None:
    marks = "a" + "\N{COMBINING ACUTE ACCENT}\N{COMBINING DIAERESIS BELOW}" * 5_000
    made = steps.talk(api, "Before", marks, "After", title=marks[:500])

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    shown = steps.entries(page).nth(1).locator(".text")
    expect(shown).to_be_visible()
    assert shown.text_content() == marks
    # What is painted outside of an element covers its neighbours, unless the element clips it.
    for one in (shown, steps.title(page), steps.rows(page).first.locator("b"), steps.dots(page).first):
        overflow, contain = one.evaluate(
            "one => [getComputedStyle(one).overflowY, getComputedStyle(one).contain]"
        )
        assert overflow != "visible" or contain == "strict"
    steps.press(page, "After", "Fork here")
    steps.expect_messages(page, ["Before", marks, "After"])
    expect(steps.rows(page)).to_have_count(1)
    quiet()


def test_json_of_60_levels_is_shown(blank: Page, api: Forklore, user: str, quiet: Any) -> None:
    deep: Any = HOSTILE[0]
    for level in range(58):
        deep = [deep] if level % 2 else {HOSTILE[2]: deep}
    made = api.create()
    made.append([deep], content_type="application/x-deep")
    made.append(
        [{"role": "AI", "text": "See", "events": [deep[HOSTILE[2]] if isinstance(deep, dict) else deep[0]]}]
    )

    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))

    expect(steps.entries(page)).to_have_count(2)
    for folded in page.locator("summary").all():
        folded.click()
    text = steps.entries(page).first.locator(".json")
    expect(text).not_to_be_empty()
    assert json.loads(text.text_content() or "") == [deep]
    quiet()


@pytest.mark.parametrize(
    "address",
    [
        f"#/c/<img src=/x onerror={RUN}>",
        f"#javascript:{RUN}",
        "#/c/../../elsewhere",
        "#/c/00000000-0000-4000-8000-000000000000/../../v1",
        "#/c/%2e%2e%2f/e/%2e%2e",
        "?q=<script>#/<script>",
    ],
)
def test_an_address_that_names_nothing_is_the_list(
    blank: Page, api: Forklore, user: str, quiet: Any, address: str
) -> None:
    steps.talk(api, "A asks", title="Lisbon")

    page = steps.sign_in(blank, user, at=address)

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
