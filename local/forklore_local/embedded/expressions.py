"""Expressions of DynamoDB, parsed once for each text and kept as functions.

This is the grammar that `storage` uses, and no more: any other text is refused. A condition has
AND, OR, NOT, comparisons, IN, BETWEEN, attribute_exists, attribute_not_exists and begins_with. An
update has SET with a value, if_not_exists and +, ADD of a number, and REMOVE. A path goes into
maps, but an update changes whole attributes only. Reserved words are not refused.

Source: DynamoDB developer guide, "Using expressions in DynamoDB".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from forklore_local.embedded.items import KEY_BYTES_MAX
from forklore_local.embedded.values import InvalidError, Value, added
from forklore_service.storage.connection import Item

KEPT = 2_000
"""How many texts are kept parsed. Few differ: lists of names and values have many lengths."""
_TOKEN = re.compile(r"\s*([#:]?[A-Za-z0-9_]+|<>|<=|>=|[=<>(),+.])")
_KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN", "SET", "ADD", "REMOVE", "DELETE"}
_FUNCTIONS = {"attribute_exists", "attribute_not_exists", "begins_with", "if_not_exists"}
_FUNCTIONS |= {"attribute_type", "contains", "size"}

Names = Mapping[str, str]
Values = Mapping[str, Value]
Test = Callable[[Item, Names, Values], bool]
Operand = Callable[[Item, Names, Values], Value | None]
Change = Callable[[Item, Item, Names, Values], None]
"""Changes the second item as the first one says."""


class Paths(NamedTuple):
    """What an expression says of attributes, by their names or placeholders.

    entered: those that it goes into. compared: pairs of paths, as tokens, that must differ.
    """

    entered: tuple[str, ...]
    compared: tuple[tuple[Sequence[str], Sequence[str]], ...]

    def check(self, names: Names) -> None:
        """Raise InvalidError if it goes into a key, or compares an attribute with itself."""
        if {names.get(name, name) for name in self.entered} & KEY_BYTES_MAX.keys():
            raise InvalidError("Key attributes must be scalars; map lookup '.' is not allowed")
        for one, other in self.compared:
            if [names.get(name, name) for name in one] == [names.get(name, name) for name in other]:
                raise InvalidError("The first operand must be distinct from the remaining operands")


class Condition(NamedTuple):
    """A condition, and the placeholders that it uses.

    ordered: the values that `<` and others use. begun: those of begins_with.
    """

    holds: Test
    used: frozenset[str]
    paths: Paths
    ordered: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()

    def check(self, names: Names, values: Values) -> None:
        """Raise InvalidError for a path or a value that the condition cannot compare."""
        self.paths.check(names)
        for name in self.ordered:
            if not values[name].keys() <= {"S", "N", "B"}:
                raise InvalidError("Invalid ConditionExpression: Incorrect operand type for operator")
        for name in self.begun:
            if not values[name].keys() <= {"S", "B"}:
                raise InvalidError("Invalid ConditionExpression: Incorrect operand type for begins_with")


class Update(NamedTuple):
    """The changes of an update, and the placeholders that it uses. attributes: what it changes."""

    changes: tuple[Change, ...]
    attributes: tuple[str, ...]
    used: frozenset[str]
    paths: Paths

    def check(self, names: Names, _values: Values) -> None:
        """Raise InvalidError for a path that the update cannot read."""
        self.paths.check(names)

    def changed(self, item: Item, names: Names, values: Values) -> Item:
        """Return the item with all changes. Each reads the item as it was. Raises InvalidError."""
        new = dict(item)
        for change in self.changes:
            change(item, new, names, values)
        return new


class KeyCondition(NamedTuple):
    """The range of one partition: the names of its keys and of its three values."""

    partition: str
    value: str
    sort: str
    first: str
    last: str


@lru_cache(KEPT)
def condition(text: str) -> Condition:
    """Return a parsed condition or filter. Raises InvalidError."""
    parser = _Parser(text)
    holds = parser.any_of()
    return Condition(holds, parser.end(), parser.paths(), tuple(parser.ordered), tuple(parser.begun))


@lru_cache(KEPT)
def update(text: str) -> Update:
    """Return a parsed update. Raises InvalidError."""
    parser = _Parser(text)
    clauses: set[str] = set()
    changes: list[Change] = []
    while not parser.is_at_end():
        clause = parser.take()
        parse = {"SET": parser.set_one, "ADD": parser.add_one, "REMOVE": parser.remove_one}.get(clause)
        if parse is None or clause in clauses:
            raise parser.refused()
        clauses.add(clause)
        changes.append(parse())
        while parser.takes(","):
            changes.append(parse())
    used = parser.end()
    if len(set(parser.changed)) < len(parser.changed):
        raise InvalidError("Invalid UpdateExpression: Two document paths overlap with each other")
    return Update(tuple(changes), tuple(parser.changed), used, parser.paths())


@lru_cache(KEPT)
def projection(text: str) -> tuple[str, ...]:
    """Return the names or placeholders of the attributes. Raises InvalidError."""
    parser = _Parser(text)
    names = [parser.name()]
    while parser.takes(","):
        names.append(parser.name())
    parser.end()
    return tuple(names)


_KEYS = re.compile(r"(\w+) = (:\w+) AND (\w+) BETWEEN (:\w+) AND (:\w+)")


@lru_cache(KEPT)
def key_condition(text: str) -> KeyCondition:
    """Return the parts of the one form that is known. Raises InvalidError."""
    found = _KEYS.fullmatch(text)
    if found is None:
        raise InvalidError(f"this store knows no such KeyConditionExpression: {text}")
    return KeyCondition(*found.groups())


class _Parser:
    """Reads the tokens of one expression. changed: the attributes of an update so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self.changed: list[str] = []
        self.ordered: list[str] = []
        self.begun: list[str] = []
        self._entered: list[str] = []
        self._compared: list[tuple[Sequence[str], Sequence[str]]] = []

    def paths(self) -> Paths:
        return Paths(tuple(self._entered), tuple(self._compared))

    def refused(self) -> InvalidError:
        return InvalidError(f"this store knows no such expression: {self._text}")

    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def end(self) -> frozenset[str]:
        """Return the placeholders that were used. Raises InvalidError unless all was read."""
        if not self._tokens or not self.is_at_end():
            raise self.refused()
        return frozenset(token for token in self._tokens if token[0] in "#:")

    def take(self) -> str:
        if self.is_at_end():
            raise self.refused()
        self._at += 1
        return self._tokens[self._at - 1]

    def takes(self, token: str) -> bool:
        """Take the next token if it is this one. Return whether it was."""
        is_next = not self.is_at_end() and self._tokens[self._at] == token
        self._at += is_next
        return is_next

    def need(self, token: str) -> None:
        if not self.takes(token):
            raise self.refused()

    def name(self) -> str:
        """Take an attribute's name or its placeholder."""
        token = self.take()
        if not (token[0] == "#" or token[0].isalpha()) or token in _KEYWORDS | _FUNCTIONS:
            raise self.refused()
        return token

    # Conditions

    def any_of(self) -> Test:
        parts = [self._all_of()]
        while self.takes("OR"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else lambda i, n, v: any(part(i, n, v) for part in parts)

    def _all_of(self) -> Test:
        parts = [self._one()]
        while self.takes("AND"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda i, n, v: all(part(i, n, v) for part in parts)

    def _one(self) -> Test:
        if self.takes("NOT"):
            test = self._one()
            return lambda i, n, v: not test(i, n, v)
        if self.takes("("):
            test = self.any_of()
            self.need(")")
            return test
        if self.takes("attribute_exists"):
            held = self._in_brackets(self._path)
            return lambda i, n, v: held(i, n, v) is not None
        if self.takes("attribute_not_exists"):
            held = self._in_brackets(self._path)
            return lambda i, n, v: held(i, n, v) is None
        if self.takes("begins_with"):
            self.need("(")
            held = self._path()
            self.need(",")
            self.begun.append(self._tokens[self._at] if not self.is_at_end() else "")
            start = self._value()
            self.need(")")
            return lambda i, n, v: _begins(held(i, n, v), start(i, n, v))
        return self._comparison()

    def _comparison(self) -> Test:
        begins = self._at
        left = self._operand()
        first_path = self._tokens[begins : self._at]
        if self.takes("IN"):
            self.need("(")
            others = [self._other_than(first_path)]
            while self.takes(","):
                others.append(self._other_than(first_path))
            self.need(")")
            return lambda i, n, v: any(_equal(left(i, n, v), other(i, n, v)) for other in others)
        if self.takes("BETWEEN"):
            first = self._other_than(first_path)
            self.need("AND")
            last = self._other_than(first_path)
            self.ordered += [token for token in self._tokens[begins : self._at] if token[0] == ":"]
            return lambda i, n, v: (
                _ordered(ge, left(i, n, v), first(i, n, v)) and _ordered(le, left(i, n, v), last(i, n, v))
            )
        sign = self.take()
        right = self._other_than(first_path)
        if sign == "=":
            return lambda i, n, v: _equal(left(i, n, v), right(i, n, v))
        if sign == "<>":
            return lambda i, n, v: not _equal(left(i, n, v), right(i, n, v))
        compare = {"<": lt, "<=": le, ">": gt, ">=": ge}.get(sign)
        if compare is None:
            raise self.refused()
        self.ordered += [token for token in self._tokens[begins : self._at] if token[0] == ":"]
        return lambda i, n, v: _ordered(compare, left(i, n, v), right(i, n, v))

    def _in_brackets(self, parse: Callable[[], Operand]) -> Operand:
        self.need("(")
        operand = parse()
        self.need(")")
        return operand

    def _other_than(self, path: Sequence[str]) -> Operand:
        """Take an operand that must not be the same path."""
        begins = self._at
        operand = self._operand()
        if path[0][0] != ":":
            self._compared.append((path, self._tokens[begins : self._at]))
        return operand

    def _operand(self) -> Operand:
        is_value = not self.is_at_end() and self._tokens[self._at][0] == ":"
        return self._value() if is_value else self._path()

    def _value(self) -> Operand:
        token = self.take()
        if token[0] != ":":
            raise self.refused()
        return lambda _i, _n, v: v[token]

    def _path(self) -> Operand:
        first = self.name()
        rest: list[str] = []
        while self.takes("."):
            rest.append(self.name())
        if not rest:
            return lambda i, n, _v: i.get(n.get(first, first))
        self._entered.append(first)

        def held(item: Item, names: Names, _values: Values) -> Value | None:
            value: Value | None = item.get(names.get(first, first))
            for name in rest:
                value = value.get("M", {}).get(names.get(name, name)) if value is not None else None
            return value

        return held

    # Updates

    def _changed_name(self) -> str:
        name = self.name()
        if self.takes("."):
            raise self.refused()
        self.changed.append(name)
        return name

    def set_one(self) -> Change:
        name = self._changed_name()
        self.need("=")
        operand = self._source()
        if self.takes("+"):
            left, right = operand, self._source()

            def total(i: Item, n: Names, v: Values) -> Value:
                return _sum(left(i, n, v), right(i, n, v))

            operand = total

        def change(item: Item, new: Item, names: Names, values: Values) -> None:
            value = operand(item, names, values)
            if value is None:
                raise InvalidError("The provided expression refers to an attribute that does not exist")
            new[names.get(name, name)] = value

        return change

    def _source(self) -> Operand:
        if not self.takes("if_not_exists"):
            return self._operand()
        self.need("(")
        begins = self._at
        held = self._path()
        path = self._tokens[begins : self._at]
        self.need(",")
        otherwise = self._other_than(path)
        self.need(")")

        def source(i: Item, n: Names, v: Values) -> Value | None:
            found = held(i, n, v)
            return otherwise(i, n, v) if found is None else found

        return source

    def add_one(self) -> Change:
        name, value = self._changed_name(), self._value()

        def change(item: Item, new: Item, names: Names, values: Values) -> None:
            attribute = names.get(name, name)
            new[attribute] = _sum(item.get(attribute, {"N": "0"}), value(item, names, values))

        return change

    def remove_one(self) -> Change:
        name = self._changed_name()

        def change(_item: Item, new: Item, names: Names, _values: Values) -> None:
            new.pop(names.get(name, name), None)

        return change


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise InvalidError(f"this store knows no such expression: {text}")
        found.append(token[1])
        at = token.end()
    return found


def _equal(left: Value | None, right: Value | None) -> bool:
    return left is not None and left == right


def _ordered(compare: Callable[[Any, Any], bool], left: Value | None, right: Value | None) -> bool:
    if left is None or right is None:
        return False
    [(kind, one)], [(other_kind, other)] = left.items(), right.items()
    if kind != other_kind or kind not in ("S", "N", "B"):
        return False
    return compare(Decimal(one), Decimal(other)) if kind == "N" else compare(one, other)


def _begins(held: Value | None, start: Value | None) -> bool:
    if held is None or start is None or held.keys() != start.keys() or not held.keys() <= {"S", "B"}:
        return False
    [text], [first] = held.values(), start.values()
    return bool(text.startswith(first))


def _sum(left: Value | None, right: Value | None) -> Value:
    if left is None or right is None or "N" not in left or "N" not in right:
        raise InvalidError("An operand in the update expression has an incorrect data type")
    return {"N": added(left["N"], right["N"])}
