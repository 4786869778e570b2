"""`forklore ls`: list conversations and names."""

import heapq
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

import typer

from forklore.cli.entries import used_at
from forklore.cli.exits import CommandError
from forklore.cli.output import Part, moment
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import ConversationDetails, Name
from forklore.client.messages import time_in

Mode = Literal["latest-fork", "current", "roots", "all"]
Order = Literal["used", "created"]
Ancestry = Literal["roots", "children", "all"]
Archived = Literal["exclude", "include", "only"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "ls", example="forklore ls --mode current -n 10", pages=True)
    def ls(
        shell: Shell,
        query: Annotated[
            str | None,
            typer.Argument(
                metavar="[TEXT]",
                help="Only titles with this text; with --names, only names that begin with it.",
                show_default=False,
            ),
        ] = None,
        number: Annotated[
            int | None, typer.Option("-n", "--number", min=1, metavar="N", help="At most N.")
        ] = None,
        names: Annotated[bool, typer.Option("--names", help="List your names instead.")] = False,
        everything: Annotated[
            bool, typer.Option("-a", "--all", help="All branches; this is --mode all.")
        ] = False,
        mode: Annotated[
            Mode | None, typer.Option("--mode", help="Which branches of a tree.", show_default=False)
        ] = None,
        order: Annotated[
            Order | None,
            typer.Option("--order", help="By last use, or the newest tree first.", show_default=False),
        ] = None,
        ancestry: Annotated[
            Ancestry | None,
            typer.Option(
                "--ancestry", help="Trees of their own, or those that others started.", show_default=False
            ),
        ] = None,
        archived: Annotated[
            Archived | None,
            typer.Option("--archived", help="Your archived trees, too, or only these.", show_default=False),
        ] = None,
        pinned: Annotated[
            bool, typer.Option("--pinned", help="Only what you have pinned, in your order.")
        ] = False,
        agent: Annotated[
            str | None, typer.Option("--agent", metavar="ID", help="Only those of this agent.")
        ] = None,
        tag: Annotated[
            str | None, typer.Option("--tag", metavar="KEY[:VALUE]", help="Only those with this tag.")
        ] = None,
        created_since: Annotated[
            str | None,
            typer.Option(
                "--created-since", metavar="TIME", help="Only those made since: 2026-11-28, or 7d, 12h."
            ),
        ] = None,
        by_origin: Annotated[
            bool, typer.Option("--by-origin", help="Sort by when each began, imported ones at their source.")
        ] = False,
    ) -> None:
        """List conversations, the tree that was used last first.

        An imported one was used when its last entry was said, until somebody goes on in it. A text
        is looked for in the titles of the branches that are listed, and of their roots. With
        --by-origin all are read before the first is shown.
        """
        if everything and mode not in (None, "all"):
            raise CommandError(f"--all and --mode {mode} exclude each other")
        chosen: dict[str, Any] = {
            "mode": "all" if everything else mode,
            "order": order,
            "ancestry": ancestry or ("all" if pinned else None),
            "archived": archived,
            "pinned": pinned or None,
            "query": query,
            "agent_id": agent,
            "tag": tag,
            "created_since": None if created_since is None else _stamp(created_since),
        }
        if names:
            others = [name for name, held in chosen.items() if held is not None and name != "query"]
            if others or by_origin:
                raise CommandError("--names goes without the other filters")
            _names(shell, islice(shell.client.names(query), number))
            return
        listed: Iterable[ConversationDetails] = shell.client.conversations(**chosen)
        if by_origin:
            listed = sorted(listed, key=_began, reverse=True)
        elif order != "created" and not pinned:
            listed = by_use(listed)
        show_conversations(shell, islice(listed, number), by_origin=by_origin)


def _stamp(time: str) -> str:
    """Return the time that `--created-since` names as the service takes it. Raises CommandError."""
    from forklore.cli.session_files import time_of

    at = time_of(time, datetime.now(UTC), option="--created-since").astimezone(UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def show_conversations(
    shell: Shell, shown: Iterable[ConversationDetails], *, by_origin: bool = False
) -> None:
    """Write a list of conversations."""
    if shell.out.is_json:
        shell.out.results(shown)
        return
    rows = (_row(one, moment(_began(one) if by_origin else used_at(one, one.updated_at))) for one in shown)
    shell.out.table(("", "id", "began" if by_origin else "updated", "access", "title"), rows)


def _began(one: ConversationDetails) -> str:
    """Return when a conversation began: an imported one at its source, if that is known."""
    return time_in(one.metadata.get("source"), "createdAt") or one.created_at


def by_use(listed: Iterable[ConversationDetails]) -> Iterator[ConversationDetails]:
    """Yield what the service lists by last use, imported ones by when they were used there.

    The others stay in the service's order. No imported one was used there later than the service
    says, so a conversation waits only for those that the service lists before it.
    """
    waiting: list[tuple[float, int, ConversationDetails]] = []
    seen_to = float("inf")
    for number, one in enumerate(listed):
        used = _seconds(one.last_used_at)
        seen_to = min(seen_to, used)
        heapq.heappush(waiting, (-min(seen_to, _seconds(used_at(one, one.last_used_at))), number, one))
        while waiting and -waiting[0][0] >= seen_to:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _row(one: ConversationDetails, at: str) -> tuple[Part, ...]:
    title = one.title if one.title is not None else one.last_message_preview or ""
    mark = ("*", "green") if one.is_current else ""
    marks = [mark for mark, holds in (("archived", one.archived), ("pinned", one.pinned)) if holds]
    return (mark, (one.id, "yellow"), at, ", ".join([one.access_level, *marks]), title)


def _names(shell: Shell, names: Iterable[Name]) -> None:
    if shell.out.is_json:
        shell.out.results(names)
        return
    rows = ((one.name, (one.conversation_id, "yellow"), _state(one)) for one in names)
    shell.out.table(("name", "conversation", "updated"), rows)


def _state(one: Name) -> Part:
    return ("deleted", "red") if one.deleted else moment(one.updated_at)
