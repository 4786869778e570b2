"""`forklore grep`."""
