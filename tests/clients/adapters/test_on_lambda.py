"""The small agents once more, with clients that invoke the function instead of sending HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from forklore import AsyncForklore, Forklore
from tests.clients.adapters.services import Service
from tests.clients.adapters.test_claude_agent_forks import (
    test_a_second_answer_and_a_rewind as test_claude_agent,
)
from tests.clients.adapters.test_google_adk_agent import (
    test_an_agent_with_a_tool_a_fork_and_a_rewind as test_google_adk,
)
from tests.clients.adapters.test_langgraph_agent import (
    test_an_agent_with_a_tool_an_interruption_a_fork_and_a_summary as test_langgraph,
)
from tests.clients.adapters.test_langgraph_agent import (
    test_the_same_with_the_async_saver as test_async_langgraph,
)
from tests.clients.adapters.test_openai_agents_agent import (
    test_an_agent_is_interrupted_goes_on_elsewhere_and_is_forked as test_openai_agents,
)
from tests.clients.adapters.test_pydantic_ai_agent import (
    test_an_agent_with_tools_an_approval_a_fork_and_a_compaction as test_pydantic_ai,
)
from tests.clients.adapters.test_strands_agent import (
    test_an_agent_with_a_tool_an_interruption_a_fork_and_a_window as test_strands,
)
from tests.clients.python.here import InvokesHere
from tools.harness.gateway import table_in_memory

__all__ = [
    "test_async_langgraph",
    "test_claude_agent",
    "test_google_adk",
    "test_langgraph",
    "test_openai_agents",
    "test_pydantic_ai",
    "test_strands",
]


@dataclass(frozen=True)
class OnLambda(Service):
    """The function `agent` of the stack, run in this process."""

    function: InvokesHere

    def client(self, user: str, agent: str | None = "planner") -> Forklore:
        return Forklore.on_lambda("AgentFunction", user=user, client=agent, boto_client=self.function)

    def async_client(self, user: str, agent: str | None = "planner") -> AsyncForklore:
        return AsyncForklore.on_lambda("AgentFunction", user=user, client=agent, boto_client=self.function)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with table_in_memory() as template:
        yield OnLambda("Lambda", None, tmp_path_factory.mktemp("data"), InvokesHere(template))
