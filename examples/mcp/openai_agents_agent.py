"""An agent of the OpenAI Agents SDK that forks an older conversation and goes on there."""

import asyncio
import json
import tempfile
from typing import Any

from agents import Agent, Runner
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call
from story import COMMAND, QUESTION, arguments, next_call, prepare


class Script(ScriptedModel):
    """It stands in for a model, such as `model="gpt-5"`."""

    async def get_response(self, *given: Any, **named: Any) -> Any:
        """Answer with the next step of the script."""
        items = named["input"] if "input" in named else given[1]
        outputs = [one["output"] for one in items if one.get("type") == "function_call_output"]
        step = next_call([json.loads(_text(one)) for one in outputs])
        if isinstance(step, str):
            self.enqueue([assistant_message(step)])
        else:
            self.enqueue([function_call(*step, call_id=f"c{len(outputs)}")])
        return await super().get_response(*given, **named)


def _text(output: Any) -> str:
    """Return the text of what a tool has answered."""
    return output if isinstance(output, str) else output[0]["text"]


async def main(data: str) -> None:
    """Let the agent use the tools on a folder."""
    server = MCPServerStdio(
        params={"command": COMMAND, "args": arguments(data)},
        client_session_timeout_seconds=60,
        use_structured_content=True,
    )
    async with server:
        agent = Agent(name="traveller", model=Script(), mcp_servers=[server])
        result = await Runner.run(agent, QUESTION)
        for one in result.raw_responses:
            for item in one.output:
                print(item.name if item.type == "function_call" else item.content[0].text)


with tempfile.TemporaryDirectory() as folder:
    prepare(folder)
    asyncio.run(main(folder))
