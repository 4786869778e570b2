"""Which route of the HTTP API a request takes. Pure.

Source: API Gateway developer guide, "Create routes for HTTP APIs in API Gateway".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from local_server.template import ANY, Function, Route


@dataclass(frozen=True)
class Match:
    """The function and route that a request takes; `path_parameters` are percent-decoded, once."""

    function: Function
    route: Route
    path_parameters: dict[str, str]


def find_route(functions: Iterable[Function], *, method: str, raw_path: str) -> Match | None:
    """Return the most specific match, or None if nothing fits and there is no `$default` route.

    raw_path: as sent, still percent-encoded: an encoded slash does not divide segments.

    A full match wins over a greedy one, a literal segment over a parameter, a method over ANY, and
    anything over `$default`. HEAD and OPTIONS are methods like any other. A final slash is a segment.
    """
    matches = [
        Match(function, route, parameters)
        for function in functions
        for route in function.routes
        if route.method in (method, ANY)
        and (parameters := _path_parameters(route.path, raw_path)) is not None
    ]
    return min(matches, key=lambda match: _specificity(match.route), default=None)


def _specificity(route: Route) -> tuple[int, list[bool], bool]:
    if not route.path:
        return 2, [], True
    parameters = [segment.startswith("{") for segment in route.path.split("/")]
    return int(route.path.endswith("+}")), parameters, route.method == ANY


def _path_parameters(path: str, raw_path: str) -> dict[str, str] | None:
    """Return the values of the parameters in `path`, None if `raw_path` does not fit; `$default` fits all."""
    if not path:
        return {}
    wanted, given = path.split("/"), raw_path.split("/")
    parameters = {}
    if wanted[-1].endswith("+}"):
        given[len(wanted) - 1 :] = ["/".join(given[len(wanted) - 1 :])]
    if len(wanted) != len(given):
        return None
    for segment, value in zip(wanted, given, strict=True):
        if segment.startswith("{") and value:
            parameters[segment.strip("{+}")] = unquote(value)
        elif segment != value:
            return None
    return parameters
