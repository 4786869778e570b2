"""Recall by meaning: what is found, what no model is shown, and what follows when one fails."""

import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from forklore import Forklore
from forklore.client.errors import ApiError, BadRequestError, InputError, UnavailableError
from forklore_local.in_process.models import is_installed
from forklore_service.errors import UnavailableError as ModelError
from forklore_service.storage.embedded_texts import EmbeddedTexts
from forklore_service.usecases.reading.exchanges import READ_MAX
from tests.support.growth import calls_of

TOPICS = {"hotel": 0, "inn": 0, "lodging": 0, "fish": 1, "sardine": 1, "train": 2, "railway": 2}


class Model:
    """A model that knows a few topics. asked: all texts that it was shown."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if self.error is not None:
            raise self.error
        self.asked += texts
        return [vector_of(text) for text in texts]


def vector_of(text: str) -> list[float]:
    vector = [0.0, 0.0, 0.0, 0.1]
    for word in text.lower().replace(".", " ").replace("?", " ").split():
        if word in TOPICS:
            vector[TOPICS[word]] += 1
    return vector


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def fl(model: Model) -> Iterator[Forklore]:
    with Forklore.local(user="ann", client="planner", recall=model) as made:
        yield made


def test_what_is_meant_is_found_without_a_common_word(fl: Forklore) -> None:
    chat = fl.conversation()
    chat.say("user", "The inn near the river.")
    chat.say("user", "Sardine, grilled.")

    [hit] = chat.recall("Which lodging?", limit=1)
    assert (hit.line.text, hit.highlights) == ("The inn near the river.", [])
    assert hit.score > 0.9
    [hit] = fl.recall("fish", limit=1)
    assert hit.line.text == "Sardine, grilled."


def test_what_a_sibling_says_is_not_found_and_the_model_is_never_shown_it(fl: Forklore, model: Model) -> None:
    chat = fl.conversation()
    anchor = chat.say("user", "Plan a trip.")
    chat.say("ai", "A hotel at the sea.")
    other = chat.fork(after=anchor)
    other.say("ai", "An inn in the hills.")

    assert [hit.line.text for hit in other.recall("lodging")] == ["An inn in the hills.", "Plan a trip."]
    assert "A hotel at the sea." not in model.asked


def test_an_append_and_a_page_ask_no_model(fl: Forklore, model: Model) -> None:
    model.error = RuntimeError("down")
    chat = fl.conversation()
    chat.say("user", "The inn.")

    assert len(chat.entries().list()) == 1
    assert [hit.line.text for hit in fl.search("+inn")] == ["The inn."]
    assert [hit.line.text for hit in fl.search("inn", search_type="fulltext")] == ["The inn."]


def test_a_model_that_fails_is_told_and_not_replaced_by_words(fl: Forklore, model: Model) -> None:
    chat = fl.conversation()
    chat.say("user", "The inn.")
    model.error = RuntimeError("secret of the inn")

    with pytest.raises(UnavailableError, match="the model of recall failed: RuntimeError") as raised:
        fl.with_options(retries=0).api.search_conversations(query="inn")
    assert "secret" not in str(raised.value)
    model.error = None
    assert len(chat.recall("inn")) == 1


def test_what_was_removed_is_not_found(fl: Forklore) -> None:
    chat = fl.conversation()
    anchor = chat.say("user", "Plan a trip.")
    fork = chat.fork(after=anchor)
    fork.say("ai", "A hotel.")
    assert [hit.line.text for hit in fl.recall("inn", limit=1)] == ["A hotel."]
    fork.delete()

    assert [hit.line.text for hit in fl.recall("inn")] == ["Plan a trip."]


def test_who_may_not_read_it_does_not_find_it(fl: Forklore, model: Model) -> None:
    chat = fl.conversation()
    chat.say("user", "The inn.")
    bob = fl.acting_as("bob")

    assert bob.recall("lodging") == ()
    assert "The inn." not in model.asked
    chat.share("bob", "reader")
    assert len(bob.recall("lodging")) == 1
    chat.unshare("bob")
    assert bob.recall("lodging") == ()


def test_what_is_known_is_not_asked_again(fl: Forklore, model: Model) -> None:
    chat = fl.conversation()
    chat.say("user", "The inn.")
    chat.recall("lodging")
    asked = len(model.asked)
    chat.recall("lodging")
    assert len(model.asked) == asked
    chat.say("user", "The train.")
    chat.recall("lodging")

    assert model.asked[asked:] == ["The train."]


def test_meaning_alone_words_alone_and_both(fl: Forklore) -> None:
    chat = fl.conversation()
    for text in ("The inn.", "A train register."):
        chat.say("user", text)

    def found(**how: str) -> list[str | None]:
        page = fl.api.search_conversations(query="lodging register", **how)  # type: ignore[arg-type]
        return [hit.line.text for hit in page.data]

    assert found(search_type="fulltext") == ["A train register."]
    assert found(search_type="semantic") == ["The inn.", "A train register."]
    assert found() == ["A train register.", "The inn."]


def test_a_demand_filters_what_is_near(fl: Forklore) -> None:
    chat = fl.conversation()
    chat.say("user", "The inn of Porto.")
    chat.say("user", "The hotel of Faro.")

    assert [hit.line.text for hit in fl.search("+faro lodging")] == ["The hotel of Faro."]


@pytest.mark.parametrize("seed", range(3))
def test_the_pages_are_what_brute_force_makes_of_the_branch(fl: Forklore, seed: int) -> None:
    """Siblings say nearly the same. No page shows one of theirs, one twice, or passes one over."""
    random_ = random.Random(seed)
    words = [*TOPICS, "quiet", "yard"]
    chat, said = fl.conversation(), list[str]()
    for number in range(25):
        text = f"{number} " + " ".join(random_.choices(words, k=4))
        entry = chat.say("user", text)
        said.append(text)
        if random_.random() < 0.3:
            chat.fork(after=entry).say("user", f"sibling {text}")
        if random_.random() < 0.2:
            chat = chat.fork(after=entry)
    question = " ".join(random_.sample(words[:7], 2))
    shown, cursor = list[tuple[str | None, float]](), None
    while True:
        page = fl.api.search_conversations(
            query=question,
            conversation_id=chat.id,
            search_type="semantic",
            limit=random_.randint(1, 9),
            after_cursor=cursor,
        )
        shown += [(hit.line.text, float(hit.score)) for hit in page.data]
        cursor = page.after_cursor
        if cursor is None:
            break

    expected = [(text, round(cosine(question, text), 4)) for text in said[::-1]]
    assert [text for text, _ in shown] == [text for text, _ in sorted(expected, key=lambda one: -one[1])]
    assert all(abs(score - dict(expected)[str(text)]) < 0.001 for text, score in shown)


def cosine(one: str, other: str) -> float:
    left, right = vector_of(one), vector_of(other)
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.hypot(*left) / math.hypot(*right)


@pytest.mark.parametrize("seed", range(3))
def test_the_exchanges_around_a_hit_are_those_of_the_branch_and_whole(fl: Forklore, seed: int) -> None:
    """A fork may begin within an exchange, and what goes on there belongs to it."""
    random_ = random.Random(seed)
    chat = fl.conversation()
    for number in range(25):
        entry = chat.say(random_.choice(["user", "ai", "ai", "tool"]), f"inn {number}")
        if random_.random() < 0.2:
            chat.fork(after=entry).say("ai", f"inn of a sibling {number}")
        if random_.random() < 0.15:
            chat = chat.fork(after=entry)
    said = chat.entries(channel="history").list()
    exchanges: list[list[str]] = [[]]
    for one in said:
        exchanges += [[]] if one.role == "user" else []
        exchanges[-1].append(one.id)
    exchanges = list(filter(None, exchanges))
    for wide in (0, 1, 3):
        hits = chat.recall("inn", limit=25, around=wide)
        assert {hit.entry_id for hit in hits} == {one.id for one in said}
        for hit in hits:
            [at] = [place for place, one in enumerate(exchanges) if hit.entry_id in one]
            meant = [one for some in exchanges[max(0, at - wide) : at + wide + 1] for one in some]
            assert [one.id for one in hit.around] == meant
    assert chat.recall("inn", limit=1)[0].around == ()


def test_an_exchange_that_is_too_long_is_left_out(fl: Forklore) -> None:
    chat = fl.conversation()
    chat.say("user", "inn the first")
    for number in range(2):
        chat.say("user", f"begin {number}")
        for step in range(READ_MAX - 2):
            chat.say("tool", f"step {step}")
    chat.say("user", "inn the last")

    def found(question: str, around: int) -> list[str]:
        [hit] = chat.recall(question, limit=1, around=around, min_score=0.1)
        return [one.text or "" for one in hit.around]

    assert found("inn first", 0) == ["inn the first"]
    assert [len(found("inn first", around)) for around in (1, 2, 3)] == [READ_MAX] * 3
    assert [len(found("inn last", around)) for around in (1, 3)] == [READ_MAX] * 2
    for step in range(READ_MAX + 1):
        chat.say("tool", f"more {step}")
    assert found("inn last", 0) == []


def test_no_hit_has_a_lower_score_than_was_asked_for(fl: Forklore) -> None:
    chat = fl.conversation()
    for text in ("The inn.", "The inn and the train.", "A train."):
        chat.say("user", text)

    scores = [hit.score for hit in chat.recall("lodging")]
    assert [hit.score for hit in chat.recall("lodging", min_score=float(scores[1]))] == scores[:2]
    assert chat.recall("lodging", min_score=2.5) == ()
    page = fl.api.search_conversations(query="inn", min_score=scores[1], limit=1)
    rest = fl.api.search_conversations(
        query="inn", min_score=scores[1], limit=9, after_cursor=page.after_cursor
    )
    assert (len(page.data), len(rest.data), rest.after_cursor) == (1, 1, None)


@pytest.mark.skipif(not is_installed(), reason="NOT TESTED: the extra `recall` is not installed")
def test_the_model_of_the_extra_finds_what_is_meant() -> None:
    with Forklore.local(user="ann", recall="wordllama") as fl:
        chat = fl.conversation()
        for text in ("We take the train to Porto on Friday.", "", "The hotel has a quiet yard.", "🐟"):
            chat.say("user", text or "…")
        [hit] = chat.recall("Which accommodation is calm?", limit=1)
    assert hit.line.text == "The hotel has a quiet yard."


@pytest.mark.parametrize("name", ["wordllama-2", ""])
def test_an_unknown_model_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="there is no model"):
        Forklore.local(user="ann", recall=name)  # type: ignore[arg-type]


def test_without_numpy_a_search_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = [[1.0, 2.0], [0.0, 0.0], [-3.0, 1.0]]
    texts = EmbeddedTexts(lambda some: vectors[: len(some)], "x")
    with_it = texts.near("a", ["b", "c", "d"][:2])
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert texts.near("a", ["b", "c", "d"][:2]) == pytest.approx(with_it)


def test_a_cursor_fits_the_way_of_searching_that_made_it(fl: Forklore) -> None:
    chat = fl.conversation()
    for number in range(3):
        chat.say("user", f"inn {number}")
    page = fl.api.search_conversations(query="inn", search_type="semantic", limit=1)

    with pytest.raises(BadRequestError) as raised:
        fl.api.search_conversations(query="inn", limit=1, after_cursor=page.after_cursor)
    assert raised.value.code == "invalid_cursor"


def test_without_a_model_there_is_no_meaning() -> None:
    with Forklore.local(user="ann") as fl:
        chat = fl.conversation()
        chat.say("user", "The inn.")

        assert chat.recall("lodging") == ()
        assert len(chat.recall("the inn?")) == 1
        with pytest.raises(ApiError) as raised:
            fl.api.search_conversations(query="inn", search_type="semantic")
        assert raised.value.code == "search_type_unavailable"


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0]] * 3, [[]] * 2, [[1.0], [1.0, 2.0]], [[math.nan], [1.0]], [["x"], [1.0]], None],
)
def test_what_are_no_vectors_of_the_texts_is_refused(vectors: Sequence[Sequence[float]]) -> None:
    with pytest.raises(ModelError):
        EmbeddedTexts(lambda _: vectors, "x").near("one", ["two", "three"])


def test_vectors_of_another_length_than_the_questions_are_refused() -> None:
    texts = EmbeddedTexts(lambda some: [[1.0] * len(some)] * len(some), "x")
    with pytest.raises(ModelError):
        texts.near("one", ["two", "three"])


def test_a_function_that_changes_the_length_of_its_vectors_is_told_and_stores_none_of_them(
    tmp_path: Path,
) -> None:
    length = 8

    def model(texts: list[str]) -> list[list[float]]:
        return [[*vector_of(text)[:4], *[0.1] * (length - 4)] for text in texts]

    with Forklore.local(user="ann", data=tmp_path, recall=model) as made:
        fl = made.with_options(retries=0)
        chat = fl.conversation()
        chat.say("user", "The inn.")
        assert len(chat.recall("lodging")) == 1
        chat.say("user", "The train.")
        length = 16
        for ask in (chat.recall, fl.recall):
            with pytest.raises(UnavailableError, match="vectors of different lengths"):
                ask("railway")
        length = 8
        assert [hit.line.text for hit in chat.recall("railway")] == ["The train.", "The inn."]
    length = 16
    with Forklore.local(user="ann", data=tmp_path, recall=model) as fl:  # another model
        assert [hit.line.text for hit in fl.recall("railway")] == ["The train.", "The inn."]


def test_only_so_many_vectors_are_kept() -> None:
    model = Model()
    texts = EmbeddedTexts(model, "x", kept_max=2)
    texts.near("inn", ["a", "b", "c"])
    texts.near("c", ["b"])

    assert model.asked == ["inn", "a", "b", "c"]
    assert texts.near("inn", ["", "inn"])[1] == pytest.approx(1)


def test_a_recall_of_a_thousand_entries_calls_three_times_what_a_page_of_sixty_calls() -> None:
    """Once the entries have vectors. What reads all of them calls thirty times as much."""
    words = [f"{letter}{number}" for letter in "bcdfghjk" for number in range(400)]
    random_ = random.Random(1)
    with Forklore.local(user="ann", recall=lambda texts: [vector_of(text) for text in texts]) as fl:
        chat = fl.conversation()
        for _ in range(1_000):
            chat.say("user", " ".join(random_.choices([*words, *TOPICS], k=60)))
        question = "which lodging near b12 or c34?"
        chat.recall(question, limit=5)
        page = calls_of(lambda: fl.api.list_entries(chat.id, limit=60))

        assert calls_of(lambda: chat.recall(question, limit=5)) <= 3 * page
        words_only = {"query": question, "conversation_id": chat.id, "search_type": "fulltext"}
        assert calls_of(lambda: fl.api.search_conversations(**words_only)) > 10 * page  # type: ignore[arg-type]
