"""Copies of whole tables, item by item: of DynamoDB, in a folder, or as a portable file.

The service is not asked, and may run meanwhile. `forklore copy-table` is the command.
"""
