"""The function that gets the table's stream and makes the vectors of new entries."""

from collections.abc import Iterator
from typing import Any

import pytest

from forklore_local.server.invocation import HandlerError, invoke, load_handler
from forklore_service.aws.wiring import Given, open_table
from forklore_service.domain import ids, keys
from forklore_service.domain.ids import FIRST, LAST
from forklore_service.domain.model import Caller
from forklore_service.errors import TextRefusedError
from forklore_service.events.changes import Change
from forklore_service.usecases.background import embedding
from forklore_service.usecases.shared import over_all
from tests.service.events.buses import Heard
from tests.service.events.delivery import filters, fits
from tests.service.events.recording import Record, record_of
from tests.service.reliability.world import said
from tests.support.lines import Lines
from tests.support.meaning import Model, nearness
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, given, store_in_memory
from tools.harness.sample_events import sample_event
from tools.harness.service import Process
from tools.harness.tables import Store

[EMBED] = [one for one in read_template(PROJECT / "template.yaml").functions if one.name == "EmbedFunction"]
ANN = Caller("ann", "an-agent")


class Service:
    """A store, and the function. model: what the function asks. parked: the queue."""

    def __init__(self, store: Store, model: Model, parked: Heard) -> None:
        self.process, self.model, self.parked = Process(store), model, parked

    def say(self, *texts: str, **other: Any) -> tuple[str, list[Record]]:
        """Append to a new conversation. Return its id, and what the stream tells of it.

        other: the body of another append, the last one.
        """
        root = self.process.ask("createConversation", ANN).id
        bodies = [*map(said, texts), *([other] if other else [])]
        written = [self.process.ask("appendEntry", ANN, conversationId=root, **one).id for one in bodies]
        made = [keys.head(root, root), *(keys.entry(root, ids.EntryId(one)) for one in written)]
        found = self.process.table.items_at(made)
        at = ids.timestamp(0)
        return root, [record_of(Change(key, None, found[key], at), n) for n, key in enumerate(made)]

    def entries(self, root: str) -> list[ids.EntryId]:
        return list(self.process.table.read.history_ids(root, root, first=FIRST, last=LAST))

    def embedded(self, root: str) -> list[ids.EntryId]:
        found = self.process.table.read.vectors(root, root, first=FIRST, last=LAST)
        return [one.entry_id for one in found if one.shelf is not None]


@pytest.fixture
def service(moto: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with store_in_memory() as store:
        model, parked = Model(), Heard()
        monkeypatch.setenv("FORKLORE_PARKED_VECTORS", parked.parked_url)
        with given(Given(store.new_client, nearness=nearness(model), by_meaning=True)):
            yield Service(store, model, parked)


def is_told(record: Record) -> bool:
    return any(fits(one, record) for one in filters("EmbedFunction"))


def embed(event: dict[str, Any]) -> Any:
    return invoke(EMBED, load_handler(EMBED), event)


def test_what_was_appended_gets_vectors_once(service: Service, lines: Lines) -> None:
    opaque = {"contentType": "application/pdf", "content": []}
    root, records = service.say("The inn near the river", **opaque, indexedContent="Sardine, grilled")
    assert all(map(is_told, records))

    for _ in range(2):
        assert embed({"Records": records}) == {"batchItemFailures": []}

    assert service.embedded(root) == service.entries(root)
    assert [text for text in service.model.asked if "inn" in text] == ["The inn near the river"]
    assert "river" not in str(lines.all)
    done = lines.named("embedded")[-1]
    assert (done["trees"], done["parked"], done["finished"], done["WriteUnits"]) == (1, 0, True, 0)


def test_the_sample_event_passes_the_filter_and_of_what_is_gone_nothing_is_made(service: Service) -> None:
    event = sample_event("embed")

    assert all(map(is_told, event["Records"]))
    assert embed(event) == {"batchItemFailures": []}
    assert service.model.asked == []


def test_neither_context_nor_a_changed_head_is_told_to_it(service: Service) -> None:
    told = {"channel": "context", "contentType": "history", "content": [{"role": "USER", "text": "a"}]}
    _, [made, appended, context] = service.say("The inn", **told)

    for record in (made | {"eventName": "MODIFY"}, context, appended | {"eventName": "REMOVE"}):
        assert not is_told(record)


def test_what_comes_later_makes_up_for_a_lost_record(service: Service) -> None:
    root, records = service.say("The inn near the river", "Sardine, grilled")

    embed({"Records": records[-1:]})

    assert service.embedded(root) == service.entries(root)


@pytest.mark.failure("killed-embedder")
def test_while_the_model_is_down_the_batch_comes_again(service: Service) -> None:
    (first, one), (second, other) = service.say("The inn"), service.say("A train")
    records = [*one, *other]
    service.model.error = RuntimeError("secret")

    number = records[0]["dynamodb"]["SequenceNumber"]
    assert embed({"Records": records}) == {"batchItemFailures": [{"itemIdentifier": number}]}
    assert service.parked.parked() == []
    service.model.error = None
    assert embed({"Records": records}) == {"batchItemFailures": []}
    assert all(service.embedded(root) == service.entries(root) for root in (first, second))


@pytest.mark.failure("poison-record", "leaking-log")
@pytest.mark.parametrize("error", [TextRefusedError("no"), ValueError("secret")])
def test_what_would_fail_again_is_parked_and_the_others_go_on(
    service: Service, monkeypatch: pytest.MonkeyPatch, error: Exception, lines: Lines
) -> None:
    (wrong, one), (right, other) = service.say("The inn"), service.say("A train")
    whole = over_all.embed_tree

    def embed_tree(*given: Any) -> bool:
        if given[2] == wrong:
            raise error
        return whole(*given)

    monkeypatch.setattr(embedding, "embed_tree", embed_tree)

    assert embed({"Records": [*one, *other]}) == {"batchItemFailures": []}
    assert service.parked.parked() == [{"trees": [wrong]}]
    assert (service.embedded(wrong), service.embedded(right)) == ([], service.entries(right))
    assert lines.named("parked")[0]["type"] == type(error).__name__
    assert "secret" not in str(lines.all)
    assert embed({"trees": [wrong, right]}) == {"left": [wrong]}
    assert service.parked.parked() == []
    service.parked.lose_parking()
    number = one[0]["dynamodb"]["SequenceNumber"]
    assert embed({"Records": one}) == {"batchItemFailures": [{"itemIdentifier": number}]}
    monkeypatch.setattr(embedding, "embed_tree", whole)
    assert embed({"trees": [wrong]}) == {"left": []}
    assert service.embedded(wrong) == service.entries(wrong)


@pytest.mark.parametrize("name", ["FORKLORE_PARKED_VECTORS", "FORKLORE_RECALL"])
def test_a_wrong_setting_fails_the_batch_so_that_it_comes_again(
    service: Service, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "FORKLORE_RECALL":
        monkeypatch.setattr(open_table(), "nearness", None)
    else:
        monkeypatch.setenv(name, "")

    with pytest.raises(HandlerError) as raised:
        embed(sample_event("embed"))
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert name in str(raised.value.__cause__)
