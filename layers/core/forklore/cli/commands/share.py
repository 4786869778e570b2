"""`forklore share`."""
