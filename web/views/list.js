// The conversations: the current branch of each tree, children under their parents, search, and an example.

import { visible } from "../domain/message.js";
import { toConversation } from "../domain/route.js";
import { titleOf } from "../domain/words.js";
import { button, fill, h, released } from "../dom.js";
import { allOf, apiOf, PAGE_MAX } from "../service/api.js";
import { ask, isAsking, refill } from "./ask.js";
import { timeOf } from "./entry.js";
import { isExampleBegun, loadExample } from "./example.js";
import { aside, retry } from "./problem.js";
import { transfersView } from "./sharing.js";

const PAGE_ROWS = 40;
const TYPED_MS = 300;
const NEAR_PX = 400; // so near to the end more is loaded
const EMPTY_PAGES = 5; // of a search that finds nothing yet, before one is asked to go on

/** Rows that become more as one scrolls. @template R */
class Rows {
	/** @type {R[]} */
	rows = [];
	/** Undefined before the first page, null at the end. @type {string | null | undefined} */
	cursor = undefined;
	emptyPages = 0;
	/** @type {unknown} */
	failed = null;

	get isWhole() {
		return this.cursor === null;
	}

	get isEmpty() {
		return this.isWhole && !this.rows.length;
	}

	/** Take in a page. It never raises. @param {Promise<Page<R>>} loading @param {(row: R) => string} idOf */
	async take(loading, idOf) {
		try {
			const { data, afterCursor } = await loading;
			const known = new Set(this.rows.map(idOf));
			this.rows.push(...data.filter((row) => !known.has(idOf(row))));
			this.cursor = afterCursor;
			this.emptyPages = data.length ? 0 : this.emptyPages + 1;
		} catch (error) {
			this.failed = error;
		}
	}
}

