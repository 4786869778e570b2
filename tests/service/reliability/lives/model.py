"""What the lives of an application must leave, told from its journal. This is the whole model.

A *line* is the history of a conversation or a memory in it: texts in order, each said once. A
*flag* is what is so or not, such as a membership. The journal says when each was begun and when it
was acknowledged.

1. What was acknowledged is there once, in the order of acknowledgements.
2. What was begun is there once or not at all, however often a run repeats it.
3. Of two changes of a flag, the one that was begun later stands.
4. Who is removed sees nothing, and can write nothing.
5. After a restore the same holds for what was there when the backup was made, and since.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.service.reliability.violation import hold


@dataclass
class Line:
    """When each text was begun first, and when it was acknowledged."""

    begun: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)

    def check(self, seen: Sequence[str]) -> None:
        """Raise Violation unless a reader may see this now."""
        times = Counter(seen)
        hold(not (lost := [text for text in self.done if not times[text]]), "lost:", lost, seen)
        hold(max(times.values(), default=1) == 1, "doubled:", times - Counter(set(seen)), seen)
        hold(not (others := times.keys() - self.begun.keys()), "never said:", others)
        for first, then in pairwise(seen):
            before = self.done.get(then)
            hold(before is None or before > self.begun[first], "out of order:", first, then, seen)


@dataclass
class State:
    """What is known at one place of the journal. flags: when each was changed last, and to what.

    None: a change was begun, and nobody knows whether it was made.
    """

    lines: defaultdict[str, Line] = field(default_factory=lambda: defaultdict(Line))
    flags: dict[str, tuple[int, bool | None]] = field(default_factory=dict)


def check(journal: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Go through a journal; return how many records there were of each kind. Raises Violation."""
    state, backup, counts = State(), State(), Counter[str]()
    for at, record in enumerate(journal):
        counts[record["what"]] += 1
        match record:
            case {"what": "begun", "line": line, "texts": [text]}:
                state.lines[line].begun.setdefault(text, at)
            case {"what": "done", "line": line, "texts": [text]}:
                state.lines[line].done.setdefault(text, at)
            case {"what": "changing", "flag": flag}:
                state.flags[flag] = at, None
            case {"what": "changed", "flag": flag, "begun": begun, "to": to}:
                if state.flags[flag][0] == begun:
                    state.flags[flag] = at, to
            case {"what": "saw", "line": line, "texts": seen}:
                state.lines[line].check(seen)
            case {"what": "tried", "flag": flag, "may": may}:
                known = state.flags.get(flag, (0, False))[1]
                hold(known is None or may is None or known == may, flag, "is", known, "and was found", may)
            case {"what": "backup"}:
                backup = deepcopy(state)
            case {"what": "restored"}:
                state = deepcopy(backup)
            case {"what": "crashed", "error": error}:
                hold(False, "an application met an error that is not forklore's:", error)
    return counts
