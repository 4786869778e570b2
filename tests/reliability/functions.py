"""The functions of this process on a table of DynamoDB Local, asked as API Gateway asks them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from forklore.local.deployment import Deployment
from forklore.local.embedded import open_database
from tests.aws.gateway import opened_anew
from tests.support.tables import Store
from tools.deployment.template import read_template

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


@contextmanager
def functions_on(store: Store, **variables: str) -> Iterator[Deployment]:
    """Give the handlers of this process the store for their table; yields the template that names them.

    variables: of their environment.
    """
    assert store.endpoint is not None
    template = read_template(TEMPLATE)
    environment = {"FORKLORE_DYNAMODB_ENDPOINT": store.endpoint, "FORKLORE_TABLE": store.name, **variables}
    with mock.patch.dict(os.environ, environment):
        open_database()
        with opened_anew():
            yield template
