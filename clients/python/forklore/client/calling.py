"""What the table of operations stands on: a call goes through the core, and becomes a result.

Here stand the two drivers of the core: one for threads, one for asyncio and trio.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, get_args, overload

from forklore.client.calls import MORE, Call, RawAnswer, Shape, TransportError
from forklore.client.decoding import result_of
from forklore.client.generated.arguments import LENGTHS_MAX
from forklore.client.result_base import wire_name
from forklore.client.retrying import Options, Outcome, Send, attempts
from forklore.client.transports import AsyncTransport, Transport

P = ParamSpec("P")
R = TypeVar("R")
OUTSIDE = {"idempotency_key", "if_match"}
"""The arguments that are sent beside path, query and body."""


class Calling:
    """Sends calls over one transport."""

    def __init__(self, transport: Transport, options: Options) -> None:
        self._transport = transport
        self.options = options

    def send(self, call: Call) -> RawAnswer:
        """Return the answer as it came, after all retries, also that of an error.

        Raises InputError, and NoAnswerError without any answer.
        """
        steps = attempts(call, self.options)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                answer: RawAnswer = done.value
                return answer
            outcome = None
            if isinstance(step, Send):
                try:
                    outcome = self._transport.send(step.call, step.timeout_s)
                except TransportError as error:
                    outcome = error
                except Exception as error:  # noqa: BLE001 (the core raises it again)
                    steps.throw(error)
            else:
                self.pause(step.seconds)

    def within(self, seconds: float) -> Self:
        """Return the same for calls that take at most so long."""
        return type(self)(self._transport, self.options.within(seconds))

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def run_blocking(self, function: Callable[[], R]) -> R:
        """Call what waits for a disk or a connection."""
        return function()

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return self._transport.located(url)


class AsyncCalling:
    """Sends calls over one transport, for asyncio and trio."""

    def __init__(self, transport: AsyncTransport, options: Options) -> None:
        self._transport = transport
        self.options = options

    async def send(self, call: Call) -> RawAnswer:
        """Return the answer as it came, after all retries, also that of an error.

        Raises InputError, and NoAnswerError without any answer.
        """
        steps = attempts(call, self.options)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                answer: RawAnswer = done.value
                return answer
            outcome = None
            if isinstance(step, Send):
                try:
                    outcome = await self._transport.send(step.call, step.timeout_s)
                except TransportError as error:
                    outcome = error
                except Exception as error:  # noqa: BLE001 (the core raises it again)
                    steps.throw(error)
            else:
                await self.pause(step.seconds)

    def within(self, seconds: float) -> Self:
        """Return the same for calls that take at most so long."""
        return type(self)(self._transport, self.options.within(seconds))

    async def pause(self, seconds: float) -> None:
        """Wait."""
        import anyio

        await anyio.sleep(seconds)

    async def run_blocking(self, function: Callable[[], R]) -> R:
        """Call what waits for a disk or a connection, in a thread."""
        import anyio.to_thread

        return await anyio.to_thread.run_sync(function)

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return self._transport.located(url)


class Nothing(TypedDict):
    """What an operation takes that has only arguments of its path."""


class Method(Generic[P, R]):
    """An operation: a method of both clients, which is awaited in the one for asyncio and trio.

    declared: a function that says what the method takes and does nothing. made: makes the result.
    nulls: the arguments whose None is sent as null. Any other that is None is left out.
    """

    def __init__(
        self,
        declared: Callable[Concatenate[Any, P], R],
        shape: Shape,
        made: Callable[[Any], R],
        nulls: tuple[str, ...],
    ) -> None:
        fields = _fields(declared)
        in_path = (name for name in declared.__annotations__ if name not in ("given", "return"))
        self.shape = shape
        self._declared: Callable[..., R] = declared
        self._needed: frozenset[str] = fields.__required_keys__
        self._taken = {name: wire_name(name) for name in (*in_path, *fields.__annotations__)}
        self._nulls = nulls

        @wraps(declared)
        def method(api: Calling, /, *path: Any, **given: Any) -> R:
            return result_of(api.send(self._call(path, given)), made)

        @wraps(declared)
        async def async_method(api: AsyncCalling, /, *path: Any, **given: Any) -> R:
            return result_of(await api.send(self._call(path, given)), made)

        self._method, self._async_method = method, async_method
        for function in (method, async_method):
            function.__dict__["__signature__"] = self._signature(fields)

    @overload
    def __get__(self, api: Calling, kind: type | None = None) -> Callable[P, R]: ...

    @overload
    def __get__(self, api: AsyncCalling, kind: type | None = None) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def __get__(self, api: Any, kind: Any = None) -> Any:
        function: Any = self._async_method if issubclass(kind, AsyncCalling) else self._method
        return function.__get__(api, kind)

    def _signature(self, fields: Any) -> Signature:
        """Return what `help` and completion show: each argument. fields: a TypedDict."""
        types = {**self._declared.__annotations__, **fields.__annotations__}
        shown = [Parameter("self", Parameter.POSITIONAL_ONLY)]
        for name in self._taken:
            kind = (
                Parameter.KEYWORD_ONLY if name in fields.__annotations__ else Parameter.POSITIONAL_OR_KEYWORD
            )
            is_needed = name not in fields.__annotations__ or name in self._needed
            default = Parameter.empty if is_needed else None
            shown.append(Parameter(name, kind, default=default, annotation=types[name]))
        return Signature(shown, return_annotation=types["return"])

    def _call(self, path: tuple[Any, ...], given: dict[str, Any]) -> Call:
        """Return the call. Raises TypeError for arguments that the method does not take."""
        self._declared(None, *path, **given)  # Python refuses what is wrong with those of the path
        named = {**dict(zip(self._taken, path, strict=False)), **given}
        for name in sorted(named.keys() - self._taken.keys()):
            raise TypeError(
                f"{self._declared.__name__}() got an unexpected keyword argument {name!r}; "
                f"it takes {', '.join(sorted(self._taken))}"
            )
        for name in sorted(self._needed - named.keys()):
            raise TypeError(f"{self._declared.__name__}() is called without the argument {name!r}")
        outside = {name: named.pop(name) for name in OUTSIDE & named.keys()}
        if isinstance(usage := named.get("usage"), Mapping):
            named["usage"] = {
                wire_name(name) if isinstance(name, str) else name: held for name, held in usage.items()
            }
        said = {
            self._taken[name]: value
            for name, value in named.items()
            if value is not None or name in self._nulls
        }
        return Call.of(self.shape, said, **outside)


def operation(
    method: str,
    path: str,
    made: Callable[[Any], R],
    *,
    query: tuple[str, ...] = (),
    has_body: bool = True,
    only_reads: bool = False,
    unlimited: tuple[str, ...] = (),
    nulls: tuple[str, ...] = (),
) -> Callable[[Callable[Concatenate[Any, P], R]], Method[P, R]]:
    """Return what makes the method of an operation from a function that says what it takes.

    Names in the path's braces are arguments of the function. All others are members of its `given`.
    query: those that are not in the body. has_body, only_reads: of a POST. unlimited: those without
    the limit that others of the name have. made, nulls: as in Method.
    """

    def decorated(declared: Callable[Concatenate[Any, P], R]) -> Method[P, R]:
        taken = {*_fields(declared).__annotations__}
        inside = {wire_name(name) for name in taken - OUTSIDE}
        is_sent = has_body and method in ("POST", "PATCH")
        shape = Shape(
            name=wire_name(declared.__name__),
            method=method,
            path=path,
            query=frozenset(query if is_sent else inside),
            has_body=is_sent,
            takes_key="idempotency_key" in taken,
            takes_if_match="if_match" in taken,
            is_read=method == "GET" or only_reads,
            lengths_max={
                name: most
                for name, most in LENGTHS_MAX.items()
                if name.partition(MORE)[0] in inside.difference(unlimited)
            },
        )
        return Method(declared, shape, made, nulls)

    return decorated


def _fields(declared: Callable[..., Any]) -> Any:
    """Return the TypedDict of a function's `given`."""
    return next(iter(get_args(declared.__annotations__.get("given"))), Nothing)
