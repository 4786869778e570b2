"""Each tool does its work over each transport, and tells an agent what it is."""

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from forklore import Forklore
from forklore.client import VERSION
from forklore.client.calls import Call, RawAnswer
from forklore.client.transports import Transport
from forklore.mcp import server
from functions.mcp.app import handler
from tests.clients.mcp.connecting import Refused, by_events, call, here, once, over_http, over_stdio, run

READS = {"search_conversations", "list_conversations", "read_conversation", "compare_conversations"}
READS |= {"list_sessions", "resume_command", "recall", "list_notes"}
WRITES = {"fork_conversation", "say", "summarise_branch", "name_conversation", "score_branches"}
WRITES |= {"add_note"}
ID = "4487c9fa-d6b0-4472-b6e7-679d9bc713ff"
ALLOWED = {"delete_conversation", "restore_conversation", "share_conversation"}
DESTROYING = {*ALLOWED, "name_conversation", "score_branches"} - {"restore_conversation"}


def invoke(event: Any) -> Any:
    """Return what the function answers, as Lambda hands it on."""
    return json.loads(json.dumps(handler(json.loads(json.dumps(event)), None)))


async def every_tool(client: Client) -> None:
    """Use each tool that there is, as somebody does who tries another answer."""
    tools = {one.name for one in (await client.list_tools()).tools}
    asked = await call(client, "say", call_id=once(), text="Two nights in Lisbon?", role="user")
    trip = asked["conversation_id"]
    await call(client, "say", call_id=once(), text="Casa do Jardim.", conversation_id=trip)
    found = await call(client, "search_conversations", query="lisbon", conversation_id=trip)
    [hit] = found["found"]
    assert hit["entry_id"] == asked["entry_id"]
    assert hit["user_id"].startswith("ann")
    about = {"question": "Lisbon, which nights?", "conversation_id": trip, "limit": 1}
    [turn] = (await call(client, "recall", **about))["recalled"]
    assert [one["text"] for one in turn["entries"]] == ["Two nights in Lisbon?", "Casa do Jardim."]

    tried = await call(
        client,
        "say",
        call_id=once(),
        text="Hotel Lumiares.",
        conversation_id=trip,
        after_entry_id=asked["entry_id"],
    )
    empty = await call(
        client, "fork_conversation", call_id=once(), conversation_id=trip, before_entry_id=asked["entry_id"]
    )
    assert (await call(client, "list_sessions", program="codex", project="harbour"))["conversations"] == []
    told = await call(client, "resume_command", conversation_id=trip, program="codex")
    assert told["command"] == f"forklore resume {trip} --in codex"
    compared = await call(
        client, "compare_conversations", conversation_id=trip, other=tried["conversation_id"]
    )
    assert compared["base_entry_id"] == asked["entry_id"]
    said = [[one["text"] for one in branch["entries"]] for branch in compared["branches"]]
    assert said == [["Casa do Jardim."], ["Hotel Lumiares."]]

    await call(
        client,
        "summarise_branch",
        call_id=once(),
        conversation_id=trip,
        branch=tried["conversation_id"],
        up_to_entry_id=tried["entry_id"],
        text="Or Hotel Lumiares.",
    )
    name = f"trip-{uuid.uuid4().hex[:6]}"
    await call(client, "name_conversation", call_id=once(), conversation_id=trip, name=name)
    shown = await call(client, "read_conversation", conversation_id=name)
    assert [one["text"] for one in shown["entries"]] == [
        "Or Hotel Lumiares.",
        "Casa do Jardim.",
        "Two nights in Lisbon?",
    ]
    branches = await call(client, "list_conversations", branches_of=trip)
    ids = {one["conversation_id"] for one in branches["conversations"]}
    assert ids == {trip, tried["conversation_id"], empty["conversation_id"]}
    scores = [{"branch": name, "score": 0.5}, {"branch": tried["conversation_id"], "score": 1}]
    await call(client, "score_branches", call_id=once(), conversation_id=trip, scores=scores)
    noted = {"conversation_id": trip, "entry_id": asked["entry_id"]}
    await call(client, "add_note", call_id=once(), **noted, text="too short", score=0.5)
    await call(client, "add_note", call_id=once(), **noted, score=2)
    of_branch = {"conversation_id": tried["conversation_id"]}
    listed = await call(client, "list_notes", **of_branch, limit=1)
    [note] = listed["notes"]
    assert (note["text"], note["score"], note["entry_id"]) == ("too short", 0.5, asked["entry_id"])
    rest = await call(client, "list_notes", **of_branch, page=listed["more"])
    assert rest["notes"] == (await call(client, "list_notes", **noted))["notes"][1:]
    assert (rest["notes"][0]["score"], rest["more"]) == (2, None)
    assert "text" not in rest["notes"][0]
    if tools >= ALLOWED:
        await call(client, "share_conversation", conversation_id=trip, user_id="bob", access_level="reader")
        await call(client, "delete_conversation", conversation_id=empty["conversation_id"])
        branches = await call(client, "list_conversations", branches_of=trip)
        assert len(branches["conversations"]) == 2
        await call(client, "delete_conversation", conversation_id=trip, whole_tree=True)
        assert trip in [one["conversation_id"] for one in await _only(client, "trash")]
        await call(client, "restore_conversation", conversation_id=trip)
        assert trip not in [one["conversation_id"] for one in await _only(client, "trash")]
    mine = await call(client, "list_conversations", title="lisbon")
    assert ids & {one["conversation_id"] for one in mine["conversations"]}


