"""A field that a body takes is stored and shown again, and is known wherever it has to be.

A new field needs a line only if its schema leads to no good value (VALUES), if it is shown by
another name (SHOWN_AS), or if it cannot stand beside others (CASES).
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from forklore_local.fsck.check import findings
from forklore_local.fsck.shapes import SHAPES, Kind
from forklore_local.fsck.source import Source
from forklore_local.fsck.survey import Survey
from forklore_local.server import examples
from forklore_service.api import answer_models, entry_requests, operations
from forklore_service.api.conversation_requests import (
    CreateConversation,
    ForkConversation,
    UpdateConversation,
)
from forklore_service.api.operation import Operation
from forklore_service.api.requests import Described
from forklore_service.aws.wiring import open_table
from tests.service.api import reference
from tests.service.api.samples import bodies_of, edges_of, good_values, names_of, schemas_of
from tests.service.aws.world import (
    BOUND,
    ROOT,
    SAID,
    Ask,
    World,
    append,
    conversation_id,
    conversations,
    entries,
    show,
    show_transfer,
)
from tools.catalogue import PHOTO
from tools.harness.gateway import Answer, Gateway, table_in_memory

Json = Any

BY_NAME = {operation.name: operation for operation in operations.ALL}
NEW, OTHER, COPY, TREE_COPY = map(conversation_id, range(80, 84))

VALUES: Mapping[str, Json] = {
    "id": NEW,
    "userId": "ann",
    "tags": {"a": "b"},
    "metadata": {"n": 1},
    "atEntryId": "<first>",
    "atKey": "the key",
    "afterKey": "the key",
    "key": "a key",
    "name": "a name",
    "data": {"n": 1},
    "expectRevision": 0,
    "channel": "history",
    "content": [{"role": "USER", "text": "good morning"}],
    "contentType": "history",
    "usage": {"inputTokens": 3, "costUsd": 0.25},
    "forkedAtConversationId": ROOT,
    "forkedAtEntryId": "<first>",
    "forkedAtKey": "the key",
    "forkedAtPosition": "after",
    "startedByConversationId": ROOT,
    "startedByEntryId": "<first>",
    "mergedFromConversationId": ROOT,
    "mergedUpToEntryId": "<first>",
    "fromConversationId": ROOT,
    "afterEntryId": "<first>",
    "upToEntryId": "<second>",
    "again": True,
    "withContext": False,
    "conversationId": ROOT,
    "newOwnerUserId": "will",
    "resetMetrics": False,
    "promote": True,
    "basedOnEntryId": "<latest>",
    "count": 2,
    "context": {"contentType": "note", "content": ["good morning"], "agentId": "some agent"},
    "sha256": PHOTO["sha256"],
    "text": "so so",
    "score": 0.5,
    "pinned": True,
}
"""A value for each field whose schema leads to none."""
FORKED = ("forkedAtConversationId", "forkedAtEntryId", "forkedAtKey", "forkedAtPosition")
STARTED = ("startedByConversationId", "startedByEntryId")
NOT_SYNCED = ("epoch", "indexedContent", "key", "metadata")
"""What an entry has and a sync has not, beside MERGED."""
MERGED = ("mergedFromConversationId", "mergedUpToEntryId")
DESCRIBED = tuple(names_of(Described))
OF_CONTEXT = (*FORKED, *STARTED, *DESCRIBED, "context", "promote", "indexedContent", "name")
"""What does not stand beside an entry of the context in a conversation that exists."""
ALONE = {"answerId"}
"""What one request alone may name."""
AS_CONTEXT = {"channel": "context", "contentType": "note", "epoch": 6}


def takes(name: str) -> Json:
    """Return the field `name` of a fork that takes a new name."""
    return {"name": name, "expectRevision": 0}


@dataclass(frozen=True)
class Case:
    """A request with every field of a body's model but those left out. instead: other values."""

    operation: str
    left_out: tuple[str, ...] = ()
    instead: Mapping[str, Json] = field(default_factory=dict)
    is_batch: bool = False

    def __str__(self) -> str:
        return "-".join([self.operation, *self.left_out[:1], *list(self.instead)[:1]])

    @property
    def fields(self) -> dict[str, Json]:
        """Each field with what is sent for it; those of a batch are in its one entry."""
        model = bodies_of(BY_NAME[self.operation])[self.is_batch]
        schemas = schemas_of(model) | (schemas_of(entry_requests.EntryFields) if self.is_batch else {})
        return {
            name: self.instead.get(name, value_of(name, schema))
            for name, schema in schemas.items()
            if name not in (*self.left_out, "entries") and (name in self.instead or name not in ALONE)
        }

    @property
    def body(self) -> dict[str, Json]:
        if not self.is_batch:
            return self.fields
        own = names_of(entry_requests.EntryFields)
        entry = {name: value for name, value in self.fields.items() if name in own}
        rest = {name: value for name, value in self.fields.items() if name not in own}
        return {**rest, "entries": [entry]}


