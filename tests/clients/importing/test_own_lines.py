"""forklore's own lines: what one user exports is alike after another has imported it."""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from typing import Any

import pytest

from forklore.exporting.jsonlines import MEMBERS, header_line, tree_lines
from forklore.importing.files import read_stream
from forklore.importing.foreign_trees import ImportReport, MalformedFileError
from forklore.importing.formats.own_lines import ForkTree
from forklore.importing.plan import PlannedAt, PlannedFork
from forklore.importing.plan_forks import plan_fork_tree
from tests.clients.importing.service import Service
from tools.harness.gateway import PROJECT

Raw = dict[str, Any]
NEVER_THERE = {"indexedContent"}
"""What callers say of an entry, and no answer shows."""
ROOT, FORK, THIRD = (f"0000000{number}-0000-4000-8000-000000000000" for number in (1, 2, 3))


def entry(entry_id: str, owner: str, text: str = "hi", **members: Any) -> Raw:
    content = [{"role": "USER", "text": text}]
    base = {"id": entry_id, "conversationId": owner, "contentType": "history", "content": content}
    return {**base, "channel": "history", **members}


def fork(conversation_id: str, of: str, at: str | None, position: str, **members: Any) -> Raw:
    point = {"forkedAtConversationId": of, "forkedAtEntryId": at, "forkedAtPosition": position}
    return {"id": conversation_id, **point, **members}


def text_of(*conversations: tuple[Raw, list[Raw]]) -> str:
    return header_line() + "".join(tree_lines(ROOT, flat(conversations)))


def flat(conversations: Iterable[tuple[Raw, list[Raw]]]) -> Iterator[tuple[str, Raw]]:
    """Yield each conversation, and its own entries behind it."""
    for conversation, entries in conversations:
        yield "conversation", conversation
        yield from (("entry", one) for one in entries)


def read(text: str, report: ImportReport | None = None) -> list[ForkTree]:
    found = read_stream(io.BytesIO(text.encode()), report or ImportReport())
    return [tree for tree in found if isinstance(tree, ForkTree)]


def exported(service: Service, root: str, *, said: bool = True) -> str:
    """Return the lines of a tree, as a command would export it."""

    def inherited(row: Raw) -> Raw:
        view = service.view(row["conversationId"])
        above = [one["id"] for one in view if one["conversationId"] != row["conversationId"]]
        return {"inheritedUpToEntryId": above[-1] if above and said else None}

    forks = service.forks(root)
    rows: list[Raw] = service.ask("listEntries", conversationId=root, allForks=True, limit=1000)["data"]
    own = {
        owner: list(group)
        for owner, group in groupby(
            sorted(rows, key=lambda row: (row["conversationId"], row["id"])),
            lambda row: row["conversationId"],
        )
    }
    return header_line(exported_at="2026-01-01T00:00:00.000Z") + "".join(
        tree_lines(
            root,
            flat(
                (
                    {
                        **service.ask("getConversation", conversationId=row["conversationId"]),
                        **inherited(row),
                    },
                    own.get(row["conversationId"], []),
                )
                for row in forks
            ),
        )
    )


def alike(service: Service, conversation_id: str) -> list[Any]:
    """Return what an import must keep of a conversation and its view."""
    row = service.ask("getConversation", conversationId=conversation_id)
    kept = ("title", "tags", "metadata", "isCurrent", "forkedAtPosition")
    names = ("contentType", "content", "usage", "agentId", "channel", "epoch")
    view = [[one.get(name) for name in names] for one in service.view(conversation_id)]
    return [[row.get(name) for name in kept], view]


def build(service: Service) -> list[str]:
    """Make a tree with all that an export holds. Return the ids of its conversations."""
    say: Callable[..., Any] = lambda where, text, **more: service.ask(  # noqa: E731
        "appendEntry",
        conversationId=where,
        contentType="history",
        content=[{"role": "AI", "text": text, "n": 0.1}],
        **more,
    )
    empty = service.ask("createConversation", title="Root", tags={"a": "b"}, metadata={"m": [1, 2]})
    root = empty["id"]
    memory = {"contentType": "application/json", "content": ["m1"]}
    agent = {"context": memory} if service.agent else {}
    first = say(root, "one", key="k1", usage={"inputTokens": 3}, agentId="bot", **agent)
    second = say(root, "two")
    before = service.ask("forkConversation", conversationId=root, atEntryId=second["id"], title="Before")
    say(before["id"], "2b")
    service.ask(
        "appendEntry", conversationId=before["id"], contentType="x/opaque", content=[{"any": None}, "thing"]
    )
    after = service.ask(
        "forkConversation", conversationId=before["id"], atEntryId=first["id"], position="after", promote=True
    )
    say(after["id"], "3", key="k1")
    head = service.ask("forkConversation", conversationId=after["id"], title="Empty")
    last = say(root, "summary", mergedFromConversationId=before["id"])
    say(root, "end", mergedFromConversationId=after["id"])
    blank_id = THIRD[:-12] + service.user.encode().hex().rjust(12, "0")[-12:]
    say(blank_id, "alone", forkedAtConversationId=root)
    assert last["mergedFromConversationId"] == before["id"]
    return [root, before["id"], after["id"], head["id"], blank_id]


