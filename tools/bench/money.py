"""What requests cost in dollars, by list prices: a million of each, and a month of a team's work.

python -m tools.bench.money [--write-units 0.625 …] [--users 1000 …]

The units are those of tools.bench.cost on the base shape. "copies once" is the sum if a transaction
writes the copies in indexes once. The defaults are AWS's list prices of us-east-1, as known in
November 2026. Pass the prices of your region.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from forklore.fsck.shapes import Kind
from tools.bench.cost import Row, rows_of
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.shapes import BASE
from tools.bench.units import item_bytes

MILLION = 1_000_000
DAYS = 30
APPEND, PAGE, FORK = "append", "newest page, warm", "fork, at the head"
SHOWN = (APPEND, "append, with a key", "append, cold", PAGE, FORK, "create", "conversations, latest forks")
RUNS = 2
"""How many functions run for a request over HTTP: its own and the authorizer."""


@dataclass(frozen=True)
class Prices:
    """Prices in dollars.

    read_units, write_units, requests, invocations: for a million. storage, backup: for a GB and
    month. metrics: for one metric and month. rest: for a month without requests (docs/operate.md,
    "Cost").
    """

    read_units: float = 0.125
    write_units: float = 0.625
    storage: float = 0.25
    backup: float = 0.20
    requests: float = 1.00
    invocations: float = 0.20
    gigabyte_seconds: float = 0.0000133334
    log_gigabytes: float = 0.50
    metrics: float = 0.30
    rest: float = 3.48


@dataclass(frozen=True)
class Function:
    """What a request takes of Lambda and of the logs.

    function_seconds, page_seconds, authorizer_seconds: GB-seconds of a request's function, of one
    that shows a page, and of the authorizer. They are assumed. log_bytes: as `python -m
    tools.bench.log_bytes` measures those of an append; docs/operate.md, "Cost".
    """

    function_seconds: float = 0.020
    page_seconds: float = 0.025
    authorizer_seconds: float = 0.5 * 0.005
    log_bytes: int = 733


@dataclass(frozen=True)
class Month:
    """A month of a team's work.

    conversations: for a user and day. appends, pages, forks: for a conversation. kept_months: how
    long conversations are kept. metric_series: one for each operation and status that occurs, and a
    few more.
    """

    users: int = 1_000
    conversations: float = 2
    appends: int = 20
    pages: int = 10
    forks: float = 0.2
    kept_months: int = 12
    metric_series: int = 40


def of_million(row: Row, prices: Prices, function: Function) -> dict[str, float]:
    """Return the dollars for a million requests over HTTP, by AWS service."""
    is_page = row.name.startswith("newest page")
    own_seconds = function.page_seconds if is_page else function.function_seconds
    seconds = MILLION * (own_seconds + function.authorizer_seconds)
    return {
        "DynamoDB": of_units(row, prices, row.cost.write_units),
        "API Gateway": prices.requests,
        "Lambda": RUNS * prices.invocations + seconds * prices.gigabyte_seconds,
        "logs": MILLION * function.log_bytes / 1e9 * prices.log_gigabytes,
    }


def of_units(row: Row, prices: Prices, write_units: int) -> float:
    """Return the dollars for the units of a million requests. write_units: of one request."""
    return row.cost.read_units * prices.read_units + write_units * prices.write_units


def kept_bytes(row: Row) -> int:
    """Return how many bytes a request adds to the table, with the copies in the local index."""
    grown = 0
    for one in row.cost.touched:
        if one.is_write:
            before, after = (item_bytes(item) if item else 0 for item in (one.before, one.after))
            grown += (after - before) * (2 if one.kind is Kind.ENTRY else 1)
    return grown


def of_month(
    rows: Mapping[str, Row], prices: Prices, function: Function, month: Month
) -> dict[str, tuple[float, float]]:
    """Return the number of each thing in a month, and the dollars for it."""
    conversations = month.users * month.conversations * DAYS
    counts = {
        "append, to a new conversation": conversations,
        APPEND: conversations * (month.appends - 1),
        PAGE: conversations * month.pages,
        FORK: conversations * month.forks,
    }
    spent = {
        name: (number, number / MILLION * sum(of_million(rows[name], prices, function).values()))
        for name, number in counts.items()
    }
    gigabytes = month.kept_months * sum(n * kept_bytes(rows[name]) for name, n in counts.items()) / 1e9
    return spent | {
        "GB kept": (gigabytes, gigabytes * (prices.storage + prices.backup)),
        "metrics": (month.metric_series, month.metric_series * prices.metrics),
        "at rest": (1, prices.rest),
    }


def tables(rows: Sequence[Row], prices: Prices, function: Function, month: Month) -> str:
    """Return both tables in Markdown."""
    by_name = {row.name: row for row in rows}
    cells = []
    for name in SHOWN:
        paid = of_million(by_name[name], prices, function)
        saved = paid["DynamoDB"] - of_units(by_name[name], prices, by_name[name].cost.write_units_once)
        whole = sum(paid.values())
        cells.append([name, *(f"${dollars:.2f}" for dollars in [*paid.values(), whole, whole - saved])])
    work = (
        f"A month of {month.users:,} users, each with {month.conversations:g} conversations a day of "
        f"{month.appends} appends and {month.pages} page reads. {month.forks:.0%} of the "
        f"conversations are forked. Entries are kept for {month.kept_months} months:"
    )
    spent = of_month(by_name, prices, function, month)
    parts = [[name, f"{number:,.0f}", f"${dollars:,.2f}"] for name, (number, dollars) in spent.items()]
    parts.append(["total", "", f"${sum(dollars for _, dollars in spent.values()):,.2f}"])
    million = table(
        ["a million of", "DynamoDB", "API Gateway", "Lambda", "logs", "total", "copies once"], cells
    )
    return "\n\n".join([million, work, table(["", "number", "dollars"], parts)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = (Prices, Function, Month)
    for kind in kinds:
        for field in fields(kind):
            name, usual = f"--{field.name.replace('_', '-')}", field.default
            parser.add_argument(name, type=type(usual), default=usual, help=f"({usual})")
    options = vars(parser.parse_args())

    def chosen(kind: Any) -> Any:
        return kind(**{field.name: options[field.name] for field in fields(kind)})

    with local_dynamodb() as endpoint:
        rows = list(rows_of(endpoint, BASE, runs=0))
    print(tables(rows, *map(chosen, kinds)))


if __name__ == "__main__":
    main()
