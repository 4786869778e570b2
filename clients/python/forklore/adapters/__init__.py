"""Session stores for agent frameworks. Each module is an adapter, and imports its framework."""
