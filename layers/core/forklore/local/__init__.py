"""The local server: it stands in for API Gateway and Lambda. `python -m forklore.local` starts it.

It is for development and tests. Nothing here is deployed, and nothing that is deployed imports it.
"""
