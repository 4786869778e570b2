#!/bin/sh
# OpenAI Agents SDK 0.24.0: AdvancedSQLiteSession keeps the branch that one has switched to in the object
# alone. list_branches says is_current, but no row of the database does. Who opens the session again, in the
# next process or in another worker, is on main: the model is sent what the user had left, and the new
# question and its answer are stored there. Nobody gets an error.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openai-agents==0.24.0
cat >talk.py <<'PYTHON'
"""Ask each question of the command line in one session; `2:…` asks it in a branch from turn 2."""

import asyncio
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.extensions.memory import AdvancedSQLiteSession
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class Script(Model):
    async def get_response(self, system_instructions, input, *rest, **named):
        print("is sent:", [one["content"] for one in input if one.get("role") == "user"], flush=True)
        text = ResponseOutputText(type="output_text", text="Yes.", annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **named):
        raise NotImplementedError


async def main():
    set_tracing_disabled(True)
    session = AdvancedSQLiteSession(session_id="s", db_path="kept.db", create_tables=True)
    for asked in sys.argv[1:]:
        turn, _, question = asked.rpartition(":")
        if turn:
            await session.create_branch_from_turn(int(turn))
        await Runner.run(Agent(name="a", model=Script()), question, session=session)
    current = [one for one in await session.list_branches() if one["is_current"]]
    print("is current:", current[0]["branch_id"].split("_")[0])


asyncio.run(main())
PYTHON
venv/bin/python talk.py "To Rome?" "By plane?" "2:By train?" | tee one
venv/bin/python talk.py "How long?" | tee two
grep -q "is current: branch" one || { echo "changed: no branch is current after a branch was made"; exit 1; }
grep -qx "is sent: \['To Rome?', 'By plane?', 'How long?'\]" two || { echo "changed: the next process does not go on in main"; exit 1; }
