// An agent's context beside the history: its epochs, newest first, and what each entry changed.

import { epochsOf } from "../domain/memory.js";
import { counted, lineOf } from "../domain/message.js";
import { toConversation } from "../domain/route.js";
import { fill, h } from "../dom.js";
import { ENTRIES_MAX } from "../service/api.js";
import { Problem } from "../service/http.js";
import { byId } from "../service/opened.js";
import { folded, timeOf } from "./entry.js";
import { aside, retry } from "./problem.js";

/** Load and show the context of a conversation, until one goes elsewhere. @param {HTMLElement} panel @param {Place} place */
export function showContext(panel, { conversationId, opened, api, signal }) {
	/** @type {Map<string, Entry>} */
	const known = new Map();
	let isLoaded = false;
	let isCut = false;
	let round = 0; // of `opened`: all up to its end is known
	let drawn = "none";

	opened.addEventListener("context", (/** @type {any} */ { detail }) => take(detail), { signal });
	opened.addEventListener("change", draw, { signal });
	signal.addEventListener("abort", () => fill(panel));
	void load();

	async function load() {
		isLoaded = false;
		round = opened.has.newer ? 0 : opened.round;
		show(aside("Loading…"));
		try {
			const query = { channel: "context", epoch: "all", tail: true, limit: ENTRIES_MAX };
			const page = await api.listEntries(conversationId, query);
			isCut = page.beforeCursor !== null;
			isLoaded = true;
			take(page.data);
		} catch (error) {
			if (signal.aborted) return;
			const isBound = error instanceof Problem && error.status === 403;
			if (isBound) show(h("p", {}, "The context of this conversation belongs to another client."));
			else show(...retry(error, load));
		}
	}

	/** @param {Entry[]} entries */
	function take(entries) {
		for (const entry of entries) known.set(entry.id, entry);
		drawn = "none";
		draw();
	}

	function draw() {
		if (!isLoaded) return;
		if (!opened.has.newer && round !== opened.round) return void load();
		const turns = opened.entries.map(({ id }) => id).join();
		if (drawn === turns) return;
		drawn = turns;
		const epochs = epochsOf([...known.values()].sort(byId)).reverse();
		show(
			!epochs.length && aside("This agent remembers nothing here."),
			...epochs.map(epochView),
			isCut && aside(`Older entries than the last ${ENTRIES_MAX} are not shown.`),
		);
	}

	/** @param {...Child} children */
	function show(...children) {
		fill(panel, h("h2", {}, "Context"), children);
	}

	/** @param {Epoch} epoch @param {number} index */
	function epochView({ epoch, elements, changes }, index) {
		return h(
			"section",
			{},
			h("h3", {}, `Epoch ${epoch} `, index === 0 && h("span.chip", {}, "latest")),
			folded(counted(elements.length, "element"), elements),
			h("ul", {}, changes.map(changeView).reverse()),
		);
	}

	/** @param {Change} change */
	function changeView({ entry, added, dropped, kept }) {
		const told = [`+ ${counted(added.length, "element")}`];
		if (dropped.length) told.push(`− ${counted(dropped.length, "element")}`, `${kept} kept`);
		const turn = opened.entries.findLast(({ id }) => id < entry.id);
		const href = toConversation(conversationId, turn?.id);
		return h(
			"li",
			{},
			timeOf(entry.createdAt),
			` ${told.join(", ")}`,
			turn && h("a", { href, dir: "auto" }, `after: ${lineOf(turn, 60)}`),
			added.length > 0 && folded("added", added),
			dropped.length > 0 && folded("dropped", dropped),
		);
	}
}
