"""Where forklore meets Lambda: credentials, requests, answers, settings."""
