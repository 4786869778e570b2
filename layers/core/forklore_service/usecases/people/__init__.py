"""Who may use a tree, who owns it, and the erasure of a user."""
