# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""A conversation to talk in."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any, Literal, Unpack, overload

from forklore.client import jsontext
from forklore.client.calls import id_of_child, new_key
from forklore.client.errors import (
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    UnexpectedAnswerError,
)
from forklore.client.files import FileGiven
from forklore.client.generated import results
from forklore.client.generated.arguments import (
    AppendAllArguments,
    AppendArguments,
    CopyConversation,
    CopyTree,
    CreateLink,
    Described,
    EntriesArguments,
    ForkArguments,
    Keyed,
    MergeArguments,
    SayArguments,
    TurnArguments,
    UpdateConversation,
    Written,
)
from forklore.client.generated.limits import APPEND_ENTRIES_MAX, FORKS_AT_ONCE, SCORES_AT_ONCE
from forklore.client.generated.operations import Operations
from forklore.client.generated.synchronous.answers import Answer
from forklore.client.generated.synchronous.context import CONTENT_TYPE, Context
from forklore.client.generated.synchronous.files import named
from forklore.client.generated.synchronous.pages import Page, Pages, refuse_paging
from forklore.client.generated.synchronous.watching import Watch
from forklore.client.memory import Base
from forklore.client.messages import Role, Said, elements, id_of, message
from forklore.client.omitted import OMITTED, Omitted
from forklore.client.questions import HITS, asked
from forklore.client.result_base import wire_name
from forklore.client.retrying import NOT_FOUND
from forklore.client.spoken import HISTORY
from forklore.client.trees import Tree, Way, ways_beside

PAGE_ENTRIES, PAGE_ENTRIES_MAX, PAGE_ROWS = 100, 1_000, 200
INVALID_CURSOR = "invalid_cursor"
"""The service's code for an entry that a list does not show."""
IS_MEMBER = "already_member"
"""The service's reason not to let somebody in twice."""
DESCRIPTION = tuple(Described.__annotations__)
"""What an append says of the conversation that it makes, but for a name of `OF_ENTRY`."""
OF_ENTRY = frozenset({*Written.__annotations__, "content_type", "content", "key", "usage"})
"""What an append of one entry says of the entry."""
NAME_MOVED = "name_moved"
"""The service's reason not to move a name that somebody has moved."""
Level = Literal["manager", "writer", "reader"]
Children = Literal["include", "keep"]


