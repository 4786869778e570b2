"""A program that uses the client, with the types that it gets. Mypy checks it against the wheel."""

from decimal import Decimal
from typing import assert_type

from forklore import (
    ApiError,
    AsyncConversation,
    AsyncForklore,
    ConflictError,
    Conversation,
    Forklore,
    Memory,
    role_of,
    text_of,
)
from forklore.client.calls import RawAnswer
from forklore.client.generated import results


def talk(url: str) -> list[str | None]:
    """Use what a conversation has."""
    with Forklore(url, token=lambda: "ann", client_key="key", timeout=5.0, retries=2) as fl:
        assert_type(fl, Forklore)
        chat = fl.named("trip")
        asked = chat.say("user", "Two nights in Lisbon?", if_last=None)
        assert_type(asked, results.AppendedEntry)
        chat.turn("ai", "Yes", context=[{"n": Decimal("0.1234567890123456789")}], usage={"inputTokens": 3})
        edit = chat.fork(before=asked, move_name=True)
        tries = chat.fork(after=asked, count=3)
        assert_type(edit, Conversation)
        assert_type(tries, list[Conversation])
        for one in chat.entries(backward=True):
            assert_type(one, results.ListedEntry)
        for page in fl.conversations(mode="all").pages():
            assert_type(page.cursor, str | None)
        assert_type(chat.compare(tries[0]).branches[0].conversation_id, str)
        assert_type(fl.with_options(deadline=3).acting_as("bob"), Forklore)
        assert_type(fl.call("listForks", {"conversationId": chat.id}), RawAnswer)
        try:
            forks = fl.api.list_forks(chat.id, limit=1)
            assert_type(forks, results.ForkPage)
            assert_type(forks.data, tuple[results.Fork, ...])
        except ConflictError as error:
            assert_type(error.reason, str | None)
        except ApiError as error:
            assert_type(error.status, int | None)
        assert_type(fl.api.update_conversation(chat.id, title=None).title, str | None)
        assert_type(chat.context.latest(), Memory)
        assert_type(chat.details(), results.ConversationDetails)
        assert_type(chat.update(title=None, tags={"kind": "trip"}), results.ConversationDetails)
        assert_type(chat.fork(at_key="asked", position="after", title="x"), Conversation)
        assert_type(chat.last(), results.ListedEntry | None)
        return [f"{role_of(one)}: {text_of(one)}" for one in chat.entries().list(limit=3)]


async def talk_later() -> None:
    """Use the same with `await`."""
    async with AsyncForklore.on_lambda("F", user="ann", client="planner", roles=("auditor",)) as fl:
        assert_type(fl, AsyncForklore)
        chat = fl.conversation()
        asked = await chat.say("user", "Hello")
        assert_type(await chat.fork(after=asked, count=2), list[AsyncConversation])
        assert_type(await chat.fork(), AsyncConversation)
        async for one in chat.entries():
            assert_type(one, results.ListedEntry)
        assert_type(await fl.search("hello").first(), results.Hit | None)
        assert_type(await fl.api.accept_transfer("t"), None)
        local = AsyncForklore.local(user="ann", data="./data")
        await local.aclose()


def mistakes(chat: Conversation) -> None:
    """A type checker finds each of these: it would report an ignored error that there is not."""
    chat.say("usr", "Hello")  # type: ignore[arg-type]
    chat.say("user", "Hello", kee="1")  # type: ignore[call-arg]
    chat.turn("user", "Hello", agent=1)  # type: ignore[call-arg]
    chat.append([], content_typ="x")  # type: ignore[call-arg]
    chat.append_all([], key="x")  # type: ignore[call-arg]
    chat.fork(titel="x")  # type: ignore[call-overload]
    chat.fork(count=2, promote=True)  # type: ignore[call-overload]
    chat.history(channel="context")  # type: ignore[call-arg]
    chat.start_child("finder", titel="x")  # type: ignore[call-arg]
    chat.entries(channel="hystory")  # type: ignore[arg-type]
    chat.entries(chanel="history")  # type: ignore[call-arg]
    chat.entries(limit=3)  # type: ignore[call-arg]
    chat.update(titel="x")  # type: ignore[call-arg]
    chat.merge("other", up_to="x")  # type: ignore[call-arg]
    chat.copy(titel="x")  # type: ignore[call-arg]
    chat.share("bob", "redaer")  # type: ignore[arg-type]


def mistakes_with_a_client(fl: Forklore) -> None:
    """The same for a client."""
    fl.create(titel="x")  # type: ignore[call-arg]
    fl.conversations(mode="newest")  # type: ignore[arg-type]
    fl.conversations(limit=3)  # type: ignore[call-arg]
    fl.search("hello", include_entries=True)  # type: ignore[call-arg]
    fl.api.list_forks("c", limt=1)  # type: ignore[call-arg]
    fl.api.list_forks("c", limit="1")  # type: ignore[arg-type]
    fl.api.list_forks()  # type: ignore[call-arg]
    fl.api.look_up_name()  # type: ignore[call-arg]
    next(iter(fl.conversations())).say("user", "Hello")  # type: ignore[attr-defined]
