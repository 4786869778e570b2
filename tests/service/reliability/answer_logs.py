"""A checker of what several callers saw of answers that were written piece by piece.

The checker is pure. Its input is what each caller knows of its own requests, and what the table
holds at the end. All texts are unique, so a text identifies its request. Times are nanoseconds of
one monotonic clock.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from forklore_service.domain.answer_logs import Part, PartKind
from tests.service.reliability.list_append import Outcome

NEVER_NS = 2**62
"""When a request was answered whose caller was killed before."""


class Kind(StrEnum):
    """What a request is about."""

    BEGIN = "begin"
    PART = "part"
    STOP = "stop"
    DROP = "drop"
    FINISH = "finish"
    READ = "read"
    REMOVE_MEMBER = "remove a member"
    REMOVE_BRANCH = "remove a branch"
    DELETE_TREE = "delete a tree"


@dataclass(frozen=True)
class Asked:
    """A request. number: its own one. of: the conversation in which the answer was begun.

    user: who asks. member: who is removed. after, text: of a part; of a finish its entry's text; no
    text is a heartbeat. position, parts: what a read has shown, parts by position.
    """

    number: str
    kind: Kind
    user: str
    of: str
    answer: str = ""
    member: str = ""
    after: int = 0
    text: str = ""
    sent_ns: int = 0
    answered_ns: int = NEVER_NS
    outcome: Outcome = Outcome.UNKNOWN
    position: int = 0
    parts: Mapping[int, str] = field(default_factory=dict)


def to_line(asked: Asked) -> str:
    return json.dumps(asdict(asked))


def of_lines(lines: Iterable[str]) -> list[Asked]:
    """Return the requests of a log. The last line of a request says what became of it."""
    found: dict[str, Asked] = {}
    for line in lines:
        told = json.loads(line)
        parts = {int(position): text for position, text in told.pop("parts").items()}
        kind, outcome = Kind(told.pop("kind")), Outcome(told.pop("outcome"))
        found[told["number"]] = Asked(**told, kind=kind, outcome=outcome, parts=parts)
    return list(found.values())


@dataclass(frozen=True)
class Final:
    """What the table holds. logs: the parts of each answer, in order. entries: ids by their text.

    trees: the root of each conversation.
    """

    logs: Mapping[str, Sequence[Part]]
    entries: Mapping[str, Sequence[str]]
    trees: Mapping[str, str]

    def holds(self, asked: Asked) -> bool:
        """Tell whether the table has what a request writes, by its text."""
        log = self.logs.get(asked.answer, ())
        return bool(asked.text) and (
            asked.text in self.entries or any(text_of(part) == asked.text for part in log)
        )


def text_of(part: Part) -> str:
    """Return the text of a part; none of a heartbeat."""
    return "".join(json.loads(part.content))


def check(asked: Sequence[Asked], final: Final) -> list[str]:
    """Return what is wrong, in words."""
    of_answer: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        of_answer[one.answer].append(one)
    found: list[str] = []
    for answer_id in {*final.logs, *of_answer} - {""}:
        log = final.logs.get(answer_id, ())
        found += (f"answer {answer_id}: {fault}" for fault in _of_log(log))
        found += (f"answer {answer_id}: {fault}" for fault in _of_answer(of_answer[answer_id], log, final))
    return found + list(_after_the_end_of_access(asked, final))


def _of_log(log: Sequence[Part]) -> Iterator[str]:
    """Yield what is wrong with the form of a log."""
    if [part.position for part in log] != list(range(len(log))):
        yield f"there is a gap: {[part.position for part in log]}"
    kinds = "".join(part.kind.value[0] for part in log)  # b, d, s and e
    body = kinds.removeprefix("b").removesuffix("e").removesuffix("s")
    if log and (kinds[0] != "b" or body.strip("d")):
        yield f"its parts are {kinds}"


def _of_answer(asked: Sequence[Asked], log: Sequence[Part], final: Final) -> Iterator[str]:
    """Yield what the log of an answer and its entries have that does not go with the requests."""
    done = [one for one in asked if one.outcome is Outcome.OK]
    perhaps = [one for one in asked if one.outcome is not Outcome.FAILED]
    parts = {part.position: text_of(part) for part in log if part.kind is PartKind.DATA}
    kinds = {part.kind for part in log}
    wanted = {Kind.BEGIN: PartKind.BEGIN, Kind.STOP: PartKind.STOP, Kind.DROP: PartKind.END}
    for one in done:
        if one.kind in wanted and wanted[one.kind] not in kinds:
            yield f"{one.kind} is lost"
        if one.kind is Kind.PART and parts.get(one.after + 1) != one.text:
            yield f"the part {one.after + 1} {one.text!r} is lost"
        if one.kind is Kind.READ:
            yield from _of_read(one, parts, done)
    sent = {(one.after + 1, one.text) for one in perhaps if one.kind is Kind.PART}
    for made_up in parts.items() - sent:
        yield f"nobody wrote the part {made_up}"
    finishes = [one for one in asked if one.kind is Kind.FINISH]
    entries = [entry_id for one in finishes for entry_id in final.entries.get(one.text, ())]
    became = [part.entry.entry_id for part in log if part.entry]
    if entries != became:
        yield f"its log says {became}, and its entries are {entries}"
    for one in finishes:
        if (one.outcome is Outcome.OK) > (one.text in final.entries):
            yield f"the finish {one.text!r} is lost"
        if (one.outcome is Outcome.FAILED) and one.text in final.entries:
            yield f"the finish {one.text!r} was refused"


def _of_read(one: Asked, parts: Mapping[int, str], done: Sequence[Asked]) -> Iterator[str]:
    expected = {at: text for at, text in parts.items() if one.after < at <= one.position}
    if one.parts != expected:
        yield f"a read showed {one.parts} instead of {expected}"
    before = [part.after + 1 for part in done if part.kind is Kind.PART and part.answered_ns < one.sent_ns]
    if max(before, default=0) > one.position:
        yield f"a read did not reach the part {max(before)}"


def _after_the_end_of_access(asked: Sequence[Asked], final: Final) -> Iterator[str]:
    """Yield what was done after its caller was removed, or its branch or tree was."""
    for end in asked:
        if end.outcome is not Outcome.OK:
            continue
        for one in asked:
            if one.sent_ns > end.answered_ns and _ends(end, one, final):
                if one.outcome is Outcome.OK:
                    yield f"{one.kind} of {one.user} after {end.kind}"
                if final.holds(one):
                    yield f"{one.text!r} of {one.user} was written after {end.kind}"


def _ends(end: Asked, one: Asked, final: Final) -> bool:
    """Tell whether a removal ends the right to make a request."""
    match end.kind:
        case Kind.REMOVE_MEMBER:
            return one.user == end.member and final.trees[one.of] == final.trees[end.of]
        case Kind.REMOVE_BRANCH:
            return one.of == end.of
        case Kind.DELETE_TREE:
            return final.trees[one.of] == final.trees[end.of]
    return False
