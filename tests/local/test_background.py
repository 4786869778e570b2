"""Queues and schedules of a sample project, on moto in this process."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pytest

from forklore.local import embedded
from forklore.local.background import Background, open_queues
from forklore.local.deployment import Deployment, Function, Polled, Queue

DEPLOYMENT = Deployment(
    functions=(
        Function(
            name="Worker",
            module="background_functions.worker.app",
            attribute="handler",
            timeout_seconds=3,
            memory_mb=128,
            routes=(),
            polls=(Polled("Jobs", 10),),
        ),
        Function(
            name="Often",
            module="background_functions.often.app",
            attribute="handler",
            timeout_seconds=3,
            memory_mb=128,
            routes=(),
            every_seconds=(7200,),
        ),
    ),
    queues=(Queue("Jobs", 600, 2, "Dead"), Queue("Dead")),
    environment={"JOBS": "Jobs"},
)
WORKER = """\
batches = []

def handler(event, context):
    bodies = [record["body"] for record in event["Records"]]
    batches.append(event)
    if "raise" in bodies:
        raise KeyError("a sec" + "ret")
    if "nonsense" in bodies:
        return {"batchItemFailures": [{"itemIdentifier": "another"}]}
    failed = [r["messageId"] for r in event["Records"] if r["body"] == "poison"]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}
"""
OFTEN = """\
events = []

def handler(event, context):
    events.append(event)
    if len(events) == 1:
        raise KeyError("a sec" + "ret")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A worker and a schedule, on a moto of the test's own."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "background_functions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in {"worker": WORKER, "often": OFTEN}.items():
        module = tmp_path / "background_functions" / name / "app.py"
        module.parent.mkdir(parents=True)
        module.write_text(text)
    with mock.patch.dict(os.environ):
        os.environ.pop(embedded.ENDPOINT, None)
        os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        started = embedded.start_moto()
        try:
            yield DEPLOYMENT
        finally:
            started.stop()


def until(is_so: Callable[[], object]) -> None:
    """Wait until `is_so()` is true, for at most a minute."""
    give_up_at = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def count(url: str) -> int:
    """Return how many messages a queue has, visible or in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    client: Any = boto3.client("sqs")
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def send(url: str, *bodies: str) -> None:
    for body in bodies:
        boto3.client("sqs").send_message(QueueUrl=url, MessageBody=body)


def seen(name: str) -> Any:
    """Return a variable of the sample functions, which are already imported."""
    return sys.modules[f"background_functions.{name}.app"]


def test_the_queues_exist_and_are_named_to_the_handlers(project: Deployment) -> None:
    urls = open_queues(project)

    assert os.environ["JOBS"] == urls["Jobs"]
    assert {url.rsplit("/", 1)[1] for url in boto3.client("sqs").list_queues()["QueueUrls"]} == {
        "Jobs",
        "Dead",
    }


def test_a_deployment_without_queues_needs_none() -> None:
    assert open_queues(Deployment(())) == {}


def test_messages_reach_the_worker_in_batches_and_are_gone_when_it_is_done(project: Deployment) -> None:
    urls = open_queues(project)
    send(urls["Jobs"], *map(str, range(13)))
    background = Background(project.functions, urls, poll_seconds=0.02)
    background.start()
    until(lambda: count(urls["Jobs"]) == 0)
    background.stop()

    batches = [[record["body"] for record in event["Records"]] for event in seen("worker").batches]
    assert [len(batch) for batch in batches] == [10, 3]
    assert sorted(body for batch in batches for body in batch) == sorted(map(str, range(13)))
    record = seen("worker").batches[0]["Records"][0]
    assert (
        record.keys()
        == json.loads((Path(__file__).parents[2] / "events/deleteGroup.json").read_text())["Records"][
            0
        ].keys()
    )
    assert record["attributes"]["ApproximateReceiveCount"] == "1"


@pytest.mark.failure("poison-message")
def test_a_message_that_fails_comes_again_and_ends_as_a_dead_letter(
    project: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    soon = [replace(queue, visible_after_seconds=1) for queue in project.queues]
    urls = open_queues(replace(project, queues=tuple(soon)))
    send(urls["Jobs"], "good", "poison")
    background = Background(project.functions, urls, poll_seconds=0.02)
    background.start()
    until(lambda: count(urls["Dead"]) == 1)
    background.stop()

    bodies = [[record["body"] for record in event["Records"]] for event in seen("worker").batches]
    assert bodies == [["good", "poison"], ["poison"]]
    assert capsys.readouterr().err == "Worker: 1 of 2 messages failed\nWorker: 1 of 1 messages failed\n"


@pytest.mark.parametrize("body", ["raise", "nonsense"])
def test_when_the_worker_fails_nothing_of_its_batch_is_done(
    project: Deployment, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    urls = open_queues(project)
    send(urls["Jobs"], body, "good")
    background = Background(project.functions, urls, poll_seconds=0.02)
    background.start()
    log = ""

    def is_logged() -> bool:
        nonlocal log
        log += capsys.readouterr().err
        return "Worker: 2 of 2 messages failed\n" in log

    until(is_logged)
    background.stop()
    log += capsys.readouterr().err

    assert count(urls["Jobs"]) == 2
    assert "secret" not in log
    assert ("in handler\n" in log) == (body == "raise")


def test_a_schedule_calls_its_function_again_and_again_even_when_it_fails(
    project: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    often = project.functions[1]
    background = Background([replace(often, every_seconds=(0,))], {})
    background.start()
    until(lambda: len(getattr(sys.modules.get("background_functions.often.app"), "events", [])) > 2)
    background.stop()

    sample = json.loads((Path(__file__).parents[2] / "events/sweep.json").read_text())
    assert seen("often").events[0].keys() == sample.keys()
    log = capsys.readouterr().err
    assert log.startswith("Often: raised")
    assert "secret" not in log


def test_nothing_is_called_before_a_schedules_time_has_passed_once(project: Deployment) -> None:
    background = Background(project.functions[1:], {})
    background.start()
    time.sleep(0.1)
    background.stop()

    assert seen("often").events == []
