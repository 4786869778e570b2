"""Forklore's functions, as the local server runs them. A test compares them with template.yaml."""

from forklore.aws import handlers
from forklore.local.deployment import DEFAULT_ROUTE, Deployment, Function, Polled, Queue, Route

HTTP = {
    "conversations": "ConversationsFunction",
    "entries": "EntriesFunction",
    "sharing": "SharingFunction",
    "admin": "AdminFunction",
}
"""The HTTP functions: the name in `forklore.aws.handlers`, and the name in template.yaml."""
SERVES_OTHER_PATHS = "conversations"
"""The HTTP function that answers requests of no route."""
MEMORY_MB = 1024
HTTP_TIMEOUT_SECONDS, DELETE_GROUP_TIMEOUT_SECONDS, SWEEP_TIMEOUT_SECONDS = 29, 300, 60
SWEEP_EVERY_SECONDS = 300
DEAD_JOBS = Queue("DeadJobsQueue")
JOBS = Queue("JobsQueue", visible_after_seconds=1800, receives_max=5, dead_letters=DEAD_JOBS.name)
QUEUE_VARIABLE = "FORKLORE_QUEUE"


def deployment() -> Deployment:
    """Return the functions, the table and the queues.

    Requests, the queue and the schedule call the functions.
    """
    return Deployment(
        functions=(*(_http_function(name) for name in HTTP), _delete_group(), _sweep()),
        queues=(JOBS, DEAD_JOBS),
        environment={QUEUE_VARIABLE: JOBS.name},
    )


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


def _delete_group() -> Function:
    return Function(
        name="DeleteGroupFunction",
        module=handlers.__name__,
        attribute="delete_group",
        timeout_seconds=DELETE_GROUP_TIMEOUT_SECONDS,
        memory_mb=MEMORY_MB,
        routes=(),
        polls=(Polled(JOBS.name, batch_size=1),),
    )


def _sweep() -> Function:
    return Function(
        name="SweepFunction",
        module=handlers.__name__,
        attribute="sweep",
        timeout_seconds=SWEEP_TIMEOUT_SECONDS,
        memory_mb=MEMORY_MB,
        routes=(),
        every_seconds=(SWEEP_EVERY_SECONDS,),
    )