async def _only(client: Client, which: str) -> list[Any]:
    conversations: list[Any] = (await call(client, "list_conversations", only=which))["conversations"]
    return conversations


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_each_tool_in_this_process(ann: Forklore, mode: str) -> None:
    run(every_tool, here(ann, mode=mode))


def test_each_tool_over_standard_input_and_output(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "data"), "--user", "ann", "--allow-delete", "--allow-share")
    run(every_tool, over_stdio(*options))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_each_tool_over_http(url: str, mode: str) -> None:
    run(every_tool, over_http(url, f"ann-{uuid.uuid4().hex[:8]}", mode=mode))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_each_tool_by_events_of_a_gateway(url: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKLORE_URL", url)

    run(every_tool, by_events(invoke, f"ann-{uuid.uuid4().hex[:8]}", mode=mode))


def described(schema: dict[str, Any]) -> bool:
    """Tell whether a member of a schema, or its form that is not null, is described."""
    return any("description" in one for one in (schema, *schema.get("anyOf", ())))


@pytest.mark.parametrize("allows", [False, True])
def test_each_tool_says_what_it_takes_and_answers_and_does(ann: Forklore, allows: bool) -> None:
    async def story(client: Client) -> list[Any]:
        return (await client.list_tools()).tools

    tools = {one.name: one for one in run(story, here(ann, allows=allows))}

    assert set(tools) == READS | WRITES | (ALLOWED if allows else set())
    for name, tool in tools.items():
        assert tool.description, name
        assert "  " not in tool.description, name
        assert tool.output_schema["type"] == "object", name
        assert tool.annotations.read_only_hint == (name in READS), name
        assert tool.annotations.idempotent_hint, name
        assert [one for one, said in tool.input_schema["properties"].items() if not described(said)] == []
        assert ("call_id" in tool.input_schema.get("required", ())) == (name in WRITES), name
        assert bool(tool.annotations.destructive_hint) == (name in DESTROYING), name


def test_only_what_the_user_has_pinned_is_listed_and_scores_are_set_and_taken_away(ann: Forklore) -> None:
    ann.conversation().say("user", "Another")
    chat = ann.conversation()
    asked = chat.say("user", "Hello")
    other = chat.fork(after=asked)
    chat.pin()

    async def story(client: Client) -> list[str]:
        at = {"conversation_id": chat.id}
        for scores in ([(chat.id, 0.5), (other.id, 2)], [(chat.id, None)]):
            rows = [{"branch": branch, "score": score} for branch, score in scores]
            await call(client, "score_branches", call_id=once(), **at, scores=rows)
        with pytest.raises(Refused, match="or only some"):
            await call(client, "list_conversations", only="pinned", title="x")
        return [one["conversation_id"] for one in await _only(client, "pinned")]

    assert run(story, here(ann)) == [chat.id]
    assert [one.details().metadata for one in (chat, other)] == [{}, {"score": 2}]


def test_windows_lead_to_the_beginning_and_a_long_text_is_read_by_its_id(ann: Forklore) -> None:
    chat = ann.conversation()
    texts = [str(number) * 3_000 for number in range(5)]
    for text in texts:
        chat.say("user", text)

    async def story(client: Client) -> tuple[list[Any], str]:
        entries: list[Any] = []
        window = await call(client, "read_conversation", conversation_id=chat.id, limit=2)
        entries += window["entries"]
        while window["older"] is not None:
            assert window["older_uri"] == f"forklore://conversations/{chat.id}?before={window['older']}"
            window = await call(
                client, "read_conversation", conversation_id=chat.id, limit=2, before=window["older"]
            )
            entries += window["entries"]
        whole = await call(
            client, "read_conversation", conversation_id=chat.id, entry_id=entries[0]["entry_id"]
        )
        return entries, whole["entries"][0]["text"]

    entries, whole = run(story, here(ann))

    assert [one["text"] for one in entries] == [text[:2_000] for text in reversed(texts)]
    assert all(one["is_cut"] for one in entries)
    assert whole == texts[-1]


def test_one_reads_on_from_an_entry_that_was_found(ann: Forklore) -> None:
    chat = ann.conversation()
    ids = [chat.say("user", str(number)).id for number in range(5)]

    async def story(client: Client) -> list[list[str]]:
        given = {"conversation_id": chat.id, "limit": 2}
        first = await call(client, "read_conversation", **given, after=ids[1])
        second = await call(client, "read_conversation", **given, after=first["newer"])
        assert "newer" not in second
        assert (first["older"], second["older"]) == (ids[2], ids[4])
        return [[one["text"] for one in window["entries"]] for window in (first, second)]

    assert run(story, here(ann)) == [["3", "2"], ["4"]]


def test_what_was_imported_was_said_when_its_source_says_so(ann: Forklore) -> None:
    chat, said_at = ann.create(), "2019-03-01T09:15:00.000Z"
    chat.append([{"role": "USER", "text": "Is it marten?", "source": {"createdAt": said_at}}])

    async def read(client: Client) -> None:
        window = await call(client, "read_conversation", conversation_id=chat.id)
        found = await call(client, "search_conversations", query="marten")
        assert [window["entries"][0]["created_at"], found["found"][0]["created_at"]] == [said_at, said_at]

    run(read, here(ann))


def test_branches_are_listed_with_where_they_begin_and_nothing_that_is_not_known(ann: Forklore) -> None:
    chat = ann.conversation()
    entry = chat.say("user", "Hello")
    fork = chat.fork(after=entry)

    async def story(client: Client) -> list[dict[str, Any]]:
        [listed] = (await call(client, "list_conversations"))["conversations"]
        assert listed["last_used_at"]
        branches = await call(client, "list_conversations", branches_of=chat.id)
        return list(branches["conversations"])

    root, branch = run(story, here(ann))

    assert {"last_used_at", "last_message"}.isdisjoint({*root, *branch})
    assert {name: held for name, held in branch.items() if name.startswith("forked_at")} == {
        "forked_at_conversation_id": chat.id,
        "forked_at_entry_id": entry.id,
        "forked_at_position": "after",
    }
    assert branch["conversation_id"] == fork.id


def test_sessions_are_listed_by_program_and_project_also_as_what_was_forked_of_them(ann: Forklore) -> None:
    made = {}
    for program, project in (("codex", "dike"), ("codex", "pier"), ("pi", "pier")):
        tags = {"program": program, "project": project}
        made[program, project] = ann.create(title=f"{program} {project}", tags=tags)
    ann.create(title="No session", tags={"project": "pier"})
    forked = made["codex", "pier"].fork(title="Forked")
    forked.say("user", "How deep is the harbour?")

    async def titles(client: Client, **given: str) -> list[Any]:
        listed = (await call(client, "list_sessions", **given))["conversations"]
        return sorted((one["title"], one["program"], one["project"]) for one in listed)

    async def story(client: Client) -> list[list[Any]]:
        codex = {"program": "codex"}
        asked: list[dict[str, str]] = [{}, codex, {"project": "pier"}, codex | {"project": "pier"}]
        return [await titles(client, **given) for given in asked]

    dike, pi, fork = ("codex dike", "codex", "dike"), ("pi pier", "pi", "pier"), ("Forked", "codex", "pier")
    assert run(story, here(ann)) == [[fork, dike, pi], [fork, dike], [fork, pi], [fork]]


@pytest.mark.parametrize("memory", [["greeted"], '["greeted"]'])
def test_a_turn_takes_the_memory_along(ann: Forklore, memory: object) -> None:
    async def story(client: Client) -> str:
        said = await call(client, "say", call_id=once(), text="Hello", context=memory)
        return str(said["conversation_id"])

    assert ann.conversation(run(story, here(ann))).context.latest() == ["greeted"]


def test_a_name_that_exists_moves_only_if_that_is_asked_for(ann: Forklore) -> None:
    first, second = ann.conversation(), ann.conversation()
    first.say("user", "one")
    second.say("user", "two")

    async def story(client: Client) -> None:
        await call(client, "name_conversation", call_id=once(), conversation_id=first.id, name="it")
        given = {"conversation_id": second.id, "name": "it"}
        with pytest.raises(Refused, match="name_moved"):
            await call(client, "name_conversation", call_id=once(), **given)
        moved = await call(client, "name_conversation", call_id=once(), move=True, **given)
        assert moved["name_moved_from"] == first.id

    run(story, here(ann))

    assert ann.named("it").resolve() == second.id


def test_conversations_are_resources(ann: Forklore) -> None:
    chat = ann.conversation()
    entry = chat.say("user", "Hello")
    address = f"forklore://conversations/{chat.id}"

    async def story(client: Client) -> tuple[Any, ...]:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        read = [
            (await client.read_resource(uri)).contents[0]
            for uri in (address, f"{address}?before={entry.id}", f"{address}/entries/{entry.id}")
        ]
        with pytest.raises(MCPError, match="404"):
            await client.read_resource(f"forklore://conversations/{uuid.uuid4()}")
        return listed.resources, templates.resource_templates, read

    listed, templates, read = run(story, here(ann))

    assert [(str(one.uri), one.name) for one in listed] == [(address, "Hello")]
    assert len(templates) == 2
    shown = [[one["text"] for one in json.loads(one.text)["entries"]] for one in read]
    assert shown == [["Hello"], [], ["Hello"]]


def test_prompts_name_what_the_caller_names(ann: Forklore) -> None:
    async def story(client: Client) -> list[str]:
        names = {one.name for one in (await client.list_prompts()).prompts}
        assert names == {"continue_from_here", "compare_two_answers"}
        told = [
            await client.get_prompt("continue_from_here", {"conversation_id": "trip", "entry_id": "e1"}),
            await client.get_prompt("compare_two_answers", {"conversation_id": "trip", "other": "train"}),
        ]
        return [one.messages[0].content.text for one in told]  # type: ignore[union-attr]

    on, both = run(story, here(ann))

    assert "'trip'" in on
    assert "'e1'" in on
    assert "'train'" in both


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("say", {"text": "x"}, "call_id"),
        ("say", {"text": "x", "call_id": "1"}, "call_id"),
        ("say", {"text": "", "call_id": "12345678"}, "text"),
        ("say", {"text": "x", "call_id": "12345678", "role": "system"}, "role"),
        ("say", {"text": "x", "call_id": "12345678", "after_entry_id": "e"}, "needs the conversation"),
        (
            "read_conversation",
            {"conversation_id": "nobody knows it"},
            "'nobody knows it' is no id, and none of",
        ),
        ("read_conversation", {"conversation_id": "x", "limit": 51}, "limit"),
        ("read_conversation", {"conversation_id": "x", "entry_id": "e", "before": "f"}, "before one, or"),
        ("read_conversation", {"conversation_id": "0" * 32}, "not_found"),
        ("delete_conversation", {"conversation_id": "x" * 36}, "conversation_id"),
        ("name_conversation", {"conversation_id": "x", "call_id": "12345678", "name": ID}, "like an id"),
        ("fork_conversation", {"conversation_id": "x", "call_id": "12345678", "name": ID}, "like an id"),
        ("list_conversations", {"branches_of": "x", "title": "y"}, "only some"),
    ],
)
def test_what_a_tool_cannot_do_is_told(ann: Forklore, tool: str, given: dict[str, Any], said: str) -> None:
    async def story(client: Client) -> str:
        with pytest.raises(Refused, match=said) as refused:
            await call(client, tool, **given)
        return str(refused.value)

    assert "pydantic" not in run(story, here(ann))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("list_conversations", {"limit": None, "branches_of": None, "title": None, "page": None}),
        ("search_conversations", {"query": "fern", "limit": None, "conversation_id": None}),
        ("say", {"text": "fern", "role": None, "context": None, "call_id": "12345678"}),
    ],
)
def test_null_for_an_optional_argument_is_none(ann: Forklore, tool: str, given: dict[str, Any]) -> None:
    run(lambda client: call(client, tool, **given), here(ann))


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("say", {"text": None, "call_id": "12345678"}, "say: text: Input should be a valid string"),
        (
            "list_conversations",
            {"limit": "x"},
            "list_conversations: limit: Input should be a valid integer, ",
        ),
        (
            "search_conversations",
            {"query": "x", "row": 1},
            "row: it takes only query, conversation_id, limit",
        ),
        (
            "search_conversations",
            {"query": "x", "row": None},
            "row: it takes only query, conversation_id, lim",
        ),
        (
            "read_conversation",
            {"conversation_id": {"a": [1, 2]}},
            "conversation_id: Input should be a valid st",
        ),
    ],
)
def test_a_wrong_argument_is_told_in_one_line(
    ann: Forklore, tool: str, given: dict[str, Any], said: str
) -> None:
    async def story(client: Client) -> str:
        with pytest.raises(Refused) as refused:
            await call(client, tool, **given)
        return str(refused.value)

    told = run(story, here(ann))

    assert said in told
    assert len(told.splitlines()) == 1
    assert len(told) < 200


