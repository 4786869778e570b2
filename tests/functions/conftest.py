"""The functions on an embedded table, and what they answer to the sample events."""

from collections.abc import Iterator

import pytest

from tests.aws.direct import Direct
from tests.functions.story import tell
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Answer, Gateway, table_on_moto


@pytest.fixture(scope="package")
def gateway() -> Iterator[Gateway]:
    """What sends events to the functions; their table begins empty."""
    with table_on_moto() as template:
        yield Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")


@pytest.fixture(scope="package")
def told(gateway: Gateway) -> dict[str, Answer]:
    """What is answered to the story, by operation."""
    return tell(gateway.deliver, Direct(read_template(PROJECT / "template.yaml")).send)
