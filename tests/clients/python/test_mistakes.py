"""What callers do wrong by mistake is refused before anything is sent or stored."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from inspect import signature
from typing import Any

import pytest

from forklore import (
    ConflictError,
    Conversation,
    Forklore,
    InputError,
    NotFoundError,
    ServerError,
    UnexpectedAnswerError,
)
from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.generated.operations import SHAPES, Operations
from forklore.client.result_base import Value
from forklore.client.retrying import Options
from forklore_service.api.requests import Described

ID = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def ann() -> Iterator[Forklore]:
    with Forklore.local(user="ann", client="planner") as client:
        yield client


class Told:
    """A transport that answers what it was told, one after the other."""

    def __init__(self, *outcomes: RawAnswer | TransportError) -> None:
        self.left = list(outcomes)

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        outcome = self.left.pop(0)
        if isinstance(outcome, TransportError):
            raise outcome
        return outcome

    def located(self, url: str) -> str:
        return url

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("mistake", "field"),
    [
        (lambda chat: chat.append({"a": 1}, content_type="x"), "content"),
        (lambda chat: chat.append("hello", content_type="x"), "content"),
        (lambda chat: chat.append(None, content_type="x"), "content"),
        (lambda chat: chat.append_all({"content": []}), "entries"),
        (lambda chat: chat.context.sync({"messages": []}), "memory"),
        (lambda chat: chat.context.sync("memory"), "memory"),
        (lambda chat: chat.turn("ai", "x", context="memory"), "context"),
        (lambda chat: chat.turn("ai", "x", based_on="none"), "based_on"),
        (lambda chat: chat.say(None, "x"), "role"),
        (lambda chat: chat.say("user", None), "text"),
        (lambda chat: chat.say("robot", "x"), "role"),
        (lambda chat: chat.say("user", "x", if_match=5), "if_match"),
        (lambda chat: chat.say("user", "x", idempotency_key=5), "idempotency_key"),
        (lambda chat: chat.entries(limit=3), "limit"),
        (lambda chat: chat.entries(tail=True), "tail"),
        (lambda chat: chat.entries(after_cursor="x"), "after_cursor"),
    ],
)
def test_a_wrong_argument_is_named(ann: Forklore, mistake: Callable[[Conversation], Any], field: str) -> None:
    chat = ann.conversation()
    with pytest.raises(InputError) as caught:
        mistake(chat)

    assert caught.value.field == field
    with pytest.raises(NotFoundError):
        chat.details()


class Strange:
    pass


@pytest.mark.parametrize(
    ("mistake", "place"),
    [
        (lambda chat, odd: chat.context.sync(["a", {"at": [odd]}]), "memory[1].at[0]"),
        (lambda chat, odd: chat.turn("ai", "x", context=[{"at": odd}]), "context[0].at"),
        (lambda chat, odd: chat.turn("ai", "x", context=["a"], usage={"n": odd}), "usage.n"),
        (lambda chat, odd: chat.append(["a", [odd]], content_type="x"), "content[1][0]"),
        (
            lambda chat, odd: chat.append_all([{"contentType": "x", "content": [odd]}]),
            "entries[0].content[0]",
        ),
        (lambda chat, odd: chat.say("ai", "x", metadata={"a": {"b": odd}}), "metadata.a.b"),
    ],
)
@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (Strange(), "Strange is no JSON value"),
        (float("nan"), "nan is no JSON value"),
        ({1: 2}, "a name in JSON is text, not int"),
        ("\udc00", "a text holds half of a surrogate pair, which JSON cannot hold"),
    ],
    ids=["strange", "nan", "name", "half"],
)
def test_the_place_of_what_is_no_json_is_named(
    ann: Forklore, mistake: Callable[[Conversation, Any], Any], place: str, odd: Any, what: str
) -> None:
    chat = ann.conversation()
    with pytest.raises(InputError) as caught:
        mistake(chat, odd)

    root = place.partition("[")[0].partition(".")[0]
    assert (caught.value.message, caught.value.field) == (f"{place}: {what}", root)
    assert not chat.exists()


def test_the_place_of_what_is_no_json_has_an_end(ann: Forklore) -> None:
    with pytest.raises(InputError) as caught:
        ann.named("never made").append([{"n" * 1000: {"when": Strange()}}], content_type="x")

    assert caught.value.message == f"…{'n' * 195}.when: Strange is no JSON value"


@pytest.mark.parametrize(
    ("mistake", "wrong", "known"),
    [
        (lambda chat: chat.say("user", "x", agent="a"), "agent", "agent_id"),
        (lambda chat: chat.fork(befor="e"), "befor", "at_key"),
        (lambda chat: chat.history(chanel="x").list(), "chanel", "all_forks"),
    ],
)
def test_an_argument_that_there_is_not_is_told_with_those_that_there_are(
    ann: Forklore, mistake: Callable[[Conversation], Any], wrong: str, known: str
) -> None:
    chat = ann.conversation()
    chat.say("user", "Hello")

    with pytest.raises(TypeError, match=f"argument '{wrong}'; it takes .*{known}"):
        mistake(chat)


def test_what_is_no_member_cannot_be_set(ann: Forklore) -> None:
    chat = ann.conversation()
    for one in (ann, chat, chat.context, chat.answer()):
        with pytest.raises(AttributeError, match="title"):
            one.title = "x"  # type: ignore[union-attr]
    with pytest.raises(AttributeError):
        chat.name = "trip"  # type: ignore[misc]


@pytest.mark.parametrize("field", ["limit", "after_cursor"])
def test_a_list_is_no_page(ann: Forklore, field: str) -> None:
    lists: list[Callable[..., Any]] = [ann.conversations, lambda **given: ann.search("words", **given)]
    for listed in lists:
        with pytest.raises(InputError, match="ends earlier") as caught:
            listed(**{field: 3})
        assert caught.value.field == field


@pytest.mark.parametrize(
    "mistake",
    [
        {"before": None},
        {"after": None},
        {"before": "x", "after": "y"},
        {"move_name": True},
        {"before": "x", "position": "after"},
        {"after": "x", "position": "after"},
        {"before": Strange()},
        {"after": Value()},
    ],
)
def test_a_fork_at_no_entry_is_refused(ann: Forklore, mistake: Any) -> None:
    with pytest.raises(InputError):
        ann.conversation(ID).fork(**mistake)


def test_forks_at_the_head_that_would_differ_are_not_made(
    ann: Forklore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ann.conversation()
    chat.say("user", "Where to?")
    fork = ann.api.fork_conversation

    def fork_and_say(*given: Any, **fields: Any) -> Any:
        made = fork(*given, **fields)
        chat.say("ai", "Lisbon.")
        return made

    monkeypatch.setattr(ann.api, "fork_conversation", fork_and_say)
    with pytest.raises(ConflictError) as caught:
        chat.fork(count=11, idempotency_key="tries")

    assert (caught.value.reason, caught.value.idempotency_key) == ("stale", "tries")


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_name_is_text(ann: Forklore, name: Any) -> None:
    with pytest.raises(InputError, match="a name is text"):
        ann.named(name)


def test_an_empty_id_is_no_new_conversation(ann: Forklore) -> None:
    with pytest.raises(InputError, match="an id is not empty"):
        ann.conversation("")


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {"timeout": -1},
            {"timeout": float("nan")},
            {"timeout": "3"},
            {"deadline": float("inf")},
        ),
        *({"deadline": True}, {"retries": -1}, {"retries": 1.5}, {"budget": "3"}),
    ],
)
def test_limits_of_time_are_numbers(ann: Forklore, wrong: Any) -> None:
    with pytest.raises(InputError) as raised:
        ann.with_options(**wrong)
    assert raised.value.field == next(iter(wrong))


@pytest.mark.parametrize("name", Described.model_fields)
def test_a_field_of_a_conversation_is_refused_where_it_would_change_nothing(ann: Forklore, name: str) -> None:
    chat = ann.conversation()
    chat.say("user", "Find a hotel.")
    described: Any = {name: "x"}

    with pytest.raises(InputError) as caught:
        chat.append_all([{"contentType": "x", "content": []}], **described)
    assert caught.value.details == {"field": name}
    assert name in signature(chat.start_child).parameters


def test_the_first_entry_of_a_child_can_be_repeated_with_its_key(ann: Forklore) -> None:
    chat = ann.conversation()
    chat.say("user", "Find a hotel.")
    task = chat.start_child("hotel-finder")

    first = task.say("ai", "Looking.", idempotency_key="k")
    assert task.say("ai", "Looking.", idempotency_key="k").id == first.id
    assert len(task.entries().list()) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (RawAnswer(504, '{"message":"Gateway Timeout"}'), ServerError),
        (RawAnswer(201, "<html>"), UnexpectedAnswerError),
        (RawAnswer(201, "{}"), UnexpectedAnswerError),
    ],
)
def test_every_error_after_which_a_call_may_have_happened_has_its_key(
    answer: RawAnswer, kind: type[Exception]
) -> None:
    api = Operations(Told(answer), Options(retries_max=0))
    with pytest.raises(kind) as caught:
        api.create_conversation(idempotency_key="mine")

    assert caught.value.idempotency_key == "mine"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (RawAnswer(503, ""), 204),
        (RawAnswer(429, ""), 404),
        (TransportError("refused", may_have_arrived=False), 404),
        (TransportError("reset"), 204),
        (RawAnswer(502, ""), 204),
    ],
)
def test_a_repeated_delete_has_succeeded_only_if_the_first_may_have_arrived(
    first: RawAnswer | TransportError, status: int
) -> None:
    missing = RawAnswer(404, '{"code":"not_found"}')
    api = Operations(Told(first, missing), Options())

    call = Call.of(SHAPES["deleteConversation"], {"conversationId": ID})
    assert api.send(call).status == status


@pytest.mark.parametrize("text", ['{"message":"Not Found"}', "<html>"])
def test_a_404_of_others_does_not_say_that_there_is_nothing(text: str) -> None:
    """An agent that believed it would go on with an empty memory."""
    told = Told(*[RawAnswer(404, text)] * 3)
    chat = Conversation(Operations(told, Options()), None, name="trip")
    for ask in (chat.exists, chat.last, chat.context.latest):
        with pytest.raises(NotFoundError):
            ask()

    assert told.left == []


def test_an_empty_idempotency_key_is_refused_by_a_name_as_by_an_id(ann: Forklore) -> None:
    for chat in (ann.named("trip"), ann.conversation()):
        with pytest.raises(InputError):
            chat.say("user", "Hello", idempotency_key="")


def test_numbers_in_metadata_and_names_keep_their_digits(ann: Forklore) -> None:
    exact = {"x": Decimal("0.1234567890123456789"), "y": Decimal("1.2345678901234567890E+300")}
    chat = ann.create(metadata=exact)
    ann.api.set_name(name="exact", conversation_id=chat.id, data=exact)

    assert chat.details().metadata == exact
    assert ann.api.look_up_name(name="exact").data == exact


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        ((), {}, "missing 1 required positional argument: 'conversation_id'"),
        ((ID, "k"), {}, "takes 2 positional arguments but 3 were given"),
        ((ID,), {"conversation_id": ID}, "multiple values for argument 'conversation_id'"),
        ((ID,), {"kee": "k"}, "unexpected keyword argument 'kee'"),
        ((ID,), {"key": "k", "if_match": ID}, "unexpected keyword argument 'if_match'"),
        ((ID,), {}, "without the argument 'key'"),
    ],
)
def test_an_operation_refuses_arguments_as_any_function_does(
    path: tuple[str, ...], given: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        Operations(Told(), Options()).look_up_entry(*path, **given)
