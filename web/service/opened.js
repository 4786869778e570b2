// One open conversation: what it is, and the part of its history that is loaded.

import { ENTRIES_MAX } from "./api.js";
import { Problem } from "./http.js";

const PAGE_ENTRIES = 50;
const AROUND_ENTRIES = 25;

/** @type {(one: {id: string}, other: {id: string}) => number} */
export const byId = (one, other) => (one.id < other.id ? -1 : 1);

/** Emits "change" when entries or the conversation changed, and "context" with entries of the context that came. */
export class Opened extends EventTarget {
	/** Null until `isLoaded` is true. @type {Conversation} */
	conversation = /** @type {any} */ (null);
	/** @type {Entry[]} oldest first, without a gap */
	entries = [];
	/** @type {string[]} */
	alternativesAtEnd = [];
	round = 0; // so many parts were shown
	isLoaded = false;
	/** Whether there is more on a side. */
	has = { older: false, newer: false };
	/** What stopped the loading of a side. It is tried again on demand only. @type {Record<Side, unknown>} */
	failed = { older: null, newer: null };
	_isAtWork = { older: false, newer: false };
	/** The newest entry that is known, of either channel. @type {string | undefined} */
	_known;
	_asked = 0; // for so many parts; the last one is wanted
	_refresh = { begun: 0, taken: 0 };

	/** isAgent: whether the caller has a context. @param {Api} api @param {string} id @param {boolean} isAgent */
	constructor(api, id, isAgent) {
		super();
		this._api = api;
		this.id = id;
		this._isAgent = isAgent;
	}

	/**
	 * Load the conversation, and show its end or the part around an entry. Return whether the entry is there.
	 * Raises Problem.
	 * @param {string} [entryId]
	 */
	async load(entryId) {
		const loading = this._api.getConversation(this.id);
		const [conversation, isThere] = await Promise.all([loading, this._show(entryId)]);
		this.conversation = conversation;
		this.isLoaded = true;
		this._changed();
		return isThere;
	}

	/** Show the end, or the part around an entry, as `load` does. @param {string} [entryId] */
	async goTo(entryId) {
		if (entryId ? this.entries.some(({ id }) => id === entryId) : !this.has.newer) {
			this._asked++;
			return true;
		}
		const isThere = await this._show(entryId);
		this._changed();
		return isThere;
	}

	/** @param {string | undefined} entryId @returns {Promise<boolean | undefined>} undefined: another part is asked for */
	async _show(entryId) {
		const asked = ++this._asked;
		const parts = entryId ? await this._around(entryId) : [await this._list({ tail: true })];
		if (asked !== this._asked) return undefined;
		if (!parts) return (await this._show(undefined)) === undefined ? undefined : false;
		const [first, last] = [parts[0], /** @type {EntryPage} */ (parts.at(-1))];
		this.round++;
		this.entries = parts.flatMap((page) => page.data);
		this.has = { older: first.beforeCursor !== null, newer: parts.length > 1 && last.afterCursor !== null };
		this.failed = { older: null, newer: null };
		this.alternativesAtEnd = last.alternativesAtEnd ?? [];
		this._known = this.entries.at(-1)?.id ?? this._known;
		return true;
	}

	/** Return the pages before and from an entry on, or undefined if it is not shown here. @param {string} entryId */
	async _around(entryId) {
		try {
			const before = await this._list({ beforeCursor: entryId, limit: AROUND_ENTRIES });
			const after = await this._list({ afterCursor: before.data.at(-1)?.id });
			return after.data.some(({ id }) => id === entryId) ? [before, after] : undefined;
		} catch (error) {
			if (error instanceof Problem && error.status === 400) return undefined;
			throw error;
		}
	}

