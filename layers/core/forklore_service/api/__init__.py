"""The table of operations, with their requests and their answers. It knows nothing of Lambda."""
