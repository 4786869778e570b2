"""Requests with one or two mistakes: which error each gets, and that it changes nothing."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.aws.errors import (
    CONFLICT,
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
from tests.aws.world import (
    BOUND,
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
    copy,
    create,
    entries,
    find,
    fork,
    forks,
    merge,
    metadata,
    nested,
    path_of,
    promote,
    show,
    tags,
    with_content,
    with_message,
    with_usage,
)
from tools.harness.gateway import Gateway

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
    listed = open_world.send(conversations(user=user)).json["data"]

    assert made["ownerUserId"] == user
    assert listed == [made]


# One thing wrong

NO_IDS = {
    "upper case": "0190A5B1-1111-7000-8000-00000000000A",
    "braces": "{00000000-0000-4000-8000-000000000001}",
    "a URN": "urn:uuid:00000000-0000-4000-8000-000000000001",
    "no hyphens": "00000000000040008000000000000001",
    "one digit short": ROOT[:-1],
    "one digit too many": ROOT + "0",
    "a letter beyond f": ROOT[:-1] + "g",
    "a trailing space": ROOT + " ",
    "a trailing newline": ROOT + "\n",
    "digits of another script": ROOT[:-1] + "\N{ARABIC-INDIC DIGIT ONE}",
    "a NUL": ROOT[:-1] + "\0",
    "a word": "root",
    "a dot": ".",
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
    bad("show: unknown", show(FRESH), NOT_FOUND),
    bad("show: an entry's id", show("<first>"), NOT_FOUND),
    bad("show: empty", show(""), NOT_FOUND),
    bad("append: empty", append(PLAIN, to=""), NOT_FOUND),
    bad("show: an encoded slash", show("a%2Fb"), NOT_FOUND),
    bad("append: an encoded slash", append(PLAIN, to="a%2Fb"), NOT_FOUND),
    bad("show: 5,000 characters", show("z" * 5000), NOT_FOUND),
]

BAD_ROUTES = [
    bad("the root", Ask("GET", "/"), NOT_FOUND),
    bad("the version", Ask("GET", "/v1"), NOT_FOUND),
    bad("another version", Ask("GET", "/v2/conversations"), NOT_FOUND),
    bad("a trailing slash", Ask("GET", "/v1/conversations/"), NOT_FOUND),
    bad("a trailing slash after an id", Ask("GET", path_of(ROOT) + "/"), NOT_FOUND),
    bad("a double slash at the start", Ask("GET", "//v1/conversations"), NOT_FOUND),
    bad("a double slash inside", Ask("GET", "/v1//conversations"), NOT_FOUND),
    bad("upper case", Ask("GET", "/V1/conversations"), NOT_FOUND),
    bad("a route in upper case", Ask("GET", "/v1/Conversations"), NOT_FOUND),
    bad("a trailing newline", Ask("GET", "/v1/conversations%0A"), NOT_FOUND),
    bad("a trailing newline, to create", Ask("POST", "/v1/conversations%0A", {}), NOT_FOUND),
    bad("a dot segment", Ask("GET", "/v1/./conversations"), NOT_FOUND),
    bad("two dots", Ask("GET", "/v1/conversations/../health"), NOT_FOUND),
    bad("an unknown part of a conversation", Ask("GET", path_of(ROOT) + "/nothing"), NOT_FOUND),
    bad("one part too many", Ask("GET", path_of(ROOT) + "/entries/<first>/content"), NOT_FOUND),
    bad("one part too many, of a list", Ask("GET", path_of(ROOT) + "/forks/<first>"), NOT_FOUND),
    bad("not UTF-8", Ask("GET", "/v1/%FF"), NOT_FOUND),
    bad("PUT", Ask("PUT", path_of(ROOT), {}), WRONG_METHOD),
    bad("PUT to the list", Ask("PUT", "/v1/conversations", {}), WRONG_METHOD),
    bad("PATCH entries", Ask("PATCH", path_of(ROOT) + "/entries", {}), WRONG_METHOD),
    bad("GET fork", Ask("GET", path_of(ROOT) + "/fork"), WRONG_METHOD),
    bad("POST forks", Ask("POST", path_of(ROOT) + "/forks", {}), WRONG_METHOD),
    bad("HEAD", Ask("HEAD", "/v1/conversations"), WRONG_METHOD),
    bad("OPTIONS of an unknown path", Ask("OPTIONS", "/v1/nothing"), NOT_FOUND),
    bad("POST health", Ask("POST", "/v1/health", {}), WRONG_METHOD),
    bad("an unheard-of method", Ask("BREW", "/v1/conversations"), WRONG_METHOD),
]

BAD_NEW_IDS = [
    bad(f"{verb}: {name}", ask({"id": text}))
    for name, text in {**NO_IDS, "empty": "", "5,000 characters": "z" * 5000}.items()
    for verb, ask in (("create", create), ("fork", fork))
] + [
    bad("create: a number", create({"id": 1})),
    bad("create: an array", create({"id": [ROOT]})),
    bad("create: in use", create({"id": ROOT}), CONFLICT),
    bad("create: in use by somebody else", create({"id": FOREIGN}), CONFLICT),
    bad("fork: in use", fork({"id": FORK}), CONFLICT),
    bad("fork: in use by somebody else", fork({"id": FOREIGN}), CONFLICT),
]

BAD_FIELDS = [
    bad("create: unknown", create({"name": "x"})),
    bad("create: in snake case", create({"agent_id": "x"})),
    bad("create: in upper case", create({"Title": "x"})),
    bad("create: an owner", create({"ownerUserId": "ann"})),
    bad("create: a client", create({"clientId": "planner"})),
    bad("create: another user", create({"userId": "bob"})),
    bad("change: another user", change({"userId": "bob"})),
    bad("fork: another user", fork({"userId": "bob"})),
    bad("create: an access level", create({"accessLevel": "owner"})),
    bad("create: unknown with a long name", create({"x" * 5000: 1})),
    bad("create: an array of entries", create({"entries": []})),
    bad("change: an id", change({"id": ROOT})),
    bad("change: an agent", change({"agentId": "x"})),
    bad("append: an id", append({**PLAIN, "id": FRESH})),
    bad("append: a time", append({**PLAIN, "createdAt": "2026-01-01T00:00:00.000Z"})),
    bad("append: a client", append({**PLAIN, "clientId": "planner"}, agent="planner")),
    bad("append: unknown in usage", append({**PLAIN, "usage": {"tokens": 1}})),
    bad("append: unknown, next to entries", append({"entries": [PLAIN], "contentType": "x"})),
    bad("append: unknown in one of several", append({"entries": [PLAIN, {**PLAIN, "id": FRESH}]})),
    bad("append: a fork in one of several", append({"entries": [{**PLAIN, "forkedAtConversationId": ROOT}]})),
    bad("fork: unknown", fork({"entryId": "<first>"})),
    bad(
        "context: based on 1001 characters",
        append(
            {**SAID, "context": {"contentType": "c", "content": [], "basedOnEntryId": "x" * 1001}},
            agent="coder",
        ),
    ),
    bad("summary: of another tree", append({**PLAIN, "mergedFromConversationId": BOUND})),
    bad("summary: of nobody's", append({**PLAIN, "mergedFromConversationId": FRESH})),
    bad("summary: no id", append({**PLAIN, "mergedFromConversationId": ""})),
    bad("summary: an entry alone", append({**PLAIN, "mergedUpToEntryId": "<first>"})),
    bad(
        "summary: an entry that is not shown",
        append({**PLAIN, "mergedFromConversationId": FORK, "mergedUpToEntryId": "<second>"}),
    ),
    bad("merge: nothing named", merge({})),
    bad("merge: of another tree", merge({"fromConversationId": BOUND})),
    bad("merge: of nobody's", merge({"fromConversationId": FRESH})),
    bad("merge: after nothing", merge({"fromConversationId": FORK, "afterEntryId": "x"})),
    bad("merge: up to what is not shown", merge({"fromConversationId": FORK, "upToEntryId": "<second>"})),
    bad("merge: unknown", merge({"fromConversationId": FORK, "count": 1})),
    bad("merge: of somebody else's", merge({"fromConversationId": FORK}, of=FOREIGN), FORBIDDEN),
    bad("copy: in use", copy({"id": FORK}), CONFLICT),
    bad("copy: no UUID", copy({"id": "x"})),
    bad("copy: up to nothing", copy({"upToEntryId": "x"})),
    bad("copy: unknown", copy({"tags": {}})),
    bad("copy: of somebody else's", copy({}, of=FOREIGN), FORBIDDEN),
    bad("fork: a position without an entry", fork({"position": "before"})),
    bad("fork: a blank position", fork({"position": "blank"})),
    bad("fork: a position in upper case", fork({"atEntryId": "<first>", "position": "AFTER"})),
    bad("fork: a position that is no text", fork({"atEntryId": "<first>", "position": ["after"]})),
    bad("fork: a long position", fork({"position": "z" * 5000})),
    bad("fork: metrics as text", fork({"resetMetrics": "true"})),
    bad("fork: metrics as a number", fork({"resetMetrics": 0})),
    bad("fork: promoted, as text", fork({"promote": "true"})),
    bad("fork: count 1", fork({"count": 1})),
    bad("fork: count 11", fork({"count": 11})),
    bad("fork: count 2.5", fork('{"count":2.5}')),
    bad("fork: count as text", fork({"count": "2"})),
    bad("fork: count with an id", fork({"count": 2, "id": FRESH})),
    bad("fork: count and promoted", fork({"count": 2, "promote": True})),
    bad("append: promoted, as text", append({**PLAIN, "promote": "true"})),
    bad("append: promoted in one of several", append({"entries": [{**PLAIN, "promote": True}]})),
    bad("archive: a body", Ask("PUT", path_of(ROOT) + "/archive", {"archived": True})),
    bad("archive: an If-Match", archive(headers=[("If-Match", SURELY_WRONG)])),
    bad("archive: a parameter", archive(query="userId=bob")),
    bad("archive: by POST", Ask("POST", path_of(ROOT) + "/archive", {}), WRONG_METHOD),
    bad("unarchive: a body", Ask("DELETE", path_of(ROOT) + "/archive", {"archived": False})),
    bad("promote: a body", promote({"promote": True})),
    bad("promote: an If-Match", promote({}, headers=[("If-Match", SURELY_WRONG)])),
    bad("conversations: unknown", conversations("sort=title")),
    bad("conversations: a key", conversations("X-API-Key=key-of-planner")),
    bad("conversations: a user", conversations("userId=bob")),
    bad("conversations: in upper case", conversations("Limit=5")),
    bad("conversations: an unknown mode", conversations("mode=newest")),
    bad("conversations: a mode in upper case", conversations("mode=ALL")),
    bad("conversations: an empty mode", conversations("mode=")),
    bad("conversations: a long mode", conversations("mode=" + "z" * 5000)),
    bad("conversations: an unknown word for archived", conversations("archived=true")),
    bad(
        "conversations: a cursor with another archived",
        conversations("archived=only&afterCursor=<conversations>"),
        CURSOR,
    ),
    bad("conversations: an unknown ancestry", conversations("ancestry=parents")),
    bad("conversations: a long query", conversations("query=" + "z" * 501)),
    bad("conversations: an empty agent", conversations("agentId=")),
    bad("conversations: a long agent", conversations("agentId=" + "z" * 256)),
    bad("conversations: an empty tag", conversations("tag=")),
    bad("conversations: a tag without a name", conversations("tag=:x")),
    bad("conversations: a tag of other letters", conversations("tag=a+b")),
    bad("conversations: a long tag", conversations("tag=" + "z" * 65)),
    bad("conversations: a long value of a tag", conversations("tag=a:" + "z" * 257)),
    bad("conversations: two tags", conversations("tag=a&tag=b")),
    bad("children: two entries", children("startedByEntryId=<first>&startedByEntryId=<second>")),
    bad("children: a long entry", children("startedByEntryId=" + "z" * 1001)),
    bad("forks: by an entry", forks("startedByEntryId=<first>")),
    bad("conversations: repeated", conversations("limit=5&limit=5")),
    bad("conversations: repeated, once empty", conversations("query=a&query=")),
    bad("conversations: repeated in two spellings", conversations("limit=5&%6Cimit=6")),
    bad("conversations: not UTF-8", conversations("query=%FF")),
    bad("conversations: a surrogate", conversations("query=%ED%A0%80")),
    bad("conversations: many", conversations("&".join(f"q{n}=1" for n in range(200)))),
    bad("conversations: separated by a semicolon", conversations("limit=5;mode=all")),
    bad("show: unknown", show(ROOT, query="fields=title")),
    bad("show: a limit", show(ROOT, query="limit=5")),
    bad("forks: unknown", forks("mode=all")),
    bad("delete: an unknown scope", Ask("DELETE", path_of(ROOT), query="scope=fork")),
    bad("delete: a scope in upper case", Ask("DELETE", path_of(ROOT), query="scope=BRANCH")),
    bad("delete: an empty scope", Ask("DELETE", path_of(ROOT), query="scope=")),
    bad("delete: two scopes", Ask("DELETE", path_of(ROOT), query="scope=branch&scope=tree")),
    bad("entries: unknown", entries("role=USER")),
    bad("entries: unknown, with a long name", entries("x" * 5000 + "=1")),
    bad("create: a query", Ask("POST", "/v1/conversations", {}, query="title=x")),
    bad("append: a query", append(PLAIN, query="channel=history")),
    bad("health: a query", Ask("GET", "/v1/health", query="deep=true")),
]

NO_LIMITS = ["0", "-1", "1e2", "+5", " 5", "5 ", "05", "5.0", "", "five", "0x5", "1_0", "\u0665", "9" * 5000]
BAD_LIMITS = [
    bad(f"{name}: {limit[:9]!r}", ask("limit=" + _percent(limit)))
    for name, ask, beyond in (
        ("conversations", conversations, "201"),
        ("forks", forks, "201"),
        ("entries", entries, "1001"),
    )
    for limit in (*NO_LIMITS, beyond)
]

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
    ),
    bad("entries: 5,000 characters", entries("afterCursor=" + "z" * 5000), CURSOR),
    bad("entries: after the end", entries("afterCursor=<second>&upToEntryId=<first>"), CURSOR),
    bad("all forks: of another user", entries("allForks=true&afterCursor=<foreign>"), CURSOR),
    bad("conversations: empty", conversations("afterCursor="), CURSOR),
    bad("conversations: random", conversations("afterCursor=AAECAwQFBgcICQ"), CURSOR),
    bad("conversations: no base64", conversations("afterCursor=%25%25%25"), CURSOR),
    bad("conversations: outside of ASCII", conversations("afterCursor=%C3%A9"), CURSOR),
    bad("conversations: an entry's", conversations("afterCursor=<first>"), CURSOR),
    bad("conversations: another user's", conversations("afterCursor=<conversations of Bob>"), CURSOR),
    bad("conversations: of another mode", conversations("mode=all&afterCursor=<conversations>"), CURSOR),
    bad(
        "conversations: of another ancestry",
        conversations("ancestry=all&afterCursor=<conversations>"),
        CURSOR,
    ),
    bad("conversations: of another query", conversations("query=Ann&afterCursor=<conversations>"), CURSOR),
    bad("conversations: of another tag", conversations("tag=a&afterCursor=<conversations>"), CURSOR),
    bad("conversations: of another agent", conversations("agentId=a&afterCursor=<conversations>"), CURSOR),
    bad("conversations: of forks", conversations("afterCursor=<forks>"), CURSOR),
    bad("forks: of conversations", forks("afterCursor=<conversations>"), CURSOR),
    bad("forks: of another conversation", forks("afterCursor=<forks of fork>"), CURSOR),
    bad("forks: an entry's", forks("afterCursor=<first>"), CURSOR),
    bad("forks: empty", forks("afterCursor="), CURSOR),
]

BAD_CUTS = [
    bad("tail and after", entries("tail=true&afterCursor=<first>")),
    bad("tail and before", entries("tail=true&beforeCursor=<first>")),
    bad("after and before", entries("afterCursor=<first>&beforeCursor=<second>")),
    bad("all three", entries("tail=true&afterCursor=<first>&beforeCursor=<second>")),
    bad("tail: a number", entries("tail=1")),
    bad("own: a number", entries("own=1")),
    bad("own of all forks", entries("own=true&allForks=true")),
    bad("alternatives: upper case", entries("alternatives=TRUE")),
    bad("alternatives of all forks", entries("alternatives=true&forks=all")),
    bad("compare: with nothing", compare("")),
    bad("compare: with no id", compare("with=x")),
    bad("compare: with an unknown id", compare(f"with={FRESH}")),
    bad("compare: with another tree", compare(f"with={FOREIGN}")),
    bad("compare: 1,001 characters", compare(f"with={'x' * 1001}")),
    bad("compare: limit 0", compare(f"with={FORK}&limit=0")),
    bad("compare: limit 1,001", compare(f"with={FORK}&limit=1001")),
    bad("compare: a cursor", compare(f"with={FORK}&afterCursor=<first>")),
    bad("one entry: a parameter", Ask("GET", path_of(ROOT) + "/entries/<first>", query="limit=1")),
    bad("ancestors: a parameter", Ask("GET", path_of(ROOT) + "/ancestors", query="limit=1")),
    bad("tail: upper case", entries("tail=True")),
    bad("tail: empty", entries("tail=")),
    bad("all forks: a word", entries("allForks=yes")),
    bad("forks: some", entries("forks=some")),
    bad("epoch without a channel", entries("epoch=1", agent="planner")),
    bad("epoch of history", entries("channel=history&epoch=latest", agent="planner")),
    bad("epoch: 0", entries("channel=context&epoch=0", agent="planner")),
    bad("epoch: -1", entries("channel=context&epoch=-1", agent="planner")),
    bad("epoch: 1.5", entries("channel=context&epoch=1.5", agent="planner")),
    bad("epoch: upper case", entries("channel=context&epoch=LATEST", agent="planner")),
    bad("epoch: empty", entries("channel=context&epoch=", agent="planner")),
    bad("epoch: 2^53 + 1", entries(f"channel=context&epoch={2**53 + 1}", agent="planner")),
    bad("channel: unknown", entries("channel=thoughts")),
    bad("channel: empty", entries("channel=")),
    bad("channel: a letter of another script", entries("channel=h%C4%B1story")),
    bad("channel: context, for a user", entries("channel=context"), FORBIDDEN),
    bad("channel: bound to another client", entries("channel=context", of=BOUND, agent="coder"), FORBIDDEN),
]

BAD_CONVERSATIONS = [
    bad("title: 501 characters", create({"title": "x" * 501})),
    bad("title: 501 characters of four bytes", create({"title": "\N{GRINNING FACE}" * 501})),
    bad("title: a number", create({"title": 1})),
    bad("title: an array", create({"title": ["x"]})),
    bad("tags: 51", create({"tags": tags(51)})),
    bad("tags: a key of 65 characters", create({"tags": {"k" * 65: "v"}})),
    bad("tags: an empty key", create({"tags": {"": "v"}})),
    bad("tags: a key with a space", create({"tags": {"a b": "v"}})),
    bad("tags: a key with a newline", create({"tags": {"a\n": "v"}})),
    bad("tags: a key outside of ASCII", create({"tags": {"ä": "v"}})),
    bad("tags: a key with a slash", create({"tags": {"a/b": "v"}})),
    bad("tags: a long key", create({"tags": {"k" * 5000: "v"}})),
    bad("tags: a value of 257 characters", create({"tags": {"k": "v" * 257}})),
    bad("tags: a number", create({"tags": {"k": 1}})),
    bad("tags: null", create({"tags": {"k": None}})),
    bad("tags: an array", create({"tags": ["k"]})),
    bad("tags: of a change", change({"tags": tags(51)})),
    bad("tags: of a fork", fork({"tags": {"k": "v" * 257}})),
    bad("metadata: 16 KB and a byte", create(metadata(16 * 1024 + 1))),
    bad("metadata: 16 KB and a byte, in characters of two", create(metadata(16 * 1024 + 1, "é"))),
    bad("metadata: 16 KB of spaces", create('{"metadata":{' + " " * 16 * 1024 + "}}")),
    bad("metadata: an array", create({"metadata": []})),
    bad("metadata: text", create({"metadata": "{}"})),
    bad("metadata: a number", change({"metadata": 1})),
    bad("metadata: of a fork", fork({"metadata": True})),
    bad("agent: 256 characters", create({"agentId": "a" * 256})),
    bad("agent: empty", create({"agentId": ""})),
    bad("agent: a number", fork({"agentId": 1})),
]

BAD_ENTRIES = [
    bad("nothing", append({})),
    bad("no content", append({"contentType": "x"})),
    bad("no content type", append({"content": []})),
    bad("content: null", append(with_content(None))),
    bad("content: an object", append(with_content({"role": "USER"}))),
    bad("content: text", append(with_content("hello"))),
    bad("content: 1,001 elements", append(with_content([0] * 1001))),
    bad("content: 1,001 elements of context", append({**NOTED, "content": [0] * 1001}, agent="planner")),
    bad("content type: empty", append({**PLAIN, "contentType": ""})),
    bad("content type: 128 characters", append({**PLAIN, "contentType": "x" * 128})),
    bad("content type: null", append({**PLAIN, "contentType": None})),
    bad("agent: 256 characters", append({**PLAIN, "agentId": "a" * 256})),
    bad("agent: empty", append({**PLAIN, "agentId": ""})),
    bad("user: another", append({**PLAIN, "userId": "bob"})),
    bad("user: in upper case", append({**PLAIN, "userId": "Ann"})),
    bad("user: empty", append({**PLAIN, "userId": ""})),
    bad("user: a number", append({**PLAIN, "userId": 1})),
    bad("user: another in one of several", append({"entries": [PLAIN, {**PLAIN, "userId": "bob"}]})),
    bad("channel: unknown", append({**PLAIN, "channel": "thoughts"})),
    bad("channel: empty", append({**PLAIN, "channel": ""})),
    bad("channel: an array", append({**SAID, "channel": ["history"]})),
    bad("channel: context, from a user", append(NOTED), FORBIDDEN),
    bad("channel: CONTEXT, from a user", append({**NOTED, "channel": "CONTEXT"}), FORBIDDEN),
    bad("channel: bound to another client", append(NOTED, to=BOUND, agent="coder"), FORBIDDEN),
    bad("epoch: without a channel", append({**PLAIN, "epoch": 1}, agent="planner")),
    bad("epoch: of history", append({**SAID, "epoch": 1}, agent="planner")),
    bad("epoch: 0", append({**NOTED, "epoch": 0}, agent="planner")),
    bad("epoch: 2^53", append({**NOTED, "epoch": 2**53}, agent="planner")),
    bad("epoch: 1.5", append({**NOTED, "epoch": 1.5}, agent="planner")),
    bad("epoch: true", append({**NOTED, "epoch": True}, agent="planner")),
    bad("epoch: digits in text", append({**NOTED, "epoch": "6"}, agent="planner")),
    bad("epoch: a word", append({**NOTED, "epoch": "latest"}, agent="planner")),
    bad("epoch: an older one", append({**NOTED, "epoch": 4}, agent="planner"), CONFLICT),
    bad("several: none", append({"entries": []})),
    bad("several: 51", append({"entries": [PLAIN] * 51})),
    bad("several: an object", append({"entries": PLAIN})),
    bad("several: null", append({"entries": None})),
    bad("several: not objects", append({"entries": [1]})),
    bad("several: the last is wrong", append({"entries": [PLAIN, PLAIN, {"contentType": "x"}]})),
    bad("fork: an entry without a conversation", append({**PLAIN, "forkedAtEntryId": "<first>"}, to=FRESH)),
    *(
        bad(f"present context: {name}", append({**PLAIN, "context": context}, agent="planner"))
        for name, context in {
            "a list": [PRESENT],
            "text": "x",
            "no content": {"contentType": "note"},
            "no content type": {"content": []},
            "content of null": {**PRESENT, "content": None},
            "content that is no array": {**PRESENT, "content": {}},
            "1,001 elements": {**PRESENT, "content": [0] * 1001},
            "an empty content type": {**PRESENT, "contentType": ""},
            "content type of 128 characters": {**PRESENT, "contentType": "x" * 128},
            "agent: empty": {**PRESENT, "agentId": ""},
            "agent: 256 characters": {**PRESENT, "agentId": "a" * 256},
            "an epoch": {**PRESENT, "epoch": 1},
            "a channel": {**PRESENT, "channel": "context"},
            "itself": {**PRESENT, "context": PRESENT},
        }.items()
    ),
    bad("present context: of a user", append({**PLAIN, "context": PRESENT}), FORBIDDEN),
    bad("present context: beside context", append({**NOTED, "context": PRESENT}, agent="planner")),
    bad(
        "present context: beside an entry of context",
        append({"entries": [PLAIN, NOTED], "context": PRESENT}, agent="planner"),
    ),
    bad(
        "present context: in an entry", append({"entries": [{**PLAIN, "context": PRESENT}]}, agent="planner")
    ),
    bad("append: a title in one of several", append({"entries": [{**PLAIN, "title": "x"}]})),
    bad("append: title: 501 characters", append({**PLAIN, "title": "x" * 501}, to=FRESH)),
    bad("append: tags: 51", append({**PLAIN, "tags": tags(51)}, to=FRESH)),
    bad("append: metadata: no object", append({**PLAIN, "metadata": []}, to=FRESH)),
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
    bad("a content type that begins like it", append({**SAID, "contentType": "historyx"})),
    bad("an empty subtype", append({**SAID, "contentType": "history/"})),
    bad("no message", append({**SAID, "content": []})),
    bad("two messages", append({**SAID, "content": [*SAID["content"], *SAID["content"]]})),
    bad("a message of text", append({**SAID, "content": ["hello"]})),
    bad("a message in an array", append({**SAID, "content": [SAID["content"]]})),
    bad("an unknown role", append({**SAID, "content": [{"role": "TOOL", "text": "hello"}]})),
    bad("another API's role", append({**SAID, "content": [{"role": "assistant", "text": "hello"}]})),
    bad("a role that is an array", append({**SAID, "content": [{"role": ["USER"], "text": "hello"}]})),
    bad("a role without a message", append(with_message())),
    bad("text that is null", append(with_message(text=None))),
    bad("text that is a number", append(with_message(text=1))),
    bad("events that are an object", append(with_message(events={}))),
    bad("attachments that are an object", append(with_message(attachments={}))),
    bad("an attachment of text", append(with_message(attachments=["https://example.com"]))),
    bad("an empty attachment", append(with_message(attachments=[{}]))),
    bad("an attachment without a type", append(with_message(attachments=[{"href": "https://x.example"}]))),
    bad("an attachment with an empty reference", append(with_message(attachments=[{"attachmentId": ""}]))),
    bad(
        "an attachment whose type is a number",
        append(with_message(attachments=[{"href": "https://x.example", "contentType": 1}])),
    ),
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
            "0.0000000001",
            "1e-10",
            "1.1234567891",
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
    bad("text", append(with_usage('"{}"'))),
    bad("a number", append(with_usage("1"))),
    bad("NaN", append(with_usage('{"costUsd":NaN}'))),
    bad("of one of several", append({"entries": [PLAIN, {**PLAIN, "usage": {"inputTokens": -1}}]})),
]

BAD_HEADERS = [
    bad("If-Match: empty", append(PLAIN, headers=[("If-Match", "")])),
    bad("If-Match: a star", append(PLAIN, headers=[("If-Match", "*")])),
    bad("If-Match: without quotes", append(PLAIN, headers=[("If-Match", "<second>")])),
    bad("If-Match: one quote", append(PLAIN, headers=[("If-Match", '"')])),
    bad("If-Match: weak", append(PLAIN, headers=[("If-Match", 'W/"<second>"')])),
    bad("If-Match: empty quotes", append(PLAIN, headers=[("If-Match", '""')])),
    bad("If-Match: a word", append(PLAIN, headers=[("If-Match", '"second"')])),
    bad("If-Match: upper case", append(PLAIN, headers=[("If-Match", SURELY_WRONG.replace("0", "A"))])),
    bad("If-Match: two", append(PLAIN, headers=[("If-Match", '"<second>", "<first>"')])),
    bad("If-Match: another entry", append(PLAIN, headers=[("If-Match", '"<first>"')]), CONFLICT),
    bad(
        "If-Match: an unknown conversation",
        append(PLAIN, to=FRESH, headers=[("If-Match", SURELY_WRONG)]),
        CONFLICT,
    ),
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
    bad("If-Match of a change: another time", change({}, headers=[("If-Match", AGES_AGO)]), CONFLICT),
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
            "256 characters": "k" * 256,
            "outside of ASCII": "schlüssel",
            "a tab": "a\tb",
            "a control character": "a\x7fb",
        }.items()
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
    bad(
        "forkedAt on a conversation that is not a fork",
        append({**PLAIN, "forkedAtConversationId": ROOT}),
        CONFLICT,
    ),
    bad(
        "a fork at another position",
        append(
            {
                **PLAIN,
                "forkedAtConversationId": ROOT,
                "forkedAtEntryId": "<second>",
                "forkedAtPosition": "after",
            },
            to=FORK,
        ),
        CONFLICT,
    ),
    bad(
        "a fork at the head that is before an entry",
        append({**PLAIN, "forkedAtConversationId": ROOT, "forkedAtPosition": "head"}, to=FORK),
        CONFLICT,
    ),
    bad(
        "startedBy on a conversation that is not a child",
        append({**PLAIN, "startedByConversationId": FORK}),
        CONFLICT,
    ),
    bad(
        "a fork at another entry",
        append({**PLAIN, "forkedAtConversationId": ROOT, "forkedAtEntryId": "<first>"}, to=FORK),
        CONFLICT,
    ),
]

BAD_TYPES = [
    bad(f"{kind}", create(body, headers=[("Content-Type", kind)]), WRONG_TYPE)
    for kind, body in {
        "text/plain": "{}",
        "text/json": "{}",
        "application/x-www-form-urlencoded": "title=x",
        "multipart/form-data; boundary=x": "{}",
        "application/merge-patch+json": "{}",
        "application/jsonx": "{}",
        "application/ json": "{}",
        "application/octet-stream": b"{}",
        "json": "{}",
        ";charset=utf-8": "{}",
    }.items()
] + [
    bad("of a change", change("{}", headers=[("Content-Type", "application/json-patch+json")]), WRONG_TYPE),
    bad("of an append", append("{}", headers=[("Content-Type", "text/plain")]), WRONG_TYPE),
    bad("of a fork", fork("{}", headers=[("Content-Type", "text/plain")]), WRONG_TYPE),
    bad("two", create("{}", headers=[("Content-Type", JSON), ("Content-Type", JSON)]), WRONG_TYPE),
]

BAD_BODIES = {
    "UTF-16": '{"title":"x"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"title":"x"}'.encode("utf-16-le"),
    "UTF-32": '{"title":"x"}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"title":"x"}',
    "Latin-1": b'{"title":"\xe9"}',
    "a surrogate in UTF-8": b'{"title":"\xed\xa0\x80"}',
    "an overlong NUL": b'{"title":"\xc0\x80"}',
    "cut inside a character": b'{"title":"\xe2\x82',
    "an array": b"[]",
    "text": b'"title"',
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "only a bracket": b"{",
    "only a quote": b'"',
    "two objects": b"{}{}",
    "text after the body": b"{} x",
    "a NUL after the body": b"{}\x00",
    "a comma after the body": b"{},",
    "a trailing comma": b'{"title":"x",}',
    "no colon": b'{"title" "x"}',
    "single quotes": b"{'title':'x'}",
    "a comment": b'{"title":"x"/* */}',
    "a name without quotes": b'{title:"x"}',
    "a duplicate name": b'{"title":"x","title":"x"}',
    "a duplicate name in another spelling": b'{"title":"x","titl\\u0065":"x"}',
    "a duplicate name inside": b'{"metadata":{"a":1,"a":1}}',
    "a duplicate name deep inside": b'{"metadata":{"a":[{"b":1,"b":2}]}}',
    "NaN": b'{"metadata":{"a":NaN}}',
    "Infinity": b'{"metadata":{"a":Infinity}}',
    "minus Infinity": b'{"metadata":{"a":-Infinity}}',
    "a plus sign": b'{"metadata":{"a":+1}}',
    "a leading zero": b'{"metadata":{"a":01}}',
    "a point without digits": b'{"metadata":{"a":1.}}',
    "digits of another script": '{"metadata":{"a":\u0661}}'.encode(),
    "an exponent beyond every bound": b'{"metadata":{"a":1e9999999999999999999999}}',
    "65 levels": nested(65).encode(),
    "100,000 open brackets": b"[" * 100_000,
    "100,000 open braces": b'{"a":' * 100_000,
    "100,000 brackets": b'{"metadata":{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
    "100,000 closing brackets": b"{" + b"]" * 100_000,
    "a lone high surrogate": b'{"title":"\\ud83d"}',
    "a lone low surrogate": b'{"title":"\\ude00"}',
    "surrogates in the wrong order": b'{"title":"\\ude00\\ud83d"}',
    "a lone surrogate in a name": b'{"metadata":{"\\uDC00":1}}',
    "a lone surrogate in metadata": b'{"metadata":{"a":["\\uD800x"]}}',
    "a control character in text": b'{"title":"a\nb"}',
    "a NUL in text": b'{"title":"a\x00b"}',
    "an unknown escape": b'{"title":"\\x41"}',
    "half an escape": b'{"title":"\\u00"}',
    "a space that JSON does not allow": "\u00a0".encode(),
    "a vertical tab": b"\x0b",
    "a wide space before the body": "\u3000{}".encode(),
}

BAD_DOCUMENTS = [
    *(bad(name, create(body)) for name, body in BAD_BODIES.items()),
    bad("65 levels of content", append(nested(65))),
    bad("200,001 arrays and objects", append(with_content([[[]] * (200_001 - 3)]))),
    bad("a lone surrogate in content", append('{"contentType":"x","content":["\\ud800"]}')),
    bad("a duplicate name in content", append('{"contentType":"x","content":[{"a":1,"a":2}]}')),
    bad("a duplicate name in usage", append(with_usage('{"costUsd":1,"costUsd":1}'))),
    bad("NaN in content", append('{"contentType":"x","content":[NaN]}')),
    bad("change: not an object", change("[]")),
    bad("fork: not an object", fork('"now"')),
    bad("append: not an object", append("[]")),
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
    ),
    bad("fork: an empty entry", fork({"atEntryId": ""}), NOT_FOUND),
    bad("fork: context, by a user", fork({"atEntryId": "<noted>"})),
    bad("fork: context, by another client", fork({"atEntryId": "<noted>"}, agent="coder")),
    bad("append: context, by a user", _append_a_fork_at("<noted>")),
    bad("fork: an entry that the source never shows", fork({"atEntryId": "<of fork>"})),
    bad("fork: an entry after the fork point", fork({"atEntryId": "<second>"}, of=FORK)),
    bad("fork: an entry that is a number", fork({"atEntryId": 1})),
    bad("fork: an entry of 1,001 characters", fork({"atEntryId": "z" * 1001})),
    bad("fork: another user's", fork({}, of=FOREIGN), FORBIDDEN),
    bad("fork: unknown", fork({}, of=FRESH), NOT_FOUND),
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
    bad("search: no query", find({"limit": 5})),
    bad("search: the query null", find({"query": None})),
    bad("search: the query empty", find({"query": ""})),
    bad("search: white space", find({"query": " \t\u00a0\u2003"})),
    bad("search: 501 characters", find({"query": "x" * 501})),
    bad("search: the query a number", find({"query": 5})),
    bad("search: the query an array", find({"query": ["x"]})),
    bad("search: limit 0", find({"query": "x", "limit": 0})),
    bad("search: limit 201", find({"query": "x", "limit": 201})),
    bad("search: limit in text", find({"query": "x", "limit": "5"})),
    bad("search: limit 1.5", find({"query": "x", "limit": 1.5})),
    bad("search: auto in an array", find({"query": "x", "searchType": ["auto"]})),
    bad("search: auto in an array of two", find({"query": "x", "searchType": ["auto", "fulltext"]})),
    bad("search: no type", find({"query": "x", "searchType": []})),
    bad("search: an unknown type", find({"query": "x", "searchType": "regex"})),
    bad("search: an array in an array", find({"query": "x", "searchType": [["fulltext"]]})),
    bad("search: a type in upper case", find({"query": "x", "searchType": "FULLTEXT"})),
    bad("search: the type an object", find({"query": "x", "searchType": {}})),
    bad("search: entries in text", find({"query": "x", "includeEntry": "true"})),
    bad("search: entries a number", find({"query": "x", "includeEntry": 1})),
    bad("search: a query parameter", find({"query": "x"}, query="limit=5")),
    bad("search: another's user", find({"query": "x", "userId": "ann"})),
    bad("search: semantic", find({"query": "x", "searchType": "semantic"}), NO_SEARCH_TYPE),
    bad("search: only semantic", find({"query": "x", "searchType": ["semantic"]}), NO_SEARCH_TYPE),
    bad("search: semantic twice", find({"query": "x", "searchType": ["semantic"] * 2}), NO_SEARCH_TYPE),
    bad("search: the cursor empty", find({"query": "hello", "afterCursor": ""}), CURSOR),
    bad("search: the cursor an id", find({"query": "hello", "afterCursor": ROOT}), CURSOR),
    bad("search: a list's cursor", find({"query": "hello", "afterCursor": "<conversations>"}), CURSOR),
    bad("search: a cursor of Bob", find({"query": "hello", "afterCursor": "<search of Bob>"}), CURSOR),
    bad("search: a cursor of other words", find({"query": "hell", "afterCursor": "<search>"}), CURSOR),
    bad("search: by GET", Ask("GET", SEARCH), WRONG_METHOD),
    bad("search: by PATCH", Ask("PATCH", SEARCH, {"title": "x"}), WRONG_METHOD),
    bad("search: by DELETE", Ask("DELETE", SEARCH), WRONG_METHOD),
    bad("search: by PUT", Ask("PUT", SEARCH, {"query": "x"}), WRONG_METHOD),
    bad("indexed: 32 KB and one", append({**SAID, "indexedContent": "x" * (32 * 1024 + 1)})),
    bad("indexed: 32 KB in characters", append({**SAID, "indexedContent": "é" * (16 * 1024) + "x"})),
    bad("indexed: a number", append({**SAID, "indexedContent": 5})),
    bad("indexed: an array", append({**SAID, "indexedContent": ["x"]})),
    bad("indexed: of context", append({**NOTED, "indexedContent": "x"}, agent="planner")),
    bad("indexed: a lone surrogate", append('{"contentType":"x","content":[],"indexedContent":"\\ud800"}')),
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


BAD_NAMES = [
    bad("name: none", set_name(name=None)),
    bad("name: empty", set_name(name="")),
    bad("name: 256 bytes", set_name(name="é" * 128)),
    bad("name: a control character", set_name(name="a\nb")),
    bad("name: an older control character", set_name(name="a\x85b")),
    bad("name: a number", set_name(name=5)),
    bad("revision: below 0", set_name(expectRevision=-1)),
    bad("revision: text", set_name(expectRevision="x")),
    bad("revision: digits as text", set_name(expectRevision="0")),
    bad("fork: a revision of digits as text", fork({"name": {"name": "new", "expectRevision": "0"}})),
    bad("data: an array", set_name(data=[])),
    bad("data: 4 KB and a byte", set_name(data={"k": "x" * (4 * 1024 - 8)})),
    bad("prefix: 256 bytes", names("prefix=" + "x" * 256)),
    bad("prefix: a control character", names("prefix=%00")),
    bad("limit: 201", names("limit=201")),
    bad("cursor: of nothing", names("afterCursor=x"), CURSOR),
    bad("look-up: no name", Ask("GET", "/v1/names/lookup")),
    bad("look-up: unknown", Ask("GET", "/v1/names/lookup", query="name=unknown"), NOT_FOUND),
    bad("delete: unknown", Ask("DELETE", "/v1/names", query="name=unknown"), NOT_FOUND),
    bad("delete: a revision below 0", Ask("DELETE", "/v1/names", query="name=x&expectRevision=-1")),
    bad("conversation: unknown", set_name(conversationId=FRESH), NOT_FOUND),
    bad("conversation: no id", set_name(conversationId="x"), NOT_FOUND),
    bad("conversation: of others", set_name(conversationId=FOREIGN), FORBIDDEN),
    bad("append: no name", by_name(PLAIN)),
    bad("append: no entry", by_name({"name": "x"})),
    bad("append: a name that moves", by_name({**PLAIN, "name": {"name": "x"}})),
    bad("entries: unknown", Ask("GET", "/v1/names/entries", query="name=unknown"), NOT_FOUND),
    bad("fork: a name as text", fork({"name": "x"})),
    bad("fork: a name and count", fork({"name": {"name": "x"}, "count": 2})),
    bad("fork: a name at another revision", fork({"name": {"name": "x", "expectRevision": 1}}), CONFLICT),
    bad("append: a name without a fork", append({**PLAIN, "name": {"name": "x"}})),
    bad("key: empty", append({**PLAIN, "key": ""})),
    bad("key: 129 characters", append({**PLAIN, "key": "k" * 129})),
    bad("key: not ASCII", append({**PLAIN, "key": "é"})),
    bad("key: a control character", append({**PLAIN, "key": "a\tb"})),
    bad("key: twice", append({"entries": [{**PLAIN, "key": "k"}, {**PLAIN, "key": "k"}]})),
    bad("look-up: no key", look_up("")),
    bad("look-up: an unknown key", look_up("key=unknown"), NOT_FOUND),
    bad("fork: at an unknown key", fork({"atKey": "unknown"}), NOT_FOUND),
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
    bad(
        "append: at a key, to a fork that is at another entry",
        append({**PLAIN, "forkedAtConversationId": ROOT, "forkedAtKey": "k"}, to=FORK),
        CONFLICT,
    ),
]

TABLE = {
    "name": BAD_NAMES,
    "search": BAD_SEARCHES,
    "path": BAD_PATH_IDS,
    "route": BAD_ROUTES,
    "new id": BAD_NEW_IDS,
    "field": BAD_FIELDS,
    "limit": BAD_LIMITS,
    "cursor": BAD_CURSORS,
    "cut": BAD_CUTS,
    "conversation": BAD_CONVERSATIONS,
    "entry": BAD_ENTRIES,
    "history": BAD_HISTORY,
    "usage": BAD_USAGE,
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
