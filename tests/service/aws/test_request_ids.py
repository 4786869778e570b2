"""The id of a request, kept or generated; and a request with no time left."""

import pytest

from forklore_service.domain.ids import is_uuid
from tests.service.aws.world import FRESH, ROOT, Ask, World, show


@pytest.mark.parametrize("sent", ["a", "req-1.2:3=4+5/6_7", "0" * 128])
def test_a_valid_request_id_is_kept(world: World, sent: str) -> None:
    good = world.send(show(ROOT, headers=[("X-Request-Id", sent)]))
    refused = world.send(show(FRESH, headers=[("X-Request-Id", sent)]))
    unrouted = world.send(Ask("GET", "/nowhere", headers=[("X-Request-Id", sent)]))

    assert good.headers["x-request-id"] == sent
    assert refused.headers["x-request-id"] == refused.json["requestId"] == sent
    assert unrouted.headers["x-request-id"] == unrouted.json["requestId"] == sent


@pytest.mark.parametrize(
    "sent",
    ["", "0" * 129, "a b", "a\tb", "ä", "a\x00", "<script>", 'a"b', "a;b", "a\n", "a,b", None],
)
def test_any_other_request_id_is_replaced_by_a_new_one(world: World, sent: str | None) -> None:
    headers = [] if sent is None else [("X-Request-Id", sent)]
    ours = {
        world.send(ask).headers["x-request-id"]
        for ask in (show(ROOT, headers=headers), show(FRESH, headers=headers))
    }

    assert len(ours) == 2
    assert all(len(made) == 36 and is_uuid(made) for made in ours)


def test_two_request_ids_are_replaced(world: World) -> None:
    twice = world.send(show(ROOT, headers=[("X-Request-Id", "one"), ("X-Request-Id", "two")]))

    assert is_uuid(twice.headers["x-request-id"])
