"""`forklore export`, and that an import of what it writes gives an equal tree."""

import io
import itertools
import json
import re
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest

import forklore
from forklore.exporting.branches import live_rows
from forklore.exporting.bytes_within import Files
from forklore.exporting.elsewhere import turns_of
from forklore.exporting.fork_trees import exported
from forklore.exporting.kept_files import Keeping
from forklore.exporting.page import html
from forklore.importing.files import read_stream
from forklore.importing.foreign_trees import ImportReport
from forklore.importing.formats.own_lines import FileEntry, ForkTree, StoredConversation
from tests.clients.cli.counting import counted
from tests.clients.cli.running import Forklore
from tools.harness.local_server import ROOT

Raw = dict[str, Any]


def read(text: str) -> ForkTree:
    """Return the one tree of an export."""
    (tree,) = read_stream(io.BytesIO(text.encode()), ImportReport())
    assert isinstance(tree, ForkTree)
    return tree


def told(entry: FileEntry) -> str:
    """Return all of an entry that an import keeps. One without a key gets its old id as its key."""
    key = entry.key if entry.key and entry.key.startswith("key ") else None
    return json.dumps([key, entry.members], default=str, sort_keys=True)


def views(tree: ForkTree) -> dict[str, list[str]]:
    """Return what each conversation shows, each entry as all of it that an import keeps.

    The definition is a plain one: what the source shows up to the fork point, and the own entries.
    """
    shown: dict[str, list[tuple[str, str]]] = {}
    for one in tree.conversations:
        above: list[tuple[str, str]] = []
        if one.fork is not None and one.fork.entry_id is not None:
            source = shown[one.fork.conversation_id]
            last = one.fork.up_to or one.fork.entry_id
            is_before = one.fork.up_to is None and one.fork.position == "before"
            at = next(at for at, (entry_id, _) in enumerate(source) if entry_id == last)
            above = source[: at + (not is_before)]
        own = [(entry.entry_id, told(entry)) for entry in one.entries]
        shown[one.conversation_id] = above + own
    return {name: [text for _, text in view] for name, view in shown.items()}


def alike(text: str) -> list[Any]:
    """Return a tree without ids and times: each conversation by what it shows, in a fixed order."""
    tree = read(text)
    shown = views(tree)

    def whole(one: StoredConversation) -> list[Any]:
        merged = [shown.get(entry.merged_from or "") for entry in one.entries]
        settings = [one.title, one.settings.get("tags"), one.settings.get("metadata")]
        return [shown[one.conversation_id], *settings, one.is_current, merged]

    return sorted((whole(one) for one in tree.conversations), key=repr)


def grown(client: forklore.Forklore, seed: int, *, agent: bool, steps: int = 25) -> str:
    """Make a tree at random with all that an export holds; return the id of its root."""
    random = Random(seed)
    root = str(uuid.uuid4())
    api, branches, count = client.api, [root], 0

    def said() -> Raw:
        nonlocal count
        count += 1
        text = random.choice(["plain", "two\nlines", "ü 味噌 🥣", "\u202e\x1b[31m", ""])
        content = [
            {"role": random.choice(["USER", "AI"]), "text": f"{count} {text}", "n": [0.1, 10**20, None]}
        ]
        fields: Raw = {"content_type": "history", "content": content, "key": f"key {count}"}
        if random.random() < 0.3:
            fields |= {"usage": {"inputTokens": count}, "metadata": {"n": count}, "agent_id": "bot"}
        if agent and random.random() < 0.5:
            fields["context"] = {"contentType": "application/json", "content": [f"memory {count}"]}
        return fields

    client.create(id=root, title="Root", tags={"a": "b"}, metadata={"m": [1, 0.1]}).append(**said())
    for _ in range(steps):
        chosen = client.conversation(random.choice(branches))
        match random.choice(["append", "append", "append", "fork", "fork", "blank", "merge", "sync"]):
            case "append":
                chosen.append(**said())
            case "merge":
                chosen.append(**said(), merged_from_conversation_id=random.choice(branches))
            case "sync" if agent:
                chosen.context.sync([f"memory {random.random()}"], based_on=None)
            case "fork":
                entry = random.choice(chosen.entries(channel="history").list())
                places: Any = {random.choice(["before", "after"]): entry}
                made: Any = chosen.fork(**places, promote=random.random() < 0.3, title=f"F{count}")
                if random.random() < 0.8 or not made.entries().list(limit=1):
                    made.append(**said())
                branches.append(made.id)
            case "blank":
                made_id = str(uuid.uuid4())
                api.append_entry(made_id, **said(), forked_at_conversation_id=root, title="Blank")
                branches.append(made_id)
    return root


