"""Runs the checks of docs/reliability.md at their full size, and shows the results in one table."""
