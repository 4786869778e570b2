"""Tools for agents by the Model Context Protocol. They call the API as who calls them."""

from forklore.mcp.on_lambda import handler

__all__ = ["handler"]
