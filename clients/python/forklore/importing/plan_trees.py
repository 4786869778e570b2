"""Which conversations and forks a tree of another system becomes.

The first reply continues the conversation; every further reply is a fork of it, after the message
that is replied to. So a conversation is one line of messages, and what it shows is one path from
the beginning to a leaf. A second root is a blank fork of the conversation of the first one. The
branch that the source showed last becomes the current one.

Ids and keys follow from the source alone, so an import that runs again finds what an earlier run
has made, also after the service has forgotten the Idempotency-Keys:

* The id of a conversation is made of the owner, the format, the tree's id and the key of the line's
  first message. It does not depend on how long the line is, nor on the order of its siblings: a
  newer export of the same source adds to the conversations of the older one.
* The key of an entry is the id of its message.

Where an agent imports, a summary that a model goes on with begins an epoch of the agent's context:
from there on each message stands in the context, too, behind its entry in the history.
"""

import hashlib
import re
import uuid
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from forklore.client import jsontext
from forklore.client.generated.limits import METADATA_BYTES_MAX, escaped_size
from forklore.importing.checks import kept, keys_for, storable_metadata, title_of
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree, ImportReport, Reason
from forklore.importing.identity import number_in, words_of
from forklore.importing.laying_out import Laying, Match, matched_in
from forklore.importing.members import mapped, usage_of
from forklore.importing.plan import (
    Plan,
    PlannedAt,
    PlannedConversation,
    PlannedEntry,
    PlannedFork,
    entry_of,
    namespace_of,
    planned,
)
from forklore.importing.there import Own, Ref, There

TITLE_CHARACTERS = 40
"""So much of the first text is a title, where the source has none."""
SOURCE_TAG = "source"
"""The tag that every imported conversation has, with the format as its value."""
READ_AS = 3
"""Grows when readers make other trees than before. Then no earlier import is taken for the same."""
ABOUT_LINE_BYTES = 200
"""Of the metadata, for what is told of one line of a tree."""
ABOUT_SESSIONS_BYTES = 3_000
"""Of the metadata, for the sessions that end in a conversation."""
TAG_MAX = 256


def plan_tree(
    tree: ForeignTree,
    *,
    owner: str,
    report: ImportReport,
    again: str = "",
    client: str | None = None,
) -> Plan:
    """Return the plan of a tree of which nothing is there: a conversation for each leaf.

    The rest is as for `drafted`.
    """
    return plan_draft(drafted(tree, owner=owner, report=report, again=again, client=client))


class Draft(NamedTuple):
    """A tree whose messages are written as entries. keys, entries: of its messages. about: what the
    metadata tells of its source. digest: as for `Plan`."""

    tree: ForeignTree
    keys: Sequence[str]
    entries: Sequence[PlannedEntry]
    about: Mapping[str, Any]
    digest: str
    owner: str
    again: str
    client: str | None


def drafted(
    tree: ForeignTree, *, owner: str, report: ImportReport, again: str = "", client: str | None = None
) -> Draft:
    """Return the draft of a tree. What the service would not take of its metadata is reported.

    owner, again: as for `namespace_of`. client: the agent that imports, if it is one, and whose
    context is written.
    """
    keys = keys_for(message.message_id for message in tree.messages)
    about = _about(tree, report)
    entries = [_entry(key, message) for key, message in zip(keys, tree.messages, strict=True)]
    is_remembered = client and (tree.origin or any(message.is_summary for message in tree.messages))
    digest = tree.as_digest or digest_of(
        tree.digest or _digest(tree, entries, about),
        owner=owner,
        kind=tree.source,
        again=again,
        client=client if is_remembered else None,
    )
    return Draft(tree, keys, entries, about, digest, owner, again, client)


