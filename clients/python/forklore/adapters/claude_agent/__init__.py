"""A session store for the Claude Agent SDK."""

from forklore.extras import needing

with needing("claude-agent"):
    from forklore.adapters.claude_agent.store import ForkloreSessionStore

__all__ = ["ForkloreSessionStore"]
