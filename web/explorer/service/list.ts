// The conversations: the current branch of each tree, the last used first; and those that one has pinned.

import type { ConversationDetails, Transfer } from "../model/types.ts";
import type { Forklore } from "@forklore/client";
import { hasTag } from "../model/rules.ts";
import { isAborted, pause, seen } from "./connection.ts";
import { Source } from "./source.ts";

const PAGE_ROWS = 40;
const ROWS_MAX = 200;
const PINS_MAX = 50; // of a user
const PAUSE_MS = 5000;

export interface Filter {
	/** `name`, or `name:value`. */
	tag: string;
	/** Of agents' sessions, as `forklore collect` tags them. */
	program: string;
	project: string;
	agentId: string;
	archived: boolean;
	/** Only what was used in the last so many days; 0: all. */
	days: number;
	show: "all" | "live" | "mine" | "failed";
}

export const NO_FILTER: Filter = {
	tag: "",
	program: "",
	project: "",
	agentId: "",
	archived: false,
	days: 0,
	show: "all",
};

interface Nested {
	row: ConversationDetails;
	children: ConversationDetails[];
}

export class Conversations extends Source {
	rows: readonly ConversationDetails[] = [];
	/** What one has pinned, in one's own order. */
	pins: readonly ConversationDetails[] = [];
	/** Trees that others offer to this person. */
	offers: readonly (Transfer & { title?: string | null })[] = [];
	filter: Filter = NO_FILTER;
	/** Undefined before the first page, null at the end. */
	cursor: string | null | undefined;
	problem: unknown;
	isLoading = false;
	/** By a branch, one that stands for its tree. */
	readonly #trees = new Map<string, string>();
	/** By a branch, the tags of its root. */
	readonly #tagsOfRoots = new Map<string, Record<string, string>>();
	#round = new AbortController();
	#etag: string | undefined;

	constructor(
		private readonly client: Forklore,
		private readonly signal: AbortSignal,
	) {
		super();
	}

	get isEmpty(): boolean {
		return this.cursor === null && !this.rows.length && !this.isFiltered;
	}

	get isFiltered(): boolean {
		return JSON.stringify(this.filter) !== JSON.stringify(NO_FILTER);
	}

	/** Failures are found by a search, which no filter narrows. */
	choose(filter: Partial<Filter>): void {
		const { show } = this.filter;
		this.filter = { ...this.filter, show: show === "failed" ? "all" : show, ...filter };
		this.rows = [];
		this.cursor = undefined;
		void this.load();
	}

	/** Load the list anew, as long as it is now. It never throws. */
	async load(): Promise<void> {
		this.#round.abort();
		this.#round = new AbortController();
		this.#etag = undefined;
		await Promise.all([
			this.#ask(undefined, Math.min(Math.max(this.rows.length, PAGE_ROWS), ROWS_MAX)),
			this.#loadOffers(),
			this.loadPins(),
		]);
	}

	async more(): Promise<void> {
		if (this.isLoading || this.problem || typeof this.cursor !== "string") return;
		await this.#ask(this.cursor, PAGE_ROWS);
	}

	again(): Promise<void> {
		this.problem = undefined;
		return this.cursor ? this.more() : this.load();
	}

