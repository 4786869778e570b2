// The example: the trees of examples/trees.jsonl, written as somebody would have written them.

import examples from "../../../examples/trees.jsonl?url";
import type { App } from "./app.ts";

interface Message {
	message_id: string;
	role: string;
	text: string;
	replies?: Message[];
}

interface Told {
	message_tree_id: string;
	prompt: Message;
}

const placeOf = (app: App) => `${app.keptAt}example`;

/** Tell whether a part of the example was loaded in this tab, and not all of it. */
export const isExampleBegun = (app: App): boolean => sessionStorage.getItem(placeOf(app)) !== null;

/**
 * Load the trees, one request for each message, and return the id of the first conversation. Started again in this
 * tab, it goes on: ids and keys stay the same. told: called with the part that is done, from 0 to 1.
 */
export async function loadExample(app: App, told: (done: number) => void): Promise<string> {
	const response = await fetch(examples, { signal: app.signal, credentials: "omit" });
	const lines = (await response.text()).split("\n").filter(Boolean);
	const trees = lines.map((line) => JSON.parse(line) as Told).reverse();
	const total = trees.reduce((sum, tree) => sum + count(tree.prompt), 0);
	const place = placeOf(app);
	const run = sessionStorage.getItem(place) ?? crypto.randomUUID();
	sessionStorage.setItem(place, run);
	let done = 0;
	const grow = async (
		{ message_id: name, role, text, replies = [] }: Message,
		id: string,
		fork: object,
	): Promise<void> => {
		const content = [{ role: role === "assistant" ? "AI" : "USER", text }];
		const body = { conversationId: id, channel: "history", contentType: "history", content, ...fork };
		const sent = { idempotencyKey: `${run} ${name}`, signal: app.signal };
		const entry = await app.client.api.appendEntry(body, sent);
		told(++done / total);
		const at = {
			forkedAtConversationId: id,
			forkedAtEntryId: "id" in entry ? entry.id : "",
			forkedAtPosition: "after",
		};
		for (const [index, reply] of replies.entries())
			await (index ? grow(reply, await idOf(run, reply.message_id), at) : grow(reply, id, {}));
	};
	let first = "";
	for (const { message_tree_id: name, prompt } of trees) {
		first = await idOf(run, name);
		await grow(prompt, first, {});
	}
	sessionStorage.removeItem(place);
	return first;
}

const count = (message: Message): number =>
	1 + (message.replies ?? []).reduce((sum, reply) => sum + count(reply), 0);

/** Return a UUID, the same for the same run and name. */
async function idOf(run: string, name: string): Promise<string> {
	const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${run} ${name}`));
	const hex = Array.from(new Uint8Array(hash), (one) => one.toString(16).padStart(2, "0")).join("");
	return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-8$3-8$4-$5");
}
