"""The functions, their routes, and which of them a request takes. Pure.

Sources: API Gateway developer guide, "Create routes for HTTP APIs in API Gateway"; for encoded
characters in paths, published captures of live HTTP APIs (github.com/hotsock/voker, pull request
8).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
ANY = "ANY"


@dataclass(frozen=True)
class Route:
    """One route of the HTTP API: a method and a path.

    The method is upper case, or `ANY`. The path may hold `{name}` and `{name+}`. The `$default`
    route has an empty path.
    """

    method: str
    path: str

    @property
    def key(self) -> str:
        """The route key as events show it: `GET /v1/health` or `$default`."""
        return f"{self.method} {self.path}" if self.path else "$default"


DEFAULT_ROUTE = Route(ANY, "")


@dataclass(frozen=True)
class Function:
    """One Lambda function: its name, where its handler is imported from, its limits, its routes."""

    name: str
    module: str
    attribute: str
    timeout_seconds: int
    memory_mb: int
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Match:
    """The function and the route of a request. path, path_parameters: as the function gets them."""

    function: Function
    route: Route
    path: str
    path_parameters: dict[str, str]


class BadPathError(ValueError):
    """API Gateway refuses this path before it looks for a route.

    The error's text does not quote the path.
    """


def decoded(raw_path: str) -> str:
    """Return a path as API Gateway reads it: `%2F` and `%252F` are `/`, and `%3F` ends the path.

    Raises BadPathError if two hexadecimal digits do not follow a per cent sign, or an encoded one.
    """
    if "%" not in raw_path:
        return raw_path.partition("?")[0]
    without_query = unquote(_checked(raw_path)).partition("?")[0]
    return unquote(_checked(without_query))


def _checked(path: str) -> str:
    if _BAD_ESCAPE.search(path):
        raise BadPathError("a per cent sign without two hexadecimal digits")
    return path


class Routes:
    """The routes of some functions, the most specific first.

    A full match wins over a greedy one, a literal segment over a parameter, a method over ANY, and
    every route over `$default`. HEAD and OPTIONS are methods like any other. A final slash is a
    segment.
    """

    def __init__(self, functions: Iterable[Function]) -> None:
        pairs = [(function, route) for function in functions for route in function.routes]
        pairs.sort(key=lambda pair: _specificity(pair[1]))
        known = {route.method for _, route in pairs}
        self._of = {
            method: [(*pair, pair[1].path.split("/")) for pair in pairs if pair[1].method in (method, ANY)]
            for method in {*known, ANY}
        }

    def find(self, *, method: str, raw_path: str) -> Match | None:
        """Return the most specific match, or None if nothing fits and there is no `$default` route.

        raw_path: as sent, still percent-encoded. Raises BadPathError as `decoded` does.
        """
        path = decoded(raw_path)
        given = path.split("/")
        for function, route, wanted in self._of.get(method, self._of[ANY]):
            if (parameters := _path_parameters(wanted, given)) is not None:
                return Match(function, route, path, parameters)
        return None


def _specificity(route: Route) -> tuple[int, list[bool], bool]:
    if not route.path:
        return 2, [], True
    parameters = [segment.startswith("{") for segment in route.path.split("/")]
    return int(route.path.endswith("+}")), parameters, route.method == ANY


def _path_parameters(wanted: Sequence[str], given: Sequence[str]) -> dict[str, str] | None:
    """Return the values of the parameters in a route's segments, or None if it does not match.

    given: the segments of the path. `$default`, which has one empty segment, matches every path.
    """
    if wanted == [""]:
        return {}
    parameters = {}
    if wanted[-1].endswith("+}"):
        given = [*given[: len(wanted) - 1], "/".join(given[len(wanted) - 1 :])]
    if len(wanted) != len(given):
        return None
    for segment, value in zip(wanted, given, strict=True):
        if segment.startswith("{") and value:
            parameters[segment.strip("{+}")] = value
        elif segment != value:
            return None
    return parameters
