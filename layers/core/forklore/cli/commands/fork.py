"""`forklore fork`."""
