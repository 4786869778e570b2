"""What a command has at hand: the settings, a client, and the output."""

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from forklore.cli.connecting import chosen, connected
from forklore.cli.escaping import visible
from forklore.cli.output import Output
from forklore.cli.pager import pager_of
from forklore.cli.references import id_with, is_id, is_part
from forklore.cli.settings import FIELDS, PROFILE, OverHttp, Target, started_by
from forklore.client.errors import ApiError, NotFoundError, is_forklores

if TYPE_CHECKING:
    from forklore.client.generated.results import Name
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.client.generated.synchronous.conversation import Conversation


PAGE_ROWS = 200
NEWEST_MAX = 1_000
"""Among so many conversations, with their branches, an id is found by a part of it."""


class Shell:
    """One run of a command.

    options: the options that all commands share, by name. pages: long output goes through a pager.
    makes: a folder of data that does not exist is made.
    """

    def __init__(self, options: Mapping[str, Any], *, pages: bool = False, makes: bool = False) -> None:
        self._makes = makes
        self._given = {name: options[name] for name in (*FIELDS, PROFILE) if options.get(name)}
        self._client: Forklore | None = None
        self._steps: list[dict[str, Any]] = []
        is_terminal = sys.stdout.isatty()
        is_json = bool(options.get("json"))
        may_page = pages and is_terminal and not options.get("no_pager")
        plain = bool(options.get("no_color") or os.environ.get("NO_COLOR")) or is_json
        self.out = Output(
            is_json=is_json,
            is_terminal=is_terminal,
            has_colours=is_terminal and not plain and os.environ.get("TERM") != "dumb",
            pager=pager_of(os.environ) if may_page else None,
        )

    @property
    def target(self) -> Target:
        """The service that the settings name. Raises SettingsError."""
        return chosen(self._given, os.environ)

    @property
    def client(self) -> "Forklore":
        """A client of the service. Raises SettingsError and InputError."""
        if self._client is None:
            self._client = connected(self.target, makes=self._makes)
        return self._client

    @property
    def hint(self) -> str:
        """What to add where no answer came: the address, and how to start a server."""
        target = self.target
        if not isinstance(target, OverHttp):
            return ""
        start = started_by(target.url)
        return f" ({target.url}{f': `{start}` starts a local server' if start else ''})"

    def conversation(self, reference: str, *, trashed: bool = False) -> "Conversation":
        """Return the conversation that a name, an id or a part of an id stands for.

        trashed: it may be deleted. A part is one of an id in the trash.
        Only for what can be a part of an id something is sent. A name that is spelled like one goes
        first. Raises CommandError if no id among the newest has this part, or several have it.
        """
        if is_id(reference):
            return self.client.conversation(reference.lower())
        if trashed and (held := self.held(reference)):
            return self.client.conversation(held.conversation_id)
        named = self.client.named(reference)
        if not is_part(reference):
            return named
        try:
            named.resolve()
        except NotFoundError as error:
            if not is_forklores(error):
                raise
        else:
            return named
        if trashed:
            ids = (one.id for one in self.client.trash())
            return self.client.conversation(id_with(reference, ids, "your trash, and is no name"))
        newest = self.client.conversations(
            mode="all", order="created", ancestry="all", archived="include", page_rows=PAGE_ROWS
        )
        ids = (one.id for one in islice(newest, NEWEST_MAX))
        found = id_with(reference, ids, f"your newest {NEWEST_MAX:,} conversations, and is no name")
        return self.client.conversation(found)

    def current_branch(self, conversation: "Conversation") -> str | None:
        """Return the current branch of a conversation's fork tree, if it is found in one page.

        It only tells how a choice is undone, so an error is no reason not to choose.
        """
        with suppress(ApiError):
            page = islice(conversation.forks(), PAGE_ROWS)
            return next((one.conversation_id for one in page if one.is_current), None)
        return None

    def say(self, line: str) -> None:
        """Write a line for people to standard error, such as what was done."""
        sys.stderr.write(visible(line) + "\n")

    def held(self, name: str) -> "Name | None":
        """Return a name of the user's; None for a new one."""
        try:
            return self.client.api.look_up_name(name=name)
        except NotFoundError as error:
            if not is_forklores(error):
                raise
            return None

    def point(self, name: str, held: "Name | None", conversation_id: str) -> "Name":
        """Point a name to a conversation, and tell how that is undone. held: what it is so far.

        Raises ConflictError if somebody else moves it meanwhile.
        """
        made = self.client.api.set_name(
            name=name, conversation_id=conversation_id, expect_revision=held.revision if held else 0
        )
        if held is None:
            self.note("name", name=name, was=None, now=conversation_id)
        elif held.conversation_id != conversation_id:
            self.say_where_it_was(name, held.conversation_id, conversation_id, deleted=bool(held.deleted))
        return made

    def note(self, what: str, **step: Any) -> None:
        """Remember a change for `forklore undo`. what, step: as of `undoing.Step`."""
        self._steps.append({"what": what, **step})

    def say_where_it_was(
        self, name: str, was: str, now: str | None, *, deleted: bool = False, data: Any = None
    ) -> None:
        """Tell how a move of a name is undone.

        now: None if the name is deleted; data: what it had then. deleted: whether what it pointed
        to is deleted.
        """
        self.note("name", name=name, was=was, now=now, data=data)
        if not deleted:
            self.say(f"{name} was at {was}: `{self.line('name', name, was)}`")

    def say_what_was_current(self, was: str, now: str) -> None:
        """Tell how the choice of another current branch is undone."""
        self.note("current", was=was, now=now)
        self.say(f"{was} was the current branch: `{self.line('switch', was)}`")

    def line(self, command: str, *arguments: str) -> str:
        """Return a command line for the same service. It shows no token and no API key."""
        options = [
            word
            for name, value in self._given.items()
            if name not in ("token", "client_key")
            for word in (f"--{name}", str(value))
        ]
        if any(one.startswith("-") for one in arguments):
            return shlex.join(["forklore", command, *options, "--", *arguments])
        return shlex.join(["forklore", command, *arguments, *options])

    def close(self) -> None:
        """Stop the client and wait for the pager."""
        try:
            if self._steps:
                from forklore.cli.undoing import note  # only what changes something needs it

                note(self, self._steps)
            self.out.close()
        finally:
            if self._client is not None:
                with suppress(BrokenPipeError):
                    self._client.close()
