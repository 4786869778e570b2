"""`forklore fsck`."""
