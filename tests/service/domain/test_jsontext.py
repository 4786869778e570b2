import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from math import isfinite
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service import limits
from forklore_service.domain import jsontext
from forklore_service.domain.jsontext import CONTAINERS_MAX, JsonText, check_value, elements_of, to_json
from forklore_service.errors import ValidationError
from forklore_service.limits import DEPTH_MAX
from tests.service.domain.builders import examples
from tests.support.growth import calls_of, takes_at_most

KEPT = frozenset({"content", "metadata", "usage"})


def read(text: str) -> dict[str, Any]:
    return jsontext.read_object(text, kept=KEPT)


def refusal(text: str) -> str:
    """Return the message of the refusal. The text must be refused."""
    with pytest.raises(ValidationError) as refused:
        read(text)
    assert (refused.value.status, refused.value.code) == (400, "validation_error")
    return refused.value.message


def nested(levels: int) -> str:
    """Return an object that nests this many levels deep, with objects and arrays in turn."""
    inner = levels - 1
    opened = "".join('{"a":' if level % 2 else "[" for level in range(inner))
    closed = "".join("}" if level % 2 else "]" for level in reversed(range(inner)))
    return f'{{"content":{opened}{closed}}}'.replace(":}", ":1}")


# Refusals


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\n", "{", "}", "[", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', "{,}", '{"a" 1}'),
        *("{a:1}", "{'a':1}", '{"a":1;}', '{"a":1 "b":2}', "{1:2}", '{"a":}', "{null:1}", '{"a":[1,]}'),
        *('{"a":[1 2]}', '{"a":(1)}', '{"a":tru}', '{"a":True}', '{"a":None}', '{"a":undefined}'),
        *(
            "{}}",
            "{} {}",
            "{}[]",
            "{}x",
            "{},",
            "{}\0",
            "{}//",
            '{"a":1}/**/',
            "/**/{}",
            "{}\ufeff",
            "{}\xa0",
        ),
        *("\ufeff{}", "\xa0{}", "\x0b{}", "\x0c{}", "\u2028{}", "\0{}", '{\x0b"a":1}', "{\xa0}"),
        *('{"a":"}', '{"a":"\\"}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\u12g4"}', '{"a":"\\'),
        *('{"a":"\n"}', '{"a":"\t"}', '{"a":"\0"}', '{"a":"\x1f"}', '{"\n":1}'),
        *('{"a":01}', '{"a":-01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":1.e5}', '{"a":1e}', '{"a":1e+}'),
        *('{"a":-}', '{"a":--1}', '{"a":0x10}', '{"a":1_000}', '{"a":1,000}', '{"a":٥}', '{"a":½}'),
    ],
    ids=repr,
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    assert refusal(text).startswith("the body is not JSON: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a":tru}', "a value is missing at character 5"),
        ("{'a':1}", "a name in double quotes is missing at character 1"),
        ('{"a" 1}', "a colon is missing at character 5"),
        ('{"a":1 "b":2}', "a comma or the closing bracket is missing at character 7"),
        ('{"a":"b', "no quote ends the string that begins at character 5"),
        ('{"a":"\n"}', "a control character must be escaped at character 6"),
        ('{"a":"\\x"}', "a backslash escapes what it cannot at character 6"),
        ('{"a":"\\u12"}', "four hexadecimal digits are missing at character "),
        ("{}{}", "something follows the end at character 2"),
    ],
)
def test_a_refusal_says_what_is_not_json_and_where(text: str, told: str) -> None:
    assert refusal(text).startswith(f"the body is not JSON: {told}")


@pytest.mark.parametrize("text", ['{"a":1,}', '{"a":[1,]}'])
def test_a_trailing_comma_gets_the_same_kind_of_message_on_every_python(text: str) -> None:
    told = ("a value is missing", "a name in double quotes is missing", "nothing follows the comma")
    assert refusal(text).partition(": ")[2].partition(" at ")[0] in told


