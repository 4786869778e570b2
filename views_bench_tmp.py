import sys
from tools.bench.cost import rows_of
from tools.bench.local import local_dynamodb
from tools.bench.shapes import BASE, Shape
from dataclasses import replace
import tools.bench.cost as cost, tools.bench.cases as cases
want=[n for n in cases.CASES if any(w in n for w in ('page','altern','own ent','compare','ancest','show an entry'))]
for n in list(cases.CASES):
    if n not in want: del cases.CASES[n]
with local_dynamodb() as endpoint:
    for shape in [replace(BASE,forks=0,chain=990), replace(BASE,entries=10_000)]:
        print(shape)
        try:
            for row in rows_of(endpoint, shape, 1):
                print(f"  {row.name:45} {row.cost.requests:3} req {row.cost.rounds:2} rounds {row.cost.read_units:6} ru")
        except Exception as e: print('ERR', type(e), e)
