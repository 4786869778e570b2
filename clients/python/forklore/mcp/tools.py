"""The tools: each is a method, whose docstring and annotations are what an agent reads.

A tool acts on what its caller names, and on nothing that a conversation says. Each write has the
id of its call: repeated with the same id, it has one effect.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import AfterValidator, Field

from forklore.client.errors import InputError, NotFoundError
from forklore.client.generated.results import ConversationDetails
from forklore.client.generated.synchronous.client import Forklore
from forklore.client.generated.synchronous.conversation import Conversation
from forklore.client.questions import HITS, asked
from forklore.client.retrying import NOT_FOUND
from forklore.mcp import answers

ROWS, ROWS_MAX = 20, 50
ADDRESS = re.compile(
    rf"{answers.CONVERSATIONS}(?P<conversation>[^/?#]+)(/entries/(?P<entry>[^/?#]+))?(\?[^#]*)?"
)
"""Of a conversation, or of an entry, as a resource."""
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

Call = Context[Any, Any]


def _no_id(name: str) -> str:
    """Return a name. Raises ValueError for one that would be read as an id."""
    if UUID.fullmatch(name):
        raise ValueError("a name does not look like an id")
    return name


def _conversation_in(text: str) -> str:
    """Return the id in an address that an answer has shown. Any other text stays.

    >>> _conversation_in("forklore://conversations/4487c9fa?before=01b3"), _conversation_in("trip")
    ('4487c9fa', 'trip')
    """
    found = ADDRESS.fullmatch(text)
    return found["conversation"] if found else text


def _entry_in(text: str) -> str:
    """Return the id in the address of an entry. Any other text stays.

    >>> _entry_in("forklore://conversations/4487c9fa/entries/01a2"), _entry_in("01a2")
    ('01a2', '01a2')
    """
    found = ADDRESS.fullmatch(text)
    return (found and found["entry"]) or text


Reference = Annotated[
    str,
    Field(min_length=1, max_length=255, description="The conversation's id, or your name for it."),
    AfterValidator(_conversation_in),
]
Name = Annotated[
    str,
    Field(min_length=1, max_length=255, description="A name, by which you find it again."),
    AfterValidator(_no_id),
]
EntryId = Annotated[
    str, Field(min_length=1, max_length=150, description="The id of an entry."), AfterValidator(_entry_in)
]
Limit = Annotated[int, Field(ge=1, le=ROWS_MAX, description="How many at the most.")]
Page = Annotated[str | None, Field(max_length=10_000, description="What the last page named to go on.")]
CallId = Annotated[
    str,
    Field(
        min_length=8,
        max_length=100,
        pattern="^[!-~]+$",
        description="A new random id of this call, such as a UUID. If its answer is lost, repeat the "
        "call with the same id: it has one effect.",
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=200_000, description="What is said.")]
ForkedBefore = Annotated[EntryId | None, Field(description="Fork before this entry, which leaves it out.")]
ForkedAfter = Annotated[EntryId | None, Field(description="Fork after this entry, which is kept.")]


def _tags_of(client: Forklore, row: ConversationDetails) -> Mapping[str, str]:
    """Return the tags of a session. A fork that was made here has those of its tree's root."""
    if "program" in row.tags or row.forked_at_conversation_id is None:
        return row.tags
    forks = client.conversation(row.id).forks()
    return next((one.tags for one in forks if one.forked_at_conversation_id is None), row.tags)


