"""The functions that no request calls: the worker of the queue and the sweep."""

import json
import uuid
from typing import Any
from unittest import mock

import boto3
import pytest

from forklore_local.server.invocation import HandlerError, LambdaContext, invoke, load_handler
from forklore_service.aws import jobs
from forklore_service.aws.jobs import SweepFailed
from forklore_service.aws.wiring import open_queue, open_table
from forklore_service.domain import ids, keys
from forklore_service.domain.keys import TREE_SHARDS
from forklore_service.domain.model import JobKind
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions, items
from forklore_service.storage.clock import system_ms
from forklore_service.usecases.deletion import retention
from forklore_service.usecases.people import transfers
from tests.support.lines import Lines, faults, metrics_of
from tests.support.samples import drawn
from tools.deployment.template import TemplateFunction, read_template
from tools.harness.gateway import PROJECT, Gateway
from tools.harness.sample_events import sample_event

TEMPLATE = read_template(PROJECT / "template.yaml")
SAMPLE = "019a5c1f-0d68-7a92-8b14-c06e95d37f2a"
"""The tree that the sample message names."""
STACK = {("stack",)}
POISON = [
    "",
    "no JSON",
    "null",
    "[]",
    '"019a5c1f-0d68-7a92-8b14-c06e95d37f2a"',
    "{}",
    '{"groupId": null}',
    '{"groupId": 1}',
    '{"groupId": "JOB"}',
    '{"groupId": "019A5C1F-0D68-7A92-8B14-C06E95D37F2A"}',
    "[" * 100_000,
    f'{{"groupId": "{SAMPLE}", "kind": "create"}}',
    f'{{"groupId": "{SAMPLE}", "kind": null}}',
    f'{{"groupId": "{SAMPLE}", "kind": ["delete"]}}',
    f'{{"groupId": "{SAMPLE}", "lease": 1}}',
    f'{{"groupId": "{SAMPLE}", "more": 1}}',
    f'{{"groupId": "{SAMPLE}", "kind": "prune"}}',
    f'{{"groupId": "{SAMPLE}", "kind": "prune", "conversationId": "x"}}',
    f'{{"groupId": "{SAMPLE}", "kind": "delete", "conversationId": "{SAMPLE}"}}',
    f'{{"groupId": "{SAMPLE}", "conversationId": "{SAMPLE}"}}',
]


def function(name: str) -> TemplateFunction:
    return next(one for one in TEMPLATE.functions if one.name == name)


WORKER, SWEEP = function("DeleteGroupFunction"), function("SweepFunction")


def batch(*bodies: str) -> dict[str, Any]:
    """Return the sample event with these messages. The id of a message is its position."""
    [record] = sample_event("deleteGroup")["Records"]
    return {"Records": [record | {"messageId": str(at), "body": body} for at, body in enumerate(bodies)]}


def work(event: dict[str, Any]) -> Any:
    return invoke(WORKER, load_handler(WORKER), event)


def message(group_id: str) -> str:
    return json.dumps({"groupId": group_id})


