// Threads: a name for each, which points to a conversation whose description says what the thread is.

import type { StorageThreadType } from "@mastra/core/memory";

import {
	ConflictError,
	NotFoundError,
	type ConversationDetails,
	type Forklore,
	type Name,
} from "@forklore/client";

import { isPlain, noteEntry, THREAD_KEY, type Note } from "./entries.ts";

const TITLE_MAX = 500;
const ATTEMPTS_MAX = 100;
const KNOWN_MAX = 10_000;

/** What a conversation's metadata say of its thread. change: names the last change. */
interface Thread {
	title?: string | undefined;
	createdAt: string;
	updatedAt: string;
	metadata?: Record<string, unknown> | undefined;
	change: string;
}

/** A map that forgets all when it is full. */
export class Known<T> extends Map<string, T> {
	override set(key: string, value: T): this {
		if (this.size >= KNOWN_MAX) this.clear();
		return super.set(key, value);
	}
}

/** Return what a call answers; undefined if the service says that there is no such thing. */
export async function orNone<T>(call: Promise<T>): Promise<T | undefined> {
	try {
		return await call;
	} catch (error) {
		if (isGone(error)) return undefined;
		throw error;
	}
}

const isGone = (error: unknown): boolean => error instanceof NotFoundError && error.code === "not_found";

/** Tell whether a request was refused with a reason. */
export const isRefused = (error: unknown, reason: string): boolean =>
	error instanceof ConflictError && error.reason === reason;

/**
 * Do the work again and again, until nobody else was faster: neither refused with the reason, nor because a thread is
 * gone, which somebody may have made anew. Throws what the last attempt throws.
 */
export async function untilNobodyElse<T>(reason: string, work: () => Promise<T>): Promise<T> {
	for (let attempt = 1; ; attempt++) {
		try {
			return await work();
		} catch (error) {
			if (attempt === ATTEMPTS_MAX || !(isRefused(error, reason) || isGone(error))) throw error;
		}
	}
}

/** Delete what a name points to, and the name. What others inherit of it stays. */
export async function deleteNamed(fl: Forklore, named: Name): Promise<void> {
	if (named.deleted !== true) await orNone(fl.conversation(named.conversationId).delete());
	await orNone(fl.deleteName(named)).catch((error: unknown) => {
		if (!isRefused(error, "name_moved")) throw error; // somebody has made it anew
	});
}

/** The threads of a client's user. */
export class Threads {
	readonly #fl: Forklore;
	readonly #prefix: string;
	readonly #known = new Known<string>();

	/** prefix: begins the names and tags. */
	constructor(fl: Forklore, prefix: string) {
		this.#fl = fl;
		this.#prefix = prefix;
	}

	/** Do the work in a thread's conversation. Return undefined if there is no such thread. */
	async within<T>(threadId: string, work: (conversationId: string) => Promise<T>): Promise<T | undefined> {
		const known = this.#known.get(threadId);
		const done = known === undefined ? undefined : await orNone(work(known));
		if (done !== undefined) return done;
		this.#known.delete(threadId); // somebody has deleted it, and perhaps made it anew
		const named = await this.#named(threadId);
		if (named === undefined || named.deleted === true) return undefined;
		this.#known.set(threadId, named.conversationId);
		return orNone(work(named.conversationId));
	}

