"""`forklore explore`."""
