// One fork tree: all its branches, and a short record of each entry. It is loaded from the newest entry on.

import { lineOf, messageOf } from "../domain/message.js";
import { allOf, ENTRIES_MAX } from "./api.js";
import { isAborted, Problem } from "./http.js";
import { byId } from "./opened.js";

const FIRST_PAGE = 200; // is drawn at once, so it is small
const OVERLAP_MS = 30_000; // entries of two branches may arrive in another order than that of their ids

/** Emits "change" whenever something of it changed. */
export class Grove extends EventTarget {
	/** The live branches, the root among them, oldest first. @type {Map<string, Fork>} */
	forks = new Map();
	/** Of a deleted branch the entry that it goes on after, null if unknown. @type {Map<string, string | null>} */
	removed = new Map();
	/** All entries from the oldest that is loaded to the newest, in the order of their ids. @type {Dot[]} */
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

	/** The branch that an interface opens. */
	get current() {
		return [...this.forks.values()].find(({ isCurrent }) => isCurrent);
	}

	/** Load what is missing, and return the grove. Called again after a problem, it goes on. It never raises. */
	async load() {
		if (this.isLoading || this.isWhole) return this;
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
		return this;
	}

	/** Load the list of branches anew. @param {boolean} [once] do not try again */
	async loadForks(once = false) {
		const known = new Set(this.forks.keys());
		const { conversationId } = this; // the cursors are for this one alone
		const rows = await allOf((query) => this._api.listForks(conversationId, query, once));
		const found = new Map(rows.map((fork) => [fork.conversationId, fork]));
		for (const [id, fork] of this.forks) if (!known.has(id)) found.set(id, fork); // made meanwhile
		const isSame = JSON.stringify([...found.values()]) === JSON.stringify([...this.forks.values()]);
		this.forks = found;
		this.hasForks = true;
		if ([...known].some((id) => !found.has(id))) {
			// What only a deleted branch showed is gone.
			const { isWhole, dots, _byId } = await new Grove(this._api, conversationId).load();
			if (isWhole) Object.assign(this, { dots, _byId });
		}
		if (!isSame) this._changed();
		await this._learnRemoved(once);
	}

	async _loadOlder() {
		const older = { beforeCursor: this._before, limit: ENTRIES_MAX };
		const page = await this._list(this._hasBegun ? older : { tail: true, limit: FIRST_PAGE });
		this._hasBegun = true;
		this.addEntries(page.data, false);
		this._before = page.beforeCursor;
		this.isWhole = this._before === null;
		await this._learnRemoved(false);
		this._changed();
	}

	/**
	 * Load what was appended to any branch since then. Raises Problem.
	 * Nothing is missed: the last OVERLAP_MS are asked for again, until the newest entry has been known that long.
	 */
	async loadNews() {
		if (!this._hasBegun) return;
		const newest = performance.now() - this._addedAt > OVERLAP_MS && this.dots.at(-1)?.id;
		const news = await allOf((query) => this._list(query, true), this._newsCursor());
		this._settled = newest || this._settled;
		if (!this.addEntries(news, false)) return;
		if (this.dots.some((dot) => this._isUnknown(dot.conversationId))) await this.loadForks(true);
		this._changed();
	}

	_newsCursor() {
		const since = Date.parse(this.dots.at(-1)?.createdAt ?? "") - OVERLAP_MS;
		const dot = this.dots.findLast((one) => one.id <= this._settled || Date.parse(one.createdAt) < since);
		return (dot ?? this.dots[0])?.id;
	}

	/** Take in entries of the history. Return whether one was new. @param {Entry[]} entries @param {boolean} [isTold] */
	addEntries(entries, isTold = true) {
		const added = entries
			.filter((entry) => entry.channel === "history" && !this._byId.has(entry.id))
			.map(dotOf);
		if (!added.length) return false;
		for (const dot of added) this._byId.set(dot.id, dot);
		this.dots = [...this.dots, ...added].sort(byId);
		this._addedAt = performance.now();
		if (isTold) this._changed();
		return true;
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

	/** @param {string} id */
	_isUnknown(id) {
		return !this.forks.has(id) && !this.removed.has(id);
	}

	/** Find out where deleted branches leave, from the ancestors of a branch that shows them. @param {boolean} once */
	async _learnRemoved(once) {
		for (const id of this.forks.keys()) this.removed.delete(id);
		const forks = [...this.forks.values()];
		const sources = forks.map((fork) => fork.forkedAtConversationId);
		for (const id of new Set([...sources, ...this.dots.map((dot) => dot.conversationId)])) {
			if (!id || !this._isUnknown(id)) continue;
			const heir = forks.find((fork) => fork.forkedAtConversationId === id);
			try {
				const path = heir ? (await this._api.listAncestors(heir.conversationId, {}, once)).data : [];
				for (const [index, one] of path.entries())
					if (one.removed)
						this.removed.set(one.conversationId, path[index - 1]?.inheritedUpToEntryId ?? null);
				if (this._isUnknown(id)) this.removed.set(id, null);
				this._changed();
			} catch (error) {
				// A deleted heir leaves the list; then the next one is asked.
				if (!(error instanceof Problem) || error.status !== 404) throw error;
			}
		}
	}

	_changed() {
		this.dispatchEvent(new Event("change"));
	}
}

/** @param {Entry} entry @returns {Dot} */
function dotOf(entry) {
	const { id, conversationId, userId, clientId, agentId, createdAt, usage } = entry;
	const { role } = messageOf(entry);
	return { id, conversationId, userId, clientId, agentId, createdAt, usage, role, line: lineOf(entry, 90) };
}

/** Return the row of a conversation in the list of branches. @param {Conversation} conversation @returns {Fork} */
export const forkOf = ({ id: conversationId, ...conversation }) => ({ conversationId, ...conversation });
