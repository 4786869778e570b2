# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""The client."""
