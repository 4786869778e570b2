"""The fixture that counts what the check has done."""

from tests.service.reliability.conftest import measure

__all__ = ["measure"]
