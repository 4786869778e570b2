"""Every operation by the client for TypeScript: the same answers and errors as without a client."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.python.here import served
from tests.clients.python.ways import tidy
from tests.service.aws.story import Ask, tell
from tests.service.aws.test_both_ways import by_http
from tools.catalogue import STORY, Step
from tools.harness.gateway import AGENTS, Gateway, table_in_memory

FOLDER = Path(__file__).parents[3] / "clients" / "typescript"
ARGUMENTS = {"Idempotency-Key": "idempotencyKey", "If-Match": "ifMatch"}
"""What the client calls the fields that errors name after their headers."""
REFUSED = 0
"""The status of a call that the client does not send."""


@contextmanager
def by_client(url: str) -> Iterator[Ask]:
    """Yield what sends a step with the client, in a process of Node."""
    command = ["node", "tests/support/ask.js", url, json.dumps(AGENTS)]
    with subprocess.Popen(
        command, cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as node:
        assert node.stdin
        assert node.stdout

        def ask(step: Step) -> tuple[int, Any]:
            assert node.stdin
            assert node.stdout
            asked = {"operation": step.operation, "given": step.given, "user": step.user, "agent": step.agent}
            node.stdin.write(json.dumps(asked) + "\n")
            node.stdin.flush()
            answer = json.loads(node.stdout.readline())
            return answer["status"], answer["body"]

        yield ask
        node.stdin.close()
        assert node.wait(60) == 0


def test_every_operation_answers_the_same() -> None:
    with table_in_memory() as template:
        expected = tell(by_http(Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")))
    with table_in_memory() as template, served(template) as url, by_client(url) as ask:
        answers = tell(ask)

    assert len(answers) == len(expected) == len(STORY)
    assert any(status == REFUSED for _, status, _ in answers), "the client checks nothing"
    for (step, status, body), (_, usual, said) in zip(answers, expected, strict=True):
        if status != REFUSED:
            assert (status if status >= 300 else usual, tidy(body)) == (usual, tidy(said)), step
        elif usual == 404:  # the service calls what cannot be an id unknown
            assert body == "conversationId", step
        else:
            field = said["details"]["field"]
            assert (usual, body) == (400, ARGUMENTS.get(field, field)), step
