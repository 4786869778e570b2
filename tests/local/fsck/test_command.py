"""The command on DynamoDB Local: in its own process, and on a table that changes meanwhile."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore_local.fsck.command import run
from forklore_local.fsck.report import Report
from forklore_local.fsck.source import Source
from forklore_service.domain import ids, keys
from forklore_service.storage import items
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from tests.local.fsck import world
from tests.local.fsck.world import DYING, FORK, ROOT, say
from tests.service.reliability.service import Process
from tests.support.tables import Store

pytestmark = pytest.mark.long  # DynamoDB Local takes seconds to start

PROJECT = Path(__file__).parents[3]
READS = {"DescribeTable", "Scan", "Query", "BatchGetItem"}


def fsck(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "forklore.cli", "fsck", *arguments],
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def at(store: Store) -> list[str]:
    assert store.endpoint is not None
    return ["--table", store.name, "--endpoint", store.endpoint]


def watched(store: Store) -> tuple[Source, list[str]]:
    """Return a source, and a list that collects the operations which it calls."""
    client = make_client(store.endpoint)
    used: list[str] = []
    client.meta.events.register("before-call.dynamodb", lambda model, **_: used.append(model.name))
    return Source(Connection(client, store.name, Clock(), sleep=lambda _s: None)), used


def check(source: Source, store: Store, *, segments: int = 2) -> Report:
    return run(source, store.name, segments=segments, is_quiet=True, sleep=lambda _seconds: None)


def test_the_report_of_an_intact_table_has_no_findings(served_store: Store, tmp_path: Path) -> None:
    world.build(served_store)
    report = tmp_path / "report.json"

    ran = fsck(*at(served_store), "--report", str(report), "--segments", "3")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"{served_store.name}: {len(served_store.contents()):,} items, 15 trees, ")
    assert "work in progress: 8, the oldest for " in ran.stdout
    assert ran.stdout.endswith("\nintact\n")
    told = json.loads(report.read_text())
    assert (told["verdict"], told["findings"], told["unsettled"]) == ("intact", [], [])
    assert told["items"] == len(served_store.contents())
    assert told["readUnits"] > 0
    assert told["startedAt"] <= told["finishedAt"]
    assert {"kind": "delete", "groupId": DYING} in [
        {name: job[name] for name in ("kind", "groupId")} for job in told["jobs"]
    ]


def test_findings_are_reported_without_content(served_store: Store) -> None:
    process = Process(served_store)
    say(process, ROOT, "a secret")
    served_store.delete(keys.pointer(ROOT))
    served_store.put(items.key_of(keys.Key("NOTE", "NOTE")))

    ran = fsck(*at(served_store), "--report", "-")

    assert (ran.returncode, ran.stderr) == (1, "")
    assert json.loads(ran.stdout)["findings"] == [
        {
            "kind": "unknown_item",
            "invariant": None,
            "key": {"PK": "NOTE", "SK": "NOTE"},
            "groupId": None,
            "detail": "forklore writes no such item",
        },
        {
            "kind": "missing_ptr",
            "invariant": 1,
            "key": {"PK": f"PTR#{ROOT}", "SK": "PTR"},
            "groupId": ROOT,
            "detail": "the tree says that there is one",
        },
    ]
    assert "secret" not in ran.stdout
    assert "missing_ptr × 1" in fsck(*at(served_store)).stdout


def test_the_reason_for_a_failed_check_is_one_line(served_store: Store, tmp_path: Path) -> None:
    endpoint = ["--endpoint", served_store.endpoint or ""]
    served_store.client.create_table(
        TableName="other-table",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    try:
        tried = [
            fsck("--table", "no-such-table", *endpoint),
            fsck("--table", "other-table", *endpoint),
            fsck(*at(served_store), "--report", str(tmp_path / "no" / "folder")),
            fsck(
                *at(served_store),
                AWS_ACCESS_KEY_ID="",
                AWS_SECRET_ACCESS_KEY="",
                AWS_SHARED_CREDENTIALS_FILE=os.devnull,
                AWS_CONFIG_FILE=os.devnull,
                AWS_EC2_METADATA_DISABLED="true",
            ),
            fsck("--table", "t", "--endpoint", "http://127.0.0.1:9"),
            fsck("--table", "t", "--endpoint", "nowhere"),
            fsck("--table", "t", "--segments", "0"),
        ]
    finally:
        served_store.client.delete_table(TableName="other-table")

    assert [ran.returncode for ran in tried] == [2] * len(tried), tried
    assert [ran.stdout for ran in tried] == [""] * len(tried)
    said = [ran.stderr.splitlines()[-1] for ran in tried]
    for line, expected in zip(
        said,
        [
            "fsck: there is no table 'no-such-table' here",
            "fsck: 'other-table' is no table of forklore's: its keys or indexes are others",
            "fsck: [Errno 2]",
            "fsck: Unable to locate credentials",
            "fsck: Could not connect to the endpoint URL",
            "fsck: Invalid endpoint: nowhere",
            "fsck: --segments 0 is not from 1 to 32",
        ],
        strict=True,
    ):
        assert line.startswith(expected)
    assert "Traceback" not in "".join(ran.stderr for ran in tried)


def test_nothing_is_written(served_store: Store) -> None:
    world.build(served_store)
    served_store.delete(keys.pointer(FORK))
    source, used = watched(served_store)

    with served_store.unchanged():
        report = check(source, served_store)

    assert [finding.kind for finding in report.findings] == ["missing_ptr"]
    assert set(used) == READS


def in_the_middle(store: Store, operation: str, act: Callable[[], object], *, times: int) -> Source:
    """Return a source that runs `act` after each of the first `times` answers to `operation`."""
    client, left = make_client(store.endpoint), iter(range(times))

    def after(model: Any, **_: Any) -> None:
        if model.name == operation and next(left, None) is not None:
            act()

    client.meta.events.register("after-call.dynamodb", after)
    return Source(Connection(client, store.name, Clock(), sleep=lambda _s: None))


def test_a_scan_in_the_middle_of_a_write_finds_nothing_at_the_second_look(served_store: Store) -> None:
    """The scan misses a pointer that is written just after it. This is no damage."""
    process = Process(served_store)
    say(process, ROOT, "before the scan")
    pointer = served_store.item(keys.pointer(ROOT))
    served_store.delete(keys.pointer(ROOT))
    source = in_the_middle(served_store, "Scan", lambda: served_store.put(pointer), times=1)

    report = check(source, served_store, segments=1)  # else the other segment may be read after the write

    assert (report.suspects, report.verdict) == (1, "intact")


def test_a_tree_that_is_written_to_during_every_look_is_unsettled(served_store: Store) -> None:
    say(Process(served_store), ROOT, "x")
    served_store.delete(keys.pointer(ROOT))
    [suspect] = check(watched(served_store)[0], served_store).findings
    moving = in_the_middle(served_store, "BatchGetItem", lambda: move_head(served_store), times=1_000)

    report = check(moving, served_store)

    assert (report.findings, [one.kind for one in report.unsettled]) == ([], [suspect.kind])
    assert report.verdict == "unknown"
    assert "not settled: missing_ptr × 1" in report.as_text()


def move_head(store: Store) -> None:
    head = store.item(keys.head(ROOT, ROOT))
    later = ids.timestamp(ids.milliseconds(head["changedAt"]["S"]) + 1)
    store.put(head | {"changedAt": items.text(later)})
