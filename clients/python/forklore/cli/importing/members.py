"""Members of a file's records as the types that a reader expects, whatever they are."""

from collections.abc import Iterator, Mapping
from typing import Any


def listed(raw: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return raw if isinstance(raw, list) else []


def mapped(raw: Any) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return raw if isinstance(raw, dict) else {}


def objects(raw: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list."""
    return [one for one in listed(raw) if isinstance(one, dict)]


def parts_in(raw: Any) -> list[str | Mapping[str, Any]]:
    """Return the parts of a content, which is one or a list of them: texts and objects.

    Another value but null becomes an object.

    >>> parts_in(["a", {"type": "image"}, 5, None]), parts_in("a")
    (['a', {'type': 'image'}, {'type': 'value', 'value': 5}], ['a'])
    """
    held = raw if isinstance(raw, list) else [raw]
    return [
        one if isinstance(one, str | dict) else {"type": "value", "value": one}
        for one in held
        if one is not None and one != ""
    ]


def text_in(*raw: Any) -> str:
    """Return the first that is a text and not empty; else an empty one."""
    return next((one for one in raw if isinstance(one, str) and one), "")


def with_parents(nodes: Mapping[str, Any], parent: str, children: str) -> Iterator[tuple[str, str | None]]:
    """Yield each node with its parent; those below one node in the order in which that names them.

    parent: the member that names it. Without that, it is the first node that names this one in its
    list `children`.

    >>> nodes = {"a": {"below": ["c", "b"]}, "b": {"above": "a"}, "c": None}
    >>> list(with_parents(nodes, "above", "below"))
    [('a', None), ('c', 'a'), ('b', 'a')]
    """
    named: dict[str, str] = {}
    for node_id, raw in nodes.items():
        for child in listed(mapped(raw).get(children)):
            if isinstance(child, str) and child in nodes:
                named.setdefault(child, node_id)
    above = {node_id: text_in(mapped(nodes[node_id]).get(parent)) or named.get(node_id) for node_id in nodes}
    roots = [node_id for node_id in nodes if above[node_id] is None]
    for node_id in dict.fromkeys([*roots, *named, *nodes]):
        yield node_id, above[node_id]
