"""Lambda: HTTP events, direct invocation, jobs of the queue, settings and telemetry."""
