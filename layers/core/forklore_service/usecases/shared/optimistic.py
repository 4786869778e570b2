"""The optimistic loop: read, decide, commit; decide again when a condition is refused.

    for _ in attempts(table, CHANGE):
        writes = ...  # what was read decides them
        refused = table.try_commit(writes)
        if refused is None:
            return ...
    raise UnavailableError("...")

Only this module says how often and how soon a request decides again. The deadline of the request
ends each loop, too.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from forklore_service.storage.table import Table


class RetryPolicy(NamedTuple):
    """How often a request may decide again, and how long it pauses before that.

    attempts_max: the first attempt included. in_a_row: attempts that follow each other without a
    pause. pauses_max: pauses get longer up to this one; None: up to the last.
    """

    attempts_max: int
    in_a_row: int = 1
    pauses_max: int | None = None

    def pause_before(self, attempt: int) -> int:
        """Return the number of the pause before an attempt; 0: there is none."""
        pause = 0 if attempt % self.in_a_row else attempt // self.in_a_row
        return pause if self.pauses_max is None else min(pause, self.pauses_max)


CREATION = RetryPolicy(8)
"""For a new conversation. Other writers seldom change what it is decided on."""
CREATION_AT_HEAD = RetryPolicy(64, pauses_max=4)
"""For a fork that holds its source's last entry. Each append to the source refuses it once."""
CHANGE = RetryPolicy(16)
"""For a change of what exists: a conversation, its context, its members, its owner."""
TOMBSTONE = RetryPolicy(8)
"""For the tombstone of a tree. Only a new owner or another deletion can refuse it."""
APPEND = RetryPolicy(192, in_a_row=8, pauses_max=4)
"""For an append, which is decided again on what its refusal has returned.

That is out of date after a pause in which others write. So the first attempt after a pause only
learns what stands there, and the next ones follow at once: so many that one of them succeeds beside
another writer who never rests, though each refused attempt costs a write. The pauses stay short, so
that many writers take turns soon.
"""


def attempts(table: Table, policy: RetryPolicy) -> Iterator[int]:
    """Yield the number of each attempt, from 0, after the pause before it.

    From the second attempt on, no other process of this machine writes, but in the pauses.
    Ends after the last attempt of the policy. Raises UnavailableError when there is no time left
    for a pause.
    """
    with ExitStack() as alone:
        for attempt in range(policy.attempts_max):
            pause = policy.pause_before(attempt)
            if pause:
                alone.close()
            table.pause(pause)
            if pause or attempt == 1:
                alone.enter_context(table.alone())
            yield attempt
