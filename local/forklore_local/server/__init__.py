"""The local server: it stands in for API Gateway and Lambda.

`python -m forklore_local.server` starts it. It is for development and tests. Nothing here is
deployed, and nothing that is deployed imports it.
"""
