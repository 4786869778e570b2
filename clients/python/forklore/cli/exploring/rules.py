"""Which requests of a browser are answered, and what of them goes to the stage. Pure.

`forklore_local.server.callers` says whom a server of this machine answers at all. A request for the
stage must come from the very page that is served here.
"""

import re
from collections.abc import Mapping
from email.message import Message
from urllib.parse import unquote

from forklore_local.server.callers import Headers, Refusal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SENT = (
    *("Authorization", "X-API-Key", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("X-Request-Id", "Accept", "Forklore-Cost"),
)
"""The headers that go to the stage. No other one does, such as a cookie."""
RETURNED = (
    *("Content-Type", "X-Request-Id", "Retry-After", "WWW-Authenticate", "Allow", "Cache-Control"),
    *("Forklore-Cost", "ETag", "Forklore-Ask-Again-Ms"),
)
"""The headers of an answer that come back."""
API = "/v1/"
_ORIGIN = re.compile(r"(https://[a-z0-9.-]+|http://(127\.0\.0\.1|localhost))(:[0-9]{1,5})?/?")


def origin_of(address: str) -> str | None:
    """Return the origin that an address is; None for an address that says more, or is not safe.

    >>> origin_of("https://files.s3.eu-central-1.amazonaws.com/")
    'https://files.s3.eu-central-1.amazonaws.com'
    """
    return address.rstrip("/") if _ORIGIN.fullmatch(address) else None


def refusal_of_call(method: str, target: str, headers: Headers) -> Refusal | None:
    """Return why a request does not go to the stage, or None. Its caller is one of this machine.

    target: path and query, as the request line has them.
    """
    own = f"http://{headers['host'][0].lower()}"
    origins, sites = headers.get("origin", (own,)), headers.get("sec-fetch-site", ("same-origin",))
    if tuple(origins) != (own,) or tuple(sites) != ("same-origin",):
        return Refusal(403, "Only the page of this server may call it.")
    if method not in METHODS:
        return Refusal(405, f"The method {method} is not one of {', '.join(METHODS)}.")
    if not re.fullmatch(r"[!-~]+", target) or "#" in target or "\\" in target:
        return Refusal(400, "The address holds a character that must be encoded.")
    path = target.partition("?")[0]
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        return Refusal(400, "The path holds a dot as a name.")
    for name in SENT:
        values = headers.get(name.lower(), ())
        if len(values) > 1 or any(re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value) for value in values):
            return Refusal(400, f"The header {name} is there twice, or holds a control character.")
    return None


def headers_to_send(headers: Headers) -> dict[str, bytes]:
    """Return the headers of a request that go to the stage, byte for byte as they came."""
    found = {name: headers.get(name.lower(), ()) for name in SENT}
    return {name: values[0].encode("latin-1") for name, values in found.items() if values}


def headers_to_return(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers of the stage's answer that go to the page.

    headers: of the answer; it finds names in any case. API Gateway's own request id takes the place
    of one that is missing.
    """
    found = {name: headers.get(name) for name in RETURNED}
    found["X-Request-Id"] = found["X-Request-Id"] or headers.get("Apigw-Requestid")
    return [
        (name, value)
        for name, value in found.items()
        if value is not None and value.isascii() and value.isprintable()
    ]


def are_headers(found: Message) -> bool:
    """Return whether Python has read all lines as headers, as those that other servers read.

    It takes `Content-Length : 2` as a header of another name, and what follows a line without a
    colon as a body.
    """
    is_whole = not found.defects and not found.get_payload()
    return is_whole and all(re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) for name in found)


def body_length(headers: Headers, *, bytes_max: int) -> int | Refusal:
    """Return how many bytes of body follow, or why they are not read."""
    if "transfer-encoding" in headers:
        return Refusal(411, "A body needs a Content-Length.")
    lengths = headers.get("content-length", ("0",))
    if len(lengths) != 1 or not re.fullmatch(r"[0-9]{1,15}", lengths[0]):
        return Refusal(400, "The Content-Length is no number.")
    length = int(lengths[0])
    if length > bytes_max:
        return Refusal(413, f"A body has at most {bytes_max:,} bytes.")
    return length
