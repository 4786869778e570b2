"""Sends direct invocations to the function, in the form in which Lambda delivers them."""

import json
from typing import Any

from forklore_local.server.invocation import LambdaContext, load_handler
from tools.deployment.template import Template

AGENT = "functions.agent.app"


class Direct:
    """Invokes the function that the template defines for direct invocation."""

    def __init__(self, template: Template) -> None:
        [self._function] = [f for f in template.functions if f.module == AGENT]
        self._handler = load_handler(self._function)

    def send(self, event: Any, *, request_id: str | None = None, alias: str | None = None) -> Any:
        """Return the answer to an event.

        event: JSON text, sent as it is; or a value, written as JSON first.
        request_id: Lambda's own. Give the same one to deliver an event again.
        alias: of the function, by which it is invoked.

        The JSON is read as Lambda's runtime reads it, so the function sees escaped surrogates and
        numbers as Python values.
        """
        text = event if isinstance(event, str) else json.dumps(event)
        context = LambdaContext(self._function)
        context.aws_request_id = request_id or context.aws_request_id
        if alias is not None:
            context.invoked_function_arn += f":{alias}"
        answer = self._handler(json.loads(text), context)
        written = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        return json.loads(written)

    def ask(self, operation: str, given: Any = None, *, user: str = "ann", agent: str | None = None) -> Any:
        """Return the answer to an operation. `agent` is the caller's client, if any."""
        caller = {"userId": user, "clientId": agent}
        return self.send({"operation": operation, "caller": caller, "input": given})
