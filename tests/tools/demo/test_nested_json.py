import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.builders import examples
from tools.demo.nested_json import parse_json, parse_nested_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
BROKEN = ["", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[}", "1 2", "nul", "{1:2}", "{]"]
BROKEN += ["{", '{"a"', '{"a" 1}', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}']


@examples(100)
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_the_nested_parser_reads_what_the_standard_one_reads(
    value: object, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert parse_nested_json(f" {text}\n") == value


@examples(100)
@given(st.text(alphabet='{}[]",:1a \\', max_size=12))
def test_the_nested_parser_refuses_what_the_standard_one_refuses(text: str) -> None:
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        with pytest.raises(json.JSONDecodeError):
            parse_nested_json(text)
    else:
        assert parse_nested_json(text) == expected


@pytest.mark.parametrize(
    "text",
    BROKEN,
)
def test_a_text_that_is_not_one_json_value_is_an_error(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_nested_json(text)


def test_a_value_may_nest_deeper_than_the_call_stack() -> None:
    depth = 50 * sys.getrecursionlimit()
    value = parse_json('{"a": [' * depth + "7" + "]}" * depth)

    for _ in range(depth):
        (value,) = value["a"]
    assert value == 7


def test_junk_at_a_great_depth_is_an_error_like_any_other() -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_json("[" * 200_000)
