"""What of a request counts where one with the same Idempotency-Key comes."""

from tests.service.model.asking import Json, Outcome, Request
from tests.service.model.oracle.views import SAID


def aside(r: Request) -> set[str]:
    """Return what does not count of a repeated request.

    That is why an admin asks, and how an append finds or makes its place.
    """
    if r.caller.bypasses_membership:
        return {"justification"}
    if r.name not in ("appendEntry", "appendEntryByName"):
        return set()
    origin = {name for name in r.given if name.startswith(("forkedAt", "startedBy"))}
    described = {*SAID} - (set() if "entries" in r.given else {"metadata"})
    return {"conversationId", "name", *described, *origin}


def meaning(given: Json, name: str = "") -> Json:
    """Return what counts of a field or of a whole body: its value, or the exact text of some."""
    if name in ("content", "data", "metadata", "usage"):
        return repr(given)
    if isinstance(given, dict):
        return {name: meaning(held, name) for name, held in given.items()}
    if isinstance(given, list):
        return [meaning(held) for held in given]
    return given.lower() if name == "channel" else given


def made_by(outcome: Outcome) -> str:
    """Return the conversation that a request has made, or that it found and wrote to by itself."""
    body = outcome[1].get("data", [outcome[1]])[0]
    made: str = body.get("conversationId") or body["id"]
    return made
