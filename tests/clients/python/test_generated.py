"""The generated modules have what the table of operations says."""

import inspect
from pathlib import Path
from typing import Unpack, get_origin
from unittest import mock

import pytest
from pydantic.alias_generators import to_snake

from forklore import Conversation, Forklore
from forklore.client.generated.operations import SHAPES, AsyncOperations, Operations
from forklore.client.generated.synchronous.context import Context
from forklore_service.api import operations
from tools.client.__main__ import PROJECT, PYTHON
from tools.client.synchronous import synchronous


def test_there_is_a_method_and_a_shape_for_every_operation_and_no_other() -> None:
    names = {operation.name for operation in operations.ALL}

    assert set(SHAPES) == names
    for kind in (Operations, AsyncOperations):
        methods = {
            name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")
        }
        own = {"send", "pause", "within", "run_blocking", "located"}
        assert methods == {to_snake(name) for name in names} | own


def test_a_shape_says_what_the_table_says() -> None:
    for operation in operations.ALL:
        shape = SHAPES[operation.name]
        assert (shape.name, shape.method, shape.path) == (operation.name, operation.method, operation.path)
        assert list(shape.path_names) == operation.path_names
        assert shape.query == operation.query_names
        assert shape.is_read == operation.is_read
        assert shape.takes_key == operation.takes_idempotency_key
        assert shape.has_body == (operation.body is not None)


def test_a_method_shows_its_arguments_and_is_awaited_in_the_one_client_alone() -> None:
    for operation in operations.ALL:
        name, path = to_snake(operation.name), [to_snake(one) for one in operation.path_names]
        one, other = getattr(Operations, name), getattr(AsyncOperations, name)

        shown = inspect.signature(one).parameters.values()
        assert [taken.name for taken in shown if taken.kind is not taken.KEYWORD_ONLY] == ["self", *path]
        assert {to_snake(one) for one in operation.query_names} <= {taken.name.rstrip("_") for taken in shown}
        assert inspect.getdoc(one)
        assert not inspect.iscoroutinefunction(one)
        assert inspect.iscoroutinefunction(other)


@pytest.mark.parametrize("kind", [Operations, AsyncOperations])
def test_a_mock_of_the_operations_takes_their_arguments_and_no_others(kind: type) -> None:
    api = mock.create_autospec(kind, instance=True)
    for made in (api.get_conversation("c"), api.list_entries("c", limit=1)):
        if inspect.iscoroutine(made):
            made.close()
    for wrong in (api.get_conversation, lambda: api.list_entries("c", limits=1)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("kind", [Forklore, Conversation, Context])
def test_no_public_method_takes_just_any_name(kind: type) -> None:
    for name, method in inspect.getmembers(kind, callable):
        if name.startswith("_"):
            continue
        for taken in inspect.signature(method).parameters.values():
            if taken.kind is inspect.Parameter.VAR_KEYWORD:
                assert get_origin(taken.annotation) is Unpack, f"{name}(**{taken.name})"


@pytest.mark.parametrize(
    "path", sorted((PROJECT / PYTHON / "synchronous").glob("*.py")), ids=lambda path: path.name
)
def test_nothing_asynchronous_is_left_in_what_is_made_of_it(path: Path) -> None:
    text = path.read_text()
    code = "\n".join(text.splitlines()[1:])  # the first line names the folder

    for word in ("await", "async ", "Async", "asyncio", "aclose", "anyio"):
        assert word not in code, word


def test_types_inside_types_lose_their_awaitable() -> None:
    made = synchronous("f: Callable[[str | None], Awaitable[Page[T]]]\nfrom x import Awaitable, Callable\n")

    assert "f: Callable[[str | None], Page[T]]" in made
    assert "from x import Callable" in made
