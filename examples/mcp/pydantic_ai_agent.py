"""An agent of Pydantic AI that forks an older conversation and goes on there."""

import asyncio
import tempfile

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from story import COMMAND, QUESTION, arguments, next_call, prepare


def script(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Answer with the next step of the script. It stands in for a model."""
    parts = [part for message in messages for part in message.parts]
    step = next_call([part.content for part in parts if isinstance(part, ToolReturnPart)])
    return ModelResponse(parts=[TextPart(step) if isinstance(step, str) else ToolCallPart(*step)])


async def main(data: str) -> None:
    """Let the agent use the tools on a folder."""
    tools = MCPToolset(StdioTransport(COMMAND, arguments(data)), init_timeout=60)  # seconds
    agent = Agent(FunctionModel(script), toolsets=[tools])
    async with agent:
        result = await agent.run(QUESTION)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                print(part.tool_name)
    print(result.output)


with tempfile.TemporaryDirectory() as folder:
    prepare(folder)
    asyncio.run(main(folder))
