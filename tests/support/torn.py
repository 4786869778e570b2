"""Torn batch reads. BatchGetItem is no snapshot: other requests may write between its items.

Source: read-committed isolation of BatchGetItem (DynamoDB developer guide, transaction isolation
levels).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forklore_service.domain.keys import Key
from forklore_service.storage.table import Table


class TornClient:
    """A client of DynamoDB, or of anything that answers as it does, that tears one batch read.

    number: which batch read is torn, counted from 1. early: tells of each key whether its item is
    read before `between` runs. The others are read after it. torn: the keys of that read, as soon
    as it was made.
    """

    def __init__(
        self, client: Any, number: int, early: Callable[[Key], bool], between: Callable[[], object]
    ) -> None:
        self._client = client
        self._left = number
        self._early = early
        self._between = between
        self.torn: list[Key] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_get_item(self, *, RequestItems: Mapping[str, Any], **more: Any) -> dict[str, Any]:  # noqa: N803
        self._left -= 1
        if self._left:
            answer: dict[str, Any] = self._client.batch_get_item(RequestItems=RequestItems, **more)
            return answer
        [(table, asked)] = RequestItems.items()
        self.torn = [_key(key) for key in asked["Keys"]]
        halves = (
            [key for key in asked["Keys"] if self._early(_key(key))],
            [key for key in asked["Keys"] if not self._early(_key(key))],
        )
        answers = []
        for keys, then in zip(halves, (self._between, None), strict=True):
            if keys:
                part = {table: {**asked, "Keys": keys}}
                answers.append(self._client.batch_get_item(RequestItems=part, **more))
            if then is not None:
                then()
        return _joined(table, asked, answers)


def tear(
    table: Table, *, early: Callable[[Key], bool], between: Callable[[], object], number: int = 1
) -> TornClient:
    """Let one batch read of a table be torn, counted from 1 and from now on."""
    torn = TornClient(table.connection.client, number, early, between)
    table.connection.client = torn
    return torn


def of_kind(kind: str) -> Callable[[Key], bool]:
    """Return a test for the keys of a kind of item of a tree, such as HEAD."""
    return lambda key: key.sort.startswith(kind)


def _key(key: Mapping[str, Any]) -> Key:
    return Key(key["PK"]["S"], key["SK"]["S"])


def _joined(table: str, asked: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answers of the two parts as one."""
    left = [key for answer in answers for key in answer["UnprocessedKeys"].get(table, {}).get("Keys", [])]
    return {
        **answers[-1],
        "Responses": {table: [item for answer in answers for item in answer["Responses"].get(table, [])]},
        "UnprocessedKeys": {table: {**asked, "Keys": left}} if left else {},
    }
