"""The sessions of agent programs on this machine: where they are, how they come in, and back."""
