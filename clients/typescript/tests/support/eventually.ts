// To wait for what comes by itself, on a machine on which much else runs.

import { vi } from "vitest";

const PATIENCE_MS = 120_000;

/** Return when the check does not fail any more. Throws what it throws, if it always does. */
export async function eventually(check: () => unknown): Promise<void> {
	await vi.waitFor(check, { timeout: PATIENCE_MS });
}
