import assert from "node:assert/strict";
import { test } from "node:test";

import { Opened } from "../../../web/service/opened.js";

const ENTRIES = Array.from({ length: 300 }, (_, at) => ({
	id: String(at).padStart(3, "0"),
	channel: "history",
}));

/**
 * Return a conversation that is open at its end, and what changes while its requests are under way: `during` is called
 * with each request's query before its answer is there.
 * @param {(query: any) => unknown} during
 */
async function opened(during) {
	const all = [...ENTRIES];
	const stored = { title: "Pond" };
	const api = {
		getConversation: async () => {
			const found = { ...stored };
			await during({});
			return found;
		},
		listEntries: async (/** @type {string} */ _id, /** @type {any} */ query) => {
			const { afterCursor, beforeCursor, limit, tail } = query;
			const rows = all.filter(({ id }) => (beforeCursor ? id < beforeCursor : id > (afterCursor ?? "")));
			const data = tail || beforeCursor ? rows.slice(-limit) : rows.slice(0, limit);
			await during(query);
			return {
				data,
				beforeCursor: data[0]?.id > "000" ? data[0].id : null,
				afterCursor: data.at(-1)?.id ?? null,
			};
		},
	};
	const one = new Opened(/** @type {any} */ (api), "c", false);
	await one.load();
	return { one, all, stored };
}

const ids = (/** @type {Opened} */ one) => one.entries.map(({ id }) => id);

test("who goes to what is loaded does not come to what was asked for before", async () => {
	const { one } = await opened(() => {});
	const far = one.goTo("100");

	assert.equal(await one.goTo("290"), true);

	assert.equal(await far, undefined);
	assert.equal(ids(one)[0], "250");
});

test("a title that is loaded anew is there, also when one goes elsewhere meanwhile", async () => {
	const { one, stored } = await opened(() => {});
	stored.title = "Lake";
	const refreshed = one.refresh();

	await one.goTo("100");
	await refreshed;

	assert.equal(one.conversation.title, "Lake");
});

test("a title that was asked for earlier does not take the place of a later one", async () => {
	/** @type {Promise<void> | null} */
	let held = null;
	const { one, stored } = await opened(({ limit }) => limit === undefined && held);
	let resolve = () => {};
	held = new Promise((done) => (resolve = done));
	const earlier = one.refresh();
	await new Promise(setImmediate); // it has asked for the title
	held = null;
	stored.title = "Lake";
	await one.refresh();

	resolve();
	await earlier;

	assert.equal(one.conversation.title, "Lake");
});

test("what others appended before an entry of one's own is not missed when older ones come", async () => {
	const { one, all } = await opened(() => {});
	const [theirs, mine] = ["300", "301"].map((id) => ({ id, channel: "history" }));
	all.push(theirs, mine);
	one.add(/** @type {any} */ (mine));

	await one.loadMore("older");
	await one.poll();

	assert.deepEqual(ids(one).slice(-3), ["299", "300", "301"]);
});
