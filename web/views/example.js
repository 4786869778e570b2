// The example: the trees of examples/trees.jsonl, written as somebody would have written them.

/** @param {App} app */
const placeOf = (app) => `${app.keptAt}example`;

/** Tell whether a part of the example was loaded in this tab, and not all of it. @param {App} app */
export const isExampleBegun = (app) => sessionStorage.getItem(placeOf(app)) !== null;

/**
 * Load the trees, one request for each message, and return the id of the first conversation. Started again in this
 * tab, it goes on: ids and keys stay the same. told: called with the part that is done, from 0 to 1. Raises Problem.
 * @param {App} app
 * @param {(done: number) => void} told
 */
export async function loadExample(app, told) {
	const response = await fetch("/web/trees.jsonl", { signal: app.signal, credentials: "omit" });
	const lines = (await response.text()).split("\n").filter(Boolean);
	const trees = lines.map((line) => /** @type {ExampleTree} */ (JSON.parse(line))).reverse();
	const total = trees.reduce((sum, tree) => sum + count(tree.prompt), 0);
	const place = placeOf(app);
	const run = sessionStorage.getItem(place) ?? crypto.randomUUID();
	sessionStorage.setItem(place, run);
	let done = 0;
	/** @param {ExampleMessage} message @param {string} id @param {object} fork @returns {Promise<void>} */
	const grow = async ({ message_id: name, role, text, replies = [] }, id, fork) => {
		const content = [{ role: role === "assistant" ? "AI" : "USER", text }];
		const body = { channel: "history", contentType: "history", content, ...fork };
		const entry = await app.api.appendEntry(id, body, `${run} ${name}`);
		told(++done / total);
		const at = { forkedAtConversationId: id, forkedAtEntryId: entry.id, forkedAtPosition: "after" };
		for (const [index, reply] of replies.entries()) {
			await (index ? grow(reply, await idOf(run, reply.message_id), at) : grow(reply, id, {}));
		}
	};
	let first = "";
	for (const { message_tree_id: name, prompt } of trees) {
		first = await idOf(run, name);
		await grow(prompt, first, {});
	}
	sessionStorage.removeItem(place);
	return first;
}

/** @param {ExampleMessage} message @returns {number} */
const count = (message) => 1 + (message.replies ?? []).reduce((sum, reply) => sum + count(reply), 0);

/** Return a UUID, the same for the same run and name. @param {string} run @param {string} name */
async function idOf(run, name) {
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${run} ${name}`));
	const hex = Array.from(new Uint8Array(hash), (one) => one.toString(16).padStart(2, "0")).join("");
	return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-8$3-8$4-$5");
}
