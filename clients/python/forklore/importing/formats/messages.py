"""Reads messages as the APIs of models take them, and ShareGPT's.

`[{"role", "content"}, …]`, `{"messages": [{"role", "content"}, …]}`, or a message on each line; in
ShareGPT `{"conversations": [{"from", "value"}, …]}`. Each message follows the one before it.

The items of OpenAI's Responses, such as `function_call`, may stand among the messages. A message
without an id is known by all up to it: so a list that has grown adds what is new. Lists of one id
are told apart by their order in the file.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.client import jsontext
from forklore.importing.checks import time_of, without_halves
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.framework_messages import is_of_framework, plain
from forklore.importing.members import listed, mapped, objects, parts_in, text_in
from forklore.importing.plain_conversations import GAP, Conversation, Message, rest

_TIMES = ("created_at", "createdAt", "timestamp", "created", "time", "date")
_MAPPED = (
    *("role", "from", "content", "value", "name", "tool_calls", "function_call", "tool_call_id", "is_error"),
    *("reasoning_content", "reasoning"),
)
_RESULTS = ("tool", "function", "observation")
_ITEMS = ("_call", "_output")
_TEXTS = ("text", "input_text", "output_text")
_GIVEN = ("arguments", "input", "action")
_THREADS = (
    *("sessionId", "session_id", "conversationId", "conversation_id", "convId"),
    *("topicId", "threadId", "thread_id"),
)
"""Members by which messages of several conversations in one list are told apart."""
_PARENTS = ("parent", "parentId", "parent_id", "parentMessageId", "parent_message_id")
_IDS = ("id", "conversation_id", "custom_id")


def is_messages(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a message, or a list of messages."""
    held = value.get("messages", value.get("conversations"))
    return _is_message(value) if held is None else any(map(_is_message, listed(held)))


def _is_message(raw: object) -> bool:
    return isinstance(raw, Mapping) and (
        is_of_framework(raw)
        or _is_item(raw)
        or (isinstance(raw.get("role"), str) and ("content" in raw or "tool_calls" in raw))
        or (isinstance(raw.get("from"), str) and isinstance(raw.get("value"), str))
    )


def _is_item(raw: Mapping[str, Any]) -> bool:
    """Tell whether a record is an item of a response that is no message."""
    kind = str(raw.get("type"))
    is_call = kind.endswith(_ITEMS) and not raw.keys().isdisjoint(("call_id", "id"))
    return is_call or (kind == "reasoning" and "summary" in raw)


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each list of messages, and one for all messages that stand alone."""
    alone: list[Any] = []
    for record in records:
        value = record.value
        if _is_message(value):
            alone.append(value)
        elif isinstance(value, list):
            yield from _conversations_of({"messages": value}, record.place, report)
        elif isinstance(value, Mapping):
            yield from _conversations_of(value, record.place, report)
        else:
            report.add(Reason.OTHER_RECORD, record.place)
    if alone:
        yield from _conversations_of({"messages": alone}, "the file", report)


def _conversations_of(raw: Mapping[str, Any], place: str, report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a list of messages, or each of several that they name."""
    name = "messages" if "messages" in raw else "conversations"
    threads: dict[str, list[Any]] = {}
    for message in listed(raw.get(name)):
        named = [text_in(mapped(message).get(one)) for one in _THREADS]
        threads.setdefault("/".join(filter(None, named)), []).append(message)
    for thread, held in threads.items() if len(threads) > 1 else ():
        head = {"id": thread} if thread else rest(raw, name)
        yield _conversation_of({**rest(raw, name), **head, name: held}, place, report)
    if len(threads) <= 1:
        yield _conversation_of(raw, place, report)


def _conversation_of(raw: Mapping[str, Any], place: str, report: ImportReport) -> Conversation:
    held = listed(raw.get("messages", raw.get("conversations")))
    system = raw.get("system")
    if isinstance(system, str | list) and system:
        held = [{"role": "system", "content": system}, *held]
    messages: list[Message] = []
    key = ""
    held = [more for message in held for more in plain(message)]
    above = _parents_of(held)
    for number, message in enumerate(held, start=1):
        if not _is_message(message):
            kind = mapped(message).get("type")
            if isinstance(kind, str):
                report.add(Reason.OTHER_RECORD, f"{kind}, {number} of {place}")
            else:
                report.add(Reason.NOT_A_MESSAGE, f"message {number} of {place}")
            continue
        named, is_item = message.get("id"), _is_item(message)
        key = digest_of([key, message])
        messages.append(
            Message(
                id=f"{number}",
                key=text_in(named) or key,
                parent=above[number] if number in above else messages[-1].id if messages else None,
                role=role_of_item(message) if is_item else _role_of(message),
                author={} if is_item or _role_of(message) in _RESULTS else {"name": message.get("name")},
                said=said_in_item(message) if is_item else said_in(message),
                at=message.get(_time_name(message)),
                source=_about(message),
            )
        )
    ids = [name for name in _IDS if isinstance(raw.get(name), str | int) and raw[name] != ""]
    return Conversation(
        id=str(raw[ids[0]]) if ids else None,
        may_repeat=True,
        place=place,
        messages=messages,
        title=raw.get("title"),
        created_at=raw.get(_time_name(raw)),
        about=rest(raw, "messages", "conversations", "system", "title", *ids[:1], _time_name(raw)),
    )


