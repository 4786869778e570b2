"""Members of a file's records as the types that a reader expects, whatever they are."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Any

from forklore.client import jsontext

TOKENS_MAX = 2**50
"""More would not be taken as a sum."""


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


def numbered(name: str, times: Counter[str], taken: Container[str]) -> str:
    """Return the first of `a`, `a~2`, `a~3`, … that is not taken. times: how often each was asked.

    >>> numbered("a", Counter(), {"a"})
    'a~2'
    """
    while True:
        times[name] += 1
        found = name if times[name] == 1 else f"{name}~{times[name]}"
        if found not in taken:
            return found


def json_in(raw: Any) -> Any:
    """Return what a text is as JSON; None for anything else.

    >>> json_in('[1]'), json_in('no'), json_in(None)
    ([1], None, None)
    """
    try:
        return jsontext.read(raw) if isinstance(raw, str) else None
    except ValueError:
        return None


def renamed(raw: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an object whose members have other names, such as usage in the words of Anthropic.

    >>> renamed({"input": 3, "cost": 1}, {"input": "input_tokens"})
    {'input_tokens': 3, 'cost': 1}
    """
    return {names.get(name, name): value for name, value in mapped(raw).items()}


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


def usage_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `usage` of an entry, as its source tells it in the words of providers; or nothing.

    Tokens of the input count with those of the cache. Anthropic tells them apart; OpenAI, and what
    answers in its words, has added them.

    >>> told = {"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 2}
    >>> usage_of({"source": {"metadata": {"usage": told}}})
    {'usage': {'inputTokens': 8, 'outputTokens': 2, 'cachedInputTokens': 5}}
    >>> told = {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}
    >>> usage_of({"source": {"usage": told}})
    {'usage': {'inputTokens': 3, 'cachedInputTokens': 1}}
    """
    source = mapped(content.get("source"))
    about = mapped(source.get("metadata"))
    told = mapped(source.get("usage") or about.get("usage"))
    if not told:  # as of most entries
        return {}
    details = mapped(told.get("prompt_tokens_details") or told.get("input_tokens_details"))
    written, cached = (_count(told, f"cache_{one}_input_tokens") for one in ("creation", "read"))
    given = _count(told, "input_tokens", "prompt_tokens")
    if given is not None and "input_tokens" in told and not details:
        given += (written or 0) + (cached or 0)
    usage = {
        "inputTokens": given,
        "outputTokens": _count(told, "output_tokens", "completion_tokens"),
        "cachedInputTokens": _count(details, "cached_tokens") if cached is None else cached,
    }
    held = {name: number for name, number in usage.items() if number is not None}
    return {"usage": held} if held else {}


def _count(told: Mapping[str, Any], *names: str) -> int | None:
    counts = (told.get(name) for name in names)
    return next((one for one in counts if type(one) is int and 0 <= one <= TOKENS_MAX), None)
