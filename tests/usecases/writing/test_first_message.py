"""Repeated edits of the same message do not lengthen the path."""

from forklore.domain import ids, keys
from forklore.domain.jsontext import text_of
from forklore.domain.model import Caller, Channel, ForkPosition
from forklore.storage import items
from forklore.storage.table import Table
from forklore.usecases.reading.entries import ListEntriesRequest, PageStart, list_entries
from forklore.usecases.steps.drafts import Draft
from forklore.usecases.steps.requests import Append, Fork
from forklore.usecases.writing.append import append_entries

ANN = Caller("ann")


def say(table: Table, conversation_id: str, text: str, fork: Fork | None = None) -> ids.EntryId:
    draft = Draft.of(Channel.HISTORY, "history", text_of([{"role": "USER", "text": text}]))
    made = append_entries(table, caller=ANN, request=Append(conversation_id, [draft], fork=fork))
    return made[0].entry_id


def conversation(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def test_repeated_edits_of_the_first_message_do_not_lengthen_the_path(table: Table) -> None:
    root = conversation(0)
    question = say(table, root, "question")
    first = say(table, root, "answer 0")
    for number in range(1, 6):
        at = Fork(conversation(number - 1), first, ForkPosition.BEFORE)
        first = say(table, conversation(number), f"answer {number}", at)

    shown = list_entries(table, caller=ANN, request=ListEntriesRequest(conversation(5), PageStart(), 50))

    assert [entry.entry_id for entry in shown.entries] == [question, first]
    path = keys.path(root, conversation(5))
    assert len(items.path(table.items_at([path])[path])) == 1
