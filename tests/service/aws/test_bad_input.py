"""Requests with one or two mistakes: which error each gets, and that it changes nothing."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.service.aws.errors import (
    CURSOR,
    FORBIDDEN,
    NO_SEARCH_TYPE,
    NOT_FOUND,
    VALIDATION,
    WRONG_METHOD,
    WRONG_TYPE,
    assert_refused,
    bad,
    without_request_id,
)
from tests.service.aws.world import (
    FOREIGN,
    FORK,
    FRESH,
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
    archive,
    change,
    children,
    compare,
    conversation_id,
    conversations,
    create,
    entries,
    find,
    fork,
    forks,
    merge,
    metadata,
    nested,
    path_of,
    pin,
    promote,
    score,
    show,
    tags,
    with_content,
    with_message,
    with_usage,
)
from tools.catalogue import PHOTO
from tools.harness.gateway import Answer, Gateway

SURELY_WRONG = '"00000000-0000-7000-8000-000000000001"'
"""An If-Match with a valid entry id that no entry has."""
AGES_AGO = '"2020-01-01T00:00:00.000Z"'
"""An If-Match with a time before every conversation."""


@pytest.mark.failure("claimed-identity")
def test_identities_in_other_headers_are_ignored(open_world: World) -> None:
    forged = [("X-User-Id", "bob"), ("X-Client-Id", "planner"), ("Cookie", "userId=bob")]
    made = open_world.send(append(PLAIN, headers=forged)).json

    assert (made["userId"], made.get("clientId")) == ("ann", None)
    assert_refused(open_world.send(show(FOREIGN, headers=forged)), FORBIDDEN)


@pytest.mark.failure("unusual-user-id")
@pytest.mark.parametrize("user", ["a#b/c%2Fd", "ü, Bearer x", "a" * 255, "\N{GRINNING FACE}" * 63, "a", "a#"])
def test_any_other_text_is_a_valid_user_id_and_comes_back_unchanged(open_world: World, user: str) -> None:
    made = open_world.send(create({}, user=user)).json
    [listed] = open_world.send(conversations(user=user)).json["data"]

    assert made["ownerUserId"] == listed["ownerUserId"] == user
    assert made["id"] == listed["id"]


# One thing wrong

NO_IDS = {
    "upper case": "0190A5B1-1111-7000-8000-00000000000A",
    "a trailing newline": ROOT + "\n",
    "a word": "root",
    "dots": "..",
    "a quote": 'a"b',
    "an encoded per cent sign": "%30",
}
"""Text that is not an id. In a path it answers 404; for an append, which could create it, 400."""


def _percent(text: str) -> str:
    return "".join(
        c if c.isalnum() and c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in text
    )


BY_ID: dict[str, Callable[[str], Ask]] = {
    "show": show,
    "change": lambda segment: change({}, of=segment),
    "entries": lambda segment: entries(of=segment),
    "forks": lambda segment: forks(of=segment),
    "fork": lambda segment: fork({}, of=segment),
    "append": lambda segment: append(PLAIN, to=segment),
}
BAD_IDS_IN_PATHS = [
    bad(f"{verb}: {name}", ask(_percent(text)), VALIDATION if verb == "append" else NOT_FOUND)
    for name, text in NO_IDS.items()
    for verb, ask in BY_ID.items()
    if verb in ("show", "append") or name in ("upper case", "a word")
]

BAD_PATH_IDS = [
    *BAD_IDS_IN_PATHS,
    bad("show: an entry's id", show("<first>"), NOT_FOUND),
    bad("show: empty", show(""), NOT_FOUND),
    bad("append: empty", append(PLAIN, to=""), NOT_FOUND),
    bad("show: an encoded slash", show("a%2Fb"), NOT_FOUND),
    bad("append: an encoded slash", append(PLAIN, to="a%2Fb"), NOT_FOUND),
    bad("show: 5,000 characters", show("z" * 5000), NOT_FOUND),
]

BAD_ROUTES = [
    bad("the root", Ask("GET", "/"), NOT_FOUND),
    bad("a trailing slash", Ask("GET", "/v1/conversations/"), NOT_FOUND),
    bad("a double slash at the start", Ask("GET", "//v1/conversations"), NOT_FOUND),
    bad("a double slash inside", Ask("GET", "/v1//conversations"), NOT_FOUND),
    bad("upper case", Ask("GET", "/V1/conversations"), NOT_FOUND),
    bad("a trailing newline", Ask("GET", "/v1/conversations%0A"), NOT_FOUND),
    bad("two dots", Ask("GET", "/v1/conversations/../health"), NOT_FOUND),
    bad("an unknown part of a conversation", Ask("GET", path_of(ROOT) + "/nothing"), NOT_FOUND),
    bad("one part too many", Ask("GET", path_of(ROOT) + "/entries/<first>/content"), NOT_FOUND),
    bad("not UTF-8", Ask("GET", "/v1/%FF"), NOT_FOUND),
    bad("PUT", Ask("PUT", path_of(ROOT), {}), WRONG_METHOD),
    bad("HEAD", Ask("HEAD", "/v1/conversations"), WRONG_METHOD),
    bad("OPTIONS of an unknown path", Ask("OPTIONS", "/v1/nothing"), NOT_FOUND),
    bad("an unheard-of method", Ask("BREW", "/v1/conversations"), WRONG_METHOD),
]

BAD_NEW_IDS = [
    bad(f"{verb}: {name}", ask({"id": text}))
    for name, text in {**NO_IDS, "empty": "", "5,000 characters": "z" * 5000}.items()
    for verb, ask in (("create", create), ("fork", fork))
    if verb == "create" or name in ("a word", "empty")
] + [
    bad("create: a number", create({"id": 1})),
    bad("create: an array", create({"id": [ROOT]})),
]

BAD_FIELDS = [
    bad("create: unknown", create({"name": "x"})),
    bad("create: an owner", create({"ownerUserId": "ann"})),
    bad("create: another user", create({"userId": "bob"})),
    bad("fork: another user", fork({"userId": "bob"})),
    bad("change: an id", change({"id": ROOT})),
    bad("append: unknown, next to entries", append({"entries": [PLAIN], "contentType": "x"})),
    bad("append: unknown in one of several", append({"entries": [PLAIN, {**PLAIN, "id": FRESH}]})),
    bad("append: a fork in one of several", append({"entries": [{**PLAIN, "forkedAtConversationId": ROOT}]})),
    bad(
        "context: based on 1001 characters",
        append(
            {**SAID, "context": {"contentType": "c", "content": [], "basedOnEntryId": "x" * 1001}},
            agent="coder",
        ),
    ),
    bad("summary: no id", append({**PLAIN, "mergedFromConversationId": ""})),
    bad("summary: an entry alone", append({**PLAIN, "mergedUpToEntryId": "<first>"})),
    bad("merge: nothing named", merge({})),
    bad("fork: a position without an entry", fork({"position": "before"})),
    bad("fork: a blank position", fork({"position": "blank"})),
    bad("fork: metrics as text", fork({"resetMetrics": "true"})),
    bad("fork: count 2.5", fork('{"count":2.5}')),
    bad("fork: count with an id", fork({"count": 2, "id": FRESH})),
    bad("fork: count and promoted", fork({"count": 2, "promote": True})),
    bad("append: promoted in one of several", append({"entries": [{**PLAIN, "promote": True}]})),
    bad("archive: a body", Ask("PUT", path_of(ROOT) + "/archive", {"archived": True})),
    bad("archive: an If-Match", archive(headers=[("If-Match", SURELY_WRONG)])),
    bad("archive: by POST", Ask("POST", path_of(ROOT) + "/archive", {}), WRONG_METHOD),
    bad("unarchive: a body", Ask("DELETE", path_of(ROOT) + "/archive", {"archived": False})),
    bad("pin: a body", Ask("PUT", path_of(ROOT) + "/pin", {"afterConversationId": FORK})),
    bad("pin: after itself", pin(f"afterConversationId={FORK}")),
    bad("pin: after nothing", pin("afterConversationId=")),
    bad("pin: after two", pin(f"afterConversationId={FORK}&afterConversationId={ROOT}")),
    bad("pin: at a position", pin("position=0")),
    bad("conversations: pinned by a word", conversations("pinned=only")),
    bad("scores: 41", score({"scores": [{"conversationId": conversation_id(at)} for at in range(41)]})),
    bad("scores: none", score({"scores": []})),
    bad("scores: text", score({"scores": [{"conversationId": ROOT, "score": "1"}]})),
    bad("scores: true", score({"scores": [{"conversationId": ROOT, "score": True}]})),
    bad("scores: one twice", score({"scores": [{"conversationId": ROOT}, {"conversationId": ROOT}]})),
    bad("scores: no conversation", score({"scores": [{"score": 1}]})),
    bad("promote: a body", promote({"promote": True})),
    bad("promote: an If-Match", promote({}, headers=[("If-Match", SURELY_WRONG)])),
    bad("conversations: a key", conversations("X-API-Key=key-of-planner")),
    bad("conversations: a mode in upper case", conversations("mode=ALL")),
    bad("conversations: an empty tag", conversations("tag=")),
    bad("conversations: a tag without a name", conversations("tag=:x")),
    bad("conversations: a tag of other letters", conversations("tag=a+b")),
    bad("conversations: a long tag", conversations("tag=" + "z" * 65)),
    bad("conversations: a long value of a tag", conversations("tag=a:" + "z" * 257)),
    bad("conversations: a day", conversations("createdSince=2026-03-01")),
    bad("conversations: no milliseconds", conversations("createdSince=2026-03-01T09:15:00Z")),
    bad("conversations: two tags", conversations("tag=a&tag=b")),
    bad("children: two entries", children("startedByEntryId=<first>&startedByEntryId=<second>")),
    bad("forks: by an entry", forks("startedByEntryId=<first>")),
    bad("conversations: repeated", conversations("limit=5&limit=5")),
    bad("conversations: repeated, once empty", conversations("query=a&query=")),
    bad("conversations: repeated in two spellings", conversations("limit=5&%6Cimit=6")),
    bad("conversations: not UTF-8", conversations("query=%FF")),
    bad("conversations: a surrogate", conversations("query=%ED%A0%80")),
    bad("conversations: separated by a semicolon", conversations("limit=5;mode=all")),
    bad("show: a limit", show(ROOT, query="limit=5")),
    bad("delete: a scope in upper case", Ask("DELETE", path_of(ROOT), query="scope=BRANCH")),
    bad("delete: two scopes", Ask("DELETE", path_of(ROOT), query="scope=branch&scope=tree")),
    bad("create: a query", Ask("POST", "/v1/conversations", {}, query="title=x")),
]

NO_LIMITS = ["0", "-1", "1e2", "+5", " 5", "5 ", "05", "5.0", "", "five", "0x5", "1_0", "\u0665", "9" * 5000]
BAD_LIMITS = [
    bad(f"{name}: {limit[:9]!r}", ask("limit=" + _percent(limit)))
    for name, ask, limits in (
        ("conversations", conversations, ("0", "201")),
        ("entries", entries, (*NO_LIMITS, "1001")),
    )
    for limit in limits
]
BAD_WAITS = [bad(repr(wait), entries(f"wait={wait}")) for wait in ("21", "-1", "1.5", "", "true")]

BAD_CURSORS = [
    *(
        bad(f"{name}: {kind}", entries(f"{name}={text}"), CURSOR)
        for name in ("afterCursor", "beforeCursor", "upToEntryId")
        for kind, text in {
            "empty": "",
            "random": "AAECAwQFBgcICQ",
            "no UUID": "first",
            "upper case": "0190A5B1-1111-7000-8000-00000000000A",
            "a conversation's id": ROOT,
            "unknown": "0190a5b1-1111-7000-8000-00000000000a",
            "beyond the year 9999": "ffffffff-ffff-7fff-bfff-fffffffffffe",
            "the smallest": "00000000-0000-7000-8000-000000000000",
            "of another user": "<foreign>",
            "of a fork that the parent never shows": "<of fork>",
            "a list's": "<conversations>",
        }.items()
        if name == "afterCursor" or kind in ("unknown", "of another user")
    ),
    bad("entries: 5,000 characters", entries("afterCursor=" + "z" * 5000), CURSOR),
    bad("entries: after the end", entries("afterCursor=<second>&upToEntryId=<first>"), CURSOR),
    bad("all forks: of another user", entries("allForks=true&afterCursor=<foreign>"), CURSOR),
    bad("conversations: empty", conversations("afterCursor="), CURSOR),
    bad("conversations: outside of ASCII", conversations("afterCursor=%C3%A9"), CURSOR),
    bad("conversations: an entry's", conversations("afterCursor=<first>"), CURSOR),
    bad("conversations: another user's", conversations("afterCursor=<conversations of Bob>"), CURSOR),
    bad("conversations: of forks", conversations("afterCursor=<forks>"), CURSOR),
    bad("forks: of conversations", forks("afterCursor=<conversations>"), CURSOR),
    bad("forks: of another conversation", forks("afterCursor=<forks of fork>"), CURSOR),
    bad("forks: an entry's", forks("afterCursor=<first>"), CURSOR),
    bad("forks: missing in another way", forks("missing=404")),
    bad("forks: empty", forks("afterCursor="), CURSOR),
]

BAD_CUTS = [
    bad("tail and after", entries("tail=true&afterCursor=<first>")),
    bad("tail and before", entries("tail=true&beforeCursor=<first>")),
    bad("after and before", entries("afterCursor=<first>&beforeCursor=<second>")),
    bad("all three", entries("tail=true&afterCursor=<first>&beforeCursor=<second>")),
    bad("own of all forks", entries("own=true&allForks=true")),
    bad("alternatives: upper case", entries("alternatives=TRUE")),
    bad("alternatives of all forks", entries("alternatives=true&forks=all")),
    bad("compare: with nothing", compare("")),
    bad("compare: with no id", compare("with=x")),
    bad("compare: to be held", compare(f"with={FORK}&wait=1")),
    bad("compare: a cursor", compare(f"with={FORK}&afterCursor=<first>")),
    bad("one entry: a parameter", Ask("GET", path_of(ROOT) + "/entries/<first>", query="limit=1")),
    bad("ancestors: a parameter", Ask("GET", path_of(ROOT) + "/ancestors", query="limit=1")),
    bad("tail: upper case", entries("tail=True")),
    bad("view: upper case", entries("view=LINE")),
    bad("view: empty", entries("view=")),
    bad("epoch without a channel", entries("epoch=1", agent="planner")),
    bad("epoch of history", entries("channel=history&epoch=latest", agent="planner")),
    bad("epoch: 1.5", entries("channel=context&epoch=1.5", agent="planner")),
    bad("epoch: upper case", entries("channel=context&epoch=LATEST", agent="planner")),
    bad("epoch: 2^53 + 1", entries(f"channel=context&epoch={2**53 + 1}", agent="planner")),
    bad("channel: a letter of another script", entries("channel=h%C4%B1story")),
]

BAD_CONVERSATIONS = [
    bad("title: 501 characters of four bytes", create({"title": "\N{GRINNING FACE}" * 501})),
    bad("tags: 51", create({"tags": tags(51)})),
    bad("tags: a key of 65 characters", create({"tags": {"k" * 65: "v"}})),
    bad("tags: an empty key", create({"tags": {"": "v"}})),
    bad("tags: a key with a space", create({"tags": {"a b": "v"}})),
    bad("tags: a key with a newline", create({"tags": {"a\n": "v"}})),
    bad("tags: a value of 257 characters", create({"tags": {"k": "v" * 257}})),
    bad("tags: null", create({"tags": {"k": None}})),
    bad("tags: an array", create({"tags": ["k"]})),
    bad("metadata: 16 KB and a byte", create(metadata(16 * 1024 + 1))),
    bad("metadata: 16 KB and a byte, in characters of two", create(metadata(16 * 1024 + 1, "é"))),
    bad("metadata: 16 KB of spaces", create('{"metadata":{' + " " * 16 * 1024 + "}}")),
    bad("metadata: an array", create({"metadata": []})),
    bad("append: metadata: an array", append({**SAID, "metadata": []})),
    bad(
        "append: metadata of an entry: 16 KB and a byte",
        append({"entries": [{**SAID, "metadata": {"a": "x" * (16 * 1024 - 7)}}]}),
    ),
]

BAD_ENTRIES = [
    bad("no content", append({"contentType": "x"})),
    bad("no content type", append({"content": []})),
    bad("content: null", append(with_content(None))),
    bad("content: an object", append(with_content({"role": "USER"}))),
    bad("content: 1,001 elements", append(with_content([0] * 1001))),
    bad("content: 1,001 elements of context", append({**NOTED, "content": [0] * 1001}, agent="planner")),
    bad("user: another", append({**PLAIN, "userId": "bob"})),
    bad("user: another in one of several", append({"entries": [PLAIN, {**PLAIN, "userId": "bob"}]})),
    bad("epoch: without a channel", append({**PLAIN, "epoch": 1}, agent="planner")),
    bad("epoch: of history", append({**SAID, "epoch": 1}, agent="planner")),
    bad("epoch: 1.5", append({**NOTED, "epoch": 1.5}, agent="planner")),
    bad("epoch: true", append({**NOTED, "epoch": True}, agent="planner")),
    bad("several: 51", append({"entries": [PLAIN] * 51})),
    bad("several: not objects", append({"entries": [1]})),
    bad("several: the last is wrong", append({"entries": [PLAIN, PLAIN, {"contentType": "x"}]})),
    bad("fork: an entry without a conversation", append({**PLAIN, "forkedAtEntryId": "<first>"}, to=FRESH)),
    *(
        bad(f"present context: {name}", append({**PLAIN, "context": context}, agent="planner"))
        for name, context in {
            "a list": [PRESENT],
            "no content": {"contentType": "note"},
            "no content type": {"content": []},
            "content of null": {**PRESENT, "content": None},
            "1,001 elements": {**PRESENT, "content": [0] * 1001},
            "an epoch": {**PRESENT, "epoch": 1},
            "a channel": {**PRESENT, "channel": "context"},
            "itself": {**PRESENT, "context": PRESENT},
        }.items()
    ),
    bad("present context: beside context", append({**NOTED, "context": PRESENT}, agent="planner")),
    bad(
        "present context: beside an entry of context",
        append({"entries": [PLAIN, NOTED], "context": PRESENT}, agent="planner"),
    ),
    bad(
        "present context: in an entry", append({"entries": [{**PLAIN, "context": PRESENT}]}, agent="planner")
    ),
    bad("append: a title in one of several", append({"entries": [{**PLAIN, "title": "x"}]})),
    bad("append: tags: 51", append({**PLAIN, "tags": tags(51)}, to=FRESH)),
    *(
        bad(f"append: a position {name}", append({**PLAIN, **lineage}, to=FRESH))
        for name, lineage in {
            "without a conversation": {"forkedAtPosition": "head"},
            "before no entry": {"forkedAtConversationId": ROOT, "forkedAtPosition": "before"},
            "after no entry": {"forkedAtConversationId": ROOT, "forkedAtPosition": "after"},
            "at the head, with an entry": {
                "forkedAtConversationId": ROOT,
                "forkedAtEntryId": "<first>",
                "forkedAtPosition": "head",
            },
            "at the head, with a key": {
                "forkedAtConversationId": ROOT,
                "forkedAtKey": "k",
                "forkedAtPosition": "head",
            },
            "that is blank": {"forkedAtConversationId": ROOT, "forkedAtPosition": "blank"},
            "that is unknown": {"forkedAtConversationId": ROOT, "forkedAtPosition": "HEAD"},
        }.items()
    ),
]

BAD_HISTORY = [
    bad("another content type", append({**SAID, "contentType": "text/plain"})),
    bad("no message", append({**SAID, "content": []})),
    bad("an unknown role", append({**SAID, "content": [{"role": "ROBOT", "text": "hello"}]})),
    bad("the second attachment", append(with_message(attachments=[{"attachmentId": "1"}, {"size": 1}]))),
    bad("in upper case", append({**SAID, "channel": "HISTORY", "content": ["hello"]})),
    bad("one of several", append({"entries": [SAID, {**SAID, "content": []}]})),
]

BAD_USAGE = [
    bad(
        f"{name}: {text[:24]}",
        append(with_usage(f'{{"{name}":{text}}}')),
    )
    for name, values in {
        "inputTokens": [str(2**53 + 1), "-1", "1.5", '"1"', "true", "1e16", "1e400", "1e999999999"],
        "outputTokens": ["9" * 5000, "-1e999999999", "1e-999999999"],
        "cachedInputTokens": [str(2**53 + 1), "0.1", "[]"],
        "costUsd": [
            "1000000000.000000001",
            "-0.000000001",
            '"1"',
            "true",
            "1e10",
            "1e400",
            "1e999999999",
            "1e-999999999",
            "-1e999999999",
            "9" * 5000,
        ],
    }.items()
    for text in values
] + [
    bad("an array", append(with_usage("[]"))),
    bad("NaN", append(with_usage('{"costUsd":NaN}'))),
]

WITH_NUMBER: dict[str, Callable[[str], Ask]] = {
    "content": lambda number: append(f'{{"contentType":"x","content":[{number}]}}'),
    "context": lambda number: append(
        f'{{"context":{{"contentType":"x","content":[{number}]}}}}', agent="planner"
    ),
    "epoch": lambda number: append(
        f'{{"channel":"context","contentType":"x","content":[],"epoch":{number}}}', agent="planner"
    ),
    "metadata": lambda number: create(f'{{"metadata":{{"n":{number}}}}}'),
    "title": lambda number: create(f'{{"title":{number}}}'),
}
BAD_NUMBERS = [
    bad(f"{kind}: {number[:24]}", ask(number))
    for kind, ask in WITH_NUMBER.items()
    for number in ("1e309", "-1e999999999", "1e-1000", "9" * 401, "0." + "0" * 399, "9" * 100_000)
    if kind == "content" or number == "1e309"
]

BAD_HEADERS = [
    bad("If-Match: empty", append(PLAIN, headers=[("If-Match", "")])),
    bad("If-Match: a star", append(PLAIN, headers=[("If-Match", "*")])),
    bad("If-Match: without quotes", append(PLAIN, headers=[("If-Match", "<second>")])),
    bad("If-Match: weak", append(PLAIN, headers=[("If-Match", 'W/"<second>"')])),
    bad("If-Match: upper case", append(PLAIN, headers=[("If-Match", SURELY_WRONG.replace("0", "A"))])),
    bad("If-Match: two", append(PLAIN, headers=[("If-Match", '"<second>", "<first>"')])),
    *(
        bad(f"If-Match of a change: {name}", change({"title": "x"}, headers=[("If-Match", value)]))
        for name, value in {
            "an entry": '"<second>"',
            "a star": "*",
            "without quotes": AGES_AGO[1:-1],
            "weak": f"W/{AGES_AGO}",
            "without milliseconds": '"2020-01-01T00:00:00Z"',
            "microseconds": '"2020-01-01T00:00:00.000000Z"',
            "another zone": '"2020-01-01T00:00:00.000+00:00"',
            "other digits": '"２０２０-01-01T00:00:00.000Z"',
            "two": f"{AGES_AGO}, {AGES_AGO}",
        }.items()
    ),
    *(
        bad(f"If-Match: to {verb}", replace(ask, headers=[("If-Match", '"<second>"')]))
        for verb, ask in {
            "create": create({}),
            "sync": Ask("POST", f"{path_of(ROOT)}/entries/sync", {**NOTED}, agent="planner"),
            "delete": Ask("DELETE", path_of(ROOT)),
        }.items()
    ),
    *(
        bad(f"Idempotency-Key of {verb}: {name}", replace(ask, headers=[("Idempotency-Key", key)]))
        for verb, ask in {"create": create({}), "append": append(PLAIN), "fork": fork({})}.items()
        for name, key in {
            "empty": "",
            "outside of ASCII": "schlüssel",
            "a tab": "a\tb",
        }.items()
        if verb == "create" or name == "empty"
    ),
    bad(
        "Idempotency-Key: used with another request",
        create({"title": "another"}, headers=[("Idempotency-Key", USED_KEY)]),
        (422, "idempotency_mismatch"),
    ),
    bad(
        "history by its content type alone: no message", append({"contentType": "history", "content": ["hi"]})
    ),
    bad(
        "HISTORY by its content type alone: no message", append({"contentType": "HISTORY", "content": ["hi"]})
    ),
    bad(
        "history/x by its content type alone: no message", append({"contentType": "history/x", "content": []})
    ),
    bad(
        "history by its content type alone: a batch",
        append({"entries": [PLAIN, {"contentType": "history", "content": [{"role": "BOT", "text": "hi"}]}]}),
    ),
]

BAD_TYPES = [
    bad(f"{kind}", create(body, headers=[("Content-Type", kind)]), WRONG_TYPE)
    for kind, body in {
        "text/plain": "{}",
        "application/x-www-form-urlencoded": "title=x",
        "application/merge-patch+json": "{}",
        "application/jsonx": "{}",
        "application/ json": "{}",
        ";charset=utf-8": "{}",
    }.items()
] + [
    bad("of a change", change("{}", headers=[("Content-Type", "application/json-patch+json")]), WRONG_TYPE),
    bad("two", create("{}", headers=[("Content-Type", JSON), ("Content-Type", JSON)]), WRONG_TYPE),
]

BAD_BODIES = {
    "UTF-16": '{"title":"x"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"title":"x"}',
    "Latin-1": b'{"title":"\xe9"}',
    "a surrogate in UTF-8": b'{"title":"\xed\xa0\x80"}',
    "an overlong NUL": b'{"title":"\xc0\x80"}',
    "an array": b"[]",
    "a duplicate name": b'{"title":"x","title":"x"}',
    "NaN": b'{"metadata":{"a":NaN}}',
    "65 levels": nested(65).encode(),
    "100,000 open brackets": b"[" * 100_000,
    "a lone high surrogate": b'{"title":"\\ud83d"}',
}

BAD_DOCUMENTS = [
    *(bad(name, create(body)) for name, body in BAD_BODIES.items()),
    bad("65 levels of content", append(nested(65))),
    bad("200,001 arrays and objects", append(with_content([[[]] * (200_001 - 3)]))),
    bad("change: not an object", change("[]")),
]


def _fork_at(entry: str) -> Ask:
    return fork({"atEntryId": entry})


def _append_a_fork_at(entry: str) -> Ask:
    return append({**PLAIN, "forkedAtConversationId": ROOT, "forkedAtEntryId": entry}, to=FRESH)


BAD_FORKS = [
    *(
        bad(f"{verb}: {name}", ask(text), NOT_FOUND)
        for name, text in (
            ("unknown", "0190a5b1-1111-7000-8000-00000000000a"),
            ("of another user", "<foreign>"),
            ("of version 4", ROOT),
            ("upper case", "0190A5B1-1111-7000-8000-00000000000A"),
            ("a word", "first"),
            ("beyond the year 9999", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
            ("a letter beyond f", "zzzzzzzz-0000-7000-8000-000000000000"),
            ("with a hash", "#"),
        )
        for verb, ask in (("fork", _fork_at), ("append", _append_a_fork_at))
        if verb == "fork" or name in ("unknown", "of another user", "a word")
    ),
    bad("fork: an empty entry", fork({"atEntryId": ""}), NOT_FOUND),
    *(
        bad(
            f"append: a source that is {name}",
            append({**PLAIN, "forkedAtConversationId": source}, to=FRESH),
            expected,
        )
        for name, source, expected in (
            ("unknown", conversation_id(77), NOT_FOUND),
            ("empty", "", NOT_FOUND),
            ("a word", "root", NOT_FOUND),
            ("of 1,000 characters", "z" * 1000, NOT_FOUND),
            ("of another user", FOREIGN, FORBIDDEN),
        )
    ),
]

BAD_SEARCHES = [
    bad("search: no body", find("")),
    bad("search: white space", find({"query": " \t\u00a0\u2003"})),
    bad("search: auto in an array", find({"query": "x", "searchType": ["auto"]})),
    bad("search: auto in an array of two", find({"query": "x", "searchType": ["auto", "fulltext"]})),
    bad("search: no type", find({"query": "x", "searchType": []})),
    bad("search: an unknown type", find({"query": "x", "searchType": "regex"})),
    bad("search: an array in an array", find({"query": "x", "searchType": [["fulltext"]]})),
    bad("search: semantic", find({"query": "x", "searchType": "semantic"}), NO_SEARCH_TYPE),
    bad("search: only semantic", find({"query": "x", "searchType": ["semantic"]}), NO_SEARCH_TYPE),
    bad("search: semantic twice", find({"query": "x", "searchType": ["semantic"] * 2}), NO_SEARCH_TYPE),
    bad("search: the cursor empty", find({"query": "hello", "afterCursor": ""}), CURSOR),
    bad("search: the cursor an id", find({"query": "hello", "afterCursor": ROOT}), CURSOR),
    bad("search: a list's cursor", find({"query": "hello", "afterCursor": "<conversations>"}), CURSOR),
    bad("search: a cursor of Bob", find({"query": "+hello", "afterCursor": "<search of Bob>"}), CURSOR),
    bad("search: a cursor of other words", find({"query": "hell", "afterCursor": "<search>"}), CURSOR),
    bad("search: a cursor of demands", find({"query": "+hello", "afterCursor": "<search>"}), CURSOR),
    bad("search: by GET", Ask("GET", SEARCH), WRONG_METHOD),
    bad("indexed: 32 KB and one", append({**SAID, "indexedContent": "x" * (32 * 1024 + 1)})),
    bad("indexed: 32 KB in characters", append({**SAID, "indexedContent": "é" * (16 * 1024) + "x"})),
    bad("indexed: of context", append({**NOTED, "indexedContent": "x"}, agent="planner")),
    bad(
        "indexed: of a sync",
        Ask(
            "POST",
            f"{path_of(ROOT)}/entries/sync",
            {"contentType": "x", "content": [], "indexedContent": "x"},
            agent="planner",
        ),
    ),
]


def by_name(body: Any) -> Ask:
    return Ask("POST", "/v1/names/entries", body)


def names(query: str) -> Ask:
    return Ask("GET", "/v1/names", query=query)


def set_name(**more: Any) -> Ask:
    return Ask("POST", "/v1/names", {"name": "trip", "conversationId": ROOT, **more})


def look_up(query: str) -> Ask:
    return Ask("GET", f"{path_of(ROOT)}/entries/lookup", query=query)


def upload(**more: Any) -> Ask:
    return Ask("POST", "/v1/attachments", PHOTO | more)


def attaching(*attachments: Any) -> Ask:
    return append({**SAID, "content": [{"text": "x", "attachments": list(attachments)}]})


BAD_ATTACHMENTS = [
    bad("name: 256 bytes", upload(name="é" * 128)),
    bad("name: a way up", upload(name="../x")),
    bad("name: NUL", upload(name="a\0b")),
    bad("name: from right to left", upload(name="a\u202eb")),
    bad("size: nothing", upload(size=0)),
    bad("size: a byte more", upload(size=100_000_001)),
    bad("type: no subtype", upload(contentType="image")),
    bad("type: a parameter", upload(contentType="text/plain; charset=utf-8")),
    bad("type: 128 characters", upload(contentType=f"{'a' * 63}/{'b' * 64}")),
    bad("sha256: in upper case", upload(sha256="A" * 64)),
    bad("sha256: of other bytes", upload(sha256="0" * 64)),
    bad("content: of another size", upload(content="AAAAAA==")),
    bad("content: no base64", upload(content="?")),
    bad("content: too large", upload(size=1_000_002, content="AAAA" * 333_334)),
    bad("id: a number", attaching({"id": 5})),
    bad("id: a word", attaching({"id": "photo"})),
    bad("name in a message: a slash", attaching({"id": ROOT, "name": "a/b"})),
    bad("11 of them", attaching(*({"id": conversation_id(at)} for at in range(11)))),
    bad("an unknown one", attaching({"id": ROOT}), NOT_FOUND),
    bad("get: no id", Ask("GET", "/v1/attachments/x"), NOT_FOUND),
]

BAD_NAMES = [
    bad("name: 256 bytes", set_name(name="é" * 128)),
    bad("name: a control character", set_name(name="a\nb")),
    bad("name: an older control character", set_name(name="a\x85b")),
    bad("revision: digits as text", set_name(expectRevision="0")),
    bad("data: 4 KB and a byte", set_name(data={"k": "x" * (4 * 1024 - 8)})),
    bad("prefix: 256 bytes", names("prefix=" + "x" * 256)),
    bad("prefix: a control character", names("prefix=%00")),
    bad("cursor: of nothing", names("afterCursor=x"), CURSOR),
    bad("look-up: no name", Ask("GET", "/v1/names/lookup")),
    bad("append: no name", by_name(PLAIN)),
    bad("append: a name that moves", by_name({**PLAIN, "name": {"name": "x"}})),
    bad("fork: a name and count", fork({"name": {"name": "x"}, "count": 2})),
    bad("append: a name without a fork", append({**PLAIN, "name": {"name": "x"}})),
    bad("key: 129 characters", append({**PLAIN, "key": "k" * 129})),
    bad("key: not ASCII", append({**PLAIN, "key": "é"})),
    bad("key: a control character", append({**PLAIN, "key": "a\tb"})),
    bad("key: twice", append({"entries": [{**PLAIN, "key": "k"}, {**PLAIN, "key": "k"}]})),
    bad("look-up: no key", look_up("")),
    bad("fork: at a key and an entry", fork({"atKey": "k", "atEntryId": SURELY_WRONG[1:-1]})),
    bad("append: at a key of nothing", append({**PLAIN, "forkedAtKey": "k"}, to=FRESH)),
    *(
        bad(f"append: {name}", append({**PLAIN, "forkedAtConversationId": ROOT, **at}, to=FRESH), status)
        for name, at, status in (
            ("at an unknown key", {"forkedAtKey": "unknown"}, NOT_FOUND),
            ("at a key and an entry", {"forkedAtKey": "k", "forkedAtEntryId": "<first>"}, VALIDATION),
            ("at an empty key", {"forkedAtKey": ""}, VALIDATION),
            ("at a key of 129 characters", {"forkedAtKey": "k" * 129}, VALIDATION),
        )
    ),
]

TABLE = {
    "attachment": BAD_ATTACHMENTS,
    "name": BAD_NAMES,
    "search": BAD_SEARCHES,
    "path": BAD_PATH_IDS,
    "route": BAD_ROUTES,
    "new id": BAD_NEW_IDS,
    "field": BAD_FIELDS,
    "limit": BAD_LIMITS,
    "wait": BAD_WAITS,
    "cursor": BAD_CURSORS,
    "cut": BAD_CUTS,
    "conversation": BAD_CONVERSATIONS,
    "entry": BAD_ENTRIES,
    "history": BAD_HISTORY,
    "usage": BAD_USAGE,
    "number": BAD_NUMBERS,
    "header": BAD_HEADERS,
    "type": BAD_TYPES,
    "document": BAD_DOCUMENTS,
    "fork": BAD_FORKS,
}
ROWS = [
    pytest.param(*row.values, id=f"{kind}: {row.id}", marks=row.marks)
    for kind, rows in TABLE.items()
    for row in rows
]


@pytest.mark.failure(
    "unusual-characters", "unusual-numbers", "malformed-body", "bad-parameter", "malformed-path"
)
@pytest.mark.parametrize(("ask", "expected"), ROWS)
def test_a_request_with_one_thing_wrong_is_refused_and_changes_nothing(
    world: World, ask: Ask, expected: tuple[int, str]
) -> None:
    """Covers ids, numbers, bodies, limits and other parameters, and paths."""
    assert_refused(world.send(ask), expected)


def test_a_deployment_takes_no_larger_attachment_than_it_is_told_to(
    open_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORKLORE_ATTACHMENT_MEGABYTES", "2")
    said = {name: held for name, held in PHOTO.items() if name != "content"}

    assert open_world.send(Ask("POST", "/v1/attachments", said | {"size": 2_000_000})).status == 201
    refused = open_world.send(Ask("POST", "/v1/attachments", said | {"size": 2_000_001}))
    assert_refused(refused, VALIDATION)
    assert "2,000,000" in refused.json["details"]["message"]


def test_a_deployment_keeps_no_more_of_a_user_than_it_is_told_to(
    open_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORKLORE_ATTACHMENTS_PER_USER", "3")
    said = {name: held for name, held in PHOTO.items() if name != "content"} | {"size": 1_500_000}

    def upload(digit: str, size: int, user: str = "pia") -> Answer:
        given = said | {"sha256": 64 * digit, "size": size}
        return open_world.send(Ask("POST", "/v1/attachments", given, user=user))

    assert [upload(digit, 1_500_000).status for digit in "12"] == [201, 201]
    refused = upload("3", 1)
    assert_refused(refused, (409, "conflict"))
    told = {name: refused.json["details"][name] for name in ("reason", "bytesMax")}
    assert told == {"reason": "attachments_full", "bytesMax": 3_000_000}
    assert upload("1", 1_500_000).status == 201  # it is there
    assert upload("3", 3_000_000, "eve").status == 201


NOT_BASE64 = {
    "JSON": '{"title":"x"}',
    "outside of ASCII": '{"title":"é"}',
    "not whole bytes": "eyJ0aXRsZSI6I",
    "not UTF-8": base64.b64encode(b'{"title":"\xe9"}').decode(),
    "not JSON": base64.b64encode(b"title").decode(),
}


@pytest.mark.parametrize("body", NOT_BASE64.values(), ids=NOT_BASE64)
def test_a_body_that_claims_to_be_base64_and_is_not_is_refused(
    world: World, gateway: Gateway, body: str
) -> None:
    function, event = gateway.event("POST", "/v1/conversations", headers=[("Authorization", "Bearer ann")])

    assert_refused(gateway.invoke(function, event | {"body": body, "isBase64Encoded": True}), VALIDATION)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/conversations", '{"title":"\ud800"}'),
        (path_of(ROOT), '{"metadata":{"\udc00":1}}'),
        (path_of(ROOT) + "/entries", '{"contentType":"x","content":["\ud800"]}'),
    ],
    ids=["a title", "metadata", "content"],
)
def test_a_lone_surrogate_that_is_not_escaped_is_refused(
    world: World, gateway: Gateway, path: str, body: str
) -> None:
    method = "PATCH" if path == path_of(ROOT) else "POST"
    function, event = gateway.event(method, path, headers=[("Authorization", "Bearer ann")])

    assert_refused(gateway.handle(function, event | {"body": body}), VALIDATION)


@pytest.mark.failure("foreign-id")
@pytest.mark.parametrize("resource", [entries, forks, conversations])
def test_every_wrong_cursor_gets_the_same_error(world: World, resource: Any) -> None:
    """Some of these cursors belong to another user."""
    answers = [
        without_request_id(world.send(resource("afterCursor=" + cursor)))
        for cursor in ("", "x", "<foreign>", "<forks of fork>", "<conversations of Bob>", FRESH)
    ]

    assert answers == [
        {
            "code": "invalid_cursor",
            "error": "Bad Request",
            "details": {"message": "the cursor does not belong to this resource"},
        }
    ] * len(answers)
