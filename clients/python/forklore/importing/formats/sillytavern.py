"""Reads chats of SillyTavern: JSON Lines, a header and then the messages.

Each message follows the one before it. The `swipes` of a message are alternatives to it; the chat
went on after the one that `swipe_id` names, whose text is that of the message. A text that is none
of the swipes, as it was edited, is a further one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import listed, mapped
from forklore.importing.plain_conversations import Conversation, Message, rest

_MAPPED = ("is_user", "is_system", "send_date", "mes", "swipes", "swipe_id", "swipe_info")
_EDITED = -1
"""In the place of a swipe: the text of a message that was edited, and is none of its swipes."""
_DIGITS_MAX = 20
"""Of a time as a number."""
_DATES = ("%B%d,%Y%I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss")
"""Without white space."""
_UNUSED = "unused"
"""What newer headers say instead of a name."""


def is_line(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a header or a message."""
    return {"user_name", "character_name"} <= value.keys() or {"is_user", "mes"} <= value.keys()


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a file."""
    header: Mapping[str, Any] = {}
    messages: list[Message] = []
    shown: str | None = None
    count = 0
    for record in records:
        raw = mapped(record.value)
        if "mes" not in raw and "user_name" in raw and not messages:
            header = raw
        elif isinstance(raw.get("mes"), str):
            some = list(_swipes(raw, shown, report, number=count))
            messages += some
            shown = some[0].id
            count += 1
        else:
            report.add(Reason.OTHER_RECORD, record.place)
    named = mapped(header.get("chat_metadata")).get("integrity")
    begun = header.get("create_date")
    character = header.get("character_name")
    made_of = f"{character} {begun}" if character and begun else None
    names = (one.source.get("name") for one in messages if one.role == "assistant")
    yield Conversation(
        id=named if isinstance(named, str) else made_of,
        place="the file",
        messages=messages,
        title=next(names, None) if character == _UNUSED else character,
        created_at=date_of(begun) or (messages[0].at if messages else None),
        current=shown,
        about=rest(header, "create_date"),
    )


def _swipes(
    raw: Mapping[str, Any], parent: str | None, report: ImportReport, *, number: int
) -> Iterator[Message]:
    """Yield a message, and then the alternatives to it.

    A chat has no ids: they are known by their words, and those before them. Messages may be
    deleted, and others stand in their places.
    """
    swipes, infos = listed(raw.get("swipes")) or [raw["mes"]], listed(raw.get("swipe_info"))
    held = raw.get("swipe_id")
    chosen = swipes.index(raw["mes"]) if raw["mes"] in swipes else _EDITED
    if isinstance(held, int) and 0 <= held < len(swipes) and swipes[held] == raw["mes"]:
        chosen = held
    for at, swipe in enumerate(swipes):
        if not isinstance(swipe, str):
            report.add(Reason.NOT_A_MESSAGE, f"swipe {at} of message {number}")
    texts = {at: text for at, text in enumerate(swipes) if isinstance(text, str)} | {chosen: raw["mes"]}
    role = "system" if raw.get("is_system") else "user" if raw.get("is_user") else "assistant"
    for at in sorted(texts, key=lambda at: (at != chosen, at)):
        info = mapped(infos[at]) if 0 <= at < len(infos) else {}
        told = raw if at == chosen else {"name": raw.get("name"), **info}
        place = f"{number}.{'edited' if at == _EDITED else at}"
        yield Message(
            id=place,
            key=None,
            earlier_keys=[place],
            parent=parent,
            role=role,
            said=[texts[at]],
            at=date_of(told.get("send_date")) or date_of(raw.get("send_date")),
            source=_about(told),
        )


def _about(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return all else of a message, but the files of its branches: copies differ in them."""
    extra = told.get("extra")
    held = {**told, "extra": rest(extra, "branches")} if isinstance(extra, Mapping) else told
    return rest(held, *_MAPPED)


def date_of(raw: object) -> object:
    """Return a date as SillyTavern writes it as seconds since 1970, any other one as it is.

    >>> date_of("May 1, 2024 10:05am"), date_of("2024-05-01 @10h 05m 00s 000ms")
    (1714557900.0, 1714557900.0)
    """
    text = re.sub(r"\s+|\d+ms$", "", raw) if isinstance(raw, str) else ""
    if text.isdecimal() and len(text) < _DIGITS_MAX:
        return int(text)
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return raw