class Conversation:
    """One conversation. Nothing is sent before the first call.

    A conversation that is named by a name is looked up at the first call. From then on the object
    stands for that conversation, wherever the name moves later.

    conversation_id: None for the one that `name` points to. born: the fields that its first append
    has, which makes it.
    """

    __slots__ = ("_api", "_born", "_id", "_is_made", "_name", "_unanswered", "context")

    def __init__(
        self,
        api: Operations,
        conversation_id: str | None,
        *,
        name: str | None = None,
        born: Mapping[str, Any] | None = None,
    ) -> None:
        self._api = api
        if conversation_id is None and not (isinstance(name, str) and name):
            raise InputError(f"a name is text, not {name!r}", details={"field": "name"})
        self._id = conversation_id
        self._name = name
        self._born = dict(born or {})
        self._is_made = born is None
        self._unanswered: set[str] = set()
        self.context = Context(api, self._resolve_shown, self._resolve_made)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._id or self._name!r})"

    @property
    def id(self) -> str:
        """The conversation's id.

        Raises InputError for a name that nothing has been asked about yet: call `resolve` first.
        """
        if self._id is None:
            raise InputError(f"what {self._name!r} points to is known after the first call")
        return self._id

    @property
    def name(self) -> str | None:
        """The name that the conversation was asked for by."""
        return self._name

    def resolve(self) -> str:
        """Return the conversation's id; look the name up if it is not known yet.

        Raises NotFoundError for a name that does not exist, or whose conversation is gone: its next
        entry makes one.
        """
        if self._id is None:
            assert self._name is not None
            named = self._api.look_up_name(name=self._name)
            if named.deleted:
                raise NotFoundError(f"what {self._name!r} pointed to is gone", code=NOT_FOUND)
            self._id = named.conversation_id
        return self._id

    def exists(self) -> bool:
        """Tell whether there is such a conversation that the caller may see."""
        try:
            self.details()
        except ForbiddenError:
            return False
        except NotFoundError as error:
            if error.code != NOT_FOUND:
                raise
            return False
        return True

    def _resolve_shown(self) -> str | None:
        """Return the id; None for a name that `resolve` does not find. It shows nothing."""
        try:
            return self.resolve()
        except NotFoundError as error:
            if error.code != NOT_FOUND:  # others on the way have a 404 of their own
                raise
            return None

    def _resolve_made(self) -> str:
        self._is_made = self._is_made or self.exists()
        if not self._is_made:
            raise InputError("the child has no entry yet, and its first entry makes it")
        return self._resolve_shown() or self._make_named()

    def _make_named(self) -> str:
        """Make an empty conversation for a name that `resolve` does not find, and return its id.

        If somebody is faster, it is theirs, and the empty one stays without a name.
        """
        assert self._name is not None
        made = self._api.create_conversation()
        try:
            gone = self._api.look_up_name(name=self._name)
        except NotFoundError as error:
            if error.code != NOT_FOUND:
                raise
            revision = 0
        else:
            revision = gone.revision if gone.deleted else 0
        try:
            self._api.set_name(name=self._name, conversation_id=made.id, expect_revision=revision)
        except ConflictError as error:
            if error.reason != NAME_MOVED:
                raise
        return self.resolve()

    # Writing

    def say(
        self,
        role: Role,
        text: Said,
        *,
        files: Sequence[FileGiven] = (),
        key: str | None = None,
        usage: Mapping[str, Any] | None = None,
        if_last: results.Entry | str | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[SayArguments],
    ) -> results.AppendedEntry:
        """Append a message and return it. The conversation is made if it does not exist.

        role: `user`, `ai`, `system` or `tool`. text: or a list of parts, as providers of models
        send them. files: what goes with it, as `Forklore.upload` takes it, or is uploaded
        already; the entry has them in `attachments`. key: a name of the entry's own, unique in the
        conversation. if_last: append only behind this entry. more: other arguments of
        `append_entry`, such as `metadata`, which is the entry's own.
        Raises InputError for a title or tags of a conversation that exists, unless the call has an
        idempotency key: it may repeat the one that made the conversation.
        Raises ConflictError if another entry has the key, or if `if_last` is not the last one.
        """
        content = message(role, text)
        if files:
            content[0]["attachments"] = named(self._api, files)
        return self._append_one(
            {
                "content_type": HISTORY,
                "content": content,
                "key": key,
                "usage": usage,
                "idempotency_key": idempotency_key,
                **_bound_to(if_last),
                **more,
            }
        )

    def turn(
        self,
        role: Role,
        text: Said,
        *,
        files: Sequence[FileGiven] = (),
        context: Sequence[Any] | None = None,
        content_type: str = CONTENT_TYPE,
        based_on: Base = OMITTED,
        key: str | None = None,
        usage: Mapping[str, Any] | None = None,
        if_last: results.Entry | str | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[TurnArguments],
    ) -> results.AppendedEntry:
        """Append a message together with the agent's whole present memory, in one transaction.

        No fork ever shows one without the other. What became of the memory is in `context` of what
        is returned. based_on: as of `context.sync`. The other arguments are those of `say`.
        Raises ConflictError with the reason `context_moved` if the memory would replace another one
        than that which it is based on. Then the message is not appended either. Raises InputError
        for `based_on` without `context`.
        """
        if context is None and based_on is not OMITTED:
            raise InputError("based_on is about a context, and there is none", details={"field": "based_on"})
        memory = None if context is None else self.context.present(context, content_type, based_on)
        with jsontext.called("context", context):
            appended = self.say(
                role,
                text,
                files=files,
                key=key,
                usage=usage,
                if_last=if_last,
                idempotency_key=idempotency_key,
                context=memory,
                **more,
            )
        if context is not None:
            self.context.written(context, appended.context)
        return appended

    def answer(
        self,
        *,
        after: results.Entry | str | None = None,
        agent_id: str | None = None,
        take_over: bool | None = None,
    ) -> Answer:
        """Return an answer that is written piece by piece: `with chat.answer() as answer`.

        after: the entry that it follows; without it the last one of the history. agent_id: who
        answers. take_over: which other one it ends, beside a silent one. None: one of the same user
        and client; True: any, such as that of another client that is gone; False: none.
        """
        after_id = None if after is None else id_of(after)
        return Answer(self._api, self, after=after_id, agent_id=agent_id, take_over=take_over)

    def append(
        self,
        content: Sequence[Any],
        *,
        content_type: str = HISTORY,
        if_last: results.Entry | str | None = None,
        **more: Unpack[AppendArguments],
    ) -> results.AppendedEntry:
        """Append one entry with any content. if_last: as of `say`.

        more: other arguments of `append_entry`.
        """
        fields = {"content_type": content_type, "content": elements(content)}
        return self._append_one({**fields, **_bound_to(if_last), **more})

    def append_all(
        self,
        entries: Sequence[Mapping[str, Any]],
        *,
        if_last: results.Entry | str | None = None,
        **more: Unpack[AppendAllArguments],
    ) -> tuple[results.Entry, ...]:
        """Append up to 50 entries, all or none, in order. if_last: as of `say`.

        entries: their fields under the names of the API: `contentType`, `content`, `channel`, …
        more: other arguments of `append_entry`.
        """
        appended = self._append({"entries": elements(entries, "entries"), **_bound_to(if_last), **more})
        if not isinstance(appended, results.Entries):
            raise UnexpectedAnswerError("the answer to several entries holds one")
        return appended.data

    def _append_one(self, fields: dict[str, Any]) -> results.AppendedEntry:
        appended = self._append(fields)
        if isinstance(appended, results.AppendedEntry):
            return appended
        if len(appended.data) != 1:
            raise UnexpectedAnswerError("the answer to one entry holds several")
        return results.AppendedEntry(**vars(appended.data[0]), context=appended.context)

    def _append(self, fields: dict[str, Any]) -> results.Appended:
        """Append by the id, or by the name while the id is not known. Both make what is missing.

        What was sent by the name and has no answer may be where the name pointed then. So it is
        sent by the name again.
        """
        self._refuse_description(fields)
        key = fields.get("idempotency_key")
        if self._id is None or key in self._unanswered:
            assert self._name is not None
            key = new_key() if key is None else key
            self._require_name()
            self._unanswered.add(key)
            fields = {**fields, "idempotency_key": key}
            appended = self._api.append_entry_by_name(name=self._name, **fields)
            self._unanswered.discard(key)
            first = appended.data[0] if isinstance(appended, results.Entries) else appended
            self._id = self._id or first.conversation_id
            return appended
        appended = self._api.append_entry(self._id, **_with_birth(fields, self._born))
        self._is_made = True
        return appended

    def _refuse_description(self, fields: Mapping[str, Any]) -> None:
        """Raise InputError for a title, tags or metadata if the conversation exists.

        Its append would not change them. One with a key of the caller's is let through: it may
        repeat the one that made the conversation.
        """
        names = DESCRIPTION if "entries" in fields else [name for name in DESCRIPTION if name not in OF_ENTRY]
        told = next((name for name in names if fields.get(name) is not None), None)
        if told and fields.get("idempotency_key") is None and self.exists():
            raise InputError(
                f"the conversation exists, and an append does not change its {told}: use update",
                details={"field": told},
            )

    def _require_name(self) -> None:
        """Raise InputError if the name has moved since it was asked about first.

        An entry that was sent by the name then is here, or would be appended elsewhere now.
        """
        if self._id is None or self._name is None:
            return
        named = self._api.look_up_name(name=self._name)
        if named.conversation_id != self._id:
            raise InputError(
                f"{self._name!r} points elsewhere since the entry was sent by it: look whether it is here",
                details={"field": "idempotency_key"},
            )

    # Forks and children

    @overload
    def fork(
        self,
        entry: results.Entry | str | Omitted = OMITTED,
        /,
        *,
        before: results.Entry | str | Omitted = OMITTED,
        after: results.Entry | str | Omitted = OMITTED,
        count: None = None,
        name: str | None = None,
        move_name: bool = False,
        promote: bool | None = None,
        **more: Unpack[ForkArguments],
    ) -> "Conversation": ...

    @overload
    def fork(
        self,
        entry: results.Entry | str | Omitted = OMITTED,
        /,
        *,
        before: results.Entry | str | Omitted = OMITTED,
        after: results.Entry | str | Omitted = OMITTED,
        count: int,
        name: str | None = None,
        **more: Unpack[ForkArguments],
    ) -> "list[Conversation]": ...

    def fork(
        self,
        entry: results.Entry | str | Omitted = OMITTED,
        /,
        *,
        before: results.Entry | str | Omitted = OMITTED,
        after: results.Entry | str | Omitted = OMITTED,
        count: int | None = None,
        name: str | None = None,
        move_name: bool = False,
        promote: bool | None = None,
        **more: Unpack[ForkArguments],
    ) -> "Conversation | list[Conversation]":
        """Fork before or after an entry, without both at the head; nothing is copied.

        entry: the same as `after`. count: makes so many equal forks, and returns a list of them; up
        to 10 are made at once, all or none. name: a new name, which points to the fork from then
        on. With `count` the forks are made one by one, and `trip` gives `trip-1`, `trip-2`, ….
        move_name: `name` may exist, and moves; without `name` that of this object does. promote:
        the fork becomes the current branch. more: other arguments of `fork_conversation`.
        Raises ConflictError with the reason `name_moved` for a name that exists, and InputError for
        both `before` and `after`, for one of them and `position`, for None as one of them, and for
        `move_name` without any name, or with `count`.
        """
        given = [one for one in (before, after, entry) if not isinstance(one, Omitted)]
        if len(given) > 1:
            raise InputError("a fork is before an entry or after one, not both")
        taken = self._name if move_name and name is None else name
        if move_name and taken is None:
            raise InputError("the conversation was not asked for by a name", details={"field": "move_name"})
        if move_name and count is not None:
            raise InputError("a name moves to one fork, not to several", details={"field": "move_name"})
        revision = {} if move_name else {"expectRevision": 0}
        if given == [None]:
            raise InputError("a fork at the head has neither before nor after, and None is no entry")
        if given:
            if "position" in more:
                raise InputError("before and after say the position", details={"field": "position"})
            more["position"] = "after" if before is OMITTED else "before"
        fields: dict[str, Any] = {
            "at_entry_id": id_of(given[0]) if given else None,
            "name": None if taken is None else {"name": taken, **revision},
            "promote": promote,
            **more,
        }
        if count is not None and (count > FORKS_AT_ONCE or (count > 1 and taken is not None)):
            return self._fork_often(count, fields, name=taken)
        several = None if count == 1 else count  # the service takes 2 and more
        forked = self._api.fork_conversation(self.resolve(), count=several, **fields)
        if isinstance(forked, results.Conversations):
            return [Conversation(self._api, one.id) for one in forked.data]
        made = Conversation(self._api, forked.id, name=taken)
        return made if count is None else [made]

    def _fork_often(self, count: int, fields: dict[str, Any], *, name: str | None) -> "list[Conversation]":
        """Make more equal forks than the service makes at once, or some with names: one by one.

        The idempotency keys follow from one. At the head, those of a later request would differ if
        something came between, so it is bound to what the first ones show.
        """
        own = fields.pop("idempotency_key", None)
        key = new_key() if own is None else own
        is_at_head = fields["at_entry_id"] is None and fields.get("at_key") is None
        made: list[Conversation] = []
        while left := count - len(made):
            each = None if name is None else f"{name}-{len(made) + 1}"
            several = ceil(left / ceil(left / FORKS_AT_ONCE))  # never one alone
            chosen = {"count": several} if each is None else {"name": {"name": each, "expectRevision": 0}}
            try:
                forked = self._api.fork_conversation(
                    self.resolve(), idempotency_key=f"{key}-{left}", **{**fields, **chosen}
                )
            except ApiError as error:
                error.idempotency_key = key
                raise
            forks = forked.data if isinstance(forked, results.Conversations) else (forked,)
            if is_at_head:
                fields["if_match"] = fields.get("if_match") or forks[0].forked_at_entry_id
            made += [Conversation(self._api, one.id, name=each) for one in forks]
        return made

    def start_child(
        self,
        agent_id: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 (the field's own name)
        key: str | None = None,
        by: results.Entry | str | None = None,
        title: str | None = None,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Conversation":
        """Return a child conversation, which its first entry makes. agent_id: who works in it.

        id: of one's own, a UUID. key: names the child among those of this conversation; its id is
        made of both. With either, a run that is repeated finds the child of the first one.
        by: the entry that starts it.
        Raises InputError for both `id` and `key`, and for what they cannot be.
        """
        parent_id = self.resolve()
        child_id = id_of_child(parent_id, id, key)
        born = {
            "started_by_conversation_id": parent_id,
            "started_by_entry_id": None if by is None else id_of(by),
            "agent_id": agent_id,
            "title": title,
            "tags": tags,
            "metadata": metadata,
        }
        return Conversation(self._api, child_id, born=born)

    def children(self, *, by: results.Entry | str | None = None) -> Pages[results.ConversationDetails]:
        """Return the child conversations, the oldest first. by: only those of this entry."""
        started_by = None if by is None else id_of(by)

        def fetch(cursor: str | None) -> Page[results.ConversationDetails]:
            page = self._api.list_children(
                self.resolve(), started_by_entry_id=started_by, limit=PAGE_ROWS, after_cursor=cursor
            )
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def forks(self) -> Pages[results.Fork]:
        """Return the conversations of the fork tree, the oldest first."""

        def fetch(cursor: str | None) -> Page[results.Fork]:
            page = self._api.list_forks(self.resolve(), limit=PAGE_ROWS, after_cursor=cursor)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def ancestors(self) -> tuple[results.Ancestor, ...]:
        """Return the conversations whose entries this one shows, the oldest first, and itself."""
        return (self._api.list_ancestors(self.resolve())).data

    # Reading

    def entries(
        self,
        *,
        backward: bool = False,
        channel: Literal["history", "context"] | None = None,
        after: results.Entry | str | None = None,
        page_entries: int = PAGE_ENTRIES,
        **more: Unpack[EntriesArguments],
    ) -> Pages[results.ListedEntry]:
        """Return what the conversation shows, the oldest first; with `backward` the newest first.

        A name that does not exist yet shows nothing.
        channel: None shows users the history, and agents their own context as well. after: only
        what follows this entry; not with `backward`. more: other arguments of `list_entries`.
        """
        refuse_paging(more, "page_entries, backward and after say this")
        if backward and after is not None:
            raise InputError("backward begins at the end, so it goes without after")
        begin = None if after is None else id_of(after)

        def forward(cursor: str | None) -> Page[results.ListedEntry]:
            shown = self._resolve_shown()
            if shown is None:
                return Page((), None)
            page = self._api.list_entries(
                shown,
                channel=channel,
                limit=page_entries,
                after_cursor=begin if cursor is None else cursor,
                **more,
            )
            return Page(page.data, page.after_cursor)

        def back(cursor: str | None) -> Page[results.ListedEntry]:
            shown = self._resolve_shown()
            if shown is None:
                return Page((), None)
            page = self._api.list_entries(
                shown,
                channel=channel,
                limit=page_entries,
                tail=True if cursor is None else None,
                before_cursor=cursor,
                **more,
            )
            return Page(page.data[::-1], page.before_cursor)

        return Pages(back if backward else forward)

    def history(
        self,
        *,
        backward: bool = False,
        after: results.Entry | str | None = None,
        page_entries: int = PAGE_ENTRIES,
        **more: Unpack[EntriesArguments],
    ) -> Pages[results.ListedEntry]:
        """Return what people see of the conversation: `entries` with the channel `history`."""
        return self.entries(
            backward=backward, channel=HISTORY, after=after, page_entries=page_entries, **more
        )

    def tree(self) -> Tree:
        """Return the history of the whole fork tree: each entry and each branch, the oldest first.

        `parent_id` of an entry is that of the one before it, `last_entry_id` of a branch the last
        one that it shows. The branches are listed first, so that these entries are there.
        """
        branches = self.forks().list()
        entries = self.history(all_forks=True, page_entries=PAGE_ENTRIES_MAX).list()
        return Tree(entries, branches)

    def ways(self, entry: results.Entry | str) -> list[Way]:
        """Return the ways on from the place just before a history entry: its own, and all others.

        Each with its tokens, cost, time, failures and score, by which tries are compared.
        Raises NotFoundError if no branch shows the entry in its history.
        """
        branches = self.forks().list()
        lines = self.history(all_forks=True, view="line", page_entries=PAGE_ENTRIES_MAX).list()
        return ways_beside(Tree(lines, branches), id_of(entry))

    def watch(
        self,
        *,
        after: results.Entry | str | Omitted | None = OMITTED,
        channel: Literal["history", "context"] | None = None,
    ) -> Watch:
        """Return what is new, as it comes: `for new in chat.watch()`. It has no end.

        It is an entry, or an answer in progress with its new parts.
        after: begin behind this entry, or with None at the beginning; without it, behind the last
        entry of now. channel: as of `entries`.
        A connection that is lost meanwhile is no end. Each step raises the error of a caller who
        may not see the conversation, or not any more.
        """
        begin = after if isinstance(after, Omitted) or after is None else id_of(after)
        return Watch(self._api, self.resolve, after=begin, channel=channel)

    def last(self) -> results.ListedEntry | None:
        """Return the last entry of the history; None without any."""
        return self.history(backward=True, page_entries=1).first()

    def entry(self, entry_id: str) -> results.Entry:
        """Return one entry that the conversation shows."""
        return self._api.get_entry(self.resolve(), entry_id)

    def entry_of(self, key: str) -> results.Entry:
        """Return the entry that the conversation shows under a key of its author's."""
        return self._api.look_up_entry(self.resolve(), key=key)

    def alternatives_of(self, entry: results.Entry | str) -> "list[Conversation]":
        """Return the conversations that go on differently just before a history entry.

        Raises NotFoundError if the conversation does not show the entry in its history.
        """
        entry_id = id_of(entry)
        try:
            page = self._api.list_entries(
                self.resolve(),
                channel=HISTORY,
                up_to_entry_id=entry_id,
                tail=True,
                limit=APPEND_ENTRIES_MAX,
                alternatives=True,
            )
        except BadRequestError as error:
            if error.code != INVALID_CURSOR:
                raise
            raise NotFoundError(f"the history shows no entry {entry_id!r}", code=NOT_FOUND) from error
        shown = next((one for one in page.data if one.id == entry_id), None)
        if shown is None:
            raise NotFoundError(f"the history shows no entry {entry_id!r}", code=NOT_FOUND)
        return [Conversation(self._api, one) for one in shown.alternatives or ()]

    def compare(
        self,
        other: "Conversation | str",
        *others: "Conversation | str",
        limit: int | None = None,
    ) -> results.Comparison:
        """Return where two or more conversations part, and how each goes on: first this one.

        other, others: of the same fork tree. limit: entries of each, up to 1,000. The base is the
        last history entry that all of them show. With several it takes a request for each.
        """
        here = self.resolve()
        found = [
            self._api.compare_conversations(here, with_=_resolved(one), limit=limit)
            for one in (other, *others)
        ]
        first = min(found, key=lambda one: one.base.entry_id or "")
        branches = [first.branches[0]]
        for one in found:
            theirs = one.branches[1]
            if one.base != first.base:  # it parts from this one later than another does
                page = self._api.list_entries(
                    theirs.conversation_id,
                    channel=HISTORY,
                    after_cursor=first.base.entry_id,
                    limit=limit,
                )
                theirs = replace(theirs, data=page.data, after_cursor=page.after_cursor)
            branches.append(theirs)
        return replace(first, branches=tuple(branches))

    # The conversation as a whole

    def details(self) -> results.ConversationDetails:
        """Return the conversation: its title, owner, tags, metrics, and so on."""
        return self._api.get_conversation(self.resolve())

    def update(self, **fields: Unpack[UpdateConversation]) -> results.ConversationDetails:
        """Replace title, tags or metadata. fields: arguments of `update_conversation`.

        A title of None is taken away.
        """
        return self._api.update_conversation(self.resolve(), **fields)

    def set_scores(self, scores: Mapping[str, float | None]) -> None:
        """Score branches of this fork tree: the number `score` in the metadata of each.

        scores: by the ids of the branches; None takes a score away. Up to 40 are scored at once,
        all or none, and more one portion after the other.
        """
        tree = self.resolve()
        rows = [{"conversationId": one, "score": score} for one, score in scores.items()]
        for start in range(0, len(rows), SCORES_AT_ONCE):
            self._api.set_scores(tree, scores=rows[start : start + SCORES_AT_ONCE])

    def recall(
        self,
        question: str,
        *,
        limit: int = HITS,
        around: int | None = None,
        min_score: float | None = None,
    ) -> tuple[results.Hit, ...]:
        """Return the entries that fit a question best, of those that this conversation shows.

        What only a sibling says is not found, and counts nothing. By meaning and words where the
        service has a model, else by words. Marks demand nothing: to demand words, `search`. A name
        that does not exist yet shows nothing. around, min_score: as of `Forklore.recall`.
        """
        conversation_id = self._resolve_shown()
        if conversation_id is None:
            return ()
        page = self._api.search_conversations(
            query=asked(question),
            conversation_id=conversation_id,
            limit=limit,
            around=around,
            min_score=min_score,
        )
        return page.data

    def merge(self, other: "Conversation | str", **more: Unpack[MergeArguments]) -> tuple[results.Entry, ...]:
        """Append copies of what another branch shows and this one does not have; return them.

        more: `after_entry_id`, `up_to_entry_id`, `again`, `with_context`, and the others of
        `merge_conversation`. The memory that `with_context` brings is read by `context.latest`.
        Raises TooLargeError for more than 50 entries; nothing is merged in parts by itself.
        """
        merged = self._api.merge_conversation(self.resolve(), from_conversation_id=_resolved(other), **more)
        return merged.data

    def copy(self, **more: Unpack[CopyConversation]) -> "Conversation":
        """Copy the history into a tree of one's own. more: arguments of `copy_conversation`."""
        made = self._api.copy_conversation(self.resolve(), **more)
        return Conversation(self._api, made.id)

    def copy_tree(self, **more: Unpack[CopyTree]) -> "Conversation":
        """Copy the whole tree into one of one's own, and return the copy of this branch.

        more: arguments of `copy_tree`.
        """
        made = self._api.copy_tree(self.resolve(), **more)
        return Conversation(self._api, made.id)

    def promote(self) -> None:
        """Make this branch the current one of its fork tree."""
        self._api.promote_conversation(self.resolve())

    def point(self, name: str, *, expect_revision: int | None = None) -> results.Name:
        """Make a name point to this conversation. expect_revision: 0 for a name that must be new.

        Raises ConflictError if the name has another revision.
        """
        return self._api.set_name(name=name, conversation_id=self.resolve(), expect_revision=expect_revision)

    def delete(self) -> "Conversation":
        """Delete this branch. Other branches keep what they show; with the last one the tree goes.

        A name that points here stays: the next append by it makes a new conversation. Return the
        conversation by its id: its `restore` brings the branch back while it is in the trash.
        """
        return self._delete("branch", for_good=None)

    def delete_tree(self, *, for_good: bool | None = None) -> "Conversation":
        """Delete the whole fork tree, and every tree that was started from it.

        Return the conversation by its id: its `restore` brings all back while the tree is in the
        trash of the service. for_good: it is not put there, or is taken out.
        """
        return self._delete("tree", for_good=for_good)

    def _delete(self, scope: Literal["tree", "branch"], *, for_good: bool | None) -> "Conversation":
        deleted = Conversation(self._api, self.resolve())
        self._api.delete_conversation(deleted.id, scope=scope, for_good=for_good)
        return deleted

    def restore(self) -> results.ConversationDetails:
        """Bring a deleted fork tree back, with all that was deleted with it.

        Raises NotFoundError if it is not in the caller's trash any more, and ConflictError with
        `parent_deleted` if what started it is deleted.
        """
        return self._api.restore_conversation(self.resolve())

    def archive(self) -> None:
        """Leave the fork tree out of one's own lists of conversations. It holds for nobody else."""
        self._api.archive_conversation(self.resolve())

    def unarchive(self) -> None:
        """Take the fork tree out of one's archive."""
        self._api.unarchive_conversation(self.resolve())

    def pin(self, *, after: "Conversation | str | None" = None) -> None:
        """Pin the fork tree first among one's own pins. after: just after this pinned one.

        `conversations(pinned=True, ancestry="all")` lists the pins. It holds for nobody else.
        """
        before = None if after is None else _resolved(after)
        self._api.pin_conversation(self.resolve(), after_conversation_id=before)

    def unpin(self) -> None:
        """Take the fork tree out of one's pins."""
        self._api.unpin_conversation(self.resolve())

    def note(
        self,
        entry: results.Entry | str,
        text: str | None = None,
        *,
        score: float | None = None,
        **more: Unpack[Keyed],
    ) -> results.Note:
        """Write a note on an entry of the history: a text, a score, or both.

        Every branch that shows the entry shows it. It is no part of the history, and no context.
        """
        return self._api.add_note(self.resolve(), id_of(entry), text=text, score=score, **more)

    def notes(
        self, entry: results.Entry | str | None = None, *, all_forks: bool | None = None
    ) -> Pages[results.Note]:
        """Return the notes on all that the conversation shows, in the order of the entries.

        entry: only those on this one, the oldest first. all_forks: those of the whole fork tree.
        """
        of = None if entry is None else id_of(entry)

        def fetch(cursor: str | None) -> Page[results.Note]:
            here = self.resolve()
            page = self._api.list_notes(
                here, entry_id=of, all_forks=all_forks, limit=PAGE_ROWS, after_cursor=cursor
            )
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def delete_note(self, note: results.Note) -> None:
        """Delete a note: one's own, or as a manager; a pin as a writer, too."""
        self._api.delete_note(self.resolve(), note.entry_id, note.id)

    def pin_entry(self, entry: results.Entry | str, **more: Unpack[Keyed]) -> results.Note:
        """Pin an entry of the history, for all who see it. The pin is a note.

        Every branch that shows the entry shows the pin. What is pinned already keeps its pin.
        """
        return self._api.add_note(self.resolve(), id_of(entry), pinned=True, **more)

    def unpin_entry(self, entry: results.Entry | str) -> None:
        """Take the pins of an entry away, whoever has pinned it."""
        for note in self.notes(entry):
            if note.pinned:
                with suppress(NotFoundError):  # somebody else has done it
                    self.delete_note(note)

    def pinned_entries(self) -> list[results.Entry]:
        """Return the pinned entries that the conversation shows, the oldest first."""
        pinned = {note.entry_id: None for note in self.notes() if note.pinned}
        return [self.entry(entry_id) for entry_id in pinned]

    def link(self, **more: Unpack[CreateLink]) -> results.CreatedLink:
        """Make a link by which people without an account read what was said until now.

        more: arguments of `create_link`. Only the answer has the `secret`, which opens it.
        """
        return self._api.create_link(self.resolve(), **more)

    def unlink(self, link: "results.Link | results.CreatedLink | str") -> None:
        """End a link to the fork tree. link: or its id."""
        self._api.delete_link(self.resolve(), link if isinstance(link, str) else link.id)

    def links(self) -> Pages[results.Link]:
        """Return the links to the fork tree that have not ended, the oldest first."""

        def fetch(cursor: str | None) -> Page[results.Link]:
            page = self._api.list_links(self.resolve(), limit=PAGE_ROWS, after_cursor=cursor)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

    def share(
        self, user_id: str, access_level: Level, *, children: Children | None = None
    ) -> results.Membership:
        """Let a user into the fork tree, or change the level of who is in it.

        A lower level is also for the trees that were started from this one; `children="keep"`: not.
        To let a user into these, too, needs `children="include"`.
        """
        try:
            return self._api.share_conversation(
                self.resolve(), user_id=user_id, access_level=access_level, children=children
            )
        except ConflictError as error:
            if error.reason != IS_MEMBER:
                raise
            return self._api.update_membership(
                self.resolve(), user_id=user_id, access_level=access_level, children=children
            )

    def unshare(self, user_id: str, *, children: Children | None = None) -> results.RemovedMembership:
        """End a membership: that of another user, or one's own.

        It is also for the trees that were started from this one; `children="keep"`: not.
        """
        return self._api.remove_membership(self.resolve(), user_id=user_id, children=children)

    def members(self) -> Pages[results.Membership]:
        """Return who may see the fork tree, the oldest member first."""

        def fetch(cursor: str | None) -> Page[results.Membership]:
            page = self._api.list_memberships(self.resolve(), limit=PAGE_ROWS, after_cursor=cursor)
            return Page(page.data, page.after_cursor)

        return Pages(fetch)


def _with_birth(fields: Mapping[str, Any], born: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an append with those that make its conversation.

    They stand in every append, so that one that is repeated is the same. In a batch, the agent is a
    field of each entry. Only a batch says the metadata of a conversation.
    """
    if "entries" not in fields and born.get("metadata") is not None:
        entry = {
            wire_name(name): held for name, held in fields.items() if name in OF_ENTRY and held is not None
        }
        fields = {name: held for name, held in fields.items() if name not in OF_ENTRY} | {"entries": [entry]}
    if "entries" not in fields or "agent_id" not in born:
        return {**born, **fields}
    others = {name: value for name, value in born.items() if name != "agent_id"}
    agent = {} if born["agent_id"] is None else {"agentId": born["agent_id"]}
    return {**others, **fields, "entries": [{**agent, **entry} for entry in fields["entries"]]}


def _bound_to(if_last: results.Entry | str | None) -> dict[str, str]:
    """Return the field of an append that stands behind an entry only."""
    return {} if if_last is None else {"if_match": id_of(if_last)}


def _resolved(conversation: Conversation | str) -> str:
    return conversation if isinstance(conversation, str) else conversation.resolve()
