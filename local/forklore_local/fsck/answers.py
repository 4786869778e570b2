"""Logs of answers, each compared with itself, and with the tree that it is about.

A log goes on its own time after a day. One that was not ended goes with its conversation, but for
its end.
"""

from collections.abc import Iterator
from itertools import pairwise

from forklore_local.fsck.facts import Tree
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.survey import Survey
from forklore_service.domain import ids, keys
from forklore_service.domain.answer_logs import KEPT_SECONDS, Part, PartKind
from forklore_service.domain.model import Answering


def check(survey: Survey) -> Iterator[Finding]:
    """Yield what is wrong with a log, or with what a HEAD says of one."""
    for (group_id, answer_id), log in survey.logs.items():
        tree = survey.trees.get(group_id)
        for position, detail in _faults([log[at] for at in sorted(log)], answer_id, tree):
            yield Finding(keys.part(group_id, answer_id, position), "wrong_part", detail, 20, group_id)
    for tree in survey.trees.values():
        for conversation_id, head in tree.heads.items():
            if head.answer and _lacks_log(survey, tree, conversation_id, head.answer):
                key = keys.head(tree.group_id, conversation_id)
                yield Finding(key, "wrong_head_answer", head.answer.answer_id, 20, tree.group_id)


def _faults(log: list[Part], answer_id: str, tree: Tree | None) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with a log, each with a position. log: in order, not empty.

    An erasure ends a log, and then deletes all but the end. So does the deletion of its
    conversation, in any order.
    """
    last = log[-1]
    is_read = tree is not None and tree.is_live and last.conversation_id in tree.heads
    if log[0].kind is not PartKind.BEGIN and not last.is_end:
        yield log[0].position, "the part before it is missing"
    for before, part in pairwise(log):
        if part.position != before.position + 1:
            if is_read or not last.is_end:
                yield part.position, "the part before it is missing"
        elif part.kind is PartKind.BEGIN or before.is_end:
            yield part.position, f"it follows a part {before.kind}"
        elif before.kind is PartKind.STOP and not part.is_end:
            yield part.position, "it follows a stop"
        elif (part.conversation_id, part.ttl) != (before.conversation_id, before.ttl):
            yield part.position, "it does not agree with the part before it"
    if tree is None or not tree.is_live:
        return
    if last.entry and last.entry.conversation_id in tree.heads:
        became = last.entry
        if became.entry_id is None or not tree.own_of(became.conversation_id).holds(became.entry_id):
            yield last.position, "its entry does not exist"
    head = tree.heads.get(last.conversation_id)
    is_named = head is not None and head.answer is not None and head.answer.answer_id == answer_id
    if head is not None and is_named == last.is_end:
        yield last.position, "HEAD names it" if is_named else "HEAD does not name it"


def _lacks_log(survey: Survey, tree: Tree, conversation_id: str, answer: Answering) -> bool:
    """Tell whether a HEAD names an answer that has no log there, and is too young for that."""
    log = survey.logs.get((tree.group_id, answer.answer_id))
    if log is None:
        return ids.milliseconds(answer.since) // 1000 + KEPT_SECONDS > survey.now_s
    return {part.conversation_id for part in log.values()} != {conversation_id}
