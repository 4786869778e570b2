"""What an agent remembers, beside the messages."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import APIResponse, Error, Locator, Page, Route, expect

from forklore import Conversation, Forklore
from tests.web.browser import Watch
from tests.web.conftest import AGENTS
from tests.web.steps import at_conversation, entry, expect_messages, go_to, hold, say_all, sign_in, wait_until

PLANNER = AGENTS["planner"]
CONTEXT = "**/entries?channel=context&*"
LEARNED = [{"fact": "likes trains"}, {"fact": "from Lisbon"}]
SAID = ["To Porto, please.", "By train?", "At 9:30 from Lisbon.", "Or by bus."]


@pytest.fixture
def agent(url: str, user: str) -> Iterator[Forklore]:
    """The client of the agent `planner` for the user."""
    with Forklore(url, token=user, client_key=PLANNER) as client:
        yield client


@pytest.fixture
def trip(agent: Forklore) -> Conversation:
    """A conversation whose agent learned two facts, and then forgot the first for another."""
    chat = agent.create(title="Trip")
    chat.say("user", SAID[0])
    chat.turn("ai", SAID[1], context=LEARNED[:1])
    chat.turn("ai", SAID[2], context=LEARNED)
    chat.turn("ai", SAID[3], context=[LEARNED[1], {"fact": "likes buses"}])
    return chat


def open_memory(page: Page, user: str, conversation: Conversation, entry_id: str = "") -> Locator:
    """Sign in as the agent `planner`, and return what it remembers at an entry, or at the end."""
    sign_in(page, user, key=PLANNER, at=at_conversation(conversation.id, entry_id))
    page.get_by_role("tab", name="Memory").click()
    return page.get_by_role("tabpanel", name="memory")


def learn_more(trip: Conversation) -> None:
    """Let the agent learn a third fact."""
    trip.turn("ai", "Or on foot.", context=[LEARNED[1], {"fact": "likes buses"}, {"fact": "walks"}])


def expect_learned(memory: Locator) -> None:
    """Wait until the memory shows what `learn_more` has added."""
    expect(memory.get_by_text("After “Or on foot.”")).to_be_visible()
    expect(memory.locator(".fact.add")).to_contain_text("walks")


def test_an_agent_sees_what_each_turn_changed(blank: Page, user: str, trip: Conversation) -> None:
    memory = open_memory(blank, user, trip)

    expect(memory.get_by_text("After “Or by bus.”")).to_be_visible()
    expect(memory).to_contain_text("since “At 9:30 from Lisbon.”, epoch 2")
    expect(memory.locator(".fact.edit").locator("del")).to_have_text("likes trains")
    expect(memory.locator(".fact.edit").locator("ins")).to_have_text("likes buses")
    expect(memory.get_by_text("1 unchanged")).to_be_visible()
    expect(memory.locator(".fact.same")).to_have_count(0)
    memory.get_by_role("button", name="Everything").click()
    expect(memory.locator(".fact.same")).to_contain_text("from Lisbon")

    memory.get_by_role("button", name="Earlier change").click()

    chosen = trip.entries(channel="history").list()[2]
    expect(blank).to_have_url(re.compile(f"{at_conversation(trip.id, chosen.id)}$"))
    expect(memory.get_by_text("After “At 9:30 from Lisbon.”")).to_be_visible()
    expect(memory.locator(".fact.add")).to_contain_text("from Lisbon")
    expect(memory).to_contain_text("epoch 1")
    memory.get_by_role("slider", name="Change of the memory").press("Home")
    expect(memory.get_by_text("After “By train?”")).to_be_visible()


def test_what_the_agent_learns_meanwhile_is_added(blank: Page, user: str, trip: Conversation) -> None:
    memory = open_memory(blank, user, trip)
    expect(memory.get_by_text("After “Or by bus.”")).to_be_visible()

    learn_more(trip)

    expect_learned(memory)
    expect_messages(blank, [*SAID, "Or on foot."])


def test_what_the_agent_learns_while_its_memory_is_loading_is_added(
    blank: Page, user: str, trip: Conversation
) -> None:
    held: list[tuple[Route, APIResponse]] = []
    blank.route(CONTEXT, lambda route: held.append((route, route.fetch())))
    memory = open_memory(blank, user, trip)
    wait_until(blank, lambda: bool(held))
    learn_more(trip)
    expect(entry(blank, "Or on foot.")).to_be_visible()
    blank.unroute(CONTEXT)
    for route, answer in held:
        with suppress(Error):  # the page has given it up
            route.fulfill(response=answer)

    expect_learned(memory)


@pytest.mark.parametrize("is_refused", [False, True], ids=["", "and it could not be loaded at first"])
def test_what_the_agent_learns_while_one_reads_earlier_entries_is_there_at_the_end(
    blank: Page, user: str, trip: Conversation, watch: Watch, is_refused: bool
) -> None:
    first = trip.entries(channel="history").first()
    assert first
    say_all(trip, [f"Line {number}" for number in range(100)])
    memory = open_memory(blank, user, trip, first.id)
    expect(memory.get_by_text("Nothing yet at this message")).to_be_visible()
    learn_more(trip)
    trip.say("user", "Thanks.")
    if is_refused:
        watch.expect("500")
        broken = {"code": "internal_error", "message": "something went wrong", "requestId": "r-17"}
        blank.route(CONTEXT, lambda route: route.fulfill(status=500, body=json.dumps(broken)))

    go_to(blank, at_conversation(trip.id))

    expect(entry(blank, "Thanks.")).to_be_visible()
    if is_refused:
        again = memory.get_by_role("button", name="Try again")
        expect(again).to_be_visible()
        blank.unroute(CONTEXT)
        again.click()
    expect_learned(memory)


def test_what_the_agent_learned_before_an_entry_that_one_goes_to_is_there(
    blank: Page, user: str, trip: Conversation
) -> None:
    news = hold(blank, re.compile(r"/entries\?.*wait="))
    memory = open_memory(blank, user, trip)
    expect(memory.get_by_text("After “Or by bus.”")).to_be_visible()
    wait_until(blank, lambda: bool(news))
    learn_more(trip)
    last = trip.say("user", "Thanks.")

    go_to(blank, at_conversation(trip.id, last.id))

    expect(entry(blank, "Thanks.")).to_be_visible()
    expect_learned(memory)


def test_an_agent_without_a_memory_is_told_so(blank: Page, user: str, agent: Forklore) -> None:
    chat = agent.create(title="New")
    chat.say("user", "Hello")
    memory = open_memory(blank, user, chat)

    expect(memory).to_contain_text("This agent remembers nothing here.")
    chat.context.sync([{"fact": "likes trains"}])
    expect(memory.locator(".fact.add")).to_contain_text("likes trains")


def test_the_memory_of_another_agent_is_refused_in_words(
    blank: Page, user: str, trip: Conversation, watch: Watch
) -> None:
    watch.expect_status("403")
    sign_in(blank, user, key=AGENTS["hotels"], at=at_conversation(trip.id))
    blank.get_by_role("tab", name="Memory").click()

    expect(blank.get_by_text("The memory here belongs to another agent")).to_be_visible()
    expect_messages(blank, SAID)


def test_a_person_sees_no_memory(blank: Page, user: str, trip: Conversation) -> None:
    sign_in(blank, user, at=at_conversation(trip.id))

    expect_messages(blank, SAID)
    expect(blank.get_by_role("tab", name="Costs")).to_be_visible()
    expect(blank.get_by_role("tab", name="Memory")).to_have_count(0)


def test_a_fork_shows_the_memory_as_it_was_at_its_fork_point(
    blank: Page, user: str, trip: Conversation
) -> None:
    turns = trip.entries(channel="history").list()
    memory = open_memory(blank, user, trip.fork(before=turns[3], title="Earlier"))

    expect(memory.get_by_text("After “At 9:30 from Lisbon.”")).to_be_visible()
    expect(memory.get_by_role("button", name="Later change")).to_be_disabled()
