"""`forklore merge`."""
