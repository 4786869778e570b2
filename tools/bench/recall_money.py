"""What recall costs on AWS: python -m tools.bench.recall_money

In dollars, for 10,000 entries of 200 tokens in conversations of 1,000, and 100 recalls a day, each
in a conversation whose vectors no process has read yet. The requests of one are counted.

Prices: us-east-1, November 2026: the price lists of DynamoDB, and of Bedrock for Titan Text
Embeddings V2.
"""

import sys
from typing import Any

from forklore_service.domain.model import Caller
from forklore_service.storage.embedded_texts import EmbeddedTexts
from forklore_service.storage.schema import DIMENSIONS
from tools.bench.meter import Cost, Meter
from tools.harness.service import Process
from tools.harness.tables import fresh_store

WRITE, READ, TOKEN = 0.625e-6, 0.125e-6, 0.02e-6
ENTRIES, OF_ONE, BYTES, TOKENS = 10_000, 1_000, 1_000, 200
"""How many entries there are, and are in a conversation, and how long each is."""
ASKED, TOKENS_OF_QUESTION = 100 * 30, 20
"""How many recalls a month has, and how long a question is."""
ANN = Caller("ann")


def counted() -> tuple[Cost, Cost]:
    """Return what the first recall of a conversation costs, and the first of another process."""
    with fresh_store() as store:
        process = Process(store)
        trip = process.ask("createConversation", ANN).id
        for number in range(OF_ONE):
            content = [{"role": "USER", "text": f"{number:0{BYTES}}"}]
            process.ask("appendEntry", ANN, conversationId=trip, content=content, contentType="history")
        first, later = (_recall(Process(store), store, trip) for _ in range(2))
    return first, later


def _recall(process: Process, store: Any, conversation_id: str) -> Cost:
    process.table.nearness = EmbeddedTexts(
        lambda texts: [[1.0] * DIMENSIONS for _ in texts], "titan-v2", is_remote=True
    )
    process.ask("getConversation", ANN, conversationId=conversation_id)
    meter = Meter(store, process.table)
    meter.begin()
    answer = process.ask("searchConversations", ANN, conversationId=conversation_id, query="what is meant")
    assert answer.status == 200, answer
    return meter.end()


def main() -> None:
    """Print what is counted, and what it costs."""
    first, later = counted()
    told = {
        "once, writes and reads": (first.write_units * WRITE + first.read_units * READ) * ENTRIES / OF_ONE,
        "once, Titan": ENTRIES * TOKENS * TOKEN,
        "a month, reads": ASKED * later.read_units * READ,
        "a month, Titan": ASKED * TOKENS_OF_QUESTION * TOKEN,
    }
    sys.stdout.write(f"first recall {first}, of another process {later}: rounds / read / write units\n")
    for what, dollars in told.items():
        sys.stdout.write(f"{what:24} ${dollars:.4f}\n")


if __name__ == "__main__":
    main()
