"""Requests just within the bounds are accepted. Their JSON comes back token by token."""

import base64
import hashlib
import json

import pytest

from tests.service.aws.world import (
    FORK,
    JSON,
    NOTED,
    PLAIN,
    PRESENT,
    ROOT,
    SAID,
    SEARCH,
    USED_KEY,
    Ask,
    World,
    append,
    change,
    children,
    compare,
    conversation_id,
    conversations,
    copy,
    create,
    entries,
    find,
    fork,
    merge,
    metadata,
    nested,
    path_of,
    show,
    tags,
    with_content,
    with_usage,
)
from tools.harness.gateway import Gateway

ENOUGH = {
    "title: 500 characters of four bytes": create({"title": "\N{GRINNING FACE}" * 500}),
    "tags: 50": create({"tags": tags(50)}),
    "tags: a key of 64 characters": create({"tags": {"k" * 64: "v"}}),
    "tags: every character of a key": create({"tags": {"aZ09_.-": ""}}),
    "tags: a value of 256 characters": create({"tags": {"k": "\N{GRINNING FACE}" * 256}}),
    "metadata: 16 KB in characters of two bytes": create(metadata(16 * 1024, "é")),
    "an id of no version": create({"id": "ffffffff-ffff-ffff-ffff-ffffffffffff"}),
    "no body": Ask("POST", "/v1/conversations"),
    "an empty body": create(""),
    "white space": create(" \t\r\n"),
    "white space around": create(' \n{ "title" : "x" } \r\t'),
    "no body of a fork": Ask("POST", path_of(ROOT) + "/fork"),
    "content: no elements": append(with_content([])),
    "content: 1,000 elements": append(with_content([0] * 1000)),
    "content: opaque": append(with_content([None, True, 1, "x", {"role": 1}, [[]]])),
    "content: opaque without a channel": append({**PLAIN, "channel": None, "content": [1, 2]}),
    "64 levels": append(nested(64)),
    "200,000 arrays and objects": append(with_content([[[]] * (200_000 - 3)])),
    "user: the caller": append({**PLAIN, "userId": "ann"}),
    "several: 1": append({"entries": [PLAIN]}),
    "several: 50": append({"entries": [PLAIN] * 50}),
    "several: mixed": append({"entries": [SAID, NOTED, PLAIN]}, agent="planner"),
    "summary: of itself": append({**PLAIN, "mergedFromConversationId": ROOT}),
    "summary: up to an entry": append(
        {**PLAIN, "mergedFromConversationId": FORK, "mergedUpToEntryId": "<first>"}
    ),
    "context: based on nothing": append(
        {**SAID, "context": {"contentType": "c", "content": [1], "basedOnEntryId": "none"}}, agent="coder"
    ),
    "context: based on 1000 characters": append(
        {**SAID, "context": {"contentType": "c", "content": [1], "basedOnEntryId": "x" * 1000}}, agent="coder"
    ),
    "merge: a part": merge(
        {"fromConversationId": ROOT, "afterEntryId": "<first>", "upToEntryId": "<second>", "again": True}
    ),
    "copy: a title of 500 characters": copy({"title": "x" * 500, "upToEntryId": "<first>"}),
    "history: in upper case": append({**SAID, "channel": "HISTORY"}),
    "context: in upper case": append({**NOTED, "channel": "CONTEXT"}, agent="planner"),
    "context: an epoch": append({**NOTED, "epoch": 5}, agent="planner"),
    "present context: beside an entry": append({**PLAIN, "context": PRESENT}, agent="planner"),
    "present context: beside several": append(
        {"entries": [PLAIN, SAID], "context": PRESENT}, agent="planner"
    ),
    "present context: null": append({**PLAIN, "context": None}),
    "present context: nothing": append({**PLAIN, "context": {**PRESENT, "content": []}}, agent="planner"),
    "present context: 1,000 elements": append(
        {**PLAIN, "context": {**PRESENT, "content": [0] * 1000}}, agent="planner"
    ),
    "append: metadata: 16 KB": append(
        json.dumps({**PLAIN, "metadata": {"a": "x" * (16 * 1024 - 8)}}, separators=(",", ":")),
        to=conversation_id(62),
    ),
    "append: a title for a conversation that exists": append(
        {**PLAIN, "title": "ignored", "tags": {"a": "b"}}
    ),
    "append: a fork after an entry": append(
        {**PLAIN, "forkedAtConversationId": ROOT, "forkedAtEntryId": "<first>", "forkedAtPosition": "after"},
        to=conversation_id(63),
    ),
    "append: a fork at the head": append(
        {**PLAIN, "forkedAtConversationId": ROOT, "forkedAtPosition": "head"}, to=conversation_id(64)
    ),
    "append: a fork at own context": append(
        {**PLAIN, "forkedAtConversationId": ROOT, "forkedAtEntryId": "<noted>"},
        to=conversation_id(65),
        agent="planner",
    ),
    "fork: own context": fork({"atEntryId": "<noted>", "position": "after"}, agent="planner"),
    "key: 128 characters": append({**PLAIN, "key": "k" * 128}),
    "keys: 44": append({"entries": [{**PLAIN, "key": f"{at}"} for at in range(44)]}),
    "name: 255 bytes": Ask("POST", "/v1/names", {"name": "x" * 255, "conversationId": ROOT}),
    "name: 255 bytes that are escaped": Ask("POST", "/v1/names", {"name": "#" * 255, "conversationId": ROOT}),
    "name: 4 KB of data": Ask(
        "POST", "/v1/names", {"name": "n", "conversationId": ROOT, "data": {"k": "x" * (4 * 1024 - 9)}}
    ),
    "names: no prefix": Ask("GET", "/v1/names", query="prefix=&limit=200"),
    "append by a name": Ask("POST", "/v1/names/entries", {**PLAIN, "name": "😀" * 63}),
    "fork: a name": fork({"name": {"name": "of a fork", "expectRevision": 0}}),
    "attachment: the largest": Ask(
        "POST",
        "/v1/attachments",
        {"name": "x" * 255, "contentType": f"{'a' * 63}/{'b' * 63}", "size": 100_000_000, "sha256": "0" * 64},
    ),
    "attachment: the largest content": Ask(
        "POST",
        "/v1/attachments",
        {
            "name": "x",
            "contentType": "a/b",
            "size": 999_999,
            "sha256": hashlib.sha256(bytes(999_999)).hexdigest(),
            "content": "AAAA" * 333_333,
        },
    ),
    "usage: the largest": append(
        with_usage(
            f'{{"inputTokens":{2**53},"outputTokens":0,"cachedInputTokens":{2**53}.0,"costUsd":1000000000}}'
        )
    ),
    "usage: nine decimals": append(with_usage('{"costUsd":999999999.999999999}')),
    "usage: a sum of floats": append(with_usage('{"costUsd":0.30000000000000004}')),
    "usage: an exponent": append(with_usage('{"costUsd":1e-9,"inputTokens":9e15}')),
    "usage: minus zero": append(with_usage('{"costUsd":-0.0,"inputTokens":-0}')),
    "If-Match: the last": append(PLAIN, to=FORK, headers=[("If-Match", '"<of fork>"')]),
    "Idempotency-Key: 255 characters": create({}, headers=[("Idempotency-Key", "k" * 255)]),
    "Idempotency-Key: printable": create({}, headers=[("Idempotency-Key", "a b!~\"'")]),
    "Idempotency-Key: used again": create(
        {"id": ROOT, "title": "of Ann"}, headers=[("Idempotency-Key", USED_KEY)]
    ),
    "type: with UTF-8": create("{}", headers=[("Content-Type", "application/json; charset=utf-8")]),
    "type: in upper case": create("{}", headers=[("Content-Type", "Application/JSON;CHARSET=UTF-8")]),
    "type: with a space": create("{}", headers=[("Content-Type", "application/json ;charset=utf-8")]),
    "fork: 2 equal ones": fork({"count": 2, "promote": False}),
    "empty query parameters": conversations("&&"),
    "query: a NUL": conversations("query=%00"),
    "tag: a name of 64 characters": conversations("tag=" + "Z" * 64),
    "tag: a value of 256 characters": conversations("tag=a.b_c-9:" + "z" * 256),
    "createdSince: milliseconds": conversations("createdSince=2026-03-01T09:15:00.000Z"),
    "tag: any value": conversations("tag=a:b:%0A%00%F0%9F%98%80"),
    "children: of an entry": children("startedByEntryId=<first>"),
    "pinned": conversations("pinned=true&mode=all&ancestry=all&limit=200"),
    "archived: include": conversations("archived=include&mode=all&ancestry=all"),
    "own": entries("own=true&alternatives=true&tail=true"),
    "not own, and all forks": entries("own=false&alternatives=false&allForks=true"),
    "alternatives of context": entries("channel=context&alternatives=true", agent="planner"),
    "compare: 1,000 a side": compare(f"with={FORK}&limit=1000"),
    "compare: with itself": compare(f"with={ROOT}"),
    "all forks": entries("allForks=true&afterCursor=<of fork>"),
    "lines": entries("view=line&allForks=true&limit=1000"),
    "no lines": entries("view=full"),
    "up to": entries("upToEntryId=<second>&afterCursor=<first>"),
    "a cursor of context": entries("afterCursor=<noted>"),
    "channel: in upper case": entries("channel=HISTORY"),
    "context: all epochs": entries("channel=Context&epoch=all", agent="planner"),
    "context: one epoch": entries(f"channel=context&epoch={2**53}", agent="planner"),
    "indexed: 32 KB": append({**SAID, "indexedContent": "x" * 32 * 1024}),
    "indexed: 32 KB in characters of two bytes": append({**PLAIN, "indexedContent": "é" * 16 * 1024}),
    "indexed: several": append({"entries": [{**SAID, "indexedContent": "x"}, PLAIN]}),
    "search: 500 characters": find({"query": "\N{GRINNING FACE}" * 500}),
    "search: many words": find({"query": "a " * 250}),
    "search: limit 200.0": find('{"query": "x", "limit": 200.0}'),
    "search: several types": find({"query": "x", "searchType": ["semantic", "fulltext"]}),
    "search: every optional field null": find(
        {"query": "x", "limit": None, "afterCursor": None, "searchType": None, "includeEntry": None}
    ),
    "search: a key that has no meaning": find({"query": "x"}, headers=[("Idempotency-Key", USED_KEY)]),
    "search: If-Match has no meaning": find({"query": "x"}, headers=[("If-Match", "*")]),
    "wait: 20": show(ROOT, query="wait=20"),
    "wait: 0": entries("wait=0&tail=true"),
    "an id with encoded letters": show("%30" + ROOT[1:]),
    "an encoded letter": Ask("GET", "/v1/%63onversations"),
    "an encoded slash": Ask("GET", path_of(ROOT) + "%2Fentries"),
    "a letter encoded twice": Ask("GET", "/v1/%2563onversations"),
    "an encoded slash, to fork": Ask("POST", path_of(ROOT) + "%2Ffork", {}),
    "health, without credentials": Ask("GET", "/v1/health", user=None),
    "context: the type of history": append({**NOTED, "contentType": "history"}, agent="planner"),
    "another content type with the same beginning": append({"contentType": "history/", "content": ["hi"]}),
    "history by its content type alone": append({"contentType": "history", "content": [{"text": "hi"}]}),
    "an append to a fork that names its source": append(
        {**PLAIN, "forkedAtConversationId": ROOT, "forkedAtEntryId": "<second>"}, to=FORK
    ),
}


