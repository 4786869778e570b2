"""The dry run of a retention."""

import pytest

from forklore.cli.exits import USAGE
from forklore_local.fsck.unused import list_unused
from forklore_service.domain import keys
from tests.clients.cli.running import Forklore
from tests.service.usecases.builders import FORK, OTHER, ROOT, fork, say
from tests.support.tables import DAY_S, Store, WrongClock

DAYS = 30


def test_the_dry_run_lists_what_the_retention_would_delete_and_changes_nothing(store: Store) -> None:
    days = WrongClock(-(DAYS + 1) * DAY_S * 1000)
    say(store.process(clock=days), ROOT, "old")
    fork(store.process(clock=days), ROOT, FORK)
    say(store.process(), OTHER, "newer")
    steps: list[int] = []

    with store.unchanged():
        [found] = list_unused(store.process(), days=DAYS, advance=steps.append)

    assert (found["conversationId"], found["ownerUserId"], found["conversations"]) == (ROOT, "ann", 2)
    assert found["createdAt"] <= found["usedAt"]
    assert sum(steps) == 1, "the newer one is not even looked at"


@pytest.mark.long  # DynamoDB Local takes seconds to start
def test_the_command_prints_a_table_or_lines_of_json(served_store: Store) -> None:
    say(served_store.process(clock=WrongClock(-(DAYS + 1) * DAY_S * 1000)), ROOT, "old")
    run, here = Forklore(), f"--endpoint {served_store.endpoint} --region us-east-1"

    shown = run(f"retention --table {served_store.name} --days {DAYS} {here}")
    told = run(f"retention --table {served_store.name} --days {DAYS} {here} --json")

    assert (shown.code, told.code) == (0, 0), (shown.err, told.err)
    assert ROOT in shown.out
    assert f'"conversationId":"{ROOT}"' in told.out.replace(" ", "")
    assert run(f"retention --table {served_store.name} --days 0").code == USAGE
    assert run(f"retention --table none --days 9 {here}").code == USAGE


@pytest.mark.long  # DynamoDB Local takes seconds to start
def test_a_damaged_tree_does_not_hide_the_others(served_store: Store) -> None:
    days = WrongClock(-(DAYS + 1) * DAY_S * 1000)
    say(served_store.process(clock=days), ROOT, "damaged")
    say(served_store.process(clock=days), OTHER, "old")
    head = served_store.contents()[keys.head(ROOT, ROOT)]
    served_store.put({name: value for name, value in head.items() if name != "changedAt"})

    shown = Forklore()(
        f"retention --table {served_store.name} --days {DAYS}"
        f" --endpoint {served_store.endpoint} --region us-east-1"
    )

    assert shown.code == USAGE
    assert OTHER in shown.out
    assert "trees that cannot be read: 1" in shown.err
