"""Conversations from elsewhere: files into trees, trees into plans, plans into calls.

Nothing here talks to a service. `files.read` turns a file into trees, one by one; `plan` says which
conversations and forks a tree becomes; `steps` says which calls make them, and goes on where an
earlier run has stopped.
"""
