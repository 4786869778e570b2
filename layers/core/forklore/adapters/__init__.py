"""Session stores for agent frameworks. Each module is one adapter, and imports its framework alone."""