@pytest.fixture
def dead(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return three deleted trees that the worker may remove now."""
    monkeypatch.setenv("FORKLORE_DELETE_WAIT_SECONDS", "0")
    made = [gateway.send("POST", "/v1/conversations", body={}).json["id"] for _ in range(3)]
    for conversation_id in made:
        answer = gateway.send("DELETE", f"/v1/conversations/{conversation_id}")
        assert (answer.status, answer.text) == (204, "")
    return made


def forget_jobs() -> None:
    """Delete the jobs of other tests, which share the table."""
    table = open_table()
    for kind in JobKind:
        table.delete(items.key(item) for item in table.query(keys.jobs_range(kind)))


def is_left(group_id: str) -> bool:
    return bool(open_table().get([keys.group(group_id), keys.job("delete", group_id)]))


def test_the_sample_message_does_not_fail(gateway: Gateway) -> None:
    [record] = sample_event("deleteGroup")["Records"]

    assert json.loads(record["body"]) == {"groupId": SAMPLE}
    assert work(sample_event("deleteGroup")) == {"batchItemFailures": []}


def test_a_worker_deletes_the_trees_of_its_messages(dead: list[str]) -> None:
    assert work(batch(*map(message, dead))) == {"batchItemFailures": []}
    assert [is_left(group_id) for group_id in dead] == [False] * 3


def test_what_a_worker_changes_leaves_a_line_that_names_the_tree(dead: list[str], lines: Lines) -> None:
    work(batch(message(dead[0])))
    work(batch(message(dead[0])))  # nothing is left to do

    [line] = lines.named("change")
    assert (line["operation"], line["tree"]) == ("delete", dead[0])
    assert line.keys() == {"timestamp", "level", "logger", "message", "operation", "tree"}


@pytest.mark.failure("poison-message")
@pytest.mark.parametrize("poison", drawn(POISON, 8), ids=lambda poison: poison[:30] or "empty")
def test_a_poison_message_is_the_only_one_of_its_batch_that_fails(
    dead: list[str], poison: str, lines: Lines
) -> None:
    """The other messages of its batch succeed. The answer names exactly the ones that failed."""
    answer = work(batch(message(dead[0]), poison, message(dead[1])))

    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert [is_left(group_id) for group_id in dead] == [False, False, True]
    [line] = lines.named("failed")
    assert (line["level"], line["job"]) == ("ERROR", "delete")
    assert line.keys() == {"timestamp", "level", "logger", "message", "job", "type", "frames"}
    assert [line["status"] for line in lines.named("job")] == ["done", "failed", "done"]
    assert poison[:30] in ("", "null", "[]", "{}") or not any(poison in text for text in lines.texts)


def test_a_batch_with_only_poison_messages_fails_message_by_message(gateway: Gateway) -> None:
    answer = work(batch("x", "y"))

    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}, {"itemIdentifier": "1"}]}


def test_a_worker_without_time_sends_its_messages_again(
    dead: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = announced(monkeypatch)
    context = LambdaContext(WORKER)
    monkeypatch.setattr(context, "get_remaining_time_in_millis", lambda: 9_000)

    answer = load_handler(WORKER)(batch(*map(message, dead)), context)

    assert answer == {"batchItemFailures": []}
    assert [is_left(group_id) for group_id in dead] == [True] * 3
    assert received(urls) == dead


def test_each_message_writes_a_line_with_its_dynamodb_consumption(dead: list[str], lines: Lines) -> None:
    work(batch(message(dead[0]), "poison", message(dead[0])))
    done, failed, again = lines.named("job")

    assert [one["status"] for one in (done, failed, again)] == ["done", "failed", "done"]
    assert done["DynamoDBCalls"] > again["DynamoDBCalls"] > failed["DynamoDBCalls"] == 0
    assert [metrics_of(one) for one in (done, failed, again)] == [{}] * 3
    assert "Requests" not in done


def test_a_message_whose_job_another_message_continues_is_left_alone(
    dead: list[str], lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORKLORE_DELETE_WAIT_SECONDS", "600")
    work(batch(message(dead[0])))

    assert [line["status"] for line in lines.named("job")] == ["left"]


def test_a_sweep_writes_a_line_with_the_number_of_open_jobs_also_when_it_is_zero(
    gateway: Gateway, lines: Lines
) -> None:
    table = open_table()
    forget_jobs()
    invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))
    began = ids.timestamp(system_ms() - 7_200_000)
    table.commit([actions.job.put(JobKind.DELETION, str(uuid.uuid4()), at=began)])
    invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))
    none, one = lines.named("sweep")

    assert (metrics_of(none)["JobsOpen"], metrics_of(none)["OldestJob"]) == ((0, STACK), (0, STACK))
    assert metrics_of(one)["JobsOpen"] == (1, STACK)
    assert metrics_of(one).keys() == {"JobsOpen", "OldestJob"}, (
        "an unexpected metric was emitted; each metric costs money"
    )
    assert 7_190 < one["OldestJob"] < 7_300
    assert one["DynamoDBCalls"] >= 3
    assert [faults(line, now_ms=system_ms()) for line in (none, one)] == [[], []]


def test_a_sweep_of_a_service_without_a_trash_looks_for_one_once_an_hour(
    gateway: Gateway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def calls(days: str, seconds: int) -> int:
        monkeypatch.setenv("FORKLORE_DELETED_DAYS", days)
        monkeypatch.setattr(jobs, "SWEEP_SECONDS", seconds)
        invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))
        return int(lines.named("sweep")[-1]["DynamoDBCalls"])

    looks = calls("0", jobs.HOUR_SECONDS)
    assert calls("0", 0) == looks - TREE_SHARDS
    assert calls("1", 0) == looks


def test_a_sweep_that_fails_is_counted_as_an_error_and_not_as_a_sweep(
    gateway: Gateway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(open_table()), "query", lambda *_, **__: 1 / 0)
    with pytest.raises(HandlerError) as caught:
        invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))

    assert [(line["message"], line["job"], line["type"]) for line in lines.all] == [
        ("failed", "sweep", "ZeroDivisionError")
    ]
    raised = caught.value.__cause__
    assert (type(raised), str(raised)) == (SweepFailed, ""), "Lambda would log this text"


def test_a_bad_job_is_logged_and_counted_and_the_sweep_continues(
    gateway: Gateway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, url, good = open_table(), announced(monkeypatch), str(uuid.UUID(int=(1 << 128) - 1))
    forget_jobs()
    bad = actions.job.put(JobKind.DELETION, "00000000-0000-4000-8000-000000000000", at="secret")
    table.commit([bad, actions.job.put(JobKind.DELETION, good, at=ids.timestamp(0))])

    invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))
    failed, swept = lines.all

    assert (failed["message"], failed["job"], failed["type"]) == ("failed", "sweep", "ValueError")
    assert (metrics_of(swept)["JobsOpen"], metrics_of(swept)["JobsFailed"]) == ((2, STACK), (1, STACK))
    assert not any("secret" in text for text in lines.texts)
    assert good in received(url)
    forget_jobs()


@pytest.mark.failure("damaged-old-tree")
@pytest.mark.parametrize(
    ("error", "logged"), [(KeyError("secret"), ["failed", "sweep"]), (UnavailableError("x"), ["sweep"])]
)
def test_the_line_about_the_jobs_is_written_though_the_retention_fails(
    gateway: Gateway, lines: Lines, monkeypatch: pytest.MonkeyPatch, error: Exception, logged: list[str]
) -> None:
    forget_jobs()
    monkeypatch.setenv("FORKLORE_RETENTION_DAYS", "30")
    monkeypatch.setattr(retention, "delete_unused", mock.Mock(side_effect=error))

    invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))

    assert [line["message"] for line in lines.all] == logged
    assert metrics_of(lines.named("sweep")[0]).keys() >= {"JobsOpen", "OldestJob"}
    assert not any("secret" in text for text in lines.texts)


@pytest.mark.parametrize(("setting", "ignored"), [("counts", False), ("ignored", True)])
def test_the_sweep_is_told_whether_the_tag_of_a_writer_counts(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, setting: str, ignored: bool
) -> None:
    monkeypatch.setenv("FORKLORE_RETENTION_DAYS", "30")
    monkeypatch.setenv("FORKLORE_RETENTION_TAG", setting)
    asked = mock.Mock(return_value=retention.Retained())
    monkeypatch.setattr(retention, "delete_unused", asked)

    invoke(SWEEP, load_handler(SWEEP), sample_event("sweep"))

    assert asked.call_args.kwargs["ignore_tag"] is ignored


def test_an_acceptance_without_time_to_rewrite_every_item_announces_the_rest(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = gateway.send("POST", "/v1/conversations", body={}).json["id"]
    shared = {"userId": "bob", "accessLevel": "reader"}
    gateway.send("POST", f"/v1/conversations/{made}/memberships", body=shared)
    offer = {"conversationId": made, "newOwnerUserId": "bob"}
    transfer = gateway.send("POST", "/v1/ownership-transfers", body=offer).json["id"]
    url = announced(monkeypatch)

    def no_time(*_: object) -> None:
        raise UnavailableError("there is no time left for this request")

    monkeypatch.setattr(transfers, "finish_rewriting", no_time)
    answer = gateway.send("POST", f"/v1/ownership-transfers/{transfer}/accept", user="bob")

    assert answer.status == 204
    assert received(url) == [made]


@pytest.mark.parametrize(("function", "event"), [(WORKER, "deleteGroup"), (SWEEP, "sweep")])
def test_a_wrong_setting_fails_the_function_and_says_what_to_set(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, function: TemplateFunction, event: str
) -> None:
    monkeypatch.delenv("FORKLORE_TABLE")
    with pytest.raises(HandlerError) as caught:
        invoke(function, load_handler(function), sample_event(event))

    assert "set FORKLORE_TABLE" in str(caught.value.__cause__)


def announced(monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a queue on moto and make the functions announce to it. Returns its URL."""
    made: Any = boto3.client("sqs").create_queue(QueueName=f"jobs-{uuid.uuid4()}")
    monkeypatch.setenv("FORKLORE_QUEUE", made["QueueUrl"])
    open_queue.cache_clear()
    return str(made["QueueUrl"])


def received(url: str) -> list[str]:
    """Return the trees in the messages that can be received now. The messages stay in flight."""
    client, found = boto3.client("sqs"), list[str]()
    while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        found += [json.loads(message["Body"])["groupId"] for message in messages]
    return found


@pytest.fixture(autouse=True)
def no_queue_afterwards() -> Any:
    yield
    open_queue.cache_clear()


@pytest.mark.failure("poison-message")
def test_a_message_moves_to_the_dead_letter_queue_after_5_receives() -> None:
    [jobs] = [queue for queue in TEMPLATE.queues if queue.name == "JobsQueue"]

    assert (jobs.visible_after_seconds, jobs.receives_max, jobs.dead_letters) == (1800, 5, "DeadJobsQueue")


@pytest.mark.failure("unreliable-messages")
def test_a_message_is_delivered_again_after_six_times_the_functions_timeout_at_the_earliest() -> None:
    """The sweep runs every 5 minutes."""
    queues = {queue.name: queue for queue in TEMPLATE.queues}
    [polled] = WORKER.polls

    assert queues[polled.queue].visible_after_seconds >= 6 * WORKER.timeout_seconds
    assert polled.batch_size == 1, "the worker has too little time; a message may take minutes"
    assert SWEEP.every_seconds == (300,)
