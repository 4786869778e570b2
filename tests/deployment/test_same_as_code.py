"""What the code defines once, compared with what template.yaml says about it.

The table's definition is in `forklore_service.storage.schema`. The functions that the local server
runs are in `forklore_local.server.functions`: those that requests call.
"""

import pytest

from forklore_local.server.functions import HTTP, http_functions
from forklore_local.server.routing import Function
from forklore_service.storage import schema
from tests.deployment.document import PROJECT
from tools.deployment.template import read_template

TEMPLATE, CODE = read_template(PROJECT / "template.yaml"), http_functions()
CALLED = [one for one in TEMPLATE.functions if one.routes and one.name != "McpFunction"]
"""The functions of the API. The tools for agents are no operation: `forklore serve --mcp`."""
FOLDERS = {name: folder for folder, name in HTTP.items()}


def without_order(function: Function) -> Function:
    """Return a function with its routes sorted, and without its handler and what else calls it."""
    routes = tuple(sorted(function.routes, key=lambda route: route.key))
    return Function(function.name, "", "", function.timeout_seconds, function.memory_mb, routes)


def test_the_table_of_the_template_is_the_one_that_the_code_defines() -> None:
    assert TEMPLATE.table == schema.TABLE


def test_the_table_with_recall_is_the_one_that_the_code_defines() -> None:
    table = read_template(PROJECT / "template.yaml", with_options=True).table

    assert table == schema.TABLE_BY_MEANING


def test_the_local_server_runs_each_function_that_requests_call() -> None:
    assert {one.name for one in CODE} == {one.name for one in CALLED}


@pytest.mark.parametrize("function", CALLED, ids=lambda function: function.name)
def test_a_function_is_called_and_limited_as_the_template_says(function: Function) -> None:
    [here] = [one for one in CODE if one.name == function.name]

    assert without_order(here) == without_order(function)


@pytest.mark.parametrize("function", CALLED, ids=lambda function: function.name)
def test_the_folder_of_a_function_is_named_as_its_handler(function: Function) -> None:
    [here] = [one for one in CODE if one.name == function.name]

    assert function.module == f"functions.{here.attribute}.app"
    assert here.attribute == FOLDERS[function.name]
