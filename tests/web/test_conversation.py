"""The open conversation: its entries, the switcher, and what one can do at a message."""

import re
from collections.abc import Callable
from typing import Any

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


def scroller(page: Page) -> Locator:
    """What scrolls the messages."""
    return page.locator(".talk .scroll")


FIRST_IN_VIEW = """scroller => {
  const edge = scroller.getBoundingClientRect().top;
  const tops = [...scroller.querySelectorAll("article")].map(one => [one, one.getBoundingClientRect().top]);
  const [card, top] = tops.find(([, top]) => top >= edge);
  return [card.querySelector(".body").textContent.slice(0, 11), top];
}"""
TOP_OF = """(scroller, text) => [...scroller.querySelectorAll("article")]
  .find(one => one.textContent.includes(text))?.getBoundingClientRect().top"""


def test_a_conversation_opens_at_its_end_and_gives_the_tab_its_name(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, *numbered(120), title="Lisbon")

    page = open_(blank, user, made)

    expect(steps.entry(page, "Message 119")).to_be_in_viewport()
    expect(steps.entry(page, "Message 000")).to_have_count(0)
    expect(page).to_have_title("Lisbon · forklore")
    steps.go_to(page, "#/")
    expect(page).to_have_title("forklore")


def test_older_entries_come_as_one_scrolls_up_and_nothing_jumps(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, *numbered(150))
    page = open_(blank, user, made)
    expect(steps.entry(page, "Message 149")).to_be_in_viewport()
    held = steps.hold(page, re.compile("/entries.*beforeCursor="))

    for oldest, next_one in (("Message 100", "Message 099"), ("Message 050", "Message 049")):
        steps.scroll(page, scroller(page), 250)
        expect(steps.entry(page, oldest)).to_be_attached()
        steps.wait_until(page, lambda: len(held) == 1)
        name, top = scroller(page).evaluate(FIRST_IN_VIEW)
        held.pop().continue_()
        expect(steps.entry(page, next_one)).to_be_attached()
        assert scroller(page).evaluate(TOP_OF, name) == pytest.approx(top, abs=2), name

    steps.scroll(page, scroller(page), 0)
    expect(steps.entry(page, "Message 000")).to_be_in_viewport()
    assert held == []


def test_who_said_it_and_what_it_cost_are_told(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    for role in ("system", "user", "ai"):
        made.say(role, f"I am {role}")
    made.say("ai", "It cost me something", usage={"inputTokens": 310, "outputTokens": 12, "costUsd": 0.0021})

    page = open_(blank, user, made)

    for role, name in (("system", "System"), ("user", user), ("ai", "Agent")):
        expect(steps.entry(page, f"I am {role}")).to_have_accessible_name(name)
    for told in ("310 in", "12 out", "$0.002"):
        expect(steps.entry(page, "It cost me")).to_contain_text(told)


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
    switcher = page.get_by_role("group", name="2 ways from here")
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
    expect(steps.entry(page, "Message 059")).to_be_in_viewport()  # before that there is nothing to scroll
    steps.scroll(page, scroller(page), 0)
    expect(page.get_by_text("Loading older messages…")).to_be_in_viewport()

    turn.get_by_role("button", name="Next way").click()

    expect(page).to_have_url(re.compile(steps.at_conversation(other.id, chosen.id)))


def test_an_edited_message_is_one_more_alternative_and_current_if_one_says_so(
    blank: Page, api: Forklore, user: str
) -> None:
    made = grove(api)
    page = open_(blank, user, made["left"])
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 3)
    steps.expect_switcher(steps.turn(page, "D asks on"), 1, 2)

    steps.press(page, "B2 answers", "Edit")
    page.get_by_label("make it current for everybody").check()
    steps.edit_box(page).fill("B4 answers")
    page.get_by_role("button", name="Send on a new branch").click()

    steps.expect_messages(page, ["A asks", "B4 answers"])
    steps.expect_switcher(steps.turn(page, "B4 answers"), 4, 4)
    edited, chosen = steps.place_of(page)
    assert edited not in {one.id for one in made.values()}
    assert chosen == api.conversation(edited).entries().list()[-1].id
    assert api.conversation(edited).details().is_current
    expect(steps.head(page).get_by_title("The current branch opens first")).to_be_visible()

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
    expect(steps.edit_box(page)).to_have_value("A asks")
    expect(steps.edit_box(page)).to_be_focused()

    page.get_by_role("button", name="Cancel").click()

    expect(steps.edit_box(page)).to_be_hidden()
    assert len(root.forks().list()) == 1


