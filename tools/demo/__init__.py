"""Load message trees into a running forklore over HTTP, read every path back, and compare.

Run as `python -m tools.demo FILE`. Only the HTTP API is used, so this is also an example of a caller.
"""
