"""An agent of ADK with a scripted model, a tool and a runner, and the page."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from forklore.adapters.google_adk import ForkloreSessionService
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire

WHO: Any = {"app_name": "trip", "user_id": "ann"}


class Script(BaseLlm):
    """Calls the tool `pay` for `pay …`, then says what it returned; else how much it sees."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = llm_request.contents[-1].parts or []
        if parts[0].function_response is not None:
            made = types.Part(text=str(parts[0].function_response.response))
        elif (parts[0].text or "").startswith("pay "):
            euros = int((parts[0].text or "")[4:])
            made = types.Part(function_call=types.FunctionCall(name="pay", args={"euros": euros}))
        else:
            made = types.Part(text=f"{len(llm_request.contents)} contents")
        yield LlmResponse(content=types.Content(role="model", parts=[made]))


def pay(euros: int, tool_context: ToolContext) -> str:
    """Pay."""
    paid = tool_context.state.get("paid", 0) + euros
    tool_context.state["paid"] = paid
    tool_context.state["user:spent"] = paid
    tool_context.state["temp:last"] = euros
    return f"paid {paid}"


def runner(service: BaseSessionService) -> Runner:
    guide = LlmAgent(name="guide", model=Script(model="script"), tools=[pay])
    return Runner(app_name="trip", agent=guide, session_service=service)


async def ask(service: BaseSessionService, question: str, session_id: str = "s") -> tuple[str, str]:
    """Return the last text and the id of the invocation. Each question has a new runner."""
    message = types.Content(role="user", parts=[types.Part(text=question)])
    events = runner(service).run_async(user_id="ann", session_id=session_id, new_message=message)
    said, invocation = "", ""
    async for event in events:
        invocation = event.invocation_id
        if event.content and event.content.parts:
            said = event.content.parts[0].text or ""
    return said, invocation


async def state(service: BaseSessionService, session_id: str = "s") -> dict[str, Any]:
    found = await service.get_session(**WHO, session_id=session_id)
    assert found is not None
    return found.state


async def talk(service: BaseSessionService) -> str:
    """Talk, and return the invocation that paid first."""
    await service.create_session(**WHO, session_id="s", state={"budget": 9, "user:name": "Ann"})
    assert (await ask(service, "hello"))[0] == "1 contents"
    said, paying = await ask(service, "pay 3")
    assert said == "{'result': 'paid 3'}"
    assert (await ask(service, "pay 4"))[0] == "{'result': 'paid 7'}"
    shared = {"user:name": "Ann", "user:spent": 7}
    assert await state(service) == {"budget": 9, "paid": 7} | shared
    return paying


async def test_an_agent_with_a_tool_a_fork_and_a_rewind(service: Service, user: str) -> None:
    async with service.async_client(user) as client:
        adk, wire = ForkloreSessionService(client), Wire()
        paying = await talk(adk)
        session = await adk.get_session(**WHO, session_id="s")
        assert session is not None
        await adk.fork(session, session_id="f", before_invocation=paying)
        assert (await ask(adk, "pay 1", "f"))[0] == "{'result': 'paid 1'}"
        metered = ForkloreSessionService(wire.wrapped_async(client))
        assert (await ask(metered, "hi", "f"))[0] == "7 contents"
        assert len(wire.sent) == 5  # as docs/adapters/google-adk.md says
        await runner(adk).rewind_async(user_id="ann", session_id="s", rewind_before_invocation_id=paying)
        assert await state(adk) == {"budget": 9, "user:name": "Ann", "user:spent": 1}
        assert (await ask(adk, "again"))[0] == "3 contents"
        assert (await state(adk, "f"))["paid"] == 1


async def test_what_a_rewind_of_adks_own_loses() -> None:
    adk = InMemorySessionService()
    paying = await talk(adk)
    await runner(adk).rewind_async(user_id="ann", session_id="s", rewind_before_invocation_id=paying)
    assert await state(adk) == {"budget": None, "paid": None, "user:name": "Ann", "user:spent": 7}
    assert (await ask(adk, "again"))[0] == "3 contents"


def test_the_page_runs() -> None:
    assert run_page("google-adk") == 2
