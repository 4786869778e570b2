"""Attachments: how they come, who may read them, and how an admin removes them."""