	async #ask(afterCursor: string | undefined, limit: number): Promise<void> {
		const signal = AbortSignal.any([this.signal, this.#round.signal]);
		this.isLoading = true;
		this.problem = undefined;
		this.changed();
		try {
			let etag: string | undefined;
			const answer = await this.client.api.listConversations(
				{ ...this.#query, limit, afterCursor },
				{ signal, onAnswer: (one) => (etag = one.etag) },
			);
			const known = new Set(answer.data.map(({ id }) => id));
			const earlier = afterCursor ? this.rows.filter(({ id }) => !known.has(id)) : [];
			this.rows = [...earlier, ...answer.data];
			this.cursor = answer.afterCursor;
			if (!afterCursor) this.#etag = limit === PAGE_ROWS ? etag : undefined;
			this.#learn();
		} catch (error) {
			if (isAborted(error)) return;
			this.problem = error;
		}
		this.isLoading = false;
		this.changed();
	}

	get #query() {
		const { agentId, archived } = this.filter;
		const [tag] = this.#tags; // the service takes one
		return {
			mode: "current" as const,
			ancestry: "all" as const,
			...(tag && { tag }),
			...(agentId && { agentId }),
			...(archived && { archived: "only" as const }),
		};
	}

	/** The tags that a row must have, the rarest first. */
	get #tags(): string[] {
		const { tag, program, project } = this.filter;
		return [tag, project && `project:${project}`, program && `program:${program}`].filter(Boolean);
	}

