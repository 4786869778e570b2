"""Fixtures: the settings of a deployment for these tests."""

from collections.abc import Iterator

import pytest

from forklore_service.credentials.authorizer import open_authorizer
from tests.service.credentials.issuer import ALGORITHMS, AUDIENCE, ISSUER, Issuer, issuer
from tests.service.credentials.vectors import HASHES
from tests.service.reliability.conftest import measure

__all__ = ["measure"]


@pytest.fixture(name="issuer", scope="session")
def an_issuer() -> Issuer:
    return issuer()


@pytest.fixture(scope="session")
def environment(issuer: Issuer) -> dict[str, str]:
    """The environment variables of the authorizer."""
    return {
        "FORKLORE_ISSUER": ISSUER,
        "FORKLORE_AUDIENCE": f"forklore, {AUDIENCE}",
        "FORKLORE_ALGORITHMS": ALGORITHMS,
        "FORKLORE_ISSUER_KEYS": issuer.key_set,
        "FORKLORE_API_KEY_HASHES": HASHES,
        "FORKLORE_ADMINS": "ops-*",
        "FORKLORE_ROLES_CLAIM": "roles",
    }


@pytest.fixture
def configured(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restart the function's process in this environment."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_authorizer.cache_clear()
    yield
    open_authorizer.cache_clear()
