"""Responses in the form that API Gateway expects from a function, payload format 2.0."""

from collections.abc import Mapping
from typing import Any

from forklore_service.api.responses import Response
from forklore_service.errors import (
    MethodNotAllowedError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)

_JSON = {"Content-Type": "application/json"}


def http_response(
    response: Response, request_id: str, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the response with the headers of every response. headers: further ones."""
    return _payload(
        response,
        {
            "X-Request-Id": request_id,
            "Cache-Control": "no-store",
            **_headers_of(response),
            **(headers or {}),
            **(_JSON if response.text else {}),
        },
    ) | {"cookies": []}


def refused_event(response: Response, request_id: str) -> dict[str, Any]:
    """Return the response to an event that is not of the HTTP API."""
    return _payload(response, {**_JSON, "X-Request-Id": request_id})


def _payload(response: Response, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "statusCode": response.status,
        "body": response.text,
        "isBase64Encoded": False,
        "headers": dict(headers),
    }


def _headers_of(response: Response) -> dict[str, str]:
    """Return the headers that the error needs."""
    match response.error:
        case UnauthorizedError():
            return {"WWW-Authenticate": "Bearer"}
        case (UnavailableError() | TooManyRequestsError()) as error:
            return {"Retry-After": str(error.retry_after_s)}
        case MethodNotAllowedError() as error:
            return {"Allow": str(error.details["allow"])}
        case _:
            return {}
