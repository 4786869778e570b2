"""The adapters, by the agent frameworks' own tests and by ours. They run in an environment of their own."""