CASES = [
    Case("createConversation"),
    Case("updateConversation"),
    Case("forkConversation", ("count", "atKey"), {"id": OTHER, "name": takes("one")}),
    Case("forkConversation", ("count", "id", "atEntryId"), {"promote": False, "name": takes("two")}),
    Case("forkConversation", ("id", "atKey", "name"), instead={"promote": False}),
    Case("beginAnswer", ("afterKey",)),
    Case(
        "appendEntry",
        (*STARTED, "forkedAtKey", "epoch"),
        {"promote": False, "name": takes("three"), "answerId": NEW},
    ),
    Case("beginAnswer", ("afterEntryId",), {"id": OTHER}),
    Case("appendToAnswer", instead={"after": 0}),
    Case("appendEntry", (*STARTED, *MERGED, "forkedAtEntryId", "name", "epoch"), {"promote": False}),
    Case(
        "appendEntry",
        (*STARTED, *MERGED, "forkedAtEntryId", "forkedAtKey", "forkedAtPosition", "epoch"),
        {"forkedAtConversationId": BOUND, "name": takes("four")},
    ),
    Case("appendEntry", (*FORKED, *MERGED, "promote", "name", "epoch")),
    Case("appendEntry", OF_CONTEXT, AS_CONTEXT),
    Case("appendEntry", (*FORKED, *MERGED, "promote", "name", "epoch"), is_batch=True),
    Case(
        "appendEntryByName",
        (*STARTED, "forkedAtKey", "epoch"),
        {"promote": False, "name": "five", "answerId": OTHER},
    ),
    Case("appendEntryByName", (*STARTED, "forkedAtEntryId", "epoch"), {"promote": False, "name": "nine"}),
    Case("appendEntryByName", (*FORKED, *MERGED, "promote", "epoch"), {"name": "six"}, is_batch=True),
    Case("appendEntryByName", (*OF_CONTEXT[:-1], *MERGED), AS_CONTEXT | {"name": "seven"}),
    Case("setName", instead={"name": "eight"}),
    Case("mergeConversation"),
    Case("copyConversation", instead={"id": COPY, "upToEntryId": "<first>"}),
    Case("copyTree", instead={"id": TREE_COPY}),
    Case("syncContext", instead=AS_CONTEXT | {"content": ["another"]}),
    Case("shareConversation", instead={"userId": "zoe"}),
    Case("updateMembership"),
    Case("createLink", ("allForks",)),
    Case("createLink", ("upToEntryId",)),
    Case("addNote", ("pinned",)),
    Case("addNote", ("text", "score")),
    Case("requestTransfer"),
    Case("uploadAttachment", instead=PHOTO),
]
"""Requests that together send every field of every body."""
FORGETS = {"adminEraseUser", "setScores"}
"""Requests whose answer shows nothing of the body on purpose: test_scores.py sees the scores."""
SHOWN_AS: Mapping[str, Mapping[str, str]] = {
    "createConversation": {"userId": "ownerUserId"},
    "updateConversation": {"userId": "ownerUserId"},
    "forkConversation": {
        "userId": "ownerUserId",
        "atEntryId": "forkedAtEntryId",
        "position": "forkedAtPosition",
    },
    "mergeConversation": {
        "fromConversationId": "copiedFromConversationId",
        "upToEntryId": "copiedFromEntryId",
    },
    "requestTransfer": {"userId": "fromUserId", "newOwnerUserId": "toUserId"},
}
"""The fields that an answer shows by another name."""


def day_of(at: str) -> date:
    return date.fromisoformat(at[:10])


