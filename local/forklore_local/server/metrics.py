"""What `/metrics` shows, in the form of Prometheus.

Each process of a server counts in files of its own, in a folder of all of them. Who is asked adds
them up. This is imported for --metrics only: prometheus_client takes 5 MB.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore_local.in_process.measures import Measures
from forklore_local.server.asgi import App, Receive, Response, Scope, Send, send_response
from forklore_service.errors import ForkloreError

PATH = "/metrics"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client counts in files if this is set when it is imported."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds in seconds. The last is how long a function may take."""
OTHERS = "none"
"""The operation of a request that none is for."""


class Metrics:
    """The numbers of a server. It is made before the server has several processes.

    names: the operations by the keys of their routes.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """Raises ValueError, with a text for people, if prometheus_client is not installed."""
        self._folder = Path(tempfile.mkdtemp(prefix="forklore-metrics-"))
        os.environ[FOLDER] = str(self._folder)
        try:
            import prometheus_client
            from prometheus_client import core, exposition, multiprocess
        except ImportError:
            self.close()
            raise ValueError("for --metrics: pip install 'forklore[metrics]'") from None
        self._client: Any = prometheus_client
        self._files: Any = multiprocess
        self._family, self._type = core.GaugeMetricFamily, exposition.CONTENT_TYPE_PLAIN_0_0_4
        self._names = names
        self._labelled: dict[tuple[str, int], Any] = {}
        self._timed: dict[str, Any] = {}
        registry = prometheus_client.CollectorRegistry()
        gauge, counter = prometheus_client.Gauge, prometheus_client.Counter
        self._requests = counter(
            "forklore_requests_total",
            "Answers, by operation and status",
            ("operation", "status"),
            registry=registry,
        )
        self._seconds = prometheus_client.Histogram(
            "forklore_request_seconds",
            "Time of an answer, by operation, without those that wait for news",
            ("operation",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._open = gauge(
            "forklore_requests_open",
            "Requests that are not answered yet, with those that wait for news",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._workers = gauge(
            "forklore_workers_alive", "Processes that serve", multiprocess_mode="livesum", registry=registry
        )
        self._jobs, self._oldest, self._failed = (
            gauge(name, told, multiprocess_mode="mostrecent", registry=registry)
            for name, told in (
                ("forklore_jobs_open", "Work in the background that the last sweep found"),
                ("forklore_jobs_oldest_seconds", "Age of the oldest of it at the last sweep"),
                ("forklore_jobs_failed", "How much of it the last sweep could not handle"),
            )
        )
        self._swept = gauge(
            "forklore_sweep_finished_timestamp_seconds",
            "When the last sweep finished, in seconds since 1970",
            multiprocess_mode="max",
            registry=registry,
        )

    def serves(self) -> None:
        """Count this process as one that serves."""
        self._workers.set(1)

    def ended(self, process: int) -> None:
        """Do not count what a process has open that has ended."""
        self._files.mark_process_dead(process, str(self._folder))

    def begun(self) -> None:
        self._open.inc()

    def answered(self, route: str, status: int, seconds: float | None) -> None:
        """Count an answer, as `with_lines` tells of it."""
        self._open.dec()
        operation = self._names.get(route) or (route if route.startswith("/") else OTHERS)
        key = operation, status
        if key not in self._labelled:
            self._labelled[key] = self._requests.labels(operation, str(status))
            self._timed[operation] = self._seconds.labels(operation)
        self._labelled[key].inc()
        if seconds is not None:
            self._timed[operation].observe(seconds)

    def swept(self, jobs: int, oldest_s: float, failed: int) -> None:
        """Note what a sweep has found, as Worker tells it."""
        self._jobs.set(jobs)
        self._oldest.set(oldest_s)
        self._failed.set(failed)
        self._swept.set(time.time())

    def text(self, measured: Callable[[], Measures | None]) -> bytes:
        """Return what all processes have counted, and what is measured now, if it can be."""
        registry = self._client.CollectorRegistry()
        self._files.MultiProcessCollector(registry, str(self._folder))
        with suppress(ForkloreError, OSError):
            registry.register(_Measured(measured(), self._family))
        return bytes(self._client.generate_latest(registry))

    def app(self, measured: Callable[[], Measures | None]) -> App:
        """Return what answers PATH, and nothing else. measured: None where no folder is open."""

        async def serve(scope: Scope, _: Receive, send: Send) -> None:
            if scope["path"] == PATH and scope["method"] in ("GET", "HEAD"):
                headers = [("content-type", self._type)]
                await send_response(
                    send, Response(200, headers, await asyncio.to_thread(self.text, measured))
                )
            else:
                await send_response(send, Response(404, [("content-type", "text/plain")], b"see /metrics\n"))

        return serve

    def close(self) -> None:
        """Forget the numbers, when no process serves any more."""
        shutil.rmtree(self._folder, ignore_errors=True)


class _Measured:
    """What is not counted but looked at when somebody asks."""

    def __init__(self, measures: Measures | None, family: Callable[..., Any]) -> None:
        self._measures, self._family = measures, family

    def collect(self) -> Iterator[Any]:
        """Yield them, as a collector does."""
        if self._measures is None:
            return
        named = (
            ("forklore_database_bytes", "Size of the database", self._measures.database),
            ("forklore_log_bytes", "Size of the log of its last writes", self._measures.log),
            ("forklore_disk_left_bytes", "What is left of its disk", self._measures.disk_left),
            ("forklore_answers_open", "Answers that are being written", self._measures.answers),
            ("forklore_events_waiting", "Events that no receiver has yet", self._measures.messages),
            ("forklore_events_oldest_seconds", "Age of the oldest of them", self._measures.oldest_s),
        )
        for name, told, value in named:
            if value is not None:
                yield self._family(name, told, value=value)
