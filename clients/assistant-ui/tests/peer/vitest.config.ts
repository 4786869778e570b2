// The tests of `assistant-stream` itself, from its package, on forklore's store in place of its memory store.

import { join } from "node:path";

import { defineConfig } from "vitest/config";

const STREAMS = join(import.meta.dirname, "../../../node_modules/assistant-stream/src/resumable");
const IN_MEMORY = "InMemoryResumableStreamStore";
/** What is about the memory store alone: how long a stream is kept there, and how many. */
const ITS_OWN = ["TTL", "sweep", "expire", "deadline", "timers", "max[A-Z]", "gc ", "dispose", "reacquired"];
/** What reaches into the memory store, waits for each single append to be stored, or deletes what is a message now. */
const OF_ITS_INSIDE = [
	"removes stream state",
	"parked",
	"live updates",
	"mid-stream",
	"fenced",
	"source cleanup",
	"superseded",
	"append errors",
	"particular error",
	"replay bytes",
];

export default defineConfig({
	plugins: [
		{
			name: "forklore's store",
			enforce: "pre",
			resolveId: (id) => (id.endsWith(IN_MEMORY) ? join(import.meta.dirname, "store.ts") : undefined),
		},
	],
	test: {
		root: STREAMS,
		exclude: ["**/redis*"],
		include: ["**/*.test.ts"],
		globalSetup: join(import.meta.dirname, "../../../typescript/tests/support/server.ts"),
		testNamePattern: new RegExp(`^(?!.*(${[...ITS_OWN, ...OF_ITS_INSIDE].join("|")}))`),
		reporters: "dot",
		silent: true,
		testTimeout: 300_000,
	},
});
