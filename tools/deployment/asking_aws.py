"""Calls of AWS's services by one door, and waiting for what they began."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError


class WaitError(Exception):
    """What was waited for did not come."""


class Aws:
    """Calls services. client: returns the client of a service. sleep: waits so many seconds."""

    def __init__(
        self,
        client: Callable[[str], Any],
        *,
        sleep: Callable[[float], None] = time.sleep,
        tell: Callable[[str], None] = print,
    ) -> None:
        self._client = client
        self._clients: dict[str, Any] = {}
        self._sleep = sleep
        self.tell = tell

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer of an operation, named as in boto3."""
        answer: dict[str, Any] = getattr(self._of(service), operation)(**parameters)
        return answer

    def address(self, service: str) -> str:
        """Return where a service is asked, such as https://s3.eu-central-1.amazonaws.com."""
        url: str = self._of(service).meta.endpoint_url
        return url

    def _of(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._client(service)
        return self._clients[service]

    def pages(self, service: str, operation: str, key: str, token: str, **parameters: Any) -> Iterator[Any]:
        """Yield the elements of `key` of all pages. token: what names the next page."""
        more: dict[str, Any] = {}
        while True:
            answer = self.call(service, operation, **parameters, **more)
            yield from answer.get(key, [])
            if not answer.get(token):
                return
            more = {token: answer[token]}

    def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def wait(self, what: str, found: Callable[[], bool], *, seconds: float, every: float = 5.0) -> None:
        """Wait until `found` is true. In a terminal, show how long it has taken.

        Raises WaitError after so many seconds.
        """
        waited = 0.0
        shown = sys.stderr.isatty()
        while not found():
            if waited >= seconds:
                raise WaitError(f"{what}: not done after {seconds / 60:.0f} minutes")
            if shown:
                print(f"\r{what}: {waited / 60:.0f} min ", end="", file=sys.stderr, flush=True)
            self._sleep(every)
            waited += every
        if shown and waited:
            print(file=sys.stderr)


def code_of(error: ClientError) -> str:
    """Return the code of an error, such as ResourceNotFoundException."""
    code: str = error.response["Error"].get("Code", "")
    return code