@pytest.mark.parametrize("agent", [None, "planner"])
def test_a_tree_is_alike_after_an_export_and_an_import(
    new_service: Callable[..., Service], agent: str | None
) -> None:
    ours, theirs = new_service(agent), new_service(agent)
    ids = build(ours)
    report = ImportReport()

    (tree,) = read(exported(ours, ids[0]), report)
    plan = plan_fork_tree(tree, owner=theirs.user, report=report, with_context=agent is not None)
    loading = theirs.load(plan)
    theirs.forgets = "x"
    again = theirs.load(plan)

    assert report.lines() == []
    made = [loading.conversation_id(number) for number in range(5)]
    assert [alike(theirs, one) for one in made] == [alike(ours, one) for one in ids]
    merged = [
        row["mergedFromConversationId"] for row in theirs.view(made[0]) if "mergedFromConversationId" in row
    ]
    assert merged == [made[1], made[2]]
    assert [row["conversationId"] for row in theirs.forks(made[0])] == made
    assert (again.placed, again.appended) == (loading.placed, 0)
    assert theirs.ask("lookUpEntry", conversationId=made[0], key="k1")["content"][0]["text"] == "one"


def sync(service: Service, conversation_id: str, *content: str) -> None:
    service.ask(
        "syncContext", conversationId=conversation_id, contentType="application/json", content=[*content]
    )


@pytest.mark.parametrize(("kind", "members"), MEMBERS.items())
def test_the_page_names_every_member_of_a_line(kind: str, members: tuple[str, ...]) -> None:
    """A name may be cut, as in `forkedAt…`."""
    page = (PROJECT / "docs" / "formats.md").read_text(encoding="utf-8").partition("own lines\n")[2]
    row, *_ = re.findall(rf"^\| `{kind}` \|(.*)$", page, flags=re.MULTILINE)
    named = re.findall(r"`(\w+…?)`", row)
    cut = tuple(name[:-1] for name in named if name.endswith("…"))

    assert {name for name in members if not name.startswith(cut)} <= {*named, *NEVER_THERE}


@pytest.mark.parametrize("said", [True, False])
def test_a_fork_inherits_the_same_context_as_before(new_service: Callable[..., Service], said: bool) -> None:
    ours, theirs = new_service("planner"), new_service("planner")
    message = {"contentType": "history", "content": [{"text": "hi"}]}
    memory = {"contentType": "application/json", "content": ["1"]}
    root = ours.ask("createConversation")["id"]
    first = ours.ask("appendEntry", conversationId=root, **message, context=memory)
    if said:
        sync(ours, root, "1", "2")
    memory = {**memory, "content": ["1", "2", "3"]}
    second = ours.ask("appendEntry", conversationId=root, **message, context=memory)
    points = [(first, "before"), (first, "after"), (second, "before"), (second, "after")]
    ids = [root]
    for at, position in points:
        forked = ours.ask("forkConversation", conversationId=root, atEntryId=at["id"], position=position)
        sync(ours, forked["id"], "own")
        ids.append(forked["id"])

    (tree,) = read(exported(ours, root, said=said))
    loading = theirs.load(plan_fork_tree(tree, owner=theirs.user, report=ImportReport()))

    for number, conversation_id in enumerate(ids):
        theirs_view = theirs.view(loading.conversation_id(number))
        names = ("channel", "epoch", "content")
        assert [[row.get(name) for name in names] for row in theirs_view] == [
            [row.get(name) for name in names] for row in ours.view(conversation_id)
        ]


def test_an_agent_that_imports_what_its_user_has_doubles_nothing_and_remembers_what_it_can(
    new_service: Callable[..., Service],
) -> None:
    ours, theirs = new_service("planner"), new_service()
    message = {"contentType": "history", "content": [{"text": "hi"}]}
    memory = {"contentType": "application/json", "content": ["1"]}
    root = ours.ask("createConversation")["id"]
    first = ours.ask("appendEntry", conversationId=root, **message, context=memory)
    fork = ours.ask("forkConversation", conversationId=root, atEntryId=first["id"], position="after")["id"]
    ours.ask("appendEntry", conversationId=fork, **message, context={**memory, "content": ["1", "2"]})
    (tree,) = read(exported(ours, root))
    before = theirs.load(plan_fork_tree(tree, owner=theirs.user, report=ImportReport(), with_context=False))

    theirs.agent = "planner"
    for _ in range(2):
        theirs.forgets += "x"
        loading = theirs.load(plan_fork_tree(tree, owner=theirs.user, report=ImportReport()))

        assert len(loading.left_out) == 1
        assert [loading.conversation_id(number) for number in range(2)] == [
            before.conversation_id(number) for number in range(2)
        ]
        views = [theirs.view(loading.conversation_id(number)) for number in range(2)]
        assert [[row["content"] for row in view] for view in views] == [
            [message["content"], ["1"]],
            [message["content"], message["content"]],
        ]


