// The messages of threads, as entries that are appended and never changed.

import type { MastraDBMessage } from "@mastra/core/memory";
import { jsonValueEquals } from "@mastra/core/storage";

import type { ConversationDetails, EntryFields, Forklore, ListedEntry } from "@forklore/client";

import { keyOf, messageEntry, noteEntry, threadsIn, timeOf, Walk, type Note, type Shown } from "./entries.ts";
import { isRefused, Known, orNone, untilNobodyElse, type Threads } from "./threads.ts";

const PAGE_ENTRIES = 1000;
const KEYS_MAX = 44; // entries with a key, in one append
const BYTES_MAX = 2_000_000; // of the entries of one append, as escaped, unless it is one
const THREADS_AT_ONCE = 8;

/** Where a thread ends. upTo: as in `Note`. */
type End = Pick<Walk, "conversationId" | "last" | "upTo">;

/** Where a message is. */
interface Place extends Pick<Shown, "entryId"> {
	threadId: string;
	conversationId: string;
	createdAt: string;
}

/** What is appended to a thread: a message, with the entry that it is a newer version `of`, or a note. */
export type Draft = { message: MastraDBMessage; of?: string | undefined } | Omit<Note, "upTo">;

/** The messages of all threads of a client's user. */
export class Log {
	readonly #fl: Forklore;
	readonly #threads: Threads;
	readonly #ends = new Known<End>();
	readonly #places = new Known<Place>();

	constructor(fl: Forklore, threads: Threads) {
		this.#fl = fl;
		this.#threads = threads;
	}

	/**
	 * Go back through a thread, to its beginning or until it is enough. Return undefined without such a thread.
	 *
	 * firstEntries: so many are asked for at first, and as many as there may be if they are not enough.
	 */
	async read(
		threadId: string,
		isEnough: (walk: Walk) => boolean = () => false,
		firstEntries: number = PAGE_ENTRIES,
	): Promise<Walk | undefined> {
		return this.#threads.within(threadId, async (conversationId) => {
			const walk = new Walk(threadId, conversationId);
			const entries = this.#backward(conversationId, firstEntries);
			for await (const entry of entries) {
				walk.take(entry);
				if (isEnough(walk)) break;
			}
			for (const { message, entryId } of walk.shown) {
				this.#places.set(message.id, { threadId, conversationId, entryId, createdAt: timeOf(message) });
			}
			return walk;
		});
	}

	/** Store messages in their thread: those that it has as newer versions. */
	async save(threadId: string, messages: readonly MastraDBMessage[]): Promise<void> {
		for (const some of chunksOf([...new Map(messages.map((one) => [one.id, one])).values()])) {
			const elsewhere = some.flatMap(({ id }) => {
				const place = this.#places.get(id);
				return place === undefined || place.threadId === threadId ? [] : [place];
			});
			const drafts = (end: End): Draft[] =>
				some.map((message) => {
					const place = this.#places.get(message.id);
					return { message, of: place?.conversationId === end.conversationId ? place.entryId : undefined };
				});
			const isUnknown = some.some(({ id }) => threadsIn(id).includes(threadId) && !this.#places.has(id));
			const isDone = !isUnknown && (await this.append(threadId, drafts).then(() => true, unlessThere));
			if (!isDone) await this.rewrite(threadId, (walk) => draftsOf(walk, some));
			for (const { threadId: other, entryId } of elsewhere) {
				await this.append(other, () => [{ deletes: [entryId] }]).catch((error: unknown) => {
					if (!(error instanceof NoThreadError)) throw error;
				});
			}
		}
	}

	/** Append what `make` returns of the thread's end, in one step. Throws NoThreadError without such a thread. */
	async append(threadId: string, make: (end: End) => readonly Draft[]): Promise<void> {
		const isEnd = ({ upTo }: Walk): boolean => upTo !== undefined;
		const end = async () => this.#ends.get(threadId) ?? this.read(threadId, isEnd, 1);
		await this.#appendBehind(threadId, end, make);
	}

	/** The same with what `make` returns of all messages of the thread, if nobody else appends meanwhile. */
	async rewrite(threadId: string, make: (walk: Walk) => readonly Draft[]): Promise<void> {
		await this.#appendBehind(threadId, async () => this.read(threadId), make);
	}

	async #appendBehind<T extends End>(
		threadId: string,
		read: () => Promise<T | undefined>,
		make: (read: T) => readonly Draft[],
	): Promise<void> {
		await untilNobodyElse("stale", async () => {
			const end = await read();
			this.#ends.delete(threadId); // until it is known what has become of it
			if (end === undefined) throw new NoThreadError(threadId);
			await this.#send(threadId, end, make(end));
		});
	}

	/** Find messages by their ids: in a thread that is named, where they were seen, else in every thread. */
	async find(ids: readonly string[], ...named: string[]): Promise<Map<string, Shown>> {
		const found = new Map<string, Shown>();
		const wanted = new Set(ids);
		const lookIn = async (threadId: string): Promise<void> => {
			const isEnough = ({ firsts }: Walk): boolean => [...wanted].every((id) => firsts.has(id));
			for (const one of (await this.read(threadId, isEnough))?.shown ?? []) {
				if (wanted.delete(one.message.id)) found.set(one.message.id, one);
			}
		};
		const likely = ids.flatMap((id) => [this.#places.get(id)?.threadId, ...threadsIn(id)]);
		for (const threadId of new Set([...named, ...likely])) {
			if (wanted.size > 0 && threadId !== undefined) await lookIn(threadId);
		}
		if (wanted.size === 0) return found;
		const all = await this.#threads.list();
		while (all.length > 0 && wanted.size > 0) {
			const has = async (details: ConversationDetails): Promise<string[]> => {
				const { id: conversationId } = details;
				const looks = [...wanted].map((id) => this.#fl.api.lookUpEntry({ conversationId, key: keyOf(id) }));
				const entries = await Promise.all(looks.map((one) => orNone(one)));
				const isThere = entries.some((entry) => entry?.conversationId === conversationId);
				return isThere ? [this.#threads.threadOf(details).id] : [];
			};
			const having = await Promise.all(all.splice(0, THREADS_AT_ONCE).map(has));
			for (const threadId of having.flat()) await lookIn(threadId);
		}
		return found;
	}

	/** Yield the entries of a conversation, the newest first. */
	async *#backward(
		conversationId: string,
		firstEntries: number,
	): AsyncGenerator<ListedEntry, void, undefined> {
		let [limit, where]: [number, { tail: true } | { beforeCursor: string }] = [firstEntries, { tail: true }];
		for (;;) {
			const asked = { conversationId, channel: "history", limit, ...where } as const;
			const { data, beforeCursor } = await this.#fl.api.listEntries(asked);
			yield* data.reverse();
			if (beforeCursor === null) return;
			[limit, where] = [PAGE_ENTRIES, { beforeCursor }];
		}
	}

	/** Append behind the end of a thread: one request for as many as it takes. */
	async #send(
		threadId: string,
		{ conversationId, last, upTo = null }: End,
		all: readonly Draft[],
	): Promise<void> {
		for (const drafts of chunksOf(all)) {
			const entries = drafts.map((draft): EntryFields => {
				if (!("message" in draft)) return noteEntry({ upTo, ...draft });
				upTo = this.#upToWith(draft, upTo);
				return messageEntry(draft.message, upTo, draft.of);
			});
			const appended = await this.#fl.api.appendEntry({ conversationId, entries }, { ifMatch: last });
			const stored = "data" in appended ? appended.data : [appended];
			last = stored.at(-1)?.id ?? "";
			this.#ends.set(threadId, { conversationId, last, upTo });
			drafts.forEach((draft, at) => {
				if (!("message" in draft)) return;
				const { message, of = stored[at]?.id ?? "" } = draft;
				this.#places.set(message.id, { threadId, conversationId, entryId: of, createdAt: timeOf(message) });
			});
		}
	}

	/** Return how far the messages are in order, with one more, or with a newer version. */
	#upToWith({ message, of }: { message: MastraDBMessage; of?: string | undefined }, upTo: string | null) {
		const at = timeOf(message);
		if (of !== undefined) return this.#places.get(message.id)?.createdAt === at ? upTo : null;
		return upTo !== null && at >= upTo ? at : null;
	}
}

