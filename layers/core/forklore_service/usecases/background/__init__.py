"""What runs without a caller: the worker of the queue, and the sweep."""
