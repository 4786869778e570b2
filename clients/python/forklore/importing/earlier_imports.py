"""What earlier imports have left in the service: what has not changed, and what goes on from what.

The conversations of a format are listed once. Each tells in `metadata.source` what it was made of:

* the root the digest of its source, of how many conversations the tree was made, and what its first
  message is known by in any file (`first`); of a session without its source, what it waits for
  (`awaits`);
* each conversation how many entries it got, and the `session` that it was made for;
* the conversation where a session ends the digest and the last entry of that (`sessions`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from forklore.client import jsontext
from forklore.client.errors import BadRequestError, ConflictError, ForbiddenError, NotFoundError
from forklore.client.generated.results import ConversationDetails
from forklore.importing.carrying_out import Carried, Unchanged
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree, ImportReport, Link, Reason
from forklore.importing.identity import own_ids_in
from forklore.importing.members import mapped, text_in
from forklore.importing.plan import Plan
from forklore.importing.plan_trees import (
    ABOUT_SESSIONS_BYTES,
    SOURCE_TAG,
    Draft,
    first_line_id,
    plan_draft,
    title_in,
)
from forklore.importing.there import Ref, There, ThereLine, read_trees

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore

PAGE_ROWS = 200
_TOLD = (
    *("format", "id", "session", "sessions", "first", "awaits", "again"),
    *("conversations", "entries", "saidAt"),
)
"""What an import tells in `metadata.source` beside what the source tells of the whole."""


@dataclass(slots=True)
class Row:
    """An imported conversation. source: its `metadata.source`. entries: how many it has. is_mine:
    the user owns it; others may have imported, and shared, what this one imports."""

    id: str
    title: str | None
    source: Mapping[str, Any]
    entries: int
    is_current: bool = False
    forked_at: str | None = None
    started_by: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    is_mine: bool = True


Rows = Mapping[str, Row]
"""Imported conversations by their ids."""


@dataclass(slots=True)
class _Kind:
    """The imported conversations of a format.

    named: by the sessions, and parts of them, that they hold, and by the ids of the trees that they
    were made of. tagged: by the sessions of which they hold a part. firsts: roots by what their
    first message is known by.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    tagged: dict[str, str] = field(default_factory=dict)
    firsts: dict[str, str] = field(default_factory=dict)
    whole: dict[str, Unchanged] | None = None

    def add(self, row: Row) -> None:
        self.rows[row.id] = row
        if not row.is_mine:
            return
        is_root = row.forked_at is None and row.started_by is None
        for name in mapped(row.source.get("sessions")):
            self.named[name] = row.id
        for told in ("session", "id"):
            if isinstance(row.source.get(told), str):
                self.named.setdefault(row.source[told], row.id)
        if "session" in row.tags and not self.rows[_root_of(row, self.rows)].source.get("awaits"):
            self.tagged.setdefault(row.tags["session"], row.id)
        if is_root and isinstance(row.source.get("first"), str):
            self.firsts.setdefault(row.source["first"], row.id)


class _Located(NamedTuple):
    """Where a tree goes. row: one of the conversations of what is there. lone: the root of the tree
    that it was, without the session that it goes on from. is_written: the tree was written out of
    what is there."""

    row: Row
    follows: Link | None = None
    lone: Row | None = None
    is_written: bool = False