@pytest.mark.failure("malformed-body")
@pytest.mark.parametrize("text", ["[]", "[{}]", "1", "-0", '"{}"', "null", "true", "1e40", ' "x" '])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert refusal(text) == "the body must be a JSON object"


@pytest.mark.failure("unusual-numbers")
@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("text", ['{"a":%s}', '{"content":[%s]}', "%s", '{"entries":[{"content":[%s]}]}'])
def test_nan_and_infinity_are_refused_at_every_place(text: str, name: str) -> None:
    assert refusal(text % name) == f"{name} is not JSON"


@pytest.mark.parametrize("word", ["nan", "-NaN", "+NaN", "inf", "-inf", "+Infinity", "infinity", "-infinity"])
def test_other_spellings_of_them_are_not_json_either(word: str) -> None:
    assert "not JSON" in refusal(f'{{"content":[{word}]}}')


@pytest.mark.failure("malformed-body")
@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"a":null}',
        '{"a":1,"b":2,"a":3}',
        r'{"a":1,"\u0061":2}',
        r'{"/":1,"\/":2}',
        '{"":1,"":2}',
        '{"content":[],"content":[]}',
        '{"content":[{"a":1,"a":2}]}',
        '{"x":{"y":[{"a":1,"a":2}]}}',
        '{"entries":[{"content":[],"content":[]}]}',
        '{"entries":[],"entries":[]}',
    ],
)
def test_a_repeated_name_is_refused_at_every_depth_and_in_every_spelling(text: str) -> None:
    assert refusal(text) == "the body names a member twice"


def test_names_that_differ_only_in_case_or_in_form_are_different() -> None:
    assert read('{"a":1,"A":2,"é":3,"e\u0301":4}') == {"a": 1, "A": 2, "é": 3, "e\u0301": 4}


@pytest.mark.failure("unusual-characters")
@pytest.mark.parametrize(
    "escapes",
    [
        *(r"\ud800", r"\udbff", r"\udc00", r"\udfff", r"\uD83D", r"\uDE00"),
        *(r"\ude00\ud83d", r"\ud83d\ud83d\ude00", r"\ud83d\ude00\ude00", r"\ud83dx", r"\ud83d\u0041"),
        *(r"\ud83d\n\ude00", r"\ud83d\\ude00", r"\\\ud800", r"x\ud83d"),
    ],
)
@pytest.mark.parametrize(
    "text", ['{"content":["%s"]}', '{"title":"%s"}', '{"%s":1}', '{"entries":[{"content":[{"%s":[]}]}]}']
)
def test_a_lone_surrogate_is_refused_in_any_string(text: str, escapes: str) -> None:
    assert refusal(text.replace("%s", escapes)) == "the body holds a lone surrogate"


@pytest.mark.parametrize("text", ['{"content":["\ud800"]}', '{"title":"\udc00"}'], ids=["content", "title"])
def test_an_unescaped_lone_surrogate_is_refused_too(text: str) -> None:
    assert refusal(text) == "the body holds a lone surrogate"


@pytest.mark.failure("unusual-characters")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'["\ud83d\ude00"]', ["😀"]),
        (r'["\uD83D\uDE00"]', ["😀"]),
        (r'["\ud83d\ude00\uD83D\uDE00"]', ["😀😀"]),
        (r'["\\ud800"]', [r"\ud800"]),
        (r'["\\\\udc00"]', [r"\\udc00"]),
        (r'["\u0000"]', ["\0"]),
        (r'["\ud7ff\ue000"]', ["\ud7ff\ue000"]),
        ('["😀"]', ["😀"]),
        ('["\ufeff"]', ["\ufeff"]),
        ('["é", "e\u0301"]', ["é", "e\u0301"]),
        ('["\x7f\u2028"]', ["\x7f\u2028"]),
        (r'["\ufffe\uffff"]', ["\ufffe\uffff"]),
    ],
    ids=ascii,
)
def test_every_other_character_comes_back_as_it_was_sent(text: str, value: Any) -> None:
    """Unicode is not normalised."""
    assert read(f'{{"content":{text}}}') == {"content": JsonText(text, value)}


# Depth


