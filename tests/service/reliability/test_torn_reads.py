"""Every batch read of two requests, torn by the other one."""

import pytest

from tests.service.reliability.figures import Measure, skip_unless_tried
from tests.service.reliability.pairs import PAIRS
from tests.service.reliability.service import Endpoint
from tests.service.reliability.torn_reads import TornReads

TRIED_IN_CI = 1 / 15


@pytest.mark.failure("torn-read")
@pytest.mark.parametrize("name", PAIRS)
def test_a_request_whose_read_is_torn_has_the_outcome_of_one_after_the_other(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    skip_unless_tried(measure, ci=TRIED_IN_CI)
    measure.count(pairs=1, torn_reads=TornReads(PAIRS[name], endpoint).run())
