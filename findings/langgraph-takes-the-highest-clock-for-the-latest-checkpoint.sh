#!/bin/sh
# LangGraph 1.2.24, langgraph-checkpoint 4.3.2, -sqlite 3.1.2: the id of a checkpoint is a time of the
# machine that makes it, also when it follows another checkpoint, and the latest checkpoint of a thread is
# the highest id. So a turn on a machine whose clock is a minute behind is answered, stored, and lost: the
# next turn goes on from the one before it, and the model never sees it. The three turns here are three
# processes, one after the other; the second one's clock is set back for the ids alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langgraph==1.2.24 langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
cat >turn.py <<'PYTHON'
import operator
import sys
import time
from types import SimpleNamespace
from typing import Annotated, TypedDict

import langgraph.checkpoint.base.id as ids
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

behind_ns = int(sys.argv[1]) * 10**9
ids.time = SimpleNamespace(time_ns=lambda: time.time_ns() - behind_ns)


class State(TypedDict):
    said: Annotated[list[str], operator.add]


with SqliteSaver.from_conn_string("kept.db") as saver:
    graph = StateGraph(State).add_node("answer", lambda _: {"said": ["yes"]}).add_edge(START, "answer")
    thread = {"configurable": {"thread_id": "t"}}
    print(graph.compile(checkpointer=saver).invoke({"said": [sys.argv[2]]}, thread)["said"])
PYTHON
one=$(venv/bin/python turn.py 0 one)
two=$(venv/bin/python turn.py 60 two)
three=$(venv/bin/python turn.py 0 three)
echo "first turn:                          $one"
echo "second turn, a clock 60 s behind:    $two"
echo "third turn, the clock of the first:  $three"
[ "$two" = "['one', 'yes', 'two', 'yes']" ]
[ "$three" = "['one', 'yes', 'three', 'yes']" ]
