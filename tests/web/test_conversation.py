"""The open conversation: its entries, the switcher, and what one can do at a message."""

import json
import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from forklore import Conversation, Forklore, text_of
from tests.web import steps
from tests.web.browser import Watch


def open_(page: Page, user: str, conversation: Conversation, entry_id: str = "") -> Page:
    """Sign in at a conversation, or at an entry of it."""
    return steps.sign_in(page, user, at=steps.at_conversation(conversation.id, entry_id))


def numbered(count: int) -> list[str]:
    """Return texts that fill some lines each."""
    return [f"Message {at:03}. " + "It says some more than that. " * (at % 7) for at in range(count)]


FIRST_IN_VIEW = """scroller => {
  const edge = scroller.getBoundingClientRect().top;
  const tops = [...scroller.querySelectorAll("article")].map(one => [one, one.getBoundingClientRect().top]);
  const [card, top] = tops.find(([, top]) => top >= edge);
  return [card.querySelector(".text").textContent.slice(0, 11), top, scroller.scrollTop];
}"""
TOP_OF = """(scroller, text) => [...scroller.querySelectorAll("article")]
  .find(one => one.textContent.includes(text)).getBoundingClientRect().top"""


def scroller(page: Page) -> Locator:
    """What scrolls the messages."""
    return steps.feed(page).locator("..")


def seen(page: Page) -> tuple[str, float, float]:
    """Return the first entry in view, its top, and how much is above."""
    name, top, above = scroller(page).evaluate(FIRST_IN_VIEW)
    return name, top, above


def test_a_conversation_opens_at_its_end(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *numbered(120))

    page = open_(blank, user, made)

    expect(steps.entry(page, "Message 119")).to_be_in_viewport()
    expect(steps.entry(page, "Message 000")).to_have_count(0)
    expect(steps.entries(page).last).to_contain_text("Message 119")


@pytest.mark.parametrize("above", [0, 250], ids=["at the top", "near the top"])
def test_older_entries_come_as_one_scrolls_up_and_nothing_jumps(
    blank: Page, api: Forklore, user: str, above: int
) -> None:
    texts = numbered(200)
    made = steps.talk(api, *texts)
    page = open_(blank, user, made)
    expect(steps.entry(page, "Message 199")).to_be_in_viewport()
    held = steps.hold(page, re.compile("/entries.*limit=50&beforeCursor="))
    steps.entries(page).last.hover()

    for count in range(100, 201, 50):
        page.mouse.wheel(0, above - seen(page)[2])
        steps.wait_until(page, lambda: seen(page)[2] == above)
        name, top, _ = seen(page)
        steps.wait_until(page, lambda: len(held) == 1)
        expect(steps.entries(page)).to_have_count(count - 50)
        held.pop().continue_()
        expect(steps.entries(page)).to_have_count(count)
        assert scroller(page).evaluate(TOP_OF, name) == pytest.approx(top, abs=2), name
        assert held == []

    assert [text.strip() for text in steps.messages(page)] == [text.strip() for text in texts]
    page.mouse.wheel(0, -1_000_000)
    expect(page.get_by_text("The beginning", exact=True)).to_be_in_viewport()


def test_the_tab_has_the_name_of_the_conversation_that_is_open(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "Hello", title="Lisbon")

    page = open_(blank, user, made)

    expect(page).to_have_title("Lisbon · forklore")
    steps.go_to(page, "#/")
    expect(page).to_have_title("forklore")