	/** Follow what is used, while somebody looks: what is new at the top. */
	async follow(): Promise<void> {
		for (;;) {
			await pause(PAUSE_MS, this.signal);
			await seen(this.signal);
			if (this.isLoading || this.cursor === undefined) continue;
			try {
				let etag: string | undefined;
				const answer = await this.client.api.listConversations(
					{ ...this.#query, limit: PAGE_ROWS },
					{ signal: this.#round.signal, ifNoneMatch: this.#etag, onAnswer: (one) => (etag = one.etag) },
				);
				if (!answer || this.isLoading) continue;
				this.#etag = etag;
				if ([...this.pins, ...answer.data].some(({ pinned }) => pinned)) void this.loadPins();
				const last = answer.data.at(-1);
				const known = new Set(answer.data.map(({ id }) => id));
				const at = this.rows.findLastIndex(({ id }) => id === last?.id);
				// What stood among these before and is not there now was deleted, or stands further below.
				const below =
					answer.afterCursor === null ? [] : this.rows.slice(at + 1).filter(({ id }) => !known.has(id));
				this.rows = [...answer.data, ...below];
				if (!below.length) this.cursor = answer.afterCursor;
				this.#learn();
				this.changed();
			} catch (error) {
				if (this.signal.aborted) throw error;
			}
		}
	}

	/** Whether a row has what is looked for, or its root has: as the service counts the first of the tags. */
	#hasTags = ({ id, tags }: ConversationDetails): boolean => {
		const [, ...others] = this.#tags;
		const root = this.#tagsOfRoots.get(id) ?? {};
		return others.every((tag) => hasTag(tags, tag) || hasTag(root, tag));
	};

	/** Return the rows that one may see, each with its children. A child whose tree is not among them stands alone. */
	get nested(): Nested[] {
		const pinned = this.#pinnedTrees;
		return this.#nested.filter(({ row }) => !pinned.has(this.#treeOf(row)));
	}

	/** Return what one has pinned of these, in one's own order. */
	get pinned(): Nested[] {
		const pinned = this.#pinnedTrees;
		return this.#nested.filter(({ row }) => pinned.has(this.#treeOf(row)));
	}

	/** Put a pin just before or after another one. */
	async movePin(id: string, to: "before" | "after", other: string): Promise<void> {
		const ids = this.pins.map((one) => one.id).filter((one) => one !== id);
		const after = to === "after" ? other : ids[ids.indexOf(other) - 1];
		await this.client.conversation(id).pin({ after, signal: this.signal });
		await this.loadPins();
	}

	#treeOf = ({ id }: ConversationDetails) => this.#trees.get(id) ?? id;

	get #pinnedTrees(): Set<string> {
		return new Set(this.pins.map(this.#treeOf));
	}

	get #nested(): Nested[] {
		const { show, days, agentId, archived } = this.filter;
		const since = days ? new Date(Date.now() - days * 86_400_000).toISOString() : "";
		const pinned = this.#pinnedTrees;
		const pins = this.pins.filter(
			(row) =>
				Boolean(row.archived) === archived &&
				(!agentId || row.agentId === agentId) &&
				this.#tags.slice(0, 1).every((tag) => hasTag(row.tags, tag)),
		);
		const rows = [...pins, ...this.rows.filter((row) => !pinned.has(this.#treeOf(row)))].filter(
			(row) =>
				show !== "failed" &&
				(show !== "live" || row.answering) &&
				(show !== "mine" || row.accessLevel === "owner") &&
				row.lastUsedAt >= since &&
				this.#hasTags(row),
		);
		const ids = new Map(rows.map(({ id }) => [this.#trees.get(id), id]));
		const parentOf = (row: ConversationDetails) => {
			const { startedByConversationId: by } = row;
			const hasPlace = pinned.has(this.#treeOf(row)); // of its own
			return by && !hasPlace && this.#trees.has(by) ? ids.get(this.#trees.get(by)) : undefined;
		};
		const byId = new Map(rows.map((row) => [row.id, row]));
		const rootOf = (row: ConversationDetails, depth = 0): string => {
			const parent = byId.get(parentOf(row) ?? "");
			return parent && parent !== row && depth < 9 ? rootOf(parent, depth + 1) : row.id;
		};
		const roots = Map.groupBy(rows, (row) => rootOf(row));
		return rows
			.filter((row) => rootOf(row) === row.id)
			.map((row) => ({ row, children: roots.get(row.id)!.filter((one) => one !== row) }));
	}

	/** Learn which branches are of one tree. */
	#learn(): void {
		for (const { id, forkedAtConversationId: by = id } of [...this.pins, ...this.rows]) {
			const tree = this.#trees.get(by) ?? by;
			this.#trees.set(by, tree).set(id, this.#trees.get(id) ?? tree);
		}
		for (const { startedByConversationId: by } of this.rows)
			if (by && !this.#trees.has(by)) void this.#learnTree(by);
		for (const row of this.rows)
			if (row.forkedAtConversationId && !this.#hasTags(row) && !this.#tagsOfRoots.has(row.id))
				void this.#learnTags(row.id);
	}

	/** Ask once for the tags of a row's root. */
	async #learnTags(id: string): Promise<void> {
		this.#tagsOfRoots.set(id, {});
		const forks = this.client.conversation(id).forks({ signal: this.signal });
		const all = await forks.list().catch(() => []);
		const root = all.find(({ forkedAtConversationId }) => !forkedAtConversationId);
		if (root) this.#tagsOfRoots.set(id, root.tags);
		this.changed();
	}

	/** Ask once for the tree of a parent that is no row. */
	async #learnTree(id: string): Promise<void> {
		this.#trees.set(id, id);
		const forks = await this.client
			.conversation(id)
			.forks({ signal: this.signal })
			.list()
			.catch(() => []);
		const row = forks.find(({ conversationId }) => this.rows.some((one) => one.id === conversationId));
		const tree = (row && this.#trees.get(row.conversationId)) ?? id;
		for (const { conversationId } of forks) this.#trees.set(conversationId, tree);
		this.#trees.set(id, tree);
		this.changed();
	}

	/** Load what one has pinned. It never throws. */
	async loadPins(): Promise<void> {
		try {
			const { data } = await this.client.api.listConversations(
				{ mode: "current", ancestry: "all", archived: "include", pinned: true, limit: PINS_MAX },
				{ signal: this.signal },
			);
			this.pins = data;
			this.#learn();
			this.changed();
		} catch {
			// the next load asks again
		}
	}

	async #loadOffers(): Promise<void> {
		try {
			const sent = { signal: this.signal };
			const { data } = await this.client.api.listTransfers({ role: "recipient", limit: ROWS_MAX }, sent);
			const titled = async (offer: Transfer) => {
				const { conversationId } = offer; // this branch may be deleted
				const tree = await this.client.api.getConversation({ conversationId }, sent).catch(() => undefined);
				return tree ? { ...offer, title: tree.title } : offer;
			};
			this.offers = await Promise.all(data.map(titled));
			this.changed();
		} catch {
			// the next load asks again
		}
	}
}
