"""The introduction of the OpenAPI document with its first steps, and the texts of operations."""

from collections.abc import Mapping

from forklore_service.api.operation import Operation

FIRST_STEPS: Mapping[str, str] = {
    "createConversation": "Create a conversation, with an id of your choice.",
    "appendEntry": "Append an entry: a question.",
    "listEntries": "List the entries.",
    "forkConversation": "Fork the conversation at its head. Nothing is copied.",
    "listForks": "List the fork tree: the conversation and its fork.",
    "getConversation": "Show the conversation, with its metrics.",
    "updateConversation": "Change its title and tags.",
    "listConversations": "List your conversations, what was used last first: one of each fork tree.",
    "shareConversation": "Share the fork tree with `bob`.",
    "listMemberships": "List its members.",
    "updateMembership": "Let `bob` manage it.",
    "requestTransfer": "Offer `bob` the ownership. Only `bob` can accept it.",
    "listTransfers": "List the transfers that are pending.",
    "removeMembership": "Remove `bob`; the transfer goes, too.",
    "deleteConversation": "Delete the whole fork tree. Its ids cannot be used again for 30 days.",
}
"""What each step does, by its operation. In this order the examples work on an empty server."""

_INTRODUCTION = """\
A conversation store for AI agents that forks like git.

**First steps.** Open an operation, press *Try it out* and *Execute*. On an empty server the
examples work as they are, in this order:

{steps}

A step that is done twice may be refused: the id is in use, the user a member already. Choose
another id, or start the local server again.

**Who you are.** *Authorize* takes the bearer token (`user`). On the local server the token is the
user id: any text. Deployed, it is a JWT of the configured issuer.
Agents send an API key as well (`client`): `local-key` on the local server. They may use the
`context` channel and `syncContext`.

**Sent again.** A request with an `Idempotency-Key` takes effect once, however often it is sent.
"""


def introduction(tags: Mapping[str, str]) -> str:
    """Return the document's description, in Markdown. tags: of every operation, by name."""
    steps = [
        f"{number}. [{name}](#/{tags[name]}/{name}): {told}"
        for number, (name, told) in enumerate(FIRST_STEPS.items(), 1)
    ]
    return _INTRODUCTION.format(steps="\n".join(steps))


def documentation(operation: Operation) -> tuple[str, str]:
    """Return the summary and the description of an operation."""
    summary, description = operation.document()
    if operation.role is not None:
        description = f"For callers with the role `{operation.role}`; `admin` implies `auditor`."
    return summary, description
