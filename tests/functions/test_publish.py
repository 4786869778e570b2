"""The function that gets the table's stream."""

from collections.abc import Iterator
from typing import Any

import pytest

from forklore_local.server.invocation import HandlerError, invoke, load_handler
from forklore_service.aws.stream import PublisherSettings
from forklore_service.events.event import Content
from tests.service.events.buses import Heard
from tests.service.events.delivery import filters, fits
from tests.support.lines import Lines, metrics_of
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, table_in_memory
from tools.harness.sample_events import sample_event

[PUBLISH] = [
    one for one in read_template(PROJECT / "template.yaml").functions if one.name == "PublishFunction"
]


@pytest.fixture
def heard(moto: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """The bus and the queue that the function's settings name, beside an empty table."""
    with table_in_memory():
        heard = Heard()
        monkeypatch.setenv("FORKLORE_EVENT_BUS", heard.name)
        monkeypatch.setenv("FORKLORE_PARKED_EVENTS", heard.parked_url)
        monkeypatch.setattr("forklore_service.aws.stream.make_events_client", lambda: heard)
        yield heard


def publish(event: dict[str, Any]) -> Any:
    return invoke(PUBLISH, load_handler(PUBLISH), event)


def test_the_sample_event_is_published(heard: Heard, lines: Lines) -> None:
    assert publish(sample_event("publish")) == {"batchItemFailures": []}

    [event] = heard.events()
    detail = event["detail"]
    assert (event["source"], event["detail-type"]) == ("forklore", "EntriesAppended")
    assert (detail["treeId"], detail["lastEntryId"]) == (
        "019a5c1e-7b40-7c3d-9e21-4f8d2b6a1c05",
        "019a5c1e-aa20-7b16-8c31-5d1e2f3a4b6c",
    )
    assert detail["entries"][0]["role"] == "USER"
    [line] = lines.all
    assert metrics_of(line)["EventsPublished"][0] == 1
    assert "hi" not in str(line)


def test_the_sample_event_passes_the_filter_of_the_template() -> None:
    for record in sample_event("publish")["Records"]:
        assert any(fits(pattern, record) for pattern in filters())


def test_content_is_published_if_the_deployment_says_so(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORKLORE_EVENT_CONTENT", "history")

    publish(sample_event("publish"))

    [event] = heard.events()
    assert event["detail"]["entries"][0]["content"] == [{"role": "USER", "text": "hi"}]


@pytest.mark.failure("poison-record", "leaking-log")
def test_what_cannot_be_told_is_parked_and_logged_without_content(heard: Heard, lines: Lines) -> None:
    event = sample_event("publish")
    image = event["Records"][1]["dynamodb"]["NewImage"]
    del image["changedAt"]
    image["preview"] = {"S": "a secret"}

    assert publish(event) == {"batchItemFailures": []}

    assert heard.events() == []
    assert heard.parked() == [{"Records": [event["Records"][1]]}]
    fault, published = lines.all
    assert (fault["message"], fault["type"]) == ("parked", "KeyError")
    assert "secret" not in str(lines.all)
    assert metrics_of(published)["EventsParked"][0] == 1


def test_lambda_is_told_where_to_go_on(heard: Heard) -> None:
    event = sample_event("publish")
    event["Records"][0]["dynamodb"] = {"SequenceNumber": "42"}
    heard.lose_parking()

    assert publish(event) == {"batchItemFailures": [{"itemIdentifier": "42"}]}


@pytest.mark.parametrize("name", ["FORKLORE_EVENT_BUS", "FORKLORE_PARKED_EVENTS", "FORKLORE_EVENT_CONTENT"])
def test_a_wrong_setting_fails_the_batch_so_that_it_comes_again(
    heard: Heard, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "all" if name.endswith("CONTENT") else "")

    with pytest.raises(HandlerError) as raised:
        publish(sample_event("publish"))
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert name in str(raised.value.__cause__)


def test_without_a_setting_events_hold_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKLORE_EVENT_BUS", "bus")
    monkeypatch.setenv("FORKLORE_PARKED_EVENTS", "https://queue")
    monkeypatch.delenv("FORKLORE_EVENT_CONTENT", raising=False)

    assert PublisherSettings.from_environment() == PublisherSettings("bus", "https://queue", Content.NONE)
