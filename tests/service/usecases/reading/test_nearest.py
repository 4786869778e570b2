"""What a recall of one conversation reads and writes, and what it makes of models and of pages."""

import base64
import json
import logging
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.meaning import PIECES_MAX
from forklore_service.domain.model import Caller
from forklore_service.storage.clock import Clock
from forklore_service.storage.embedded_texts import PROBE, EmbeddedTexts
from forklore_service.usecases.reading.search import NEAREST_MAX
from forklore_service.usecases.shared import over_all
from forklore_service.usecases.shared import vectors as shared_vectors
from tests.service.reliability.faults import WRITE, Call, Fault, Killed
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import ROOT_CALLER, run_erasures, run_prune, said
from tests.support.meaning import Model, by_length, nearness
from tests.support.tables import Store, fresh_store
from tools.harness.service import Answer

ANN, BOB = Caller("ann"), Caller("bob")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def process(store: Store, model: Model) -> Process:
    return with_model(store, model)


def with_model(store: Store, model: Model | None = None) -> Process:
    process = Process(store)
    process.table.nearness = nearness(model)
    return process


def begin(process: Process, *texts: str) -> str:
    """Return a new conversation in which Ann has said some texts."""
    made = process.ask("createConversation", ANN).id
    for text in texts:
        say(process, made, text)
    return made


def say(process: Process, conversation_id: str, text: str, by: Caller = ANN, **more: Any) -> str:
    return process.ask("appendEntry", by, conversationId=conversation_id, **said(text), **more).id


def recall(process: Process, conversation_id: str, query: str = "lodging", **more: Any) -> Answer:
    asked = {"conversationId": conversation_id, "query": query, "searchType": "semantic", **more}
    return process.ask("searchConversations", ANN, **asked)


