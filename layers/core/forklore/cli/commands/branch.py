"""`forklore branch`."""
