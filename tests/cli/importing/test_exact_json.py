import json
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.cli.importing.exact_json import NotJsonError, depth, parse_json, parse_nested_json
from forklore.client import jsontext
from tests.domain.builders import examples

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
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
    with pytest.raises(NotJsonError, match="not JSON: Expecting value at column 200001"):
        parse_json("[" * 200_000)


@pytest.mark.parametrize(
    "text",
    ["0.1", "-0.0", "1e400", "1E-400", "0.1234567890123456789", "1.10", "9" * 400, "9" * 5_000, "1e22"],
)
def test_a_number_keeps_its_value(text: str) -> None:
    value = parse_json(f"[{text}]")

    assert Decimal(jsontext.write(value)[1:-1]) == Decimal(text)
    assert parse_json(jsontext.write(value)) == value


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", '{"a": 1e99999999999999999999}'])
def test_what_is_no_number_in_json_is_an_error(text: str) -> None:
    with pytest.raises(NotJsonError):
        parse_json(text)


@examples(100)
@given(VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    assert parse_json(jsontext.write(value)) == value
    assert parse_json(jsontext.write([value, Decimal("1E+400")])) == [value, Decimal("1E+400")]


def test_the_depth_of_a_value_needs_no_call_stack() -> None:
    assert depth(parse_nested_json("[" * 50_000 + "]" * 50_000)) == 50_000
