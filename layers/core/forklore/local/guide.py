"""What the OpenAPI document says in words: the first steps, and what each of a user's operations does."""

from collections.abc import Mapping

from forklore.api.operation import Operation

FIRST_STEPS: Mapping[str, str] = {
    "createConversation": "Create a conversation, with an id of your choice.",
    "appendEntry": "Append an entry: a question.",
    "listEntries": "List the entries.",
    "forkConversation": "Fork the conversation at its head. Nothing is copied.",
    "listForks": "List the fork tree: the conversation and its fork.",
    "getConversation": "Show the conversation, with its metrics.",
    "updateConversation": "Change its title and tags.",
    "listConversations": "List your conversations: of each fork tree the one that changed last.",
    "shareConversation": "Share the fork tree with `bob`.",
    "listMemberships": "List its members.",
    "updateMembership": "Let `bob` manage it.",
    "requestTransfer": "Offer `bob` the ownership. Only `bob` can accept it.",
    "listTransfers": "List the transfers that are pending.",
    "removeMembership": "Remove `bob`; the transfer goes, too.",
    "deleteConversation": "Delete the whole fork tree. Its ids cannot be used again for 30 days.",
}
"""What each step does, by its operation: in an order in which the examples work on an empty server."""

_INTRODUCTION = """\
A conversation store for AI agents that forks like git.

**First steps.** Open an operation, press *Try it out* and *Execute*. On an empty server the
examples work as they are, in this order:

{steps}

A step that is done twice may be refused: the id is in use, the user a member already. Choose
another id, or start the local server again.

**Who you are.** *Authorize* takes the bearer token (`user`). On the local server the token is the
user id, and its page `/docs` begins as `alice`; deployed, it is a JWT of the configured issuer.
Agents send an API key as well (`client`): `local-key` on the local server. They may use the
`context` channel and `syncContext`.

**Sent again.** A request with an `Idempotency-Key` takes effect once, however often it is sent.
"""

DESCRIPTIONS: Mapping[str, str] = {
    "checkHealth": "Needs no credentials.",
    "createConversation": (
        "You become its owner. Without an `id` the service chooses one. Appending to an id that does "
        "not exist creates the conversation, too."
    ),
    "listConversations": (
        "`mode` chooses which conversations of a fork tree are shown, `query` those with a text in "
        "their title. A page may be short, even empty: only an `afterCursor` of null ends the list."
    ),
    "getConversation": "For every member of its fork tree.",
    "updateConversation": (
        "For writers. What the body names is replaced as a whole, the rest stays. `title: null` clears "
        "the title."
    ),
    "deleteConversation": (
        "For the owner. 202 says that closing a very wide tree goes on in the background. The ids "
        "cannot be used again for 30 days."
    ),
    "forkConversation": (
        "For writers. The fork shows what its source showed up to `atEntryId`, excluded or included as "
        "`position` says, or everything without it. Later entries of either are not shown in the other."
    ),
    "listForks": "For every member. Each says where it was forked.",
    "listChildren": (
        "A child is a conversation for a delegated task: see `startedByConversationId` at appendEntry."
    ),
    "appendEntry": (
        "For writers. An unknown conversation is created; with `forkedAtConversationId` as a fork, "
        "with `startedByConversationId` as a child. `If-Match` appends only behind the entry that it "
        "names. Only agents may write to the `context` channel."
    ),
    "syncContext": (
        "For agents: authorize with an API key as well (`client`). `content` is the whole present "
        "context; the service compares it with the stored one and writes the difference."
    ),
    "listEntries": (
        "For every member. The cursors are ids of entries. `tail` gives the page at the end, still the "
        "oldest first. Users see the history; agents their own context as well."
    ),
    "listMemberships": "For every member.",
    "shareConversation": (
        "Owners let managers, writers and readers in, managers writers and readers. It holds for every fork."
    ),
    "updateMembership": "By the rules of sharing, for the level that the member has now and the new one.",
    "removeMembership": (
        "By the rules of sharing; everybody but the owner may leave. A transfer to the member goes, too."
    ),
    "updateMembershipByPath": "As with `userId` in the query, for user ids that a path can name.",
    "removeMembershipByPath": "As with `userId` in the query, for user ids that a path can name.",
    "requestTransfer": "For the owner. The member has to accept it; one can be pending at a time.",
    "listTransfers": "`role` chooses those that you have sent or that wait for you.",
    "getTransfer": "Its `id` comes from requestTransfer or listTransfers. To everybody else it is 404.",
    "deleteTransfer": "Its `id` comes from requestTransfer or listTransfers. Nobody's level changes.",
    "acceptTransfer": "For the recipient. Its `id` comes from listTransfers.",
}
"""What each operation of users says below its summary, by name."""


def introduction(tags: Mapping[str, str]) -> str:
    """Return the document's description, in Markdown. tags: of every operation, by name."""
    steps = [
        f"{number}. [{name}](#/{tags[name]}/{name}): {told}"
        for number, (name, told) in enumerate(FIRST_STEPS.items(), 1)
    ]
    return _INTRODUCTION.format(steps="\n".join(steps))


def description(operation: Operation) -> str:
    """Return what an operation's description says. Empty: nobody has written one."""
    if operation.role is not None:
        return f"For callers with the role `{operation.role}`; `admin` implies `auditor`."
    return DESCRIPTIONS.get(operation.name, "")
