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
from forklore.local.template import Polled, Queue, Template, read_template

TEMPLATE = """\
Globals:
  Function:
    Handler: app.handler
    Environment: { Variables: { FORKLORE_TABLE: !Ref Table, JOBS: !Ref Jobs } }
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties: { BillingMode: PAY_PER_REQUEST }
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 600
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2 }
  Dead:
    Type: AWS::SQS::Queue
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: background_functions/worker/
      Events:
        Jobs: { Type: SQS, Properties: { Queue: !GetAtt Jobs.Arn, BatchSize: 10 } }
  Often:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: background_functions/often/
      Events:
        Clock: { Type: Schedule, Properties: { Schedule: rate(2 hours) } }
"""
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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Template]:
    """The template of a worker and a schedule. The test has its own moto."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "background_functions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in {"worker": WORKER, "often": OFTEN}.items():
        module = tmp_path / "background_functions" / name / "app.py"
        module.parent.mkdir(parents=True)
        module.write_text(text)
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE)
    with mock.patch.dict(os.environ):
        os.environ.pop(embedded.ENDPOINT, None)
        os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        started = embedded.start_moto()
        try:
            yield read_template(template)
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


def test_the_template_says_what_calls_a_function(project: Template) -> None:
    worker, often = project.functions

    assert (worker.polls, worker.every_seconds) == ((Polled("Jobs", 10),), ())
    assert (often.polls, often.every_seconds) == ((), (7200,))
    assert project.queues == (Queue("Jobs", 600, 2, "Dead"), Queue("Dead"))
    assert project.environment == {"JOBS": "Jobs"}


@pytest.mark.parametrize("schedule", ["cron(0 * * * ? *)", "rate(5)", "rate(5 weeks)"])
def test_a_schedule_that_is_not_a_rate_is_refused(tmp_path: Path, schedule: str) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE.replace("rate(2 hours)", f"{schedule!r}"))

    with pytest.raises(ValueError, match="rate"):
        read_template(template)


def test_the_queues_exist_and_are_named_to_the_handlers(project: Template) -> None:
    urls = open_queues(project)

    assert os.environ["JOBS"] == urls["Jobs"]
    assert {url.rsplit("/", 1)[1] for url in boto3.client("sqs").list_queues()["QueueUrls"]} == {
        "Jobs",
        "Dead",
    }


def test_a_template_without_queues_needs_none() -> None:
    assert open_queues(Template((), {})) == {}


def test_messages_reach_the_worker_in_batches_and_are_deleted_when_it_is_done(project: Template) -> None:
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
def test_a_message_that_fails_is_delivered_again_and_ends_as_a_dead_letter(
    project: Template, capsys: pytest.CaptureFixture[str]
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
def test_if_the_worker_fails_its_whole_batch_counts_as_failed(
    project: Template, capsys: pytest.CaptureFixture[str], body: str
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
    project: Template, capsys: pytest.CaptureFixture[str]
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


def test_a_schedule_makes_its_first_call_after_one_interval(project: Template) -> None:
    background = Background(project.functions[1:], {})
    background.start()
    time.sleep(0.1)
    background.stop()

    assert seen("often").events == []
