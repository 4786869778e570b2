"""Runs the functions in this process, on a table of DynamoDB Local."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from forklore.local.embedded import open_database
from forklore.local.template import Template, read_template
from tests.aws.gateway import opened_anew
from tests.support.tables import Store

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


@contextmanager
def functions_on(store: Store, **variables: str) -> Iterator[Template]:
    """Make the store the table of this process's handlers; yields the template that names them.

    variables: environment variables of the handlers.
    """
    assert store.endpoint is not None
    template = read_template(TEMPLATE)
    environment = {"FORKLORE_DYNAMODB_ENDPOINT": store.endpoint, "FORKLORE_TABLE": store.name, **variables}
    with mock.patch.dict(os.environ, environment):
        open_database(template.table)
        with opened_anew():
            yield template
