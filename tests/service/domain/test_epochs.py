import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from forklore_service.domain.epochs import EPOCH_MAX, Sync, canonical, decide_sync, digest_of
from forklore_service.domain.jsontext import read_value
from forklore_service.errors import ConflictError
from tests.service.domain.builders import examples
from tests.support.growth import takes_at_most


def is_same(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)


TINY = "0." + "1".rjust(40, "0")

SAME = [
    ('{"a":1,"b":2}', '{ "b" : 2, "a" : 1 }'),
    ('[{"a":{"b":[],"c":{}}}]', '[{"a":{"c":{},"b":[]}}]'),
    ("1", "1.0"),
    ("1", "1e0"),
    ("100", "1E+2"),
    ("0.1", "0.1000000"),
    ("0.1", "1e-1"),
    ("0", "-0"),
    ("0", "-0.0e9"),
    ("9007199254740993", "9007199254740993.0"),
    ("1" + "0" * 60, "1e60"),
    ("123456789" * 6, "123456789" * 6 + ".0"),
    ("1e999999999", "10e999999998"),
    ('"é"', r'"\u00e9"'),
    ('"/"', r'"\/"'),
    ("null", "null"),
    ("[[],{}]", "[ [ ] , { } ]"),
]
DIFFERENT = [
    ("true", "1"),
    ("false", "0"),
    ("true", "1.0"),
    ("null", "false"),
    ("null", "0"),
    ("null", '""'),
    ("1", '"1"'),
    ("9007199254740993", "9007199254740992"),
    ("9007199254740993.0", "9007199254740992"),
    ("1" + "0" * 60, "1" + "0" * 59 + "1"),
    ("0.1", "0.1" + "0" * 30 + "1"),
    ("0.1", "0.1000000000000000055511151231257827"),
    ("0", TINY),
    ("1e400", "1e401"),
    ("1e-400", "0"),
    ("[]", "{}"),
    ("[1,2]", "[2,1]"),
    ("[1]", "[1,1]"),
    ('{"a":null}', "{}"),
    ('{"a":1}', '{"a":1,"b":null}'),
    ('{"a":true}', '{"a":1}'),
    ('"é"', '"e\u0301"'),
    ('"a"', '"A"'),
    ('[["x"]]', '["x"]'),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_that_are_equal_as_json_are_the_same(one: str, other: str) -> None:
    assert is_same(read_value(one), read_value(other))
    assert is_same(read_value(other), read_value(one))
    assert is_same(read_value(f'{{"a":[{one}]}}'), read_value(f'{{"a":[{other}]}}'))


def test_the_time_for_a_value_does_not_grow_with_its_levels_once_it_has_a_decimal() -> None:
    flat: list[Any] = [[10] * 50_000, *read_value("[0.5]")]
    deep = flat
    for _ in range(60):
        deep = [deep, flat[-1]]

    assert takes_at_most(10, lambda: canonical(deep), than=lambda: canonical(flat))


def test_a_text_that_looks_like_a_marked_number_stays_a_text() -> None:
    texts = ['"\\udc001', "\\udc001", "\U00010000", '"']

    assert json.loads(canonical([*texts, read_value("0.5")])) == [*texts, 5e-1]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_values_that_differ_as_json_are_not_the_same(one: str, other: str) -> None:
    assert not is_same(read_value(one), read_value(other))
    assert not is_same(read_value(other), read_value(one))
    assert not is_same(read_value(f'{{"a":[{one}]}}'), read_value(f'{{"a":[{other}]}}'))


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**45), 10**45)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
CONTEXTS = st.lists(VALUES, max_size=5)


def spelled(value: Any, choose: Callable[[list[str]], str]) -> str:
    """Return the value as JSON text, in one of many spellings."""
    match value:
        case bool() | str() | None:
            return json.dumps(value, ensure_ascii=choose(["", "x"]) == "")
        case list():
            return "[" + ",".join(spelled(one, choose) for one in value) + "]"
        case dict():
            members = [f"{json.dumps(name)} : {spelled(one, choose)}" for name, one in value.items()]
            return "{" + ",".join(members[::-1] if choose(["", "x"]) else members) + "}"
        case int():
            return choose([str(value), f"{value}.0", f"{value}E0", f"{value * 100}e-2"])
        case _:
            sign, digits, exponent = value.as_tuple()
            whole = "-" * sign + ("".join(map(str, digits)).lstrip("0") or "0")
            shifted = f"{whole}0e{exponent - 1}" if value else f"{whole}e1"
            return choose([f"{whole}e{exponent}", f"{whole}.00E{exponent}", shifted])