class EarlierImports:
    """The imported conversations of a user, listed once for each format when first needed.

    client: returns the one that is asked. again: only what was imported so is looked at. What this
    import makes is added by `bring_up_to_date`.
    """

    def __init__(self, client: "Callable[[], Forklore]", again: str = "") -> None:
        self._client, self._again = client, again
        self._kinds: dict[str, _Kind] = {}
        self._under_way: set[str] = set()
        self._numbers: dict[str, list[tuple[int, str]]] = {}
        self._lone: dict[str, Row] = {}  # by the sessions that now have what they go on from

    def unchanged(self, kind: str, digest: str) -> Unchanged | None:
        """Return the tree of this format that was made of a source with this digest.

        None if there is none, or a part of it is missing.
        """
        held = self._of(kind)
        if held.whole is None:
            held.whole = _whole_trees(held.rows)
        return held.whole.get(digest)

    def is_known(self, kind: str, session: str) -> bool:
        """Tell whether a session, or a part of one, is there, or is under way."""
        return session in self._under_way or session in self._of(kind).named

    def is_under_way(self, tree: ForeignTree) -> bool:
        """Tell whether a tree must wait, because what it may be a part of is not there as yet.

        So does one of several that go on from one session: the newest of them is the current one.
        """
        named = {tree.tree_id, tree.session, tree.first}
        if tree.origin:
            named |= {tree.origin.session, self._group_of(tree)}
        return bool(tree.session) and not self._under_way.isdisjoint(named - {""})

    def _group_of(self, tree: ForeignTree) -> str:
        """Return the root of the tree that a tree goes on from; an empty id for none."""
        if tree.origin is None or tree.is_started:
            return ""
        held = self._of(tree.source)
        row = held.rows.get(held.named.get(tree.origin.session, ""))
        return _root_of(row, held.rows) if row else ""

    def plan(self, draft: Draft, report: ImportReport) -> Plan | Unchanged:
        """Return the plan of a tree, or that it is there as it is in the file. Raises ApiError."""
        tree = draft.tree
        there = self._as_it_was(draft)
        if there is not None:
            return replace(there, title=title_in(draft))
        if tree.session:
            self._under_way |= {tree.tree_id, tree.session, tree.first} - {""}
        located = self._located(draft)
        if located is None:
            if tree.origin:
                report.add(Reason.LOST_SESSION, f"{tree.origin.session}, by {tree.tree_id}")
            return plan_draft(draft)
        if located.lone is not None:
            self._lone[tree.tree_id] = located.lone
        held = self._there(draft, located.row)
        held.written = located.row.id if located.is_written else ""
        kind = self._of(tree.source)
        held.is_known = tree.tree_id in kind.named or tree.session in kind.tagged
        if not any(line.own for line in held.lines.values()):
            return plan_draft(draft)  # an earlier import came no further than to its beginning
        anchor: Ref | None = None
        if located.follows is not None:
            anchor = held.place_of(located.follows)
            if anchor is None:
                report.add(Reason.LOST_PLACE, f"of {located.follows.session}, by {tree.tree_id}")
        group = {self._group_of(tree)} - {""}
        self._under_way |= group
        plan = plan_draft(draft, held, anchor)
        return replace(plan, names=plan.names | group)

    def _as_it_was(self, draft: Draft) -> Unchanged | None:
        tree, held = draft.tree, self._of(draft.tree.source)
        if not tree.session:
            return self.unchanged(tree.source, draft.digest)
        row = held.rows.get(held.named.get(tree.tree_id, ""))
        told = mapped(mapped(row.source.get("sessions")).get(tree.tree_id)) if row else {}
        if row is None or told.get("digest") != draft.digest:
            return None
        root = held.rows[_root_of(row, held.rows)]
        if tree.origin and root.source.get("awaits") and self.is_known(tree.source, tree.origin.session):
            return None
        entries = told.get("entries")
        first = _root_of(row, held.rows, within_tree=True)
        title, count = row.title or tree.tree_id, entries if isinstance(entries, int) else 0
        return Unchanged(tree.tree_id, title, first, row.id, 1, count)

    def _located(self, draft: Draft) -> _Located | None:
        tree = draft.tree
        held = self._of(tree.source)
        if tree.session and (tree.forklore or tree.tree_id not in held.named):
            native = self._native(tree)
            if native is not None:
                return _Located(native, None if tree.is_started else tree.origin, is_written=True)
        row, lone = held.rows.get(held.named.get(tree.tree_id, "")), None
        source = held.rows.get(held.named.get(tree.origin.session, "")) if tree.origin else None
        if row is not None and source is not None:
            root = held.rows[_root_of(row, held.rows)]
            if root.source.get("awaits") and _root_of(source, held.rows) != root.id:
                row, lone = None, root
        if row is not None:
            is_with_source = source and _root_of(source, held.rows) == _root_of(row, held.rows)
            return _Located(row, tree.origin if is_with_source else None)
        if source is not None:
            return _Located(source, tree.origin, lone)
        if tree.session and not tree.origin:
            same = held.rows.get(held.tagged.get(tree.session) or held.named.get(tree.session, ""))
            if same is not None:
                return _Located(same)
        first = held.firsts.get(tree.first) if tree.first else None
        first = first or (self._earlier_root(draft) if tree.first else None)
        return _Located(held.rows[first], tree.origin) if first else None

    def _native(self, tree: ForeignTree) -> Row | None:
        """Return forklore's own conversation that a session was written out of, if it is there.

        Nothing is asked for a session in which no message has an id as entries have: of version 7.
        """
        if not tree.forklore and not any(one.entry_id[14:15] == "7" for one in tree.messages):
            return None
        for one in [tree.forklore] if tree.forklore else own_ids_in(tree.tree_id):
            with suppress(BadRequestError, ForbiddenError, NotFoundError):
                return _row_of(self._client().conversation(one).details())
        return None

    def _earlier_root(self, draft: Draft) -> str | None:
        """Return the root that an earlier version made of a session that begins alike."""
        for row in self._of(draft.tree.source).rows.values():
            named = row.source.get("id")
            is_root = row.forked_at is None and row.started_by is None and "first" not in row.source
            if is_root and isinstance(named, str) and first_line_id(draft, named) == row.id:
                return row.id
        return None

    def _there(self, draft: Draft, row: Row) -> There:
        """Return what is there of the tree of a conversation."""
        rows = self._of(draft.tree.source).rows
        group = _root_of(row, rows)
        of_group = [one for one in rows.values() if _root_of(one, rows) == group] or [row]
        root = _root_of(row, rows, within_tree=True)
        wanted = {root: None}
        if any(message.is_child for message in draft.tree.messages):
            wanted |= dict.fromkeys(_root_of(one, rows, within_tree=True) for one in of_group)
        lines = read_trees(self._client(), wanted)
        made_of = text_in(mapped(rows[group].source).get("id")) if group in rows else ""
        return There(
            tree_id=made_of or draft.tree.tree_id,
            root=root if root in lines else next(iter(lines)),
            lines=lines,
            branches={
                name: (one.id, str(mapped(told).get("last")))
                for one in of_group
                for name, told in mapped(one.source.get("sessions")).items()
            },
            newest=max(
                (str(one.source.get("saidAt", "")) for one in of_group if one.id in lines), default=""
            ),
            numbers=self._numbers,
            others=frozenset(one.id for one in of_group if _is_of_another(one, draft.tree)),
        )

    def is_renamed(self, plan: Plan) -> bool:
        """Tell whether a tree that was there before has another title than its source."""
        root = plan.conversations[0]
        row, title = self._of(plan.kind).rows.get(root.conversation_id), root.settings.get("title")
        is_other = bool(plan.session) and row is not None and row.source.get("session") != plan.session
        return row is not None and title is not None and row.title != title and not is_other

    def bring_up_to_date(self, carried: Carried, *, is_same: bool) -> None:
        """Let the conversations of a tree that is all there tell of their source as it is now.

        is_same: nothing in it differs from the source. The root comes last: its digest says so.
        What somebody changes meanwhile stays, also where the metadata has no room left for this;
        then the next import tries again.
        """
        plan, loading, api = carried.plan, carried.loading, self._client().api
        held, sizes, additions = self._of(plan.kind), loading.sizes, loading.additions
        is_fresh = True
        for number, conversation in reversed(list(enumerate(plan.conversations))):
            one = conversation.conversation_id
            if loading.conversation_id(number) != one or (number in plan.own and one not in held.rows):
                continue
            row = held.rows.get(one)
            told = row.source if row else mapped(loading.settings(number)["metadata"]["source"])
            source = _source_now(carried, number, row, is_same=is_same)
            source["entries"] = _given(plan, number, row, sizes[number], additions[number])
            if told != source and is_fresh:
                is_fresh = self._write(api, one, source)
            held.add(_row_now(plan, number, row, source, sizes[number], additions[number]))
        held.whole = None
        if is_same and plan.is_back and plan.is_promoted:
            with suppress(ConflictError, ForbiddenError, NotFoundError):
                api.promote_conversation(plan.conversations[plan.current].conversation_id)
        if plan.numbers:
            self._numbers[plan.session] = sorted(
                (number, loading.placed[place][1])
                for number, place in plan.numbers
                if place in loading.placed
            )
        self._under_way -= plan.names
        lone = self._lone.pop(plan.session, None)
        if lone is not None:
            self._put_away(held, lone, plan.session)

    def give_up(self, plan: Plan) -> None:
        """Note that a tree is not all there. The next import goes on with it."""
        self._under_way -= plan.names
        self._lone.pop(plan.session, None)

    def _write(self, api: Any, conversation_id: str, source: Mapping[str, Any]) -> bool:
        with suppress(BadRequestError, ConflictError, ForbiddenError, NotFoundError):
            there = api.get_conversation(conversation_id)
            metadata = {**there.metadata, "source": source}
            api.update_conversation(conversation_id, metadata=metadata, if_match=there.updated_at)
            return True
        return False

    # Sessions that were there without what they go on from

    def rejoining(self, kind: str) -> Iterator[ForeignTree]:
        """Yield, as they are there, the sessions that wait for one that has come. Raises ApiError.

        One in which somebody has gone on stays where it is.
        """
        held = self._of(kind)
        for root in [row for row in held.rows.values() if row.source.get("awaits")]:
            link = mapped(root.source["awaits"])
            source = held.rows.get(held.named.get(str(link.get("session")), ""))
            if source is None or root.id not in held.rows or _root_of(source, held.rows) == root.id:
                continue
            group = [row for row in held.rows.values() if _root_of(row, held.rows) == root.id]
            is_whole = all(row.entries == row.source.get("entries") and not row.started_by for row in group)
            if is_whole:
                yield from _trees_there(kind, root, group, read_trees(self._client(), [root.id]))

    def _put_away(self, held: _Kind, root: Row, session: str) -> None:
        """Archive a tree whose messages are now in that of what they go on from."""
        for row in [row for row in held.rows.values() if _root_of(row, held.rows) == root.id]:
            del held.rows[row.id]
        rows, held.named, held.tagged, held.firsts = [*held.rows.values()], {}, {}, {}
        for row in rows:
            held.add(row)
        api = self._client().api
        if self._write(api, root.id, {**root.source, "joined": session}):
            with suppress(ConflictError, ForbiddenError, NotFoundError):
                api.archive_conversation(root.id)

    def _of(self, kind: str) -> _Kind:
        """Return the imported conversations of a format; of forklore's own none is known."""
        if kind not in self._kinds:
            held = self._kinds[kind] = _Kind()
            listed = self._client().conversations(
                mode="all",
                order="created",
                ancestry="all",
                archived="include",
                tag=f"{SOURCE_TAG}:{kind}",
                page_rows=PAGE_ROWS,
            )
            rows = {one.id: _row_of(one) for one in (listed if kind else ())}
            for row in rows.values():
                source = rows[_root_of(row, rows)].source
                if not source.get("joined") and source.get("again", "") == self._again:
                    held.add(row)
        return self._kinds[kind]


