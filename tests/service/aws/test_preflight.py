"""A browser's preflight request that API Gateway passes on. The gateway adds CORS headers."""

import pytest

from forklore_service.api import operations
from tests.service.aws.world import ROOT
from tools.harness.gateway import Gateway, stored

PATHS = sorted({operation.path for operation in operations.ROUTES})
IDS = {
    "conversationId": ROOT,
    "transferId": ROOT,
    "userId": "bob",
    "entryId": "x",
    "erasureId": ROOT,
    "answerId": ROOT,
    "attachmentId": ROOT,
    "linkId": ROOT,
    "noteId": ROOT,
    "secret": "a-secret",
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("user", ["ann", None], ids=["with credentials", "without"])
def test_options_of_a_path_is_204_and_lists_its_methods(
    gateway: Gateway, path: str, user: str | None
) -> None:
    answer = gateway.send("OPTIONS", path.format(**IDS), user=user, headers=[("X-Request-Id", "mine")])
    methods = {operation.method for operation in operations.ROUTES if operation.path == path}

    assert (answer.status, answer.text) == (204, "")
    assert answer.headers["allow"] == ", ".join(sorted(methods | {"OPTIONS"}))
    assert answer.headers["x-request-id"] == "mine"
    assert "access-control-allow-origin" not in answer.headers


def test_the_405_for_a_wrong_method_lists_the_same_methods(gateway: Gateway) -> None:
    wrong, asked = (gateway.send(method, "/v1/conversations") for method in ("PUT", "OPTIONS"))

    assert wrong.status == 405
    assert (
        wrong.headers["allow"]
        == wrong.json["details"]["allow"]
        == asked.headers["allow"]
        == "GET, OPTIONS, POST"
    )


def test_options_changes_nothing(gateway: Gateway) -> None:
    before = stored()
    gateway.send("OPTIONS", "/v1/conversations", body={"title": "x"})

    assert stored() == before


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nothing", f"/v1/conversations/{ROOT}/", "*"])
def test_options_of_an_unknown_path_is_404(gateway: Gateway, path: str) -> None:
    assert gateway.send("OPTIONS", path).status == 404