@given(VALUES, st.integers(0, 1 << 32))
@examples(300)
def test_a_value_is_the_same_in_every_spelling(value: Any, seed: int) -> None:
    random = Random(seed)
    one, other = (read_value(spelled(value, random.choice)) for _ in range(2))

    assert is_same(one, other)
    assert is_same([one], [other])
    assert not is_same([one], [other, None])
    assert not is_same(one, {"other": other})


@given(VALUES, VALUES)
@examples(300)
def test_sameness_agrees_with_a_plain_definition(one: Any, other: Any) -> None:
    def steady(value: Any) -> object:
        match value:
            case bool() | str() | None:
                return type(value).__name__, value
            case list():
                return "list", [steady(element) for element in value]
            case dict():
                return "object", {name: steady(element) for name, element in value.items()}
            case _:
                return "number", value

    assert is_same(one, other) == is_same(other, one) == (steady(one) == steady(other))


@pytest.mark.parametrize(
    ("known", "sent", "epoch", "expected"),
    [
        ([], [], 0, None),
        ([], ["a"], 0, Sync(1, 0, increments=False)),
        ([], [], 7, None),
        ([], ["a"], 7, Sync(7, 0, increments=False)),
        (["a"], ["a"], 7, None),
        (["a"], ["a", "b", "c"], 7, Sync(7, 1, increments=False)),
        (["a", "b"], ["a"], 7, Sync(8, 0, increments=True)),
        (["a", "b"], ["b", "a"], 7, Sync(8, 0, increments=True)),
        (["a"], [], 7, Sync(8, 0, increments=True)),
        (["a"], ["b", "a"], 7, Sync(8, 0, increments=True)),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}, "c"], 1, Sync(1, 1, increments=False)),
        ([1], [True], 1, Sync(2, 0, increments=True)),
        (["a", "a"], ["a", "a", "a"], 2**53, Sync(2**53, 2, increments=False)),
    ],
)
def test_a_sync_writes_nothing_or_the_rest_or_all_in_the_next_epoch(
    known: list[Any], sent: list[Any], epoch: int, expected: Sync | None
) -> None:
    assert decide_sync(digest_of(known), sent, epoch=epoch) == expected


@pytest.mark.parametrize("sent", [["b"], []])
def test_a_sync_cannot_begin_an_epoch_after_the_highest_one(sent: list[Any]) -> None:
    assert decide_sync(digest_of(["a"]), sent, epoch=EPOCH_MAX - 1) == Sync(EPOCH_MAX, 0, increments=True)
    with pytest.raises(ConflictError):
        decide_sync(digest_of(["a"]), sent, epoch=EPOCH_MAX)


@given(CONTEXTS, CONTEXTS, st.booleans(), st.integers(1, 9))
@examples(300)
def test_after_a_sync_the_known_context_is_the_one_that_was_sent(
    known: list[Any], more: list[Any], extends: bool, epoch: int
) -> None:
    sent = known + more if extends else more
    decided = decide_sync(digest_of(known), sent, epoch=epoch)

    if decided is None:
        assert is_same(known, sent)
    elif decided.increments:
        assert (decided.epoch, decided.start) == (epoch + 1, 0)
        assert not extends
        assert not sent or not is_same(known, sent[: len(known)])
    else:
        assert decided.epoch == epoch
        assert is_same(known + sent[decided.start :], sent)


@given(CONTEXTS, CONTEXTS)
@examples(100)
def test_a_repeated_sync_is_a_no_op(known: list[Any], sent: list[Any]) -> None:
    assume(decide_sync(digest_of(known), sent, epoch=1) is not None)

    assert decide_sync(digest_of(sent), sent, epoch=2) is None
