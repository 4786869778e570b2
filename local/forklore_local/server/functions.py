"""Forklore's functions, as the local server runs them. A test compares them with template.yaml."""

from collections.abc import Iterable, Mapping

from forklore_local.server.routing import DEFAULT_ROUTE, Function, Route
from forklore_service.aws import handlers
from forklore_service.aws.http import HttpApi

HTTP = {
    "conversations": "ConversationsFunction",
    "entries": "EntriesFunction",
    "sharing": "SharingFunction",
    "admin": "AdminFunction",
}
"""The HTTP functions: the name in `forklore_service.aws.handlers`, and the one in template.yaml."""
SERVES_OTHER_PATHS = "conversations"
"""The HTTP function that answers requests of no route."""
MEMORY_MB = 1024
HTTP_TIMEOUT_SECONDS = 29


def http_functions() -> tuple[Function, ...]:
    """Return the functions that requests call. The worker does what is left to do."""
    return tuple(_http_function(name) for name in HTTP)


def http_apis(functions: Iterable[Function]) -> Mapping[str, HttpApi]:
    """Return what forklore's own among the functions serve, by their names."""
    own = (function for function in functions if function.module == handlers.__name__)
    return {function.name: handlers.http_api(function.attribute) for function in own}


def operation_names() -> Mapping[str, str]:
    """Return the name of each operation by the key of its route."""
    operations = (operation for name in HTTP for operation in handlers.operations_of(name))
    return {Route(one.method, one.path).key: one.name for one in operations}


def _http_function(name: str) -> Function:
    routes = tuple(Route(operation.method, operation.path) for operation in handlers.operations_of(name))
    return Function(
        name=HTTP[name],
        module=handlers.__name__,
        attribute=name,
        timeout_seconds=HTTP_TIMEOUT_SECONDS,
        memory_mb=MEMORY_MB,
        routes=(*routes, DEFAULT_ROUTE) if name == SERVES_OTHER_PATHS else routes,
    )