def found(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [one["line"]["text"] for one in answer.body["data"]]


def vectors(store: Store) -> list[Key]:
    return sorted(key for key in store.contents() if key.sort.startswith("VEC#"))


def called(process: Process) -> str:
    return json.dumps([call.body for call in process.faults.calls])


def test_an_append_and_a_page_read_and_write_no_vector(process: Process, model: Model) -> None:
    chat = begin(process, "The inn.")
    recall(process, chat)
    asked = list(model.asked)
    process.faults.begin(lambda _: None)
    say(process, chat, "The train.")
    process.ask("listEntries", ANN, conversationId=chat)

    assert "VEC#" not in called(process)
    assert "embedded" not in called(process)
    assert model.asked == asked


def test_without_a_model_nothing_of_vectors_is_read_or_written(store: Store) -> None:
    process = Process(store)
    chat = begin(process, "The inn.")
    process.ask("shareConversation", ANN, conversationId=chat, userId="bob", accessLevel="writer")
    say(process, chat, "By bob.", BOB)
    process.faults.begin(lambda _: None)
    process.ask("searchConversations", ANN, conversationId=chat, query="inn")
    process.ask("adminEraseUser", ROOT_CALLER, userId="bob")
    for _ in range(4):
        run_erasures(process)

    assert "VEC#" not in called(process)
    assert vectors(store) == []


def test_nothing_of_a_sibling_is_read_or_shown_to_the_model(store: Store, model: Model) -> None:
    process = with_model(store, model)
    chat = begin(process, "Plan a trip.", "A hotel at the sea.")
    first = process.ask("listEntries", ANN, conversationId=chat).body["data"][0]["id"]
    at = {"atEntryId": first, "position": "after"}
    fork = process.ask("forkConversation", ANN, conversationId=chat, **at).id
    say(process, fork, "An inn in the hills.")
    recall(process, chat)
    late = with_model(store, model)
    late.faults.begin(lambda _: None)

    assert found(recall(late, fork)) == ["An inn in the hills.", "Plan a trip."]
    sibling = keys.vectors_range(chat, chat, first=first, last=first).first
    assert f"{keys.vector(chat, chat, first, 0).sort[:41]}" in called(late), "what it inherits is read"
    assert all(key.sort >= sibling for key in vectors(store) if chat in key.sort.split("#")[1])
    assert "A hotel at the sea." not in called(late)


def test_a_second_recall_embeds_and_reads_nothing_but_what_is_new(process: Process, model: Model) -> None:
    chat = begin(process, "The inn.")
    recall(process, chat)
    asked = len(model.asked)
    process.faults.begin(lambda _: None)
    recall(process, chat)
    assert {call.operation for call in process.faults.calls} == {"BatchGetItem"}
    say(process, chat, "The train.")
    assert found(recall(process, chat)) == ["The inn.", "The train."]

    assert model.asked[asked:] == ["The train."]


def test_another_process_finds_the_vectors_and_embeds_nothing(store: Store, process: Process) -> None:
    chat = begin(process, "The inn.", "Sardine.")
    before = found(recall(process, chat))
    model = Model()
    other = with_model(store, model)

    assert found(recall(other, chat)) == before
    assert "The inn." not in model.asked


def test_vectors_of_two_models_are_never_compared(store: Store, process: Process) -> None:
    """Another function of the same name is another model; its vectors may be of another length."""
    chat = begin(process, "The inn.", "A train.", "The hotel and the inn of Faro.")
    first = recall(process, chat).body["data"]
    other = Process(store)
    other.table.nearness = EmbeddedTexts(by_length, "topics")
    by_other = found(recall(other, chat, "x" * 30))

    assert by_other == ["The hotel and the inn of Faro.", "A train.", "The inn."]
    assert len({item["m"]["S"] for key, item in store.contents().items() if key in vectors(store)}) == 1
    again = recall(with_model(store), chat).body["data"]
    assert [(one["entryId"], one["score"]) for one in again] == [
        (one["entryId"], one["score"]) for one in first
    ]
    assert_intact(store)


def test_an_entry_is_as_near_as_its_nearest_piece_and_only_so_many_are_kept(
    store: Store, process: Process
) -> None:
    long = "train " * 2_500 + "inn"
    chat = begin(process, "fish " * 300 + "inn", long, "")
    say(process, chat, "%PDF", indexedContent="a hotel")
    answer = recall(process, chat)

    assert found(answer)[0] == "%PDF"
    assert len(vectors(store)) == 1 + 2 + PIECES_MAX
    assert len(found(answer)) == 3, "what has no text is not near to anything"


def test_what_was_erased_is_not_found_by_a_process_that_knows_its_vector(
    store: Store, process: Process
) -> None:
    chat = begin(process, "A train.")
    process.ask("shareConversation", ANN, conversationId=chat, userId="bob", accessLevel="writer")
    say(process, chat, "The inn.", BOB)
    assert found(recall(process, chat)) == ["The inn.", "A train."]
    process.ask("adminEraseUser", ROOT_CALLER, userId="bob")
    for _ in range(4):
        run_erasures(Process(store))

    assert found(recall(process, chat)) == ["A train."]
    assert len(vectors(store)) == 1
    assert found(recall(with_model(store), chat)) == ["A train."]
    assert_intact(store)


def test_a_model_that_is_down_is_told_and_stops_no_append(process: Process, model: Model) -> None:
    chat = begin(process, "The inn.")
    model.error = RuntimeError("down")

    assert recall(process, chat).status == 503
    assert say(process, chat, "A train.")
    model.error = None
    assert found(recall(process, chat)) == ["The inn.", "A train."]


@pytest.mark.parametrize("kinds", [["semantic"], ["semantic", "fulltext"]])
def test_all_entries_are_on_one_page_each_however_many_there_are(process: Process, kinds: list[str]) -> None:
    """The nearest are ranked together, then the next ones: by words, too, not all of them."""
    count = 2 * NEAREST_MAX + 7
    chat = begin(process, *(f"inn {'fish ' * (number % 9)}{number}" for number in range(count)))
    shown: list[Any] = []
    cursor: dict[str, str] = {}
    complete = set()
    while True:
        page = recall(process, chat, "inn 99", searchType=kinds, limit=20, **cursor).body
        shown += page["data"]
        complete.add(page["complete"])
        if page["afterCursor"] is None:
            break
        cursor = {"afterCursor": page["afterCursor"]}

    assert len({one["entryId"] for one in shown}) == len(shown) == count
    assert complete == {kinds == ["semantic"]}
    scores = [one["score"] for one in shown]
    if kinds == ["semantic"]:
        assert scores == sorted(scores, reverse=True)
    else:
        assert shown[0]["line"]["text"].endswith(" 99")


@pytest.mark.parametrize(
    "further", [None, 5, [], [1], [0.5, "x"], [0, "x"], [20_001, "id"], ["id", 1], [0, None], [0, 1, 2]]
)
def test_a_cursor_that_no_recall_made_is_refused(process: Process, further: Any) -> None:
    chat = begin(process, *(f"inn {number}" for number in range(NEAREST_MAX + 2)))
    page = recall(process, chat, limit=NEAREST_MAX).body
    raw = base64.urlsafe_b64decode(page["afterCursor"] + "==")
    digest, told = raw[:6], json.loads(raw[6:])
    assert len(told) == 8, "the first ones were all shown"
    told[7] = (
        [one if one != "id" else told[7][1] for one in further] if isinstance(further, list) else further
    )
    spoilt = base64.urlsafe_b64encode(digest + json.dumps(told).encode()).decode().rstrip("=")

    answer = recall(process, chat, afterCursor=spoilt)
    assert (answer.status, answer.body["code"]) == (400, "invalid_cursor")


def test_no_answer_cursor_or_log_line_has_a_vector(
    store: Store, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    process.table.by_meaning = True
    chat = begin(process, "The inn.", "A hotel.", "A train to the inn.")
    answers = [recall(process, chat, limit=1), process.ask("searchConversations", ANN, query="inn", limit=1)]
    answers += [process.ask(name, ANN, conversationId=chat) for name in ("listEntries", "getConversation")]
    cursors = [base64.urlsafe_b64decode(one.body["afterCursor"] + "==") for one in answers[:2]]
    told = repr([one.body for one in answers]) + repr(cursors) + caplog.text

    stored = [store.contents()[key] for key in vectors(store)]
    assert len(stored) == 3
    for item in stored:
        packed, numbers = item["v"]["B"], [int(one["N"]) for one in item["V"]["L"]]
        assert all(
            one not in told
            for one in (
                base64.b64encode(packed).decode()[:40],
                repr(packed)[2:40],
                json.dumps(numbers)[1:30],
                item["shelf"]["S"],
            )
        )


def test_one_who_may_not_read_it_gets_no_vector_made(store: Store, process: Process) -> None:
    chat = begin(process, "The inn.")
    asked = {"conversationId": chat, "query": "lodging", "searchType": "semantic"}

    assert process.ask("searchConversations", BOB, **asked).status == 403
    assert vectors(store) == []


def test_over_all_what_is_out_of_reach_is_told(
    store: Store, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others' entries, which are nearer, may take all that a search shows."""
    process.table.by_meaning = True
    monkeypatch.setattr(over_all, "TOP", 2)
    own = begin(process, "inn", "A train to the inn.")
    recall(process, own)
    process.ask("shareConversation", ANN, conversationId=own, userId="bob", accessLevel="reader")
    for _ in range(3):
        recall(process, begin(process, "lodging", "hotel"))

    def by_bob() -> tuple[list[str], bool]:
        page = process.ask("searchConversations", BOB, query="lodging", searchType="semantic").body
        return [one["line"]["text"] for one in page["data"]], page["complete"]

    monkeypatch.setattr(over_all, "ALONE_MAX", 0)
    assert by_bob() == (["inn", "A train to the inn."], True)
    monkeypatch.setattr(over_all, "SEARCHES_MAX", 1)
    assert by_bob()[1] is False


def test_over_all_what_an_earlier_recall_has_embedded_is_not_embedded_again(
    store: Store, process: Process
) -> None:
    process.table.by_meaning = True
    begin(process, "The inn.", "A train.", "Sardine.")
    asked = {"query": "lodging", "searchType": "semantic"}
    before = found(process.ask("searchConversations", ANN, **asked))
    model = Model()
    late = with_model(store, model)
    late.table.by_meaning = True
    late.faults.begin(lambda _: None)

    assert found(late.ask("searchConversations", ANN, **asked)) == before
    assert before[0] == "The inn."
    assert {*model.asked} == {PROBE, "lodging"}
    assert "TransactWriteItems" not in {call.operation for call in late.faults.calls}


@pytest.mark.parametrize("what", ["removeMembership", "deleteConversation"])
@pytest.mark.parametrize("read", ["the entries", "the trees of the hits"])
def test_what_goes_after_the_index_was_searched_is_not_shown(
    store: Store, process: Process, what: str, read: str
) -> None:
    process.table.by_meaning = True
    chat = begin(process, "The inn.", "A hotel.")
    recall(process, chat)
    process.ask("shareConversation", ANN, conversationId=chat, userId="bob", accessLevel="reader")
    more = {"userId": "bob"} if what == "removeMembership" else {}
    reads: list[str] = []

    def choose(call: Call) -> None:
        if call.operation == "SearchVectors":
            reads.extend(["the trees of the hits", "the entries"])
        elif reads and reads.pop() == read:
            assert Process(store).ask(what, ANN, conversationId=chat, **more).status < 300

    process.faults.begin(choose)
    answer = process.ask("searchConversations", BOB, query="inn", searchType="semantic", limit=5)
    assert (found(answer), reads) == ([], [])


def before_vectors_come(process: Process, of: str, done: Callable[[], object]) -> None:
    """Let something be done before a conversation's first commit of vectors leaves the process."""
    left = [done]

    def choose(call: Call) -> None:
        if left and call.operation == WRITE and f"VEC#{of}" in json.dumps(call.body):
            left.pop()()

    process.faults.begin(choose)


def test_no_vector_comes_of_what_was_erased_after_it_was_read(store: Store, process: Process) -> None:
    chat = begin(process, "A train.")
    process.ask("shareConversation", ANN, conversationId=chat, userId="bob", accessLevel="writer")
    say(process, chat, "The inn.", BOB)

    def erase() -> None:
        other = Process(store)
        assert other.ask("adminEraseUser", ROOT_CALLER, userId="bob").status == 202
        for _ in range(4):
            run_erasures(other)

    before_vectors_come(process, chat, erase)

    assert found(recall(process, chat)) == ["A train."]
    assert len(vectors(store)) == 1
    assert_intact(store)


def test_over_all_no_vector_comes_of_what_nobody_shows_any_more(store: Store, process: Process) -> None:
    """The worker prunes a removed branch, of which a fork shows a part, while a recall reads it."""
    process.table.by_meaning = True
    chat = begin(process, "Plan a trip.")
    removed = process.ask("forkConversation", ANN, conversationId=chat).id
    shown = say(process, removed, "The inn.")
    say(process, removed, "A hotel that nobody shows.")
    at = {"atEntryId": shown, "position": "after"}
    process.ask("forkConversation", ANN, conversationId=removed, **at)
    process.ask("deleteConversation", ANN, conversationId=removed, scope="branch")
    before_vectors_come(process, removed, lambda: run_prune(chat, removed)(Process(store)))

    assert found(process.ask("searchConversations", ANN, query="lodging", searchType="semantic")) == [
        "The inn.",
        "Plan a trip.",
    ]
    assert len(vectors(store)) == 2
    assert_intact(store)


def test_over_all_what_was_taken_over_in_part_is_found_whole(
    store: Store, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older version put vectors without a shelf. A process that puts it on them is killed."""
    monkeypatch.setattr(shared_vectors, "ENTRIES_AT_ONCE", 1)
    chat = begin(process, "The inn.", "A hotel.")
    recall(process, chat)
    asked = {"query": "lodging", "searchType": "semantic"}
    killed = with_model(store)
    killed.table.by_meaning = True
    puts = count(1)
    killed.faults.begin(
        lambda call: (
            Fault.KILL_AFTER
            if call.operation == WRITE and "VEC#" in json.dumps(call.body) and next(puts) == 1
            else None
        )
    )
    with pytest.raises(Killed):
        killed.ask("searchConversations", ANN, **asked)
    late = with_model(store)
    late.table.by_meaning = True
    say(late, chat, "A train.")
    recall(late, chat)

    assert found(late.ask("searchConversations", ANN, **asked)) == ["A hotel.", "The inn.", "A train."]


def test_what_is_erased_between_two_pages_hides_nothing(store: Store, process: Process) -> None:
    """The next nearest one would take its place among those that were ranked, and come first."""
    texts = [f"inn {'fish ' * number}" for number in range(NEAREST_MAX + 5)]
    texts[NEAREST_MAX] += "best"
    chat = begin(process)
    process.ask("shareConversation", ANN, conversationId=chat, userId="bob", accessLevel="writer")
    said_by = [(BOB if number == 10 else ANN, text) for number, text in enumerate(texts)]
    ids = [say(process, chat, text, by) for by, text in said_by]
    asked: dict[str, Any] = {
        "query": "inn best",
        "searchType": ["semantic", "fulltext"],
        "conversationId": chat,
        "limit": 20,
    }
    page = process.ask("searchConversations", ANN, **asked).body
    shown = page["data"]
    process.ask("adminEraseUser", ROOT_CALLER, userId="bob")
    for _ in range(4):
        run_erasures(Process(store))
    late = with_model(store)
    while page["afterCursor"] is not None:
        page = late.ask("searchConversations", ANN, **asked, afterCursor=page["afterCursor"]).body
        shown += page["data"]

    found = [one["entryId"] for one in shown]
    assert {*ids} - {*found} <= {ids[10]}
    assert len({*found}) == len(found)


def test_over_all_what_comes_between_two_pages_shows_no_hit_twice(process: Process) -> None:
    process.table.by_meaning = True
    chat = begin(process, *(f"inn {'fish ' * (number % 9)}{number}" for number in range(NEAREST_MAX + 5)))
    asked: dict[str, Any] = {"query": "inn 53", "searchType": ["semantic", "fulltext"], "limit": 20}
    shown: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = process.ask("searchConversations", ANN, **asked, **cursor).body
        shown += page["data"]
        if page["afterCursor"] is None:
            break
        cursor = {"afterCursor": page["afterCursor"]}
        for _ in range(10):
            say(process, chat, "inn")

    assert len({one["entryId"] for one in shown}) == len(shown) == NEAREST_MAX + 5


def test_appends_and_pages_send_the_same_bytes_with_recall_as_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(lambda: 1_762_482_104_000)
    clock.was_compared = True
    monkeypatch.setattr(clock, "learn", lambda *_, **__: None)

    def sent(*, with_recall: bool) -> list[tuple[str, str]]:
        bits = Random(1).getrandbits
        with fresh_store() as store:
            process = Process(store, clock=clock, in_order=True, random=bits)
            if with_recall:
                process.table.nearness, process.table.by_meaning = nearness(), True
                process.table.embedded_elsewhere = True
            root = process.ask("createConversation", ANN).id
            process.ask("appendEntry", ANN, conversationId=root, **said("The inn"))
            fork = process.ask("forkConversation", ANN, conversationId=root).id
            for one in (root, fork):
                process.ask("appendEntry", ANN, conversationId=one, **said("A train"))
                process.ask("listEntries", ANN, conversationId=one)
            process.ask("listConversations", ANN)
            bodies = [{**call.body, "ClientRequestToken": ""} for call in process.faults.calls]
            return [
                (call.operation, repr(body)) for call, body in zip(process.faults.calls, bodies, strict=True)
            ]

    assert sent(with_recall=True) == sent(with_recall=False)
