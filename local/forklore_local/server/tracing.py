"""A span of OpenTelemetry for each request, where OpenTelemetry runs in the process that serves.

A span names a route, as the line of the log does, and never a path, a query, a header or a body.
"""

import sys

from forklore_local.server.answered import FAILED, LEFT, route_of
from forklore_local.server.asgi import App, Message, Receive, Scope, Send

SDK = "opentelemetry.sdk.trace"
"""`opentelemetry-instrument` loads it before forklore."""
SEND_MS = 2_000


def with_spans(app: App) -> App:
    """Return `app` with a span for each request, below its caller's.

    Without OpenTelemetry it is `app` itself.
    """
    if SDK not in sys.modules:
        return app
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("forklore")

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        status = LEFT

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        told = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        caller, kind = propagate.extract(told), trace.SpanKind.SERVER
        with tracer.start_as_current_span(
            scope["method"], caller, kind, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                await app(scope, receive, sending)
            except Exception:
                status = FAILED
                raise
            finally:
                route = route_of(scope)
                span.update_name(route if route.startswith(scope["method"]) else f"{scope['method']} {route}")
                span.set_attribute("http.request.method", scope["method"])
                span.set_attribute("http.route", route.rpartition(" ")[2])
                span.set_attribute("http.response.status_code", status)
                if status >= FAILED:
                    span.set_status(trace.StatusCode.ERROR)

    return serve


def send_spans() -> None:
    """Send what waits to be sent, before the process ends."""
    if SDK in sys.modules:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.trace import get_tracer_provider

        provider = get_tracer_provider()
        if isinstance(provider, TracerProvider):
            provider.force_flush(SEND_MS)
