import { join } from "node:path";

import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		dir: "tests",
		globalSetup: join(import.meta.dirname, "support", "server.ts"),
		reporters: "dot",
		silent: "passed-only", // what a test that passes prints is not of interest
		maxWorkers: "100%", // of the cores: the tests wait for the server
		// for a machine on which much else runs
		testTimeout: 300_000,
		hookTimeout: 300_000,
	},
});