def _is_of_another(row: Row, tree: ForeignTree) -> bool:
    """Tell whether a conversation was made for another session than a tree is of."""
    session = row.tags.get("session", row.source.get("id"))
    written_out = {tree.forklore, *own_ids_in(tree.session)}
    return bool(tree.session) and row.id not in written_out and session not in (tree.session, tree.tree_id)


def _row_of(one: ConversationDetails) -> Row:
    return Row(
        one.id,
        one.title,
        mapped(one.metadata.get("source")),
        one.metrics.entries,
        one.is_current,
        one.forked_at_conversation_id,
        one.started_by_conversation_id,
        one.tags,
        one.access_level == "owner",
    )


def _row_now(
    plan: Plan, number: int, before: Row | None, source: Mapping[str, Any], size: int, added: int
) -> Row:
    """Return the row of a conversation as this import has left it."""
    if before is not None:
        return replace(before, source=source, entries=before.entries + added)
    planned = plan.conversations[number]
    above = plan.conversations[planned.fork.source].conversation_id if planned.fork else None
    is_child = planned.fork is not None and planned.fork.position == "child"
    return Row(
        planned.conversation_id,
        planned.settings.get("title") or plan.tree_id,
        source,
        size,
        number == plan.current and plan.is_promoted,
        None if is_child else above,
        above if is_child else None,
        planned.settings["tags"],
    )


