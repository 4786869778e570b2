"""How many requests of a user one process lets through, of those that a minute has room for.

Many processes serve a user. Each counts the user's requests itself. It adds them to the count of
all processes a few at a time, and learns that count then. So a user of few requests costs nothing,
and the limit is exact to `uncounted_max` requests for each process that serves the user.
"""

from dataclasses import dataclass

WINDOW_SECONDS = 60
UNCOUNTED_MAX = 10
"""A process counts a user's requests at the latest when there are so many."""


def window_of(now_s: int) -> int:
    """Return the second at which the minute of a time begins.

    >>> window_of(59), window_of(60)
    (0, 60)
    """
    return now_s - now_s % WINDOW_SECONDS


def uncounted_max(per_minute: int) -> int:
    """Return how many requests of a user a process counts at once.

    >>> [uncounted_max(limit) for limit in (1, 39, 40, 199, 200, 100_000)]
    [1, 1, 2, 9, 10, 10]
    """
    return max(1, min(UNCOUNTED_MAX, per_minute // 20))


@dataclass(slots=True)
class Tally:
    """A user's requests in one minute, as one process knows them.

    counted: by all processes, as far as this one knows. uncounted: of this process, since then.
    """

    counted: int = 0
    uncounted: int = 0

    def take(self, per_minute: int) -> int | None:
        """Let a request through. Return how many are to be counted now; None: the minute is full.

        >>> tally = Tally()
        >>> [tally.take(41) for _ in range(4)], tally
        ([0, 2, 0, 2], Tally(counted=4, uncounted=0))
        """
        if self.counted + self.uncounted >= per_minute:
            return None
        self.uncounted += 1
        if self.uncounted < uncounted_max(per_minute):
            return 0
        due, self.uncounted = self.uncounted, 0
        self.counted += due
        return due

    def learn(self, counted: int) -> None:
        """Take over the count of all processes. It never becomes lower."""
        self.counted = max(self.counted, counted)
