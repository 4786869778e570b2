"""Session stores for agent frameworks. Each adapter imports its framework alone."""
