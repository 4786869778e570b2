// One fork tree: all its branches, and a short record of each entry. It is loaded from the newest entry on.

import { lineOf, messageOf } from "../domain/message.js";
import { allOf, ENTRIES_MAX } from "./api.js";
import { isAborted } from "./http.js";
import { byId } from "./opened.js";

const FIRST_PAGE = 200; // is drawn at once, so it is small
const OVERLAP_MS = 30_000; // entries of two branches may arrive in another order than that of their ids

/** Emits "change" whenever something of it changed. */
export class Grove extends EventTarget {
	/** The live branches, the root among them, oldest first. @type {Map<string, Fork>} */
	forks = new Map();
	/** All entries from the oldest that is loaded to the newest, in the order of their ids: parents first. @type {Dot[]} */
	dots = [];
	/** @type {Map<string, Dot>} */
	_byId = new Map();
	hasForks = false; // all branches are known
	isWhole = false; // all entries are known, too
	isLoading = false;
	/** What stopped the loading: call `load` again. @type {unknown} */
	problem = null;
	/** @type {string | null} */
	_before = null;
	_hasBegun = false;
	_lists = { begun: 0, taken: 0 }; // of the branches
	_addedAt = 0;
	_settled = ""; // all up to this entry is known

	/** @param {Api} api its requests end with the grove @param {string} conversationId any live branch */
	constructor(api, conversationId) {
		super();
		this._api = api;
		this.conversationId = conversationId;
	}

	/** @param {string} entryId */
	dot(entryId) {
		return this._byId.get(entryId);
	}

	/** Return whether a conversation is of this tree, or was, and one that is forked it or shows it. @param {string} id */
	has(id) {
		const forks = [...this.forks.values()];
		const isNamed = forks.some((fork) => fork.conversationId === id || fork.forkedAtConversationId === id);
		return isNamed || this.dots.some((dot) => dot.conversationId === id);
	}

	/** The branch that an interface opens. */
	get current() {
		return [...this.forks.values()].find(({ isCurrent }) => isCurrent);
	}

	/** Load what is missing. Called again after a problem, it goes on. It never raises. */
	async load() {
		if (this.isLoading || this.isWhole) return;
		this.isLoading = true;
		this.problem = null;
		this._changed();
		try {
			if (!this.hasForks) await this.loadForks();
			while (!this.isWhole) await this._loadOlder();
		} catch (error) {
			if (!isAborted(error)) this.problem = error;
		}
		this.isLoading = false;
		this._changed();
	}

	/** Load the list of branches anew, and leave out what none shows any more. @param {boolean} [once] do not try again */
	async loadForks(once = false) {
		const known = new Set(this.forks.keys());
		const turn = ++this._lists.begun;
		const { conversationId } = this; // the cursors are for this one alone
		const rows = await allOf((query) => this._api.listForks(conversationId, query, once));
		const news = this._isBehind(rows) ? await this._listNews() : []; // what is pruned must hang on what is known
		if (turn < this._lists.taken) return;
		this._lists.taken = turn;
		const found = new Map(rows.map((fork) => [fork.conversationId, fork]));
		for (const [id, fork] of this.forks) if (!known.has(id)) found.set(id, fork); // made meanwhile
		const isSame = JSON.stringify([...found.values()]) === JSON.stringify([...this.forks.values()]);
		this.forks = found;
		this.hasForks = true;
		this.addEntries(news);
		if (!this._isBehind(rows)) this._prune();
		if (!isSame) this._changed();
	}

	/** Return whether a branch shows an entry at its end that is news. @param {Fork[]} forks */
	_isBehind(forks) {
		const oldest = this.isWhole ? "" : this.dots[0]?.id;
		const ends = forks.map((fork) => fork.lastEntryId ?? "");
		return oldest !== undefined && ends.some((end) => end > oldest && !this._byId.has(end));
	}

	/** Keep what a branch shows: its own entries, its last one if it has no others, and all that these go on after. */
	_prune() {
		const shown = new Set([...this.forks.values()].map(({ lastEntryId }) => lastEntryId));
		for (const { id, conversationId, parentId } of this.dots.toReversed())
			if (shown.has(id) || this.forks.has(conversationId)) shown.add(id).add(parentId);
		if (this.dots.every(({ id }) => shown.has(id))) return;
		this.dots = this.dots.filter(({ id }) => shown.has(id));
		this._byId = new Map(this.dots.map((dot) => [dot.id, dot]));
		this._changed();
	}

	async _loadOlder() {
		const older = { beforeCursor: this._before, limit: ENTRIES_MAX };
		const page = await this._list(this._hasBegun ? older : { tail: true, limit: FIRST_PAGE });
		this._hasBegun = true;
		this._before = page.beforeCursor;
		this.isWhole = this._before === null;
		this.addEntries(page.data);
	}

	/**
	 * Load what was appended to any branch since then. Raises Problem.
	 * Nothing is missed: the last OVERLAP_MS are asked for again, until the newest entry has been known that long.
	 */
	async loadNews() {
		if (!this._hasBegun) return;
		const newest = performance.now() - this._addedAt > OVERLAP_MS && this.dots.at(-1)?.id;
		const news = (await this._listNews()).filter(({ id }) => !this._byId.has(id));
		if (news.every(({ conversationId }) => this.forks.has(conversationId))) this.addEntries(news);
		else await this.loadForks(true);
		this._settled = newest || this._settled;
	}

	_listNews() {
		const since = Date.parse(this.dots.at(-1)?.createdAt ?? "") - OVERLAP_MS;
		const dot = this.dots.findLast((one) => one.id <= this._settled || Date.parse(one.createdAt) < since);
		return allOf((query) => this._list(query, true), (dot ?? this.dots[0])?.id);
	}

	/** Take in entries of the history. While the branches are unknown they are left to the first page. @param {Entry[]} entries */
	addEntries(entries) {
		if (!this.hasForks) return;
		const added = entries
			.filter((entry) => entry.channel === "history" && !this._byId.has(entry.id))
			.map(dotOf);
		if (!added.length) return;
		for (const dot of added) this._byId.set(dot.id, dot);
		this.dots = [...this.dots, ...added].sort(byId);
		this._addedAt = performance.now();
		this._changed();
	}

	/** Take in a branch that was made just now. @param {Fork} fork */
	addFork(fork) {
		if (fork.isCurrent) for (const other of this.forks.values()) other.isCurrent = false;
		this.forks.set(fork.conversationId, fork);
		this._changed();
	}

	/** @param {Query} query @param {boolean} [once] */
	_list(query, once = false) {
		return this._api.listEntries(this.conversationId, { channel: "history", allForks: true, ...query }, once);
	}

	_changed() {
		this.dispatchEvent(new Event("change"));
	}
}

/** @param {Entry} entry @returns {Dot} */
function dotOf(entry) {
	const { id, conversationId, parentId, userId, clientId, agentId, createdAt, usage } = entry;
	const { role } = messageOf(entry);
	const line = lineOf(entry, 90);
	return { id, conversationId, parentId, userId, clientId, agentId, createdAt, usage, role, line };
}
