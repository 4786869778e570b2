"""forklore's tools for agents, by the Model Context Protocol. It needs the extra `mcp`."""
