"""A call: what is sent, before any transport. Nothing here does I/O."""

import re
import secrets
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.client import jsontext
from forklore.client.errors import InputError, TooLargeError
from forklore.client.generated.limits import BODY_CHARACTERS_MAX, IDEMPOTENCY_KEY_CHARACTERS_MAX

REVISION = "expectRevision"
"""The condition of a call about a name: the revision that the caller has seen."""
MORE = "[]."
"""In the name of a limit: the member of each element, such as `entries[].content`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How an operation is called.

    query: the names of the query string. Those of the path stand in its braces. All others go into
    the body if there is one. lengths_max: the most characters or elements of an argument.
    """

    name: str
    method: str
    path: str
    query: frozenset[str] = frozenset()
    has_body: bool = False
    takes_key: bool = False
    takes_if_match: bool = False
    is_read: bool = False
    lengths_max: Mapping[str, int] = field(default_factory=dict)

    @property
    def path_names(self) -> tuple[str, ...]:
        """The names in the path's braces."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def in_query(self, given: Iterable[str]) -> list[str]:
        """Return which of the given names go into the query string.

        Without a body this is all but the path's: the service says which of them it does not know.
        """
        known = self.query if self.has_body else {*given} - {*self.path_names}
        return sorted(known.intersection(given))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation. It stays the same however often it is sent: `of` copies `given`.

    given: path, query and body side by side, under their names in JSON. if_none_match: the `etag`
    of an answer that the caller has; a direct invocation does not send it.
    """

    shape: Shape
    given: Mapping[str, Any]
    idempotency_key: str | None = None
    if_match: str | None = None
    if_none_match: str | None = None

    @classmethod
    def of(
        cls,
        shape: Shape,
        given: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> "Call":
        """Return the call; a POST that writes gets a key if it has none.

        Raises InputError for what the service cannot take, and names the limit.
        """
        if idempotency_key is not None and not shape.takes_key:
            raise InputError(f"{shape.name} takes no idempotency key", details={"field": "idempotency_key"})
        if if_match is not None and not shape.takes_if_match:
            raise InputError(f"{shape.name} takes no if_match", details={"field": "if_match"})
        for name in shape.path_names:
            _check_path(name, given.get(name))
        for name, most in shape.lengths_max.items():
            _check_length(given, name, most)
        if idempotency_key is None and shape.takes_key:
            idempotency_key = new_key()
        elif idempotency_key is not None:
            _check_key(idempotency_key)
        if not isinstance(if_match, str | None):
            raise InputError("if_match is text", details={"field": "if_match"})
        match = None if if_match is None else if_match.strip('"')
        return cls(shape, jsontext.copied(given), idempotency_key, match, if_none_match)

    @property
    def may_be_repeated(self) -> bool:
        """Whether a second sending has no other effect than the first one.

        That of a PATCH undoes what somebody else has changed meanwhile, such as a revocation; that
        of a DELETE removes what somebody else has made meanwhile, such as a membership. A key or a
        condition prevents it. So does a DELETE's path that ends with an id: no other thing gets it.
        A POST that takes no key needs none.
        """
        is_guarded = self.idempotency_key is not None or self.if_match is not None
        is_bound = self.shape.method == "DELETE" and self.shape.path.endswith("}")
        is_bound |= self.shape.method == "POST" and not self.shape.takes_key
        return self.shape.is_read or is_guarded or is_bound or self.given.get(REVISION) is not None

    @property
    def path(self) -> dict[str, str]:
        """What stands in the path's braces."""
        return {name: self.given[name] for name in self.shape.path_names}

    def query(self) -> dict[str, str]:
        """Return the parameters of the query string. Raises InputError for what cannot be one."""
        return {name: _in_query(name, self.given[name]) for name in self.shape.in_query(self.given)}

    @property
    def if_match_header(self) -> str | None:
        return None if self.if_match is None else f'"{self.if_match}"'

    def body_text(self) -> str:
        """Return the body as JSON text.

        Raises TooLargeError if it is longer than the service reads, InputError if it cannot be
        written.
        """
        elsewhere = {*self.shape.path_names, *self.shape.query}
        members = [
            f"{jsontext.write(name)}:{jsontext.write(held, name)}"
            for name, held in self.given.items()
            if name not in elsewhere
        ]
        text = "{" + ",".join(members) + "}"
        if len(text) > BODY_CHARACTERS_MAX:
            raise TooLargeError(f"a body is at most {BODY_CHARACTERS_MAX:,} characters, not {len(text):,}")
        return text


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer as it came. text: JSON; empty without a body.

    retry_after_s: how long the service asks to wait. attempts: how often the call was sent, and
    idempotency_key: with what. etag: names what the answer says. ask_again_ms: after how long who
    watches asks again.
    """

    status: int
    text: str
    request_id: str | None = None
    retry_after_s: float | None = None
    attempts: int = 1
    idempotency_key: str | None = None
    etag: str | None = None
    ask_again_ms: int | None = None

    def value(self) -> Any:
        """Return what the text means; None without a body. Raises ValueError if it is no JSON."""
        return jsontext.read(self.text) if self.text else None


def new_key() -> str:
    """Return an idempotency key that nobody else has."""
    return secrets.token_urlsafe(24)


def id_of_child(parent_id: str, own: str | None, key: Any) -> str:
    """Return the id of a new child: one's own, or the same for each call with a key.

    With a key it is a UUID of version 5 in the parent's namespace (RFC 9562), so that the clients
    of all languages find the same child.
    Raises InputError for both, and for what they cannot be.
    """
    if own is not None and key is not None:
        raise InputError("a child has an id of its own or a key, not both", details={"field": "key"})
    if key is None:
        return str(uuid.uuid4()) if own is None else own
    if not isinstance(key, str) or not key or jsontext.HALVES.search(key):
        raise InputError("the key of a child is text", details={"field": "key"})
    try:
        return str(uuid.uuid5(uuid.UUID(parent_id), key))
    except ValueError:
        raise InputError(f"{parent_id[:60]!r} is the id of no conversation") from None


class TransportError(Exception):
    """A transport got no answer.

    may_have_arrived: whether the service may have carried the call out.
    """

    def __init__(self, message: str, *, may_have_arrived: bool = True) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def _check_path(name: str, value: Any) -> None:
    """Refuse what is no id: in a path it could name something else."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        shown = repr(value)[:60]
        raise InputError(f"{name} must be an id, not {shown}", details={"field": name})


def _in_query(name: str, value: Any) -> str:
    """Return a parameter of a query string. Raises InputError for what cannot be one."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | str():
            text = str(value)
            if jsontext.HALVES.search(text):
                raise InputError(f"{name} holds half of a surrogate pair", details={"field": name})
            return text
    raise InputError(
        f"{name} is text, a whole number or a truth, not {type(value).__name__}", details={"field": name}
    )


def _check_key(key: Any) -> None:
    """HTTP drops spaces around a header's value, so a key that has some would be another key."""
    is_ascii = isinstance(key, str) and key.isascii() and key.isprintable() and key == key.strip()
    if not (is_ascii and 1 <= len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX):
        raise InputError(
            f"an idempotency key is 1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters, "
            "without a space at either end",
            details={"field": "idempotency_key"},
        )


def _check_length(given: Mapping[str, Any], name: str, most: int) -> None:
    """Refuse an argument that is longer than the service takes."""
    outer, inner, rest = name.partition(MORE)
    if inner:
        elements = given.get(outer)
        for element in elements if isinstance(elements, list | tuple) else ():
            if isinstance(element, Mapping):
                _check_length(element, rest, most)
        return
    value = given.get(name)
    if isinstance(value, str | list | tuple) and len(value) > most:
        unit = "characters" if isinstance(value, str) else "elements"
        raise InputError(f"{name} has at most {most:,} {unit}, not {len(value):,}", details={"field": name})