def test_the_roles_are_told_apart(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    for role in ("system", "user", "ai"):
        made.say(role, f"I am {role}")
    made.say("ai", "It cost me something", usage={"inputTokens": 310, "outputTokens": 12, "costUsd": 0.0021})

    page = open_(blank, user, made)

    for role, name in (("system", "System"), ("user", "User"), ("ai", "AI")):
        card = steps.entry(page, f"I am {role}")
        expect(card).to_have_accessible_name(f"{name}, {user}")
        expect(card.get_by_text(name, exact=True)).to_be_visible()
    expect(steps.entry(page, "It cost me")).to_contain_text("310 in, 12 out, $0.0021")


# Alternatives


def grove(api: Forklore) -> dict[str, Conversation]:
    """Return a tree with forks of forks.

    root   A - B - C
    left   A - B' - D      forks before B
    inner  A - B' - D'     forks left before D
    deep   A - B' - D' - E forks inner at its end
    right  A - B''         forks before B
    """
    root = steps.talk(api, "A asks", "B answers", "C asks on", title="root")
    _, b, _ = root.entries()
    left = root.fork(before=b, title="left")
    left.say("ai", "B2 answers")
    d = left.say("user", "D asks on")
    inner = left.fork(before=d, title="inner")
    inner.say("user", "D2 asks on")
    deep = inner.fork(title="deep")
    deep.say("ai", "E answers")
    right = root.fork(before=b, title="right")
    right.say("ai", "B3 answers")
    return {"root": root, "left": left, "inner": inner, "deep": deep, "right": right}


def test_the_switcher_walks_both_ways(blank: Page, api: Forklore, user: str) -> None:
    made = grove(api)
    page = open_(blank, user, made["root"])
    later = page.get_by_role("button", name="Next way")
    earlier = page.get_by_role("button", name="Previous way")
    steps.expect_switcher(steps.turn(page, "B answers"), 1, 3)
    expect(steps.turn(page, "B answers").get_by_role("button", name="Previous way")).to_be_disabled()

    steps.turn(page, "B answers").locator(later).click()
    expect(steps.entry(page, "B2 answers")).to_be_in_viewport()
    expect(steps.title(page)).to_have_text("left")
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 3)
    steps.turn(page, "B2 answers").locator(later).click()
    steps.expect_messages(page, ["A asks", "B3 answers"])
    steps.expect_switcher(page, 3, 3)
    expect(steps.turn(page, "B3 answers").get_by_role("button", name="Next way")).to_be_disabled()
    steps.turn(page, "B3 answers").locator(earlier).click()
    steps.expect_messages(page, ["A asks", "B2 answers", "D asks on"])
    steps.turn(page, "D asks on").locator(later).click()
    steps.expect_messages(page, ["A asks", "B2 answers", "D2 asks on"])
    steps.expect_switcher(steps.turn(page, "D2 asks on"), 2, 2)
    expect(steps.title(page)).to_have_text("inner")
    steps.turn(page, "B2 answers").locator(earlier).click()

    steps.expect_messages(page, ["A asks", "B answers", "C asks on"])
    expect(steps.title(page)).to_have_text("root")
    assert steps.place_of(page)[0] == made["root"].id


def test_the_switcher_at_the_end_shows_how_others_go_on(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", title="root")
    for city in ("Lisbon.", "Porto."):
        root.fork(title=city).say("ai", city)
    page = open_(blank, user, root)
    switcher = page.get_by_role("group", name="2 branches from here")
    expect(switcher).to_have_text(re.compile("– / 2"))
    expect(switcher.get_by_role("button", name="Previous way")).to_be_disabled()

    switcher.get_by_role("button", name="Next way").click()

    steps.expect_messages(page, ["A asks", "Lisbon."])
    steps.expect_switcher(steps.turn(page, "Lisbon."), 1, 2)
    page.get_by_role("button", name="Next way").click()
    steps.expect_messages(page, ["A asks", "Porto."])
    steps.expect_switcher(page, 2, 2)


def test_another_alternative_opens_at_its_place_while_what_stands_before_is_loading(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, *numbered(60))
    first = made.entries().list()[10]  # of those that are loaded at once
    other = made.fork(before=first, title="Other")
    chosen = other.say("user", "Otherwise")
    steps.hold(blank, re.compile("/entries.*beforeCursor="))
    page = open_(blank, user, made)
    turn = steps.turn(page, "Message 010")
    turn.scroll_into_view_if_needed()
    expect(page.get_by_text("Loading older messages…")).to_be_attached()

    turn.get_by_role("button", name="Next way").click()

    expect(page).to_have_url(re.compile(steps.at_conversation(other.id, chosen.id)))


def test_an_edited_message_is_one_more_alternative_and_becomes_current(
    blank: Page, api: Forklore, user: str
) -> None:
    made = grove(api)
    page = open_(blank, user, made["left"])
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 3)
    steps.expect_switcher(steps.turn(page, "D asks on"), 1, 2)

    steps.edit(page, "B2 answers", "B4 answers")

    steps.expect_messages(page, ["A asks", "B4 answers"])
    steps.expect_switcher(steps.turn(page, "B4 answers"), 4, 4)
    edited, chosen = steps.place_of(page)
    assert edited not in {one.id for one in made.values()}
    assert chosen == api.conversation(edited).entries().list()[-1].id
    details = api.conversation(edited).details()
    assert (details.is_current, details.title) == (True, "left")
    expect(steps.head(page).get_by_text("current branch")).to_be_visible()

    steps.turn(page, "B4 answers").get_by_role("button", name="Previous way").click()
    steps.expect_messages(page, ["A asks", "B3 answers"])
    steps.expect_switcher(steps.turn(page, "B3 answers"), 3, 4)
    steps.turn(page, "B3 answers").get_by_role("button", name="Previous way").click()
    steps.expect_messages(page, ["A asks", "B2 answers", "D asks on"])
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 4)
    steps.expect_switcher(steps.turn(page, "D asks on"), 1, 2)
    assert steps.stored(made["left"]) == ["USER: A asks", "AI: B2 answers", "USER: D asks on"]


