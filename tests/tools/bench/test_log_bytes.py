"""What the log of an append costs."""

from tools.bench.log_bytes import log_bytes
from tools.bench.money import Function

DOLLARS_MAX = 0.40
OWN_ID = len(', "xRequestId": ""') + 36


def test_the_log_of_a_million_appends_costs_less_than_40_cents_also_with_the_callers_own_ids() -> None:
    made = log_bytes()
    whole = sum(made)

    assert (whole + OWN_ID) * 1e6 / 1e9 * 0.50 < DOLLARS_MAX
    assert abs(whole - Function().log_bytes) <= 5, made  # ms and units have one digit more or less
