"""Reads a ChatGPT export: `conversations.json`, or one conversation of it.

A conversation holds a `mapping` of nodes, each with a `parent`, `children` and perhaps a `message`.
All branches are kept. Hidden messages, such as the system's own, are left out and counted.
`current_node` is the last message of the branch that was shown.

The text of a message becomes `text`. Files become `attachments`: the export names them, and they
are not imported. What else its content holds, such as thoughts or the language of code, becomes one
of the `events`. All that the message says about itself stands in `source`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.cli.importing.checks import is_unicode, kept, time_of, title_of
from forklore.cli.importing.file_records import FileRecord
from forklore.cli.importing.foreign_trees import ForeignTree, Format, ImportReport, Reason
from forklore.cli.importing.growing import Node, grow

_ABOUT = ("gizmo_id", "conversation_template_id", "default_model_slug", "is_archived", "is_starred")
"""Members of a conversation that are kept as metadata."""
_SETTINGS = ("user_editable_context", "model_editable_context")
"""Types of content that hold the user's settings, not messages."""
_ROLES = {"user": "USER", "assistant": "AI", "system": "SYSTEM"}
"""Other roles, such as `tool`, have no counterpart: the entry has no `role`, `source` names it."""
_TEXTS = ("text", "result", "content")
"""Where the types of content other than `parts` have their text."""


def trees_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[ForeignTree]:
    """Yield a tree for each conversation that has messages. The others are reported."""
    for record in records:
        tree = _tree_of(record.value, report)
        if tree is None:
            report.add(Reason.NOT_A_CONVERSATION, _id_of(record.value) or record.place)
        else:
            yield tree


def _id_of(raw: Any) -> str | None:
    if not isinstance(raw, Mapping):
        return None
    ids = (raw.get("conversation_id"), raw.get("id"))
    return next((text for text in ids if isinstance(text, str) and text and is_unicode(text)), None)


def _tree_of(raw: Any, report: ImportReport) -> ForeignTree | None:
    mapping = raw.get("mapping") if isinstance(raw, Mapping) else None
    if not isinstance(mapping, Mapping):
        return None
    grown = grow(list(_nodes(mapping, report)), report)
    if not grown.messages:
        return None
    current = raw.get("current_node")
    times = {"createdAt": time_of(raw.get("create_time")), "updatedAt": time_of(raw.get("update_time"))}
    return ForeignTree(
        _id_of(raw) or grown.messages[0].message_id,
        grown.messages,
        Format.CHATGPT,
        title=title_of(raw.get("title")),
        created_at=times["createdAt"],
        current=grown.index_of.get(current) if isinstance(current, str) else None,
        metadata=kept({**times, **{name: raw.get(name) for name in _ABOUT}}),
    )


def _nodes(mapping: Mapping[str, Any], report: ImportReport) -> Iterator[Node]:
    """Yield the nodes; those below one node in the order of its `children`.

    A node's `parent` counts. Without one, the node that names it among its `children` is its
    parent.
    """
    named_by: dict[str, str] = {}
    order: dict[str, None] = {}
    for node_id, raw in mapping.items():
        children = raw.get("children") if isinstance(raw, Mapping) else None
        for child in children if isinstance(children, list) else ():
            if isinstance(child, str) and child in mapping:
                named_by.setdefault(child, node_id)
                order[child] = None
    parents = {node_id: _parent_of(raw) or named_by.get(node_id) for node_id, raw in mapping.items()}
    roots = [node_id for node_id, parent in parents.items() if parent is None]
    for node_id in dict.fromkeys([*roots, *order, *mapping]):
        raw, parent = mapping[node_id], parents[node_id]
        message = raw.get("message") if isinstance(raw, Mapping) else None
        yield Node(node_id, parent, _kept(node_id, message, report))


def _parent_of(raw: Any) -> str | None:
    parent = raw.get("parent") if isinstance(raw, Mapping) else None
    return parent if isinstance(parent, str) else None


def _kept(node_id: str, message: Any, report: ImportReport) -> dict[str, Any] | None:
    """Return the element to store for a node's message; None if it is left out."""
    if message is None:
        return None
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), Mapping):
        report.add(Reason.NOT_A_MESSAGE, node_id)
        return None
    element, lost_files = _element_of(message)
    metadata = message.get("metadata")
    is_hidden = isinstance(metadata, Mapping) and (
        metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    )
    if is_hidden or message["content"].get("content_type") in _SETTINGS:
        report.add(Reason.HIDDEN, node_id)
        return None
    if element is None:
        report.add(Reason.EMPTY, node_id)
    for _ in range(lost_files if element else 0):
        report.add(Reason.WITHOUT_FILE, node_id)
    return element


def _element_of(message: Mapping[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """Return the element to store, and how many files it names. None: there is nothing in it.

    message: has an object `content`.
    """
    content: Mapping[str, Any] = message["content"]
    raw_author, raw_about = message.get("author"), message.get("metadata")
    author: Mapping[str, Any] = raw_author if isinstance(raw_author, Mapping) else {}
    about: Mapping[str, Any] = raw_about if isinstance(raw_about, Mapping) else {}
    text, rest = _text_of(content)
    attachments = [*_files_in(content.get("parts")), *_files_beside(about.get("attachments"))]
    events = [{"type": content.get("content_type"), **rest}] if rest else []
    if not (text or attachments or events):
        return None, 0
    role = author.get("role")
    recipient = message.get("recipient")
    source = {
        "createdAt": time_of(message.get("create_time")),
        "author": kept({**author, "role": None if _role(role) else role}),
        "recipient": None if recipient == "all" else recipient,
        "channel": message.get("channel"),
        "metadata": kept({name: value for name, value in about.items() if name != "attachments"}),
    }
    element = {
        "role": _role(role),
        "text": text,
        "attachments": attachments,
        "events": events,
        "source": kept(source),
    }
    return kept(element), len(attachments)


def _role(role: Any) -> str | None:
    return _ROLES.get(role) if isinstance(role, str) else None


def _text_of(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a content, and what else it holds beside text and files."""
    rest = {name: value for name, value in content.items() if name not in ("content_type", "parts")}
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [_text_of_part(part) for part in parts]
        others = [
            part for part, text in zip(parts, texts, strict=True) if text is None and not _pointer_of(part)
        ]
        return "\n".join(text for text in texts if text), kept({**rest, "parts": others})
    for name in _TEXTS:
        if isinstance(rest.get(name), str):
            text = rest.pop(name)
            return text, kept(rest) if text else {}
    return "", kept(rest)


def _text_of_part(part: Any) -> str | None:
    """Return the text of a part: text, or the words of a recording."""
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _pointer_of(part: Any) -> str | None:
    """Return the name of the file that a part stands for."""
    pointer = part.get("asset_pointer") if isinstance(part, Mapping) else None
    return pointer if isinstance(pointer, str) and pointer else None


def _files_in(parts: Any) -> Iterator[dict[str, Any]]:
    for part in parts if isinstance(parts, list) else ():
        pointer = _pointer_of(part)
        if pointer is not None:
            yield {"attachmentId": pointer, "source": dict(part)}


def _files_beside(attachments: Any) -> Iterator[dict[str, Any]]:
    for attachment in attachments if isinstance(attachments, list) else ():
        if isinstance(attachment, Mapping):
            names = (attachment.get("id"), attachment.get("name"))
            name = next((name for name in names if isinstance(name, str) and name), None)
            if name is not None:
                yield {"attachmentId": name, "source": dict(attachment)}