	/** Return what is told of a thread; undefined if there is none. */
	async get(threadId: string): Promise<ConversationDetails | undefined> {
		return this.within(threadId, async (conversationId) => this.#fl.api.getConversation({ conversationId }));
	}

	/** Make a thread, or replace what is told of it. */
	async save(thread: StorageThreadType): Promise<void> {
		await untilNobodyElse("key_in_use", async () => {
			if (!(await this.change(thread.id, () => thread))) await this.#begin(thread, { upTo: "" });
		});
	}

	/** Make a thread that shows what a conversation shows up to an entry: a fork, with an entry of its own. */
	async fork(conversationId: string, upTo: string, thread: StorageThreadType, note: Note): Promise<void> {
		const where = {
			forkedAtConversationId: conversationId,
			forkedAtEntryId: upTo,
			forkedAtPosition: "after" as const,
		};
		await this.#begin(thread, note, where).catch((error: unknown) => {
			if (!isRefused(error, "key_in_use") && !isRefused(error, "not_the_fork")) throw error;
			throw new Error(`Thread with id ${thread.id} already exists`, { cause: error });
		});
	}

	/** Make the name of a thread and its conversation, with the entry that a thread begins with. */
	async #begin(thread: StorageThreadType, note: Note, where: object = {}): Promise<void> {
		const name = this.#nameOf(thread.id);
		const entries = [noteEntry(note, THREAD_KEY)];
		const made = { name, entries, ...where, ...this.#told(thread) };
		const appended = await this.#fl.api.appendEntryByName(made);
		const [entry] = "data" in appended ? appended.data : [appended];
		if (entry !== undefined) this.#known.set(thread.id, entry.conversationId);
	}

	/**
	 * Change what is told of a thread, and return the thread; undefined if there is none.
	 *
	 * change: is asked again if somebody else has changed the thread meanwhile. Returns undefined to change nothing.
	 */
	async change(
		threadId: string,
		change: (thread: StorageThreadType) => StorageThreadType | undefined,
	): Promise<StorageThreadType | undefined> {
		const mark = crypto.randomUUID();
		return untilNobodyElse("stale", async () => {
			const details = await this.get(threadId);
			if (details === undefined) return undefined;
			const isDone = recordOf(details)?.change === mark; // the answer was lost
			const next = isDone ? undefined : change(this.threadOf(details));
			if (next === undefined) return this.threadOf(details);
			const told = { conversationId: details.id, ...this.#told(next, mark) };
			const changed = this.#fl.api.updateConversation(told, { ifMatch: details.updatedAt });
			return this.threadOf(await changed);
		});
	}

	/** Return what is told of the threads, of a resource alone if one is given. */
	async list(resourceId?: string): Promise<ConversationDetails[]> {
		const tag =
			resourceId === undefined ? `${this.#prefix}.thread` : `${this.#prefix}.resource:${resourceId}`;
		const all = this.#fl.conversations({ mode: "all", order: "created", archived: "include", tag });
		return (await all.list()).filter(
			(details) => details.accessLevel === "owner" && recordOf(details) !== undefined,
		);
	}

	/** Delete a thread. What its clones show of it stays. */
	async delete(threadId: string): Promise<void> {
		const named = await this.#named(threadId);
		if (named) await deleteNamed(this.#fl, named);
		this.#known.delete(threadId);
	}

	/** Return the thread that a conversation is. */
	threadOf = ({ tags, metadata, createdAt, lastUsedAt }: ConversationDetails): StorageThreadType => {
		const { title, updatedAt, ...told } = recordIn(metadata);
		const used = lastUsedAt > createdAt && lastUsedAt > updatedAt ? lastUsedAt : updatedAt;
		return {
			id: tags[`${this.#prefix}.thread`] ?? "",
			resourceId: tags[`${this.#prefix}.resource`] ?? "",
			...(title !== undefined && { title }),
			createdAt: new Date(told.createdAt),
			updatedAt: new Date(used),
			...(told.metadata !== undefined && { metadata: told.metadata }),
		};
	};

	/** Return the description of a thread's conversation. */
	#told(thread: StorageThreadType, change: string = crypto.randomUUID()) {
		const { id, resourceId, title, createdAt, updatedAt, metadata } = thread;
		const told: Thread = {
			title,
			createdAt: new Date(createdAt).toISOString(),
			updatedAt: new Date(updatedAt).toISOString(),
			metadata,
			change,
		};
		const json = JSON.stringify(told);
		return {
			title: (title ?? "").slice(0, TITLE_MAX).toWellFormed() || `Thread ${id}`,
			tags: { [`${this.#prefix}.thread`]: id, [`${this.#prefix}.resource`]: resourceId },
			metadata: { mastra: isPlain(json) ? (JSON.parse(json) as Thread) : { packed: json } },
		};
	}

	#nameOf = (threadId: string): string => `${this.#prefix}/${threadId}`;

	async #named(threadId: string): Promise<Name | undefined> {
		return orNone(this.#fl.api.lookUpName({ name: this.#nameOf(threadId) }));
	}
}

const recordOf = ({ metadata }: ConversationDetails): Thread | undefined =>
	metadata["mastra"] === undefined ? undefined : recordIn(metadata);

function recordIn(metadata: ConversationDetails["metadata"]): Thread {
	const told = metadata["mastra"] as Thread | { packed: string };
	return "packed" in told ? (JSON.parse(told.packed) as Thread) : told;
}