def test_a_user_gets_the_history_of_an_agents_tree(new_service: Callable[..., Service]) -> None:
    ours, theirs = new_service("planner"), new_service()
    ids, report = build(ours), ImportReport()
    (tree,) = read(exported(ours, ids[0]))

    plan = plan_fork_tree(tree, owner=theirs.user, report=report, with_context=False)
    loading = theirs.load(plan)

    assert [line.partition(":")[0] for line in report.lines()] == ["entry of an agent's context"]
    for number, one in enumerate(ids):
        shown = ours.ask("listEntries", conversationId=one, channel="history")["data"]
        wanted = [row["content"] for row in shown]
        assert [row["content"] for row in theirs.view(loading.conversation_id(number))] == wanted


def test_forks_at_entries_that_are_left_out_fork_after_the_history_before() -> None:
    context: Raw = {"channel": "context", "epoch": 1, "clientId": "a"}
    (tree,) = read(
        text_of(
            ({"id": ROOT}, [entry("1", ROOT, **context), entry("2", ROOT), entry("3", ROOT, **context)]),
            (fork("f0", ROOT, "1", "after"), [entry("4", "f0")]),
            (fork("f1", ROOT, "3", "before"), [entry("5", "f1", **context)]),
            (fork("f2", "f1", "5", "after"), []),
            (fork("f3", "f0", "4", "before"), []),
        )
    )
    report = ImportReport()

    plan = plan_fork_tree(tree, owner="ann", report=report, with_context=False)

    assert [conversation.fork for conversation in plan.conversations] == [
        None,
        PlannedFork(0, None, "blank"),
        PlannedFork(0, PlannedAt(0, 0), "after"),
        PlannedFork(2, PlannedAt(0, 0), "after"),
        PlannedFork(1, PlannedAt(1, 0), "before"),
    ]
    assert report.lines() == ["entry of an agent's context: 3 (1, 3, 5)"]


def test_entries_whose_author_was_erased_are_left_out_and_counted() -> None:
    erased: Raw = {"content": [], "erased": True}
    context: Raw = {"channel": "context", "epoch": 1}
    (tree,) = read(
        text_of(
            (
                {"id": ROOT},
                [
                    entry("1", ROOT, **erased, **context, clientId="erased-1"),
                    entry("2", ROOT),
                    entry("3", ROOT, **erased, mergedFromConversationId="f0", mergedUpToEntryId="5"),
                    entry("4", ROOT, **context, clientId="a"),
                ],
            ),
            (fork("f0", ROOT, "3", "before"), [entry("5", "f0", **erased)]),
            (fork("f1", ROOT, "1", "after"), [entry("6", "f1")]),
        )
    )
    report = ImportReport()

    plan = plan_fork_tree(tree, owner="ann", report=report)

    assert [[one.key for one in each.entries] for each in plan.conversations] == [["2", "4"], [], ["6"]]
    assert [each.fork for each in plan.conversations] == [
        None,
        PlannedFork(0, PlannedAt(0, 0), "after", PlannedAt(0, 1)),
        PlannedFork(0, None, "blank"),
    ]
    assert report.lines() == ["entry whose author was erased: 3 (1, 3, 5)"]


def test_what_an_import_cannot_give_back_is_reported() -> None:
    report = ImportReport()
    (tree,) = read(
        text_of(
            (
                {"id": ROOT, "startedByConversationId": "p"},
                [entry("1", ROOT, mergedFromConversationId="gone")],
            ),
            (fork("f", ROOT, None, "blank"), []),
            (fork("g", "f", None, "blank"), [entry("2", "g")]),
        ),
        report,
    )

    plan = plan_fork_tree(tree, owner="ann", report=report)

    assert [conversation.fork for conversation in plan.conversations] == [None, PlannedFork(0, None, "blank")]
    assert sorted(report.lines()) == [
        "empty branch that inherits nothing: 1 (f)",
        "link to the conversation that started this one: 1 (00000001-0000-4000-8000-000000000000)",
        "mention of a merged branch that is not in the file: 1 (1)",
    ]