@pytest.mark.parametrize("ask", ENOUGH.values(), ids=ENOUGH)
def test_a_request_just_within_the_bounds_is_accepted(open_world: World, ask: Ask) -> None:
    answer = open_world.send(ask)

    makes = ask.method == "POST" and ask.path not in (SEARCH, "/v1/names")
    assert answer.status == (201 if makes else 200), answer.text
    assert answer.headers["content-type"] == JSON


OPTIONAL = {
    "create: the id": create({"id": None}),
    "change: the title": change({"title": None}),
    "fork: the entry": fork({"atEntryId": None}),
    "fork: the count": fork({"count": None}),
    "append: no promotion": append({**PLAIN, "promote": False}),
    "fork: the user": fork({"userId": "ann"}),
    "append: the channel": append({**PLAIN, "channel": None}),
    "append: the fork": append({**PLAIN, "forkedAtConversationId": None}),
    "append: one of several": append({"entries": [{**PLAIN, "usage": None, "agentId": None}]}),
}


@pytest.mark.parametrize("ask", OPTIONAL.values(), ids=OPTIONAL)
def test_an_optional_field_may_be_null(open_world: World, ask: Ask) -> None:
    answer = open_world.send(ask)

    assert answer.status == (200 if ask.method == "PATCH" else 201), answer.text


