"""The functions of this process on a table of DynamoDB Local."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from forklore.local.deployment import Deployment
from forklore.local.store import set_environment
from tools.deployment.template import read_template
from tools.harness.gateway import opened_anew
from tools.harness.tables import Store

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


@contextmanager
def functions_on(store: Store, **variables: str) -> Iterator[Deployment]:
    """Let the handlers of this process use the store as their table; yield the template.

    variables: environment variables of the handlers.
    """
    assert store.endpoint is not None
    template = read_template(TEMPLATE)
    environment = {"FORKLORE_DYNAMODB_ENDPOINT": store.endpoint, "FORKLORE_TABLE": store.name, **variables}
    with mock.patch.dict(os.environ, environment):
        set_environment()
        with opened_anew():
            yield template
