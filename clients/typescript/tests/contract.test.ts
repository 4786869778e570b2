// What the clients for Python and for TypeScript have in common.

import { readFileSync } from "node:fs";

import { expect, inject, test } from "vitest";

import * as client from "../src/index.ts";
import { differences, type Step } from "./support/contract.js";
import { KEYS, ROOT } from "./support/server.ts";

export const STORIES = JSON.parse(
	readFileSync(`${ROOT}/tests/clients/python/contract.json`, "utf8"),
) as Record<string, Step[]>;

test.each(Object.entries(STORIES))("%s", async (name, steps) => {
	const at = { url: inject("url"), clientKey: KEYS.planner, run: "vitest" };
	expect(await differences(client, { [name]: steps }, at)).toEqual([]);
});

test("a story that goes otherwise is told", async () => {
	const at = { url: inject("url"), clientKey: KEYS.planner, run: "otherwise" };
	const found = await differences(
		client,
		{
			"another answer": [{ call: "names", gives: [{ name: "x" }] }],
			"no error": [{ call: "names", throws: { name: "NotFoundError" } }],
			"another error": [{ call: "named", with: [""], throws: { name: "NotFoundError" } }],
			"an error": [{ call: "named", with: [""] }],
			"another text": [{ call: "names", texts: ["x"] }],
		},
		at,
	);
	expect(found).toHaveLength(5);
});