def client_of(run: Forklore) -> forklore.Forklore:
    """Return a client of the store and the user of command lines."""
    options = dict(zip(run.options[::2], run.options[1::2], strict=True))
    return forklore.Forklore.local(
        user=options["--user"], client=options.get("--client"), data=options["--data"]
    )


AGENTS = {"user": None, "planner": "planner", "hotels": "hotels"}


def acting(run: Forklore, who: str) -> Forklore:
    return Forklore((*run.options, "--client", who), run.variables) if AGENTS[who] else run


def as_agent(run: Forklore) -> Forklore:
    return acting(run, "planner")


def shared(clients: dict[str, forklore.Forklore], seed: int, *, steps: int = 20) -> list[str]:
    """Make a tree at random that a user and two agents share; return the branches that are left."""
    random, count = Random(seed), itertools.count()
    branches = [str(uuid.uuid4())]

    def say(who: str, branch: str, **fields: Any) -> None:
        number = next(count)
        fields |= {"content_type": "history", "content": [{"role": "USER", "text": f"{number}"}]}
        memory = {"contentType": "application/json", "content": [f"memory {number}"]}
        if AGENTS[who] and random.random() < 0.5:
            with suppress(forklore.ForbiddenError):  # the branch is the other agent's
                clients[who].conversation(branch).append(**fields, context=memory)
                return
        clients[who].conversation(branch).append(**fields)

    say("user", branches[0])
    for _ in range(steps):
        who, branch = random.choice(list(clients)), random.choice(branches)
        shown = clients[who].conversation(branch).entries().list()
        match random.choice(["say", "say", "fork", "fork", "blank", "sync"]):
            case "fork" if shown:
                places: Any = {random.choice(["before", "after"]): random.choice(shown)}
                branches.append(clients[who].conversation(branch).fork(**places).id)
            case "blank":
                branches.append(str(uuid.uuid4()))
                say(who, branches[-1], forked_at_conversation_id=branch)
            case "sync" if AGENTS[who]:
                with suppress(forklore.ForbiddenError):
                    clients[who].conversation(branch).context.sync([f"memory {next(count)}"], based_on=None)
            case _:
                say(who, branch)
    for branch in random.sample(branches, min(len(branches) - 1, random.randrange(4))):
        clients["user"].conversation(branch).delete()
        branches.remove(branch)
    return branches


def seen(client: forklore.Forklore, branches: Iterable[str], channel: str | None = None) -> Counter[str]:
    """Return what branches show, each as one text. Those that show nothing are left out."""
    views = (client.api.list_entries(one, channel=channel, limit=1000).data for one in branches)
    return Counter(json.dumps([one.content for one in view]) for view in views if view)


