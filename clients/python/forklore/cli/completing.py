"""What the shell completes at the Tab key. Nothing here may fail, or keep a shell waiting."""

import os
import re
from collections.abc import Iterator
from itertools import islice

import typer

from forklore.cli.registering import PREFIX

NAMES_MAX = 100
SECONDS = 2.0
_PLAIN = re.compile(r"[\w.@%+=:,/-]+")
"""What a shell takes as it is. It would read other characters of a name as its own."""
ROLES = ("user", "ai", "system")


def names(context: typer.Context, incomplete: str) -> list[str]:
    """Return names of the user's that begin with a text. Without a service there are none."""
    try:
        return list(_names(context, incomplete))
    except (Exception, SystemExit):  # noqa: BLE001 (a message would stand in the line that is typed)
        return []


def commands(context: typer.Context, incomplete: str) -> list[str]:
    """Return the commands that begin with a text."""
    above = context.parent
    known = [] if above is None else above.command.list_commands(above)  # type: ignore[attr-defined]
    return [name for name in known if name.startswith(incomplete)]


def roles(incomplete: str) -> list[str]:
    """Return the roles that begin with a text."""
    return [role for role in ROLES if role.startswith(incomplete)]


def _names(context: typer.Context, incomplete: str) -> Iterator[str]:
    from forklore.cli.connecting import chosen, connected

    above = context.parent.params if context.parent is not None else {}
    given = {**above, **{name: held for name, held in context.params.items() if held}}
    options = {name.removeprefix(PREFIX): held for name, held in given.items() if isinstance(held, str)}
    client = connected(chosen(options, os.environ), makes=False)
    with client.with_options(timeout=SECONDS, deadline=SECONDS, retries=0) as hurried:
        found = [one.name for one in islice(hurried.names(incomplete or None), NAMES_MAX)]
    yield from (name for name in found if _PLAIN.fullmatch(name))
