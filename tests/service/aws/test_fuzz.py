"""Random requests on every route: no 500, one form of error, and accepted input comes back."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from forklore_service.api import (
    answer_models,
    attachment_requests,
    conversation_requests,
    entry_requests,
    naming,
    operations,
)
from forklore_service.api.answer_models import Error
from forklore_service.api.operation import Operation
from forklore_service.domain.epochs import canonical
from tests.service.api.samples import bodies_of, edges_of, names_of, schemas_of, words_of
from tests.service.aws.world import (
    FOREIGN,
    FORK,
    FRESH,
    ROOT,
    SAID,
    Ask,
    World,
    append,
    children,
    conversation_id,
    end_transfer,
    entries,
    memberships,
    offer,
    share,
    show,
    show_transfer,
    transfers,
)
from tests.service.domain.builders import examples
from tests.service.reliability.figures import is_gate
from tools.catalogue import PHOTO
from tools.harness.gateway import Answer, Gateway, table_in_memory

CASES = 90 if is_gate() else 45
"""The number of random requests for each route. Every run sends the same ones."""
REFUSALS = {400, 401, 403, 404, 405, 409, 413, 415, 422}

# JSON as text, so that numbers and strings have every spelling

ODD = [
    *("1e400", "-0", "-0.0", "1.0", "1E+2", "9007199254740993", "1e999999999", "NaN", "-Infinity", "01"),
    *(r'"\ud800"', r'"\ud83d\ude00"', r'"\u0000"', r'"\/"', "+1", "tru", "nul", "{", "]", '"', ""),
]
NUMBERS = st.integers().map(str) | st.from_regex(
    r"-?(0|[1-9]\d{0,20})(\.\d{1,12})?([eE][+-]?\d{1,3})?", fullmatch=True
)
STRINGS = st.builds(json.dumps, st.text(max_size=30), ensure_ascii=st.booleans())
GAPS = st.sampled_from(["", "", " ", "\n", "\t \r"])
GOOD_LEAVES = st.sampled_from(["null", "true", "false"]) | NUMBERS | STRINGS


def _array(parts: list[str], gap: str) -> str:
    return f"[{gap}" + f"{gap},{gap}".join(parts) + f"{gap}]"


def _object(members: list[tuple[str, str]], gap: str) -> str:
    return f"{{{gap}" + f"{gap},{gap}".join(f"{json.dumps(n)}{gap}:{gap}{v}" for n, v in members) + f"{gap}}}"


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(st.text(max_size=6), inner), max_size=4, unique_by=lambda member: member[0])
    return st.builds(_array, st.lists(inner, max_size=4), GAPS) | st.builds(_object, members, GAPS)


VALUES = st.recursive(GOOD_LEAVES, _nested, max_leaves=8)
ARRAYS = st.builds(_array, st.lists(VALUES, max_size=3), GAPS)
OBJECTS = st.builds(
    _object,
    st.lists(st.tuples(st.text(max_size=6), VALUES), max_size=3, unique_by=lambda member: member[0]),
    GAPS,
)
JUNK = VALUES | st.sampled_from(ODD)


def as_text(*values: Any) -> st.SearchStrategy[str]:
    return st.sampled_from([json.dumps(value) for value in values])


# Near-valid bodies, field by field

Fields = Mapping[str, st.SearchStrategy[str]]

IDS = st.uuids().map(lambda made: f'"{made}"')
NAMES = st.text(max_size=20).map(json.dumps)
NAMES_OR_NONE = as_text("helper", None)
TAGS = st.builds(
    _object,
    st.lists(
        st.tuples(st.from_regex(r"[a-zA-Z0-9_.-]{1,12}", fullmatch=True), NAMES),
        max_size=3,
        unique_by=lambda member: member[0],
    ),
    GAPS,
)
TOKENS = st.integers(0, 2**53).map(str) | as_text(1.0)
COSTS = st.decimals(0, 10**9, places=9).map(str) | as_text(0, 0.5)
USAGE = st.builds(
    lambda members, gap: _object(list(members.items()), gap),
    st.fixed_dictionaries({}, optional={"inputTokens": TOKENS, "outputTokens": TOKENS, "costUsd": COSTS}),
    GAPS,
)
KEY, NAME = "the key", "trip"
"""The key of an entry of the root; a name of the root, one for Ann and one for her planner."""
KEYS = st.from_regex(r"[ -~]{1,20}", fullmatch=True).map(json.dumps)
REVISIONS = as_text(1, 1, 2, 0)
NAMED = as_text(*[NAME] * 4, "trip again", "é/%") | NAMES
MOVES = st.builds(
    lambda members: _object(list(members.items()), ""),
    st.fixed_dictionaries({"name": NAMED}, optional={"expectRevision": REVISIONS}),
)
DRAWN: Fields = {
    "id": IDS,
    "userId": as_text("ann", "ann", None, "bob"),
    "title": NAMES | as_text(None),
    "tags": TAGS,
    "metadata": OBJECTS,
    "agentId": NAMES_OR_NONE,
    "atEntryId": as_text("<first>", "<second>", "<noted>", "<of fork>"),
    "afterEntryId": as_text("<first>", "<first>", "<of fork>", "<second>"),
    "upToEntryId": as_text("<of fork>", "<of fork>", "<first>", "<second>"),
    "again": as_text(*[True] * 5, False, None),
    "withContext": as_text(*[False] * 5, True, None),
    "afterCursor": as_text(None, "<search>"),
    "conversationId": as_text(*[None] * 3, *[ROOT, FORK] * 2, FRESH, FOREIGN),
    "atKey": as_text(*[KEY] * 5, FRESH),
    "forkedAtKey": as_text(*[KEY] * 5, FRESH),
    "key": KEYS | KEYS | as_text(KEY),
    "fromConversationId": as_text(*[FORK] * 5, ROOT, FRESH, FOREIGN),
    "mergedFromConversationId": as_text(*[FORK] * 5, FRESH),
    "mergedUpToEntryId": as_text("<of fork>", "<of fork>", "<first>"),
    "name": NAMED,
    "data": OBJECTS,
    "after": as_text(*[0] * 5, 0.0, 1, -1),
    "expectRevision": REVISIONS,
    "count": st.integers(2, 4).map(str),
    "scores": st.builds(
        lambda of, scores: _array([_object([("conversationId", json.dumps(of)), *scores], "")], ""),
        st.sampled_from([ROOT, FORK, FORK, FRESH]),
        st.sampled_from([[], [("score", "null")], [("score", "1e400")]])
        | NUMBERS.map(lambda number: [("score", number)]),
    ),
    "contentType": NAMES.filter(lambda name: name != '""'),
    "content": ARRAYS,
    "usage": USAGE,
}
"""The fields whose good values the schema does not lead to, or not well."""


def drawn(schemas: list[Any]) -> st.SearchStrategy[str]:
    """Return good values of a field by its schema, as text."""
    words = words_of(schemas)
    if words:
        return as_text(*words)
    longest = min([schema.get("maxLength", 20) for schema in schemas], default=20)
    for schema in schemas:
        if schema.get("type") in ("integer", "number"):
            return st.integers(schema.get("minimum", 0), schema.get("maximum", 9)).map(str)
    return st.text(max_size=longest).map(json.dumps)


def fields_of(model: type[BaseModel], *left_out: str, **instead: st.SearchStrategy[str]) -> Fields:
    """Return the fields of a body but `left_out`, each with its good values.

    instead: values of single fields.
    """
    known = {**DRAWN, **instead}
    return {
        name: known[name] if name in known else drawn(schema)
        for name, schema in schemas_of(model).items()
        if name not in left_out
    }


SAYS = {"contentType": as_text("history", "history/x"), "content": as_text(SAID["content"])}
MERGED = ("mergedFromConversationId", "mergedUpToEntryId")
PART = fields_of(entry_requests.EntryFields, "channel", "epoch", "userId", *MERGED)
ENTRIES: list[Fields] = [
    {**PART, "userId": DRAWN["userId"]},
    {**PART, **SAYS, "channel": as_text("history", "History", None)},
    {**PART, "channel": as_text("context", "CONTEXT"), "epoch": as_text(5, 6, 6.0, 1, None)},
    {**PART, **{name: DRAWN[name] for name in MERGED}},
]
BY_NAME: Fields = {"name": NAMED, "data": OBJECTS}
ALONE = ("id", "promote", "name")
"""The fields of a fork that `count` excludes."""
FORKED = conversation_requests.ForkConversation
FORKS: Fields = {
    **PART,
    "forkedAtConversationId": as_text(ROOT, ROOT, FRESH),
    "forkedAtEntryId": as_text("<first>", "<second>", "<noted>"),
}
KEYED: Fields = {
    **{name: held for name, held in FORKS.items() if name != "forkedAtEntryId"},
    "forkedAtKey": DRAWN["forkedAtKey"],
}
STARTS: Fields = {
    **PART,
    **SAYS,
    "startedByConversationId": as_text(ROOT, ROOT, FORK, FRESH),
    "startedByEntryId": as_text("<first>", "<second>", "<noted>", "<of fork>", None),
}
PHOTOS = {name: as_text(held) for name, held in PHOTO.items() if name not in ("name", "contentType")}
IMAGES = as_text("image/png", "image/png", "image/gif", "é")
UPLOAD = attachment_requests.UploadAttachment
PEOPLE = ["will", "rita", "bob", "a b", "a/b", "a#b", "a%b", "é", "😀" * 63, "x" * 256, " ", "\x00"]
GIVEN = as_text(*["manager", "writer", "reader"] * 4, "owner", "Reader")
BODIES: dict[str, list[Fields]] = {
    "appendEntry": [*ENTRIES, FORKS, KEYED, STARTS],
    "appendEntryByName": [{**fields, **BY_NAME} for fields in ENTRIES],
    "forkConversation": [
        fields_of(FORKED, "atKey", "count", "name"),
        fields_of(FORKED, "atEntryId", "count", "name"),
        fields_of(FORKED, "atEntryId", "atKey", "position", "count", name=MOVES),
        fields_of(FORKED, "atEntryId", *ALONE),
    ],
    "setName": [fields_of(naming.SetName, conversationId=as_text(*[ROOT, FORK] * 4, FRESH, FOREIGN))],
    "syncContext": [fields_of(entry_requests.SyncContext, channel=as_text("context", "Context", None))],
    "uploadAttachment": [
        fields_of(UPLOAD, contentType=IMAGES, **PHOTOS),
        fields_of(UPLOAD, "content", contentType=IMAGES, **PHOTOS),
    ],
    "shareConversation": [{"userId": as_text(*["<guest>"] * 30, *PEOPLE), "accessLevel": GIVEN}],
    "requestTransfer": [
        {
            "conversationId": as_text(*[ROOT, FORK] * 4, FRESH, FOREIGN),
            "newOwnerUserId": as_text(*["will", "rita"] * 4, "ann", "bob"),
        }
    ],
}
"""The bodies in which fields depend on each other or on the world. Models make the others."""
NEEDED = {
    *("contentType", "content", "channel", "forkedAtConversationId", "startedByConversationId"),
    *("accessLevel", "conversationId", "newOwnerUserId", "name", "query", "fromConversationId"),
    *("atEntryId", "atKey", "count", "mergedFromConversationId", "again", "size", "sha256"),
    "after",
}
ENDS = {"deleteConversation", "adminDeleteConversation"}
"""Operations after whose success little is left to ask for."""
FIELDS = sorted({name for one in operations.ALL for model in bodies_of(one) for name in names_of(model)})


def seldom(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.integers(1, one_in)) == one_in


@st.composite
def near_valid(draw: st.DrawFn, fields: Fields) -> str:
    """Return the text of a body that is valid except for up to two changes."""
    needed = NEEDED | (set() if "content" in fields else {"userId"})
    chosen = [name for name in fields if name in needed or seldom(draw, 2)]
    members = [(name, draw(fields[name])) for name in chosen]
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        name = draw(st.sampled_from(FIELDS) | st.text(max_size=8))
        members = [member for member in members if member[0] != name or seldom(draw, 9)]
        if not seldom(draw, 4):
            members.append((name, draw(JUNK)))
    return _object(members, draw(GAPS))


ANYTHING: st.SearchStrategy[str | bytes | None] = st.one_of(st.none(), JUNK, OBJECTS, st.binary(max_size=40))


@st.composite
def body_of(draw: st.DrawFn, operation: Operation) -> str | bytes | None:
    kinds = BODIES.get(operation.name) or [fields_of(model) for model in bodies_of(operation)]
    if kinds == [{}] and not seldom(draw, 3):
        return None
    if seldom(draw, 16):
        return draw(ANYTHING)
    if operation.name in ("appendEntry", "appendEntryByName") and seldom(draw, 4):
        parts = draw(st.lists(st.sampled_from(ENTRIES).flatmap(near_valid), min_size=1, max_size=3))
        name = [("name", draw(NAMED))] if operation.name == "appendEntryByName" else []
        return _object([*name, ("entries", _array(parts, ""))], "")
    text: str = draw(st.sampled_from(kinds).flatmap(near_valid))
    if seldom(draw, 12):
        at = draw(st.integers(0, len(text)))
        put: str = draw(st.sampled_from([*'{}[]",:\\0 ', "\x00", "\u00a0", ""]))
        return text[:at] + put + text[at + 1 :]
    return text


# Near-valid queries, headers and paths

PARAMETERS = {
    "limit": ["1", "50", "200", "7", "0", "-1", "1e2", "05", "201"],
    "afterCursor": [
        "<first>",
        "<noted>",
        "<conversations>",
        "<forks>",
        "<children>",
        "<foreign>",
        "",
        "AAAA",
    ],
    "beforeCursor": ["<second>", "<second>", "<of fork>", ROOT],
    "upToEntryId": ["<second>", "<noted>", "<foreign>"],
    "channel": ["history", "Context", "thoughts"],
    "epoch": ["latest", "all", "1", "5", "0"],
    "query": ["Ann", "", "\x00", "é"],
    "userId": ["ann", "ann", "ann", "bob", "nobody", "a#b", " "],
    "clientId": ["planner", "coder", " "],
    "key": [KEY, KEY, KEY, "another", "", "é"],
    "with": [FORK, FORK, FORK, ROOT, FRESH, FOREIGN, "x"],
    "name": [NAME, NAME, NAME, "trip again", "", "\x00"],
    "prefix": ["tr", NAME, "", "é", "\x00"],
    "expectRevision": ["1", "1", "2", "0", "-1", "x"],
}
"""Values of the parameters whose schema leads to no value that the world knows.

