"""Which requests of a browser a server of this machine answers. Pure.

The page of any site can send requests to an address of this machine. Two headers, which no page
can choose, say what they are for and where they come from:

* `Host` is the name by which the server is called. A site can point its own name at 127.0.0.1, and
  its page then calls the server as if it were the site's own (DNS rebinding). It still says the
  site's name.
* `Origin` is where the page comes from.

A program that is no browser chooses both. It can reach the server only from where it listens.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv6Address
from typing import NamedTuple

THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")
_AT_ANY_PORT = r"(\[[^\]]*\]|[^:]*)(:[0-9]{1,5})?"

Headers = Mapping[str, Sequence[str]]
"""The values of a request's headers, by their names in lower case."""


class Refusal(NamedTuple):
    """Why a request is not answered, as a sentence."""

    status: int
    message: str


class Callers:
    """Whom a server of this machine answers.

    named: the names and addresses by which it may be called besides those of this machine, and from
    whose pages. Raises ValueError for one that is no name or has a port.
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._names = {*THIS_MACHINE, *map(_as_in_host, named)}

    def refusal(self, headers: Headers) -> Refusal | None:
        """Return why a request is not answered, or None."""
        hosts, origins = headers.get("host", ()), headers.get("origin", ())
        if len(hosts) != 1 or not self._is_named(hosts[0].lower()):
            known = ", ".join(sorted(self._names))
            return Refusal(421, f"This server answers only if it is called {known}.")
        if origins and (len(origins) != 1 or not self.is_page(origins[0])):
            return Refusal(403, "Only pages of this machine may call this server.")
        return None

    def is_page(self, origin: str) -> bool:
        """Return whether an origin is one of this machine's or of a named host, at any port."""
        scheme, separator, host = origin.partition("://")
        return scheme in ("http", "https") and separator != "" and self._is_named(host)

    def _is_named(self, host: str) -> bool:
        found = re.fullmatch(_AT_ANY_PORT, host)
        return found is not None and found[1] in self._names


def _as_in_host(name: str) -> str:
    """Return a name or an address as browsers write it into `Host` and `Origin`."""
    if re.fullmatch(r"[A-Za-z0-9._-]+", name):
        return name.lower()
    try:
        return f"[{IPv6Address(name.strip('[]'))}]"
    except ValueError:
        raise ValueError(f"no name or address of a host: {name!r}") from None