@pytest.mark.failure("malformed-body")
def test_an_object_may_nest_64_levels_deep() -> None:
    deepest = nested(DEPTH_MAX)
    content = read(deepest)["content"]

    assert DEPTH_MAX == 64
    assert f'{{"content":{content.text}}}' == deepest
    assert content.value == json.loads(deepest)["content"]


@pytest.mark.failure("malformed-body")
@pytest.mark.parametrize("levels", [65, 66, 1_000, 100_000])
def test_an_object_that_nests_deeper_is_refused(levels: int) -> None:
    assert refusal(nested(levels)) == "the body nests deeper than 64 levels"


@pytest.mark.failure("malformed-body")
@pytest.mark.parametrize("bracket", ["[", '{"a":', '[{"a":', "[["])
def test_a_hundred_thousand_opening_brackets_are_refused(bracket: str) -> None:
    for text in (bracket * 100_000, '{"content":' + bracket * 100_000):
        assert refusal(text) == "the body nests deeper than 64 levels"


@pytest.mark.parametrize("text", ["]" * 100_000, "{}" + "]" * 100_000, "}" * 100_000 + "{" * 100_000])
def test_a_hundred_thousand_closing_brackets_are_refused(text: str) -> None:
    assert refusal(text).startswith("the body is not JSON: ")


def test_brackets_in_a_string_do_not_count_as_levels() -> None:
    strings = ["[" * 100, r"\"[[" + "{" * 100, r"\\", "]" * 100, "{" * 100 + r"\\\""]
    text = "[" + ",".join(f'"{string}"' for string in strings) + "]"

    assert read(f'{{"content":{text}}}') == {"content": JsonText(text, json.loads(text))}


def test_levels_that_are_closed_again_do_not_count() -> None:
    closed = ",".join(["[[]]"] * 1_000)
    deepest, deeper = ("[" * levels + "]" * levels for levels in (62, 63))

    assert read(f'{{"content":[{closed},{deepest}]}}')["content"].text == f"[{closed},{deepest}]"
    assert refusal(f'{{"content":[{closed},{deeper}]}}') == "the body nests deeper than 64 levels"


# How many arrays and objects


