"""What a command has at hand: the settings, a client, and the output."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from forklore.cli.connecting import chosen, connected
from forklore.cli.output import Output
from forklore.cli.paging import pager_of
from forklore.cli.references import is_id
from forklore.cli.settings import FIELDS, PROFILE, OverHttp, Target, started_by
from forklore.cli.visible import visible

if TYPE_CHECKING:
    from forklore.client.synchronous.client import Forklore
    from forklore.client.synchronous.conversation import Conversation


class Shell:
    """One run of a command.

    options: the options that all commands share, by name. pages: long output goes through a pager.
    makes: a folder of data that does not exist is made.
    """

    def __init__(self, options: Mapping[str, Any], *, pages: bool = False, makes: bool = False) -> None:
        self._makes = makes
        self._given = {name: options[name] for name in (*FIELDS, PROFILE) if options.get(name)}
        self._client: Forklore | None = None
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
        """What to add to the message that no answer came: the address, and how to start a server."""
        target = self.target
        if not isinstance(target, OverHttp):
            return ""
        start = started_by(target.url)
        return f" ({target.url}{f': `{start}` starts a local server' if start else ''})"

    def conversation(self, reference: str) -> "Conversation":
        """Return the conversation that a name or an id stands for. Nothing is sent yet."""
        if is_id(reference):
            return self.client.conversation(reference.lower())
        return self.client.named(reference)

    def say(self, line: str) -> None:
        """Write a line for people to standard error, such as what was done."""
        sys.stderr.write(visible(line) + "\n")

    def close(self) -> None:
        """Stop the client and wait for the pager."""
        try:
            self.out.close()
        finally:
            if self._client is not None:
                with suppress(BrokenPipeError):
                    self._client.close()
