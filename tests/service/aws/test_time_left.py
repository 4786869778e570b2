"""How long a request may take: the rest of the function's time, minus time for the answer."""

import time
from types import SimpleNamespace

import pytest

from forklore_service.api.operation import Service
from forklore_service.aws.running import service_for
from forklore_service.aws.wiring import Consumption, ServiceSettings
from forklore_service.errors import UnavailableError
from tools.harness.gateway import Gateway


def ask_for_service(left_s: float) -> Service:
    """Return the service for a request to a function that has `left_s` seconds left."""
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: left_s * 1000)
    return service_for(context, Consumption(), ServiceSettings("t"))


@pytest.mark.failure("busy-database", "no-time-left")
@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("left_s", "allowed_s"), [(29.0, 20.0), (23.5, 20.0), (23.0, 20.0), (10.0, 7.0), (3.5, 0.5)]
)
def test_a_request_has_20_seconds_or_what_is_left_less_3(
    monkeypatch: pytest.MonkeyPatch, gateway: Gateway, left_s: float, allowed_s: float
) -> None:
    """All attempts and pauses together take no longer. After that, no attempt is started."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    table = ask_for_service(left_s).table

    monkeypatch.setattr(time, "monotonic", lambda: now + allowed_s - 0.01)
    assert table.has_time()
    monkeypatch.setattr(time, "monotonic", lambda: now + allowed_s + 0.01)
    assert not table.has_time()


@pytest.mark.failure("no-time-left")
@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize("left_s", [3.0, 1.0, 0.0])
def test_with_3_seconds_left_no_call_is_started(left_s: float) -> None:
    """The answer is 503, without a delay."""
    with pytest.raises(UnavailableError):
        ask_for_service(left_s)
