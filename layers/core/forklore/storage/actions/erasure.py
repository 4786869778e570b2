"""The actions about the erasure of a user (items ERASURE and ERASED_TREE)."""

from collections.abc import Sequence

from forklore.domain import keys
from forklore.domain.erasures import Erasure
from forklore.domain.keys import Key
from forklore.domain.model import JobKind
from forklore.storage import items
from forklore.storage.actions import action, job
from forklore.storage.actions.action import Action, ActionKind, Names
from forklore.storage.items import key_of, number, text


def begin(erasure: Erasure) -> list[Action]:
    """Put the record of an erasure, and its job."""
    return [
        action.put(ActionKind.ERASURE, items.erasure_item(erasure)),
        job.put(JobKind.ERASURE, erasure.erasure_id, at=erasure.created_at),
    ]


def count(erasure: Erasure, *, trees: int = 0, memberships: int = 0, entries: int = 0) -> Action:
    """Count what the transaction changes, if the erasure is not done."""
    n = Names()
    more = {"changes": 1, "trees": trees, "memberships": memberships, "entries": entries}
    adds = (f"{n.name(name)} {n.value(name, number(by))}" for name, by in more.items())
    return action.update(
        ActionKind.ERASURE,
        keys.erasure(erasure.erasure_id),
        UpdateExpression=f"ADD {', '.join(adds)}",
        ConditionExpression=f"attribute_exists({n.name('userId')})",
        **n.attributes(),
    )


def note_tree(erasure: Erasure, group_id: str) -> Action:
    """Note that the erasure changes a tree, whether that is noted or not."""
    item = key_of(keys.erased_tree(erasure.erasure_id, group_id))
    return action.put(ActionKind.ERASED_TREE, item)


def save(erasure: Erasure) -> Action:
    """Store how far a pass has come, or that the next one begins, if nobody has gone on since."""
    n = Names()
    item = items.erasure_item(erasure)
    names = ("notBefore", "passes", "changesBefore", "waits", "places")
    sets = [f"{n.name(name)} = {n.value(name, item[name])}" for name in names if name in item]
    sets.append(f"{n.name('step')} = {n.value('next', number(erasure.step + 1))}")
    removes = f" REMOVE {n.name('waits')}" if "waits" not in item else ""
    return action.update(
        ActionKind.ERASURE,
        keys.erasure(erasure.erasure_id),
        UpdateExpression=f"SET {', '.join(sets)}{removes}",
        ConditionExpression=f"{n.name('step')} = {n.value('step', number(erasure.step))}",
        **n.attributes(),
    )


def end(erasure: Erasure, *, at: str) -> list[Action]:
    """Note that an erasure is done. Its counts stay; the user's id and all that a pass needs go."""
    n = Names()
    finished = f"{n.name('finishedAt')} = {n.value('at', text(at))}"
    return [
        action.update(
            ActionKind.ERASURE,
            keys.erasure(erasure.erasure_id),
            UpdateExpression=f"SET {finished} REMOVE {', '.join(map(n.name, items.OF_RUNNING))}",
            **n.attributes(),
        ),
        job.delete(JobKind.ERASURE, erasure.erasure_id),
    ]


def forget(unwanted: Sequence[Key]) -> list[Action]:
    """Delete items of any kind that name the user, whether they are there or not."""
    return [action.delete(ActionKind.ERASED, key, of=str(at)) for at, key in enumerate(unwanted)]
