"""The table's stream: what each batch of records appends gets its vectors.

The settings are here and not in `wiring`, because no other function loads them.
"""

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from forklore_service.api.responses import log_failure
from forklore_service.aws.telemetry import Stopwatch, log_embedded
from forklore_service.aws.wiring import Consumption, open_table
from forklore_service.domain import keys
from forklore_service.errors import TextRefusedError, UnavailableError
from forklore_service.storage.bus import Parking, make_parking_client
from forklore_service.usecases.background import embedding

SPARE_SECONDS = 10.0
"""The part of the function's time that is kept to end the last call."""


def embed(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Make the vectors of what a batch appends. Return where Lambda must go on, if anywhere.

    The answer is a partial batch response, as that of `stream.publish`. What fails for another
    reason than time or the model is parked, and the others go on. An event may name `trees`
    instead, of which all is looked at, and which are not parked; then the answer names those that
    are `left`. Raises RuntimeError for a wrong setting: the batch comes again.
    """
    watch, usage = Stopwatch(), Consumption()
    parking_url = os.environ.get("FORKLORE_PARKED_VECTORS")
    seconds = context.get_remaining_time_in_millis() / 1000 - SPARE_SECONDS
    table = open_table().within(seconds, most=seconds, usage=usage)
    nearness = table.nearness
    if nearness is None or not parking_url:
        raise RuntimeError("set FORKLORE_RECALL to a model, and FORKLORE_PARKED_VECTORS to a queue's URL")
    records: list[Mapping[str, Any]] = event.get("Records", [])
    named: list[str] = event.get("trees", [])
    new: dict[str, set[str] | None] = {**_new_in(records), **dict.fromkeys(named)}
    left, parked = set[str](), 0
    for tree, conversations in new.items():
        try:
            embedding.embed(table, nearness, tree, conversations)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with it, the others go on)
            if isinstance(error, UnavailableError) and not isinstance(error, TextRefusedError):
                left.add(tree)
                continue
            log_failure("failed" if tree in named else "parked", error)
            if tree in named or not _park(parking_url, tree):
                left.add(tree)
            else:
                parked += 1
    log_embedded(trees=len(new), parked=parked, is_finished=not left, watch=watch, usage=usage)
    if named:
        return {"left": sorted(left)}
    again = [one["dynamodb"]["SequenceNumber"] for one in records if _place_of(one)[0] in left]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in again[:1]]}


def _new_in(records: Iterable[Mapping[str, Any]]) -> dict[str, set[str] | None]:
    """Return the conversations that got entries, or were made, by tree."""
    new: dict[str, set[str]] = {}
    for record in records:
        tree, conversation_id = _place_of(record)
        new.setdefault(tree, set()).add(conversation_id)
    return {**new}


def _place_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the tree and the conversation of a record about an ENTRY or a HEAD."""
    held = record["dynamodb"]
    tree, sort_key = held["Keys"]["PK"]["S"], held["Keys"]["SK"]["S"]
    if keys.is_head(sort_key):
        return tree, keys.in_head(sort_key)
    return tree, keys.in_by_conversation(held["NewImage"]["L1"]["S"])


def _park(url: str, tree: str) -> bool:
    """Keep a tree, as the event that this function takes. Return whether that could be done."""
    try:
        _open_parking(url).park(json.dumps({"trees": [tree]}))
    except UnavailableError:
        return False
    return True


@cache
def _open_parking(url: str) -> Parking:
    return Parking(make_parking_client(), url)
