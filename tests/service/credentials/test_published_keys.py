"""The issuer's keys, fetched from a web site on this machine."""

import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from forklore_service.credentials.authorizer import Authorizer, make_authorizer
from forklore_service.credentials.fetching import BODY_BYTES_MAX, fetch
from forklore_service.credentials.issuer_keys import KeySet
from forklore_service.credentials.published_keys import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    REFRESH_SECONDS,
    RETRY_SECONDS,
    KeptKeys,
)
from forklore_service.credentials.settings import AuthorizerSettings
from forklore_service.errors import UnavailableError
from tests.service.credentials.issuer import AUDIENCE, EC, RSA, Issuer
from tests.service.credentials.publisher import (
    KEYS,
    Publisher,
    Serve,
    certified,
    dripping,
    endless,
    publishing,
)
from tests.service.credentials.vectors import bearer

SECONDS, SHORT_SECONDS = 10.0, 0.3
"""They replace the 2 seconds that a fetch may take. Busy machines need more; fetches that never end
are tested with less."""
GIVE_UP_SECONDS_MAX = 30.0
"""A fetch that gives up after SHORT_SECONDS ends before this, also on a busy machine."""
LONG_SECONDS = 60.0
"""Longer than any fetch may take. A fetch that does not give up would take at least so long."""
GOOD = {"userId": "alice", "roles": []}
UNAVAILABLE = {"unavailable": True}
NOBODY: dict[str, Any] = {}


