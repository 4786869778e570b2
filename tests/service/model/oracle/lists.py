"""Functions of the oracle on lists of entries."""

from tests.service.model.asking import Json, comparable, is_history, require
from tests.service.model.oracle.refusals import CONFLICT
from tests.service.model.oracle.views import Entry


def place_of(entry_id: str, whole: list[Json]) -> int:
    ids = [entry["id"] for entry in whole]
    require(entry_id in ids, 400, "invalid_cursor")
    return ids.index(entry_id)


def latest_epoch(context: list[Json]) -> tuple[int, list[Json]]:
    latest = max((entry["epoch"] for entry in context), default=0)
    return latest, [entry for entry in context if entry["epoch"] == latest]


def require_based(context: list[Json] | None, given: Json) -> None:
    """Refuse a present context that would replace another one than that which it is based on."""
    epoch, entries = latest_epoch(context or [])
    known = [element for entry in entries for element in entry["content"]]
    if comparable(known) != comparable(given["content"][: len(known)]):
        based_on = given.get("basedOnEntryId", entries[-1]["id"])
        require(based_on == entries[-1]["id"], *CONFLICT, reason="context_moved", latestEpoch=epoch)


def group_turns(made: list[Entry]) -> None:
    """Put context with the history entry that it follows, or else with the first one."""
    turns: list[list[Entry]] = []
    for entry in made:
        if turns and not (is_history(entry) and any(map(is_history, turns[-1]))):
            turns[-1].append(entry)
        else:
            turns.append([entry])
    if any(map(is_history, made)):
        for turn in turns:
            for entry in turn:
                entry.turn = turn
