// One open conversation: what it is, the part of its history that is loaded, and the answer that is written.

import type { AnswerLog, ConversationDetails, Entry } from "../model/types.ts";
import { BadRequestError, type Forklore, type ListEntriesArguments } from "@forklore/client";
import { isAborted, isLost, pause, seen, statusOf } from "./connection.ts";
import { Notes } from "./notes.ts";
import { Source } from "./source.ts";

export type Side = "older" | "newer";

/** An answer that is written: who does, and the pieces so far. */
export interface Writing extends Omit<AnswerLog, "parts"> {
	pieces: unknown[];
}

const PAGE_ENTRIES = 50;
const AROUND_ENTRIES = 25;
const PAUSE_MS = 3000;

export const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);

export class Place extends Source {
	conversation: ConversationDetails | undefined;
	/** Oldest first, without a gap. */
	entries: readonly Entry[] = [];
	/** The answer that is written at the end. */
	writing: Writing | undefined;
	/** Whether there is more on a side. */
	has = { older: false, newer: false };
	/** What stopped the loading of a side. It is tried again on demand only. */
	failed: Record<Side, unknown> = { older: undefined, newer: undefined };
	/** What stopped the loading of the place, or ended it. */
	problem: unknown;
	isLoaded = false;
	/** The entry that one came for; undefined: the end. */
	chosen: string | undefined;
	/** So many times one was led to `chosen`. */
	visits = 0;
	/** So many parts were shown. */
	round = 0;
	/** So often the agent's context has got something new. */
	contextRound = 0;
	readonly signal: AbortSignal;
	readonly client: Forklore;
	readonly notes: Notes;

	readonly #ended = new AbortController();
	#watching = new AbortController();
	#isAtWork = { older: false, newer: false };
	#asked = 0; // for so many parts; the last one is wanted
	#refresh = { begun: 0, taken: 0 };
	readonly #arrived: Entry[] = [];

	/** isAgent: its own context is watched, too. */
	constructor(
		client: Forklore,
		readonly id: string,
		private readonly isAgent: boolean,
	) {
		super();
		this.client = client.withOptions({ retries: 2 }); // then it is told, and tried again later
		this.signal = this.#ended.signal;
		this.notes = new Notes(this.client.conversation(id), this.signal, this.changed);
	}

	end(): void {
		this.#ended.abort();
		this.#watching.abort();
	}