edges_of() makes the others.
"""
ODD_QUERIES = ["%ff", "&", "=", "a;b", "%zz", "+", "limit=1&limit=1"]


def spelled_of(operation: Operation, name: str) -> list[str]:
    """Return values of a parameter, good ones and a few that are not, as a query spells them."""
    edges = edges_of(schemas_of(operation.query).get(name, []))
    spelled = [str(edge).lower() if isinstance(edge, bool) else str(edge) for edge in edges]
    return PARAMETERS.get(name) or spelled or ["x"]


def needed_of(operation: Operation) -> list[str]:
    """Return the parameters that a query must have."""
    fields = operation.query.model_fields.values()
    return [field.alias or "" for field in fields if field.is_required()]


MEMBERS = [*["will", "rita"] * 6, "ann", "bob", "", " ", "x" * 2000, "a/b", "\x00", "é"]
OF_MEMBERS = {f"{verb}Membership{form}" for verb in ("update", "remove") for form in ("", "ByPath")}


@st.composite
def query_of(draw: st.DrawFn, operation: Operation) -> str:
    known = [field.alias or "" for field in operation.query.model_fields.values()]
    names = draw(st.lists(st.sampled_from(known), max_size=3, unique=True)) if known else []
    if seldom(draw, 8):
        names.append(draw(st.sampled_from(sorted(PARAMETERS)) | st.text(max_size=5)))
    pairs = []
    for name in needed_of(operation):
        values = MEMBERS if operation.name in OF_MEMBERS else spelled_of(operation, name)
        value = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(values))
        pairs.append(f"{name}={quote(value)}")
        names = [other for other in names if other != name or seldom(draw, 9)]
    for name in names:
        value = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(spelled_of(operation, name)))
        pairs.append(f"{quote(name)}={value if value.startswith('<') else quote(value)}")
    return "&".join([*pairs, *([draw(st.sampled_from(ODD_QUERIES))] if seldom(draw, 12) else [])])


Headers = list[tuple[str, str]]
CONTENT_TYPES = ["application/json;charset=utf-8", "text/plain", ""]
HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.one_of(
        st.tuples(st.just("Idempotency-Key"), st.text(max_size=4)),
        st.tuples(
            st.just("If-Match"), st.sampled_from(['"<second>"', f'"{ROOT}"', "*"]) | st.text(max_size=3)
        ),
        st.tuples(st.just("X-Request-Id"), st.text(max_size=4)),
        st.tuples(st.just("Content-Type"), st.sampled_from(CONTENT_TYPES)),
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda header: header[0],
)
CALLERS: list[tuple[str | None, str | None]] = [
    *[("ann", None), ("ann", "planner")] * 5,
    *[("ann", "coder"), ("bob", None), (None, None)],
]


ENTRIES_NAMED = ["<first>", "<second>", "<noted>", "<of fork>", FRESH, "x", "a/b"]
ERASED_BY = "/v1/admin/erasures"
ERASURES = ["<erasure>"] * 9 + [ROOT, "x", "a/b"]
ANSWERS = ["<answer>"] * 9 + [ROOT, FRESH, "x", "a/b"]
ATTACHED = ["<photo>"] * 9 + [ROOT, FRESH, "x", "a/b"]
LINKS = ["<link>"] * 9 + [ROOT, FRESH, "x", "a/b"]
NOTES = ["<note>"] * 9 + [ROOT, FRESH, "x", "a/b"]
SECRETS = ["<secret>"] * 9 + ["x" * 43, "x", "a/b"]
UPLOADS = "/v1/attachments"
TRANSFERS = ["<transfer>"] * 9 + [ROOT, FRESH, "x", "<first>", "a/b"]


@st.composite
def path_of(draw: st.DrawFn, operation: Operation) -> str:
    made = ROOT
    if operation.name == "appendEntry" and seldom(draw, 2):
        made = str(draw(st.uuids()))
    elif seldom(draw, 8):
        made = draw(st.just(FRESH) | st.text(max_size=8))
    elif operation.name in OF_MEMBERS:
        made = draw(st.sampled_from([ROOT, ROOT, FORK]))
    member = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(MEMBERS))
    transfer = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(TRANSFERS))
    entry = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(ENTRIES_NAMED))
    if "{entryId}/notes" in operation.path and not seldom(draw, 8):
        entry = "<first>"
    erasure = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(ERASURES))
    answer = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(ANSWERS))
    attached = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(ATTACHED))
    linked = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(LINKS))
    note = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(NOTES))
    secret = draw(st.text(max_size=8) if seldom(draw, 9) else st.sampled_from(SECRETS))
    path = (
        operation.path.replace("{conversationId}", quote(made, safe=""))
        .replace("{userId}", quote(member, safe=""))
        .replace("{transferId}", quote(transfer, safe="<>"))
        .replace("{entryId}", quote(entry, safe="<>"))
        .replace("{erasureId}", quote(erasure, safe="<>"))
        .replace("{answerId}", quote(answer, safe="<>"))
        .replace("{attachmentId}", quote(attached, safe="<>"))
        .replace("{linkId}", quote(linked, safe="<>"))
        .replace("{noteId}", quote(note, safe="<>"))
        .replace("{secret}", quote(secret, safe="<>"))
    )
    return path.replace("%25", "x")  # the gateway itself refuses an encoded per cent sign


MOSTLY = {
    "acceptTransfer": ["<heir>"] * 4 + ["<owner>", "rita"],
    "deleteTransfer": ["<owner>", "<heir>", "rita"],
    "getTransfer": ["<owner>", "<heir>", "rita"],
    "removeMembership": ["ann", "ann", "will", "rita"],
    "removeMembershipByPath": ["ann", "ann", "will", "rita"],
}
"""The users who send the requests of an operation, if Ann is not the only one."""


@st.composite
def request_of(draw: st.DrawFn, operation: Operation) -> Ask:
    user, agent = draw(st.sampled_from(CALLERS))
    if operation.name == "syncContext" and not seldom(draw, 6):
        agent = "planner"
    elif operation.role and user == "ann":
        user = draw(st.sampled_from(["adam", "adam", "adam", "adam", "aude", "ann"]))
    elif operation.name in MOSTLY and user == "ann":
        user = draw(st.sampled_from(MOSTLY[operation.name]))
    return Ask(
        operation.method,
        draw(path_of(operation)),
        body=draw(body_of(operation)) if operation.body else None,
        query=draw(query_of(operation))
        if operation.query_names or not operation.body or seldom(draw, 9)
        else "",
        headers=draw(HEADERS) if seldom(draw, 4) else [],
        user=user,
        agent=agent,
    )


# What must hold

READ_OTHERWISE = {"channel", "epoch"}
"""The fields that are shown in one spelling, whatever was sent."""


def exact(text: str) -> Any:
    """Return JSON as values. Each number is kept as its spelling."""
    spelled: Callable[[str], Any] = lambda digits: ("number", digits)  # noqa: E731 (typed)
    return json.loads(text, parse_int=spelled, parse_float=spelled)


def assert_kept(sent: Mapping[str, Any], shown: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if sent.get(name) is not None and name not in READ_OTHERWISE:
            assert shown[name] == sent[name], (name, sent, shown)


def answer_of(world: World, made: Mapping[str, Any]) -> str:
    """Return the answer that a request was about: it has just begun it, or it has written to it."""
    return str(made["id"] if "id" in made else world.made["answer"])


def assert_comes_back(world: World, ask: Ask, answer: Answer) -> None:
    """Read what a request has created or changed, and compare it with the request."""
    sent, made = exact(world.named(ask.body) or "{}"), exact(answer.text)
    if "/memberships" in ask.path:
        listed = {name: value for name, value in made.items() if name != "children"}
        assert listed in members_of(world, ask)
        assert_kept(sent, made, "userId", "accessLevel")
        return
    if ask.path.endswith("/links"):
        listed = exact(world.send(Ask("GET", ask.path, user=ask.user)).text)["data"]
        assert {name: held for name, held in made.items() if name != "secret"} in listed
        assert_kept(sent, made, "upToEntryId", "allForks", "userIds", "keepOnTransfer")
        return
    if ask.path.endswith("/notes"):
        of, _, entry = ask.path.removesuffix("/notes").partition("/entries/")
        listed = exact(world.send(Ask("GET", f"{of}/notes", query=f"entryId={entry}", user=ask.user)).text)
        assert made in listed["data"]
        assert_kept(sent, made, "text", "score")
        return
    if "/ownership-transfers" in ask.path:
        if f"ended {made['id']}" in world.made:
            return  # a key that comes again is answered with what it has made
        assert exact(world.send(show_transfer(made["id"], user=ask.user)).text) == made
        assert_kept(sent, made, "conversationId")
        assert made["toUserId"] == sent["newOwnerUserId"]
        return
    if ask.path == UPLOADS:
        shown = exact(world.send(Ask("GET", f"{UPLOADS}/{made['id']}", user=ask.user)).text)
        assert_kept(made, shown, "id", "name", "contentType", "size", "sha256", "state", "createdAt")
        assert_kept(sent, shown, "contentType", "size", "sha256")
        return
    if ask.path == ERASED_BY:
        assert exact(world.send(Ask("GET", f"{ERASED_BY}/{made['id']}", user=ask.user)).text) == made
        return
    if ask.path.endswith("/names"):
        asked = Ask("GET", f"{ask.path}/lookup", query=f"name={quote(made['name'], safe='')}")
        assert exact(world.send(replace(asked, user=ask.user, agent=ask.agent)).text) == made
        assert_kept(sent, made, "name", "conversationId", "data")
        return
    if "/answers" in ask.path:
        log = exact(world.send(Ask("GET", f"/v1/conversations/{ROOT}/answers/{answer_of(world, made)}")).text)
        assert_kept(sent, log, "afterEntryId", "agentId")
        assert_kept(sent, log["parts"][0] if log["parts"] else {}, "content")
        return
    is_merge = ask.path.endswith("/merge")
    if "/entries" not in ask.path and not is_merge:
        assert len(made.get("data", [made])) == int(sent.get("count", ("number", "1"))[1])
        for one in made.get("data", [made]):
            shown = exact(world.send(show(one["id"], user=ask.user)).text)
            assert shown == one
            assert_kept(sent, shown, *names_of(answer_models.Conversation))
        return
    if ask.path.endswith("/sync"):
        assert_is_the_context(world, ask, made)
        return
    one_by_one = made.get("data", [made])
    conversation, last = one_by_one[-1]["conversationId"], one_by_one[-1]["id"]
    query = f"upToEntryId={last}&tail=true&limit={len(one_by_one)}"
    listed = exact(world.send(entries(query, of=conversation, user=ask.user, agent=ask.agent)).text)
    assert listed["data"] == one_by_one
    if is_merge:
        assert {entry["copiedFromConversationId"] for entry in one_by_one} <= {ROOT, FORK}
        return
    for part, shown in zip(sent.get("entries", [sent]), one_by_one, strict=True):
        assert_kept(part, shown, *names_of(answer_models.Entry))


def members_of(world: World, ask: Ask) -> list[Any]:
    """Return every membership of the conversation that the request named."""
    conversation, found, query = ask.path.split("/")[3], [], "limit=200"
    while True:
        page = world.send(memberships(query, of=conversation, user=ask.user)).json
        found += page["data"]
        if page["afterCursor"] is None:
            return found
        query = f"limit=200&afterCursor={page['afterCursor']}"


def assert_is_the_context(world: World, ask: Ask, synced: Mapping[str, Any]) -> None:
    """After a sync, the latest epoch equals the request and ends with the created entry."""
    conversation = ask.path.split("/")[3]
    query = "channel=context&limit=1000"
    sent = json.loads(world.named(ask.body) or "", parse_float=Decimal)["content"]
    if synced["epoch"] is None:  # there may be no conversation either
        assert sent == []
        return
    listed = world.send(entries(query, of=conversation, user=ask.user, agent=ask.agent)).text
    shown = json.loads(listed, parse_float=Decimal)["data"]
    assert canonical([element for entry in shown for element in entry["content"]]) == canonical(sent)
    if synced["entry"] is not None:
        assert exact(listed)["data"][-1] == synced["entry"]


def let_members_be(world: World) -> None:
    """Make Will a writer and Rita a reader again. Ann is the owner."""
    for user, level in (("will", "writer"), ("rita", "reader")):
        world.send(share({"userId": user, "accessLevel": level}))


def let_somebody_new_come(world: World) -> None:
    number = int(world.made.get("guest", "0").partition(" ")[0])
    world.made["guest"] = f"{number + 1} #/%é 😀"


def let_none_be_pending(world: World) -> None:
    for transfer in world.send(transfers()).json["data"]:
        assert world.send(end_transfer(transfer["id"])).status == 204
        world.made[f"ended {transfer['id']}"] = transfer["id"]


def let_one_be_pending(world: World) -> None:
    """Let the owner, Ann or Will, offer the ownership to the other one."""
    if not world.send(transfers()).json["data"]:
        owner = world.send(show(ROOT)).json["ownerUserId"]
        heir = "will" if owner == "ann" else "ann"
        made = world.send(offer({"conversationId": ROOT, "newOwnerUserId": heir}, user=owner)).json["id"]
        world.made |= {"owner": owner, "heir": heir, "transfer": made}


def let_the_name_be(world: World) -> None:
    """Make the names that a request may have deleted."""
    named = {"name": NAME, "conversationId": ROOT, "expectRevision": 0}
    for agent in (None, "planner"):
        assert world.send(Ask("POST", "/v1/names", named, agent=agent)).status in {200, 409}


def let_an_erasure_run(world: World) -> None:
    if "erasure" not in world.made:
        begun = world.send(Ask("POST", ERASED_BY, {"userId": "gone"}, user="adam"))
        world.made["erasure"] = begun.json["id"]


def let_a_photo_be(world: World) -> None:
    """Upload a photo of Ann's, or find it."""
    world.made["photo"] = world.send(Ask("POST", UPLOADS, PHOTO)).json["id"]