SEEN_BY: Mapping[str, Callable[[Json], Json]] = {
    "indexedContent": lambda shown: None if "indexedContent" in shown else "some indexedContent",
    "resetMetrics": lambda shown: shown["metrics"]["entries"] == 0,
    "days": lambda shown: (day_of(shown["endsAt"]) - day_of(shown["createdAt"])).days,
    "promote": itemgetter("isCurrent"),
    "count": lambda shown: len(shown["equal"]),
    "atKey": lambda shown: VALUES["atKey"] if "forkedAtEntryId" in shown else None,
    "forkedAtKey": lambda shown: VALUES["forkedAtKey"] if "forkedAtEntryId" in shown else None,
    "expectRevision": lambda shown: 0 if "revision" in shown else None,
    "afterKey": lambda shown: VALUES["afterKey"] if shown["afterEntryId"] else None,
    "after": lambda shown: shown["position"] - 1,
}
"""The fields that no answer shows, each with what is seen of it.

A search finds an entry by its `indexedContent`: tests/service/usecases/reading/test_search.py.
"""
UNSEEN = {
    ("mergeConversation", "afterEntryId"),
    ("mergeConversation", "again"),
    ("mergeConversation", "withContext"),
    ("copyConversation", "upToEntryId"),
    ("syncContext", "basedOnEntryId"),
    ("beginAnswer", "takeOver"),
    ("shareConversation", "children"),
    ("appendEntry", "answerId"),
    ("appendEntryByName", "answerId"),
    ("uploadAttachment", "content"),
}
"""What they leave out, refuse, reach or end is seen by test_merging.py, test_copying.py,
test_context.py, test_who_may.py, test_spreading.py, test_answers.py and test_attachments.py in
tests/service/usecases."""


def value_of(name: str, schemas: list[Json]) -> Json:
    """Return a good value of a field that is not its default."""
    if name in VALUES:
        return VALUES[name]
    values = good_values(name, schemas)
    assert values, f"write a value for {name!r} into VALUES in {__file__}"
    return values[-1]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with table_in_memory() as template:
        world = World(Gateway(template, FORKLORE_AUDITORS="aude"))
        assert world.send(append({**SAID, "key": VALUES["atKey"]})).status == 201
        yield world


@pytest.fixture(scope="module")
def answers(world: World) -> list[Answer]:
    """What was answered to the cases."""
    return [send(world, case, new=conversation_id(90 + at)) for at, case in enumerate(CASES)]


def send(world: World, case: Case, *, new: str) -> Answer:
    """Send a case's request. new: the conversation to make, where the path names one to make."""
    operation = BY_NAME[case.operation]
    makes = {*FORKED, *STARTED} & case.fields.keys()
    path = operation.path.replace("{conversationId}", new if makes else ROOT).replace("{answerId}", OTHER)
    path = path.replace("{entryId}", "<first>")
    query = "userId=will" if "userId" in operation.query_names else ""
    answer = world.send(Ask(operation.method, path, case.body, query=query, agent=_agent(case)))
    if answer.json.get("channel") == "context" and answer.json["conversationId"] == ROOT:
        world.made["latest"] = answer.json["id"]
    return answer


def _agent(case: Case) -> str | None:
    has_context = case.fields.get("channel") == "context" or "context" in case.fields
    return "planner" if has_context else None


def _name(world: World, case: Case, conversation: str) -> dict[str, Json]:
    """Return what the request says of a name, if that points to the conversation."""
    sent = case.fields.get("name")
    if sent is None:
        return {}
    name = sent["name"] if isinstance(sent, dict) else sent
    found = world.send(Ask("GET", "/v1/names/lookup", query=f"name={name}", agent=_agent(case))).json
    is_there = found["conversationId"] == conversation
    return {"name": sent if is_there else found, "data": found["data"]}