	/** Load it, and show its end or the part around an entry. Returns whether the entry is there. It never throws. */
	async load(entryId?: string): Promise<boolean | undefined> {
		this.problem = undefined;
		this.changed();
		try {
			const conversationId = this.id;
			const loading = this.client.api.getConversation({ conversationId }, this.#sent);
			const [conversation, isThere] = await Promise.all([loading, this.#show(entryId)]);
			this.conversation = conversation;
			this.isLoaded = true;
			this.#lead(isThere ? entryId : undefined);
			void this.#watch();
			if (this.entries.length) void this.notes.load();
			return isThere;
		} catch (error) {
			if (isAborted(error)) return undefined;
			this.fail(error);
			if (isLost(error)) void this.#loadAgain(entryId);
			return undefined;
		}
	}

	async #loadAgain(entryId: string | undefined): Promise<void> {
		await pause(5000, this.signal).then(
			() => this.load(entryId),
			() => undefined,
		);
	}

	/** Tell what ended the place, or what its loading. */
	fail(error: unknown): void {
		if (this.signal.aborted) return;
		this.problem = error;
		if ([403, 404].includes(statusOf(error) ?? 0)) this.end();
		this.changed();
	}

	/** Whether it is gone, or not shared any more. */
	get isGone(): boolean {
		return [403, 404].includes(statusOf(this.problem) ?? 0);
	}

	/** Show the end, or the part around an entry, as `load` does. */
	async goTo(entryId?: string): Promise<boolean | undefined> {
		const isHere = entryId ? this.entries.some(({ id }) => id === entryId) : !this.has.newer;
		if (isHere) {
			this.#asked++;
			this.#lead(entryId);
			return true;
		}
		const isThere = await this.#show(entryId);
		if (isThere !== undefined) {
			this.#lead(isThere ? entryId : undefined);
			void this.#watch();
		}
		return isThere;
	}

	#lead(entryId: string | undefined): void {
		this.chosen = entryId;
		this.visits++;
		this.changed();
	}

	/** Returns undefined if another part is asked for meanwhile. */
	async #show(entryId: string | undefined): Promise<boolean | undefined> {
		const asked = ++this.#asked;
		const parts = entryId ? await this.#around(entryId) : [await this.#list({ tail: true })];
		if (asked !== this.#asked) return undefined;
		if (!parts) return (await this.#show(undefined)) === undefined ? undefined : false;
		const [first, last] = [parts[0]!, parts.at(-1)!];
		this.round++;
		this.entries = parts.flatMap((page) => page.data);
		this.has = { older: first.beforeCursor !== null, newer: parts.length > 1 && last.afterCursor !== null };
		this.failed = { older: undefined, newer: undefined };
		return true;
	}

	/** Return the pages before and from an entry on, or undefined if it is not shown here. */
	async #around(entryId: string) {
		try {
			const before = await this.#list({ beforeCursor: entryId, limit: AROUND_ENTRIES });
			const after = await this.#list({ afterCursor: before.data.at(-1)?.id });
			return after.data.some(({ id }) => id === entryId) ? [before, after] : undefined;
		} catch (error) {
			if (error instanceof BadRequestError) return undefined;
			throw error;
		}
	}

	/** Load more on one side, unless that failed. It never throws. */
	async loadMore(side: Side): Promise<void> {
		if (!this.has[side] || this.#isAtWork[side] || this.failed[side]) return;
		const round = this.round;
		const isOlder = side === "older";
		this.#isAtWork[side] = true;
		try {
			const edge = this.entries.at(isOlder ? 0 : -1)?.id;
			const page = await this.#list(isOlder ? { beforeCursor: edge } : { afterCursor: edge });
			if (round === this.round) {
				this.entries = isOlder ? [...page.data, ...this.entries] : [...this.entries, ...page.data];
				this.has[side] = (isOlder ? page.beforeCursor : page.afterCursor) !== null;
			}
		} catch (error) {
			if (round === this.round && !isAborted(error)) this.failed[side] = error;
		}
		this.#isAtWork[side] = false;
		this.changed();
		if (!isOlder && !this.has.newer) void this.#watch();
	}

	/** Try again after a failure. */
	again(side: Side): Promise<void> {
		this.failed[side] = undefined;
		return this.loadMore(side);
	}

	/** Follow what is appended, and what is written, while the end is shown and somebody looks. */
	async #watch(): Promise<void> {
		this.#watching.abort();
		if (this.has.newer || this.signal.aborted) return;
		this.#watching = new AbortController();
		this.contextRound++; // what was added while nobody followed is no news
		this.changed();
		const signal = AbortSignal.any([this.signal, this.#watching.signal]);
		const unseen = new AbortController();
		const look = () => document.hidden && unseen.abort();
		document.addEventListener("visibilitychange", look, { signal });
		try {
			await seen(signal);
			const channel = this.isAgent ? undefined : "history";
			const after = this.entries.at(-1)?.id ?? null;
			const until = { signal: AbortSignal.any([signal, unseen.signal]) };
			const talk = this.client.conversation(this.id);
			for await (const news of talk.watch({ after, channel, answers: true, ...until })) {
				if ("parts" in news) this.#hear(news);
				else this.#bring(news);
			}
		} catch (error) {
			if (signal.aborted) return;
			if (!isAborted(error)) {
				this.fail(error);
				await pause(PAUSE_MS, signal).catch(() => undefined);
			}
			if (!signal.aborted) void this.#watch();
		}
	}

	#hear({ parts, ...answer }: AnswerLog): void {
		const earlier = this.writing?.id === answer.id ? this.writing.pieces : [];
		const isOver = answer.state === "finished" || answer.state === "dropped";
		const pieces = [...earlier, ...parts.flatMap(({ content }) => content)];
		this.writing = isOver ? undefined : { ...answer, pieces };
		this.changed();
	}

	/** Show what has come together at once: to draw after each of a hundred entries is more than React takes. */
	#bring(entry: Entry): void {
		if (this.#arrived.push(entry) > 1) return;
		setTimeout(() => {
			const entries = this.#arrived.splice(0);
			if (!this.signal.aborted) this.#take(entries);
		});
	}

	/** Show an entry of one's own at the end. What others appended just before comes with the next news. */
	add(entry: Entry): void {
		if (!this.entries.some(({ id }) => id === entry.id)) this.#take([entry]);
	}

	/** Show entries at the end. */
	#take(entries: readonly Entry[]): void {
		const added = entries.filter((entry) => entry.channel === "history");
		if (entries.length > added.length) this.contextRound++;
		if (!this.has.newer) {
			const known = new Map([...this.entries, ...added].map((entry) => [entry.id, entry]));
			this.entries = [...known.values()].sort(byId);
		}
		this.changed();
	}

	/** Load what is told of the conversation anew. */
	async refresh(): Promise<void> {
		if (!this.isLoaded || this.signal.aborted) return;
		const turn = ++this.#refresh.begun;
		const conversation = await this.client.api.getConversation({ conversationId: this.id }, this.#sent);
		if (turn < this.#refresh.taken) return;
		this.#refresh.taken = turn;
		this.conversation = conversation;
		this.changed();
	}

	/** Return a page of the history, or if it is empty though the list goes on, the next one. */
	async #list(query: Omit<ListEntriesArguments, "conversationId">) {
		const asked = { conversationId: this.id, channel: "history", limit: PAGE_ENTRIES };
		const isBack = query.tail || query.beforeCursor;
		for (;;) {
			const page = await this.client.api.listEntries({ ...asked, ...query }, this.#sent);
			const cursor = isBack ? page.beforeCursor : page.afterCursor;
			if (page.data.length || cursor === null) return page;
			query = isBack ? { beforeCursor: cursor } : { afterCursor: cursor };
		}
	}

	get #sent() {
		return { signal: this.signal };
	}
}
