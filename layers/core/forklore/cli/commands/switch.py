"""`forklore switch`."""
