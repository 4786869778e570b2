"""The adapters, by the frameworks' own tests and by ours, in an environment of their own."""
