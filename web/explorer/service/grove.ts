// One fork tree: its branches, a line of each entry, the names that point to it, and the trees it started.

import type { Branch, ConversationDetails, Entry, Fork, Line, Look, Tree } from "../model/types.ts";
import type { Forklore, ForkPage, ListEntriesArguments, ListedEntry } from "@forklore/client";
import { isCall, lineOf } from "../model/lines.ts";
import { shapeOf, type Shape } from "../model/shape.ts";
import { isAborted, pause, seen, statusOf } from "./connection.ts";
import { byId } from "./place.ts";
import { Source } from "./source.ts";

const FIRST_PAGE = 200; // is drawn at once, so it is small
const ENTRIES_MAX = 1000;
const ROWS_MAX = 200;
const OVERLAP_MS = 30_000; // entries of two branches may arrive in another order than that of their ids
const PAUSE_MS = 3000;
const NAMES_EVERY = 8; // looks

export class Grove extends Source {
	/** The live branches, the root among them, oldest first. */
	forks: readonly Fork[] = [];
	hasForks = false;
	/** From the oldest that is loaded to the newest, in the order of their ids: parents first. */
	lines: readonly Line[] = [];
	isWhole = false;
	/** The entries that a search by meaning has found, by their ids. */
	marked: ReadonlySet<string> = new Set();
	/** What stopped the loading: call `load` again. */
	problem: unknown;
	readonly #ended = new AbortController();
	readonly #byId = new Map<string, Line>();
	#names: ReadonlyMap<string, readonly string[]> = new Map();
	#children: readonly ConversationDetails[] = [];
	#before: string | undefined;
	#isLoading = false;
	#lists = { begun: 0, taken: 0 };
	readonly #pages = new Map<string, { etag: string | undefined; page: ForkPage }>();
	#shape: { version: number; shape: Shape } | undefined;
	#tree: { version: number; tree: Tree } | undefined;

	/** conversationId: any live branch. */
	constructor(
		readonly client: Forklore,
		public conversationId: string,
		/** Called when a branch came, went, changed or goes on. */
		private readonly onNews: () => void,
	) {
		super();
	}

	get signal(): AbortSignal {
		return this.#ended.signal;
	}

	end(): void {
		this.#ended.abort();
	}

	get tree(): Tree {
		if (this.#tree?.version === this.version) return this.#tree.tree;
		const branches: Branch[] = this.forks.map((fork) => ({
			...fork,
			names: this.#names.get(fork.conversationId) ?? [],
		}));
		const children = this.#children.map((child) => ({ ...child, startedByEntryId: this.#startOf(child) }));
		const tree = { lines: this.lines, branches, children };
		this.#tree = { version: this.version, tree };
		return tree;
	}

	/** Return the entry that started a tree, or if none is told, the last one that the branch had at the time. */
	#startOf({ startedByConversationId: by = "", startedByEntryId, createdAt }: ConversationDetails) {
		const isBefore = (line: Line) => line.conversationId === by && line.createdAt <= createdAt;
		return startedByEntryId ?? this.lines.findLast(isBefore)?.id ?? this.fork(by)?.lastEntryId ?? "";
	}