def plan_draft(draft: Draft, there: There | None = None, anchor: Ref | None = None) -> Plan:
    """Return the plan of a draft.

    there: what of its tree is there already, and stays where it is. anchor: what its first messages
    follow there, or what has started them.
    """
    tree, about = draft.tree, draft.about
    matched = matched_in(there, tree, draft.keys, draft.entries) if there else {}
    keys = [(matched[at].own.key if at in matched else None) or key for at, key in enumerate(draft.keys)]
    entries = [
        _found_entry(entry, matched[at], there, there_key=keys[at]) if there and at in matched else entry
        for at, entry in enumerate(draft.entries)
    ]
    begins = there.epoch_at(anchor) if there and anchor and not tree.is_started else 0
    remembered = _remembered(tree, keys, entries, there, begins) if draft.client else {}
    laying = Laying(tree, remembered, there, matched, anchor)
    lines, place_of = laying.laid()
    namespace = namespace_of(
        owner=draft.owner,
        kind=tree.source,
        tree_id=there.tree_id if there else tree.tree_id,
        again=draft.again,
    )
    begins_with, conversations = _beginning(tree), list[PlannedConversation]()
    taken = set(there.lines) if there else set[str]()
    named = tree.tree_id if tree.session else ""
    awaits = _link(tree) if tree.origin and there is None else {}
    root = {
        "conversations": len(lines),
        **kept({"first": tree.first, "awaits": awaits, "again": draft.again}),
    }
    for number, line in enumerate(lines):
        own: list[PlannedEntry] = []
        for item in line.items:
            if isinstance(item, int):
                own += (entries[item], *remembered.get(item, ()))
            elif there is not None:
                own.append(_there_entry(there.own(item)))
        first = line.first
        one_id = line.conversation_id
        if one_id is None and number == laying.end_line:
            named_by = [f"end {tree.tree_id}", f"end {tree.tree_id} {keys[tree.current or 0]}"]
            ids = (str(uuid.uuid5(namespace, one)) for one in named_by)
            one_id = next((one for one in ids if one not in taken), None)
        if one_id is None:
            one_id = _line_id(namespace, keys[first], tree.messages[first], taken)
            taken.add(one_id)
        said_at = next((tree.messages[at].said_at for at in reversed(line.messages)), "")
        source = {
            **about,
            **({"session": named} if named else {}),
            **(root if number == 0 else {}),
            "entries": len(own),
            **({"saidAt": said_at} if said_at else {}),
        }
        settings = {
            "tags": _tags(tree),
            **_title(tree, line.fork, begins_with),
            "metadata": {"source": source},
        }
        conversations.append(PlannedConversation(one_id, line.fork, tuple(own), settings))
    ends = PlannedAt(0, 0) if tree.current is None else place_of[tree.current]
    current = ends.conversation if laying.end_line is None else laying.end_line
    newest = _newest(tree)
    plan = planned(
        tree.tree_id,
        namespace,
        conversations,
        current=current,
        begins_empty=tree.is_archived and there is None,
    )
    return replace(
        plan,
        kind=tree.source,
        is_archived=tree.is_archived,
        digest="" if _is_unnumbered(tree, matched) else draft.digest,
        session=named,
        names=frozenset({named, tree.session, tree.first}),
        numbers=[
            (told, place)
            for one, place in zip(tree.messages, place_of, strict=True)
            if (told := number_in([one.content])) is not None
        ],
        is_promoted=there is None or not newest or newest >= there.newest,
        is_back=(
            there is not None
            and lines[current].conversation_id is not None
            and there.branches.get(tree.tree_id, ("",))[0] not in ("", lines[current].conversation_id)
        ),
        own={
            number: there.lines[line.conversation_id].own
            for number, line in enumerate(lines)
            if there is not None and line.conversation_id is not None
        },
        ends=ends,
        end_line=laying.end_line,
    )


def _newest(tree: ForeignTree) -> str:
    """Return when the session was last at work: what it has taken back is below where it is."""
    last, below = "", [len(tree.messages) - 1 if tree.current is None else tree.current]
    while below:
        message = tree.messages[below.pop()]
        last = max(last, message.said_at)
        below += message.replies
    return last