def read_again(world: World, case: Case, answer: Answer) -> list[Json]:
    """Return what was made or changed as every read shows it, and as the answer did."""
    made = answer.json
    match BY_NAME[case.operation].result:
        case answer_models.Forked if "data" in made:
            alone = [world.send(show(one["id"])).json for one in made["data"]]
            assert [one for one in alone if one["id"] != alone[0]["id"]] == made["data"][1:]
            return [{**one, "equal": made["data"]} for one in alone]
        case answer_models.Conversation | answer_models.Forked:
            own, of_auditor = (world.send(one).json for one in (show(made["id"]), _as_auditor(made["id"])))
            listed = world.send(conversations("mode=all&ancestry=all&limit=200")).json["data"]
            named = _name(world, case, made["id"])
            rows = [made, own, of_auditor, *(row for row in listed if row["id"] == made["id"])]
            return [{**row, **named} for row in rows]
        case answer_models.Name:
            return [made, world.send(Ask("GET", "/v1/names/lookup", query=f"name={made['name']}")).json]
        case answer_models.Membership | answer_models.ChangedMembership:
            rows = world.send(Ask("GET", f"/v1/conversations/{ROOT}/memberships")).json["data"]
            return [made, *(row for row in rows if row["userId"] == made["userId"])]
        case answer_models.AnswerStatus:
            return [made, world.send(Ask("GET", f"/v1/conversations/{ROOT}/answers/{made['id']}")).json]
        case answer_models.AppendedPart:
            log = world.send(Ask("GET", f"/v1/conversations/{ROOT}/answers/{OTHER}")).json
            return [{**part, **made} for part in (log["parts"][0], log["parts"][-1])]
        case answer_models.UploadedAttachment:
            return [made, world.send(Ask("GET", f"/v1/attachments/{made['id']}")).json]
        case answer_models.CreatedLink:
            rows = world.send(Ask("GET", f"/v1/conversations/{ROOT}/links")).json["data"]
            return [made, *(row for row in rows if row["id"] == made["id"])]
        case answer_models.Note:
            rows = world.send(Ask("GET", f"/v1/conversations/{ROOT}/notes")).json["data"]
            return [made, *(row for row in rows if row["id"] == made["id"])]
        case answer_models.Transfer:
            return [made, world.send(show_transfer(made["id"])).json]
        case _:
            entry = made["entry"] if "entry" in made else made.get("data", [made])[0]
            of = entry["conversationId"]
            rows = world.send(entries("limit=200", of=of, agent="planner")).json["data"]
            listed = [row for row in rows if row["id"] == entry["id"]]
            conversation = world.send(show(of)).json
            described = {*DESCRIBED} - {"metadata"}  # the entry has one of its own
            new = {name: conversation.get(name) for name in (*FORKED, *STARTED, *described, "isCurrent")}
            if "context" in made:
                [context] = [row for row in rows if row["id"] == made["context"]["entry"]["id"]]
                new["context"] = {name: context[name] for name in VALUES["context"]}
            return [{**one, **new, **_name(world, case, of)} for one in (entry, *listed)]


def _as_auditor(conversation: str) -> Ask:
    return Ask("GET", f"/v1/admin/conversations/{conversation}", user="aude")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_field_is_stored_and_shown_again(world: World, answers: list[Answer], case: Case) -> None:
    answer = answers[CASES.index(case)]
    assert answer.status == BY_NAME[case.operation].status, answer.text

    result = BY_NAME[case.operation].result
    assert result is not None
    result.model_validate_json(answer.text)  # no field is missing in the model
    open_table.cache_clear()  # nothing is remembered
    shown = read_again(world, case, answer)

    assert len(shown) >= 2
    for one in shown:
        for name, sent in case.fields.items():
            if (case.operation, name) in UNSEEN:
                continue
            seen = SEEN_BY.get(name) or itemgetter(SHOWN_AS.get(case.operation, {}).get(name, name))
            try:
                assert seen(one) == world.named(sent), name
            except KeyError:
                pytest.fail(f"{name} is taken, and not shown again: {one}")


def test_fsck_knows_what_all_fields_store(answers: list[Answer]) -> None:
    table = open_table()
    survey = Survey(now_s=int(time.time()))
    for page in Source(table.connection).scan(segments=1):
        survey.take_all(page)

    assert survey.items > len(answers)
    assert [str(finding) for finding in findings(survey)] == [], "see forklore_local/fsck/shapes.py"


@pytest.mark.parametrize(
    "operation",
    [one for one in operations.ALL if not (one.only_reads or one.name in FORGETS)],
    ids=lambda operation: operation.name,
)
def test_the_cases_send_every_field_of_every_body(operation: Operation) -> None:
    taken = {name for body in bodies_of(operation) for name in names_of(body)}

    assert {name for case in CASES if case.operation == operation.name for name in case.body} == taken