	/** Where each branch goes on from, and how it is called and drawn. */
	get shape(): Shape {
		if (this.#shape?.version !== this.version)
			this.#shape = { version: this.version, shape: shapeOf(this.tree) };
		return this.#shape.shape;
	}

	/** How a branch is called and drawn. */
	look(id: string): Look | undefined {
		return this.shape.limbs.get(id)?.look;
	}

	get current(): Fork | undefined {
		return this.forks.find(({ isCurrent }) => isCurrent);
	}

	fork(id: string): Fork | undefined {
		return this.forks.find(({ conversationId }) => conversationId === id);
	}

	/** Return whether a conversation is of this tree, or was, and one that is forked it or shows it. */
	has(id: string): boolean {
		return (
			this.forks.some((fork) => fork.conversationId === id || fork.forkedAtConversationId === id) ||
			this.lines.some((line) => line.conversationId === id)
		);
	}

	/** Load what is missing, then follow. Called again after a problem, it goes on. It never throws. */
	async load(): Promise<void> {
		if (this.#isLoading) return;
		this.#isLoading = true;
		this.problem = undefined;
		try {
			if (!this.hasForks) await this.loadForks();
			void this.loadBeside();
			while (!this.isWhole) await this.#loadOlder();
			await this.#follow();
		} catch (error) {
			if (!isAborted(error)) this.problem = error;
		}
		this.#isLoading = false;
		this.changed();
	}

	async #follow(): Promise<void> {
		for (let look = 1; ; look++) {
			await pause(this.forks.length > ROWS_MAX ? 3 * PAUSE_MS : PAUSE_MS, this.signal);
			await seen(this.signal);
			try {
				if (look % NAMES_EVERY === 0) await this.loadBeside();
				await this.loadForks();
			} catch (error) {
				if (isAborted(error)) throw error;
				if ([403, 404].includes(statusOf(error) ?? 0)) this.onNews();
			}
		}
	}

	/** Return the list of branches. Pages that are the same as before come without a body. */
	async #listForks(): Promise<{ rows: Fork[]; isSame: boolean }> {
		const rows: Fork[] = [];
		let isSame = true;
		let afterCursor: string | undefined;
		do {
			const { conversationId } = this;
			const key = `${conversationId} ${afterCursor ?? ""}`;
			const known = this.#pages.get(key);
			let etag: string | undefined;
			const answer: ForkPage | undefined = await this.client.api.listForks(
				{ conversationId, limit: ROWS_MAX, afterCursor },
				{ signal: this.signal, ifNoneMatch: known?.etag, onAnswer: (one) => (etag = one.etag) },
			);
			const page = answer ?? known!.page;
			if (answer) {
				isSame = false;
				this.#pages.set(key, { etag, page });
			}
			rows.push(...page.data);
			afterCursor = page.afterCursor ?? undefined;
		} while (afterCursor);
		return { rows, isSame };
	}

