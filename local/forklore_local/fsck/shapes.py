"""The kinds of items, their keys, and their attributes (see docs/architecture.md)."""

from dataclasses import dataclass
from enum import StrEnum

from forklore_service.domain import ids
from forklore_service.domain.keys import Key
from forklore_service.storage.connection import Item


class Kind(StrEnum):
    """A kind of item, by its name in docs/architecture.md."""

    GROUP = "group"
    CONV = "conv"
    PATH = "path"
    HEAD = "head"
    CTX = "ctx"
    TREE = "tree"
    GONE = "gone"
    MEM = "mem"
    LINK = "link"
    NOTE = "note"
    ENTRY = "entry"
    KEY = "key"
    SHELF = "shelf"
    PINS = "pins"
    VEC = "vec"
    CHILD = "child"
    BLOB = "blob"
    PTR = "ptr"
    USER_TREE = "user_tree"
    NAME = "name"
    PART = "part"
    XFER = "xfer"
    IDEM = "idem"
    RATE = "rate"
    FILE = "file"
    REF = "ref"
    USER_FILE = "user_file"
    JOB = "job"
    ERASURE = "erasure"
    ERASED_TREE = "erased_tree"
    RETENTION = "retention"


@dataclass(frozen=True, slots=True)
class Shape:
    """The attributes of a kind, without its key, each with DynamoDB's letter for its type."""

    needed: dict[str, str]
    possible: dict[str, str]

    def unknown(self, item: Item) -> list[str]:
        """Return the attributes of the item that its kind does not have."""
        known = {**_KEY, **self.needed, **self.possible}
        return [name for name in item if name not in known]

    def malformed(self, item: Item) -> list[str]:
        """Return the attributes that are missing or have a wrong type."""
        types = {**self.possible, **self.needed}
        missing = [name for name in self.needed if name not in item]
        return missing + [name for name, letter in types.items() if name in item and letter not in item[name]]


def _attributes(spelled: str) -> dict[str, str]:
    return dict(part.split(":") for part in spelled.split())


def _shape(needed: str = "", possible: str = "") -> Shape:
    return Shape(_attributes(needed), _attributes(possible))


_KEY = {"PK": "S", "SK": "S"}

SHAPES = {
    Kind.GROUP: _shape(
        "owner:S createdAt:S state:S members:N version:N conversations:N children:N",
        "parent:S childKey:S nonce:S G1:S G1S:S deletedAt:S neverLive:BOOL"
        " rewriting:S current:S promotedBy:S promotions:N usedAt:S forkedAt:S memberChange:M spreading:S"
        " cascaded:BOOL embedded:BOOL shelf:S trashedAt:S restoredAt:S trashedBranches:N",
    ),
    Kind.CONV: _shape(
        "createdAt:S",
        "title:S tags:M metadata:S agentId:S clientId:S forkedAtConversationId:S forkedAtEntryId:S"
        " forkedAtPosition:S startedByConversationId:S startedByEntryId:S titledBy:S changes:N"
        " imported:BOOL answer:S kept:S",
    ),
    Kind.PATH: _shape("path:B"),
    Kind.HEAD: _shape(
        "changedAt:S floor:S history:N context:N entries:N inputTokens:N outputTokens:N"
        " cachedInputTokens:N costNanoUsd:N",
        "first:S lastHistory:S lastContext:S untitled:BOOL preview:S previewBy:S promotedAt:S changes:N"
        " imported:BOOL answer:S answerAfter:S answerBy:S answerSince:S last:S shut:S"
        " owner:S kept:S",
    ),
    Kind.CTX: _shape("epoch:N first:S last:S count:N", "digest:B"),
    Kind.TREE: _shape("", "L1:S kept:S"),
    Kind.GONE: _shape(
        "removedAt:S nonce:S", "L1:S answer:S imported:BOOL G1:S G1S:S successor:S promotions:N"
    ),
    Kind.MEM: _shape("userId:S level:S createdAt:S", "nonce:S archived:BOOL"),
    Kind.LINK: _shape("conversation:S createdAt:S ttl:N", "upTo:S userIds:BOOL stays:BOOL opens:N"),
    Kind.NOTE: _shape("userId:S", "text:S score:S clientId:S pinned:BOOL imported:BOOL"),
    Kind.ENTRY: _shape(
        "L1:S userId:S contentType:S size:N nonce:S",
        "clientId:S agentId:S epoch:N usage:S metadata:S body:B chunks:N prev:B turn:B key:S mergedFrom:S"
        " copiedFrom:S indexed:B erased:BOOL files:S",
    ),
    Kind.KEY: _shape("entry:S"),
    Kind.VEC: _shape("m:S v:B", "V:L shelf:S g:S c:S"),
    Kind.SHELF: _shape("shelf:S"),
    Kind.PINS: _shape("rows:S"),
    Kind.CHILD: _shape("", "startedByEntryId:S"),
    Kind.BLOB: _shape("data:B"),
    Kind.PTR: _shape("", "group:S nonce:S retired:BOOL ttl:N"),
    Kind.USER_TREE: _shape("", "level:S archived:BOOL L1:S moves:B shelf:S"),
    Kind.NAME: _shape(
        "conversation:S revision:N createdAt:S updatedAt:S nonce:S",
        "clientId:S data:S previous:S",
    ),
    Kind.PART: _shape(
        "kind:S conversation:S createdAt:S ttl:N",
        "size:N userId:S clientId:S agentId:S after:S body:B entry:S next:S nonce:S",
    ),
    Kind.XFER: _shape("id:S group:S conversation:S from:S to:S createdAt:S", "nonce:S"),
    Kind.IDEM: _shape("request:S group:S conversation:S body:B ttl:N", "entries:S"),
    Kind.RATE: _shape("requests:N ttl:N"),
    Kind.FILE: _shape(
        "createdAt:S named:N",
        "type:S size:N sha256:S name:S owner:S namedBy:S pending:BOOL removed:BOOL going:BOOL asked:S due:S",
    ),
    Kind.REF: _shape(),
    Kind.USER_FILE: _shape("file:S", "size:N"),
    Kind.JOB: _shape("", "createdAt:S holder:S leasedUntil:S nonce:S moves:S"),
    Kind.ERASURE: _shape(
        "pseudonym:S createdAt:S trees:N memberships:N entries:N passes:N",
        "finishedAt:S userId:S changes:N notBefore:S changesBefore:N waits:BOOL places:S step:N",
    ),
    Kind.ERASED_TREE: _shape(),
    Kind.RETENTION: _shape("begunAt:S places:S"),
}