def test_a_body_in_base64_is_read_like_any_other(open_world: World, gateway: Gateway) -> None:
    function, event = gateway.event("POST", "/v1/conversations", headers=[("Authorization", "Bearer ann")])
    body = base64.b64encode('{"title":"é"}'.encode()).decode()
    answer = gateway.invoke(function, event | {"body": body, "isBase64Encoded": True})

    assert (answer.status, answer.json["title"]) == (201, "é")


# What is accepted comes back token by token

NUMBERS = (
    "0, -0, -0.0, 0.0, 1.0, 1.00, 1E5, 1e+5, 1e-5, 10e0, 0e0, 1e308, 0e999, -1e-999, "
    "9007199254740993, -9223372036854775809, 0.100000000000000000000000000001, "
    "3.14159265358979323846264338327950288419716939937510"
)
LONG_NUMBERS = "7" * 308 + ", 1." + "3" * 398
TEXTS = [
    r'"é \u00e9 \u00E9 e\u0301 é"',
    r'"\ud83d\ude00 😀 \uD83D\uDE00"',
    r'"\u0000 \u001f \u007f \u0080 \u2028 \ufeff \ufffe \uffff"',
    '"\u2028 \ufeff \uffff \U0010ffff"',
    r'"\/ / \" \\ \b \f \n \r \t \\ud800"',
    r'"</script> <!-- ]]> ${x} {{x}} %s"',
]
SHAPES = [
    '{ "b" : 1 ,\t"a":[ ],\r\n"":{ } }',
    r'{"\u0061":1,"A":2}',
    '{"\u00e1":"precomposed","a\u0301":"combined"}',
    '{"content":[1.0],"metadata":{"usage":1.10},"entries":[{"content":1e1}]}',
    "[null,true,false,[[[]]],{}]",
]
TOKENS = [f"[{NUMBERS}, {LONG_NUMBERS}]", f"[{','.join(TEXTS)}]", *SHAPES]