def _is_unnumbered(tree: ForeignTree, matched: Mapping[int, Match]) -> bool:
    """Tell whether an earlier version has not kept the numbers by which others name messages.

    Then the source is read by each import.
    """
    return any(
        number_in([tree.messages[at].content]) is not None and number_in(match.own.content) is None
        for at, match in matched.items()
    )


def _tags(tree: ForeignTree) -> dict[str, str]:
    """Return the tags of a tree's conversations: of a session also by what people look for it."""
    folder = re.split(r"[\\/]", tree.project.rstrip("\\/"))[-1]
    told = {"program": tree.source, "session": tree.session, "project": folder} if tree.session else {}
    return {
        SOURCE_TAG: tree.source,
        **{name: tag for name, one in told.items() if (tag := (title_of(one) or "")[:TAG_MAX])},
    }


def _link(tree: ForeignTree) -> dict[str, Any]:
    """Return what is told of a session that is not there, to join it when it comes."""
    assert tree.origin is not None
    return kept({**asdict(tree.origin), "isStarted": tree.is_started or None})


def _found_entry(entry: PlannedEntry, match: Match, there: There, *, there_key: str) -> PlannedEntry:
    """Return the entry of a message that is there: of another session, or under another key, as it
    is there."""
    own = match.own
    is_known = own.key == entry.key and match.ref.conversation_id not in there.others
    body = entry.body if is_known else {**entry.body, "content": own.content}
    return replace(entry, key=there_key, entry_id=own.id, body=body)


def _there_entry(own: Own) -> PlannedEntry:
    """Return an entry that is there, and is no message of the tree."""
    context = {"channel": "context", "epoch": own.epoch} if own.epoch else {}
    return PlannedEntry(
        own.key or own.id, {"content": own.content, **context}, 0, entry_id=own.id, is_other=True
    )


def _line_id(namespace: uuid.UUID, key: str, first: ForeignMessage, taken: Container[str]) -> str:
    """Return the id of a new conversation: made of its first key, and if need be its words."""
    named = str(uuid.uuid5(namespace, f"line {key}"))
    return (
        named if named not in taken else str(uuid.uuid5(namespace, f"line {key} {words_of([first.content])}"))
    )


def title_in(draft: Draft) -> str:
    """Return what the root of a draft's plan is called, as `Plan.title`."""
    return _title(draft.tree, None, _beginning(draft.tree)).get("title", draft.tree.tree_id)


def first_line_id(draft: Draft, tree_id: str) -> str:
    """Return the id that the first conversation of a draft has in the tree with an id."""
    namespace = namespace_of(owner=draft.owner, kind=draft.tree.source, tree_id=tree_id, again=draft.again)
    return str(uuid.uuid5(namespace, f"line {draft.keys[0]}"))


def _remembered(
    tree: ForeignTree,
    keys: Sequence[str],
    entries: Sequence[PlannedEntry],
    there: There | None,
    begins: int,
) -> dict[int, tuple[PlannedEntry, ...]]:
    """Return by the index of each message from a summary on what of it stands in the context.

    Its epoch is the number of summaries on the way to it. A child of a message begins anew. Beside
    a summary stand the messages before it that are kept, perhaps of another file (`there`). begins:
    the epoch of the first messages.
    """
    if not begins and not any(message.is_summary for message in tree.messages):
        return {}
    kept_of = {
        (at, keys[one] if isinstance(one, int) else one): body
        for at, message in enumerate(tree.messages)
        for one in (message.kept if message.is_summary else ())
        if (body := entries[one].body if isinstance(one, int) else _body_there(there, one))
    }
    told = [f"context {key}" for key in keys] + [f"context {keys[at]} {key}" for at, key in kept_of]
    others = keys_for([*keys, *told])[len(keys) :]
    of_kept: dict[int, list[tuple[str, Mapping[str, Any]]]] = {}
    for ((at, _), body), key in zip(kept_of.items(), others[len(keys) :], strict=True):
        of_kept.setdefault(at, []).append((key, {one: body[one] for one in ("contentType", "content")}))
    epochs: list[int] = []
    found: dict[int, tuple[PlannedEntry, ...]] = {}
    for index, message in enumerate(tree.messages):
        above = begins if message.parent is None else 0 if message.is_child else epochs[message.parent]
        epochs.append(above + message.is_summary)
        if epochs[index]:
            context = {"channel": "context", "epoch": epochs[index]}
            body = {**entries[index].body, **context}
            said = replace(entries[index], key=others[index], body=body, entry_id="")
            beside = [entry_of(key, {**body, **context}) for key, body in of_kept.get(index, ())]
            is_first = mapped(message.content.get("source")).get("keptFirst") is True
            found[index] = (*beside, said) if is_first else (said, *beside)
    return found