	/** Load more on one side, unless that failed. It never raises. @param {Side} side */
	async loadMore(side) {
		if (!this.has[side] || this._isAtWork[side] || this.failed[side]) return;
		const round = this.round;
		const isOlder = side === "older";
		this._isAtWork[side] = true;
		try {
			const edge = this.entries.at(isOlder ? 0 : -1)?.id;
			const page = await this._list(isOlder ? { beforeCursor: edge } : { afterCursor: edge });
			if (round === this.round) {
				this.entries = isOlder ? [...page.data, ...this.entries] : [...this.entries, ...page.data];
				this.has[side] = (isOlder ? page.beforeCursor : page.afterCursor) !== null;
				if (!isOlder) this.alternativesAtEnd = page.alternativesAtEnd ?? [];
				this._know(page.data);
			}
		} catch (error) {
			if (round === this.round) this.failed[side] = error;
		}
		this._isAtWork[side] = false;
		this._changed();
	}

	/** Try again after a failure. @param {Side} side */
	async again(side) {
		this.failed[side] = null;
		await this.loadMore(side);
	}

	/** Ask once for what was appended since then. An agent's news hold its context, too. Raises Problem. */
	async poll() {
		if (!this.isLoaded || this.has.newer) return;
		const round = this.round;
		const channel = this._isAgent ? undefined : "history";
		const query = { channel, alternatives: true, afterCursor: this._known, limit: PAGE_ENTRIES };
		const page = await this._api.listEntries(this.id, query, true);
		if (round !== this.round) return;
		this._know(page.data);
		const context = page.data.filter((entry) => entry.channel === "context");
		if (context.length) this.dispatchEvent(new CustomEvent("context", { detail: context }));
		const atEnd = page.alternativesAtEnd ?? this.alternativesAtEnd;
		const isSame = atEnd.join() === this.alternativesAtEnd.join();
		this.alternativesAtEnd = atEnd;
		if (!this._take(page.data) && !isSame) this._changed();
	}

	/** Show an entry of one's own at the end. What others appended just before comes with the next news. @param {Entry} entry */
	add(entry) {
		if (this.entries.some(({ id }) => id === entry.id)) return;
		const alternatives = this.alternativesAtEnd; // until the next news tell them
		this.alternativesAtEnd = [];
		this._take([{ ...entry, alternatives }]);
	}

	/** Show entries at the end, and return whether there are any. @param {Entry[]} entries */
	_take(entries) {
		const added = entries.filter((entry) => entry.channel === "history");
		if (!added.length || this.has.newer) return false;
		const all = new Map([...this.entries, ...added].map((entry) => [entry.id, entry]));
		this.entries = [...all.values()].sort(byId);
		this._changed();
		return true;
	}

	/** Load the conversation, and the alternatives of the loaded part, anew. Raises Problem. */
	async refresh() {
		if (!this.isLoaded) return;
		const [round, turn] = [this.round, ++this._refresh.begun];
		const first = this.entries[0]?.id;
		const before = first && (await this._list({ beforeCursor: first, limit: 1 }));
		const query = { limit: ENTRIES_MAX, afterCursor: before && before.data.at(-1)?.id };
		const [conversation, page] = await Promise.all([this._api.getConversation(this.id), this._list(query)]);
		if (turn < this._refresh.taken) return;
		this._refresh.taken = turn;
		this.conversation = conversation;
		if (round !== this.round) return this._changed();
		const fresh = new Map(page.data.map((entry) => [entry.id, entry]));
		this.entries = this.entries.map((entry) => fresh.get(entry.id) ?? entry);
		if (!this.has.newer) this.alternativesAtEnd = page.alternativesAtEnd ?? this.alternativesAtEnd;
		if (!this._take(page.data)) this._changed();
	}

	/** Return a page of the history, or if it is empty though the list goes on, the next one. @param {Query} query */
	async _list(query) {
		const asked = { channel: "history", alternatives: true, limit: PAGE_ENTRIES };
		const isBack = query.tail || query.beforeCursor;
		for (;;) {
			const page = await this._api.listEntries(this.id, { ...asked, ...query });
			const cursor = isBack ? page.beforeCursor : page.afterCursor;
			if (page.data.length || cursor === null) return page;
			query = isBack ? { beforeCursor: cursor } : { afterCursor: cursor };
		}
	}

	/** @param {Entry[]} entries without a gap to what is known */
	_know(entries) {
		const last = entries.at(-1)?.id;
		if (last && (!this._known || last > this._known)) this._known = last;
	}

	_changed() {
		this.dispatchEvent(new Event("change"));
	}
}
