"""Hostile bodies: each is refused with 400, or comes back token by token."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from tests.aws.test_fuzz import exact
from tests.aws.world import CONVERSATIONS, conversation_id, path_of
from tests.reliability.figures import Measure
from tests.reliability.intact import assert_intact
from tests.support.tables import Store
from tools.harness.functions import functions_on
from tools.harness.gateway import Answer, Gateway

BODIES_MIN = 300
ROOT = conversation_id(1)

# JSON texts. True: content must accept them. False: they must be refused. None: both are permitted.

STRINGS: dict[str, bool] = {
    **{f'"\\u{code:04x}"': True for code in (*range(0x20), 0x7F, 0x80, 0x85, 0x9F, 0xAD)},
    **{f'"{chr(code)}"': False for code in (0, 1, 8, 9, 10, 13, 0x1B, 0x1F)},
    **{f'"{chr(code)}"': True for code in (0x7F, 0x85, 0xFEFF, 0x2028, 0x2029, 0xFFFE, 0xFFFF, 0x10FFFF)},
    **{
        f'"{text}"': True
        for text in ("é", "e\u0301", "가", "\u1100\u1161", "ﬁ", "Å", "\u212b", "ß", "İ", "ſ")
    },
    **{
        f'"{text}"': True
        for text in ("👩‍👩‍👧‍👦", "🇩🇪", "☠️", "\u202eabc", "a\u200bb", "ü" * 1000, "\\\\", "\\/", "\\b\\f")
    },
    r'"\ud83d\ude00"': True,
    r'"\uD83D\uDE00"': True,
    **dict.fromkeys([r'"\ud800"', r'"\udfff"', r'"\ude00\ud83d"', r'"a\ud83d"', r'"\ud83dx\ude00"'], False),
    **dict.fromkeys([r'"\x41"', r'"\u12"', r'"\u12g4"', '"', "'a'", r'"\"', r'"\u+123"'], False),
}
NUMBERS: dict[str, bool | None] = {
    **dict.fromkeys(
        ["0", "-0", "-0.0", "0.0", "1.0", "1.00", "1e0", "1E+2", "1e-2", "100e-2", "0e5", "-1.5e-7"], True
    ),
    **dict.fromkeys([str(2**53 + 1), str(2**63), str(-(2**64)), "123456789012345678901234567890"], True),
    **dict.fromkeys(["0.1234567890123456789012345678901", "3.141592653589793238462643383279", "1e300"], True),
    **dict.fromkeys(
        ["1e400", "-1e400", "1e-400", "9" * 5_000, f"0.{'3' * 5_000}", "1e999999999", "1e-999999999"]
    ),
    **dict.fromkeys(
        ["NaN", "Infinity", "-Infinity", "nan", "01", "-01", "+1", ".5", "5.", "1e", "1e+", "--1"], False
    ),
    **dict.fromkeys(["0x10", "1_000", "1,000", "٣", "１", "1e5.5", "- 1", "1 2", "0b1", "1f", "∞"], False),
}
OTHERS: dict[str, bool] = {
    **{"[" * depth + "]" * depth: depth <= 62 for depth in (*range(31, 66), 100, 1_000)},
    **{'{"a":' * depth + "1" + "}" * depth: depth <= 62 for depth in (33, 61, 62, 63, 64, 100, 1_000)},
    **dict.fromkeys(["[" * 100_000, "]" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000], False),
    '"' + "[" * 10_000 + '"': True,
    **dict.fromkeys(['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"b":{"a":1,"a":1}}]', '{"":1,"":1}'], False),
    **dict.fromkeys(
        ['{"a":1,"A":2}', '{"é":1,"e\u0301":2}', '{"":1," ":2}', '{"__proto__":1,"$ref":2}'], True
    ),
    **dict.fromkeys(
        ["tru", "nul", "True", "None", "undefined", "[1,]", "[,]", '{"a":1,}', '{"a"}', "{1:2}"], False
    ),
    **dict.fromkeys(
        ["/* x */ 1", "1 // x", "{'a':1}", "[1}", "{]", "1\x00", "\x001", "1\u00a0", "\ufeff1"], False
    ),
}


@dataclass(frozen=True)
class Place:
    """A place for a JSON text in a request.

    body: has `%s` for the text, and `@` for a number that is unique to the body. field: the field
    that must come back. is_string: whether only strings are permitted there. never: whether every
    hostile text must be refused.
    """

    path: str
    body: str
    field: str
    is_string: bool = False
    never: bool = False


PLACES = {
    "an element of content": Place(
        f"{path_of(ROOT)}/entries", '{"contentType":"x","content":[%s]}', "content"
    ),
    "a member of metadata": Place(CONVERSATIONS, '{"metadata":{"a":%s}}', "metadata"),
    "an element of a context": Place(
        f"{path_of(ROOT)}/entries/sync", '{"contentType":"x","content":["@",%s]}', "content"
    ),
    "a name in content": Place(
        f"{path_of(ROOT)}/entries", '{"contentType":"x","content":[{%s:1}]}', "content", is_string=True
    ),
    "a text of history": Place(
        f"{path_of(ROOT)}/entries",
        '{"channel":"history","contentType":"history","content":[{"role":"USER","text":%s}]}',
        "content",
        is_string=True,
    ),
    "an id": Place(CONVERSATIONS, '{"id":%s}', "id", is_string=True, never=True),
}

GOOD = b'{"contentType":"x","content":[1]}'
RAW: dict[str, bytes] = {
    "UTF-16, little end first": GOOD.decode().encode("utf-16-le"),
    "UTF-16, big end first": GOOD.decode().encode("utf-16-be"),
    "UTF-16 with a mark": GOOD.decode().encode("utf-16"),
    "UTF-32": GOOD.decode().encode("utf-32"),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + GOOD,
    "Latin 1": '{"contentType":"é","content":[1]}'.encode("latin-1"),
    "an overlong slash": GOOD.replace(b"1", b'"\xc0\xaf"'),
    "half a character": GOOD.replace(b"1", b'"\xe2\x82"'),
    "a surrogate in UTF-8": GOOD.replace(b"1", b'"\xed\xa0\x80"'),
    "beyond Unicode": GOOD.replace(b"1", b'"\xf5\x80\x80\x80"'),
    "not text": bytes(range(256)),
    "NULs": b"\x00" * 100,
    "cut short": GOOD[:-1],
    "nothing": b"",
    "blanks": b" \n\t ",
    **{
        f"after it: {behind!r}": GOOD + behind
        for behind in (b"x", b"\x00", b"}", b"{}", b",", b"\xff", b"//")
    },
    **{f"before it: {before!r}": before + GOOD for before in (b"x", b"\x00", b"{", b"\x0c", b"\xc2\xa0")},
    **{f"the root is {root!r}": root for root in (b"[]", b'"x"', b"1", b"null", b"true", b"[" + GOOD + b"]")},
    "named twice": b'{"contentType":"x","content":[1],"content":[2]}',
    "named twice, escaped": b'{"contentType":"x","content":[1],"c\\u006fntent":[2]}',
}


def vectors() -> Iterator[tuple[str, Place, bytes, bool | None]]:
    """Yield the name of each body, its place, its bytes, and whether it must be accepted."""
    numbers = count()
    for name, place in PLACES.items():
        texts: list[dict[str, Any]] = [STRINGS] if place.is_string else [STRINGS, NUMBERS, OTHERS]
        for text, is_good in (item for group in texts for item in group.items()):
            body = (place.body.replace("@", str(next(numbers))) % text).encode()
            yield f"{name}: {text[:60]!a}", place, body, False if place.never else is_good
    for name, raw in RAW.items():
        yield name, PLACES["an element of content"], raw, False


def read_back(send: Callable[..., Answer], place: Place, made: Any) -> Any:
    """Return how the service shows what a request has created."""
    if place.path == CONVERSATIONS:
        return exact(send("GET", path_of(made["id"])).text)
    entry = made.get("entry", made)
    query = f"upToEntryId={entry['id']}&tail=true&limit=1"
    return exact(send("GET", f"{path_of(ROOT)}/entries", query=query, agent="planner").text)["data"][0]


@pytest.mark.failure("unusual-characters", "unusual-numbers", "malformed-body")
def test_a_hostile_body_is_refused_or_comes_back_token_by_token(store: Store, measure: Measure) -> None:
    """Covers characters, numbers, nesting, names and encodings."""
    with functions_on(store) as template:
        gateway = Gateway(template)
        assert gateway.send("POST", CONVERSATIONS, body={"id": ROOT}, agent="planner").status == 201
        for name, place, body, is_good in vectors():
            answer = gateway.send("POST", place.path, body=body, agent="planner")
            measure.count(bodies=1)
            if is_good is False or (is_good is None and answer.status not in (200, 201)):
                assert (answer.status, answer.code) == (400, "validation_error"), (name, answer.text)
                measure.count(refused=1)
                continue
            assert answer.status in (200, 201), (name, answer.text)
            sent, made = exact(body.decode()), exact(answer.text)
            shown = read_back(gateway.send, place, made)
            for told in (made.get("entry", made), shown):
                assert told[place.field] == sent[place.field], name
            measure.count(accepted=1)
    assert measure.counts["bodies"] >= BODIES_MIN
    assert_intact(store)
