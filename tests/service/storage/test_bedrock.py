"""Titan's vectors, from a real HTTP server that answers as Bedrock's runtime does."""

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, NamedTuple

import botocore.endpoint
import pytest

from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError
from forklore_service.storage.bedrock import COHERE, TITAN, Cohere, Titan, make_model_client
from forklore_service.storage.embedded_texts import REMOTE_AT_ONCE, EmbeddedTexts
from forklore_service.storage.schema import DIMENSIONS
from forklore_service.usecases.background.embedding import embed
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import said
from tests.support.meaning import vector_of
from tests.support.tables import Store
from tools.harness.service import Answer

ANN = Caller("ann")
REFUSED = "what the model refuses"


class Bedrock(NamedTuple):
    """titan, cohere: what asks it. asked: paths and bodies. failing: what it answers instead."""

    titan: Titan
    cohere: Cohere
    asked: list[tuple[str, dict[str, Any]]]
    failing: list[tuple[int, str, str]]


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bedrock]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _: None))  # between retries
    asked: list[tuple[str, dict[str, Any]]] = []
    failing: list[tuple[int, str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, body))
            if "texts" in body:
                of = {"float": [vector_of(text) for text in body["texts"]]}
                answer = json.dumps({"embeddings": of, "response_type": "embeddings_by_type"})
            else:
                answer = json.dumps({"embedding": vector_of(body["inputText"]), "inputTextTokenCount": 1})
            status, code, text = failing[0] if failing else (200, "", answer)
            if any(REFUSED in one for one in body.get("texts", [body.get("inputText", "")])):
                status, code, text = 400, "ValidationException", "{}"
            self.send_response(status)
            if code:
                self.send_header("x-amzn-ErrorType", code)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        client = make_model_client(f"http://127.0.0.1:{server.server_port}", region="us-east-1")
        yield Bedrock(Titan(client), Cohere(client), asked, failing)
        client.close()
        server.shutdown()


@pytest.fixture
def process(store: Store, bedrock: Bedrock) -> Process:
    process = Process(store)
    process.table.nearness = EmbeddedTexts(bedrock.titan, "titan-v2", is_remote=True)
    return process


def say(process: Process, *texts: str) -> str:
    made = process.ask("createConversation", ANN).id
    for text in texts:
        process.ask("appendEntry", ANN, conversationId=made, **said(text))
    return made


def search(process: Process, **asked: Any) -> Answer:
    return process.ask("searchConversations", ANN, query="Which lodging?", **asked)


def test_each_text_is_a_request_and_the_vectors_are_in_the_order_of_the_texts(bedrock: Bedrock) -> None:
    texts = ["The inn", "A sardine", "Ü" * 1500]

    assert bedrock.titan(texts) == [vector_of(text) for text in texts]
    path = f"/model/{TITAN.replace(':', '%3A')}/invoke"
    assert {one for one, _ in bedrock.asked} == {path}
    bodies = sorted((body for _, body in bedrock.asked), key=lambda body: texts.index(body["inputText"]))
    assert bodies == [{"inputText": text, "dimensions": DIMENSIONS, "normalize": True} for text in texts]


def test_cohere_is_asked_for_several_texts_at_once_and_for_questions_by_another_kind(
    bedrock: Bedrock,
) -> None:
    texts = [f"inn {number}" for number in range(REMOTE_AT_ONCE + 1)]
    nearness = EmbeddedTexts(
        bedrock.cohere, "cohere-v4", is_remote=True, of_questions=bedrock.cohere.of_questions
    )

    for _ in range(2):
        packed = nearness.vectors(texts)
        assert nearness.compare(texts[0], packed)[0] == pytest.approx(1, abs=1e-4)
        assert nearness.asked(texts[0]) == packed[0]

    assert {path for path, _ in bedrock.asked} == {f"/model/{COHERE.replace(':', '%3A')}/invoke"}
    how = {"embedding_types": ["float"], "output_dimension": DIMENSIONS}
    assert [body for _, body in bedrock.asked] == [
        {"texts": texts[:-1], "input_type": "search_document", **how},
        {"texts": texts[-1:], "input_type": "search_document", **how},
        {"texts": texts[:1], "input_type": "search_query", **how},
    ]


def test_vectors_of_another_model_are_made_anew_and_never_compared(
    process: Process, bedrock: Bedrock, store: Store
) -> None:
    process.table.by_meaning = True
    trip = say(process, "The inn near the river")
    assert len(search(process, searchType="semantic").body["data"]) == 1
    other = Process(store)
    other.table.by_meaning = other.table.embedded_elsewhere = True
    other.table.nearness = EmbeddedTexts(
        bedrock.cohere, "cohere-v4", is_remote=True, of_questions=bedrock.cohere.of_questions
    )

    assert search(other, searchType="semantic").body["data"] == []
    embed(other.table, other.table.nearness, trip, None)
    assert len(search(other, searchType="semantic").body["data"]) == 1
    assert search(process, searchType="semantic").body["data"] == []


