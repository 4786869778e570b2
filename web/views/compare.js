// Two branches side by side from where they part, and what brings one into the other.

import { counted, lineOf } from "../domain/message.js";
import { toCompare } from "../domain/route.js";
import { isAtLeast } from "../domain/rules.js";
import { shortId, titleOf } from "../domain/words.js";
import { button, fill, h, released } from "../dom.js";
import { allOf, apiOf, ENTRIES_MAX } from "../service/api.js";
import { isAborted, Problem } from "../service/http.js";
import { actions, ask, askPromote, isAsking, link, p, quoted, refill } from "./ask.js";
import { entryCard } from "./entry.js";
import { retry } from "./problem.js";

const PAGE = 50;
const MERGE_MAX = 50; // entries of one merge
const COPIES = "copies of its entries";

/** Compare two conversations of the open tree, until `signal` comes. @type {ShowComparison} */
export function showComparison(app, panel, ids, signal) {
	const grove = /** @type {Place} */ (app.place).grove;
	const api = apiOf(app.http, signal);
	const [one, other] = ids;
	let rounds = 0;
	/** @type {ComparedBranch[]} */
	let sides = [];

	/** Load both sides, as many entries of each as are shown. */
	const load = async () => {
		const round = ++rounds;
		const shown = Math.max(PAGE, ...sides.map((side) => side.data.length));
		try {
			const [{ accessLevel }, { base, branches }] = await Promise.all([
				api.getConversation(one),
				api.compareConversations(one, { with: other, limit: Math.min(shown, ENTRIES_MAX) }),
				grove.hasForks || grove.loadForks(),
			]);
			const baseId = base.entryId;
			const query = { channel: "history", upToEntryId: baseId, tail: true, limit: 1 };
			const last = baseId && (await api.listEntries(one, query)).data[0];
			await released(panel);
			if (signal.aborted || round !== rounds) return; // a later one is on its way
			sides = branches;
			const onchange = () => app.go(toCompare(one, choose.value));
			const choose = h("select", { id: "choose", onchange }, optionsOf(grove, one));
			choose.value = other;
			const swap = button("Swap", () => app.go(toCompare(other, one)), { id: "swap" });
			const sections = sides.map((side, at) => {
				const merge = () => askMerge(app, api, grove, { from: ids[at], into: ids[1 - at], baseId });
				return sideOf(app, api, grove, side, isAtLeast(accessLevel, "writer") && merge);
			});
			refill(
				panel,
				h("h2", {}, "Compare"),
				actions(h("label", {}, "With ", choose), swap),
				last ? p("Both show the same up to ", link(lineOf(last), one, last.id)) : p("They share nothing."),
				h("div.sides", {}, sections),
			);
		} catch (error) {
			if (sides.length || isAborted(error)) throw error;
			fill(panel, retry(error, load));
		}
	};

	fill(panel, p("Comparing…"));
	app.addEventListener("reloaded", load, { signal });
	void load();
}

/** @type {SideOf} */
function sideOf(app, api, grove, side, merge) {
	const { conversationId: id, data } = side;
	const fork = grove.forks.get(id);
	const title = titleOf(fork?.title);
	const promote = merge && !fork?.isCurrent && (() => askPromote(app, grove, id));
	const cards = h("div");
	const more = button("Show more", async () => {
		const query = { channel: "history", afterCursor: side.afterCursor, limit: PAGE };
		const page = await api.listEntries(id, query);
		data.push(...page.data);
		side.afterCursor = page.afterCursor;
		draw();
	});
	const draw = () => {
		const fresh = data.slice(cards.childElementCount);
		cards.append(...fresh.map((entry) => entryCard(app, entry, { isPlain: true })));
		more.hidden = side.afterCursor === null;
	};
	draw();
	return h(
		"section",
		{ "aria-label": title },
		h("h3", {}, link(title, id)),
		actions(
			fork?.isCurrent && h("span.chip", {}, "current branch"),
			promote && button("Promote…", promote, { id: `promote-${id}` }),
			merge && button("Merge into the other…", merge, { id: `merge-${id}` }),
		),
		!data.length && p("Nothing more than what both show."),
		cards,
		more,
	);
}

/** Return the branches to choose from. Those whose titles are alike have a piece of their id. @type {OptionsOf} */
function optionsOf({ forks }, openId) {
	const alike = Map.groupBy(forks.values(), ({ title }) => titleOf(title));
	return [...forks.values()].map(({ conversationId: id, title }) => {
		const name = titleOf(title);
		const piece = alike.get(name)?.length === 1 ? "" : ` (${shortId(id)})`;
		return h("option", { value: id, disabled: id === openId }, name, piece);
	});
}

/** Ask, and bring a branch into another one: as copies, or as a summary that one types. @type {AskMerge} */
async function askMerge(app, loading, { forks }, { from, into, baseId }) {
	const [source, target] = [from, into].map((id) => quoted(forks.get(id)?.title));
	/** Return what a branch shows after the base. @param {string} id */
	const loadOwn = (id) =>
		allOf((query) => loading.listEntries(id, { ...query, channel: "history", limit: ENTRIES_MAX }), baseId);
	const [own, others] = await Promise.all([from, into].map(loadOwn));
	if (isAsking()) return;
	const ids = own.map((entry) => entry.id);
	const copies = new Set(others.map((entry) => entry.copiedFromEntryId));
	const copied = ids.findLastIndex((id) => copies.has(id)) + 1; // by earlier merges
	const left = counted(ids.length - copied, "entry", "entries");
	let at = copied; // where copying goes on, also after an error: nothing is copied twice
	/** @param {Values} values */
	const isSummary = ({ how }) => how !== COPIES;

	await ask(app, {
		title: `Merge ${source} into ${target}`,
		fields: [
			{ name: "how", label: "As", tag: "select", options: [[COPIES], ["a summary"]] },
			{ name: "role", label: "Role", tag: "select", options: [["SYSTEM"], ["AI"]], isShown: isSummary },
			{ name: "text", label: "Summary", tag: "textarea", required: true, isShown: isSummary },
		],
		confirm: "Merge",
		explain: (values) => {
			if (isSummary(values))
				return [`Your text is appended to ${target}, as a summary of ${source}. Nothing else changes.`];
			const before = counted(copied, "entry", "entries");
			return [
				`Copies of ${left} of ${source} are appended to ${target}. Nothing else changes.`,
				copied > 0 && `${before} before them are left out: they were copied before.`,
			];
		},
		check: (values) => (isSummary(values) || copied < ids.length ? "" : "There is nothing to copy."),
		run: async ({ how, role, text }, api, key, progress) => {
			if (isSummary({ how })) {
				const merged = { mergedFromConversationId: from, mergedUpToEntryId: ids.at(-1) ?? baseId };
				const body = { channel: "history", contentType: "history", content: [{ role, text }], ...merged };
				return void (await api.appendEntry(into, body, key));
			}
			let size = MERGE_MAX;
			while (at < ids.length) {
				progress(`${at - copied} of ${left} are copied.`);
				const end = Math.min(at + size, ids.length);
				const [afterEntryId, upToEntryId] = [ids[at - 1] ?? baseId, ids[end - 1]];
				const body = { fromConversationId: from, afterEntryId, upToEntryId };
				try {
					await api.mergeConversation(into, body, `${key}:${afterEntryId}:${upToEntryId}`);
					at = end;
				} catch (error) {
					if (!(error instanceof Problem) || error.status !== 413 || end - at === 1) throw error;
					size = Math.ceil((end - at) / 2); // the part is too large
				}
			}
		},
		told: () => `${source} is merged into ${target}.`,
	});
}
