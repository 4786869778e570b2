"""`forklore serve`."""