@pytest.mark.failure("malformed-body")
def test_an_object_may_hold_200000_arrays_and_objects_and_no_more() -> None:
    strings = '"[{", "' + r"\"[" + '"'
    most = ",".join(["[]", "{}"] * (CONTAINERS_MAX // 2 - 1))  # and the body, and its content

    assert CONTAINERS_MAX == 200_000
    assert read(f'{{"content":[{strings},{most}]}}')["content"].text == f"[{strings},{most}]"
    for one_more in ("[]", '{"a":1}'):
        told = refusal(f'{{"content":[{strings},{most},{one_more}]}}')
        assert told == "the body holds more than 200000 arrays and objects"


@pytest.mark.parametrize("inner", [[], {}])
def test_a_python_value_may_hold_as_many_as_a_body_and_no_more(inner: Any) -> None:
    assert len(jsontext.text_of([inner] * (CONTAINERS_MAX - 1)).value) == CONTAINERS_MAX - 1
    with pytest.raises(ValidationError, match="the value holds more than 200000 arrays and objects"):
        jsontext.text_of([inner] * CONTAINERS_MAX)


@pytest.mark.failure("malformed-body")
def test_a_body_of_many_deep_arrays_is_refused_before_it_is_read() -> None:
    body = '{"content":[' + ",".join(["[" * 50 + "]" * 50] * 10_000) + "]}"

    assert refusal(body) == "the body holds more than 200000 arrays and objects"
    assert takes_at_most(1, lambda: refusal(body), than=lambda: json.loads(body))


# Numbers


@pytest.mark.failure("unusual-numbers")
@pytest.mark.parametrize(
    "token",
    [
        *("0", "-0", "1", "-1", "0.0", "-0.0", "1.0", "1.10", "1e0", "1E0", "1e+0", "1e-0", "100e-2"),
        *("9007199254740993", "-9223372036854775809", "18446744073709551616", "1e308", "-1e308", "1e-400"),
        *("3.141592653589793238462643383279", "0.1234567890123456789012345678901", "1.7976931348623157e308"),
        *("9" * 40, "-" + "9" * 40, "9" * 41, "9" * 308, "1" + "0" * 308, "0." + "0" * 398),
        *("1e-999", "0e999", "0E-999", "1e+0000300", "12.50E+17"),
    ],
    ids=lambda token: token if len(token) < 50 else f"{token[:9]}… of {len(token)} characters",
)
def test_a_number_keeps_its_spelling_and_its_exact_value(token: str) -> None:
    read_back = read(f'{{"content":[{token}],"title":{token}}}')

    assert read_back["content"].text == f"[{token}]"
    assert read_back["content"].value == [Decimal(token)]
    assert read_back["title"] == Decimal(token)
    assert isfinite(json.loads(token))


def test_whole_numbers_of_ordinary_length_are_ints_and_all_others_decimals() -> None:
    sent = f'{{"a":7,"b":-0,"c":{"9" * 40},"d":{"9" * 41},"e":1.0,"f":1e2,"g":true}}'

    assert {name: type(value) for name, value in read(sent).items()} == {
        **dict.fromkeys("abc", int),
        **dict.fromkeys("def", Decimal),
        "g": bool,
    }


BEYOND = [
    *("1e309", "-1e309", "1.8e308", "9" * 309, "9" * 5_000, "1" + "0" * 5_000, "0." + "0" * 399),
    *("0e1000", "1e-1000", "1e999999999", "1e-999999999", "-1e9999999999999999999"),
]


@pytest.mark.failure("unusual-numbers")
@pytest.mark.parametrize("token", BEYOND, ids=lambda token: token[:24])
@pytest.mark.parametrize("text", ['{"a":%s}', '{"content":[%s]}', '{"a":["%s",{"b":%s}]}'])
def test_a_number_that_a_usual_reader_refuses_is_refused(text: str, token: str) -> None:
    """Python reads whole numbers of 4,300 digits, Java 1,000 characters, Go and Rust doubles."""
    told = refusal(text.replace("%s", token))

    assert told == (
        "a number has at most 400 characters and an exponent of 3 digits, "
        "and is no larger than a double can be (1.8e308)"
    )
    with pytest.raises(ValidationError, match="a number has at most"):
        check_value(f"[{token}]")


@pytest.mark.parametrize("token", ["1e400", "1e999999999", "9" * 5_000])
def test_a_number_that_was_stored_before_is_read(token: str) -> None:
    assert jsontext.read_value(f"[{token}]") == [Decimal(token)]


def test_a_text_may_look_like_any_number() -> None:
    texts = [json.dumps(token) for token in BEYOND]

    assert read(f'{{"content":[{",".join(texts)}]}}')["content"].value == BEYOND


MANY = {
    "numbers": '{"content":[' + "1," * 100_000 + "0]}",
    "decimals": '{"content":[' + "1.5," * 100_000 + "0]}",
    "names": '{"content":[{' + ",".join(f'"{number}":1' for number in range(100_000)) + "}]}",
    "fields": "{" + ",".join(f'"{number}":1' for number in range(100_000)) + ',"content":[]}',
    "entries": '{"content":[],"entries":[' + "1," * 100_000 + "0]}",
    "entries of no body": '{"context":{"content":[],"entries":[' + "1," * 100_000 + "0]}}",
}


@pytest.mark.parametrize("text", MANY.values(), ids=list(MANY))
def test_what_there_is_a_lot_of_is_read_without_a_step_for_each(text: str) -> None:
    def try_to_read() -> None:
        with suppress(ValidationError):
            read(text)

    assert calls_of(try_to_read) < 1_000


def test_a_body_may_have_so_many_fields_and_entries_and_no_more() -> None:
    most = ",".join(f'"{number}":1' for number in range(jsontext.FIELDS_MAX - 2))

    assert len(read(f'{{"entries":[1],{most}}}')) == jsontext.FIELDS_MAX - 1
    assert refusal(f'{{"entries":[1,2],{most}}}') == "the body has more than 5000 fields and entries"


# Time


LARGE = 1 << 18


def grows_with_size(work: Callable[[str], object], begin: str, repeated: str, end: str) -> bool:
    """Tell whether a text of 256 KB takes at most 64 times as long as one of 16 KB."""
    large, small = (begin + repeated * (size // len(repeated)) + end for size in (LARGE, LARGE // 16))
    return takes_at_most(64, lambda: work(large), than=lambda: work(small))


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [
        ('{"a":"', r"\"", ""),
        ('{"a":"', "\\\\", '\\"}'),
        ('{"a":"', r"\u00", ""),
        ('{"a":"', r"\ud83d", '"}'),
        ('{"a":[', "1,", ""),
        ('{"a":', "9", "x"),
        ('{"a":', "9", "}"),
        ("", "[]", ""),
        ("", "]", ""),
    ],
)
def test_the_time_to_refuse_what_is_not_json_grows_with_its_size(begin: str, repeated: str, end: str) -> None:
    assert grows_with_size(refusal, begin, repeated, end)


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [
        ('["', r"\"", '"]'),
        ('["', r"\ud83d\ude00", '"]'),
        ("[", '"",', "0]"),
        ("[", "1.5,", "0]"),
    ],
)
def test_the_time_to_read_content_grows_with_its_size(begin: str, repeated: str, end: str) -> None:
    def read_it(content: str) -> None:
        assert read(f'{{"title":"x","content":{content}}}')["content"].text == content

    assert grows_with_size(read_it, begin, repeated, end)


# Members that are kept as text


def test_only_the_named_members_are_kept_as_text() -> None:
    assert read(
        '{ "title" : "t" , "tags":{"a":"b"}, "content" : [ 1.0 , {"x": -0} ]\n,"usage":{"n":1e2 }} '
    ) == {
        "title": "t",
        "tags": {"a": "b"},
        "content": JsonText('[ 1.0 , {"x": -0} ]', [Decimal("1.0"), {"x": 0}]),
        "usage": JsonText('{"n":1e2 }', {"n": 100}),
    }


def test_members_of_the_elements_of_entries_are_kept_as_text() -> None:
    assert read(
        '{"entries":[{"content":[ 1 ],"epoch":2}, {"usage": { } } ,{},7,"x",[{"content":[ ]}]],"n":null}'
    ) == {
        "entries": [
            {"content": JsonText("[ 1 ]", [1]), "epoch": 2},
            {"usage": JsonText("{ }", {})},
            {},
            7,
            "x",
            [{"content": []}],
        ],
        "n": None,
    }


def test_members_of_the_object_context_are_kept_as_text() -> None:
    assert read('{"x":1, "context" : { "content":[ 1.0 ],"agentId":"a" } }') == {
        "x": 1,
        "context": {"content": JsonText("[ 1.0 ]", [Decimal("1.0")]), "agentId": "a"},
    }
    for held in (7, "content", [{"content": [1]}], None):
        assert read(json.dumps({"context": held})) == {"context": held}


@pytest.mark.parametrize("text", ["true", "0", '""', '"content"', "{}", "[]", "-0.0", '{"content":[ ]}'])
def test_a_kept_member_may_hold_any_value_but_null(text: str) -> None:
    assert read(f'{{"metadata":{text}}}') == {"metadata": JsonText(text, json.loads(text))}


def test_a_kept_member_that_is_null_is_none() -> None:
    assert read('{"metadata": null ,"entries":[{"usage":null}]}') == {
        "metadata": None,
        "entries": [{"usage": None}],
    }


def test_a_kept_name_may_be_spelled_with_escapes() -> None:
    assert read(r'{"cont\u0065nt":[ 1 ]}') == {"content": JsonText("[ 1 ]", [1])}


def test_text_that_looks_like_a_kept_member_is_not_kept() -> None:
    text = r'{"title":"{\"content\":[ 1 ]}","x":{"content":[ 2 ]},"metadata":{"content":[ 3 ]}}'

    assert read(text) == {
        "title": '{"content":[ 1 ]}',
        "x": {"content": [2]},
        "metadata": JsonText('{"content":[ 3 ]}', {"content": [3]}),
    }


@pytest.mark.parametrize("text", ["{}", " {} ", "{\n}", '{"title":null}', '{"entries":[]}', '{"entries":{}}'])
def test_an_object_without_kept_members_is_read_as_it_is(text: str) -> None:
    assert read(text) == json.loads(text)


def test_entries_that_are_no_array_are_read_as_they_are() -> None:
    assert read('{"entries":{"content":[ 1 ]},"content":[ 2 ]}') == {
        "entries": {"content": [1]},
        "content": JsonText("[ 2 ]", [2]),
    }


class Number(NamedTuple):
    """A JSON number, as it is spelled."""

    token: str


def spaced(random: Random, *tokens: str) -> str:
    """Return the tokens with random white space between them."""
    spaces = ["", "", "", " ", "\n", "\t", "\r\n", "  \n "]
    return tokens[0] + "".join(random.choice(spaces) + token for token in tokens[1:])


def separated(random: Random, parts: list[str], *, opened: str, closed: str) -> str:
    tokens = [token for part in parts for token in (",", part)][1:]
    return spaced(random, opened, *tokens, closed)


def spell_string(random: Random, value: str) -> str:
    """Return a JSON string, each character as it is or escaped."""
    return '"' + "".join(json.dumps(c, ensure_ascii=random.random() < 0.5)[1:-1] for c in value) + '"'


def spell(random: Random, value: Any) -> JsonText:
    """Return JSON text with random white space and escapes, and its value."""
    match value:
        case Number(token):
            return JsonText(token, Decimal(token))
        case str():
            return JsonText(spell_string(random, value), value)
        case list():
            parts = [spell(random, element) for element in value]
            text = separated(random, [part.text for part in parts], opened="[", closed="]")
            return JsonText(text, [part.value for part in parts])
        case dict():
            return spell_object(random, {name: spell(random, part) for name, part in value.items()})
        case _:
            return JsonText({None: "null", True: "true", False: "false"}[value], value)


def spell_object(random: Random, members: dict[str, JsonText]) -> JsonText:
    parts = [spaced(random, spell_string(random, name), ":", part.text) for name, part in members.items()]
    text = separated(random, parts, opened="{", closed="}")
    return JsonText(text, {name: part.value for name, part in members.items()})


NUMBERS = st.builds(
    lambda *parts: Number("".join(parts)),
    st.sampled_from(["", "-"]),
    st.integers(0, 10**45).map(str) | st.sampled_from(["0", "1", "10"]),
    st.sampled_from(["", ".0", ".10", ".5", ".000000000000000000000000000001"]),
    st.sampled_from(["", "", "e0", "E5", "e+30", "E-7", "e200"]),
)
NAMES = st.sampled_from(["content", "usage", "entries", "a", "", '"', "\\", "é", "😀"])
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.dictionaries(st.sampled_from([*sorted(KEPT), "title", "", '"', "\\", "é"]), VALUES, max_size=4)


@pytest.mark.long
@examples(1_000)
@given(members=MEMBERS, entries=st.lists(MEMBERS, max_size=2), seed=st.integers(0, 1 << 32))
def test_kept_members_have_the_exact_text_and_the_value_that_were_sent(
    members: dict[str, Any], entries: list[dict[str, Any]], seed: int
) -> None:
    random = Random(seed)

    def sent(members: dict[str, Any]) -> dict[str, JsonText]:
        return {name: spell(random, value) for name, value in members.items()}

    def as_read(members: dict[str, JsonText]) -> dict[str, Any]:
        return {
            name: part if name in KEPT and part.value is not None else part.value
            for name, part in members.items()
        }

    outer, inner = sent(members), [sent(entry) for entry in entries]
    elements = [spell_object(random, entry) for entry in inner]
    listed = separated(random, [element.text for element in elements], opened="[", closed="]")
    whole = outer | {"entries": JsonText(listed, [element.value for element in elements])}
    text = spaced(random, "", spell_object(random, whole).text, "")

    assert read(text) == as_read(outer) | {"entries": [as_read(entry) for entry in inner]}
    assert json.loads(text, parse_int=Decimal, parse_float=Decimal) == {n: p.value for n, p in whole.items()}


@examples(1_500)
@given(st.text('{}[]",:1e-.\\ud8 \n', max_size=14).map(lambda inner: '{"content":[' + inner))
def test_text_is_refused_or_read_as_the_standard_library_does(text: str) -> None:
    try:
        reference = json.loads(text)
    except json.JSONDecodeError:
        assert refusal(text)
    else:
        assert read(text)["content"].value == reference["content"]


# Text of values, and its size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, 1.5, True, None], "a": "é😀"}, '{"b":[1,1.5,true,null],"a":"é😀"}'),
        ([], "[]"),
        ('a"\\\n\0', r'"a\"\\\n\u0000"'),
        (2**60, "1152921504606846976"),
    ],
)
def test_a_python_value_is_spelled_without_spaces(value: Any, text: str) -> None:
    assert jsontext.text_of(value) == JsonText(text, value)


