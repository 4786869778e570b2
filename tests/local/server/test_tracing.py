"""What OpenTelemetry sees of a server, by its own `opentelemetry-instrument`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.local.server.test_server import ROOT, STOPS_WITHIN_SECONDS

INSTRUMENT = Path(sys.executable).with_name("opentelemetry-instrument")
CALLER = "0af7651916cd43dd8448eb211c80319c"
SECRET = "s3cr3t"
ANN = {"Authorization": f"Bearer {SECRET}"}


def spans_in(printed: str) -> Iterator[dict[str, Any]]:
    """Yield the spans that the exporter to the console has printed, among other lines."""
    lines = printed.splitlines()
    for first in (at for at, line in enumerate(lines) if line == "{"):
        yield json.loads("\n".join(lines[first : lines.index("}", first) + 1]))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_each_request_is_a_span_below_its_callers_and_says_nothing_of_it(
    tmp_path: Path, workers: str
) -> None:
    """Nothing is sent before the end, so the end sends all."""
    environ = {
        "PATH": f"{INSTRUMENT.parent}:/usr/bin:/bin",
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "600000",
    }
    options = ("--port", "0", "--data", str(tmp_path / "data"), "--workers", workers)
    command = [str(INSTRUMENT), sys.executable, "-m", "forklore_local.server", *options]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            banner = ""
            while "Ctrl+C" not in banner:
                line = process.stdout.readline()
                assert line, banner
                banner += line
            url = banner.partition("listens on ")[2].split()[0]
            above = {"traceparent": f"00-{CALLER}-b7ad6b7169203331-01"}
            made = httpx.post(f"{url}/v1/conversations", headers=ANN | above, json={"title": SECRET}).json()
            for _ in range(int(workers)):  # a connection each, so one for each worker
                httpx.get(f"{url}/v1/conversations/{made['id']}", headers=ANN)
            httpx.get(f"{url}/{SECRET}")
        finally:
            process.terminate()
            printed, _ = process.communicate(timeout=STOPS_WITHIN_SECONDS)

    spans = list(spans_in(printed))
    named = [(span["name"], span["attributes"]["http.response.status_code"]) for span in spans]
    read = ("GET /v1/conversations/{conversationId}", 200)
    of_default = ("GET $default", 404)
    assert sorted(named) == sorted([("POST /v1/conversations", 201), *[read] * int(workers), of_default])
    [of_caller] = [span for span in spans if span["context"]["trace_id"] == f"0x{CALLER}"]
    assert (of_caller["parent_id"], of_caller["kind"]) == ("0xb7ad6b7169203331", "SpanKind.SERVER")
    assert of_caller["attributes"]["http.route"] == "/v1/conversations"
    assert SECRET not in str(spans)
    assert made["id"] not in str(spans)


def test_without_opentelemetry_nothing_of_it_is_loaded() -> None:
    """The application is the one that it was."""
    code = (
        "import sys; from forklore_local.server import tracing\n"
        "async def app(*_): ...\n"
        "assert tracing.with_spans(app) is app; tracing.send_spans()\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
