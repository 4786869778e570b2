"""Turns: which entries of one append belong together, so that no fork comes between them.

Each history entry has a turn. The context entries of an append belong to the history entry that
they follow in it, and those before its first history entry to that one. An append of context
alone has no turn.
"""

from collections.abc import Sequence
from itertools import pairwise

from forklore_service.domain.model import Channel, Entry, Turn


def turns_of(channels: Sequence[Channel]) -> list[range]:
    """Return the turns of entries that are appended together, as ranges of their indexes.

    >>> turns_of([Channel.CONTEXT, Channel.HISTORY, Channel.CONTEXT, Channel.HISTORY])
    [range(0, 3), range(3, 4)]
    >>> turns_of([Channel.CONTEXT])
    []
    """
    history = [at for at, channel in enumerate(channels) if channel is Channel.HISTORY]
    if not history:
        return []
    return [range(begin, end) for begin, end in pairwise([0, *history[1:], len(channels)])]


def with_turns(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of one append, each with its turn if that has more than one entry."""
    told = list(entries)
    for turn in turns_of([entry.channel for entry in entries]):
        first, last = entries[turn[0]], entries[turn[-1]]
        if len(turn) > 1:
            after = last.after.moved(last.channel, last.entry_id)
            whole = Turn(first.entry_id, last.entry_id, before=first.after, after=after)
            for at in turn:
                told[at] = told[at]._replace(turn=whole)
    return told
