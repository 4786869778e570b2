"""How a tree or a branch ends: the request, and the worker's part."""