def _source_now(carried: Carried, number: int, before: Row | None, *, is_same: bool) -> dict[str, Any]:
    """Return what a conversation tells of its source, but for the number of its entries.

    That of a session which was there before tells the same, and of the session that ends in it.
    """
    plan = carried.plan
    wanted = mapped(plan.settings_of(number, is_whole=is_same)["metadata"]["source"])
    if before is None or not plan.session:
        return dict(wanted)
    source = dict(before.source)
    if carried.loading.additions[number] and "saidAt" in wanted:
        source["saidAt"] = max(wanted["saidAt"], str(source.get("saidAt", "")))
    if is_same:  # it ends in one of them, and may have ended in another one before
        sessions = dict(mapped(source.pop("sessions", None)))
        sessions.pop(plan.session, None)
        if number == plan.told_in:
            sessions[plan.session] = plan.told
        if sessions:
            source["sessions"] = _that_fit(sessions)
    if number == 0 and isinstance(source.get("conversations"), int):
        source["conversations"] += len(plan.conversations) - len(plan.own)
    return source


def _that_fit(sessions: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of the last sessions, as many as there is room for."""
    while len(jsontext.write(sessions)) > ABOUT_SESSIONS_BYTES and len(sessions) > 1:
        del sessions[next(iter(sessions))]
    return sessions


def _trees_there(
    kind: str, root: Row, group: Sequence[Row], lines: Mapping[str, ThereLine]
) -> list[ForeignTree]:
    """Return the sessions of a tree that is there as trees: first the one that the others fork.

    Nothing if others than imports wrote in it.
    """
    said = [one for line in lines.values() for one in line.own if not one.epoch]
    if any(not one.key or not one.content or not isinstance(one.content[0], dict) for one in said):
        return []
    own = str(root.source.get("session"))
    ends = {
        name: (row, mapped(held))
        for row in group
        for name, held in mapped(row.source.get("sessions")).items()
    }
    found: list[ForeignTree] = []
    for name in sorted({own, *ends}, key=lambda one: one != own):
        row, told = ends.get(name, (root, {}))
        shown = _shown_with(row, group, lines)
        tree = _tree_there(kind, root, {one: line for one, line in lines.items() if one in shown}, told)
        if tree is not None:
            session = row.tags.get("session", name)
            found.append(replace(tree, tree_id=name, session=session, title=row.title))
    return found


def _shown_with(row: Row, group: Iterable[Row], lines: Mapping[str, ThereLine]) -> set[str]:
    """Return the conversations of the session that a conversation is of, and what they fork."""
    shown: set[str] = set()
    for one in [row, *(one for one in group if one.tags.get("session") == row.tags.get("session"))]:
        above = one.id
        while above in lines and above not in shown:
            shown.add(above)
            above = (lines[above].forked_at or ("",))[0]
    return shown


def _tree_there(
    kind: str, root: Row, lines: Mapping[str, ThereLine], told: Mapping[str, Any]
) -> ForeignTree | None:
    """Return conversations that are there as a tree. told: of the session that it is."""
    messages: list[ForeignMessage] = []
    index_of: dict[str, int] = {}
    for line in lines.values():
        above = index_of.get(line.forked_at[1] or "") if line.forked_at else None
        for one in line.own:
            if not one.epoch:
                messages.append(ForeignMessage(str(one.key), one.content[0], above))
                index_of[one.id] = above = len(messages) - 1
    if not messages:
        return None
    link = mapped(root.source["awaits"])
    ends = [at for at, message in enumerate(messages) if message.message_id == told.get("last")]
    return ForeignTree(
        "",
        tuple(messages),
        kind,
        current=ends[0] if ends else len(messages) - 1,
        metadata={name: held for name, held in root.source.items() if name not in _TOLD},
        project=root.tags.get("project", ""),
        origin=Link(**{name: held for name, held in link.items() if name != "isStarted"}),
        is_started=link.get("isStarted") is True,
        first=text_in(root.source.get("first")),
        as_digest=text_in(told.get("digest")),
    )


def _whole_trees(rows: Rows) -> dict[str, Unchanged]:
    """Return the trees of which nothing is missing, by the digests of their sources."""
    trees: dict[str, list[Row]] = {}
    for row in rows.values():
        trees.setdefault(_root_of(row, rows), []).append(row)
    found = ((rows[root], tree) for root, tree in trees.items())
    return {
        root.source["digest"]: there
        for root, tree in found
        if isinstance(root.source.get("digest"), str) and (there := _whole(root, tree, rows)) is not None
    }


def _root_of(row: Row, rows: Rows, *, within_tree: bool = False) -> str:
    """Return the first conversation of what was imported together, from which this one comes.

    within_tree: of its fork tree, which another conversation may have started.
    """
    for _ in rows:
        above = row.forked_at or (None if within_tree else row.started_by)
        if above is None or above not in rows:
            break
        row = rows[above]
    return row.id


def _whole(root: Row, tree: Iterable[Row], rows: Rows) -> Unchanged | None:
    counts = [(row, row.source.get("entries")) for row in tree]
    whole = [(row, said) for row, said in counts if isinstance(said, int) and row.entries >= said]
    wanted = root.source.get("conversations")
    if not isinstance(wanted, int) or len(whole) < wanted:
        return None
    tree_id = str(root.source.get("id"))
    branches = (row for row, _ in whole if _root_of(row, rows, within_tree=True) == root.id)
    current = next((row.id for row in branches if row.is_current), root.id)
    title, entries = root.title or tree_id, sum(said for _, said in whole)
    return Unchanged(tree_id, title, root.id, current, len(whole), entries)


def _given(plan: Plan, number: int, before: Row | None, size: int, added: int) -> int:
    """Return how many entries imports have given a conversation, as far as nobody has gone on.

    before: how it was. size, added: how many of its entries this import knows, and has appended.
    """
    if any(one.key is None for one in plan.own.get(number, ())):
        return sum(one.key is not None for one in plan.own[number]) + added
    entries = before.source.get("entries") if before else None
    goes_on = before is not None and isinstance(entries, int) and before.entries <= entries
    return before.entries + added if before and goes_on else size