_BY_PARTITION = {
    "BLOB": Kind.BLOB,
    "PTR": Kind.PTR,
    "ANSWER": Kind.PART,
    "XFER": Kind.XFER,
    "IDEM": Kind.IDEM,
    "RATE": Kind.RATE,
    "JOB": Kind.JOB,
}
_IN_TREE = {
    "GROUP": Kind.GROUP,
    "CONV": Kind.CONV,
    "PATH": Kind.PATH,
    "HEAD": Kind.HEAD,
    "CTX": Kind.CTX,
    "TREE": Kind.TREE,
    "GONE": Kind.GONE,
    "MEM": Kind.MEM,
    "LINK": Kind.LINK,
    "NOTE": Kind.NOTE,
    "KEY": Kind.KEY,
    "VEC": Kind.VEC,
    "CHILD": Kind.CHILD,
    "XFER": Kind.XFER,
}
"""The kinds in a tree's partition except entries, by the beginning of their sort keys."""
_IN_USER = {
    "XFER": Kind.XFER,
    "NAME": Kind.NAME,
    "FILE": Kind.USER_FILE,
    "SHELF": Kind.SHELF,
    "PINS": Kind.PINS,
}
"""Those in a user's partition except rows of the list of trees, in the same way."""


def kind_of(key: Key) -> Kind | None:
    """Return the kind of the item at a key; None if forklore writes no such key.

    >>> kind_of(Key("USER#ann", "2026-03-01T09:15:00.000Z#c"))
    <Kind.USER_TREE: 'user_tree'>
    """
    prefix, sort = key.partition.partition("#")[0], key.sort.partition("#")[0]
    if ids.is_uuid(key.partition):
        return Kind.ENTRY if key.sort[:1].isdigit() else _IN_TREE.get(sort)
    if prefix == "USER":
        return _IN_USER.get(sort, Kind.USER_TREE)
    if prefix == "FILE":
        return {"FILE": Kind.FILE, "REF": Kind.REF}.get(sort)
    if prefix == "RETENTION":
        return Kind.RETENTION
    if prefix == "ERASURE":
        return {"ERASURE": Kind.ERASURE, "TREE": Kind.ERASED_TREE}.get(sort)
    return _BY_PARTITION.get(prefix)