def shows_context(client: forklore.Forklore, branch: str) -> bool:
    """Tell whether a branch shows the caller its context. In another agent's branch it does not."""
    try:
        client.api.list_entries(branch, channel="context", limit=1)
    except forklore.ForbiddenError:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("who", AGENTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_of_two_agents_with_deleted_branches_comes_back(
    run: Forklore, there: Forklore, tmp_path: Path, seed: int, who: str
) -> None:
    branches = shared({one: client_of(acting(run, one)) for one in AGENTS}, seed)
    file = tmp_path / "tree.jsonl"

    assert acting(run, who)(f"export {branches[0]} -o {file}").code == 0
    imported = acting(there, who)(f"import {file} --name tree")

    assert imported.code == 0, imported.err
    lines = acting(there, who)("branch tree --json").lines
    client, back = client_of(acting(run, who)), client_of(acting(there, who))
    rows = [json.loads(line)["conversationId"] for line in lines]
    assert not seen(client, branches, "history") - seen(back, rows, "history")
    assert not seen(client, [one for one in branches if shows_context(client, one)]) - seen(back, rows)


def test_an_agent_exports_its_context_out_of_a_tree_that_another_agent_began(run: Forklore) -> None:
    with client_of(acting(run, "hotels")) as hotels, client_of(as_agent(run)) as planner:
        root = hotels.create()
        first = root.say("user", "one")
        planner.conversation(root.id).fork(after=first).context.sync(["my memory"])

    found = as_agent(run)(f"export {root.id}")

    assert found.code == 0
    assert "my memory" in found.out


def test_what_a_fork_inherits_through_another_agents_branch_comes_back(
    run: Forklore, there: Forklore, tmp_path: Path
) -> None:
    """The branch hides the memory from its agent, and a fork of it shows the memory again."""
    with client_of(acting(run, "hotels")) as hotels, client_of(as_agent(run)) as planner:
        root = client_of(run).create()
        first = planner.conversation(root.id).turn("user", "one", context=["my memory"])
        theirs = hotels.conversation(root.id).fork(after=first)
        mine = planner.conversation(theirs.id).fork(after=theirs.say("user", "two"))
        mine.turn("ai", "three", context=["my memory", "more"])
        expected = seen(planner, [mine.id])
    file = tmp_path / "tree.jsonl"

    assert as_agent(run)(f"export {root.id} -o {file}").code == 0
    assert as_agent(there)(f"import {file} --name tree").code == 0

    rows = [json.loads(line)["conversationId"] for line in as_agent(there)("branch tree --json").lines]
    assert expected <= seen(client_of(as_agent(there)), rows)


def test_a_branch_without_entries_is_told_before_its_fork_when_the_root_is_gone(
    run: Forklore, there: Forklore, tmp_path: Path
) -> None:
    with client_of(run) as client:
        root = client.create()
        empty = root.fork(before=root.say("user", "one"))
        client.api.append_entry(
            str(uuid.uuid4()),
            content_type="history",
            content=[{"role": "USER", "text": "two"}],
            forked_at_conversation_id=empty.id,
        )
        root.delete()
    file = tmp_path / "tree.jsonl"

    assert run(f"export {empty.id} -o {file}").code == 0
    imported = there(f"import {file} --name tree")

    assert (imported.code, len(read(file.read_text()).conversations)) == (0, 2), imported.err


def test_a_fork_of_another_agents_branch_comes_back_with_the_context_that_it_shows(
    run: Forklore, there: Forklore, tmp_path: Path
) -> None:
    with client_of(acting(run, "hotels")) as hotels, client_of(as_agent(run)) as planner:
        root = client_of(run).create()
        first = planner.conversation(root.id).turn("user", "one", context=["my memory"])
        theirs = hotels.conversation(root.id).fork(before=root.say("user", "two"))
        theirs.say("user", "three")
        planner.conversation(theirs.id).fork(after=first)
    file = tmp_path / "tree.jsonl"

    assert as_agent(run)(f"export {root.id} -o {file}").code == 0
    imported = as_agent(there)(f"import {file} --name tree")

    assert imported.code == 0, imported.err
    shown = views(read(as_agent(there)("export tree").out)).values()
    assert sorted(len(view) for view in shown) == [2, 2, 3]


@pytest.mark.long
@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_random_tree_is_equal_after_an_export_and_an_import(
    run: Forklore, there: Forklore, tmp_path: Path, seed: int, agent: bool
) -> None:
    ours, theirs = (as_agent(run), as_agent(there)) if agent else (run, there)
    with client_of(ours) as client:
        root = grown(client, seed, agent=agent)
    file = tmp_path / "tree.jsonl"

    assert ours(f"export {root} -o {file}").code == 0
    imported = theirs(f"import {file} --name tree")
    exported = theirs("export tree")

    assert (imported.code, exported.code) == (0, 0), imported.err
    assert "left out" not in imported.err
    assert alike(exported.out) == alike(file.read_text())
    assert len(alike(exported.out)) > 3


def test_an_agent_exports_a_deleted_branch_that_forks_at_a_first_entry(run: Forklore) -> None:
    agent = as_agent(run)
    agent("say root one")
    agent("fork root --name middle")
    agent("say middle two")
    agent("fork middle --name leaf")
    agent("say leaf three")
    assert agent("branch middle -d --yes").code == 0

    found = agent("export leaf")

    assert (found.code, found.err) == (0, "")
    texts = [entry["content"][0]["text"] for entry in map(json.loads, found.lines) if "content" in entry]
    assert texts == ["one", "two", "three"]


@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize("deleted", [["middle"], ["root"], ["root", "middle"]])
def test_deleted_branches_that_show_through_are_exported(
    run: Forklore, there: Forklore, tmp_path: Path, deleted: list[str], agent: bool
) -> None:
    run, there = (as_agent(run), as_agent(there)) if agent else (run, there)
    run("say root one")
    run("say root two")
    run("say root three")
    run("fork root --after -2 --name middle")
    run("say middle 2a")
    run("say middle 2b")
    run("fork middle --before -1 --name leaf")
    run("say leaf 2c")
    run("fork middle --before -2 --name twin")
    run("say twin 2d")
    for name in deleted:
        assert run(f"branch {name} -d --yes").code == 0
    file = tmp_path / "tree.jsonl"

    assert run(f"export leaf -o {file}").code == 0
    found = there(f"import {file} --name any")

    assert (found.code, "left out" in found.err) == (0, False), found.err
    ids = [json.loads(line)["conversationId"] for line in there("branch any --json").lines]
    shown = {
        tuple(json.loads(line)["content"][0]["text"] for line in there(f"log {one} --reverse --json").lines)
        for one in ids
    }
    assert {("one", "two", "2a", "2c"), ("one", "two", "2d")} <= shown
    assert (("one", "two", "three") in shown) == ("root" not in deleted)


@pytest.mark.parametrize("agent", [False, True])
def test_forks_at_an_agents_context_are_exported_as_the_caller_sees_them(run: Forklore, agent: bool) -> None:
    with client_of(as_agent(run)) as client:
        chat = client.conversation(str(uuid.uuid4()))
        memory = chat.context.sync(["memory"]).entry
        assert memory
        bare = chat.fork()
        chat.say("user", "one")
        early = chat.fork(after=memory)
        later = chat.context.sync(["memory", "more"]).entry
        chat.say("user", "two")
        assert later
        late = chat.fork(after=later)
        leaf = late.fork()
        for fork in (leaf, late, early, bare):
            fork.say("user", "own")

    shown = views(read((as_agent(run) if agent else run)(f"export {chat.id}").out))

    texts = {one: [json.loads(text)[1]["content"][0] for text in view] for one, view in shown.items()}
    one, two, own = ({"role": "USER", "text": text} for text in ("one", "two", "own"))
    expected = {
        chat.id: ["memory", one, "more", two],
        bare.id: ["memory", own],
        early.id: ["memory", own],
        late.id: ["memory", one, "more", own],
        leaf.id: ["memory", one, "more", own],
    }
    assert texts == {
        branch: [one for one in view if agent or isinstance(one, dict)] for branch, view in expected.items()
    }


def test_one_view_is_exported_as_a_tree_of_its_own(run: Forklore, there: Forklore, tmp_path: Path) -> None:
    run("say trip one --key k")
    run("say trip two")
    run("fork trip --before -1 --name other")
    run("say other three --key k")
    file = tmp_path / "view.jsonl"

    assert run(f"export other --branch -o {file}").code == 0
    assert there(f"import {file} --name other").code == 0

    texts = [json.loads(line)["content"][0]["text"] for line in there("log other --reverse --json").lines]
    assert texts == ["one", "three"]
    assert len(there("branch other").lines) == 1


def noted(run: Forklore, name: str, entry: str) -> list[tuple[Any, ...]]:
    rows = [json.loads(line) for line in run(f"notes {name} {entry} --json").lines]
    return [tuple(row.get(member) for member in ("text", "score", "pinned", "userId")) for row in rows]


def test_notes_come_back_once_as_those_of_who_imports(run: Forklore, there: Forklore, tmp_path: Path) -> None:
    user, other = run.options[-1], there.options[-1]
    file = tmp_path / "trip.jsonl"
    run("say trip one --key k")
    run("say trip two")
    run("fork trip --before -1 --name other")
    run("say other three")
    run("share trip bob writer")
    bob = Forklore((*run.options[:-1], "bob"), run.variables)
    for by, line in (
        (run, "note trip @k 'so so' --score 0.5"),
        (bob, f"note {run.id_of('trip')} @k 'so so' --score 0.5"),
        (run, "note other -1 --score 2"),
        (run, "pin trip -1"),
    ):
        assert by(line).code == 0

    assert run(f"export trip -o {file}").code == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    notes = [[list(note)[:-1] for note in one["notes"]] for one in lines if "notes" in one]
    authors = [note["userId"] for one in lines for note in one.get("notes", ())]
    first, again = there(f"import {file} --name mine"), there(f"import {file}")

    said, score, pin = ["userId", "text", "score"], ["userId", "score"], ["userId", "pinned"]
    assert notes == [[said, said], [pin], [score]]
    assert authors == [user, "bob", user, user]
    assert (first.code, again.code) == (0, 0), first
    assert "left out" not in first.err + again.err
    assert noted(there, "mine", "@k") == [("so so", 0.5, None, other)] * 2
    assert noted(there, "mine", "-1") == [(None, None, True, other)]
    assert there(f"export mine --branch -o {tmp_path / 'branch.jsonl'}").code == 0
    assert (tmp_path / "branch.jsonl").read_text().count('"notes":') == 2


def test_a_note_that_an_earlier_run_lacks_is_added_and_one_that_is_refused_is_counted(
    run: Forklore, there: Forklore, tmp_path: Path
) -> None:
    file = tmp_path / "trip.jsonl"
    run("say trip one")
    run("note trip -1 good")
    run(f"export trip -o {file}")
    there(f"import {file} --name mine")
    more = '{"text":"good"},{"score":1},{"score":"high"},{"text":"x","pinned":true},7,{"text":"good"}]'
    file.write_text(re.sub(r'"notes":\[.*?\]', lambda _: f'"notes":[{more}', file.read_text()))

    again = there(f"import {file}")

    assert "left out: note that the service does not take: 2 (" in again.err, again.err
    found = [one[:2] for one in noted(there, "mine", "-1")]
    assert sorted(found, key=str) == [("good", None), ("good", None), (None, 1)]


def test_several_conversations_of_a_tree_export_it_once(run: Forklore) -> None:
    run("say trip one")
    run("fork trip --name other")
    run("say different two")

    found = run("export trip other different trip")

    kinds = [json.loads(line)["type"] for line in found.lines]
    assert kinds.count("tree") == kinds.count("end") == 2
    assert kinds[0] == "header"
    assert kinds.count("header") == 1


def test_what_goes_to_a_terminal_holds_no_control_character(run: Forklore) -> None:
    run("say trip -", stdin="red \x1b[31m \u202e".encode())

    found = run("export trip", is_terminal=True)

    lines = [json.loads(line) for line in found.lines]
    assert lines[3]["content"][0]["text"] == "red \x1b[31m \u202e"
    assert not {"\x1b", "\u202e"} & set(found.out)


def test_a_file_is_written_whole_or_not_at_all(run: Forklore, tmp_path: Path) -> None:
    run("say trip one")
    file = tmp_path / "trip.jsonl"
    file.write_text("older")

    found = run(f"export trip {uuid.uuid4()} -o {file}")

    assert found.code == 3
    assert file.read_text() == "older"
    assert list(tmp_path.glob("trip*")) == [file]
    assert run(f"export trip -o {tmp_path / 'no' / 'file'}").code == 2


def test_the_examples_come_back(run: Forklore, there: Forklore, tmp_path: Path) -> None:
    file, again = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    ids = [line.split("\t")[0] for line in run(f"import '{ROOT}/examples/trees.jsonl'").lines]

    assert run(f"export {' '.join(ids)} -o {file}").code == 0
    made = there(f"import {file}")
    assert there(f"export {' '.join(line.split()[0] for line in made.lines)} -o {again}").code == 0

    def sizes(path: Path) -> list[Any]:
        ends = [json.loads(line) for line in path.read_text().splitlines() if '"type":"end"' in line]
        return [(end["conversations"], end["entries"]) for end in ends]

    assert made.err == f"{file}: 3 trees, 29 entries\n"
    assert sizes(again) == sizes(file) == [(8, 19), (3, 8), (1, 2)]


@pytest.mark.parametrize("agent", [None, "planner"])
def test_entries_are_read_by_pages_and_not_by_branches(agent: str | None) -> None:
    with counted(agent) as (client, sent):
        chat = client.named("wide")
        memory: Any = {"context": ["memory"]} if agent else {}
        first = chat.turn("user", "one", **memory)
        chat.say("user", "two")
        for fork in chat.fork(after=first, count=10):
            fork.say("user", "other")
        third = chat.say("user", "three")
        chat.say("user", "four")
        chat.fork(after=third).say("user", "another")
        sent.clear()

        rows = live_rows(chat)
        keeping = Keeping(client, None)
        lines = exported(client, rows, keeping, is_agent=agent is not None, threads=3, on_branch=lambda: None)
        text = "".join(lines)

        reads = Counter(sent)
        # An agent asks which branch shows its context, and where each fork beside a context leaves.
        assert reads.pop("listEntries") == (1 + 10 + 1 if agent else 1)
        assert reads == {"listForks": 1, "getConversation": 12, "listNotes": 1}
        assert text.count('"inheritedUpToEntryId"') == (10 if agent else 0)
        assert text.count('"type":"conversation"') == 12


MESSAGES = [
    {"role": "system", "content": "Be brief", "created_at": "2024-05-01T10:00:00.000Z"},
    {"role": "user", "content": "Rain?", "created_at": "2024-05-01T10:00:01.000Z"},
    {
        "role": "assistant",
        "content": "I look 🐟.",
        "created_at": "2024-05-01T10:00:02.000Z",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "sky", "arguments": '{"d":1}'}}],
    },
    {
        "role": "tool",
        "content": "wet",
        "created_at": "2024-05-01T10:00:03.000Z",
        "tool_call_id": "c",
        "name": "sky",
    },
    {"role": "assistant", "content": "Yes.", "created_at": "2024-05-01T10:00:04.000Z"},
]


