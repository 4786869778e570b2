"""The two headers that hold credentials, in an event of API Gateway."""

from collections.abc import Mapping

from forklore_service.errors import UnauthorizedError

AUTHORIZATION, API_KEY = "authorization", "x-api-key"


def one_header(headers: Mapping[object, object], name: str) -> str | None:
    """Return the value of a header, None without it. name: in lower case.

    API Gateway joins repeated headers with a comma (payload format 2.0), and neither header can
    hold a comma. Other gateways keep the case of names, so a name may come in two spellings.
    Raises UnauthorizedError for a repeated header and for a value that is not text.

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

    Source: RFC 6750, section 2.1. The scheme's case is ignored (RFC 9110, section 11.1).
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise UnauthorizedError
    return token