def test_the_first_message_is_edited(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", "B answers", title="root")
    page = open_(blank, user, root)
    expect(steps.entry(page, "A asks")).to_be_visible()

    steps.edit(page, "A asks", "A2 asks")

    steps.expect_messages(page, ["A2 asks"])
    steps.expect_switcher(steps.turn(page, "A2 asks"), 2, 2)
    page.get_by_role("button", name="Previous way").click()
    steps.expect_messages(page, ["A asks", "B answers"])


def test_an_edit_is_cancelled(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", "B answers")
    page = open_(blank, user, root)
    steps.press(page, "A asks", "Edit")
    expect(page.get_by_role("textbox", name="Your words in its place")).to_have_value("A asks")
    expect(page.get_by_role("textbox", name="Your words in its place")).to_be_focused()

    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_role("textbox", name="Your words in its place")).to_be_hidden()
    assert len(root.forks().list()) == 1


def test_what_holds_more_than_its_words_is_not_edited(blank: Page, api: Forklore, user: str) -> None:
    root = api.create()
    root.say("user", "What is the weather?")
    root.append(
        [{"role": "AI", "text": "sunny", "item": {"type": "function_call_output", "output": "sunny"}}]
    )
    page = open_(blank, user, root)

    expect(steps.turn(page, "sunny").get_by_role("button", name="Fork here")).to_be_visible()

    assert steps.turn(page, "sunny").get_by_role("button", name="Edit").count() == 0
    assert steps.turn(page, "What is the weather?").get_by_role("button", name="Edit").count() == 1


def test_numbers_are_shown_as_they_are_spelled(blank: Page, api: Forklore, user: str) -> None:
    numbers = '"order":12345678901234567890,"price":1.0,"big":1e308,"all":[-0,2.50,7]'
    content = f'"content":[{{"role":"USER","text":"See this",{numbers}}}]'
    body = f'{{"channel":"history","contentType":"history","usage":{{"costUsd":2.10}},{content}}}'
    root = api.create()
    headers = {"Authorization": f"Bearer {user}", "Content-Type": "application/json"}
    made = blank.request.post(f"/v1/conversations/{root.id}/entries", data=body, headers=headers)
    assert made.status == 201
    page = open_(blank, user, root)
    card = steps.entry(page, "See this")
    expect(card).to_contain_text("$2.1")
    card.get_by_text("More fields", exact=True).click()
    for number in numbers.replace('":', '": ').split(",")[:3]:
        expect(card).to_contain_text(number)


def test_another_answer_is_asked_for(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", "B answers", title="root")
    page = open_(blank, user, root)
    expect(steps.turn(page, "A asks").get_by_role("button", name="Try again")).to_be_hidden()

    steps.press(page, "B answers", "Try again")

    expect(steps.said(page, "waits for another answer")).to_be_visible()
    steps.expect_messages(page, ["A asks"])
    steps.expect_switcher(page, 2, 2)
    fork = api.conversation(steps.place_of(page)[0])
    assert fork.id != root.id
    assert fork.details().is_current
    steps.send(page, "B2 answers", role="AI")
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 2)
    assert steps.stored(fork) == ["USER: A asks", "AI: B2 answers"]


def test_a_branch_begins_after_a_message(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", "B answers", "C asks on", title="root")
    page = open_(blank, user, root)

    steps.press(page, "B answers", "Fork here")

    expect(steps.said(page, "goes on from here")).to_be_visible()
    steps.expect_messages(page, ["A asks", "B answers"])
    fork = api.conversation(steps.place_of(page)[0])
    assert fork.id != root.id
    assert root.details().is_current
    steps.send(page, "D asks on")
    steps.expect_switcher(steps.turn(page, "D asks on"), 2, 2)
    assert steps.stored(fork) == ["USER: A asks", "AI: B answers", "USER: D asks on"]
    assert steps.stored(root) == ["USER: A asks", "AI: B answers", "USER: C asks on"]


def test_two_presses_make_one_branch(blank: Page, api: Forklore, user: str) -> None:
    root = steps.talk(api, "A asks", "B answers")
    page = open_(blank, user, root)
    held = steps.hold(page, "**/fork", "POST")

    steps.turn(page, "A asks").get_by_role("button", name="Fork here").dblclick()
    steps.let_go(page, "**/fork", held)

    steps.expect_messages(page, ["A asks"])
    assert len(root.forks().list()) == 2


def test_the_second_press_of_a_slow_double_click_makes_no_other_branch(
    blank: Page, api: Forklore, user: str
) -> None:
    root = steps.talk(api, "A asks", "B answers")
    page = open_(blank, user, root)
    fork = steps.turn(page, "A asks").get_by_role("button", name="Fork here")
    fork.hover()
    page.mouse.down()
    page.mouse.up()
    expect(steps.said(page, "goes on from here")).to_be_visible()
    steps.expect_messages(page, ["A asks"])
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)

    place = fork.bounding_box()
    assert place
    page.mouse.move(place["x"] + 5, place["y"] + 5)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    steps.wait_for_news(page, 2)

    assert sent == []
    assert len(root.forks().list()) == 2


# Links


def test_a_copied_link_opens_the_entry(
    blank: Page, context: BrowserContext, api: Forklore, user: str
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = steps.talk(api, *numbered(200))
    page = open_(blank, user, made)
    chosen = made.entries().list()[170]

    steps.press(page, "Message 170", "Copy link")

    expect(steps.said(page, "The link is copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.endswith(steps.at_conversation(made.id, chosen.id))
    other = context.new_page()
    other.goto(link)
    steps.fill_sign_in(other, user)
    expect_chosen(other, "Message 170")


def expect_chosen(page: Page, text: str) -> None:
    """Wait until the entry with this text is shown and marked, and no other one is marked."""
    expect(steps.entry(page, text)).to_be_in_viewport()
    expect(steps.turn(page, text)).to_have_class(re.compile(r"\bchosen\b"))
    expect(steps.feed(page).locator(".chosen")).to_have_count(1)
    card = steps.entry(page, text).locator(".entry")
    marked = card.evaluate("one => getComputedStyle(one).outlineStyle")
    assert marked == "solid"


def test_a_link_into_the_middle_shows_what_stands_before_and_after(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, *numbered(300))
    chosen = made.entries().list()[100]

    page = open_(blank, user, made, chosen.id)

    expect_chosen(page, "Message 100")
    for text in ("Message 099", "Message 101"):
        expect(steps.entry(page, text)).to_be_attached()
    steps.entry(page, "Message 100").hover()
    while (last := steps.messages(page)[-1][:11]) != "Message 299":
        page.mouse.wheel(0, 100_000)
        expect(steps.entries(page).last).not_to_contain_text(last)
    assert [text[:11] for text in steps.messages(page)][-200:] == [f"Message {at}" for at in range(100, 300)]


def test_the_first_entry_is_linked(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *numbered(120))
    first = made.entries().first()
    assert first is not None

    page = open_(blank, user, made, first.id)

    expect_chosen(page, "Message 000")
    expect(page.get_by_text("The beginning", exact=True)).to_be_visible()


def test_an_inherited_entry_is_linked_in_a_fork(blank: Page, api: Forklore, user: str) -> None:
    made = grove(api)
    first = made["root"].entries().first()
    assert first is not None

    page = open_(blank, user, made["deep"], first.id)

    expect_chosen(page, "A asks")
    steps.expect_messages(page, ["A asks", "B2 answers", "D2 asks on", "E answers"])


def test_an_entry_that_the_conversation_does_not_show_is_told(
    blank: Page, api: Forklore, user: str, watch: Watch
) -> None:
    made = grove(api)
    watch.expect_status("400", made["root"].id)
    other = made["right"].entries().list()[-1]

    page = open_(blank, user, made["root"], other.id)

    expect(steps.said(page, "does not show that entry")).to_be_visible()
    steps.expect_messages(page, ["A asks", "B answers", "C asks on"])


# What an entry holds


def test_attachments_events_and_other_fields_are_shown(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    made.append(
        [
            {
                "role": "AI",
                "text": "Here it is",
                "attachments": [
                    {
                        "href": "https://files.invalid/plan.pdf",
                        "name": "plan.pdf",
                        "contentType": "application/pdf",
                        "pages": 7,
                    },
                    {"attachmentId": "a-17", "name": "map.png"},
                ],
                "events": [{"type": "tool", "name": "search", "query": "hotels"}, {"type": "done"}],
                "mood": {"glad": True},
            }
        ]
    )

    page = open_(blank, user, made)

    card = steps.entry(page, "Here it is")
    link = card.get_by_role("link", name="plan.pdf · application/pdf")
    expect(link).to_have_attribute("href", "https://files.invalid/plan.pdf")
    expect(link).to_have_attribute("rel", re.compile("noopener.*noreferrer"))
    expect(card).to_contain_text("map.png · a-17")
    assert unfolded(card, "2 events") == [
        {"type": "tool", "name": "search", "query": "hotels"},
        {"type": "done"},
    ]
    assert unfolded(card, "More fields", 0) == {"pages": 7}
    assert unfolded(card, "More fields", 1) == {"mood": {"glad": True}}


def unfolded(card: Locator, label: str, number: int = 0) -> object:
    """Open what is folded under a label, and return the JSON that it shows."""
    group = card.get_by_role("group").filter(has=card.page.get_by_text(label, exact=True)).nth(number)
    text = group.locator(".json")
    expect(text).to_be_hidden()
    group.get_by_text(label, exact=True).click()
    expect(text).not_to_be_empty()
    return json.loads(text.inner_text())


def test_unknown_content_is_folded_json(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    content = [{"from": "LIS", "to": ["OPO", None, 1.5]}, "text", 7]
    made.append(content, content_type="application/vnd.train+json")

    page = open_(blank, user, made)

    card = steps.entries(page).first
    expect(card).to_have_accessible_name(f"Entry, {user}")
    assert unfolded(card, "application/vnd.train+json") == content


def test_code_and_web_addresses_are_told_from_the_text_and_lines_and_spaces_stay(
    blank: Page, api: Forklore, user: str
) -> None:
    code = 'def f(x):\n    return "<b>" + x  # ```no\n' + "y = 1  " * 60
    spaced = "one\n    two\n\n\tthree  four"
    asked = "See https://a.invalid/x?y=1&z=(2). And ftp://b.invalid or c.invalid"
    made = steps.talk(
        api, asked, f"Like this:\n```python\n{code}\n```\nand that is all.\n```\nx < y\n```", spaced
    )

    page = open_(blank, user, made)

    card = steps.entry(page, "Like this")
    block = card.get_by_label("Code, python")
    assert block.text_content() == code
    assert card.get_by_label("Code", exact=True).text_content() == "x < y"
    expect(card).to_contain_text("and that is all.")
    font, left, wide, high = block.evaluate(
        "one => [getComputedStyle(one).fontFamily, one.scrollLeft, one.scrollWidth - one.clientWidth,"
        " one.getBoundingClientRect().width - one.closest('article').clientWidth]"
    )
    assert "monospace" in font
    assert (left, wide > 0, high <= 0) == (0, True, True)
    links = steps.entry(page, "See").locator(".text").get_by_role("link")
    expect(links).to_have_count(1)
    expect(links).to_have_attribute("target", "_blank")
    expect(links).to_have_attribute("href", re.compile(r"^https://a\.invalid/x\?y=1&z="))
    shown = steps.entries(page).locator(".text").last
    assert shown.text_content() == spaced
    assert shown.evaluate("one => getComputedStyle(one).whiteSpace") == "pre-wrap"


# Who may


def test_a_writer_writes_in_a_conversation_of_another(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", title="Shared")
    made.share(f"bob-{user}", "writer")
    page = open_(blank, f"bob-{user}", made)

    steps.send(page, "Bob answers")

    expect(steps.entry(page, "Bob answers")).to_have_accessible_name(f"User, bob-{user}")
    entries = made.entries().list()
    assert [(one.user_id, text_of(one)) for one in entries] == [
        (user, "A asks"),
        (f"bob-{user}", "Bob answers"),
    ]