@pytest.mark.parametrize("ask", ["titan", "cohere"])
@pytest.mark.parametrize(
    ("status", "code", "body"),
    [
        (429, "ThrottlingException", '{"message": "too many for secret"}'),
        (400, "ValidationException", '{"message": "secret"}'),
        (403, "AccessDeniedException", '{"message": "secret"}'),
        (500, "InternalServerException", '{"message": "secret"}'),
        (200, "", "secret"),
        (200, "", "[]"),
        (200, "", '{"secret": 1}'),
    ],
)
def test_a_failure_is_one_error_that_names_no_text(
    bedrock: Bedrock, ask: str, status: int, code: str, body: str
) -> None:
    bedrock.failing.append((status, code, body))

    with pytest.raises(UnavailableError, match=f"the model of recall failed: {code}") as failed:
        getattr(bedrock, ask)(["secret"])
    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is None
    asked_again = {429: 3, 500: 3, 400: 2}  # of a refused text, by another one
    assert len(bedrock.asked) == asked_again.get(status, 1)


@pytest.mark.parametrize("ask", ["titan", "cohere"])
def test_a_text_that_it_refuses_is_marked_and_stops_no_other_one(
    process: Process, bedrock: Bedrock, store: Store, ask: str
) -> None:
    process.table.by_meaning = True
    process.table.nearness = EmbeddedTexts(getattr(bedrock, ask), ask, is_remote=True)
    trip = say(process, *(f"inn {at}" if at != 11 else REFUSED for at in range(20)))
    embed(process.table, process.table.nearness, trip, None)
    made = len(bedrock.asked)

    assert process.table.connection.usage.refused_texts == 1
    for more in ({}, {"conversationId": trip}):
        assert len(search(process, searchType="semantic", limit=50, **more).body["data"]) == 19
    assert len(search(process, searchType="fulltext", conversationId=trip).body["data"]) == 0
    late = Process(store)
    late.table.by_meaning = True
    late.table.nearness = EmbeddedTexts(getattr(bedrock, ask), ask, is_remote=True)
    embed(late.table, late.table.nearness, trip, None)
    assert len(bedrock.asked) == made + 1, "the question alone"
    asked = {"query": REFUSED, "conversationId": trip}
    assert late.ask("searchConversations", ANN, **asked, searchType="semantic").status == 503
    assert len(late.ask("searchConversations", ANN, **asked, searchType="fulltext").body["data"]) == 1
    assert_intact(store)


def test_in_a_conversation_each_text_is_sent_once_and_found_by_what_it_means(
    process: Process, bedrock: Bedrock, store: Store
) -> None:
    trip = say(process, "The inn near the river", "Sardine, grilled")
    assert bedrock.asked == []  # an append asks no model

    for _ in range(2):
        answer = search(process, conversationId=trip, searchType="semantic")
        assert answer.body["data"][0]["line"]["text"] == "The inn near the river"
    assert len(bedrock.asked) == 3
    other = Process(store)
    other.table.nearness = EmbeddedTexts(bedrock.titan, "titan-v2", is_remote=True)
    assert search(other, conversationId=trip).body["data"][0]["line"]["text"] == "The inn near the river"
    assert [body["inputText"] for _, body in bedrock.asked[3:]] == ["Which lodging?"]


def test_while_it_fails_a_search_is_503_and_by_words_it_still_works(
    process: Process, bedrock: Bedrock
) -> None:
    trip = say(process, "The inn near the river")
    bedrock.failing.append((429, "ThrottlingException", "{}"))

    answer = search(process, conversationId=trip)
    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert search(process, conversationId=trip, searchType="fulltext").status == 200


def test_what_has_no_vector_is_not_sent_to_it(process: Process, bedrock: Bedrock) -> None:
    trip = say(process, "One lodging", "Another inn")

    for asked in ({}, {"conversationId": trip, "query": "lodging +one"}):
        answer = process.ask("searchConversations", ANN, **{"query": "lodging", **asked})
        assert [one["line"]["text"] for one in answer.body["data"]] == ["One lodging"]
    assert search(process, searchType="semantic").status == 501
    assert bedrock.asked == []


def test_with_the_index_all_conversations_are_searched_and_everybodys_are_not(
    process: Process, bedrock: Bedrock
) -> None:
    process.table.by_meaning = True
    for text in ("The inn near the river", "Sardine, grilled"):
        say(process, text)

    for _ in range(2):
        answer = search(process, searchType="semantic")
        assert answer.body["data"][0]["line"]["text"] == "The inn near the river"
    assert len(bedrock.asked) == 3
    admin = Caller("root", None, frozenset({"admin"}))
    asked = {"query": "Which lodging?", "searchType": "semantic"}
    of_ann = process.ask("adminSearchConversations", admin, **asked, userId="ann")
    assert of_ann.body["data"][0]["line"]["text"] == "The inn near the river"
    assert process.ask("adminSearchConversations", admin, **asked).status == 501


def test_what_was_answered_before_a_failure_is_not_asked_and_paid_again(bedrock: Bedrock) -> None:
    texts = [f"inn {number}" for number in range(40)]
    down = [texts[-1]]

    def embed(some: list[str]) -> list[Sequence[float] | None]:
        answered = bedrock.titan([one for one in some if one not in down])
        if len(answered) < len(some):
            raise UnavailableError("throttled")
        return answered

    nearness = EmbeddedTexts(embed, "titan-v2", is_remote=True)
    with pytest.raises(UnavailableError):
        nearness.vectors(texts)
    down.clear()
    nearness.vectors(texts)

    assert len(bedrock.asked) < len(texts) + REMOTE_AT_ONCE
