"""The fixture that counts what the check has done."""

from tests.reliability.conftest import measure

__all__ = ["measure"]
