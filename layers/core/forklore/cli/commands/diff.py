"""`forklore diff`."""
