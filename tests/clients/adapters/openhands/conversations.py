"""Conversations of OpenHands without a model: events that a test emits itself."""

from pathlib import Path
from typing import Any

from openhands.sdk import LLM, Agent
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.event import MessageEvent
from openhands.sdk.event.types import SourceType
from openhands.sdk.llm import Message, TextContent
from pydantic import SecretStr

from tests.clients.adapters.openhands.model import KEY


def agent(url: str = "http://127.0.0.1:9/v1") -> Agent:
    """Return an agent without tools. url: of the model."""
    llm = LLM(model="openai/script", base_url=url, api_key=SecretStr(KEY), usage_id="agent", num_retries=0)
    return Agent(llm=llm, tools=[])


def said(text: str, source: SourceType = "user", **more: Any) -> MessageEvent:
    message = Message(role="user" if source == "user" else "assistant", content=[TextContent(text=text)])
    return MessageEvent(source=source, llm_message=message, **more)


def emit(conversation: LocalConversation, text: str, **more: Any) -> str:
    """Let a conversation say something as a run does; return the id of the event."""
    event = said(text, **more)
    with conversation._state:
        conversation._on_event(event)
    return event.id


def ask(conversation: Any, text: str) -> None:
    """Let the agent of a conversation answer."""
    conversation.send_message(text)
    conversation.run()


def shown(conversation: LocalConversation) -> dict[str, Any]:
    """Return what two conversations that are alike have in common."""
    state = conversation.state
    return {
        "events": [event.model_dump_json() for event in state.events],
        "leaf": state._resolve_active_leaf(),
        "branch": [event.id for event in state.active_branch()],
        "view": [event.id for event in state.view.events],
        "state": {name: getattr(state, name) for name in ("agent_state", "tags", "head_is_empty")},
    }


def plain(folder: Path, **more: Any) -> LocalConversation:
    """Return a conversation that the SDK keeps itself."""
    given = {"agent": agent(), "workspace": folder, "persistence_dir": folder / "own", **more}
    return LocalConversation(visualizer=None, delete_on_close=False, **given)
