"""For those who develop forklore: measure, check and deploy it. Nothing here is installed."""