@pytest.mark.parametrize(
    ("model", "other", "left_out"),
    [
        (CreateConversation, ForkConversation, set()),
        (
            CreateConversation,
            UpdateConversation,
            {"id", "agentId"},
        ),
        (entry_requests.EntryFields, entry_requests.AppendEntry, set()),
        (entry_requests.EntryFields, entry_requests.SyncContext, {*NOT_SYNCED, *MERGED}),
        (entry_requests.PresentContext, entry_requests.SyncContext, set()),
    ],
)
def test_a_field_is_taken_by_all_that_describe_the_same(
    model: type[BaseModel], other: type[BaseModel], left_out: set[str]
) -> None:
    """Ids and agents are for good. The service chooses a sync's epoch, and no search finds it."""
    assert set(names_of(model)) - set(names_of(other)) == left_out


MODELS = {model for one in operations.ALL for model in (one.query, *bodies_of(one))}
LENIENT = {("OneMember", "userId"): "who cannot be a member is no member"}
"""The parameters that take more than their schema says, and why."""


@pytest.mark.parametrize("model", sorted({*MODELS, entry_requests.EntryFields}, key=str), ids=str)
def test_a_field_takes_what_its_schema_says_up_to_the_edge_and_nothing_beyond(model: type[BaseModel]) -> None:
    """Objects and arrays have no edges here: see test_good_input.py and test_bad_input.py."""
    for name, schemas in schemas_of(model).items():
        for edge in edges_of(schemas) if (model.__name__, name) not in LENIENT else []:
            assert takes_edge(model, name, edge) == any(fits(schema, edge) for schema in schemas), (
                name,
                edge,
            )


def takes_edge(model: type[BaseModel], name: str, edge: Json) -> bool:
    """Tell whether a value is no error of the field, whatever else is missing."""
    try:
        model.model_validate({name: edge})
    except ValidationError as error:
        return all(one["loc"][:1] != (name,) for one in error.errors())
    return True


def fits(schema: Json, value: Json) -> bool:
    """Tell whether a text, number or truth value fits a schema."""
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if isinstance(value, bool):
        return bool(schema["type"] == "boolean")
    if isinstance(value, int):
        is_within = schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return schema["type"] in ("integer", "number") and is_within
    is_within = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    pattern = re.sub(r"\$$", r"\\Z", schema.get("pattern", ""))
    return schema["type"] == "string" and is_within and re.search(pattern, value) is not None


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_the_reference_names_every_field(operation: Operation) -> None:
    taken = {name for body in bodies_of(operation) for name in names_of(body)}

    assert taken <= reference.names_in(reference.said_of(operation.name)), "see docs/api.md"


SHOWN = {Kind.CONV: answer_models.AdminConversation, Kind.ENTRY: answer_models.Entry}
"""The answers that have an attribute as it is stored, by the kind of the item."""


@pytest.mark.parametrize("kind", Kind)
def test_the_table_of_items_names_every_attribute_that_is_no_member_of_an_answer(kind: Kind) -> None:
    """A name may be cut, as in `forkedAt…`."""
    text = (reference.PAGE.parent / "architecture.md").read_text(encoding="utf-8")
    row, *_ = re.findall(rf"^\| {kind.upper()} \|.*$", text, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+…?)`", row))
    cut = tuple(name[:-1] for name in named if name.endswith("…"))
    attributes = {*SHAPES[kind].needed, *SHAPES[kind].possible}
    attributes -= set(names_of(SHOWN[kind])) if kind in SHOWN else set()

    assert {one for one in attributes - named if not one.startswith(cut)} == set(), "see docs/architecture.md"


@pytest.mark.parametrize("model", examples.ANSWERS, ids=lambda model: model.__name__)
def test_the_reference_and_the_examples_have_every_member_of_an_answer(model: type[BaseModel]) -> None:
    document = model.model_json_schema()
    schemas = [document, *document.get("$defs", {}).values()]
    members = {name for schema in schemas for name in schema.get("properties", {})}

    assert members <= reference.names_in("\n".join(reference.sections().values())), "see docs/api.md"
    assert members <= _names_in(list(examples.ANSWERS.values())), "see forklore_local/server/examples.py"


def _names_in(value: Json) -> set[str]:
    """Return the names of all members in JSON values."""
    if isinstance(value, dict):
        return {*value, *(name for held in value.values() for name in _names_in(held))}
    return {name for held in value for name in _names_in(held)} if isinstance(value, list) else set()