def let_few_links_be(world: World) -> None:
    """End all links of the root's tree."""
    of = f"/v1/conversations/{ROOT}/links"
    for link in world.send(Ask("GET", of)).json["data"]:
        assert world.send(Ask("DELETE", f"{of}/{link['id']}")).status == 204


def let_a_link_be(world: World) -> None:
    """Make a link to the whole tree of the root, in place of all others."""
    let_few_links_be(world)
    made = world.send(Ask("POST", f"/v1/conversations/{ROOT}/links", {"allForks": True})).json
    world.made |= {"link": made["id"], "secret": made["secret"]}


def let_few_notes_be(world: World) -> None:
    """Delete all notes on what the root shows."""
    of = f"/v1/conversations/{ROOT}"
    for note in world.send(Ask("GET", f"{of}/notes")).json["data"]:
        path = f"{of}/entries/{note['entryId']}/notes/{note['id']}"
        assert world.send(Ask("DELETE", path)).status == 204


def let_a_note_be(world: World) -> None:
    """Write a note of Ann's on the first entry."""
    let_few_notes_be(world)
    made = world.send(Ask("POST", f"/v1/conversations/{ROOT}/entries/<first>/notes", {"score": 1}))
    world.made["note"] = made.json["id"]


def let_no_answer_be_open(world: World) -> None:
    standing = world.send(show(ROOT)).json.get("answering")
    if standing:
        world.send(Ask("DELETE", f"/v1/conversations/{ROOT}/answers/{standing['answerId']}"))


