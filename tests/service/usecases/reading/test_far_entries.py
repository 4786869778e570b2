"""A search from the end of a view finds an entry at any distance."""

import pytest

from forklore_service.domain.ancestry import view_of
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.model import Caller, Channel
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries

ROOT = "00000000-0000-4000-8000-000000000001"


def context(table: Table, client: str, epoch: int | None = None) -> int | None:
    draft = Draft.of(Channel.CONTEXT, "x", text_of([client]), epoch=epoch)
    made = append_entries(table, caller=Caller("ann", client), request=Append(ROOT, [draft]))
    return made[0].epoch


def test_an_epoch_is_found_behind_many_entries_of_other_clients(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_pages, "READ_MAX", 4)
    say = Draft.of(Channel.HISTORY, "x", text_of(["hello"]))
    append_entries(table, caller=Caller("ann"), request=Append(ROOT, [say]))
    context(table, "planner", epoch=7)
    for _ in range(12):
        context(table, "coder")
    root = view_of(ROOT, ())

    assert view_pages.latest_epoch(table, ROOT, root, "planner").epoch.number == 7
