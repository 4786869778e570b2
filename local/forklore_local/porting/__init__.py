"""Exports and imports of whole trees: everything that a table holds of them, in JSON Lines.

`docs/formats.md` describes the lines. An export reads a table and an import writes one, both
without the service. The service may run meanwhile. `forklore export` and `forklore import` are the
commands.
"""
