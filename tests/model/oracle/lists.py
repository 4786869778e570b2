"""Functions of the oracle on lists of entries."""

from tests.model.asking import Json, require


def place_of(entry_id: str, whole: list[Json]) -> int:
    ids = [entry["id"] for entry in whole]
    require(entry_id in ids, 400, "invalid_cursor")
    return ids.index(entry_id)


def latest_epoch(context: list[Json]) -> tuple[int, list[Json]]:
    latest = max((entry["epoch"] for entry in context), default=0)
    return latest, [entry for entry in context if entry["epoch"] == latest]