def let_an_answer_be_open(world: World) -> None:
    """Begin an answer of Ann's, which has nothing yet."""
    let_no_answer_be_open(world)
    begun = world.send(Ask("POST", f"/v1/conversations/{ROOT}/answers"))
    assert begun.status == 201, begun.text
    world.made["answer"] = begun.json["id"]


PREPARED: Mapping[str, Callable[[World], None]] = {
    "shareConversation": let_somebody_new_come,
    "removeMembership": let_members_be,
    "removeMembershipByPath": let_members_be,
    "requestTransfer": let_none_be_pending,
    "beginAnswer": let_no_answer_be_open,
    **dict.fromkeys(("appendToAnswer", "getAnswer", "adminGetAnswer"), let_an_answer_be_open),
    **dict.fromkeys(("stopAnswer", "deleteAnswer"), let_an_answer_be_open),
    **dict.fromkeys(
        ("getAttachment", "getAttachmentContent", "adminGetAttachment", "adminRemoveAttachment"),
        let_a_photo_be,
    ),
    **dict.fromkeys(("openLink", "listLinkedEntries", "deleteLink", "adminDeleteLink"), let_a_link_be),
    "createLink": let_few_links_be,
    "addNote": let_few_notes_be,
    **dict.fromkeys(("deleteNote", "adminDeleteNote"), let_a_note_be),
    "getTransfer": let_one_be_pending,
    "deleteTransfer": let_one_be_pending,
    "acceptTransfer": let_one_be_pending,
    "deleteName": let_the_name_be,
    "adminDeleteName": let_the_name_be,
    "adminGetErasure": let_an_erasure_run,
}
"""Sets up the state that an operation needs; the previous request may have ended it."""


