import assert from "node:assert/strict";
import { test } from "node:test";

import { Grove } from "../../../web/service/grove.js";

/** @param {string} id @param {string} conversationId @param {string | null} parentId */
const entry = (id, conversationId, parentId) => ({
	...{ id, conversationId, parentId, channel: "history", contentType: "history" },
	...{ content: [{ role: "USER", text: id }], createdAt: `2026-01-01T00:0${id}:00.000Z` },
});

/** @template R @param {R[]} data */
const page = async (data) => ({ data, afterCursor: null, beforeCursor: null });

test("what a deleted branch passed on stays, also when its heir has just said the first word", async () => {
	const entries = [entry("1", "main", null), entry("2", "side", "1")];
	/** @type {Record<string, string>} */
	let ends = { main: "1", side: "2", heir: "2" };
	const api = {
		listForks: () =>
			page(Object.entries(ends).map(([conversationId, lastEntryId]) => ({ conversationId, lastEntryId }))),
		listEntries: (/** @type {string} */ _id, /** @type {Query} */ { afterCursor }) =>
			page(entries.filter(({ id }) => id > (afterCursor ?? ""))),
	};
	const grove = new Grove(/** @type {any} */ (api), "main");
	await grove.load();

	entries.push(entry("3", "heir", "2"));
	ends = { main: "1", heir: "3" };
	await grove.loadForks();
	assert.deepEqual([...grove.dots.map(({ id }) => id)], ["1", "2", "3"]);

	ends = { main: "1" };
	await grove.loadForks();
	assert.deepEqual([...grove.dots.map(({ id }) => id)], ["1"]);
});

test("a list of branches that was asked for earlier does not take the place of a later one", async () => {
	let title = "Pond";
	/** @type {Promise<void> | null} */
	let held = null;
	const api = {
		listForks: async () => {
			const found = [{ conversationId: "main", title, lastEntryId: null }];
			await held;
			return page(found);
		},
		listEntries: () => page([]),
	};
	const grove = new Grove(/** @type {any} */ (api), "main");
	await grove.load();
	let resolve = () => {};
	held = new Promise((done) => (resolve = done));
	const earlier = grove.loadForks();
	held = null;
	title = "Lake";
	await grove.loadForks();

	resolve();
	await earlier;

	assert.equal(grove.forks.get("main")?.title, "Lake");
});
