"""The service: what Lambda runs, and nothing else. The layer is this folder."""