/** There is no such thread. */
export class NoThreadError extends Error {
	constructor(threadId: string) {
		super(`Thread with id ${threadId} not found`);
	}
}

/** Return false for an error that says that a message is there already. Throws any other one. */
function unlessThere(error: unknown): false {
	if (isRefused(error, "key_in_use")) return false;
	throw error;
}

/** Return what stores messages in a thread of which all is known: nothing of those that are there as they are. */
function draftsOf(walk: Walk, messages: readonly MastraDBMessage[]): Draft[] {
	const shown = new Map(walk.shown.map(({ message }) => [message.id, message]));
	return messages.flatMap((message) => {
		const there = shown.get(message.id);
		if (there && jsonValueEquals(saidBy(there), saidBy(message))) return [];
		return [{ message, of: walk.firsts.get(message.id) }];
	});
}

/** Return what a message says, as it comes back. */
const saidBy = ({ role, type, createdAt, resourceId, content }: MastraDBMessage): unknown =>
	JSON.parse(JSON.stringify([role, type, createdAt, resourceId, content]));

/** Return messages, or what is appended, by so many as one append takes. */
function chunksOf<T>(all: readonly T[]): T[][] {
	const chunks: T[][] = [];
	let bytes = 0;
	for (const one of all) {
		const size = JSON.stringify(one).replace(/[^ -~]/g, "\\u0000").length;
		const chunk = chunks.at(-1);
		bytes += size;
		if (chunk !== undefined && chunk.length < KEYS_MAX && bytes <= BYTES_MAX) chunk.push(one);
		else {
			chunks.push([one]);
			bytes = size;
		}
	}
	return chunks;
}
