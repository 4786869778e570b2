"""The limits that an import knows are the service's own."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from forklore.client import jsontext
from forklore.client.generated import limits
from forklore.importing import checks, plan
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.plan import PlannedAt
from forklore.importing.plan_trees import plan_tree
from forklore_service.api import fields
from tests.clients.importing.builders import tree_with_parents
from tests.clients.importing.service import Service


def takes(kind: Any, value: str) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def test_what_an_import_sends_at_once_is_within_the_services_limits() -> None:
    assert plan.BATCH_ENTRIES_MAX <= limits.APPEND_ENTRIES_MAX
    # The content stands in the body, in its `entries`, in an entry.
    assert checks.CONTENT_DEPTH_MAX + 3 <= limits.DEPTH_MAX


@pytest.mark.parametrize(
    ("kind", "most"),
    [(fields.Title, limits.TITLE_CHARACTERS_MAX), (fields.EntryKey, limits.KEY_CHARACTERS_MAX)],
)
def test_the_longest_title_and_key_are_taken_and_no_longer_ones(kind: Any, most: int) -> None:
    assert takes(kind, "x" * most)
    assert not takes(kind, "x" * (most + 1))


def test_what_is_as_large_as_an_import_sends_is_taken(service: Service) -> None:
    nested: Any = "x"
    for _ in range(checks.CONTENT_DEPTH_MAX - 2):
        nested = [nested]
    for made in ([{"text": "x"}] * limits.ELEMENTS_MAX, [{"n": nested}], largest()):
        assert checks.problem_of(made) is None
        row = service.ask("createConversation")
        entries = [{"contentType": "x/any", "content": made, "key": "x" * limits.KEY_CHARACTERS_MAX}]
        assert service.ask("appendEntry", conversationId=row["id"], entries=entries)["data"]


def test_what_is_larger_is_a_problem_before_it_is_sent() -> None:
    assert checks.problem_of([{"text": "x"}] * (limits.ELEMENTS_MAX + 1)) is Reason.TOO_LARGE
    assert checks.problem_of([*largest(), {"text": ""}]) is Reason.TOO_LARGE


def largest() -> list[Any]:
    """Return content that is as large as an import takes, to the byte."""
    left = limits.ENTRY_BYTES_MAX - limits.escaped_size(jsontext.write([{"text": ""}]))
    return [{"text": "x" * left}]


def test_a_fork_with_a_full_batch_of_keys_is_taken(service: Service) -> None:
    tree = tree_with_parents([0, 0, *range(2, plan.BATCH_ENTRIES_MAX + 1)])
    planned = plan_tree(tree, owner=service.user, report=ImportReport())

    loading = service.load(planned)

    assert max(batch.end - batch.start for batch in planned.batches) == plan.BATCH_ENTRIES_MAX
    assert len(loading.placed) == len(tree.messages)
    assert PlannedAt(1, plan.BATCH_ENTRIES_MAX - 1) in loading.placed
