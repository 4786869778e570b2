"""Reads a ChatGPT export: `conversations.json`, or one conversation of it.

A conversation holds a `mapping` of nodes, each with a `parent`, `children` and perhaps a `message`.
All branches are kept. Hidden messages, such as the system's own, are left out and counted.
`current_node` is the last message of the branch that was shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.cli.importing.chatgpt_content import element_of
from forklore.cli.importing.checks import is_unicode, kept, time_of, title_of
from forklore.cli.importing.growing import Node, grow
from forklore.cli.importing.records import Record
from forklore.cli.importing.values import Format, Reason, Report, Tree

_ABOUT = ("gizmo_id", "conversation_template_id", "default_model_slug", "is_archived", "is_starred")
"""Members of a conversation that are kept as metadata."""


def trees_of(records: Iterable[Record], report: Report) -> Iterator[Tree]:
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


def _tree_of(raw: Any, report: Report) -> Tree | None:
    mapping = raw.get("mapping") if isinstance(raw, Mapping) else None
    if not isinstance(mapping, Mapping):
        return None
    grown = grow(list(_nodes(mapping, report)), report)
    if not grown.messages:
        return None
    current = raw.get("current_node")
    times = {"createdAt": time_of(raw.get("create_time")), "updatedAt": time_of(raw.get("update_time"))}
    return Tree(
        _id_of(raw) or grown.messages[0].message_id,
        grown.messages,
        Format.CHATGPT,
        title=title_of(raw.get("title")),
        created_at=times["createdAt"],
        current=grown.index_of.get(current) if isinstance(current, str) else None,
        metadata=kept({**times, **{name: raw.get(name) for name in _ABOUT}}),
    )


def _nodes(mapping: Mapping[str, Any], report: Report) -> Iterator[Node]:
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


def _kept(node_id: str, message: Any, report: Report) -> dict[str, Any] | None:
    """Return the element to store for a node's message; None if it is left out."""
    if message is None:
        return None
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), Mapping):
        report.add(Reason.NOT_A_MESSAGE, node_id)
        return None
    element, lost_files = element_of(message)
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


_SETTINGS = ("user_editable_context", "model_editable_context")
"""Types of content that hold the user's settings, not messages."""