@pytest.mark.parametrize("place", ["text", "checkbox", "message"])
def test_esc_cancels_an_edit_and_leaves_the_answer_that_is_written_alone(
    blank: Page, api: Forklore, user: str, place: str
) -> None:
    root = steps.talk(api, "A asks", "B answers")
    with root.answer() as answer:
        answer.write("On its way")
        page = open_(blank, user, root)
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        steps.press(page, "A asks", "Edit")
        steps.edit_box(page).fill("A2 asks")
        if place == "checkbox":
            page.get_by_label("make it current for everybody").focus()
        if place == "message":
            steps.entries(page).first.focus()

        page.keyboard.press("Escape")

        expect(steps.edit_box(page)).to_be_hidden()
        expect(steps.entry(page, "A asks")).to_be_focused()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        steps.press(page, "A asks", "Edit")
        expect(steps.edit_box(page)).to_have_value("A asks")


def test_another_answer_begins_a_branch_when_it_is_sent_and_not_before(
    blank: Page, api: Forklore, user: str
) -> None:
    root = steps.talk(api, "A asks", "B answers", title="root")
    page = open_(blank, user, root)
    expect(steps.turn(page, "A asks").get_by_role("button", name="Try again")).to_be_hidden()
    other = page.get_by_role("textbox", name="Another answer in its place")

    steps.press(page, "B answers", "Try again")
    expect(other).to_be_focused()
    expect(page.get_by_role("button", name="Send on a new branch")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(other).to_be_hidden()
    assert len(root.forks().list()) == 1

    steps.press(page, "B answers", "Try again")
    other.fill("B2 answers")
    page.reload()
    expect(other).to_have_value("B2 answers")
    other.press("Enter")

    steps.expect_messages(page, ["A asks", "B2 answers"])
    steps.expect_switcher(steps.turn(page, "B2 answers"), 2, 2)
    fork = api.conversation(steps.place_of(page)[0])
    assert fork.id != root.id
    assert root.details().is_current
    assert steps.stored(fork) == ["USER: A asks", "AI: B2 answers"]
    assert len(root.forks().list()) == 2


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
    timed: Page, api: Forklore, user: str
) -> None:
    root = steps.talk(api, "A asks", "B answers")
    page = open_(timed, user, root)
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
    chosen = made.entries().list()[198]

    steps.press(page, "Message 198", "Copy link")

    expect(steps.said(page, "The link is copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.endswith(steps.at_conversation(made.id, chosen.id))
    other = context.new_page()
    other.goto(link)
    steps.fill_sign_in(other, user)
    expect_chosen(other, "Message 198")


def expect_chosen(page: Page, text: str) -> None:
    """Wait until the entry with this text is shown and marked, and no other one is marked."""
    expect(steps.entry(page, text)).to_be_in_viewport()
    expect(steps.entry(page, text)).to_have_class(re.compile(r"\bchosen\b"))
    expect(steps.feed(page).locator(".chosen")).to_have_count(1)


def test_a_link_into_the_middle_shows_what_stands_before_and_after(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, *numbered(300))
    chosen = made.entries().list()[100]

    page = open_(blank, user, made, chosen.id)

    expect_chosen(page, "Message 100")
    for text in ("Message 099", "Message 101"):
        expect(steps.entry(page, text)).to_be_attached()
    for newest in ("Message 149", "Message 199", "Message 249", "Message 299"):
        steps.scroll(page, scroller(page))
        expect(steps.entry(page, newest)).to_be_attached()


def test_the_first_entry_is_linked(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, *numbered(120))
    first = made.entries().first()
    assert first is not None

    page = open_(blank, user, made, first.id)

    expect_chosen(page, "Message 000")


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


# What a message holds


def test_markdown_is_read_and_code_is_copied(
    blank: Page, context: BrowserContext, api: Forklore, user: str
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = 'def f(x):\n    return "<b>" + x'
    listed = "## Plan\n\n- **one**\n- [two](https://a.invalid/x)\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    text = f"{listed}\n\n```python\n{code}\n```"
    page = open_(blank, user, steps.talk(api, "Ask", text))
    card = steps.entry(page, "Plan")

    expect(card.get_by_role("heading", name="Plan", level=3)).to_be_visible()
    expect(card.get_by_role("listitem")).to_have_text(["one", "two"])
    expect(card.get_by_role("cell", name="2")).to_be_visible()
    link = card.get_by_role("link", name="two")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", re.compile("noopener noreferrer"))
    expect(card.get_by_label("Code, python")).to_have_text(code)
    card.get_by_role("button", name="Copy", exact=True).click()
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == code


def test_formulas_are_drawn_and_what_draws_them_comes_with_the_first(
    blank: Page, api: Forklore, user: str
) -> None:
    loaded: list[str] = []
    blank.on("request", lambda request: loaded.append(request.url))
    chat = steps.talk(api, "It costs $5, not $6", "No formula")
    page = open_(blank, user, chat)
    expect(steps.entry(page, "It costs $5, not $6")).to_be_visible()
    assert not [one for one in loaded if "/Formula-" in one]

    chat.say("user", "Is $a^2+b^2$ \\(c^2\\)?")
    chat.say("ai", "It is:\n\n$$\n\\sqrt{c}\n$$\n\nBut $\\frac{1$ is none.")

    expect(steps.entries(page).nth(2).locator("math")).to_have_text(["a2+b2", "c2"])
    card = steps.entry(page, "It is:")
    expect(card.get_by_role("group", name="Formula").locator("math msqrt")).to_have_text("c")
    expect(card).to_contain_text("But $\\frac{1$ is none.")
    assert len([one for one in loaded if "/Formula-" in one]) == 1


def test_a_list_and_a_quotation_in_arabic_begin_at_the_right(blank: Page, api: Forklore, user: str) -> None:
    page = open_(blank, user, steps.talk(api, "Ask", "1. واحد\n2. اثنان\n\n> اقتباس\n\n- one"))
    card = steps.entry(page, "واحد")

    expect(card.locator("ol")).to_have_css("padding-right", "22px")
    expect(card.locator("blockquote")).to_have_css("border-right-width", "3px")
    expect(card.locator("ul")).to_have_css("padding-left", "22px")


def test_a_long_message_is_folded_and_a_message_is_shown_as_it_is_stored(
    blank: Page, api: Forklore, user: str
) -> None:
    page = open_(blank, user, steps.talk(api, "It goes on.\n" * 1_000 + "This is its end."))
    card = steps.entry(page, "It goes on.")
    expect(card).not_to_contain_text("This is its end.")

    card.get_by_role("button", name="more characters").click()
    expect(card).to_contain_text("This is its end.")

    card.get_by_role("button", name="As stored").click()
    expect(card.get_by_label("Code, json")).to_contain_text(f'"userId": "{user}"')


def a_call(call_id: str, output: str, *, failed: bool = False) -> list[dict[str, Any]]:
    """Return the entries of a call of a tool and of its result, each by `role` and `content`."""
    call = {"type": "tool_use", "id": call_id, "name": "weather", "input": {"city": "Lisbon"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
    return [{"role": "AI", "content": [call]}, {"role": "USER", "content": [result]}]


def test_a_tool_call_is_a_card_and_one_that_failed_opens_by_itself(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "What is the weather?", "I look.")
    for content in [*a_call("c1", "sunny"), *a_call("c2", "no such city", failed=True)]:
        made.append([content])
    page = open_(blank, user, made)
    cards = steps.entry(page, "I look.").locator("details.call")
    expect(cards).to_have_count(2)

    expect(cards.first).to_contain_text("weather")
    expect(cards.first.get_by_text("sunny")).to_have_count(0)
    expect(cards.last).to_contain_text("failed")
    expect(cards.last.get_by_text("no such city")).to_be_visible()
    cards.first.locator("summary").click()
    expect(cards.first.get_by_text("sunny")).to_be_visible()


def test_on_a_phone_the_first_press_opens_a_card_though_the_buttons_of_its_message_appear(
    new_context: Callable[..., BrowserContext], api: Forklore, user: str
) -> None:
    run = steps.talk(api, "Check the feeds")
    run.append([{"role": "AI", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}])
    phone = new_context(viewport={"width": 390, "height": 700}).new_page()
    page = steps.sign_in(phone, user, at=steps.at_conversation(run.id))

    page.locator(".call summary").click()

    expect(page.locator(".io")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def a_run(api: Forklore, *results: tuple[str, str]) -> Conversation:
    made = steps.talk(api, "What is the weather?", "I look.")
    for call, result in results:
        for content in a_call(call, result):
            made.append([content])
    return made


def result_box(page: Page, tool: str = "weather") -> Locator:
    return page.get_by_role("textbox", name=f"What {tool} has returned")


def open_call(page: Page, at: int = 0) -> Locator:
    card = steps.entry(page, "I look.").locator("details.call").nth(at)
    card.locator("summary").click()
    return card


def test_a_tools_result_is_corrected_in_a_text_box_and_goes_to_a_new_branch(
    blank: Page, api: Forklore, user: str
) -> None:
    made = a_run(api, ("c1", "sunny"))
    page = open_(blank, user, made)

    open_call(page).get_by_role("button", name="Edit").click()
    expect(result_box(page)).to_have_value("sunny")
    expect(page.get_by_label("failed")).not_to_be_checked()
    result_box(page).fill("rainy")
    page.get_by_role("button", name="Send on a new branch").click()

    expect(page).not_to_have_url(re.compile(made.id))
    expect(steps.feed(page).locator("pre", has_text="rainy")).to_be_visible()
    expect(steps.title(page)).to_have_text("What is the weather?")  # the edit has no words for a title
    fork = api.conversation(steps.place_of(page)[0])
    last = fork.entries(channel="history").list()[-1].content[0]
    assert last == a_call("c1", "rainy")[1]
    assert made.entries(channel="history").list()[-1].content[0] == a_call("c1", "sunny")[1]


def test_a_tool_that_should_have_failed_is_marked_so_also_after_a_reload(
    blank: Page, api: Forklore, user: str
) -> None:
    made = a_run(api, ("c1", "sunny"))
    page = open_(blank, user, made)
    open_call(page).get_by_role("button", name="Edit").click()
    send = page.get_by_role("button", name="Send on a new branch")
    expect(send).to_be_disabled()

    page.get_by_label("failed").check()
    page.reload()
    expect(page.get_by_label("failed")).to_be_checked()
    send.click()

    expect(steps.feed(page).locator(".tools.fail", has_text="sunny")).to_be_visible()
    fork = api.conversation(steps.place_of(page)[0])
    content = fork.entries(channel="history").list()[-1].content[0]
    assert content["content"][0] == {**a_call("c1", "sunny")[1]["content"][0], "is_error": True}


def test_a_result_is_edited_as_json_behind_a_switch(blank: Page, api: Forklore, user: str) -> None:
    made = a_run(api, ("c1", "sunny"))
    page = open_(blank, user, made)
    open_call(page).get_by_role("button", name="Edit").click()

    page.get_by_role("button", name="JSON").click()
    box = page.get_by_role("textbox", name="What the agent reads, as JSON")
    expect(page.get_by_label("failed")).to_have_count(0)
    box.fill(box.input_value().replace("sunny", "rainy"))
    page.get_by_role("button", name="JSON").click()
    expect(result_box(page)).to_have_value("sunny")
    page.get_by_role("button", name="JSON").click()
    page.get_by_role("button", name="Send on a new branch").click()

    expect(steps.feed(page).locator("pre", has_text="rainy")).to_be_visible()


def test_one_of_two_results_of_an_entry_is_corrected(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "What is the weather?", "I look.")
    runs = [a_call(call, "sunny") for call in ("c1", "c2")]
    for which in range(2):  # both calls, then both results
        made.append([{**runs[0][which], "content": [run[which]["content"][0] for run in runs]}])
    page = open_(blank, user, made)

    open_call(page, 1).get_by_role("button", name="Edit").click()
    result_box(page).fill("rainy")
    result_box(page).press("Enter")

    expect(steps.feed(page).locator("pre", has_text="rainy")).to_be_visible()
    fork = api.conversation(steps.place_of(page)[0])
    parts = fork.entries(channel="history").list()[-1].content[0]["content"]
    assert [part["content"] for part in parts] == ["sunny", "rainy"]


def test_attachments_and_other_fields_are_shown(blank: Page, api: Forklore, user: str) -> None:
    made = api.create()
    plan = {"href": "https://files.invalid/plan.pdf", "name": "plan.pdf", "contentType": "application/pdf"}
    lost = {"attachmentId": "a-17", "name": "map.png"}
    made.append([{"role": "AI", "text": "Here it is", "attachments": [plan, lost], "mood": {"glad": True}}])
    made.append([{"from": "LIS"}, 7], content_type="application/vnd.train+json")

    page = open_(blank, user, made)

    card = steps.entry(page, "Here it is")
    link = card.get_by_role("link", name="plan.pdf · application/pdf")
    expect(link).to_have_attribute("href", "https://files.invalid/plan.pdf")
    expect(card).to_contain_text("map.png")
    card.get_by_text("More fields").click()
    expect(card.get_by_text("glad", exact=True)).to_be_visible()
    unknown = steps.entries(page).last
    unknown.get_by_text("application/vnd.train+json").click()
    expect(unknown.get_by_text("LIS", exact=True)).to_be_visible()


# Who may


def test_a_writer_writes_in_a_conversation_of_another(blank: Page, api: Forklore, user: str) -> None:
    made = steps.talk(api, "A asks", title="Shared")
    made.share(f"bob-{user}", "writer")
    page = open_(blank, f"bob-{user}", made)

    steps.send(page, "Bob answers")

    expect(steps.entry(page, "Bob answers")).to_have_accessible_name(f"bob-{user}")
    entries = made.entries().list()
    assert [(one.user_id, text_of(one)) for one in entries] == [
        (user, "A asks"),
        (f"bob-{user}", "Bob answers"),
    ]
