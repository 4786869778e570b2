"""What was said before there was a model gets its vectors by a command."""

import io
import json
from typing import Any

import pytest

from tests.functions.test_embed import Service, embed, service
from tools.deployment import embed_all

__all__ = ["service"]


class Lambda:
    """Lambda, which runs the function in this process. fails: so many calls end the function."""

    def __init__(self, fails: int = 0) -> None:
        self.asked: list[list[str]] = []
        self.fails = fails

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803 (AWS's names)
        assert FunctionName == "embed"
        self.asked.append(json.loads(Payload)["trees"])
        if len(self.asked) <= self.fails:
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(b"{}")}
        return {"Payload": io.BytesIO(json.dumps(embed(json.loads(Payload))).encode())}


def run(service: Service, functions: Lambda) -> list[str]:
    return list(embed_all.embed_all(service.process.table, functions, "embed"))


@pytest.mark.parametrize("fails", [0, 2])
def test_every_tree_gets_its_vectors_and_what_failed_is_tried_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    monkeypatch.setattr(embed_all, "TREES_AT_ONCE", 2)
    roots = [service.say("The inn", text)[0] for text in ("A train", "A sardine", "A yard")]

    lines = run(service, Lambda(fails))

    assert lines[-1] == "3 trees done, 0 left"
    assert all(service.embedded(root) == service.entries(root) for root in roots)


def test_what_cannot_be_done_is_named(service: Service) -> None:
    root, _ = service.say("The inn")
    service.model.error = RuntimeError()
    functions = Lambda()

    assert run(service, functions)[-2:] == ["0 trees done, 1 left", f"left: {root}"]
    assert functions.asked == [[root]] * (1 + embed_all.TRIES_MAX)