class Tools:
    """The tools. client_of: returns the client of who calls."""

    def __init__(self, client_of: Callable[[Call], Forklore]) -> None:
        self._client_of = client_of

    def search_conversations(
        self,
        call: Call,
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=500,
                description='Words to rank by, or a question. +word and "some words" must be found.',
            ),
        ],
        conversation_id: Reference | None = None,
        limit: Limit = ROWS,
        page: Page = None,
    ) -> answers.Search:
        """Find entries by words, the best first, in all your conversations or in one.

        Of one conversation only what it shows is searched, not what its siblings say.
        """
        client = self._client_of(call)
        within = None if conversation_id is None else _open(client, conversation_id).id
        answer = client.api.search_conversations(
            query=query, conversation_id=within, limit=limit, after_cursor=page, search_type="fulltext"
        )
        found = [answers.found(hit) for hit in answer.data]
        return answers.Search(found=found, more=answer.after_cursor, complete=answer.complete)

    def recall(
        self,
        call: Call,
        question: Annotated[str, Field(min_length=1, max_length=500, description="What you want to know.")],
        conversation_id: Reference | None = None,
        around: Annotated[
            int, Field(ge=0, le=3, description="So many exchanges on each side, beside its own.")
        ] = 0,
        limit: Annotated[int, Field(ge=1, le=ROWS, description="How many at the most.")] = HITS,
    ) -> answers.Memory:
        """Recall what was said about something: the exchanges that answer a question best.

        With conversation_id, what its siblings say is not seen: a fork that went another way never
        answers. Without, all your conversations are. What a user has said comes with its answers.
        """
        client = self._client_of(call)
        within = None if conversation_id is None else _open(client, conversation_id).id
        answer = client.api.search_conversations(
            query=asked(question), conversation_id=within, limit=limit, around=around
        )
        return answers.Memory(
            recalled=[answers.recalled(hit) for hit in answer.data], complete=answer.complete
        )

    def list_conversations(
        self,
        call: Call,
        branches_of: Annotated[
            Reference | None, Field(description="List all branches of this conversation's fork tree.")
        ] = None,
        title: Annotated[
            str | None, Field(min_length=1, max_length=500, description="Only those with this in the title.")
        ] = None,
        only: Annotated[
            Literal["pinned", "trash"] | None,
            Field(description="Only your pins, in your order; or deleted trees that you can restore."),
        ] = None,
        limit: Limit = ROWS,
        page: Page = None,
    ) -> answers.Conversations:
        """List your conversations, the one that was used last first: one branch of each fork tree.

        With branches_of, list all branches of its tree, the oldest first, and where they begin.
        """
        client = self._client_of(call)
        if sum(one is not None for one in (branches_of, title, only)) > 1:
            raise InputError("list branches, or by a title, or only some")
        if only == "trash":
            trash = client.api.list_trash(limit=limit, after_cursor=page)
            return answers.Conversations(
                conversations=[answers.trashed(one) for one in trash.data], more=trash.after_cursor
            )
        if branches_of is not None:
            forks = client.api.list_forks(_open(client, branches_of).id, limit=limit, after_cursor=page)
            return answers.Conversations(
                conversations=[answers.listed(one) for one in forks.data], more=forks.after_cursor
            )
        mine = client.api.list_conversations(
            query=title,
            pinned=True if only else None,
            ancestry="all" if only else None,
            limit=limit,
            after_cursor=page,
        )
        return answers.Conversations(
            conversations=[answers.listed(one) for one in mine.data], more=mine.after_cursor
        )

    def list_sessions(
        self,
        call: Call,
        program: Annotated[
            str | None,
            Field(pattern="^[a-z-]{2,30}$", description="Only of this program, such as codex."),
        ] = None,
        project: Annotated[
            str | None,
            Field(min_length=1, max_length=200, description="Only of a project's folder of this name."),
        ] = None,
        limit: Limit = ROWS,
        page: Page = None,
    ) -> answers.Conversations:
        """List sessions of agent programs, such as Claude Code and Codex, that were collected.

        Of each fork tree one branch is listed. With both filters a page may be short and have more.
        """
        client = self._client_of(call)
        tag = f"project:{project}" if project else f"program:{program}" if program else "program"
        found = client.api.list_conversations(tag=tag, limit=limit, after_cursor=page)
        rows = [answers.listed(one, _tags_of(client, one)) for one in found.data]
        rows = [one for one in rows if one.program and program in (None, one.program)]
        return answers.Conversations(conversations=rows, more=found.after_cursor)

    def resume_command(
        self,
        call: Call,
        conversation_id: Reference,
        program: Annotated[
            str | None,
            Field(pattern="^[a-z-]{2,30}$", description="The program to go on in; else its own."),
        ] = None,
    ) -> answers.Command:
        """Tell the command by which the user goes on with a conversation in an agent's program.

        Show it to the user. It runs on the machine where forklore's command line is set up.
        """
        opened = _open(self._client_of(call), conversation_id)
        opened.details()
        return answers.Command(
            command=f"forklore resume {opened.id}" + (f" --in {program}" if program else "")
        )

    def read_conversation(
        self,
        call: Call,
        conversation_id: Reference,
        entry_id: Annotated[EntryId | None, Field(description="Read this entry alone, whole.")] = None,
        before: Annotated[EntryId | None, Field(description="Read what is older than this entry.")] = None,
        after: Annotated[EntryId | None, Field(description="Read what follows this entry.")] = None,
        limit: Limit = ROWS,
    ) -> answers.Window:
        """Read what a conversation says, the newest entry first. `older` and `newer` lead on."""
        if sum(one is not None for one in (entry_id, before, after)) > 1:
            raise InputError("read an entry, or before one, or after one")
        client = self._client_of(call)
        opened = _open(client, conversation_id)
        if entry_id is not None:
            return answers.window(opened.id, [opened.entry(entry_id)], older=entry_id, text_max=None)
        page = client.api.list_entries(
            opened.id,
            channel="history",
            limit=limit,
            tail=True if before is None and after is None else None,
            before_cursor=before,
            after_cursor=after,
        )
        newer = None if after is None else page.after_cursor
        return answers.window(opened.id, page.data[::-1], older=page.before_cursor, newer=newer)

    def list_notes(
        self,
        call: Call,
        conversation_id: Reference,
        entry_id: Annotated[EntryId | None, Field(description="Only those on this entry.")] = None,
        limit: Limit = ROWS,
        page: Page = None,
    ) -> answers.Notes:
        """List what people and agents have noted on a conversation, in the order of its entries."""
        client = self._client_of(call)
        opened = _open(client, conversation_id)
        found = client.api.list_notes(opened.id, entry_id=entry_id, limit=limit, after_cursor=page)
        return answers.Notes(notes=[answers.noted(one) for one in found.data], more=found.after_cursor)

    def compare_conversations(
        self, call: Call, conversation_id: Reference, other: Reference, limit: Limit = ROWS
    ) -> answers.Compared:
        """Show where two branches of one fork tree part, and how each goes on."""
        client = self._client_of(call)
        opened, beside = _open(client, conversation_id), _open(client, other)
        return answers.compared(opened.compare(beside, limit=limit))

    def fork_conversation(
        self,
        call: Call,
        call_id: CallId,
        conversation_id: Reference,
        before_entry_id: ForkedBefore = None,
        after_entry_id: ForkedAfter = None,
        name: Annotated[Name | None, Field(description="A new name for the fork.")] = None,
    ) -> answers.Made:
        """Fork a conversation at an entry, or at its end. The original stays as it is."""
        anchor = _anchor(before_entry_id, after_entry_id)
        made = _open(self._client_of(call), conversation_id).fork(
            name=name, idempotency_key=call_id, **anchor
        )
        return answers.Made(conversation_id=made.id, name=name)

    def say(
        self,
        call: Call,
        call_id: CallId,
        text: Text,
        conversation_id: Annotated[
            Reference | None, Field(description="Where to say it; without it, a new conversation.")
        ] = None,
        role: Annotated[
            Literal["ai", "user"], Field(description="Whose words: yours (ai) or the user's. Default: ai.")
        ] = "ai",
        before_entry_id: ForkedBefore = None,
        after_entry_id: ForkedAfter = None,
        context: Annotated[
            list[Any] | None,
            Field(max_length=1_000, description="Your whole memory after it; for agents with a key."),
        ] = None,
    ) -> answers.Written:
        """Append a message. With before_entry_id or after_entry_id it begins a fork there."""
        client = self._client_of(call)
        anchor = _anchor(before_entry_id, after_entry_id)
        if conversation_id is None:
            if anchor:
                raise InputError("a fork needs the conversation that it is of")
            target = client.create(idempotency_key=call_id)
        else:
            target = _open(client, conversation_id)
            if anchor:
                target = target.fork(idempotency_key=call_id, **anchor)
            else:
                target.details()  # an append would make what is not there
        entry = target.turn(role, text, context=context, idempotency_key=call_id)
        return answers.Written(conversation_id=entry.conversation_id, entry_id=entry.id)

    def summarise_branch(
        self,
        call: Call,
        call_id: CallId,
        conversation_id: Annotated[Reference, Field(description="Where the summary is appended.")],
        branch: Annotated[Reference, Field(description="The branch of the same fork tree that it sums up.")],
        up_to_entry_id: Annotated[EntryId, Field(description="The last entry of the branch that it covers.")],
        text: Text,
    ) -> answers.Written:
        """Append a summary of another branch, with a link to it. Who reads one can read both."""
        client = self._client_of(call)
        entry = _open(client, conversation_id).say(
            "ai",
            text,
            merged_from_conversation_id=_open(client, branch).id,
            merged_up_to_entry_id=up_to_entry_id,
            idempotency_key=call_id,
        )
        return answers.Written(conversation_id=entry.conversation_id, entry_id=entry.id)

    def name_conversation(
        self,
        call: Call,
        call_id: CallId,
        conversation_id: Reference,
        name: Name,
        move: Annotated[bool, Field(description="Whether the name may exist already, and moves.")] = False,
    ) -> answers.Made:
        """Give a conversation a name of yours. Nobody else sees it."""
        client = self._client_of(call)
        named = client.api.set_name(
            name=name,
            conversation_id=_open(client, conversation_id).id,
            expect_revision=None if move else 0,
            idempotency_key=call_id,
        )
        return answers.Made(
            conversation_id=named.conversation_id,
            name=named.name,
            name_moved_from=named.previous_conversation_id,
        )

    def score_branches(
        self,
        call: Call,
        call_id: CallId,
        conversation_id: Reference,
        scores: Annotated[
            list[answers.Score],
            Field(min_length=1, max_length=40, description="Of branches of its fork tree, each once."),
        ],
    ) -> answers.Done:
        """Score branches of a fork tree, as tries of one task: of all of them or of none.

        A score replaces the one that a branch has. Everybody sees it who sees the branch.
        """
        client = self._client_of(call)
        opened = _open(client, conversation_id)
        rows = [{"conversationId": _open(client, one.branch).id, "score": one.score} for one in scores]
        client.api.set_scores(opened.id, scores=rows, idempotency_key=call_id)
        return answers.Done(conversation_id=opened.id, done=f"scored {len(rows)}")

    def add_note(
        self,
        call: Call,
        call_id: CallId,
        conversation_id: Reference,
        entry_id: Annotated[EntryId, Field(description="The entry that it is about.")],
        text: Annotated[
            str | None, Field(min_length=1, max_length=2_000, description="What you note on it.")
        ] = None,
        score: Annotated[
            float | None, Field(allow_inf_nan=False, description="How good it is: any number.")
        ] = None,
    ) -> answers.Done:
        """Note something on an entry: a text, a score, or both. It is no part of the conversation.

        Everybody sees it who sees the entry, in every branch that shows it.
        """
        opened = _open(self._client_of(call), conversation_id)
        opened.note(entry_id, text, score=score, idempotency_key=call_id)
        return answers.Done(conversation_id=opened.id, done="noted")

    def delete_conversation(
        self,
        call: Call,
        conversation_id: Annotated[
            str,
            Field(pattern=f"^({answers.CONVERSATIONS})?{UUID.pattern}$", description="Its id, not a name."),
            AfterValidator(_conversation_in),
        ],
        whole_tree: Annotated[bool, Field(description="Delete all branches, not only this one.")] = False,
    ) -> answers.Done:
        """Delete a branch for good, or a whole fork tree. Other branches keep what they show.

        A tree can be restored while list_conversations with only="trash" shows it.
        """
        opened = _open(self._client_of(call), conversation_id)
        if whole_tree:
            opened.delete_tree()
        else:
            opened.delete()
        return answers.Done(conversation_id=opened.id, done="deleted")

    def restore_conversation(self, call: Call, conversation_id: Reference) -> answers.Done:
        """Restore a deleted fork tree, with its members and names."""
        restored = _open(self._client_of(call), conversation_id).restore()
        return answers.Done(conversation_id=restored.id, done="restored")

    def share_conversation(
        self,
        call: Call,
        conversation_id: Reference,
        user_id: Annotated[str, Field(min_length=1, max_length=255, description="Who is let in.")],
        access_level: Annotated[
            Literal["reader", "writer", "manager"],
            Field(description="What they may do; managers also share and delete branches."),
        ],
    ) -> answers.Done:
        """Let another user read or write a whole fork tree, or change what a member may do."""
        opened = _open(self._client_of(call), conversation_id)
        opened.share(user_id, access_level)
        return answers.Done(conversation_id=opened.id, done=f"shared with {user_id}")


def _open(client: Forklore, reference: str) -> Conversation:
    """Return the conversation with an id or a name. Raises NotFoundError for no name."""
    if UUID.fullmatch(reference):
        return client.conversation(reference.lower())
    named = client.named(reference)
    try:
        named.resolve()
    except NotFoundError as error:
        if error.code != NOT_FOUND:
            raise
        said = f"{reference!r} is no id, and none of your names: each agent of a user has its own names"
        raise NotFoundError(said, code=NOT_FOUND) from error
    return named


def _anchor(before: str | None, after: str | None) -> dict[str, Any]:
    """Return where a fork begins, as `fork` takes it; empty: it is no fork, or one at the end."""
    given = {"before": before, "after": after}
    return {name: entry_id for name, entry_id in given.items() if entry_id is not None}
