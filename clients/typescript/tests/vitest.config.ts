import { defineConfig } from "vitest/config";

export default defineConfig({
	test: { dir: "tests", globalSetup: "tests/support/server.ts", testTimeout: 30_000, hookTimeout: 60_000 },
});
