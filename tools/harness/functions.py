"""The functions of this process on a table."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from forklore_local.server.store import set_environment
from forklore_service.aws.wiring import Given
from tools.deployment.template import Template, read_template
from tools.harness.gateway import given
from tools.harness.tables import Store

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


@contextmanager
def functions_on(store: Store, **variables: str) -> Iterator[Template]:
    """Let the handlers of this process use the store as their table; yield the template.

    variables: environment variables of the handlers.
    """
    template = read_template(TEMPLATE)
    at = {"FORKLORE_DYNAMODB_ENDPOINT": store.endpoint} if store.endpoint else {}
    with mock.patch.dict(os.environ, {**at, "FORKLORE_TABLE": store.name, **variables}):
        set_environment()
        with given(Given(None if store.endpoint else store.new_client, objects=store.objects)):
            yield template