def test_an_address_that_is_shown_is_an_id(ann: Forklore) -> None:
    chat = ann.conversation()
    first, second = (chat.say("user", text) for text in ("One", "Two"))

    async def story(client: Client) -> list[list[str]]:
        window = await call(client, "read_conversation", conversation_id=chat.id, limit=1)
        at = {"conversation_id": window["uri"]}
        entry = {"entry_id": f"{window['uri']}/entries/{first.id}"}
        found = [
            await call(client, "read_conversation", **given)
            for given in (at, {"conversation_id": window["older_uri"]}, at | entry)
        ]
        await call(client, "delete_conversation", **at, whole_tree=None)
        return [[one["text"] for one in window["entries"]] for window in found]

    assert run(story, here(ann)) == [["Two", "One"], ["Two", "One"], ["One"]]
    assert second.id
    assert [*ann.conversations()] == []


def test_the_server_says_its_version(ann: Forklore) -> None:
    async def story(client: Client) -> str:
        assert client.server_info is not None
        return client.server_info.version

    assert run(story, here(ann)) == VERSION


class SlowAnswers:
    """A transport that needs longer for each call than a tool has."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.sent: list[str] = []

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        self.sent.append(call.shape.name)
        time.sleep(server.BUDGET_S)
        return self._inner.send(call, timeout_s)

    def located(self, url: str) -> str:
        return self._inner.located(url)

    def close(self) -> None:
        """Leave the service open for the other tests."""


def test_a_tool_has_one_budget_for_all_its_requests(ann: Forklore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BUDGET_S", 0.5)
    slow = SlowAnswers(ann._transport)

    async def story(client: Client) -> None:
        with pytest.raises(Refused, match="listEntries was sent 0 times"):
            await call(client, "read_conversation", conversation_id="trip")

    ann.named("trip").say("user", "Hello")
    run(story, here(ann._over(slow, ann._identity)))

    assert slow.sent == ["lookUpName"]
