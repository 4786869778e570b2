"""The other services of AWS, by moto: queues and the bus. No test's table is on it."""

from collections.abc import Iterator

import moto as motos
import pytest

REGION = "us-east-1"


@pytest.fixture(scope="module")
def moto() -> Iterator[None]:
    """A moto for one module of tests. It cannot reach the developer's accounts."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
            environment.delenv(name, raising=False)
        environment.setenv("AWS_DEFAULT_REGION", REGION)
        environment.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
        with motos.mock_aws():
            yield
