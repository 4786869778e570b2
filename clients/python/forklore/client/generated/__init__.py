"""What `python -m tools.client` writes. Do not change it by hand."""
