"""Conversations for others: fork trees as forklore's own lines, a branch in other systems' formats.

`fork_trees` reads whole trees from a service, `jsonlines` says how they are written, `kept_files`
keeps the files beside them, and `elsewhere` writes what one branch shows as another system has it.
"""
