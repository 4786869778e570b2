"""A deployment to an emulator of AWS: ministack, in a process of its own, and `sam deploy`.

ministack does not emulate throttling and CORS of an HTTP API, point-in-time recovery, and the
permissions of roles, nor keys of functions. It has no metric math in alarms, so these alarms get a
single metric here. It evaluates no rules of a template.
"""

import http.client
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import yaml

from tools.harness.ports import end_session, on_free_port, wait_until_it_listens

EMULATOR, SAM = "FORKLORE_EMULATOR", "FORKLORE_SAM"
"""The variables that name the environments of ministack and of AWS SAM."""
STACK = "forklore"
CALLERS = {"AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN", "MAKEFLAGS", "MFLAGS", "SAMCONFIG"}
"""Variables of who runs the tests. They are not passed on."""
READY_SECONDS_MAX = 30.0
REQUEST_SECONDS_MAX = 60.0
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True)
class Response:
    """The answer of an API. headers: the names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Emulator:
    """An emulated AWS at a port of this machine. folder: for files that a deployment writes."""

    port: int
    sam: Path
    folder: Path

    def client(self, service: str) -> Any:
        """Return a boto3 client of a service."""
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which AWS's tools reach the emulator."""
        address = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "SAM_CLI_TELEMETRY": "0"}
        kept = {name: value for name, value in os.environ.items() if name not in CALLERS}
        return kept | CREDENTIALS | address

    def deploy(self, build: Path, **parameters: str) -> subprocess.CompletedProcess[str]:
        """Run `sam deploy` on a build. Return its result and its output, also if it fails."""
        with emulated_template(build) as template:
            return subprocess.run(
                [
                    *(str(self.sam), "deploy", "--template-file", str(template), "--stack-name", STACK),
                    *("--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"),
                    *("--parameter-overrides", *(f"{name}='{value}'" for name, value in parameters.items())),
                ],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
            )

    def request(
        self,
        api_id: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request to an HTTP API. body: it is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS_MAX)
        sent = {"Host": f"{api_id}.execute-api.localhost:{self.port}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, text, sent | dict(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Response(answer.status, named, answer.read())
        finally:
            connection.close()


@contextmanager
def emulated_template(build: Path) -> Iterator[Path]:
    """Write the template of a build as the emulator takes it, beside what it names."""
    template = build / "emulated.yaml"
    template.write_text(yaml.safe_dump(without_metric_math(yaml.safe_load(_read(build))), sort_keys=False))
    try:
        yield template
    finally:
        template.unlink()


def _read(build: Path) -> str:
    return (build / "template.yaml").read_text(encoding="utf-8")


def without_metric_math(template: dict[str, Any]) -> dict[str, Any]:
    """Return the template with each alarm's expression replaced by its first metric."""
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in properties:
            first = next(one["MetricStat"] for one in properties.pop("Metrics") if "MetricStat" in one)
            properties |= {**first["Metric"], "Statistic": first["Stat"], "Period": first["Period"]}
    return template


@contextmanager
def emulator(environment: Path, sam: Path, folder: Path) -> Iterator[Emulator]:
    """Start ministack on a free port, with its state in `folder`. It ends with the context.

    environment, sam: the folders of the Python environments of ministack and AWS SAM.
    """
    with on_free_port(partial(_emulator, environment, sam, folder)) as started:
        yield started


@contextmanager
def _emulator(environment: Path, sam: Path, folder: Path, port: int) -> Iterator[Emulator]:
    settings = {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "STATE_DIR": str(folder / "state"),
        "S3_DATA_DIR": str(folder / "s3"),
        "IOT_MTLS_ENABLED": "0",  # It would use a fixed port.
    }
    python = environment.resolve() / "bin" / "python"
    with (folder / "ministack.log").open("wb") as log:
        process = subprocess.Popen(
            [str(python), "-m", "ministack"],
            cwd=folder,
            env={"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), **settings},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            wait_until_it_listens(process, port, seconds=READY_SECONDS_MAX)
            yield Emulator(port, sam.resolve() / "bin" / "sam", folder)
        finally:
            end_session(process)
