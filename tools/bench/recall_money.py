"""What recall costs on AWS: python -m tools.bench.recall_money

In dollars, for 10,000 entries of 200 tokens in conversations of 1,000, and 100 recalls a day: each
in a conversation whose vectors no process has read yet, or each over all. Entries get their vectors
one by one, as the stream tells them. The requests of one are counted.

Prices: us-east-1, November 2026: the price lists of DynamoDB with its vector indexes, of Lambda for
ARM, and of Bedrock for Titan Text Embeddings V2. A search is billed as AWS's own calculator bounds
it (aws/agent-toolkit-for-aws, amazon-dynamodb, calculate_costs.py).
"""

import sys
import zlib
from typing import NamedTuple

from forklore_service.domain.model import Caller
from forklore_service.storage.embedded_texts import EmbeddedTexts
from forklore_service.storage.schema import DIMENSIONS
from forklore_service.usecases.background.embedding import embed
from forklore_service.usecases.shared.over_all import TOP
from tools.bench.meter import Cost, Meter
from tools.harness.service import Process
from tools.harness.tables import Store, fresh_store

WRITE, READ, TOKEN = 0.625e-6, 0.125e-6, 0.02e-6
CALL, GB_SECOND = 0.2e-6, 13.3334e-6
INDEXED, SEARCHED, KEPT = 0.52e-9, 0.002e-9, 0.25e-9
"""A byte that is written to an index of vectors, that a search examines, that is kept a month."""
SECONDS, GB = 0.3, 0.5
"""How long a call of the function is taken to last, which was not measured, and its memory."""
ENTRIES, OF_ONE, BYTES, TOKENS = 10_000, 1_000, 1_000, 200
"""How many entries there are, and are in a conversation, and how long each is."""
ASKED, TOKENS_OF_QUESTION = 100 * 30, 20
"""How many recalls a month has, and how long a question is."""
OVER_ALL = 20
"""So many entries of each conversation are there for a recall over all, which reads 50 in all."""
ITEM, INDEX_ENTRY = 1_850, 1_059
"""How many bytes a VEC has as AWS bills it (4 a number of what is indexed), and its index entry."""
ANN = Caller("ann")


class Counted(NamedTuple):
    """What was counted.

    embed: the function's call for an entry, in a process that knows the conversation. inside: a
    recall of a conversation. over_all: one of ten conversations.
    """

    embed: Cost
    inside: Cost
    over_all: Cost


def counted() -> Counted:
    """Return what one of each costs."""
    with fresh_store() as store:
        process = _process(store)
        trips = [process.ask("createConversation", ANN).id for _ in range(ENTRIES // OF_ONE)]
        for trip in trips:
            say(process, trip, OVER_ALL)
            embed(process.table, nearness(), trip, None)
        trip = trips[-1]
        say(process, trip, OF_ONE - OVER_ALL - 1)
        embed(process.table, nearness(), trip, {trip})
        say(process, trip, 1)
        meter = Meter(store, process.table)
        meter.begin()
        embed(process.table, nearness(), trip, {trip})
        one = meter.end()
        inside = _recall(_process(store), store, conversationId=trip)
        over_all = _recall(_process(store), store)
    return Counted(one, inside, over_all)


def _process(store: Store) -> Process:
    process = Process(store)
    process.table.nearness, process.table.by_meaning = nearness(), True
    process.table.embedded_elsewhere = True
    return process


def nearness() -> EmbeddedTexts:
    """Return what makes vectors without a model. No two are equal."""
    return EmbeddedTexts(
        lambda texts: [[*range(1, DIMENSIONS), zlib.crc32(text.encode()) % 997] for text in texts],
        "titan-v2",
        is_remote=True,
    )


def say(process: Process, conversation_id: str, count: int) -> None:
    for number in range(count):
        content = [{"role": "USER", "text": f"{conversation_id}{number:0{BYTES}}"}]
        answer = process.ask(
            "appendEntry", ANN, conversationId=conversation_id, content=content, contentType="history"
        )
        assert answer.status == 201


def _recall(process: Process, store: Store, **inside: str) -> Cost:
    process.table.now_ms()
    meter = Meter(store, process.table)
    meter.begin()
    answer = process.ask("searchConversations", ANN, **inside, query="what is meant")
    assert answer.status == 200, answer
    return meter.end()


def main() -> None:
    """Print what is counted, and what it costs."""
    found = counted()
    searched = 1.5 * (20.7 * DIMENSIONS + 89 * TOP) * found.over_all.searches
    told = {
        "once, writes and reads": ENTRIES * _units(found.embed),
        "once, the index": ENTRIES * INDEX_ENTRY * INDEXED,
        "once, the function": ENTRIES * (CALL + SECONDS * GB * GB_SECOND),
        "once, Titan": ENTRIES * TOKENS * TOKEN,
        "a month, what is kept": ENTRIES * (ITEM + INDEX_ENTRY) * KEPT,
        "a month, in a conversation": ASKED * _units(found.inside),
        "a month, over all": ASKED * (_units(found.over_all) + max(1024, searched) * SEARCHED),
        "a month, Titan": ASKED * TOKENS_OF_QUESTION * TOKEN,
    }
    sys.stdout.write("rounds / read units / write units\n")
    sys.stdout.write(f"vectors of an entry {found.embed}, recall in a conversation {found.inside}, ")
    sys.stdout.write(f"over all {found.over_all} and searches: {found.over_all.searches}\n")
    for what, dollars in told.items():
        sys.stdout.write(f"{what:27} ${dollars:.4f}\n")


def _units(cost: Cost) -> float:
    return cost.write_units * WRITE + cost.read_units * READ


if __name__ == "__main__":
    main()
