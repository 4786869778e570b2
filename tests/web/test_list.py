"""The list of conversations: order, pages, search, children, and what an empty one offers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch

EXAMPLE = Path(__file__).parents[2] / "examples" / "trees.jsonl"


def titles(page: Page) -> list[str]:
    return steps.rows(page).locator("b").all_inner_texts()


def expect_titles(page: Page, names: list[str]) -> None:
    expect(steps.rows(page).locator("b")).to_have_text(names)


def test_the_conversation_that_was_used_last_is_first(blank: Page, api: Forklore, user: str) -> None:
    first, *_ = [steps.talk(api, f"About {name}", title=name) for name in ("Lisbon", "Porto", "Faro")]
    first.say("user", "And back?")

    page = steps.sign_in(blank, user)

    expect_titles(page, ["Lisbon", "Faro", "Porto"])
    expect(steps.row(page, "Porto")).to_contain_text("About Porto")


def test_a_tree_has_one_row_which_is_its_current_branch(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "Where to?", "Lisbon.", title="First plan")
    steps.talk(api, "Hello", title="Another tree")
    asked = trip.entries().list()[1]
    fork = trip.fork(before=asked, title="Better plan", promote=True)
    fork.say("ai", "Porto.")
    trip.fork(before=asked, title="Third plan")

    page = steps.sign_in(blank, user)

    expect(steps.rows(page)).to_have_count(2)
    assert sorted(titles(page)) == ["Another tree", "Better plan"]
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
    assert len(pages_of(asked)) == 1
    steps.rows(page).first.hover()
    for count in (80, 120, 125):
        page.mouse.wheel(0, 100_000)
        expect(steps.rows(page)).to_have_count(count)
    assert titles(page) == names[::-1]
    assert len(pages_of(asked)) == 4


def test_the_row_where_the_keyboard_is_keeps_the_focus_when_more_come(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(60):
        api.create(title=f"Trip {number:03}")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(40)

    steps.row(page, "Trip 055").focus()
    page.mouse.move(100, 300)
    page.mouse.wheel(0, 100_000)

    expect(steps.rows(page)).to_have_count(60)
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
    steps.rows(page).first.hover()
    page.mouse.wheel(0, 100_000)
    expect(steps.rows(page)).to_have_count(60)

    steps.row(page, "Trip 010").click()
    steps.deed(page, "Rename").click()
    steps.dialog(page).get_by_label("Title").fill("Trip to Lisbon")
    steps.dialog(page).get_by_role("button", name="Rename").click()

    expect(steps.row(page, "Trip to Lisbon")).to_be_in_viewport()
    expect(steps.rows(page)).to_have_count(60)


def test_search_finds_titles_and_messages(blank: Page, api: Forklore, user: str) -> None:
    steps.talk(api, "We eat grilled sardines there", title="Lisbon")
    steps.talk(api, "Hello", title="Sardines at home")
    steps.talk(api, "Nothing of that kind", title="Porto")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(3)

    page.get_by_role("searchbox", name="Search titles and messages").fill("sardines")

    expect_titles(page, ["Sardines at home", "Lisbon"])
    hit = steps.row(page, "Lisbon")
    expect(hit).to_contain_text("grilled sardines")
    hit.click()
    expect(steps.turn(page, "grilled")).to_have_class(re.compile("chosen"))
    assert steps.place_of(page)[1]

    page.get_by_role("searchbox").fill("")
    expect(steps.rows(page)).to_have_count(3)


def test_search_finds_branches_that_are_not_current(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "Where to?", title="First plan")
    trip.fork(title="Second plan", promote=True)
    page = steps.sign_in(blank, user)
    expect_titles(page, ["Second plan"])

    page.get_by_role("searchbox").fill("First")

    expect_titles(page, ["First plan"])


def test_search_says_that_it_found_nothing(blank: Page, api: Forklore, user: str) -> None:
    steps.talk(api, "Hello", title="Lisbon")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(1)

    page.get_by_role("searchbox").fill("Reykjavik")

    for words in ("No title has this", "No message has this"):
        expect(steps.conversations(page).get_by_role("heading", name=words)).to_be_visible()
    expect(steps.rows(page)).to_have_count(0)


def test_many_hits_come_as_one_scrolls(blank: Page, api: Forklore, user: str) -> None:
    talk = api.create(title="Long")
    steps.say_all(talk, [f"The word sardines, number {number:03}" for number in range(90)])
    page = steps.sign_in(blank, user)

    page.get_by_role("searchbox").fill("sardines")

    expect(steps.rows(page).nth(30)).to_be_attached()
    steps.rows(page).first.hover()
    while (count := steps.rows(page).count()) < 90:
        page.mouse.wheel(0, 100_000)
        expect(steps.rows(page).nth(count)).to_be_attached()
    expect(steps.rows(page)).to_have_count(90)


def test_children_stand_under_their_parent(blank: Page, api: Forklore, user: str) -> None:
    trip = steps.talk(api, "Plan a trip", title="Trip")
    steps.talk(api, "Hello", title="Apart")
    child = trip.start_child("hotels", title="Hotels")
    child.say("user", "Find a hotel")
    child.start_child("prices", title="Prices").say("user", "Find prices")

    page = steps.sign_in(blank, user)

    expect(steps.rows(page)).to_have_count(4)
    items = steps.conversations(page).get_by_role("listitem")
    of_trip = items.filter(has=page.get_by_text("Trip", exact=True))
    expect(of_trip.locator("b")).to_have_text(["Trip", "Hotels", "Prices"])
    expect(of_trip.first.get_by_role("list").first.locator("b")).to_have_text(["Hotels", "Prices"])
    expect(items.filter(has=page.get_by_text("Apart", exact=True)).locator("b")).to_have_text(["Apart"])
    expect(steps.row(page, "Hotels")).to_contain_text("child hotels")


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
        expect(tree.first.locator("b")).to_have_text([name, "Hotels"])

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
    steps.rows(page).first.hover()
    page.mouse.wheel(0, 100_000)
    expect(steps.rows(page)).to_have_count(50)
    steps.row(page, "Trip 001").focus()
    made[1].update(title="Trip to Lisbon")
    api.create(title="New trip")

    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")

    expect(steps.row(page, "New trip")).to_be_attached()
    expect(steps.row(page, "Trip to Lisbon")).to_be_focused()
    expect(steps.rows(page)).to_have_count(51)


def test_a_list_that_is_loaded_twice_at_once_stays_as_long_as_it_is(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(50):
        api.create(title=f"Trip {number:03}")
    page = steps.sign_in(blank, user)
    steps.rows(page).first.hover()
    page.mouse.wheel(0, 100_000)
    expect(steps.rows(page)).to_have_count(50)
    steps.row(page, "Trip 001").focus()
    api.create(title="New trip")

    page.evaluate("() => [1, 2].map(() => document.dispatchEvent(new Event('visibilitychange')))")

    expect(steps.row(page, "New trip")).to_be_attached()
    expect(steps.row(page, "Trip 001")).to_be_focused()
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
        page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(200)

    page.mouse.up()

    expect(steps.row(page, "New trip")).to_be_visible()
    expect(page).to_have_url(re.compile(steps.at_conversation(made.id)))


def test_no_more_rows_are_loaded_while_those_that_came_wait_for_a_press(
    blank: Page, api: Forklore, user: str
) -> None:
    for number in range(125):
        api.create(title=f"Trip {number:03}")
    page = steps.sign_in(blank, user)
    expect(steps.rows(page)).to_have_count(40)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    steps.rows(page).first.hover()
    page.mouse.down()
    with page.expect_response("**/v1/conversations?*"):
        page.mouse.wheel(0, 100_000)

    for pixels in (-50, 50, -50):
        page.wait_for_timeout(100)
        page.mouse.wheel(0, pixels)

    page.wait_for_timeout(100)
    assert len(pages_of(asked)) == 1
    page.mouse.up()
    expect(steps.rows(page)).to_have_count(80)


def test_a_conversation_is_made_and_opened(blank: Page, api: Forklore, user: str) -> None:
    page = steps.sign_in(blank, user)

    page.get_by_role("button", name="New").click()
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
    expect(page.get_by_role("heading", name="Nothing here yet")).to_be_visible()
    bar = page.get_by_role("progressbar", name="Loading the example")
    expect(bar).to_be_hidden()
    held = hold_after(page, 8)

    page.get_by_role("button", name="Load an example").click()

    expect(bar).to_have_js_property("value", 8 / len(in_example()))
    expect(bar).to_have_js_property("max", 1)
    steps.wait_until(page, lambda: bool(held))
    held[0].continue_()
    expect_example(page)
    expect(steps.rows(page)).to_have_count(len(EXAMPLE.read_text().splitlines()))
    assert branches(api) == leaves()


def test_the_example_does_not_take_one_away_from_what_one_opened_meanwhile(
    blank: Page, api: Forklore, user: str
) -> None:
    page = steps.sign_in(blank, user)
    held = hold_after(page, 8)
    page.get_by_role("button", name="Load an example").click()
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
    page.get_by_role("button", name="Load an example").click()
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
    page.get_by_role("button", name="Load an example").click()
    bar = page.get_by_role("progressbar", name="Loading the example")
    expect(bar).to_have_js_property("value", message / len(in_example()))
    steps.wait_until(page, lambda: bool(held))
    held[0].fetch()

    held[0].abort()

    expect_example(page)
    assert branches(api) == leaves()
