"""The actions about the erasure of a user (items ERASURE and ERASED_TREE)."""

from collections.abc import Sequence

from forklore_service.domain import keys
from forklore_service.domain.erasures import Erasure
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind
from forklore_service.storage import items
from forklore_service.storage.actions import action, job
from forklore_service.storage.actions.action import Action, ActionKind
from forklore_service.storage.items import key_of, number, text


def begin(erasure: Erasure) -> list[Action]:
    """Put the record of an erasure, and its job."""
    return [
        action.put(ActionKind.ERASURE, items.erasure_item(erasure)),
        job.put(JobKind.ERASURE, erasure.erasure_id, at=erasure.created_at),
    ]


def count(erasure: Erasure, *, trees: int = 0, memberships: int = 0, entries: int = 0) -> Action:
    """Count what the transaction changes, if the erasure is not done."""
    return action.update(
        ActionKind.ERASURE,
        keys.erasure(erasure.erasure_id),
        "ADD #changes :changes, #trees :trees, #memberships :memberships, #entries :entries",
        condition="attribute_exists(#userId)",
        values={
            ":changes": number(1),
            ":trees": number(trees),
            ":memberships": number(memberships),
            ":entries": number(entries),
        },
    )


def note_tree(erasure: Erasure, group_id: str) -> Action:
    """Note that the erasure changes a tree, whether that is noted or not."""
    item = key_of(keys.erased_tree(erasure.erasure_id, group_id))
    return action.put(ActionKind.ERASED_TREE, item)


def save(erasure: Erasure) -> Action:
    """Store how far a pass has come, or that the next one begins, if nobody has gone on since."""
    item = items.erasure_item(erasure)
    names = [name for name in ("notBefore", "passes", "changesBefore", "waits", "places") if name in item]
    sets = ", ".join(f"#{name} = :{name}" for name in names)
    removes = " REMOVE #waits" if "waits" not in item else ""
    return action.update(
        ActionKind.ERASURE,
        keys.erasure(erasure.erasure_id),
        f"SET {sets}, #step = :next{removes}",
        condition="#step = :step",
        values={
            **{f":{name}": item[name] for name in names},
            ":next": number(erasure.step + 1),
            ":step": number(erasure.step),
        },
    )


def end(erasure: Erasure, *, at: str) -> list[Action]:
    """Note that an erasure is done. Its counts stay; the user's id and all that a pass needs go."""
    removes = ", ".join(f"#{name}" for name in items.OF_RUNNING)
    return [
        action.update(
            ActionKind.ERASURE,
            keys.erasure(erasure.erasure_id),
            f"SET #finishedAt = :at REMOVE {removes}",
            values={":at": text(at)},
        ),
        job.delete(JobKind.ERASURE, erasure.erasure_id),
    ]


def forget(unwanted: Sequence[Key]) -> list[Action]:
    """Delete items of any kind that name the user, whether they are there or not."""
    return [action.delete(ActionKind.ERASED, key, of=str(at)) for at, key in enumerate(unwanted)]
