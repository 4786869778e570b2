"""Load message trees into a running forklore over HTTP, read every path back, and compare.

Run as `python -m tools.demo FILE`. It uses only the HTTP API, so it is also an example of a client.
"""
