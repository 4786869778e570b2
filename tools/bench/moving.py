"""What it costs to export a tree from its table, and to import it into another one."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from forklore.porting.choosing import Choice, Scope
from forklore.porting.exporting import export
from forklore.porting.importing import carry_out, check
from forklore.porting.new_ids import SameIds
from tools.bench import units
from tools.bench.meter import Cost, Meter, Touched
from tools.bench.shapes import World
from tools.harness.tables import fresh_store

EXPORT, IMPORT = "export, the tree", "import, the tree"
TARGET = "imported"


def move(of: World) -> Iterator[tuple[str, Cost, Cost]]:
    """Export the tree and import it: yield the name, the cost and the floor of each.

    The floor of the export is one Query over what it reads. That of the import puts each item once,
    25 at a time, without a transaction.
    """
    with TemporaryDirectory() as folder, fresh_store(TARGET, endpoint=of.store.endpoint) as target:
        path = Path(folder) / "tree.jsonl"
        table = of.store.process()
        meter = Meter(of.store, table)
        meter.begin()
        export(table, Choice(Scope.TREE, of.root), path)
        cost = meter.end()
        sizes = {one.key: one.size for one in cost.touched}
        yield EXPORT, cost, Cost(requests=1, rounds=1, read_units=units.units_of_query(sizes.values()))

        table = target.process()
        meter = Meter(target, table)
        meter.begin()
        carry_out(table, check(path, table=table), ids_for=SameIds())
        cost = meter.end()
        made = _made(cost.touched)
        least = sum(units.units_of_write(None, one.after, in_transaction=False) for one in made)
        yield IMPORT, cost, Cost(requests=-(-len(made) // 25), rounds=1, write_units=least)


def _made(touched: list[Touched]) -> list[Touched]:
    """Return the items that are there at the end, each as it was written last."""
    last = {one.key: one for one in touched if one.is_write}
    return [one for one in last.values() if one.after is not None]
