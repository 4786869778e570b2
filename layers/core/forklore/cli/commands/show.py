"""`forklore show`."""