def _body_there(there: There | None, key: str) -> Mapping[str, Any]:
    """Return the body of an entry that is there under a key; an empty one without it."""
    ref = next(iter(there.with_key(key)), None) if there else None
    return {"contentType": "history", "content": there.own(ref).content} if there and ref else {}


def _entry(key: str, message: ForeignMessage) -> PlannedEntry:
    text = message.written or jsontext.write([message.content])
    body = {"contentType": "history", "content": jsontext.Written(text), **usage_of(message.content)}
    return PlannedEntry(key, body, escaped_size(text))


def _title(tree: ForeignTree, fork: PlannedFork | None, begins: str) -> dict[str, str]:
    """Return the title of a conversation of a tree: its source's, or else how the tree begins.

    Where it does not begin with the system's words, the service gives the root the same. A child
    has the one that the service gives it.
    """
    if fork is not None and fork.position == "child":
        return {}
    if tree.title:
        return {"title": tree.title}
    is_left = fork is None and tree.messages[0].role != "SYSTEM"
    return {} if is_left or not begins else {"title": begins}


def _beginning(tree: ForeignTree) -> str:
    """Return the beginning of the first text: of one that is not the system's, if there is any."""
    texts = [(one.role == "SYSTEM", at) for at, one in enumerate(tree.messages) if one.text]
    return title_of(tree.messages[min(texts)[1]].text[:TITLE_CHARACTERS]) or "" if texts else ""


def _about(tree: ForeignTree, report: ImportReport) -> dict[str, Any]:
    """Return what the metadata of each conversation tells of the source of a tree."""
    named = {"format": tree.source, "id": tree.tree_id}
    room = METADATA_BYTES_MAX - ABOUT_LINE_BYTES - (ABOUT_SESSIONS_BYTES if tree.session else 0)
    about, lost = storable_metadata(tree.metadata, room, named)
    for name in lost:
        report.add(Reason.MEMBER, f"{name} of {tree.tree_id}")
    return about


def digest_of(source: str, *, owner: str, kind: str, again: str = "", client: str | None = None) -> str:
    """Return what the root of an imported tree tells of its source, to know it again.

    source: the digest of its text, or of all its messages. owner, again: as for `namespace_of`.
    client: the agent whose context was written, too. Another user has another one: a tree that is
    shared is not the import of who sees it.
    """
    told = [READ_AS, owner, kind, source, again, *([client] if client else [])]
    return hashlib.sha256(jsontext.write(told).encode()).hexdigest()[:32]


def _digest(tree: ForeignTree, entries: Sequence[PlannedEntry], about: Mapping[str, Any]) -> str:
    """Return a text that another tree has not: of its messages, where they hang, and all else."""
    told = [tree.title, tree.current, tree.is_archived, about]
    digest = hashlib.sha256(jsontext.write(told).encode())
    for message, entry in zip(tree.messages, entries, strict=True):
        said = hashlib.sha256(entry.body["content"].text.encode()).digest()
        digest.update(f"\n{entry.key} {message.parent} {message.is_child} ".encode() + said)
    return digest.hexdigest()