def _parents_of(held: list[Any]) -> dict[int, str | None]:
    """Return the parents of messages by their numbers, if they name them by their ids."""
    numbers = {
        str(message["id"]): number
        for number, message in enumerate(held, start=1)
        if isinstance(message, Mapping) and isinstance(message.get("id"), str | int)
    }
    found: dict[int, str | None] = {}
    for number, message in enumerate(held, start=1):
        named = next((one for one in _PARENTS if one in mapped(message)), None)
        if named is not None:
            above = numbers.get(str(message[named]))
            found[number] = None if above is None else f"{above}"
    return found if any(above is not None for above in found.values()) else {}


def _role_of(message: Mapping[str, Any]) -> Any:
    return message.get("role", message.get("from"))


def _about(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message tells beside what it says. A number is no id, and stays."""
    about = about_item(message) if _is_item(message) else rest(message, *_MAPPED)
    return rest(about, _time_name(message), *(("id",) if text_in(message.get("id")) else ()))


def _time_name(raw: Mapping[str, Any]) -> str:
    """Return the member that tells when it was: the first that is a time, or else the first."""
    named = [name for name in _TIMES if raw.get(name)]
    return next((name for name in named if time_of(raw[name])), named[0] if named else "")


def digest_of(value: Any) -> str:
    """Return a text that only the same value has, as a key."""
    return hashlib.sha256(jsontext.write(without_halves(value)).encode()).hexdigest()[:32]


def said_in(message: Mapping[str, Any]) -> list[str | dict[str, Any]]:
    """Return what a message says, in its order."""
    content = message.get("content", message.get("value"))
    result_of = message.get("tool_call_id")
    if _role_of(message) == "function_call" and isinstance(call := parsed(content), Mapping):
        return [{"type": "tool_use", "name": call.get("name"), "input": call.get("arguments")}]
    if _role_of(message) in _RESULTS:
        name = message.get("name")
        failed = {"is_error": True} if message.get("is_error") is True else {}
        return [{"type": "tool_result", "tool_use_id": result_of, "name": name, "content": content, **failed}]
    thought = message.get("reasoning_content") or message.get("reasoning")
    said: list[str | dict[str, Any]] = []
    if isinstance(thought, str):
        said.append({"type": "thinking", "thinking": thought})
    said += map(_part_of, parts_in(content))
    calls = [*listed(message.get("tool_calls")), {"function": message.get("function_call")}]
    for call in calls:
        function = mapped(call).get("function", call)
        if isinstance(function, Mapping):
            given = parsed(function.get("arguments", function.get("args", {})))
            said.append(
                {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": given}
            )
    return said


def said_in_item(item: Mapping[str, Any]) -> list[str | dict[str, Any]]:
    """Return what an item of a model's response says, in its order."""
    held = str(item.get("type"))
    if held == "message":
        return [_part_of(part) for part in parts_in(item.get("content"))]
    if held == "reasoning":
        thought = [*listed(item.get("summary")), *listed(item.get("content"))]
        texts = [str(part.get("text", "")) for part in objects(thought)]
        return [{"type": "thinking", "thinking": GAP.join(texts)}] if any(texts) else []
    if held.endswith("_output"):
        return [{"type": "tool_result", "tool_use_id": item.get("call_id"), "content": item.get("output")}]
    if held.endswith("_call"):
        given: Any = next((item[name] for name in _GIVEN if item.get(name)), {})
        name = item.get("name") or held.removesuffix("_call")
        call_id = item.get("call_id", item.get("id"))
        use = {"type": "tool_use", "id": call_id, "name": name, "input": parsed(given)}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": item.get("output")}
        return [use, result] if item.get("output") else [use]
    return []


def about_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an item of a model's response tells beside what it says."""
    held = str(item.get("type"))
    if held == "message":
        return rest(item, "type", "role", "content")
    if held == "reasoning":
        return rest(item, "type", "summary", "content")
    if held.endswith("_output"):
        return rest(item, "type", "call_id", "output")
    given = [name for name in _GIVEN if item.get(name)]
    return rest(item, "type", "name", "call_id", "output", *given[:1])


def role_of_item(item: Mapping[str, Any]) -> Any:
    """Return whose an item of a model's response is."""
    held = str(item.get("type"))
    return item.get("role") if held == "message" else "tool" if held.endswith("_output") else "assistant"


def _part_of(part: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """Return a part: a text as such, with what else is told of it."""
    if isinstance(part, str):
        return part
    text = part.get("text")
    if not isinstance(text, str) or part.get("type", "text") not in _TEXTS:
        return dict(part)
    about = rest(part, "type", "text")
    return {"type": "text", "text": text, **about} if about else text


def parsed(value: Any) -> Any:
    """Return the object that a text is as JSON, else what was given."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return jsontext.read(value)
    except ValueError:
        return value
