"""The audit log: a line for each change, and one for each request of administration, also refused.

Only these lines are about users. A line holds no content and no titles. Of what a caller wrote, it
holds ids, user ids and the justification, with escapes for characters that cannot be printed.
"""

import hashlib
import hmac
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore_service.api.operation import Operation
from forklore_service.aws.telemetry import log_changes, printable, writes_lines
from forklore_service.aws.wiring import Consumption, ServiceSettings
from forklore_service.domain import ids
from forklore_service.domain.model import Caller
from forklore_service.domain.users import is_user_id

JUSTIFICATION_CHARACTERS_MAX = 1000
HASH_DIGITS = 32
_log = logging.getLogger("forklore.audit")


@dataclass(slots=True)
class RequestRecord:
    """What is known of a request so far. The lines at the end of the request are made from it.

    caller: None if the credentials are missing or bad. usage: counts the DynamoDB calls.
    """

    operation: Operation
    caller: Caller | None = None
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    usage: Consumption = field(default_factory=Consumption)

    def log(self, status: int, request_id: str, settings: ServiceSettings) -> None:
        """Log what the request has changed, and every request of administration."""
        caller, trees = self.caller or Caller(""), self.usage.take_changed()
        if trees is not None and writes_lines():
            log_changes(
                self.operation.name,
                trees,
                user=named(caller.user_id, settings),
                clientId=_printable(caller.client_id),
                status=status,
                xRequestId=request_id,
            )
        if self.operation.role is None:
            return
        conversation_id = self.path.get("conversationId")
        user_id = self.query.get("userId", self.body.get("userId"))
        fields = {
            "time": ids.timestamp(time.time_ns() // 1_000_000),
            "xRequestId": request_id,
            "what": self.operation.name,
            "who": _printable(caller.user_id or None),
            "clientId": _printable(caller.client_id),
            "roles": sorted(map(printable, caller.roles)),
            "conversationId": conversation_id if _is_id(conversation_id) else None,
            "userId": _printable(user_id) if is_user_id(user_id) else None,
            "justification": _printable(_justification(self.query.get("justification"))),
            "status": status,
        }
        _log.warning("audit", extra=fields)  # logged at ApplicationLogLevel WARN, too


def named(user_id: str, settings: ServiceSettings) -> str:
    """Return what the line of a change says of a user: a hash with a key, or the id itself.

    The key is the name of the table, of which CloudFormation makes a part at random. So who reads
    only the log cannot try user ids, and who operates the deployment can.
    """
    if settings.logs_users:
        return printable(user_id)
    key, text = settings.table_name.encode(), user_id.encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()[:HASH_DIGITS]


def _is_id(value: object) -> bool:
    return isinstance(value, str) and ids.is_uuid(value)


def _justification(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= JUSTIFICATION_CHARACTERS_MAX else None


def _printable(text: str | None) -> str | None:
    return None if text is None else printable(text)
