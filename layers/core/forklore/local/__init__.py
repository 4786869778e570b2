"""The local stand-in for API Gateway and Lambda: `python -m forklore.local` serves template.yaml's routes.

For development and tests. Nothing here is deployed, and nothing that is deployed imports it.
"""