	/** Load the list of branches, and the lines that are news, anew. */
	async loadForks(): Promise<void> {
		const known = new Set(this.forks.map(({ conversationId }) => conversationId));
		const turn = ++this.#lists.begun;
		const { rows, isSame } = await this.#listForks();
		if (isSame && this.hasForks && !this.#isBehind(rows)) return;
		const news = this.lines.length > 0 && this.#isBehind(rows) ? await this.#listNews() : [];
		if (turn < this.#lists.taken) return;
		this.#lists.taken = turn;
		const found = new Map(rows.map((fork) => [fork.conversationId, fork]));
		for (const fork of this.forks) if (!known.has(fork.conversationId)) found.set(fork.conversationId, fork); // made meanwhile
		const before = JSON.stringify(this.forks);
		this.forks = [...found.values()];
		const isOther = this.hasForks && before !== JSON.stringify(this.forks);
		this.hasForks = true;
		this.#add(news);
		if (!this.#isBehind(rows)) this.#prune();
		this.changed();
		if (isOther) this.onNews();
	}

	/** Return whether a branch shows an entry at its end that is news. */
	#isBehind(forks: readonly Fork[]): boolean {
		const oldest = this.isWhole ? "" : (this.lines[0]?.id ?? "~");
		return forks.some(({ lastEntryId: end }) => end !== null && end > oldest && !this.#byId.has(end));
	}

	/** Keep what a branch shows: its own entries, its last one if it has no others, and all that these go on after. */
	#prune(): void {
		const shown = new Set<string | null>(this.forks.map(({ lastEntryId }) => lastEntryId));
		const live = new Set(this.forks.map(({ conversationId }) => conversationId));
		for (const { id, conversationId, parentId } of this.lines.toReversed())
			if (shown.has(id) || live.has(conversationId)) shown.add(id).add(parentId);
		const gone = this.lines.filter(({ id }) => !shown.has(id));
		for (const { id } of gone) this.#byId.delete(id);
		if (gone.length) this.lines = this.lines.filter(({ id }) => shown.has(id));
	}

	async #loadOlder(): Promise<void> {
		const older = { beforeCursor: this.#before, limit: ENTRIES_MAX };
		const page = await this.#list(this.lines.length ? older : { tail: true, limit: FIRST_PAGE });
		this.#before = page.beforeCursor ?? undefined;
		this.isWhole = page.beforeCursor === null;
		this.#add(page.data);
		this.changed();
	}

	/** Return the entries since shortly before the last known one. */
	async #listNews(): Promise<ListedEntry[]> {
		const since = Date.parse(this.lines.at(-1)?.createdAt ?? "") - OVERLAP_MS;
		let afterCursor = (this.lines.findLast(({ createdAt }) => Date.parse(createdAt) < since) ?? this.lines[0])
			?.id;
		const news: ListedEntry[] = [];
		for (let isOver = false; !isOver;) {
			const page = await this.#list({ afterCursor, limit: ENTRIES_MAX });
			news.push(...page.data);
			isOver = page.afterCursor === null;
			afterCursor = page.afterCursor ?? undefined;
		}
		return news;
	}

	/** Names, and the trees that this one started: they come after what is drawn first. */
	async loadBeside(): Promise<void> {
		try {
			const names = await this.client.names({ signal: this.signal }).list();
			const live = names.filter(({ deleted }) => !deleted);
			this.#names = new Map(
				[...Map.groupBy(live, ({ conversationId }) => conversationId)].map(([id, some]) => [
					id,
					some.map(({ name }) => name),
				]),
			);
			const talk = this.client.conversation(this.conversationId);
			this.#children = await talk.children({ signal: this.signal }).list({ limit: ROWS_MAX });
			this.changed();
		} catch {
			// the next look asks again
		}
	}

	/** Let these entries glow, and no others. */
	mark(ids: readonly string[]): void {
		if (!ids.length && !this.marked.size) return;
		this.marked = new Set(ids);
		this.changed();
	}

	/** Take in what one has appended. */
	addEntry(entry: Entry): void {
		this.#add([entry]);
		const isHere = (fork: Fork) => fork.conversationId === entry.conversationId;
		this.forks = this.forks.map((fork) => (isHere(fork) ? { ...fork, lastEntryId: entry.id } : fork));
		this.changed();
	}

	/** Take in a branch that was made just now. */
	addFork(fork: Fork): void {
		const others = this.forks.filter(({ conversationId }) => conversationId !== fork.conversationId);
		this.forks = [...others.map((one) => (fork.isCurrent ? { ...one, isCurrent: false } : one)), fork];
		this.changed();
	}

	#add(entries: readonly ListedEntry[]): void {
		if (!this.hasForks) return;
		const added = entries.filter((entry) => entry.channel === "history" && !this.#byId.has(entry.id));
		if (!added.length) return;
		for (const entry of added) this.#byId.set(entry.id, lineOf(entry, this.#callBefore(entry)));
		this.lines = [...this.#byId.values()].sort(byId);
	}

	/** Return the line of the only call that an entry can be the result of. */
	#callBefore({ parentId }: Entry): Line | undefined {
		const lineAt = (id: string | null | undefined) => this.#byId.get(id ?? "");
		const before = lineAt(parentId);
		return isCall(lineAt(before?.parentId)) ? undefined : before;
	}

	#list(query: Omit<ListEntriesArguments, "conversationId">) {
		const given = {
			conversationId: this.conversationId,
			channel: "history",
			allForks: true,
			view: "line",
			...query,
		} as const;
		return this.client.api.listEntries(given, { signal: this.signal });
	}
}
