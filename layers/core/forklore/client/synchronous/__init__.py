# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""The client for asyncio and trio. `synchronous/` is made from this folder."""
