"""Events of the HTTP API, payload format 2.0: checks an event, and reads its query and body."""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from forklore_service.api.requests import KEPT_AS_TEXT
from forklore_service.domain.jsontext import read_object
from forklore_service.errors import PayloadTooLargeError, UnsupportedMediaTypeError, ValidationError
from forklore_service.limits import BODY_CHARACTERS_MAX

JSON_BLANKS = " \t\r\n"
PARAMETERS_MAX = 100
_TEXTS, _MAPPINGS = ("rawPath", "rawQueryString", "body"), ("headers", "pathParameters")


class HttpEvent(NamedTuple):
    """A request as API Gateway sends it to a function.

    route_key: the matched route, as `GET /v1/health`, or `$default`. path, path_parameters: decoded
    by API Gateway. headers: names in lower case. authorizer: what the authorizer returned.
    """

    route_key: str
    method: str
    path: str
    path_parameters: Mapping[str, str]
    query_string: str
    headers: Mapping[str, str]
    body: str
    is_base64: bool
    authorizer: Mapping[str, Any]

    @property
    def has_body(self) -> bool:
        """Whether there is a body. Blanks are not one and need no media type."""
        return bool(self.body.strip(JSON_BLANKS))


def not_an_http_event() -> ValidationError:
    """Return the error for an event of anything else."""
    return ValidationError("this is no event of the HTTP API")


def read_event(event: object, api_id: str) -> HttpEvent:
    """Return an event of the HTTP API `api_id`, with each part checked.

    Raises ValidationError for anything else, such as a forged or misdirected invocation. Such an
    event must not run with default values.
    """
    if not isinstance(event, Mapping) or event.get("version") != "2.0":
        raise not_an_http_event()
    context = event.get("requestContext")
    if not isinstance(context, Mapping) or context.get("apiId") != api_id:
        raise not_an_http_event()
    http, authorizer = context.get("http"), context.get("authorizer")
    if not isinstance(http, Mapping) or not isinstance(authorizer, Mapping | None):
        raise not_an_http_event()
    identity = None if authorizer is None else authorizer.get("lambda")
    required = (event.get("routeKey"), context.get("stage"), http.get("method"), http.get("path"))
    if not (
        all(isinstance(text, str) for text in required)
        and all(isinstance(event.get(name), str | None) for name in _TEXTS)
        and all(_is_mapping_of_texts(event.get(name)) for name in _MAPPINGS)
        and isinstance(identity, Mapping | None)
    ):
        raise not_an_http_event()
    return HttpEvent(
        route_key=event["routeKey"],
        method=http["method"],
        path=http["path"],
        path_parameters=event.get("pathParameters") or {},
        query_string=event.get("rawQueryString") or "",
        headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
        body=event.get("body") or "",
        is_base64=bool(event.get("isBase64Encoded")),
        authorizer=identity or {},
    )


def _is_mapping_of_texts(value: object) -> bool:
    return value is None or (
        isinstance(value, Mapping) and all(isinstance(held, str) for held in value.values())
    )


def read_query(query_string: str) -> dict[str, str]:
    """Return the query parameters.

    Raises ValidationError for a repeated parameter and for text that is not UTF-8.
    """
    try:
        pairs = parse_qsl(
            query_string, keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX
        )
    except ValueError as error:
        raise ValidationError("the query string cannot be read") from error
    query = dict(pairs)
    if len(query) != len(pairs):
        raise ValidationError("a query parameter is repeated")
    return query


def read_body(event: HttpEvent) -> dict[str, Any]:
    """Return the fields of the JSON object in the body. An absent body is an empty object.

    Raises PayloadTooLargeError, UnsupportedMediaTypeError for another content type, and
    ValidationError for anything but a JSON object.
    """
    body = event.body
    if len(body) > BODY_CHARACTERS_MAX:
        raise PayloadTooLargeError(f"a body is at most {BODY_CHARACTERS_MAX} characters")
    media_type = event.headers.get("content-type") or "application/json"
    if media_type.partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaTypeError("the body must be application/json")
    if event.is_base64:
        try:
            body = base64.b64decode(body, validate=True).decode()
        except ValueError as error:
            raise ValidationError("the body is not UTF-8") from error
    return read_object(body, kept=KEPT_AS_TEXT) if body.strip(JSON_BLANKS) else {}
