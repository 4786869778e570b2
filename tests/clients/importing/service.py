"""Carries plans out on the real service: direct invocation of the functions, on moto."""

from collections.abc import Iterator
from typing import Any

from forklore.client import jsontext
from forklore.importing.loading import ImportAnswer, ImportCall, ImportRefusal, Loading
from forklore.importing.plan import Plan
from tests.service.aws.direct import Direct


class Stopped(Exception):
    """The import was stopped."""


class Service:
    """Answers calls. asked: how many so far. stop_after: raises Stopped at the call after it."""

    def __init__(self, direct: Direct, *, user: str, agent: str | None = None) -> None:
        self._direct = direct
        self.user = user
        self.agent = agent
        self.asked = 0
        self.stop_after: int | None = None
        self.forgets = ""  # a new text makes the service forget all Idempotency-Keys

    def answer(self, call: ImportCall) -> ImportAnswer | ImportRefusal:
        """Return the answer to a call of an import."""
        if self.asked == self.stop_after:
            raise Stopped
        self.asked += 1
        given = jsontext.read(jsontext.write(call.given))
        if call.idempotency_key:
            given["idempotencyKey"] = call.idempotency_key + self.forgets
        if call.if_match:
            given["ifMatch"] = call.if_match
        answer = self._direct.ask(call.operation, given, user=self.user, agent=self.agent)
        if answer["status"] < 300:
            return ImportAnswer(answer["body"])
        details = answer["body"]["details"]
        return ImportRefusal(answer["status"], details.get("reason"), details["message"])

    def load(self, plan: Plan) -> Loading:
        """Carry out every batch of a plan, one after the other."""
        loading = Loading(plan)
        for number in range(len(plan.batches)):
            self.drive(loading, number)
        return loading

    def drive(self, loading: Loading, number: int) -> None:
        """Carry one batch out."""
        steps = loading.batch(number)
        try:
            call = next(steps)
            while True:
                call = steps.send(self.answer(call))
        except StopIteration:
            return

    def ask(self, operation: str, **given: Any) -> Any:
        """Return the body of a successful answer."""
        answer = self._direct.ask(operation, given, user=self.user, agent=self.agent)
        assert answer["status"] < 300, answer
        return answer["body"]

    def say(self, conversation_id: str, text: str) -> None:
        """Append a message, as a person would."""
        content = [{"role": "USER", "text": text}]
        self.ask("appendEntry", conversationId=conversation_id, contentType="history", content=content)

    def view(self, conversation_id: str) -> list[dict[str, Any]]:
        """Return what a conversation shows."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("listEntries", conversationId=conversation_id, limit=1000, **cursor)
            rows += page["data"]
            if page["afterCursor"] is None:
                return rows
            cursor = {"afterCursor": page["afterCursor"]}

    def texts(self, conversation_id: str) -> list[Any]:
        """Return the texts that a conversation shows."""
        return [row["content"][0].get("text") for row in self.view(conversation_id)]

    def forks(self, conversation_id: str) -> list[dict[str, Any]]:
        """Return every conversation of the tree."""
        return list(self._forks(conversation_id))

    def _forks(self, conversation_id: str) -> Iterator[dict[str, Any]]:
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("listForks", conversationId=conversation_id, limit=200, **cursor)
            yield from page["data"]
            if page["afterCursor"] is None:
                return
            cursor = {"afterCursor": page["afterCursor"]}
