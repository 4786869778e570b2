"""Direct invocations as Lambda hands them to the function for them."""

import json
from typing import Any

from forklore.local.deployment import Deployment
from forklore.local.invocation import LambdaContext, load_handler

AGENT = "functions.agent.app"


class Direct:
    """Invokes the template's function for direct invocation."""

    def __init__(self, template: Deployment) -> None:
        [self._function] = [f for f in template.functions if f.module == AGENT]
        self._handler = load_handler(self._function)

    def send(self, event: Any, *, request_id: str | None = None) -> Any:
        """Return the answer to an event: JSON text as it is, or what is to be written as JSON.

        request_id: Lambda's, where the event is delivered again.

        It is read as Lambda's runtime reads it, so escaped surrogates and numbers come in as Python has them.
        """
        text = event if isinstance(event, str) else json.dumps(event)
        context = LambdaContext(self._function)
        context.aws_request_id = request_id or context.aws_request_id
        answer = self._handler(json.loads(text), context)
        written = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        return json.loads(written)

    def ask(self, operation: str, given: Any = None, *, user: str = "ann", agent: str | None = None) -> Any:
        """Return the answer to an operation of a user, perhaps by an agent."""
        caller = {"userId": user, "clientId": agent}
        return self.send({"operation": operation, "caller": caller, "input": given})
