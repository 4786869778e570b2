"""The two headers that credentials come in, as an event shows them."""

from collections.abc import Mapping

from forklore.errors import UnauthorizedError

AUTHORIZATION, API_KEY = "authorization", "x-api-key"


def one_header(headers: Mapping[object, object], name: str) -> str | None:
    """Return the value of a header, None without it. name: in lower case.

    A header that was sent twice comes as one text with a comma (API Gateway, payload format 2.0); neither
    header of ours can hold one. Under other gateways names keep their case, so there may be two spellings of
    one. Raises UnauthorizedError for what came twice or is no text.

    >>> one_header({"Authorization": "Bearer x"}, "authorization")
    'Bearer x'
    """
    values = [held for key, held in headers.items() if isinstance(key, str) and key.lower() == name]
    if not values:
        return None
    [value, *more] = values
    if more or not isinstance(value, str) or "," in value:
        raise UnauthorizedError
    return value


def bearer_token(authorization: str | None) -> str:
    """Return the token of `Bearer <token>`. Raises UnauthorizedError for anything else.

    Source: RFC 6750, section 2.1; the scheme is in any case by RFC 9110, section 11.1.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise UnauthorizedError
    return token
