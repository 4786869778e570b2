"""An agent's context beside the history."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from forklore import Conversation, Forklore
from tests.web.browser import Watch
from tests.web.conftest import AGENTS
from tests.web.steps import at_conversation, entry, expect_messages, go_to, hold, say_all, sign_in, wait_until

PLANNER = AGENTS["planner"]
CONTEXT = "**/entries?channel=context&*"
LEARNED = [{"fact": "likes trains"}, {"fact": "from Lisbon"}]


@pytest.fixture
def agent(url: str, user: str) -> Iterator[Forklore]:
    """The client of the agent `planner` for the user."""
    with Forklore(url, token=user, client_key=PLANNER) as client:
        yield client


@pytest.fixture
def trip(agent: Forklore) -> Conversation:
    """A conversation whose agent learned two facts, and then forgot the first for another."""
    chat = agent.create(title="Trip")
    chat.say("user", "To Porto, please.")
    chat.turn("ai", "By train?", context=LEARNED[:1])
    chat.turn("ai", "At 9:30 from Lisbon.", context=LEARNED)
    chat.turn("ai", "Or by bus.", context=[LEARNED[1], {"fact": "likes buses"}])
    return chat


def context(page: Page) -> Locator:
    return page.get_by_role("region", name="Context")


def changes(page: Page) -> Locator:
    """What each entry of the context changed, the newest first."""
    return context(page).get_by_role("listitem")


def learn_more(trip: Conversation) -> None:
    """Let the agent learn a third fact."""
    trip.turn("ai", "Or on foot.", context=[LEARNED[1], {"fact": "likes buses"}, {"fact": "walks"}])


def test_an_agent_sees_its_epochs_and_what_each_turn_changed(
    blank: Page, user: str, trip: Conversation
) -> None:
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id))

    expect(context(blank).get_by_role("heading", level=3)).to_have_text(["Epoch 2 latest", "Epoch 1"])
    expect(context(blank).locator("section > details > summary")).to_have_text(["2 elements", "2 elements"])
    expect(changes(blank)).to_have_count(3)
    for at, (change, turn) in enumerate(
        [
            ("+ 1 element, − 1 element, 1 kept", "after: Or by bus."),
            ("+ 1 element", "after: At 9:30 from Lisbon."),
            ("+ 1 element", "after: By train?"),
        ]
    ):
        expect(changes(blank).nth(at)).to_contain_text(change)
        expect(changes(blank).nth(at).get_by_role("link")).to_have_text(turn)
    newest = changes(blank).first
    newest.get_by_text("added").click()
    expect(newest).to_contain_text("likes buses")
    expect(newest).not_to_contain_text("likes trains")
    newest.get_by_text("dropped").click()
    expect(newest).to_contain_text("likes trains")
    context(blank).get_by_text("2 elements").first.click()
    expect(context(blank).locator("section").first).to_contain_text("from Lisbon")

    changes(blank).nth(1).get_by_role("link").click()

    chosen = trip.entries(channel="history").list()[2]
    expect(blank).to_have_url(f"{blank.url.partition('#')[0]}{at_conversation(trip.id, chosen.id)}")


def test_numbers_are_compared_by_their_exact_value(blank: Page, user: str, agent: Forklore) -> None:
    chat = agent.create()
    chat.context.sync([1.0, 12345678901234567890])
    chat.context.sync([1, 12345678901234567891])

    sign_in(blank, user, key=PLANNER, at=at_conversation(chat.id))

    expect(changes(blank).first).to_contain_text("+ 1 element, − 1 element, 1 kept")
    changes(blank).first.get_by_text("added").click()
    expect(changes(blank).first.locator(".json").first).to_have_text("[ 12345678901234567891 ]")


def test_what_the_agent_learns_meanwhile_is_added(blank: Page, user: str, trip: Conversation) -> None:
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id))
    expect(changes(blank)).to_have_count(3)

    learn_more(trip)

    expect(changes(blank)).to_have_count(4)
    expect(changes(blank).first).to_contain_text("after: Or on foot.")
    expect(context(blank).locator("section > details > summary").first).to_have_text("3 elements")
    expect_messages(
        blank, ["To Porto, please.", "By train?", "At 9:30 from Lisbon.", "Or by bus.", "Or on foot."]
    )


def test_what_the_agent_learns_while_its_context_is_loading_is_added(
    blank: Page, user: str, trip: Conversation
) -> None:
    held: list[tuple[Route, APIResponse]] = []
    blank.route(CONTEXT, lambda route: held.append((route, route.fetch())))
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id))
    wait_until(blank, lambda: bool(held))
    learn_more(trip)
    expect(entry(blank, "Or on foot.")).to_be_visible()

    [(route, answer)] = held
    route.fulfill(response=answer)

    expect(changes(blank)).to_have_count(4)


def test_what_the_agent_learns_while_one_reads_earlier_entries_is_there_at_the_end(
    blank: Page, user: str, trip: Conversation
) -> None:
    first = trip.entries(channel="history").first()
    assert first
    say_all(trip, [f"Line {number}" for number in range(100)])
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id, first.id))
    expect(changes(blank)).to_have_count(3)
    learn_more(trip)
    trip.say("user", "Thanks.")

    go_to(blank, at_conversation(trip.id))

    expect(entry(blank, "Thanks.")).to_be_visible()
    expect(changes(blank)).to_have_count(4)


def test_a_context_that_could_not_be_loaded_again_is_offered_until_it_is_there(
    blank: Page, user: str, trip: Conversation, watch: Watch
) -> None:
    watch.expect("500")
    first = trip.entries(channel="history").first()
    assert first
    say_all(trip, [f"Line {number}" for number in range(100)])
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id, first.id))
    expect(changes(blank)).to_have_count(3)
    learn_more(trip)
    trip.say("user", "Thanks.")
    broken = {"code": "internal_error", "message": "something went wrong", "requestId": "r-17"}
    blank.route(CONTEXT, lambda route: route.fulfill(status=500, body=json.dumps(broken)))
    go_to(blank, at_conversation(trip.id))
    again = context(blank).get_by_role("button", name="Try again")
    expect(again).to_be_visible()

    trip.say("ai", "Goodbye.")
    expect(entry(blank, "Goodbye.")).to_be_visible()
    blank.unroute(CONTEXT)
    again.click()

    expect(changes(blank)).to_have_count(4)


def test_what_the_agent_learned_before_an_entry_that_one_goes_to_is_there(
    blank: Page, user: str, trip: Conversation
) -> None:
    sign_in(blank, user, key=PLANNER, at=at_conversation(trip.id))
    expect(changes(blank)).to_have_count(3)
    news = hold(blank, re.compile(r"/entries\?(?!.*channel=)"))
    wait_until(blank, lambda: bool(news))
    learn_more(trip)
    last = trip.say("user", "Thanks.")

    go_to(blank, at_conversation(trip.id, last.id))

    expect(entry(blank, "Thanks.")).to_be_visible()
    expect(changes(blank)).to_have_count(4)


def test_an_agent_without_a_memory_is_told_so(blank: Page, user: str, agent: Forklore) -> None:
    chat = agent.create(title="New")
    chat.say("user", "Hello")
    sign_in(blank, user, key=PLANNER, at=at_conversation(chat.id))

    expect(context(blank)).to_contain_text("This agent remembers nothing here.")
    chat.context.sync([{"fact": "likes trains"}])
    expect(context(blank).get_by_role("heading", level=3)).to_have_text(["Epoch 1 latest"])


def test_the_context_of_another_client_is_refused_in_words(
    blank: Page, user: str, trip: Conversation, watch: Watch
) -> None:
    watch.expect_status("403")
    sign_in(blank, user, key=AGENTS["hotels"], at=at_conversation(trip.id))

    expect(context(blank)).to_contain_text("The context of this conversation belongs to another client.")
    expect(changes(blank)).to_have_count(0)
    expect_messages(blank, ["To Porto, please.", "By train?", "At 9:30 from Lisbon.", "Or by bus."])


def test_a_person_sees_no_context(blank: Page, user: str, trip: Conversation) -> None:
    sign_in(blank, user, at=at_conversation(trip.id))

    expect_messages(blank, ["To Porto, please.", "By train?", "At 9:30 from Lisbon.", "Or by bus."])
    expect(context(blank)).to_have_count(0)
    expect(blank.get_by_role("button", name="Context")).to_have_count(0)


def test_a_fork_shows_the_memory_as_it_was_at_its_fork_point(
    blank: Page, user: str, trip: Conversation
) -> None:
    turns = trip.entries(channel="history").list()
    fork = trip.fork(before=turns[3], title="Earlier")
    sign_in(blank, user, key=PLANNER, at=at_conversation(fork.id))

    expect(context(blank).get_by_role("heading", level=3)).to_have_text(["Epoch 1 latest"])
    expect(changes(blank)).to_have_count(2)
    expect(changes(blank).first).to_contain_text("after: At 9:30 from Lisbon.")
