"""Importing an adapter does nothing but define names."""

from tests.test_layering import PROJECT, import_all, modules, within

FOREIGN = "agents.memory claude_agent_sdk google.adk.sessions.in_memory_session_service google.adk.errors"
FOREIGN += " langchain_core.messages langchain_core.runnables"
FOREIGN += " langgraph.checkpoint.base langgraph.checkpoint.serde.encrypted pydantic_ai.conversation_store"
FOREIGN += " strands.multiagent strands.session.session_repository"


def test_importing_an_adapter_only_defines_names() -> None:
    names = sorted(name for name, _ in modules(PROJECT) if within(name, {"forklore.adapters"}))
    names = [name for name in names if not within(name, {"forklore.adapters.openhands"})]  # Python 3.12

    assert len(names) > 5
    assert import_all(PROJECT, names, foreign=FOREIGN) == ""