@pytest.fixture
def talk(run: Forklore, tmp_path: Path) -> str:
    """A conversation with a tool, from elsewhere."""
    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"id": "talk", "title": "Rain", "messages": MESSAGES}))
    return run(f"import {path}").lines[0].split("\t")[0]


def lines_of(run: Forklore, conversation: str) -> list[list[str]]:
    """Return who says what in a conversation, and when."""
    shown = run(f"log {conversation} --reverse").out.split("entry ")[1:]
    return [[line.split(" ")[0], line[-24:], *said] for _, line, _, *said in map(str.splitlines, shown)]


def test_messages_are_as_they_were(run: Forklore, talk: str) -> None:
    found = json.loads(run(f"export {talk} --format messages").out)

    assert (found["title"], found["messages"]) == ("Rain", MESSAGES)


@pytest.mark.parametrize("name", ["messages", "claude-code"])
def test_what_is_exported_for_another_system_is_imported_as_it_was(
    run: Forklore, talk: str, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "out"
    assert run(f"export {talk} --format {name} --output {path}").code == 0

    again = run(f"import {path}").lines[0].split("\t")

    assert again[2] == "Rain"
    assert lines_of(run, again[0]) == lines_of(run, talk)


def test_in_chatgpts_export_a_call_is_a_message_of_its_own(run: Forklore, talk: str, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    run(f"export {talk} --format chatgpt --output {path}")

    again = run(f"import {path}").lines[0].split("\t")

    lines = [line.split(" ", 1)[1] for line in run(f"log {again[0]} --oneline --reverse").lines]
    assert lines == [
        "system Be brief",
        "user Rain?",
        "ai I look 🐟.",
        'ai [calls sky {"d":1}]',
        "tool [sky returned wet]",
        "ai Yes.",
    ]
    assert "2024-05-01 10:00:04 UTC" in run(f"log {again[0]} -n 1").out


PICTURE, FILM = b"bytes of a picture", b"bytes of a film"
LEFT_OUT = "files that are left out: {}; {} has no place for them, or they are gone\n"


@pytest.fixture
def shown(run: Forklore, tmp_path: Path) -> str:
    """A conversation whose question names four files."""
    for name, content in (("pic.png", PICTURE), ("film.mp4", FILM), ("a.pdf", b"%PDF"), ("a.txt", b"note")):
        (tmp_path / name).write_bytes(content)
    files = " ".join(f"--attach {tmp_path}/{name}" for name in ("pic.png", "film.mp4", "a.pdf", "a.txt"))
    run(f"say shown 'look at these' {files}")
    run("say shown nice --role ai")
    return "shown"


@pytest.mark.parametrize(
    ("name", "left_out", "kinds"),
    [
        ("messages", 0, ["image_url", "file", "file", "file"]),
        ("claude-code", 1, ["image", "document", "document"]),
        ("chatgpt", 4, None),
    ],
)
def test_files_go_along_or_are_counted(
    run: Forklore, shown: str, tmp_path: Path, name: str, left_out: int, kinds: list[str] | None
) -> None:
    path = tmp_path / "out"
    told = run(f"export {shown} --format {name} --output {path}")
    again = run(f"import {path}").lines[0].split("\t")[0]

    assert (told.code, told.err) == (0, LEFT_OUT.format(left_out, name) if left_out else "")
    question, answer = [json.loads(line)["content"][0] for line in run(f"log {again} --reverse --json").lines]
    assert (question["text"], answer["text"]) == ("look at these", "nice")
    if kinds is None:
        names = [one["name"] for one in question["attachments"]]
        assert names == ["pic.png", "film.mp4", "a.pdf", "a.txt"]
    else:
        assert [one["type"] for one in question["events"]] == ["text", *kinds]
        assert b64encode(PICTURE).decode() in path.read_text()


@pytest.mark.parametrize(("first", "then"), [("messages", "claude-code"), ("claude-code", "messages")])
def test_bytes_in_a_message_go_along_from_one_format_to_another(
    run: Forklore, shown: str, tmp_path: Path, first: str, then: str
) -> None:
    run(f"export {shown} --format {first} --output {tmp_path}/first")
    between = run(f"import {tmp_path}/first").lines[0].split("\t")[0]
    run(f"export {between} --format {then} --output {tmp_path}/then")
    again = run(f"import {tmp_path}/then").lines[0].split("\t")[0]

    assert b64encode(PICTURE).decode() in (tmp_path / "then").read_text()
    assert run(f"log {again}").out.count("look at these") == 1
    assert b64encode(PICTURE).decode() not in run(f"log {again}").out


def test_a_file_whose_bytes_are_gone_is_counted(run: Forklore, tmp_path: Path) -> None:
    told = json.dumps(
        [
            {
                "id": "g",
                "mapping": {
                    "n": {
                        "parent": None,
                        "message": {
                            "author": {"role": "user"},
                            "content": {"content_type": "text", "parts": ["look"]},
                            "metadata": {"attachments": [{"id": "file-AbC12345", "name": "pic.png"}]},
                        },
                    }
                },
            }
        ]
    )
    (tmp_path / "old.json").write_text(told)
    old = run(f"import {tmp_path}/old.json").lines[0].split("\t")[0]

    found = run(f"export {old} --format messages")

    assert json.loads(found.out)["messages"][0]["content"] == "look"
    assert found.err == LEFT_OUT.format(1, "messages")


def test_markdown_names_files(run: Forklore, shown: str) -> None:
    found = run(f"export {shown} --format markdown")

    assert found.err == ""
    assert "look at these\n\n[file pic.png]\n\n[file film.mp4]" in found.out


def test_markdown_is_for_people(run: Forklore, talk: str) -> None:
    text = run(f"export {talk} --format markdown").out

    assert text.startswith("# Rain\n\n## system, 2024-05-01 10:00:00 UTC\n\nBe brief\n\n## user")
    assert 'I look 🐟.\n\n[calls sky {"d":1}]' in text


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_a_text_for_people_has_notes_if_one_says_so_and_names_nobody(run: Forklore, name: str) -> None:
    run("say trip one --key k")
    run("say trip two")
    run("note trip @k '<b>so</b> so' --score 0.5")
    run("note trip @k --score 2")
    run("pin trip -1")

    without, shown = (run(f"export trip --format {name}{more}") for more in ("", " --notes"))

    assert (without.code, shown.code) == (0, 0), shown
    assert "score 0.5" not in without.out
    assert "Pinned" not in without.out
    words = Page(shown.out).words if name == "html" else shown.out
    for one, other in itertools.pairwise(
        ("one", "Note, score 0.5", "<b>so</b> so", "Note, score 2", "two", "Pinned")
    ):
        assert words.index(one) < words.index(other), words
    assert run.options[-1] not in shown.out
    assert run("export trip --format messages --notes").code == run("export trip --notes").code == 2


HOSTILE = """<script>alert(1)</script> [x](javascript:alert(1)) [y](https://here.example) \x07
![far](https://far.example/a.png) ![](data:image/svg+xml;base64,PHN2Zz4=) ![](data:image/png;base64,AA==)

<img src=x onerror=alert(1)> a"""


class Page(HTMLParser):
    """A page that is read: its elements in order, which all are closed where they must be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data if "style" not in self.open else ""

    def all(self, tag: str, member: str) -> list[str]:
        """Return a member of all elements with a tag."""
        return [held[member] or "" for one, held in self.seen if one == tag and member in held]


@pytest.mark.parametrize("code", ["```python\n\n\nx = 1 # y\n```", "```odd\n<b>\n```", "```diff\n+new\n```"])
def test_a_page_shows_what_is_said_and_loads_and_runs_nothing(
    run: Forklore, tmp_path: Path, code: str
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "<sky>", "arguments": '{"d":"<i>"}'}}
    said = [
        {"role": "user", "content": HOSTILE},
        {
            "role": "assistant",
            "content": f"# Now\n{code}\n\n|a|b|\n|-|-:|\n|1|2|\n\n1. ~~x~~",
            "tool_calls": [call],
        },
        {"role": "tool", "content": "wet <b>", "tool_call_id": "c", "name": "sky"},
        {"role": "assistant", "content": "Again.", "tool_calls": [call, {**call, "id": "open"}]},
        {"role": "tool", "content": "dry", "tool_call_id": "c", "name": "sky"},
        {"role": "tool", "content": "of nobody", "tool_call_id": "other", "name": "sky"},
    ]
    (tmp_path / "in.json").write_text(json.dumps({"id": "p", "title": "</title><b>", "messages": said}))
    talk = run(f"import {tmp_path}/in.json").lines[0].split("\t")[0]

    text = run(f"export {talk} --format html").out

    page = Page(text)
    assert page.open == []
    assert {tag for tag, _ in page.seen}.isdisjoint({"script", "b ", "link", "iframe", "object"})
    assert "default-src 'none'" in page.all("meta", "content")[0]
    assert page.all("img", "src") == ["data:image/png;base64,AA=="]
    assert page.all("a", "href") == ["https://here.example", "https://far.example/a.png"]
    assert not re.search(r"url\((?!data:)", text)
    assert "@import" not in text
    order = [
        "<script>alert(1)",
        "onerror",
        "Now",
        "<sky>",
        "<i>",
        "wet <b>",
        "Again.",
        "dry",
        "no result",
        "of nobody",
    ]
    places = [page.words.index(one) for one in order]
    assert places == sorted(places)
    assert page.words.count("wet <b>") == page.words.count("dry") == 1
    assert "\n\nx = 1 # y\n" in page.words or "python" not in code
    styled = set(re.findall(r"\.([a-z][\w-]*)", text.partition("</style>")[0]))
    used = {one for _, held in page.seen for one in (held.get("class") or "").split()}
    assert used <= styled | {"ai", "system", "tool"}


def test_a_message_that_is_only_the_result_of_a_call_stands_at_the_call() -> None:
    with forklore.Forklore.local(user="ann") as client:
        chat = client.conversation()
        for role, part in (
            ("ai", {"type": "tool_use", "id": "c", "name": "sky", "input": {}}),
            ("user", {"type": "tool_result", "tool_use_id": "c", "content": "fog"}),
        ):
            chat.append([{"role": role, "text": "", "events": [part]}])

        page = Page("".join(html(chat.details(), turns_of(chat.entries()), Files(client.read))))

    assert [tag for tag, _ in page.seen].count("article") == page.words.count("fog") == 1


def test_parts_as_providers_send_them_are_exported_as_those_of_an_import() -> None:
    """`say` keeps a list of parts in `content`, and an import in `text` and `events`."""
    call = {"type": "tool_use", "id": "c", "name": "list", "input": {"of": "x"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "one\ntwo"}
    with forklore.Forklore.local(user="ann", client="planner") as client:
        chat = client.conversation()
        chat.say("user", [{"type": "input_text", "text": "Which?"}])
        chat.say("ai", [{"type": "text", "text": "I look."}, call])
        chat.say("tool", [result])
        turns = list(turns_of(chat.entries()))
        page = Page("".join(html(chat.details(), turns, Files(client.read))))

    assert [[part["type"] for part in turn.parts] for turn in turns] == [
        ["text"],
        ["text", "tool_use"],
        ["tool_result"],
    ]
    assert turns[0].text == "Which?"
    assert [tag for tag, _ in page.seen].count("article") == 2  # the result stands at its call
    assert "one\ntwo" in page.words


def test_a_page_holds_the_bytes_of_files(run: Forklore, shown: str) -> None:
    page = Page(run(f"export {shown} --format html").out)

    held = b64encode(PICTURE).decode(), b64encode(FILM).decode()
    assert page.all("img", "src") == [f"data:image/png;base64,{held[0]}"]
    assert page.all("video", "src") == [f"data:video/mp4;base64,{held[1]}"]
    assert page.all("a", "download") == ["a.pdf", "a.txt"]
    assert page.all("a", "href")[1] == f"data:application/octet-stream;base64,{b64encode(b'note').decode()}"


def test_a_format_is_known_and_goes_with_one_conversation(run: Forklore, talk: str) -> None:
    assert run(f"export {talk} --format odd").code == 2
    assert run(f"export {talk} {talk} --format messages").code == 2