@pytest.mark.parametrize("value", [[float("inf")], [float("-inf")], [float("nan")], ["\ud800"]], ids=ascii)
def test_a_value_that_json_cannot_spell_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        jsontext.text_of(value)


@pytest.mark.parametrize("inner", [[], {}, 0])
def test_a_python_value_may_nest_as_deep_as_a_body_and_no_deeper(inner: Any) -> None:
    def nested(levels: int) -> Any:
        value = inner
        for level in range(levels - (inner != 0)):
            value = {"a": value} if level % 2 else [value, 1]
        return value

    assert jsontext.text_of(nested(limits.DEPTH_MAX)).value == nested(limits.DEPTH_MAX)
    for levels in (limits.DEPTH_MAX + 1, 100_000):
        with pytest.raises(ValidationError):
            jsontext.text_of(nested(levels))


@pytest.mark.parametrize("text", [" [1.0, 2] ", "{}", "null", '"a"', "5"])
def test_a_single_value_keeps_its_spelling(text: str) -> None:
    assert jsontext.check_value(text).text == text


@pytest.mark.parametrize(
    "text", ["", "[", "[],", "[]]", '[],"a":1', "[] []", "NaN", '{"a":1,"a":1}', "[" * 100_000]
)
def test_text_that_is_not_a_single_value_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        jsontext.check_value(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        ("abc", 3),
        ('"', 2),
        ("\\", 2),
        ("\n", 2),
        ("\0", 6),
        ("\x7f", 6),
        ("é", 6),
        ("€", 6),
        ("😀", 12),
        ('[{"role":"USER","text":"é"}]', 28 + 8 + 5),
    ],
    ids=ascii,
)
def test_the_escaped_size_of_text_is_its_size_in_an_ascii_answer(text: str, size: int) -> None:
    assert limits.escaped_size(text) == size
    assert re.fullmatch(rf'"[\x20-\x7e]{{{size}}}"', json.dumps(text))


def test_elements_are_cut_off_and_the_others_keep_their_text() -> None:
    array = check_value('[ 1.0 ,{"a": [2,"]"]}, "x,[y" ,-0]')

    assert elements_of(array, 0) == array
    assert elements_of(array, 1) == JsonText('[{"a": [2,"]"]},"x,[y",-0]', array.value[1:])
    assert elements_of(array, 3) == JsonText("[-0]", [0])
    assert elements_of(array, 4) == JsonText("[]", [])


def test_a_value_is_written_with_the_text_of_what_came_as_text() -> None:
    kept = check_value('{"n": 1.0}')

    assert to_json({"a": kept, "b": [kept, "é\n"], "c": (None, True, 5)}) == (
        '{"a":{"n": 1.0},"b":[{"n": 1.0},"é\\n"],"c":[null,true,5]}'
    )
