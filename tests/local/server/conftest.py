"""Fixtures: how much work each check does."""

from tests.service.reliability.conftest import measure

__all__ = ["measure"]
