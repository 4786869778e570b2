"""`forklore show`: a conversation, or one entry in full."""

from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.entries import INDENT, author_part, text_to_show, used_at
from forklore.cli.output import Output, Part, moment
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_of
from forklore.cli.registering import command
from forklore.cli.saving import saved
from forklore.cli.shell import Shell
from forklore.client import jsontext
from forklore.client.generated.results import AttachedFile, ConversationDetails, Entry
from forklore.client.messages import said_at, time_in
from forklore.client.spoken import text_in


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "show",
        example="forklore show trip -1",
        pages=True,
        context_settings={"ignore_unknown_options": True},  # for -1; read_reference refuses others
    )
    def show(
        shell: Shell,
        conversation: ConversationArgument,
        entry: Annotated[
            str | None,
            typer.Argument(
                metavar="[ENTRY]", help="An entry's id, @KEY, or -1 for the last one.", show_default=False
            ),
        ] = None,
        save: Annotated[
            Path | None,
            typer.Option("--save", metavar="DIR", help="Save the attachments in this folder instead."),
        ] = None,
    ) -> None:
        """Show a conversation, or one entry of it in full; or save the files that go with it."""
        asked = shell.conversation(conversation)
        if save is not None:
            asked.resolve()  # a name that does not exist would show nothing
            entries = asked.entries(channel="history") if entry is None else [entry_of(asked, entry)]
            for one in saved(shell, entries, save):
                if shell.out.is_json:
                    shell.out.result(one)
                else:
                    shell.out.line(one["path"])
            return
        if entry is not None:
            found = entry_of(asked, entry)
            if shell.out.is_json:
                shell.out.result(found)
            else:
                _entry(shell.out, found)
            return
        details = asked.details()
        if shell.out.is_json:
            shell.out.result(details)
        else:
            _conversation(shell.out, details)


def _conversation(out: Output, one: ConversationDetails) -> None:
    forked: Part | None = None
    if one.forked_at_conversation_id:
        place = f" {one.forked_at_position} {one.forked_at_entry_id}" if one.forked_at_entry_id else ""
        forked = f"{one.forked_at_conversation_id}{place}"
    tags = " ".join(f"{name}:{value}" if value else name for name, value in sorted(one.tags.items()))
    sums = one.metrics
    source = one.metadata.get("source")
    began = time_in(source, "createdAt")
    out.fields(
        [
            ("id", (one.id, "yellow")),
            ("title", one.title),
            ("owner", one.owner_user_id),
            ("access", one.access_level),
            ("current", "yes" if one.is_current else "no"),
            ("agent", one.agent_id),
            ("tags", tags or None),
            ("metadata", jsontext.write(one.metadata) if one.metadata else None),
            ("created", moment(began or one.created_at)),
            ("updated", moment(used_at(one, one.updated_at))),
            ("imported", moment(one.created_at) if began or time_in(source, "saidAt") else None),
            ("forked from", forked),
            ("started by", one.started_by_conversation_id),
            ("entries", str(sums.entries)),
            ("tokens", f"{sums.input_tokens} in, {sums.output_tokens} out"),
            ("cost", f"{sums.cost_usd} USD"),
            ("last message", one.last_message_preview),
        ]
    )


def _entry(out: Output, one: Entry) -> None:
    merged = one.merged_from_conversation_id
    copied = one.copied_from_conversation_id
    out.fields(
        [
            ("id", (one.id, "yellow")),
            ("conversation", one.conversation_id),
            ("key", one.key),
            ("author", author_part(one)),
            ("created", moment(said_at(one))),
            ("imported", moment(one.created_at) if said_at(one) != one.created_at else None),
            ("channel", one.channel if one.epoch is None else f"{one.channel}, epoch {one.epoch}"),
            ("content type", one.content_type),
            ("usage", jsontext.write(one.usage) if one.usage else None),
            ("merged from", f"{merged} up to {one.merged_up_to_entry_id or 'its end'}" if merged else None),
            ("copied from", f"{copied} {one.copied_from_entry_id}" if copied else None),
            *(("attachment", _attached(file)) for file in one.attachments),
            ("more", _more(one)),
        ]
    )
    out.line()
    out.text(text_to_show(one), indent=INDENT if out.is_terminal else "")


def _attached(file: AttachedFile) -> Part:
    return f"{file.name} {file.content_type} {file.size} {file.id}"


def _more(one: Entry) -> str | None:
    """Return what a message holds besides its author, its text and its attachments, as JSON."""
    told = {"role", "text", *(["attachments"] if one.attachments else [])}
    elements = [element for element in one.content if text_in(element) is not None]
    more = [{k: v for k, v in element.items() if k not in told} for element in elements]
    return " ".join(jsontext.write(held) for held in more if held) or None
