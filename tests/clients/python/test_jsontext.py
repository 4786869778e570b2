"""JSON text: numbers keep their value, and what JSON cannot hold is refused."""

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.client import jsontext
from forklore.client.errors import InputError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON: a number may be of another type."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(held, other[name]) for name, held in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, int | float | Decimal) and not isinstance(one, bool):
        exact = Decimal(repr(one)) if isinstance(one, float) else Decimal(one)
        read = Decimal(repr(other)) if isinstance(other, float) else Decimal(other)
        return exact == read
    return one is other if isinstance(one, bool | None) else bool(one == other)


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert same(value, jsontext.read(jsontext.write(value)))


@pytest.mark.parametrize(
    "digits",
    ["1e400", "-1e-400", "0.1234567890123456789", "12345678901234567890.5", str(2**70), "9" * 5000, "1E+400"],
)
def test_a_number_that_a_float_cannot_hold_keeps_all_its_digits(digits: str) -> None:
    read = jsontext.read(f"[{digits}]")

    assert not isinstance(read[0], float)
    assert Decimal(jsontext.write(read)[1:-1]) == Decimal(digits)


@pytest.mark.parametrize(("digits", "value"), [("0.1", 0.1), ("1.50", 1.5), ("-0.0", -0.0), ("1e3", 1000.0)])
def test_a_number_that_a_float_holds_is_a_float(digits: str, value: float) -> None:
    read = jsontext.read(digits)

    assert isinstance(read, float)
    assert (read, math.copysign(1, read)) == (value, math.copysign(1, value))


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        Decimal("NaN"),
        {"n": Decimal("-Infinity")},
        [Decimal(1), float("nan")],
        b"bytes",
        [{1, 2}],
        {"n": object()},
        {1: Decimal(1)},
        "\ud800",
        {"\udfff": 1},
        [Decimal(1), "\ud800"],
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        jsontext.write(value)


def test_what_nests_too_deep_is_not_read() -> None:
    with pytest.raises(ValueError, match="nests too deep"):
        jsontext.read("[" * 100_000)


def test_an_array_inside_itself_is_refused() -> None:
    around: list[Any] = []
    around.append(around)

    with pytest.raises(InputError):
        jsontext.write(around)
    with pytest.raises(InputError):
        jsontext.copied(around)


@pytest.mark.parametrize("value", [{1: "a"}, [{"a": {None: 1}}], {True: 1}], ids=repr)
def test_a_copy_has_only_names_that_are_text(value: Any) -> None:
    with pytest.raises(InputError, match="a name in JSON is text"):
        jsontext.copied(value)


def test_a_copy_shares_no_object_and_no_array() -> None:
    value = {"a": [{"b": [1]}], "c": (1, 2), "d": MappingProxyType({"e": Decimal(1)})}
    copy = jsontext.copied(value)
    value["a"][0]["b"].append(2)  # type: ignore[index]

    assert copy == {"a": [{"b": [1]}], "c": [1, 2], "d": {"e": Decimal(1)}}


def test_any_mapping_is_an_object() -> None:
    assert jsontext.write(MappingProxyType({"a": (1, Decimal("2.50"))})) == '{"a":[1,2.50]}'


@pytest.mark.parametrize("text", ["", "{", "<html>", "[1,]", "nul"])
def test_anything_else_than_json_is_a_value_error(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        jsontext.read(text)
