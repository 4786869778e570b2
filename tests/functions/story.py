"""The story of the catalogue as events, for functions in this process and for deployed ones."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.service.aws.story import tell
from tools.catalogue import Step, operation_of
from tools.harness.gateway import Answer
from tools.harness.sample_events import ROUTES, event_of

JOBS = ("deleteGroup", "sweep", "publish", "embed")
"""The sample events that are no requests: batches of the queue and the stream, and the schedule."""
DIRECT = ("agentAppendEntry", "agentEventBridge")
"""The sample events of direct invocation. The second one is inside EventBridge's envelope."""
AUTHORIZER = "authorizer"
"""The sample event of the authorizer."""


def tell_functions(deliver: Callable[[dict[str, Any]], Answer]) -> dict[str, Answer]:
    """Tell the story; return the first good answer of each route.

    deliver: sends an event to the function of its route. Every second request of an operation with
    two routes takes the second one.
    """
    answers: dict[str, Answer] = {}
    asked: Counter[str] = Counter()

    def ask(step: Step) -> tuple[int, Any]:
        asked[step.operation] += 1
        two = [name for name in ROUTES if operation_of(name) == step.operation]
        name = two[(asked[step.operation] - 1) % len(two)]
        answer = deliver(event_of(replace(step, operation=name)))
        if answer.status == ROUTES[name].status:
            answers.setdefault(name, answer)
        return answer.status, json.loads(answer.text) if answer.text else None

    tell(ask)
    return answers