@pytest.mark.failure("unusual-characters", "unusual-numbers")
@pytest.mark.parametrize("tokens", TOKENS, ids=range(len(TOKENS)))
def test_content_comes_back_token_by_token(open_world: World, tokens: str) -> None:
    body = f'{{"contentType": "x", "content" : [ {tokens}, 1.0 ] , "agentId":"a"}}'
    made = open_world.send(append(body))
    batch = open_world.send(append(f'{{"entries": [{body}, {body}], "context" : {body}}}', agent="planner"))
    listed = open_world.send(entries("tail=true&limit=4", agent="planner"))
    content = f'"content":[ {tokens}, 1.0 ],'

    assert made.status == 201, made.text
    assert content in made.text
    assert batch.text.count(content) == 3, batch.text
    assert listed.text.count(content) == 4


@pytest.mark.parametrize("tokens", TOKENS, ids=range(len(TOKENS)))
def test_metadata_comes_back_token_by_token(open_world: World, tokens: str) -> None:
    text = f'{{ "kept" : {tokens} , "one":1.0}}'
    conversation = conversation_id(100 + TOKENS.index(tokens))
    made = open_world.send(create(f'{{"id":"{conversation}","metadata":{text}}}'))
    forked = open_world.send(fork(f'{{"title":"of it", "metadata" :\n{text} }}', of=conversation))
    changed = open_world.send(change(f'{{"metadata": {text}\t}}', of=conversation))
    shown = [open_world.send(show(conversation)), open_world.send(conversations("mode=all&limit=2"))]

    assert made.status == 201, made.text
    for answer in (made, forked, changed, *shown):
        assert f'"metadata":{text},' in answer.text


@pytest.mark.parametrize(
    "usage",
    [
        '{ "inputTokens" : 1.0 , "costUsd":1.50 }',
        '{"costUsd":1e-9,"outputTokens":1E3}',
        '{"cachedInputTokens":-0,"costUsd":-0.0}',
        '{"costUsd":0e999}',
        '{"costUsd":0.30000000000000004}',
        "{ }",
    ],
)
def test_usage_comes_back_token_by_token(open_world: World, usage: str) -> None:
    made = open_world.send(append(with_usage(usage)))
    listed = open_world.send(entries("tail=true&limit=1"))

    assert f'"usage":{usage},' in made.text
    assert f'"usage":{usage},' in listed.text


def test_a_replay_shows_the_same_tokens(open_world: World) -> None:
    body = '{"contentType":"x","content":[1.0, "\\u00e9", -0],"usage":{"costUsd":1.50}}'
    once = [("Idempotency-Key", "replayed")]
    made, again = (open_world.send(append(body, headers=once)) for _ in range(2))

    assert '"content":[1.0, "\\u00e9", -0]' in made.text
    assert (again.status, again.text) == (made.status, made.text)


def test_a_change_may_name_the_updated_at_that_it_has_seen(open_world: World) -> None:
    seen = open_world.send(show(ROOT)).json["updatedAt"]
    headers = [("If-Match", f'"{seen}"')]

    first, again = (open_world.send(change({"title": "x"}, headers=headers)) for _ in range(2))

    assert (first.status, again.status, again.code) == (200, 409, "conflict")
    details = again.json["details"]
    assert (details["reason"], details["updatedAt"]) == ("stale", first.json["updatedAt"])
