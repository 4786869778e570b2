"""The list of conversations: order, pages, search, children, and what an empty one offers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tests.web.conftest import AGENTS

EXAMPLE = Path(__file__).parents[2] / "examples" / "trees.jsonl"


def expect_titles(page: Page, names: list[str]) -> None:
    """Wait until the rows of the list are these; those of children are not counted."""
    expect(steps.rows(page).locator("b.cut")).to_have_text(names)


def scroll_to(page: Page, count: int) -> None:
    """Scroll to the end of the list, and wait until it has so many rows."""
    steps.scroll(page, steps.conversations(page).locator(".rows"))
    expect(steps.rows(page)).to_have_count(count)


def look_again(page: Page) -> None:
    """Load the list anew, as when one comes back to the tab."""
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")


def test_the_conversation_that_was_used_last_is_first_also_when_others_use_it(
    timed: Page, api: Forklore, user: str
) -> None:
    made = [steps.talk(api, f"About {name}", title=name) for name in ("Lisbon", "Porto", "Faro")]
    page = steps.sign_in(timed, user)
    expect_titles(page, ["Faro", "Porto", "Lisbon"])
    expect(page.get_by_role("region", name="Today")).to_contain_text("About Porto")

    made[0].say("ai", "It has hills.")
    steps.look_now(page)

    expect_titles(page, ["Lisbon", "Faro", "Porto"])
    expect(steps.row(page, "Lisbon")).to_contain_text("It has hills.")


def test_the_list_and_the_page_count_the_history(blank: Page, api: Forklore, url: str, user: str) -> None:
    trip = steps.talk(api, "Where to?", "Lisbon.", title="Trip")
    with Forklore(url, token=user, client_key=AGENTS["planner"]) as agent:
        agent.conversation(trip.id).context.sync([{"memory": "of the agent"}])
    page = steps.sign_in(blank, user)

    expect(steps.row(page, "Trip")).to_contain_text("2 entries")
    steps.row(page, "Trip").click()
    expect(page.locator("header.head")).to_contain_text("2 entries")


def test_a_tree_has_one_row_which_is_its_current_branch(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "Where to?", "Lisbon.", title="First plan")
    steps.talk(api, "Hello", title="Another tree")
    asked = trip.entries().list()[1]
    fork = trip.fork(before=asked, title="Better plan", promote=True)
    fork.say("ai", "Porto.")
    trip.fork(before=asked, title="Third plan")

    page = steps.sign_in(blank, user)

    expect(steps.rows(page)).to_have_count(2)
    expect(steps.row(page, "Another tree")).not_to_contain_text("branches")
    expect(steps.row(page, "Better plan")).to_contain_text("3 branches")
    steps.row(page, "Better plan").click()
    steps.expect_messages(page, ["Where to?", "Porto."])


def test_more_conversations_come_as_one_scrolls(blank: Page, api: Forklore, user: str) -> None:
    names = [f"Trip {number:03}" for number in range(125)]
    for name in names:
        api.create(title=name)
    asked: list[str] = []
    blank.on("request", lambda request: asked.append(request.url))

    page = steps.sign_in(blank, user)

    expect(steps.rows(page)).to_have_count(40)
    assert [one for one in pages_of(asked) if "afterCursor" in one] == []
    for count in (80, 120, 125):
        scroll_to(page, count)
    expect_titles(page, names[::-1])
    assert len([one for one in pages_of(asked) if "afterCursor" in one]) == 3


def test_the_row_where_the_keyboard_is_keeps_the_focus_when_more_come(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(60):
        api.create(title=f"Trip {number:03}")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(40)

    steps.row(page, "Trip 055").focus()
    scroll_to(page, 60)

    expect(steps.row(page, "Trip 055")).to_be_focused()
    expect(steps.row(page, "Trip 055")).not_to_be_in_viewport()


def pages_of(asked: list[str]) -> list[str]:
    """Return which of the addresses are of pages of the list."""
    return [address for address in asked if "/v1/conversations?" in address]


def test_what_is_new_comes_without_losing_the_place_in_a_long_list(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(60):
        api.create(title=f"Trip {number:03}")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(40)
    scroll_to(page, 60)

    steps.row(page, "Trip 010").click()
    steps.act(page, "Names and tags")
    steps.dialog(page).get_by_label("Title").fill("Trip to Lisbon")
    steps.dialog(page).get_by_role("button", name="Save").click()

    expect(steps.row(page, "Trip to Lisbon")).to_be_visible()
    expect(steps.rows(page)).to_have_count(60)


def test_search_says_where_it_found_what_and_leads_there(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "We eat grilled sardines there", title="Lisbon")
    trip.fork(title="No fish", promote=True)
    home = steps.talk(api, "Hello", title="Sardines at home")
    api.api.set_name(name="sardine-run", conversation_id=home.id)
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(2)

    found = steps.search(page, "sardine")

    def group(name: str) -> Locator:
        return page.get_by_role("listbox", name="Found").get_by_role("group", name=name, exact=True)

    expect(group("Names").get_by_role("option")).to_have_text(["sardine-run"])
    expect(group("Conversations").get_by_role("option")).to_contain_text(["Sardines at home"])
    expect(group("Messages").get_by_role("option")).to_contain_text(["grilled sardines there in Lisbon"])
    expect(group("Messages").locator("mark")).to_have_text(["sardine"])
    steps.search(page, "grilled")
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    expect(steps.entry(page, "grilled")).to_have_class(re.compile("chosen"))
    assert steps.place_of(page) == (trip.id, trip.entries().list()[0].id)
    steps.search(page, trip.id)
    page.keyboard.press("Enter")
    expect(steps.title(page)).to_have_text("Lisbon")


def test_hits_on_sibling_branches_are_one_until_one_asks_for_them(
    blank: Page, api: Forklore, user: str
) -> None:
    trip = steps.talk(api, "What to eat?", title="Lisbon")
    asked = trip.entries().list()[0]
    for number in range(4):
        trip.fork(after=asked).say("ai", f"Grilled sardines, try {number}")
    trip.fork(after=asked, title="Apart").say("ai", "No sardines")
    steps.talk(api, "Sardines at home", title="Porto")
    page = steps.sign_in(blank, user)

    found = steps.search(page, "sardines").filter(has_text=re.compile("sardines|branches", re.IGNORECASE))

    expect(found).to_have_count(4)
    expect(found.filter(has_text="Grilled")).to_have_count(1)
    found.filter(has_text=re.compile("3 more messages on other branches of .*Lisbon")).click()
    expect(found.filter(has_text="Grilled sardines, try")).to_have_count(4)
    expect(found).to_have_count(6)
    steps.search(page, "grilled")
    steps.search(page, "sardines")
    expect(found).to_have_count(4)


def test_by_meaning_only_the_branch_is_searched_and_hits_glow_on_the_tree(
    recalling: str, browser: Browser, user: str
) -> None:
    with Forklore(recalling, token=user) as api:
        trip = steps.talk(api, "Which hotel in Lisbon?", title="Lisbon")
        asked = trip.entries().list()[0]
        trip.say("ai", "A quiet hotel near the river")
        other = trip.fork(after=asked, title="Cheap")
        other.say("ai", "An inn with shared rooms")
    page = browser.new_page(base_url=recalling, reduced_motion="reduce")
    steps.sign_in(page, user, at=steps.at_conversation(trip.id))
    tree = page.get_by_role("tree", name="Fork tree")
    glowing = tree.locator(".tr.hit")

    found = steps.search(page, "lodging overnight").filter(has_text="in Lisbon")
    expect(steps.said(page, "Nothing is like that.")).to_be_visible()
    steps.dialog(page).get_by_role("button", name="By meaning").click()
    expect(found.filter(has_text="quiet hotel")).to_be_visible()
    expect(steps.dialog(page)).not_to_contain_text("inn with")
    page.keyboard.press("Escape")
    expect(glowing.filter(has_text="quiet hotel")).to_be_visible()
    expect(glowing.filter(has_text="inn with")).to_have_count(0)

    steps.search(page, "lodging overnight")
    steps.dialog(page).get_by_role("button", name="Everywhere").click()
    expect(steps.dialog(page)).to_contain_text("inn with")
    page.keyboard.press("Escape")
    expect(glowing.filter(has_text="inn with")).to_be_visible()
    page.get_by_role("button", name="3 found").click()
    expect(glowing).to_have_count(0)
    page.context.close()


def test_search_goes_on_and_says_when_nothing_is_found(blank: Page, api: Forklore, user: str) -> None:
    steps.say_all(
        api.create(title="Long"), [f"The word sardines, number {number:03}" for number in range(50)]
    )
    page = steps.sign_in(blank, user)

    found = steps.search(page, "sardines")
    expect(found).to_have_count(21)
    for count in (41, 50):
        found.filter(has_text="Search on").click()
        expect(found).to_have_count(count)
    steps.search(page, "Reykjavik")

    expect(steps.said(page, "Nothing is like that.")).to_be_visible()


def test_the_list_is_filtered(blank: Page, api: Forklore, user: str) -> None:
    steps.talk(api, "Hello", title="Lisbon").update(tags={"kind": "trip"})
    steps.talk(api, "Hello", title="Porto").archive()
    steps.talk(api, "Hello", title="Faro")
    page = steps.sign_in(blank, user)
    expect_titles(page, ["Faro", "Lisbon"])

    page.get_by_role("button", name="Filter by tag, agent, date").click()
    page.get_by_label("Tag, or tag:value").fill("kind:trip")
    page.keyboard.press("Enter")
    expect_titles(page, ["Lisbon"])
    page.get_by_label("Tag, or tag:value").fill("kind:other")
    page.keyboard.press("Enter")
    expect(steps.conversations(page)).to_contain_text("No conversation is like that.")
    page.get_by_role("button", name="No filter").click()
    page.get_by_role("button", name="Archived ones").click()
    expect_titles(page, ["Porto"])
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Failed", exact=True).click()
    expect(steps.conversations(page)).to_contain_text("No tool has failed.")
    page.get_by_role("button", name="Filter by tag, agent, date").click()
    page.get_by_label("Used in").select_option("the last 7 days")
    expect_titles(page, ["Porto"])
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Only archived ones, of the last 7 days").click()
    expect_titles(page, ["Faro", "Lisbon"])


def test_pins_are_first_in_ones_own_order(blank: Page, api: Forklore, user: str) -> None:
    made = {name: steps.talk(api, "Hello", title=name) for name in ("Lisbon", "Porto", "Faro")}
    made["Lisbon"].pin()
    page = steps.sign_in(blank, user)
    pinned = page.get_by_role("region", name="Pinned")
    expect_titles(page, ["Lisbon", "Faro", "Porto"])
    expect(pinned.locator("b.cut")).to_have_text(["Lisbon"])

    steps.row(page, "Porto").click()
    steps.act(page, "Pin")
    expect(pinned.locator("b.cut")).to_have_text(["Porto", "Lisbon"])
    expect_titles(page, ["Porto", "Lisbon", "Faro"])

    of_porto = page.get_by_role("group", name="Pin of Porto")
    expect(of_porto.get_by_role("button", name="Move up")).to_be_disabled()
    of_porto.get_by_role("button", name="Move down").click()
    expect(pinned.locator("b.cut")).to_have_text(["Lisbon", "Porto"])
    assert [one.title for one in api.conversations(pinned=True)] == ["Lisbon", "Porto"]
    of_porto.get_by_role("button", name="Move up").click()
    expect(pinned.locator("b.cut")).to_have_text(["Porto", "Lisbon"])

    page.get_by_role("group", name="Pin of Lisbon").get_by_role("button", name="Unpin").click()
    expect(pinned.locator("b.cut")).to_have_text(["Porto"])
    steps.act(page, "Unpin")
    expect(pinned).to_have_count(0)
    expect_titles(page, ["Faro", "Porto", "Lisbon"])


def test_a_pin_is_dragged_to_its_place(blank: Page, api: Forklore, user: str) -> None:
    for name in ("Faro", "Porto", "Lisbon"):
        steps.talk(api, "Hello", title=name).pin()
    steps.talk(api, "Hello", title="Evora")
    page = steps.sign_in(blank, user)
    titles = page.get_by_role("region", name="Pinned").locator("b.cut")
    expect(titles).to_have_text(["Lisbon", "Porto", "Faro"])

    def drag(name: str, to: str, *, below: bool) -> None:
        box = steps.row(page, to).bounding_box()
        assert box is not None
        place = {"x": 40.0, "y": box["height"] - 4 if below else 4.0}
        steps.row(page, name).drag_to(steps.row(page, to), target_position=place)  # type: ignore[arg-type]

    drag("Lisbon", "Faro", below=True)
    expect(titles).to_have_text(["Porto", "Faro", "Lisbon"])
    assert [one.title for one in api.conversations(pinned=True)] == ["Porto", "Faro", "Lisbon"]
    drag("Lisbon", "Faro", below=False)
    expect(titles).to_have_text(["Porto", "Lisbon", "Faro"])
    drag("Faro", "Porto", below=False)
    expect(titles).to_have_text(["Faro", "Porto", "Lisbon"])

    address = page.url
    drag("Evora", "Faro", below=True)  # no pin
    drag("Faro", "Evora", below=True)  # to where no pin is
    drag("Porto", "Porto", below=True)
    assert page.url == address
    assert [one.title for one in api.conversations(pinned=True)] == ["Faro", "Porto", "Lisbon"]


def test_by_keyboard_a_pin_is_moved(blank: Page, api: Forklore, user: str) -> None:
    for name in ("Faro", "Porto"):
        steps.talk(api, "Hello", title=name).pin()
    page = steps.sign_in(blank, user)
    titles = page.get_by_role("region", name="Pinned").locator("b.cut")
    steps.row(page, "Faro").focus()
    page.keyboard.press("Tab")
    expect(
        page.get_by_role("group", name="Pin of Faro").get_by_role("button", name="Move up")
    ).to_be_focused()
    page.keyboard.press("Enter")
    expect(titles).to_have_text(["Faro", "Porto"])
    assert [one.title for one in api.conversations(pinned=True)] == ["Faro", "Porto"]


def test_a_filter_counts_for_pins(blank: Page, api: Forklore, user: str) -> None:
    steps.talk(api, "Hello", title="Lisbon").update(tags={"kind": "trip"})
    for name in ("Porto", "Faro"):
        steps.talk(api, "Hello", title=name).pin()
    evora = steps.talk(api, "Hello", title="Evora")
    evora.update(tags={"kind": "trip"})
    evora.pin()
    page = steps.sign_in(blank, user)
    expect_titles(page, ["Evora", "Faro", "Porto", "Lisbon"])

    page.get_by_role("button", name="Filter by tag, agent, date").click()
    page.get_by_label("Tag, or tag:value").fill("kind:trip")
    page.keyboard.press("Enter")
    expect_titles(page, ["Evora", "Lisbon"])


def test_sessions_of_programs_are_filtered_by_program_and_project(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(60):
        tags = {"program": "codex" if number % 2 else "pi", "project": "dike" if number % 20 == 1 else "pier"}
        session = api.create(title=f"Session {number:02}", tags=tags)
        if number == 21:  # what one has forked here has no tags of its own
            session.say("user", "How deep is the harbour?")
            session.fork(title="Fork of 21").promote()
    api.create(title="No session")
    page = steps.sign_in(blank, user)
    titles = [f"Session {number:02}" if number != 21 else "Fork of 21" for number in range(60)]
    expect_titles(page, ["No session", *titles[:20:-1]])

    page.get_by_role("button", name="Filter by tag, agent, date").click()
    program, project = page.get_by_label("Program, such as codex"), page.get_by_label("Project")
    assert page.locator(f"#{program.get_attribute('list')} option").evaluate_all(
        "all => all.map(one => one.value)"
    ) == ["codex", "pi"]
    program.fill("codex")
    page.keyboard.press("Enter")
    expect_titles(page, titles[::-2])
    project.fill("dike")
    page.keyboard.press("Enter")
    expect_titles(page, ["Session 41", "Fork of 21", "Session 01"])
    program.fill("pi")
    page.keyboard.press("Enter")
    expect(steps.conversations(page)).to_contain_text("No conversation is like that.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Only pi, dike").click()
    expect(steps.row(page, "No session")).to_be_visible()


def test_runs_in_which_a_tool_failed_are_found(blank: Page, api: Forklore, user: str) -> None:
    call = {"type": "tool_use", "id": "c", "name": "fetch_feed", "input": {"feed": "orders"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "HTTP 503", "is_error": True}
    steps.talk(api, "It has not failed", title="Fine")
    run = steps.talk(api, "Check the feeds", title="Nightly run")
    run.append([{"role": "AI", "content": [call]}])
    _, last = [run.append([{"role": "USER", "content": [result]}]) for _ in range(2)]
    page = steps.sign_in(blank, user)

    page.get_by_role("button", name="Failed", exact=True).click()

    expect_titles(page, ["Nightly run"])
    expect(steps.row(page, "Nightly run")).to_contain_text("1 earlier failure")
    steps.row(page, "Nightly run").click()
    assert steps.place_of(page) == (run.id, last.id)
    expect(steps.search(page, "503")).to_contain_text(["HTTP 503"])


def test_a_failure_opens_where_it_is_also_among_many_calls_with_the_tree_there(
    blank: Page, api: Forklore, user: str
) -> None:
    run = steps.talk(api, "Check the feeds", title="Nightly run")
    for number in range(80):
        name = f"feed_{number}"
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "is_error": number == 50}
        told = [{"role": "AI", "content": [call]}, {"role": "USER", "content": [result]}]
        run.append_all([{"contentType": "history", "content": [one]} for one in told])
    page = steps.sign_in(blank, user, at=steps.at_conversation(run.id))
    page.get_by_role("tab", name="Costs").click()

    page.get_by_role("button", name="Failed", exact=True).click()
    steps.row(page, "Nightly run").click()

    failed = page.locator("details.call").filter(has_text="feed_50")
    expect(failed).to_be_in_viewport()
    expect(steps.dot(page, "feed_50 failed")).to_have_attribute("aria-selected", "true")
    expect(steps.dot(page, "feed_50 failed")).to_be_in_viewport()
    expect(page.locator("details.call").filter(has_text="feed_20")).to_be_attached()  # it is loaded later
    expect(failed).to_be_in_viewport()


def test_what_is_opened_right_after_a_link_was_pressed_stays_open(
    blank: Page, api: Forklore, user: str
) -> None:
    chat = steps.talk(api, "Hello", title="Oak")
    page = steps.sign_in(blank, user)
    button = page.get_by_role("button", name="Search or go to").element_handle()

    steps.row(page, "Oak").evaluate("(link, button) => { link.click(); button.click(); }", button)
    expect(steps.entry(page, "Hello")).to_be_attached()

    assert steps.place_of(page)[0] == chat.id
    expect(page.get_by_role("combobox", name="Search or go to")).to_be_visible()


def test_nothing_moves_in_a_list_that_is_read_until_one_asks_for_what_is_new(
    timed: Page, api: Forklore, user: str
) -> None:
    made = [steps.talk(api, "Hello", title=f"Trip {number:03}") for number in range(20)]
    page = steps.sign_in(timed, user)
    expect(steps.rows(page)).to_have_count(20)
    steps.scroll(page, steps.conversations(page).locator(".rows"))
    place = steps.resting(page, steps.row(page, "Trip 003"))

    made[3].say("user", "Something new")
    steps.talk(api, "Hello", title="New trip")
    steps.look_now(page)

    news = page.get_by_role("button", name="2 new")
    expect(news).to_be_visible()
    expect(steps.row(page, "Trip 003")).to_contain_text("Something new")
    expect(steps.row(page, "New trip")).to_have_count(0)
    assert steps.resting(page, steps.row(page, "Trip 003"))["height"] == place["height"]
    news.click()
    expect(steps.rows(page).locator("b.cut").nth(1)).to_have_text("Trip 003")
    expect(steps.row(page, "New trip")).to_be_in_viewport()
    expect(news).to_be_hidden()


def test_children_stand_under_their_parent(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "Plan a trip", title="Trip")
    steps.talk(api, "Hello", title="Apart")
    child = trip.start_child("hotels", title="Hotels")
    child.say("user", "Find a hotel")
    child.start_child("prices", title="Prices").say("user", "Find prices")

    page = steps.sign_in(blank, user)

    items = steps.conversations(page).get_by_role("listitem")
    expect(items).to_have_count(2)
    of_trip = items.filter(has=page.get_by_text("Trip", exact=True))
    expect(of_trip.get_by_role("link")).to_have_count(3)
    expect(of_trip.get_by_role("link", name="hotels Hotels")).to_be_visible()
    expect(of_trip.get_by_role("link", name="prices Prices")).to_be_visible()


def test_children_stand_under_the_current_branch_of_their_parents_tree(
    blank: Page, api: Forklore, user: str
) -> None:
    trip = steps.talk(api, "Plan a trip", title="Trip")
    trip.start_child("hotels", title="Hotels").say("user", "Find a hotel")
    fork = trip.fork(title="Better trip", promote=True)
    page = steps.sign_in(blank, user)
    items = steps.conversations(page).get_by_role("listitem")

    def expect_inside(name: str) -> None:
        tree = items.filter(has=page.get_by_text(name, exact=True))
        expect(tree.get_by_role("link")).to_contain_text([name, "Hotels"])

    expect_inside("Better trip")

    fork.fork(title="Third").fork(title="Best trip", promote=True)
    page.reload()

    expect_inside("Best trip")


def test_one_walks_through_an_endless_list_by_tab(blank: Page, api: Forklore, user: str) -> None:
    names = [f"Trip {number:03}" for number in range(90)]
    for name in names:
        api.create(title=name)
    page = steps.sign_in(blank, user)
    steps.row(page, names[-1]).focus()

    for name in names[-2::-1]:
        expect(steps.row(page, name)).to_be_attached()  # the next rows come before one is there
        page.keyboard.press("Tab")
        expect(steps.row(page, name)).to_be_focused()


def test_a_list_that_is_loaded_again_keeps_the_focus(blank: Page, api: Forklore, user: str) -> None:
    made = [api.create(title=f"Trip {number:03}") for number in range(50)]
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(40)
    scroll_to(page, 50)
    steps.row(page, "Trip 001").focus()
    made[1].update(title="Trip to Lisbon")
    api.create(title="New trip")

    look_again(page)
    look_again(page)

    expect(steps.row(page, "Trip to Lisbon")).to_be_focused()
    page.get_by_role("button", name="1 new").click()
    expect(steps.row(page, "New trip")).to_be_attached()
    expect(steps.rows(page)).to_have_count(51)


def test_a_row_that_is_pressed_while_the_list_is_loaded_anew_opens(
    blank: Page, api: Forklore, user: str
) -> None:
    made = steps.talk(api, "A asks", title="Lisbon")
    page = steps.sign_in(blank, user)
    steps.row(page, "Lisbon").hover()
    page.mouse.down()
    api.create(title="New trip")
    with page.expect_response("**/v1/conversations?*"):
        look_again(page)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(steps.row(page, "New trip")).to_have_count(0)

    page.mouse.up()

    expect(steps.row(page, "New trip")).to_be_visible()
    expect(page).to_have_url(re.compile(steps.at_conversation(made.id)))


def test_a_conversation_is_made_and_opened(blank: Page, api: Forklore, user: str) -> None:
    page = steps.sign_in(blank, user)

    page.get_by_role("button", name="New conversation").first.click()
    steps.dialog(page).get_by_label("Title").fill("Lisbon in May")
    steps.dialog(page).get_by_role("button", name="Create").click()

    expect(steps.title(page)).to_have_text("Lisbon in May")
    expect(steps.row(page, "Lisbon in May")).to_have_attribute("aria-current", "page")
    steps.send(page, "Where do we begin?")
    steps.send(page, "At the river.", role="AI")
    steps.expect_messages(page, ["Where do we begin?", "At the river."])
    made = api.conversations().list()
    assert [(one.id, one.title) for one in made] == [(steps.place_of(page)[0], "Lisbon in May")]
    shown = steps.stored(api.conversation(made[0].id))
    assert shown == ["USER: Where do we begin?", "AI: At the river."]


def test_the_focus_stays_in_the_box_after_the_first_message(blank: Page, api: Forklore, user: str) -> None:
    made = api.create(title="Empty")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    steps.box(page).fill("One")
    page.keyboard.press("Enter")
    expect(steps.entry(page, "One")).to_be_visible()

    expect(steps.box(page)).to_be_focused()
    page.keyboard.type("Two")
    page.keyboard.press("Enter")

    steps.expect_messages(page, ["One", "Two"])


def in_example() -> list[tuple[str, str, list[str]]]:
    """Return the messages of the example: role, text, and what was said before each."""
    found = []

    def walk(message: dict[str, Any], above: list[str]) -> None:
        found.append((message["role"], message["text"], above))
        for reply in message.get("replies", []):
            walk(reply, [*above, message["text"]])

    for line in EXAMPLE.read_text().splitlines():
        walk(json.loads(line)["prompt"], [])
    return found


def leaves() -> list[list[str]]:
    """Return the texts from the first message to each last one of the example."""
    inner = {tuple(above) for _, _, above in in_example()}
    ways = [[*above, text] for _, text, above in in_example()]
    return sorted(way for way in ways if tuple(way) not in inner)


def branches(api: Forklore) -> list[list[str]]:
    """Return the texts of all branches that a user has."""
    return sorted(
        [line.split(": ", 1)[1] for line in steps.stored(api.conversation(one.id))]
        for one in api.conversations(mode="all")
    )


def hold_after(page: Page, count: int) -> list[Route]:
    """Let so many messages pass, and hold the next one in the list that is returned."""
    held: list[Route] = []
    passed = 0

    def answer(route: Route) -> None:
        nonlocal passed
        passed += 1
        if passed == count + 1:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/conversations/*/entries", answer)
    return held


def expect_example(page: Page) -> None:
    """Wait until the example is loaded whole, and open."""
    expect(steps.entries(page).first).to_be_visible(timeout=60_000)  # it is some 40 requests
    expect(page.get_by_role("button", name="example")).to_be_hidden()


def test_an_empty_store_greets_with_an_example(blank: Page, api: Forklore, user: str) -> None:
    page = steps.sign_in(blank, user)
    expect(page.get_by_role("heading", name="Every conversation has roads not taken.")).to_be_visible()
    bar = page.get_by_role("progressbar", name="Loading the example")
    expect(bar).to_be_hidden()
    held = hold_after(page, 8)

    page.get_by_role("button", name="Load the example").click()

    expect(bar).to_have_js_property("value", 8 / len(in_example()))
    expect(bar).to_have_js_property("max", 1)
    steps.wait_until(page, lambda: bool(held))
    held[0].continue_()
    expect_example(page)
    expect(steps.rows(page)).to_have_count(len(EXAMPLE.read_text().splitlines()))
    assert branches(api) == leaves()


def test_the_example_does_not_take_one_away_from_what_one_opened_meanwhile(
    timed: Page, api: Forklore, user: str
) -> None:
    page = steps.sign_in(timed, user)
    held = hold_after(page, 8)
    page.get_by_role("button", name="Load the example").click()
    steps.wait_until(page, lambda: bool(held))
    made = steps.talk(api, "A asks", title="Lisbon")
    steps.go_to(page, steps.at_conversation(made.id))
    steps.box(page).fill("Half a thought")

    held[0].continue_()

    expect(steps.rows(page)).to_have_count(1 + len(EXAMPLE.read_text().splitlines()), timeout=60_000)
    steps.wait_for_news(page, 2)
    expect(steps.box(page)).to_have_value("Half a thought")


def test_a_reload_in_the_middle_of_the_example_loads_nothing_twice(
    blank: Page, api: Forklore, user: str
) -> None:
    page = steps.sign_in(blank, user)
    held = hold_after(page, 8)
    page.get_by_role("button", name="Load the example").click()
    bar = page.get_by_role("progressbar", name="Loading the example")
    expect(bar).to_have_js_property("value", 8 / len(in_example()))
    steps.wait_until(page, lambda: bool(held))
    held[0].fetch()  # the service has it, and the page does not hear so

    page.reload()
    page.get_by_role("button", name="Load the rest of the example").click()

    expect_example(page)
    assert branches(api) == leaves()


@pytest.mark.parametrize("message", [0, 4])
def test_an_example_whose_answers_are_lost_is_loaded_once(
    blank: Page, api: Forklore, user: str, message: int, watch: Watch
) -> None:
    watch.expect("ERR_FAILED")
    page = steps.sign_in(blank, user)
    held = hold_after(page, message)
    page.get_by_role("button", name="Load the example").click()
    bar = page.get_by_role("progressbar", name="Loading the example")
    expect(bar).to_have_js_property("value", message / len(in_example()))
    steps.wait_until(page, lambda: bool(held))
    held[0].fetch()

    held[0].abort()

    expect_example(page)
    assert branches(api) == leaves()
