// An agent's memory in a conversation.

import { InputError } from "./errors.ts";
import { read, write } from "./json.ts";
import { idOf, type EntryOrId } from "./messages.ts";
import type { ListedEntry, Operations, PresentContext, Synced, SyncContext } from "./generated/operations.ts";
import { pagesOf, type Pages } from "./pages.ts";
import type { Keyed, Sent } from "./wire.ts";

/** The whole present memory of an agent: any JSON values. */
export type Memory = readonly unknown[];

/**
 * What a memory goes on from, such as a list from `latest`; null replaces whatever is stored. Without it, this is
 * what the given list was read from, or else what was last read, written or confirmed by this object, or nothing.
 */
export interface Based {
	basedOn?: Memory | EntryOrId | null | undefined;
}

const CONTENT_TYPE = "context"; // of a memory whose author says nothing else
const NOTHING = "none"; // what a memory is based on where there was none
const PAGE_ENTRIES = 1000;

/** For each list that `latest` has returned, the entry that it was read from or written to last. */
const readFrom = new WeakMap<Memory, string>();

/** The agent's own context of one conversation. The caller must be an agent, so with a `clientKey`. */
export class Context {
	readonly #api: Operations;
	readonly #resolve: (sent: Sent) => Promise<string | undefined>;
	readonly #resolveMade: (sent: Sent) => Promise<string>;
	#seen = NOTHING;
	#read: { epoch: number | undefined; memory: unknown[]; until: string | undefined } = {
		epoch: undefined,
		memory: [],
		until: undefined,
	};

	/** resolve: undefined for a name that does not exist. resolveMade: of a conversation that exists. */
	constructor(
		api: Operations,
		resolve: (sent: Sent) => Promise<string | undefined>,
		resolveMade: (sent: Sent) => Promise<string>,
	) {
		this.#api = api;
		this.#resolve = resolve;
		this.#resolveMade = resolveMade;
	}

	/**
	 * Make the stored context equal to `memory`, the whole present one; return what was done.
	 *
	 * Only what is new is written. A memory that does not go on from the stored one begins an epoch and replaces it.
	 * That is refused if the stored one is not the one that `memory` is based on.
	 * Throws ConflictError with the reason `context_moved` if somebody was faster: read the latest memory again.
	 */
	async sync(
		memory: Memory,
		options: Based & Keyed & Pick<SyncContext, "usage"> & { contentType?: string } = {},
	): Promise<Synced> {
		const { idempotencyKey, signal, usage, ...told } = options;
		const conversationId = await this.#resolveMade({ signal });
		const present = this.present(memory, told, "memory");
		const synced = await this.#api.syncContext(
			{ conversationId, ...present, usage },
			{ idempotencyKey, signal },
		);
		this.written(memory, synced);
		return synced;
	}

	/** Return the memory of the latest epoch, as it was synced; empty if there is none. It is yours to change. */
	async latest(options: Sent = {}): Promise<unknown[]> {
		let { epoch, memory, until } = this.#read;
		memory = [...memory];
		for await (const entry of this.entries({ ...options, after: until })) {
			if (entry.epoch !== epoch) memory = [];
			epoch = entry.epoch;
			memory.push(...entry.content);
			until = entry.id;
		}
		this.#read = { epoch, memory, until };
		this.#seen = until ?? NOTHING;
		const copy = read(write(memory, "memory")) as unknown[];
		readFrom.set(copy, this.#seen);
		return copy;
	}

	/** Return the context entries, the oldest first. after: only what follows this entry. */
	entries(
		options: Sent & { epoch?: number | "latest" | "all"; after?: EntryOrId | undefined } = {},
	): Pages<ListedEntry> {
		const { epoch = "latest", after, signal } = options;
		const begin = after === undefined ? undefined : idOf(after);
		return pagesOf(async (cursor) => {
			const conversationId = await this.#resolve({ signal });
			if (conversationId === undefined) return { data: [], afterCursor: null };
			const given = { conversationId, channel: "context", epoch, limit: PAGE_ENTRIES };
			return this.#api.listEntries({ ...given, afterCursor: cursor ?? begin }, { signal });
		});
	}

	/** Return the field of an append that carries the whole present memory. name: what the caller calls it. */
	present(
		memory: Memory,
		told: Based & { contentType?: string | undefined },
		name = "context",
	): PresentContext {
		if (!Array.isArray(memory)) throw new InputError(`${name} is an array`, name);
		write(memory, name); // an error names the place as the caller knows it
		const { contentType = CONTENT_TYPE, basedOn } = told;
		return { contentType, content: memory, basedOnEntryId: this.#baseOf(memory, basedOn) };
	}

	/** Note what is stored now, so that what comes next is based on it. */
	written(memory: Memory, synced: Synced | undefined): void {
		if (!synced) return;
		this.#seen = synced.lastEntryId ?? NOTHING;
		if (readFrom.has(memory)) readFrom.set(memory, this.#seen);
	}

	#baseOf(memory: Memory, basedOn: Based["basedOn"]): string | undefined {
		if (basedOn === undefined) return readFrom.get(memory) ?? this.#seen;
		if (basedOn === null) return undefined;
		if (!Array.isArray(basedOn)) return idOf(basedOn as EntryOrId);
		const base = readFrom.get(basedOn as Memory);
		if (base === undefined) throw new InputError("basedOn is a list that `latest` has returned", "basedOn");
		return base;
	}
}
