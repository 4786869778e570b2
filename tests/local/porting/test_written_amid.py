"""A tree that is written to between two reads of its export."""

from pathlib import Path

import pytest

from tests.local.fsck import world
from tests.local.porting.round_trip import exported, imported
from tests.service.reliability.faults import Call, Fault
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import settle
from tests.support.samples import drawn
from tests.support.tables import Store, fresh_store

CALLS = 14
"""As many as an export of the tree has at least."""


def _write_everywhere(process: Process) -> None:
    """Append, also contexts of an old and a new client; change, fork and remove branches."""
    world.say(process, world.FORK, "its first text")
    world.think(process, world.ROOT, "more of the epoch")
    world.think(process, world.FORK, "of a client who had none here")
    world.think(process, world.FORK, "a new epoch", epoch=7)
    said = world.say(process, world.ROOT, "later")
    for operation, given in (
        ("updateConversation", {"conversationId": world.ROOT, "title": "another"}),
        ("forkConversation", {"conversationId": world.ROOT, "id": world.NOTES, "atEntryId": said}),
        ("deleteConversation", {"conversationId": world.TWIG, "scope": "branch"}),
    ):
        answer = process.ask(operation, world.ANN, **given)
        assert answer.status < 300, answer


@pytest.mark.failure("export-amid-writes")
@pytest.mark.parametrize("number", drawn(range(1, CALLS + 1), 4))
def test_what_is_exported_amid_writes_is_intact(store: Store, tmp_path: Path, number: int) -> None:
    process = Process(store)
    world.say(process, world.ROOT, "one")
    said = world.say(process, world.ROOT, "two")
    world.think(process, world.ROOT, "an epoch")
    for fork, position in ((world.FORK, "before"), (world.TWIG, "after")):
        given = {"conversationId": world.ROOT, "id": fork, "atEntryId": said, "position": position}
        assert process.ask("forkConversation", world.ANN, **given).status == 201
    world.say(process, world.TWIG, "in the branch that goes")
    calls = list[Call]()

    def at_call(call: Call) -> Fault | None:
        calls.append(call)
        if len(calls) == number:
            _write_everywhere(Process(store))
        return None

    exported(Process(store, at_call, in_order=True).table, tmp_path / "amid")
    settle(store)

    assert len(calls) >= CALLS
    with fresh_store("other") as other:
        assert imported(other, tmp_path / "amid").made == 1
        assert_intact(other, settled=True)
