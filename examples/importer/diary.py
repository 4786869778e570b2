"""A format for `forklore import`, in a package of its own: the diary of a chat on paper.

The package declares it in its `pyproject.toml`, and then `forklore import diary.jsonl` reads it:

    [project.entry-points."forklore.importers"]
    diary = "diary:DIARY"

A line of the file is a diary:

    {"diary": "2024", "pages": [{"no": 1, "who": "ann", "words": "Rain?", "at": "2024-05-01"}]}

A page may say `"after": 1`: it goes on from that page, and not from the one before it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.plain_conversations import Conversation, Message, each, rest
from forklore.importing.readers import Importer


def _is_diary(value: Mapping[str, Any]) -> bool:
    return "diary" in value and isinstance(value.get("pages"), list)


def _conversation_of(record: FileRecord, report: ImportReport) -> Conversation:
    raw = record.value
    return Conversation(
        id=str(raw["diary"]),
        place=record.place,
        messages=list(_messages(raw["pages"], report)),
        about=rest(raw, "diary", "pages"),  # what is mapped to nothing is kept beside it
    )


def _messages(pages: list[Any], report: ImportReport) -> Iterator[Message]:
    before: str | None = None
    for number, page in enumerate(pages, start=1):
        if not isinstance(page, Mapping) or "no" not in page:
            report.add(Reason.NOT_A_MESSAGE, f"page {number}")  # and what is left out is counted
            continue
        after = page.get("after")
        yield Message(
            id=str(page["no"]),
            parent=before if after is None else str(after),
            role="assistant" if page.get("who") == "oracle" else "user",
            said=[str(page.get("words", ""))],
            at=page.get("at"),
            source=rest(page, "no", "after", "words", "at"),
        )
        before = str(page["no"])


DIARY = Importer("diary", "diaries", _is_diary, each(_conversation_of))
