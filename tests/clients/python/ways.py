"""The ways to call an operation with the client: three transports, with and without `await`."""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from pydantic.alias_generators import to_snake

from forklore import ApiError, AsyncForklore, Forklore
from forklore.client.decoding import result_of
from forklore.client.errors import InputError
from forklore.client.result_base import Value, wire_name
from tests.clients.python.here import InvokesHere, served
from tools.catalogue import Step
from tools.harness.gateway import AGENTS, table_in_memory

TRANSPORTS, MODES = ("http", "lambda", "process"), ("sync", "asyncio", "trio")
EACH_MODE = ["sync", "asyncio", pytest.param("trio", marks=pytest.mark.long)]
"""The modes, of which asyncio and trio use the same code."""
QUICK = {("http", "sync"), ("lambda", "trio"), ("process", "asyncio")}
"""Each transport and each mode once. `make test-reliability` takes the others without trio."""
WAYS = [
    pytest.param(
        transport,
        mode,
        id=f"{transport}-{mode}",
        marks=() if (transport, mode) in QUICK else pytest.mark.long,
    )
    for transport, mode in itertools.product(TRANSPORTS, MODES)
    if mode != "trio" or (transport, mode) in QUICK
]
Client = Forklore | AsyncForklore
Who = tuple[str, str | None, tuple[str, ...]]
"""A user, the client of an agent, and roles."""


@dataclass(frozen=True)
class Refused:
    """A call that the client does not send. field: the wrong argument."""

    field: str | None


class Way:
    """Clients of one service, for any caller. They use one transport, in one mode.

    of: makes the client of a caller. portal: runs what is awaited; None: nothing is.
    """

    def __init__(self, of: Callable[[Who], Client], portal: BlockingPortal | None) -> None:
        self._of = of
        self._portal = portal
        self._clients: dict[Who, Client] = {}

    def client(self, user: str = "ann", agent: str | None = None, roles: tuple[str, ...] = ()) -> Any:
        """Return the client of a caller, always the same one."""
        who = (user, agent, roles)
        if who not in self._clients:
            self._clients[who] = self.run(self._of, who)
        return self._clients[who]

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function, which is awaited if need be."""

        async def awaited() -> Any:
            made = function(*arguments)
            return await made if inspect.isawaitable(made) else made

        return function(*arguments) if self._portal is None else self._portal.call(awaited)

    def ask(self, step: Step) -> tuple[int, Any]:
        """Return the status and the body that a step of the story has, made from the result.

        A step that the client itself refuses has the status 0.
        """
        client = self.client(step.user, step.agent, tuple(step.roles))
        try:
            return 200, plain(self._result(client, step))
        except InputError as error:
            return 0, Refused(error.field)
        except ApiError as error:
            details = {"message": error.message, **error.details}
            return error.status or 0, {"code": error.code, "details": details}

    def _result(self, client: Any, step: Step) -> Any:
        """Call the generated method; without the arguments for it, the operation by its name."""
        method = getattr(client.api, to_snake(step.operation))
        given = {"with_" if name == "with" else to_snake(name): held for name, held in step.given.items()}
        try:
            return self.run(lambda: method(**given))
        except TypeError:
            rest = dict(step.given)
            headers = {to_snake(n): rest.pop(n) for n in ("idempotencyKey", "ifMatch") if n in rest}
            answer = self.run(lambda: client.call(step.operation, rest, **headers))
            return result_of(answer, lambda value: value)

    def close(self) -> None:
        """Close every client."""
        for client in self._clients.values():
            self.run(client.aclose if isinstance(client, AsyncForklore) else client.close)


def plain(result: Any) -> Any:
    """Return a result in the form of the JSON that it was made from, without nulls."""
    match result:
        case Value():
            assert not result.extra, f"{type(result).__name__} does not know {list(result.extra)}"
            named = ((each.name, getattr(result, each.name)) for each in fields(result))
            return {wire_name(name): plain(held) for name, held in named if name != "extra"}
        case tuple():
            return [plain(held) for held in result]
    return result


def tidy(body: Any) -> Any:
    """Return a body without nulls and without what differs each time, its members in one order.

    How far an erasure is differs, too: a service may go on with it in the background.
    """
    match body:
        case Mapping():
            left_out: tuple[str, ...] = ("requestId", "error") if "code" in body else ()
            left_out += ("state", "passes", "finishedAt") if "pseudonym" in body else ()
            # Where the service has none of these, the client has an empty list.
            left_out += tuple(name for name in ("attachments", "around") if not body.get(name))
            held = {name: held for name, held in body.items() if held is not None and name not in left_out}
            return {name: tidy(held[name]) for name in sorted(held)}
        case list():
            return [tidy(held) for held in body]
    return body


@contextmanager
def opened(transport: str, mode: str, environment: pytest.MonkeyPatch) -> Iterator[Way]:
    """Yield a way to an empty service of its own."""
    with ExitStack() as stack:
        portal = None if mode == "sync" else stack.enter_context(start_blocking_portal(mode))
        kind: Any = Forklore if mode == "sync" else AsyncForklore
        way = Way(stack.enter_context(OPEN[transport](kind, environment)), portal)
        try:
            yield way
        finally:
            way.close()


@contextmanager
def over_http(kind: Any, environment: pytest.MonkeyPatch) -> Iterator[Callable[[Who], Client]]:
    with table_in_memory() as template, served(template) as url:

        def of(who: Who) -> Any:
            user, agent, _ = who
            return kind(url, token=user, client_key=AGENTS[agent] if agent else None)

        yield of


@contextmanager
def on_lambda(kind: Any, environment: pytest.MonkeyPatch) -> Iterator[Callable[[Who], Client]]:
    with table_in_memory() as template, environment.context() as inside:
        inside.setenv("FORKLORE_DIRECT_ROLES", "allowed")
        boto_client = InvokesHere(template)
        made = kind.on_lambda("AgentFunction", user="nobody", boto_client=boto_client)

        yield lambda who: made.acting_as(who[0], who[1], roles=who[2])


@contextmanager
def in_process(kind: Any, environment: pytest.MonkeyPatch) -> Iterator[Callable[[Who], Client]]:
    first: list[Any] = []

    def of(who: Who) -> Any:
        user, agent, roles = who
        if not first:
            first.append(kind.local(user=user, client=agent, roles=roles))
            return first[0]
        return first[0].acting_as(user, agent, roles=roles)

    yield of


OPEN: Mapping[str, Callable[[Any, pytest.MonkeyPatch], AbstractContextManager[Callable[[Who], Client]]]] = {
    "http": over_http,
    "lambda": on_lambda,
    "process": in_process,
}
