"""The addresses of bytes, as the service names them: where to send and to read files."""

from urllib.parse import urlsplit

from forklore.client.errors import UnexpectedAnswerError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def located(url: str, base: str | None) -> str:
    """Return where bytes are. base: the address of the service, if it has one.

    Raises UnexpectedAnswerError for what no service far away may name, such as a file or a server
    of this machine, or an address that everybody on the way can read. The text does not show it.

    >>> located("/files/a?end=1", "http://127.0.0.1:8080")
    'http://127.0.0.1:8080/files/a?end=1'
    """
    if base is not None and url.startswith("/") and not url.startswith("//"):
        return f"{base}{url}"
    named = urlsplit(url)
    is_open = named.hostname in LOOPBACK if base is None else base.startswith("http:")
    is_safe = named.scheme == "https" or (named.scheme == "http" and is_open)
    if not (is_safe and named.hostname):
        raise UnexpectedAnswerError("the service names an address of bytes that is not safe to use")
    return url
