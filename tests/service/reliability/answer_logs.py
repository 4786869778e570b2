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


REMOVALS = (Kind.REMOVE_MEMBER, Kind.REMOVE_BRANCH, Kind.DELETE_TREE)


@dataclass(frozen=True)
class Asked:
    """A request. number: its own one. of: the conversation in which the answer was begun.

    user: who asks. member: who is removed. after, text: of a part; of a finish its entry's text; no
    text is a heartbeat. position, parts: what a read has shown, parts by position. refused: a
    request that may be sent again, as it has a key or is a part, got a conflict in the end.
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
    refused: bool = False


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
        """Tell whether the table has what a request writes: a log, or by its text."""
        log = self.logs.get(asked.answer, ())
        if asked.kind is Kind.BEGIN:
            return bool(log)
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
    removals = [one for one in asked if one.kind in (Kind.REMOVE_BRANCH, Kind.DELETE_TREE)]
    deleted = {one.of for one in removals if one.kind is Kind.DELETE_TREE}
    found: list[str] = []
    for answer_id in {*final.logs, *of_answer} - {""}:
        log, about = final.logs.get(answer_id, ()), of_answer[answer_id]
        faults = [*_of_end(about, log, final)]
        if not (_is_emptied(log) and any(final.trees[one.of] in deleted for one in about)):
            faults += [*_of_log(log), *_of_parts(about, log)]
            for read in about:
                if read.kind is Kind.READ and read.outcome is Outcome.OK:
                    beside = [one for one in removals if _is_beside(one, read, log, final)]
                    faults += _of_read(read, about, log, is_removed=bool(beside))
        found += (f"answer {answer_id}: {fault}" for fault in faults)
    return found + list(_after_the_end_of_access(asked, final))


def _of_log(log: Sequence[Part]) -> Iterator[str]:
    """Yield what is wrong with the form of a log."""
    if [part.position for part in log] != list(range(len(log))):
        yield f"there is a gap: {[part.position for part in log]}"
    kinds = "".join(part.kind.value[0] for part in log)  # b, d, s and e
    body = kinds.removeprefix("b").removesuffix("e").removesuffix("s")
    if log and (kinds[0] != "b" or body.strip("d")):
        yield f"its parts are {kinds}"


def _is_emptied(log: Sequence[Part]) -> bool:
    """Tell whether a log has only an end, as that of an answer that goes with its tree."""
    return [(part.is_end, part.entry) for part in log] == [(True, None)]


def _of_parts(asked: Sequence[Asked], log: Sequence[Part]) -> Iterator[str]:
    """Yield what the log of an answer has, or lacks, that does not go with the requests."""
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
    sent = {(one.after + 1, one.text) for one in perhaps if one.kind is Kind.PART}
    for made_up in parts.items() - sent:
        yield f"nobody wrote the part {made_up}"


def _of_end(asked: Sequence[Asked], log: Sequence[Part], final: Final) -> Iterator[str]:
    """Yield what became of an answer that does not go with the requests."""
    for one in asked:
        if one.refused and final.holds(one):
            yield f"{one.kind} {one.text!r} was written, and refused when it was sent again"
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


def _of_read(one: Asked, asked: Sequence[Asked], log: Sequence[Part], *, is_removed: bool) -> Iterator[str]:
    """Yield what is wrong with what a read showed. is_removed: as `_is_beside` tells.

    An answer that was ended for another one shows no parts, and one that was finished shows none
    when what it became is removed. Whether a read has seen the end is told by its position.
    """
    seen = [part for part in log if one.after < part.position <= one.position]
    expected = {part.position: text_of(part) for part in seen if part.kind is PartKind.DATA}
    end = next((part for part in seen if part.is_end), None)
    if end and end.next_id:
        expected = {}
    if one.parts != expected and not (end and is_removed and not one.parts):
        yield f"a read showed {one.parts} instead of {expected}"
    done = [part for part in asked if part.kind is Kind.PART and part.outcome is Outcome.OK]
    before = [part.after + 1 for part in done if part.answered_ns < one.sent_ns]
    if max(before, default=0) > one.position:
        yield f"a read did not reach the part {max(before)}"


def _is_beside(removal: Asked, read: Asked, log: Sequence[Part], final: Final) -> bool:
    """Tell whether a removal of what an answer became ran at the same time as a read of it."""
    at_once = removal.sent_ns < read.answered_ns and read.sent_ns < removal.answered_ns
    became = [part.entry.conversation_id for part in log if part.entry]
    is_of = bool(became) if removal.kind is Kind.DELETE_TREE else removal.of in became
    return at_once and is_of and _ends(removal, read, final)


def asked_too_late(asked: Sequence[Asked], final: Final) -> list[tuple[Asked, Asked]]:
    """Return each removal, with each request that its caller may not make after it."""
    ends = [end for end in asked if end.kind in REMOVALS and end.outcome is Outcome.OK]
    return [
        (end, one)
        for end in ends
        for one in asked
        if one.sent_ns > end.answered_ns and _ends(end, one, final)
    ]


def _after_the_end_of_access(asked: Sequence[Asked], final: Final) -> Iterator[str]:
    """Yield what was done after its caller was removed, or its branch or tree was."""
    for end, one in asked_too_late(asked, final):
        if one.outcome is Outcome.OK:
            yield f"{one.kind} of {one.user} after {end.kind}"
        if final.holds(one):
            yield f"{one.kind} {one.text!r} of {one.user} was written after {end.kind}"


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
