"""Requests to a service in this process."""

import json
from collections.abc import Mapping
from typing import Any

from forklore_local.in_process.service import EmbeddedService
from forklore_service.api.inputs import operation_named
from forklore_service.api.responses import Response
from forklore_service.domain.model import Caller


def call(service: EmbeddedService, operation: str, given: Mapping[str, Any], caller: Caller) -> Response:
    """Return the response of an operation. given: path, query, headers and body, side by side."""
    asked, rest = operation_named(operation), dict(given)
    path = {name: rest.pop(name, "") for name in asked.path_names}
    headers = {"idempotency_key": rest.pop("idempotencyKey", None), "if_match": rest.pop("ifMatch", None)}
    in_query = [name for name in rest if asked.body is None or name in asked.query_names]
    query = {name: str(rest.pop(name)) for name in in_query}
    body = None if asked.body is None else json.dumps(rest)
    return service.call(operation, caller, path=path, query=query, body=body, **headers)
