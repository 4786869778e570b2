"""The models of query parameters and bodies about names.

Docstrings of bodies are descriptions in the API document.
"""

from typing import Annotated, ClassVar

from pydantic import Discriminator, Tag

from forklore_service.api import fields
from forklore_service.api.entry_requests import (
    AppendFields,
    EntriesField,
    EntryFields,
    ListEntries,
    OneEntry,
    shape_of_append,
)
from forklore_service.api.requests import OneOf, Request, Watched
from forklore_service.domain.model import Caller
from forklore_service.domain.names import NameRef


class SetName(Request):
    """A name, and where it points from now on.

    `expectRevision`: the revision that you know; 0: the name must be new. `data` stay without new
    ones.
    """

    name: fields.Name
    conversation_id: fields.NamedId
    data: fields.NameData | None = None
    expect_revision: fields.Revision | None = None


class OneName(Request):
    """Which name."""

    name: fields.Name

    def of(self, caller: Caller) -> NameRef:
        """Return the name, which is the caller's."""
        return NameRef.of(caller, self.name)


class DeleteName(OneName):
    """Which name, and perhaps the revision that it must have."""

    expect_revision: fields.RevisionInQuery | None = None


class ListNames(Watched):
    """Which of your names to list."""

    prefix: fields.NamePrefix = ""
    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None


class ListNamedEntries(ListEntries, OneName):
    """Which entries to list, of the conversation that the name points to."""


class _ByName(AppendFields):
    name: fields.Name
    data: fields.NameData | None = None


class AppendEntryByName(OneEntry, _ByName):
    """One entry to append to the conversation that a name points to. `metadata` is the entry's."""


class AppendEntriesByName(_ByName):
    """Entries to append to the conversation that a name points to, all or none, in order."""

    entries: EntriesField
    is_batch: ClassVar[bool] = True

    @property
    def drafts(self) -> list[EntryFields]:
        return self.entries


class AppendByName(OneOf):
    """One entry, or several at once, for the conversation that a name points to."""

    root: Annotated[
        Annotated[AppendEntryByName, Tag("one")] | Annotated[AppendEntriesByName, Tag("batch")],
        Discriminator(shape_of_append),
    ]
