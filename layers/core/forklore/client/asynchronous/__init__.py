"""The client for asyncio and trio. `synchronous/` is made from this folder."""