def check(world: World, operation: Operation, ask: Ask) -> int:
    if operation.name in PREPARED:
        PREPARED[operation.name](world)
    answer = world.send(ask)
    if answer.status == operation.status:
        if operation.result is None:
            assert answer.text == ""
        else:
            operation.result.model_validate_json(answer.text)
        if operation.body and operation.result and not operation.is_read:
            assert_comes_back(world, ask, answer)
    elif answer.status in operation.also:
        assert operation.result is not None
        operation.result.model_validate_json(answer.text)
    else:
        assert answer.status in {*REFUSALS, *operation.errors}, (ask, answer.text)
        error = Error.model_validate_json(answer.text, strict=True)
        assert error.request_id == answer.headers["x-request-id"]
    return answer.status


@pytest.fixture
def fresh_world() -> Iterator[World]:
    """A world on its own table, for the requests of one route."""
    with table_in_memory() as template:
        world = World(Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude"))
        for number in (7, 8):
            world.send(append({**SAID, "startedByConversationId": ROOT}, to=conversation_id(number)))
        assert world.send(append({**SAID, "key": KEY})).status == 201
        let_the_name_be(world)
        world.made["children"] = world.send(children("limit=1")).json["afterCursor"]
        yield world


@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_random_requests_are_refused_properly_or_done_exactly(
    fresh_world: World, operation: Operation, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses: Counter[int] = Counter()

    @given(ask=request_of(operation))
    @examples(CASES, always=True)
    def run(ask: Ask) -> None:
        statuses[check(fresh_world, operation, ask)] += 1

    run()
    with capsys.disabled():
        counts = dict(sorted(statuses.items()))
        sys.stdout.write(f"\nfuzz {operation.name}: {statuses.total()} requests, {counts} ")
    assert statuses.total() >= CASES
    minimum = 1 if operation.name in ENDS else CASES // 30
    assert statuses[operation.status] >= minimum, "too few requests are accepted for a useful test"
    assert statuses.keys() - {operation.status}, "no request is refused"


@pytest.mark.parametrize("text", ["1", "1.0", '"1"', "[1]", '{"a":1}'])
def test_these_tests_distinguish_different_spellings_of_a_value(text: str) -> None:
    assert exact(text) == exact(text)
    assert all(exact(text) != exact(other) for other in ("1e0", "1.00", '"1.0"', "[1.0]", '{"a":"1"}'))