/** Show the list, and let it follow the search. @param {App} app @param {HTMLElement} panel */
export function showList(app, panel) {
	/** @type {Rows<Conversation>} */
	let titles = new Rows();
	/** @type {Rows<Hit>} */
	let hits = new Rows();
	/** @type {string | null} */
	let selected = null;
	let query = "";
	let round = new AbortController();
	let isLoading = false; // until it is drawn
	let typing = 0;
	/** It stays the same while the example is loaded. @type {HTMLElement | null} */
	let greeting = null;

	const named = { "aria-label": "Search titles and messages", placeholder: "Search", maxlength: 500 };
	const search = h("input", { type: "search", ...named, oninput: typed });
	const rows = h("div.rows");
	/** By a branch, one that stands for its tree. @type {Record<string, string>} */
	const trees = {};
	const edge = h("div.edge");
	const scroller = h("div.scroller", { tabindex: 0, onscroll: scrolled }, rows, edge);
	const make = button("New", create, { class: "primary", title: "Begin a conversation" });
	fill(panel, transfersView(app), h("div.find", {}, search, make), scroller);
	const look = () => document.hidden || void load();
	document.addEventListener("visibilitychange", look, { signal: app.signal });
	return { load, select };

	function typed() {
		clearTimeout(typing);
		typing = window.setTimeout(() => void load(), TYPED_MS);
	}

	/** @param {string | null} conversationId */
	function select(conversationId) {
		selected = conversationId;
		for (const row of rows.querySelectorAll("a")) row.ariaCurrent = isOpen(row.id);
	}

	/** @param {string} id */
	function isOpen(id) {
		return id === selected ? "page" : null;
	}

	/** Load the list anew, as long as it is now. It never raises. */
	async function load() {
		const asked = search.value.trim();
		const count = asked === query ? rows.querySelectorAll("a").length : 0;
		query = asked;
		round.abort();
		round = new AbortController();
		titles = new Rows();
		hits = new Rows();
		if (!query) hits.cursor = null;
		isLoading = false;
		await more(Math.min(Math.max(count, PAGE_ROWS), PAGE_MAX));
	}

	/** What grows now: the messages come after all titles. */
	function growing() {
		return titles.isWhole ? hits : titles;
	}

	/** @param {number} [limit] of the rows to load */
	async function more(limit = PAGE_ROWS) {
		const list = growing();
		if (isLoading || list.isWhole || list.failed) return;
		isLoading = true;
		const { signal } = round;
		const api = apiOf(app.http, signal);
		const page = { query, afterCursor: list.cursor, limit };
		const mode = query ? "all" : "current";
		const loading = titles.isWhole
			? hits.take(api.searchConversations({ ...page, includeEntry: false }), ({ entryId }) => entryId)
			: titles.take(api.listConversations({ ...page, mode, ancestry: "all" }), ({ id }) => id);
		drawEdge();
		await loading;
		await released(rows);
		if (signal.aborted) return;
		isLoading = false;
		draw();
		scrolled();
	}

	function scrolled() {
		const { scrollTop, scrollHeight, clientHeight } = scroller;
		const isNear = clientHeight > 0 && scrollHeight - clientHeight - scrollTop < NEAR_PX;
		if (isNear && growing().emptyPages < EMPTY_PAGES) void more();
	}

	function draw() {
		if (query) {
			refill(
				rows,
				h("h2", {}, titles.isEmpty ? "No title has this" : "Titles"),
				listOf(titles.rows, rowOf),
				titles.isWhole && h("h2", {}, hits.isEmpty ? "No message has this" : "Messages"),
				listOf(hits.rows, hitOf),
			);
		} else {
			const isOffered = titles.isEmpty || isExampleBegun(app);
			refill(rows, isOffered && (greeting ??= greet(titles.isEmpty)), nested(titles.rows));
		}
		drawEdge();
	}

	function drawEdge() {
		const list = growing();
		const again = () => {
			list.failed = null;
			list.emptyPages = 0;
			return more();
		};
		if (list.failed) fill(edge, retry(list.failed, again));
		else if (isLoading) fill(edge, aside("Loading…"));
		else fill(edge, !list.isWhole && button(query ? "Search on" : "More", again));
	}

	/**
	 * Return the rows as a list, children under their parents' trees. A child whose tree is not among them stands alone.
	 * @param {Conversation[]} all
	 */
	function nested(all) {
		for (const { id, forkedAtConversationId: by = id } of all) trees[id] ??= trees[by] ??= by;
		const ids = Object.fromEntries(all.map(({ id }) => [trees[id], id]));
		const children = Map.groupBy(all, ({ startedByConversationId: by }) => {
			if (by && !trees[by]) void learnTree(by);
			return (by && ids[trees[by]]) ?? "";
		});
		/** @type {(parent: string) => Child} */
		const under = (parent) => {
			const some = children.get(parent);
			return some && listOf(some, (row) => [rowOf(row), under(row.id)]);
		};
		return under("");
	}

	/** Ask once for the tree of a parent that is no row. @param {string} id */
	async function learnTree(id) {
		trees[id] = id;
		const forks = await allOf((page) => app.api.listForks(id, page)).catch(() => []);
		for (const { conversationId } of forks) trees[conversationId] = id;
		await released(rows);
		if (titles.rows.length) draw(); // else they are being loaded anew
	}

	/** @param {Conversation} row */
	function rowOf({ id, title, updatedAt, agentId, ownerUserId, tags, ...row }) {
		const chips = [
			row.startedByConversationId && "child",
			agentId,
			ownerUserId !== app.user && `of ${ownerUserId}`,
			...Object.entries(tags).map(([name, value]) => (value ? `${name}: ${value}` : name)),
		];
		return h(
			"a.row",
			{ href: toConversation(id), id, "aria-current": isOpen(id) },
			said(title, updatedAt, row.lastMessagePreview ?? "No messages yet"),
			h("span", {}, ...chips.map((chip) => chip && [h("span.chip", {}, visible(chip)), " "])),
		);
	}

	/** @param {Hit} hit */
	function hitOf({ conversationId, entryId, conversationTitle, createdAt, highlights }) {
		const href = toConversation(conversationId, entryId);
		return h("a.row", { href, id: entryId }, said(conversationTitle, createdAt, highlights.join(" ")));
	}

	/** Return what offers the example, or the rest of one that was begun. @param {boolean} isEmpty */
	function greet(isEmpty) {
		const bar = h("progress", { max: 1, value: 0, "aria-label": "Loading the example", hidden: true });
		const begin = async () => {
			bar.hidden = false;
			try {
				const first = await loadExample(app, (done) => (bar.value = done));
				greeting = null;
				await load();
				if (!app.place && !isAsking()) app.go(toConversation(first));
			} catch (error) {
				app.fail(error);
			}
		};
		return h(
			"div.greeting",
			{},
			isEmpty && h("h2", {}, "Nothing here yet"),
			isEmpty && h("p", {}, "Begin a conversation with “New”, or look at three small fork trees first."),
			button(isEmpty ? "Load an example" : "Load the rest of the example", begin, { class: "primary" }),
			bar,
		);
	}

	async function create() {
		const made = await ask(app, {
			title: "New conversation",
			explain: ["You become its owner. Nobody else sees it until you share it."],
			fields: [{ name: "title", label: "Title (may be empty)", maxlength: 500 }],
			confirm: "Create",
			run: ({ title }, api, key) => api.createConversation({ title: title.trim() || undefined }, key),
		});
		if (made) app.go(toConversation(made.id));
	}
}

/** @template R @param {R[]} rows @param {(row: R) => Child | Child[]} draw */
const listOf = (rows, draw) => h("ul", {}, ...rows.map((row) => h("li", {}, draw(row))));

/** @type {(title: string | null, time: string, preview: string) => Child[]} */
const said = (title, time, preview) => [
	h("b", { dir: "auto" }, titleOf(title)),
	timeOf(time),
	h("span.preview.dim", { dir: "auto" }, visible(preview)),
];
