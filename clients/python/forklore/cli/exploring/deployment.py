"""Asks a stage over HTTP, and finds out what is at an address."""

import time
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy

import httpx2

from forklore.cli.exits import NO_ANSWER, CommandError
from forklore.cli.exploring.rules import headers_to_return
from forklore.client.transports.addresses import LOOPBACK
from forklore.client.transports.http import base_of
from forklore_local.server.asgi import Response
from forklore_local.server.page import MARK

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 31.0
"""Longer than the 30 s of API Gateway. Shorter than the page waits, so that it can show the 504."""
CHECK_SECONDS = 10.0
ANSWER_BYTES_MAX = 10 * 1024 * 1024
"""More than a function can answer."""
LATER = (429, 500, 502, 503, 504)
"""The answers after which a service may soon work."""


class Stage:
    """A service at an address. Threads may share it.

    It sends no credentials but those of a request, keeps no cookies and follows no redirects.
    Raises InputError for what is no address, CommandError for one that is not safe or if the
    environment names a proxy that cannot be used.
    """

    def __init__(self, url: str) -> None:
        parsed = httpx2.URL(base_of(url))
        self.base = str(parsed).rstrip("/")
        self.is_here = parsed.host in LOOPBACK
        if parsed.scheme != "https" and not self.is_here:
            raise CommandError(
                f"{self.base} would get your token without encryption: give an https:// address"
            )
        self._url = httpx2.URL(self.base)
        try:
            self._client = httpx2.Client(
                trust_env=not self.is_here, follow_redirects=False, headers={"User-Agent": "forklore"}
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # its text may hold a password
            raise CommandError(
                "the proxy that HTTPS_PROXY or ALL_PROXY names cannot be used: name one of http://"
            ) from error
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, method: str, target: str, headers: Mapping[str, bytes], body: bytes) -> Response:
        """Return the stage's answer to a request, or a 502 or 504 that says why there is none.

        target: path and query below the address of the stage.
        """
        path = self._url.raw_path.rstrip(b"/") + target.encode("ascii")
        give_up_at = time.monotonic() + ANSWER_SECONDS
        try:
            with self._client.stream(
                method,
                self._url.copy_with(raw_path=path),
                headers={name.encode(): value for name, value in headers.items()},
                content=body or None,
                timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            ) as answer:
                if answer.has_redirect_location:
                    said = f"{self._url.host} answers with a redirect, which is not followed."
                    return message(502, said)
                read = bytearray()
                for part in answer.iter_bytes():
                    read += part
                    if len(read) > ANSWER_BYTES_MAX:
                        return message(502, f"The answer of {self._url.host} is too long.")
                    if time.monotonic() > give_up_at:
                        return self._late()
                return Response(answer.status_code, headers_to_return(answer.headers), bytes(read))
        except httpx2.TimeoutException:
            return self._late()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:  # its text may hold a header
            return message(502, f"There is no answer from {self._url.host} ({type(error).__name__}).")

    def has_page(self) -> bool:
        """Tell whether the service itself serves the explorer.

        Raises CommandError without an answer.
        """
        return self._get("/").headers.get(MARK) == "explorer"

    def check(self) -> None:
        """Raise CommandError if the address does not answer as a service of forklore does."""
        status = self._get("/v1/health").status_code
        if not 200 <= status < 300 and status not in LATER:
            raise CommandError(
                f"no service of forklore is at {self.base} ({status}: the address may be wrong)"
            )

    def _get(self, path: str) -> httpx2.Response:
        try:
            return self._client.get(f"{self.base}{path}", timeout=CHECK_SECONDS)
        except httpx2.HTTPError as error:
            said = " ".join(str(error).split())[:200]
            raise CommandError(
                f"no answer from {self.base}: {type(error).__name__} {said}", NO_ANSWER
            ) from error

    def _late(self) -> Response:
        return message(504, f"There is no whole answer from {self._url.host} within {ANSWER_SECONDS:g} s.")


def message(status: int, text: str) -> Response:
    """Return an answer that says a sentence."""
    from forklore.client import jsontext

    return Response(
        status, [("Content-Type", "application/json")], jsontext.write({"message": text}).encode()
    )
