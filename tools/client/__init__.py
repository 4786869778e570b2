"""Generates the modules of the clients that follow from the table of operations.

`python -m tools.client` writes them into the package; `make client` runs it.
"""
