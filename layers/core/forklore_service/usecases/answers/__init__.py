"""Answers that are written piece by piece."""
