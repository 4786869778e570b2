"""Generates `forklore/client/arguments.py`: what methods hand on to the operation under them."""

from typing import NamedTuple

from forklore_service.api.operations import ALL
from tools.client.operations import optional_arguments

HEAD = '''"""What methods hand on to the operation under them, for type checkers and completion.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypedDict
'''


class _Handed(NamedTuple):
    """The arguments of an operation that a method takes under their own names.

    but: those that it does not take, because it has a word of its own for them. with_: of an
    operation that takes several kinds of bodies, a member of the kind that is meant.
    """

    method: str
    operation: str
    but: str = ""
    with_: str | None = None


_PAGES = "limit after_cursor"
_SAID = "key usage if_match idempotency_key"
HANDED = (
    _Handed("say", "appendEntry", _SAID, "content"),
    _Handed("turn", "appendEntry", f"context {_SAID}", "content"),
    _Handed("append", "appendEntry", with_="content"),
    _Handed("append_all", "appendEntry", with_="entries"),
    _Handed("fork", "forkConversation", "at_entry_id count name promote"),
    _Handed("entries", "listEntries", f"channel before_cursor tail {_PAGES}"),
    _Handed("update", "updateConversation"),
    _Handed("merge", "mergeConversation"),
    _Handed("copy", "copyConversation"),
    _Handed("create", "createConversation"),
    _Handed("conversations", "listConversations", _PAGES),
    _Handed("search", "searchConversations", _PAGES),
)


def arguments_module() -> str:
    """Return the text of the module."""
    return "\n\n".join([HEAD, *map(_typed_dict, HANDED)])


def _typed_dict(handed: _Handed) -> str:
    name = handed.method.title().replace("_", "")
    operation = next(one for one in ALL if one.name == handed.operation)
    taken = optional_arguments(operation, with_=handed.with_)
    but = {*handed.but.split()}
    assert but <= taken.keys(), f"{handed.operation} takes no {but - taken.keys()}"
    members = (f"    {one}: {kind} | None" for one, kind in taken.items() if one not in but)
    head = (
        f"class {name}Arguments(TypedDict, total=False):",
        f'    """What `{handed.method}` takes beside its own arguments."""\n',
    )
    return "\n".join([*head, *members]) + "\n"
