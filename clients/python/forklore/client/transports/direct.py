"""A call as one flat input, as direct invocation and the service in this process take it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forklore.client import jsontext
from forklore.client.calls import Call

CONTENT, CONTENT_JSON = "content", "contentJson"
"""`contentJson` is the text of `content`: Lambda reads other numbers as floats."""


@dataclass(frozen=True, slots=True)
class Identity:
    """On whose behalf a call is made. client: the agent's client; None for a user without one."""

    user: str
    client: str | None = None
    roles: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return the `caller` of a direct invocation."""
        named = {"userId": self.user, "clientId": self.client, "roles": list(self.roles) or None}
        return {name: value for name, value in named.items() if value is not None}


def input_text(call: Call) -> str:
    """Return the `input` of a direct invocation as JSON text.

    Raises InputError if it is longer than the service reads, or cannot be written as JSON.
    """
    call.body_text()  # checks its length as HTTP does
    given = _with_text(call.given)
    entries, context = given.get("entries"), given.get("context")
    if isinstance(entries, list | tuple):
        given["entries"] = [_with_text(one) if isinstance(one, Mapping) else one for one in entries]
    if isinstance(context, Mapping):
        given["context"] = _with_text(context)
    headers = {"idempotencyKey": call.idempotency_key, "ifMatch": call.if_match}
    return jsontext.write(given | {name: value for name, value in headers.items() if value is not None})


def _with_text(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the content as text."""
    if CONTENT not in fields:
        return dict(fields)
    others = {name: value for name, value in fields.items() if name != CONTENT}
    return {**others, CONTENT_JSON: jsontext.write(fields[CONTENT])}