def test_merges_of_each_other_are_cut_into_batches_that_wait_for_each_other() -> None:
    (tree,) = read(
        text_of(
            (
                {"id": ROOT},
                [entry("1", ROOT), entry("4", ROOT, mergedFromConversationId=FORK, mergedUpToEntryId="3")],
            ),
            (
                fork(FORK, ROOT, "1", "after"),
                [
                    entry("3", FORK),
                    entry("5", FORK, mergedFromConversationId=ROOT, mergedUpToEntryId="4"),
                ],
            ),
        )
    )

    plan = plan_fork_tree(tree, owner="ann", report=ImportReport())

    cuts = [(batch.conversation, batch.start, batch.end) for batch in plan.batches]
    assert cuts == [(0, 0, 1), (1, 0, 1), (0, 1, 2), (1, 1, 2)]
    assert all(max(batch.needs, default=-1) < number for number, batch in enumerate(plan.batches))


def test_merges_in_a_circle_are_an_error() -> None:
    (tree,) = read(
        text_of(
            ({"id": ROOT}, [entry("1", ROOT, mergedFromConversationId=FORK, mergedUpToEntryId="2")]),
            (fork(FORK, ROOT, "1", "after"), [entry("2", FORK)]),
        )
    )

    with pytest.raises(MalformedFileError, match="its merges mention each other in a circle"):
        plan_fork_tree(tree, owner="ann", report=ImportReport())


def test_numbers_stay_exact_and_trees_may_follow_each_other() -> None:
    rows = [entry("1", ROOT)]
    rows[0]["content"] = [
        {"text": "t", "n": [Decimal("1.2345678901234567890E+300"), Decimal("0.12345678901234567890"), 1.5]}
    ]
    text = text_of(({"id": ROOT}, rows))

    trees = read(text + text)

    assert [tree.conversations[0].entries[0].members["content"] for tree in trees] == [rows[0]["content"]] * 2
    assert '"n":[1.2345678901234567890E+300,0.12345678901234567890,1.5]' in text


HEADER, TREE = header_line().strip(), json.dumps({"type": "tree", "id": "t"})
CONVERSATION = json.dumps({"type": "conversation", "id": "t"})
ENTRY = json.dumps({"type": "entry", **entry("1", "t")})
END = json.dumps({"type": "end", "id": "t", "conversations": 1, "entries": 1})


def line(kind: str, **members: Any) -> str:
    return json.dumps({"type": kind, **members})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([HEADER.replace("1", "2")], "line 1: version 2 of the format; this program reads version 1"),
        ([HEADER, ENTRY], "line 2: a line of the type 'entry' has no place here"),
        ([HEADER, TREE, TREE], "line 3: a line of the type 'tree' has no place here"),
        ([HEADER, "7"], "line 2: a line of the type None has no place here"),
        ([HEADER, line("tree")], "line 2: no id under 'id'"),
        ([HEADER, TREE, CONVERSATION, ENTRY], "line 4: the file ends inside the tree t"),
        ([HEADER, TREE, CONVERSATION, END], "line 4: the tree has 0 entries, and should have 1"),
        ([HEADER, TREE, END.replace("1", "0")], "line 3: the tree has no conversation"),
        ([HEADER, TREE, CONVERSATION, CONVERSATION], "line 4: the conversation t is there twice"),
        ([HEADER, TREE, CONVERSATION, ENTRY, ENTRY], "line 5: the entry 1 is there twice"),
        ([HEADER, TREE, CONVERSATION, line("conversation", id="u")], "line 4: a tree has one root"),
        ([HEADER, TREE, line("conversation", **fork("u", "t", None, "blank"))], "line 3: it forks t, which"),
        (
            [HEADER, TREE, CONVERSATION, line("conversation", **fork("u", "t", "1", "after"))],
            "line 4: it forks at 1, which does not come before it",
        ),
        (
            [HEADER, TREE, CONVERSATION, line("conversation", **fork("u", "t", "1", "head"))],
            "line 4: 'forkedAtPosition' is not before, after or blank",
        ),
        ([HEADER, TREE, ENTRY], "line 3: the entry is of t, which does not come before it"),
        (
            [HEADER, TREE, CONVERSATION, line("entry", **{**entry("1", "t"), "content": 5})],
            "line 4: an entry needs a 'contentType' and an array 'content'",
        ),
        (
            [HEADER, TREE, CONVERSATION, line("entry", **entry("1", "t", text="x" * 3_000_000))],
            "line 4: message too large (1)",
        ),
    ],
)
def test_a_line_out_of_place_is_named(lines: list[str], said: str) -> None:
    with pytest.raises(MalformedFileError) as caught:
        read("\n".join(lines))

    assert str(caught.value).startswith(said)