@dataclass
class Clock:
    """The clock that says how old kept keys are."""

    seconds: float = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class World:
    """An authorizer in a new process, and the web site of its issuer."""

    issuer: Issuer
    publisher: Publisher
    clock: Clock
    authorizer: Authorizer

    def ask(self, **header: Any) -> dict[str, Any]:
        """Return the authorizer's context for a good token. header: changes of its header."""
        token = self.issuer.token(header=header, iss=self.publisher.issuer)
        return self.authorizer.context_of({"headers": bearer(token)})


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return certified(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def publisher(tls: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer) -> Iterator[Publisher]:
    with publishing(tls[0], issuer.key_set) as publisher:
        yield publisher


@pytest.fixture
def world(tls: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer, publisher: Publisher) -> World:
    return new_world(issuer, publisher, partial(fetch, seconds=SECONDS, tls=tls[1]))


@pytest.fixture
def hasty(tls: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer, publisher: Publisher) -> World:
    """The same world, but fetches may take only SHORT_SECONDS."""
    return new_world(issuer, publisher, partial(fetch, seconds=SHORT_SECONDS, tls=tls[1]))


def new_world(issuer: Issuer, publisher: Publisher, fetch: Callable[[str], bytes]) -> World:
    settings = AuthorizerSettings.from_environment(
        {"FORKLORE_ISSUER": publisher.issuer, "FORKLORE_AUDIENCE": AUDIENCE}
    )
    clock = Clock()
    return World(issuer, publisher, clock, make_authorizer(settings, fetch=fetch, now=clock))


def test_keys_are_fetched_when_the_first_token_comes(world: World) -> None:
    assert world.authorizer.context_of({"headers": {}}) == NOBODY
    assert world.publisher.asked == []
    assert world.ask() == GOOD
    assert world.publisher.asked == ["/tenant/.well-known/openid-configuration", KEYS]


@pytest.mark.failure("bad-token")
def test_nothing_is_fetched_for_a_token_of_another_form(world: World) -> None:
    headers: list[dict[str, Any]] = [{"alg": "none"}, {"jku": "https://x.example"}, {"kid": 5}, {"crit": []}]
    for header in headers:
        assert world.ask(**header) == NOBODY

    assert world.publisher.fetches == 0


def test_keys_are_used_for_10_minutes_and_then_fetched_again(world: World) -> None:
    world.ask()
    world.clock.seconds += FRESH_SECONDS - 1
    assert (world.ask(), world.publisher.fetches) == (GOOD, 1)

    world.clock.seconds += 1
    assert (world.ask(), world.publisher.fetches) == (GOOD, 2)
    assert (world.ask(), world.publisher.fetches) == (GOOD, 2)


def test_a_key_that_the_issuer_withdrew_is_not_good_after_10_minutes(world: World) -> None:
    world.ask()
    world.publisher.publish(json.dumps({"keys": [key for key in world.issuer.good_keys if key["kid"] == EC]}))
    assert world.ask() == GOOD

    world.clock.seconds += FRESH_SECONDS
    assert world.ask() == NOBODY


def test_a_new_key_is_found_at_once_but_not_twice_a_minute(world: World) -> None:
    [rsa] = [key for key in world.issuer.good_keys if key["kid"] == RSA]
    world.ask()
    world.clock.seconds += REFRESH_SECONDS
    world.publisher.publish(json.dumps({"keys": [rsa, {**rsa, "kid": "rsa-2"}]}))
    assert (world.ask(kid="rsa-2"), world.publisher.fetches) == (GOOD, 2)

    world.publisher.publish(json.dumps({"keys": [rsa, {**rsa, "kid": "rsa-3"}]}))
    assert (world.ask(kid="rsa-3"), world.publisher.fetches) == (NOBODY, 2)
    world.clock.seconds += REFRESH_SECONDS
    assert (world.ask(kid="rsa-3"), world.publisher.fetches) == (GOOD, 3)


@pytest.mark.failure("bad-token")
def test_a_flood_of_unknown_keys_causes_one_fetch_a_minute(world: World) -> None:
    """An unknown `kid` makes the process fetch the keys again at most once a minute."""
    world.ask()
    for number in range(300):
        assert world.ask(kid=f"unknown-{number}") == NOBODY
        world.clock.seconds += 1

    assert world.publisher.fetches == 1 + 300 // REFRESH_SECONDS - 1


def test_a_flood_of_unknown_keys_during_an_outage_causes_one_fetch_a_minute(world: World) -> None:
    world.ask()
    world.publisher.fail()
    for number in range(300):
        assert world.ask(kid=f"unknown-{number}") == NOBODY
        world.clock.seconds += 1

    assert world.publisher.fetches == 1 + 300 // REFRESH_SECONDS - 1


def test_an_outage_of_less_than_an_hour_is_not_noticed(world: World) -> None:
    world.ask()
    world.publisher.fail()
    for _ in range(KEPT_SECONDS // 100 - 1):
        world.clock.seconds += 100
        assert world.ask() == GOOD
    world.clock.seconds += 99
    assert world.ask() == GOOD

    world.clock.seconds += 1
    assert world.ask() == UNAVAILABLE


def test_after_an_outage_of_more_than_an_hour_the_keys_are_soon_available_again(world: World) -> None:
    world.ask()
    world.publisher.fail()
    world.clock.seconds += KEPT_SECONDS
    assert world.ask() == UNAVAILABLE

    world.publisher.publish(world.issuer.key_set)
    assert world.ask() == UNAVAILABLE
    world.clock.seconds += RETRY_SECONDS
    assert world.ask() == GOOD


def test_a_process_that_starts_during_an_outage_retries_every_few_seconds(world: World) -> None:
    world.publisher.fail()
    for _ in range(10):
        assert world.ask() == UNAVAILABLE
    assert world.publisher.fetches == 1

    world.clock.seconds += RETRY_SECONDS
    assert (world.ask(), world.publisher.fetches) == (UNAVAILABLE, 2)


def test_after_a_long_attempt_that_failed_no_caller_retries_immediately() -> None:
    clock, attempts = Clock(), []

    def load() -> KeySet:
        attempts.append(clock.seconds)
        clock.seconds += 2 * RETRY_SECONDS
        raise TimeoutError

    kept = KeptKeys(load, now=clock)
    for _ in range(3):
        with pytest.raises(UnavailableError):
            kept.find(RSA, "RS256")

    assert len(attempts) == 1


def test_bad_credentials_are_refused_during_an_outage_too(world: World) -> None:
    world.publisher.fail()
    unknown_key = {**bearer(world.issuer.token()), "x-api-key": "unknown"}

    assert world.authorizer.context_of({"headers": unknown_key}) == NOBODY
    assert world.ask(alg="HS256") == NOBODY


def test_keys_stay_good_if_the_clock_is_set_back_a_little(world: World) -> None:
    world.ask()
    world.clock.seconds -= 5
    world.publisher.fail()

    assert world.ask() == GOOD


def test_a_slow_look_up_of_the_host_name_is_an_outage_within_the_time_limit(
    hasty: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up, done = socket.getaddrinfo, threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        done.wait(LONG_SECONDS)
        return looked_up(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    started = time.monotonic()

    try:
        assert hasty.ask() == UNAVAILABLE
        assert time.monotonic() - started < GIVE_UP_SECONDS_MAX
    finally:
        done.set()


def test_keys_do_not_last_longer_if_the_clock_is_set_back(world: World) -> None:
    world.ask()
    world.clock.seconds -= 1_000
    world.publisher.fail()

    assert world.ask() == UNAVAILABLE


def other_document(**members: Any) -> Any:
    """Return a function that changes the issuer's document. `{}` stands for the site's address."""

    def change(publisher: Publisher) -> None:
        filled = {
            k: v.replace("{}", publisher.origin) if isinstance(v, str) else v for k, v in members.items()
        }
        publisher.document = {**publisher.document, **filled}

    return change


def keys_served(serve: Serve) -> Any:
    """Return a function that makes the site serve the keys with `serve`."""
    return lambda publisher: publisher.fail(serve)


def answering(status: int, body: bytes = b"", **headers: str) -> Serve:
    return lambda _: (status, {name.replace("_", "-"): held for name, held in headers.items()}, body)


def redirected(publisher: Publisher) -> None:
    """Redirect the keys to another path of the same site."""
    publisher.served["/elsewhere"] = publisher.served[KEYS]
    publisher.fail(answering(302, Location=f"{publisher.origin}/elsewhere"))


OUTAGES: dict[str, Any] = {
    "a redirect": redirected,
    "a status of 404": keys_served(answering(404)),
    "a status of 201": keys_served(answering(201, b'{"keys": []}')),
    "not JSON": keys_served(answering(200, b"<html>")),
    "JSON of 100,000 brackets": keys_served(answering(200, b"[" * 100_000)),
    "not an object": keys_served(answering(200, b"[]")),
    "no list of keys": keys_served(answering(200, b'{"keys": {}}')),
    "an empty list of keys": keys_served(answering(200, b'{"keys": []}')),
    "51 keys": lambda publisher: publisher.fail(
        answering(200, json.dumps({"keys": [{"kty": "RSA"}] * 51}).encode())
    ),
    "a body that is too long": keys_served(answering(200, b" " * (BODY_BYTES_MAX + 1))),
    "a body that says it is longer than it is": keys_served(answering(200, b'{"keys"', Content_Length="99")),
    "a chunk of -1 bytes": keys_served(
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
    ),
    "not HTTP": keys_served(dripping(b"SSH-2.0\r\n\r\n")),
    "a body that drips": keys_served(dripping(b"HTTP/1.1 200 OK\r\n\r\n")),
    "a status line that drips": keys_served(dripping(b"HTTP/1.1 200 O")),
    "headers that drip": keys_served(dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ")),
    "another issuer's document": other_document(issuer="{}/other"),
    "a document for the issuer with a slash": other_document(issuer="{}/tenant/"),
    "a document without an issuer": other_document(issuer=None),
    "no address of keys": other_document(jwks_uri=None),
    "an address of keys by http": other_document(jwks_uri="http://localhost/keys"),
    "an address of keys in a file": other_document(jwks_uri="file:///etc/passwd"),
    "an address of keys with a user": other_document(jwks_uri="https://user:word@localhost/keys"),
    "an address of keys with a newline": other_document(jwks_uri="{}/tenant/keys\r\nX: y"),
    "an address of keys with an impossible port": other_document(jwks_uri="https://localhost:99999/"),
    "an address of keys where no server listens": other_document(jwks_uri="https://localhost:1/"),
    "an address of keys with an invalid host name": other_document(jwks_uri="https://a..b/keys"),
    "an address of keys without a host": other_document(jwks_uri="https:///keys"),
}


@pytest.mark.failure("bad-token")
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=list(OUTAGES))
def test_without_the_issuers_keys_the_service_is_unavailable_and_logs_one_line(
    hasty: World, outage: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Keys come only from the issuer: no redirects, no other addresses, no endless answers."""
    outage(hasty.publisher)
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG):
        assert hasty.ask() == UNAVAILABLE
    [record] = caplog.records

    assert time.monotonic() - started < GIVE_UP_SECONDS_MAX
    assert record.getMessage() == "the issuer's keys cannot be had"
    assert record.__dict__["type"] in {
        *(
            "ValueError",
            "UnicodeError",
            "UnicodeEncodeError",
            "OSError",
            "TimeoutError",
            "ConnectionRefusedError",
        )
    }
    assert (record.exc_info, record.stack_info) == (None, None)
    assert capfd.readouterr() == ("", "")


def test_a_certificate_of_an_unknown_authority_is_an_outage(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer = make_authorizer(world.authorizer.settings, fetch=partial(fetch, seconds=SECONDS))
    token = world.issuer.token(iss=world.publisher.issuer)

    assert authorizer.context_of({"headers": bearer(token)}) == UNAVAILABLE
    assert [record.__dict__["type"] for record in caplog.records] == ["SSLCertVerificationError"]
    assert world.publisher.asked == []


def test_a_certificate_of_another_host_is_an_outage(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], publisher: Publisher
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        fetch(publisher.issuer.replace("localhost", "127.0.0.1"), seconds=SECONDS, tls=tls[1])


def test_while_one_request_waits_for_new_keys_others_use_the_old_ones(world: World) -> None:
    world.ask()
    world.clock.seconds += FRESH_SECONDS
    come, go = threading.Event(), threading.Event()

    def wait(_handler: Any) -> tuple[int, dict[str, str], bytes]:
        come.set()
        assert go.wait(LONG_SECONDS)
        return 200, {}, world.issuer.key_set.encode()

    world.publisher.fail(wait)
    waiting = threading.Thread(target=world.ask)
    waiting.start()
    assert come.wait(LONG_SECONDS)
    assert world.ask() == GOOD
    go.set()
    waiting.join()

    assert world.publisher.fetches == 2


def test_simultaneous_requests_to_a_new_process_share_one_fetch(world: World) -> None:
    told: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: told.append(world.ask())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == [GOOD] * 8
    assert world.publisher.fetches == 1


def test_configured_keys_are_used_and_nothing_is_fetched(issuer: Issuer, environment: dict[str, str]) -> None:
    def fetch(_url: str) -> bytes:
        raise AssertionError("a fetch was made")

    authorizer = make_authorizer(AuthorizerSettings.from_environment(environment), fetch=fetch)

    assert authorizer.context_of({"headers": bearer(issuer.token())}) == GOOD
    assert authorizer.context_of({"headers": bearer(issuer.token(header={"kid": "unknown"}))}) == NOBODY


def test_the_document_of_an_issuer_with_a_trailing_slash_is_found(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], issuer: Issuer, publisher: Publisher
) -> None:
    publisher.document["issuer"] = own = f"{publisher.issuer}/"
    settings = AuthorizerSettings.from_environment({"FORKLORE_ISSUER": own, "FORKLORE_AUDIENCE": AUDIENCE})
    authorizer = make_authorizer(settings, fetch=partial(fetch, seconds=SECONDS, tls=tls[1]))

    assert authorizer.context_of({"headers": bearer(issuer.token(iss=own))}) == GOOD
