// The memory of Mastra's agents: threads, messages and resources.

import type { MastraDBMessage, StorageThreadType } from "@mastra/core/memory";
import {
	calculatePagination,
	filterByDateRange,
	jsonValueEquals,
	MastraCompositeStore,
	MemoryStorage,
	normalizePerPage,
	storageMessageMatchesMetadataFilter,
	validateStorageMetadataFilter,
	type StorageCloneThreadInput,
	type StorageCloneThreadOutput,
	type StorageCopyThreadOutput,
	type StorageListMessagesByResourceIdInput,
	type StorageListMessagesInput,
	type StorageListMessagesOutput,
	type StorageListThreadsInput,
	type StorageListThreadsOutput,
	type StorageResourceType,
} from "@mastra/core/storage";

import type { Conversation, Forklore } from "@forklore/client";

import { inheritedId, type Shown, type Walk } from "./entries.ts";
import { Log, NoThreadError } from "./log.ts";
import { Resources } from "./resources.ts";
import { deleteNamed, Threads, untilNobodyElse } from "./threads.ts";

/** What a method of Mastra's takes. */
type Asked<Method extends keyof MemoryStorage> = Parameters<
	Extract<MemoryStorage[Method], (...args: never[]) => unknown>
>[0];
type Listed = Omit<StorageListMessagesByResourceIdInput, "resourceId">;

const MESSAGES = 40; // in a page
const THREADS = 100;

/** How a store is made. prefix: begins the names and tags in forklore; another one is another store. */
export interface StoreOptions {
	prefix?: string | undefined;
}

/** A store for `new Mastra` and `new Memory`, with Mastra's memory alone. */
export class ForkloreStore extends MastraCompositeStore {
	/** fl: the client that everything is stored with. */
	constructor(fl: Forklore, options: StoreOptions = {}) {
		super({ id: "forklore", name: "ForkloreStore" });
		this.stores = { memory: new ForkloreMemory(fl, options) };
	}
}

/** The domain `memory` of a composite store. A clone of a thread is a fork. */
export class ForkloreMemory extends MemoryStorage {
	override readonly supportsPartialThreadUpdate = true;
	readonly #fl: Forklore;
	readonly #prefix: string;
	readonly #threads: Threads;
	readonly #log: Log;
	readonly #resources: Resources;

	/** fl: the client that everything is stored with. */
	constructor(fl: Forklore, { prefix = "mastra" }: StoreOptions = {}) {
		super();
		this.#fl = fl;
		this.#prefix = prefix;
		this.#threads = new Threads(fl, prefix);
		this.#log = new Log(fl, this.#threads);
		this.#resources = new Resources(fl, prefix);
	}

	/** Return the conversation of a thread, such as to `recall` what it says, or to share it. Throws without such a thread. */
	async conversation(threadId: string): Promise<Conversation> {
		const details = await this.#threads.get(threadId);
		if (details === undefined) throw new NoThreadError(threadId);
		return this.#fl.conversation(details.id);
	}

	/** Delete every thread and resource of this store. */
	override async dangerouslyClearAll(): Promise<void> {
		for (const prefix of [`${this.#prefix}/`, `${this.#prefix}-resource/`]) {
			for await (const named of this.#fl.names({ prefix })) await deleteNamed(this.#fl, named);
		}
	}

	// Threads

	override async getThreadById({
		threadId,
		resourceId,
	}: Asked<"getThreadById">): Promise<StorageThreadType | null> {
		const details = await this.#threads.get(threadId);
		const thread = details && this.#threads.threadOf(details);
		return thread && (resourceId === undefined || resourceId === thread.resourceId) ? thread : null;
	}

	override async saveThread({ thread }: Asked<"saveThread">): Promise<StorageThreadType> {
		await this.#threads.save(thread);
		return thread;
	}

	override async updateThread({ id, title, metadata }: Asked<"updateThread">): Promise<StorageThreadType> {
		return this.#change(id, (thread) => ({
			...(title !== undefined && { title }),
			metadata: { ...thread.metadata, ...metadata },
		}));
	}

	/** `update` is asked again if another process has changed the thread meanwhile. */
	override async updateThreadMetadata({
		id,
		resourceId,
		update,
	}: Asked<"updateThreadMetadata">): Promise<StorageThreadType | null> {
		const isOther = (thread: StorageThreadType): boolean =>
			resourceId !== undefined && thread.resourceId !== resourceId;
		const changed = await this.#threads.change(id, (thread) => {
			const metadata = isOther(thread) ? undefined : update(thread);
			return metadata && { ...thread, metadata: { ...thread.metadata, ...metadata }, updatedAt: new Date() };
		});
		return changed === undefined || isOther(changed) ? null : changed;
	}

	/** One entry says whose the messages before it are. */
	override async updateThreadResourceId({
		threadId,
		resourceId,
	}: Asked<"updateThreadResourceId">): Promise<StorageThreadType> {
		const thread = await this.getThreadById({ threadId, resourceId });
		if (thread) return thread;
		await this.#log.append(threadId, () => [{ owner: resourceId }]);
		return this.#change(threadId, () => ({ resourceId }));
	}

	override async deleteThread({ threadId }: Asked<"deleteThread">): Promise<void> {
		await this.#threads.delete(threadId);
	}

	override async listThreads(args: StorageListThreadsInput): Promise<StorageListThreadsOutput> {
		const { page = 0, perPage: asked, filter } = args;
		const { field, direction } = this.parseOrderBy(args.orderBy);
		this.validatePaginationInput(page, asked ?? THREADS);
		this.validateMetadataKeys(filter?.metadata);
		const { offset, perPage } = calculatePagination(page, asked, normalizePerPage(asked, THREADS));
		const wanted = Object.entries(filter?.metadata ?? {});
		const all = (await this.#threads.list(given(filter?.resourceId))).map(this.#threads.threadOf);
		const threads = all.filter((thread) =>
			wanted.every(([key, value]) => jsonValueEquals(thread.metadata?.[key], value)),
		);
		threads.sort((one, other) => one[field].getTime() - other[field].getTime());
		if (direction === "DESC") threads.reverse();
		const end = perPage === false ? Infinity : offset + perPage;
		const total = threads.length;
		return { threads: threads.slice(offset, end), total, page, perPage, hasMore: end < total };
	}

	/**
	 * Copy a thread: one fork, which copies nothing.
	 *
	 * The copied messages have the ids `clonedId` tells. There is no map of them, as that would have to read them all.
	 */
	override async copyThread(args: StorageCloneThreadInput): Promise<StorageCopyThreadOutput> {
		return untilNobodyElse("stale", async () => this.#copy(args));
	}

	async #copy(args: StorageCloneThreadInput): Promise<StorageCopyThreadOutput> {
		const { sourceThreadId, metadata, options } = args;
		const resourceId = given(args.resourceId);
		const { messageFilter: filter, messageLimit = 0 } = options ?? {};
		const isWhole = filter === undefined && !(messageLimit > 0);
		const details = await this.#threads.get(sourceThreadId);
		const isEnough = ({ shown, upTo }: Walk): boolean => isWhole && upTo !== null && shown.length > 0;
		const walk = details && (await this.#log.read(sourceThreadId, isEnough, isWhole ? 2 : undefined));
		if (details === undefined || walk === undefined)
			throw new Error(`Source thread with id ${sourceThreadId} not found`);
		let kept = inOrder([walk]);
		const { messageIds = [], startDate, endDate } = filter ?? {};
		if (messageIds.length > 0) kept = kept.filter(({ message: { id } }) => messageIds.includes(id));
		if (startDate) kept = kept.filter(({ message: { createdAt } }) => createdAt >= startDate);
		if (endDate) kept = kept.filter(({ message: { createdAt } }) => createdAt <= endDate);
		if (messageLimit > 0) kept = kept.slice(-messageLimit);
		const source = this.#threads.threadOf(details);
		const now = new Date();
		const lastMessageId = kept.at(-1)?.message.id;
		const clone = { sourceThreadId, clonedAt: now, ...(lastMessageId !== undefined && { lastMessageId }) };
		const title = given(args.title) ?? (source.title ? `Clone of ${source.title}` : undefined);
		const thread: StorageThreadType = {
			id: given(args.newThreadId) ?? crypto.randomUUID(),
			resourceId: resourceId ?? source.resourceId,
			...(title !== undefined && { title }),
			metadata: { ...metadata, clone },
			createdAt: now,
			updatedAt: now,
		};
		await this.#threads.fork(walk.conversationId, walk.last, thread, {
			upTo: walk.upTo ?? null,
			...(!isWhole && { keeps: kept.map(({ entryId }) => entryId) }),
			...(resourceId !== undefined && { owner: resourceId }),
		});
		return { thread };
	}

	/** The same as `copyThread`, and read all messages of the copy. */
	override async cloneThread(args: StorageCloneThreadInput): Promise<StorageCloneThreadOutput> {
		const { thread } = await this.copyThread(args);
		const [copy, source] = await Promise.all(
			[thread.id, args.sourceThreadId].map((id) => this.#log.read(id)),
		);
		const messageIdMap: Record<string, string> = {};
		const sources = new Map(source?.shown.map(({ entryId, message }) => [entryId, message.id]));
		const shown = inOrder([copy]);
		for (const { entryId, message } of shown) {
			const sourceId = sources.get(entryId);
			if (sourceId !== undefined) messageIdMap[sourceId] = message.id;
		}
		return { thread, clonedMessages: shown.map(({ message }) => message), messageIdMap };
	}

	// Messages

	override async listMessages(args: StorageListMessagesInput): Promise<StorageListMessagesOutput> {
		const threadIds = [args.threadId].flat();
		if (threadIds.length === 0 || threadIds.some((id) => !id.trim()))
			throw new Error("threadId must be a non-empty string or array of non-empty strings");
		return this.#list(threadIds, given(args.resourceId), args);
	}

	/** The messages of the resource's threads. */
	override async listMessagesByResourceId(
		args: StorageListMessagesByResourceIdInput,
	): Promise<StorageListMessagesOutput> {
		const { resourceId } = args;
		const threads = await this.#threads.list(resourceId);
		return this.#list(
			threads.map((details) => this.#threads.threadOf(details).id),
			resourceId,
			args,
		);
	}

	override async listMessagesById({
		messageIds,
	}: Asked<"listMessagesById">): Promise<{ messages: MastraDBMessage[] }> {
		const found = [...(await this.#log.find(messageIds)).values()].map(({ message }) => message);
		return { messages: found.sort(byTime) };
	}

	override async saveMessages(told: Asked<"saveMessages">): Promise<typeof told> {
		const isWrong = ({ threadId, resourceId }: { threadId?: string; resourceId?: unknown }): boolean =>
			!threadId || resourceId === null;
		if (told.messages.some(isWrong)) throw new Error("a message has no threadId, or null as its resourceId");
		for (const [threadId, some] of Map.groupBy(told.messages, ({ threadId = "" }) => threadId))
			await this.#log.save(threadId, some);
		return told;
	}

	override async updateMessages({ messages: updates }: Asked<"updateMessages">): Promise<MastraDBMessage[]> {
		const found = await this.#log.find(updates.map(({ id }) => id));
		const there = updates.filter(({ id }) => found.has(id));
		const updated: MastraDBMessage[] = [];
		for (const [threadId, some] of Map.groupBy(there, ({ id }) => found.get(id)?.message.threadId ?? "")) {
			let newer = new Map<string, MastraDBMessage>();
			await this.#log.rewrite(threadId, (walk) => {
				newer = new Map(); // somebody may have been faster
				const shown = new Map(walk.shown.map((one) => [one.message.id, one]));
				for (const update of some) {
					const message = newer.get(update.id) ?? shown.get(update.id)?.message;
					if (message) newer.set(update.id, merged(message, update));
				}
				const staying = [...newer.values()].filter((message) => message.threadId === threadId);
				return staying.map((message) => ({ message, of: shown.get(message.id)?.entryId }));
			});
			const moved = [...newer.values()].filter((message) => message.threadId !== threadId);
			await this.saveMessages({ messages: moved }); // which takes them out of this one
			updated.push(...newer.values());
		}
		return updated;
	}

	override async deleteMessages(messageIds: string[]): Promise<void> {
		const found = [...(await this.#log.find(messageIds)).values()];
		for (const [threadId, some] of Map.groupBy(found, ({ message }) => message.threadId ?? ""))
			await this.#log.append(threadId, () => [{ deletes: some.map(({ entryId }) => entryId) }]);
	}

	/**
	 * Return a page of messages of some threads.
	 *
	 * If nobody asks how many there are, and the newest come first, as agents ask, only these are read: one more than the
	 * page and `include` bring, which tells that there are more.
	 */
	async #list(
		threadIds: readonly string[],
		resourceId: string | undefined,
		args: Listed,
	): Promise<StorageListMessagesOutput> {
		const { include = [], filter, page = 0, perPage: asked, includeTotal = true } = args;
		const metadata = validateStorageMetadataFilter(filter?.metadata);
		const { direction } = this.parseOrderBy(args.orderBy, "ASC");
		const size = normalizePerPage(asked, MESSAGES);
		if (page * size > Number.MAX_SAFE_INTEGER / 2) throw new Error("page value too large");
		const { offset, perPage } = calculatePagination(page, asked, size);
		const end = perPage === false ? Infinity : offset + size;
		const passing = (some: readonly Shown[]): Shown[] =>
			filterByDateRange([...some], ({ message }) => message.createdAt, filter?.dateRange).filter(
				({ message }) =>
					(resourceId === undefined || message.resourceId === resourceId) &&
					storageMessageMatchesMetadataFilter(message.content, metadata),
			);
		const included = await this.#included(include, resourceId);
		const most = end + included.length;
		const start = filter?.dateRange?.start;
		const enough = (): ((walk: Walk) => boolean) => {
			let [seen, passed] = [0, 0];
			return ({ shown, upTo }) => {
				passed += passing(shown.slice(seen)).length;
				seen = shown.length;
				const isBefore = start !== undefined && (shown.at(-1)?.message.createdAt ?? start) < start;
				return !includeTotal && direction === "DESC" && upTo !== null && (passed > most || isBefore);
			};
		};
		const pageEntries = includeTotal || most > 900 ? undefined : most + 50;
		const asking = size === 0 ? [] : threadIds;
		const read = await Promise.all(asking.map((id) => this.#log.read(id, enough(), pageEntries)));
		const all = passing(inOrder(read)).map(({ message }) => message);
		if (direction === "DESC") all.reverse();
		const messages = all.slice(offset, end);
		const ids = new Set(messages.map(({ id }) => id));
		for (const message of included) {
			if (!ids.has(message.id)) messages.push(message);
			ids.add(message.id);
		}
		messages.sort(direction === "DESC" ? (one, other) => byTime(other, one) : byTime);
		const total = all.length;
		const hasMore = end < total && all.some(({ id }) => !ids.has(id)); // not if `include` brings all others
		return { messages, total, page, perPage, hasMore };
	}

	/** Return messages with those around them in their threads, of a resource alone if one is given. */
	async #included(
		include: NonNullable<Listed["include"]>,
		resourceId: string | undefined,
	): Promise<MastraDBMessage[]> {
		const named = include.flatMap(({ threadId }) => (threadId === undefined ? [] : [threadId]));
		const found = await this.#log.find(
			include.map(({ id }) => id),
			...named,
		);
		const threads = new Map<string, MastraDBMessage[]>();
		const messages: MastraDBMessage[] = [];
		for (const { id, withPreviousMessages: before = 0, withNextMessages: after = 0 } of include) {
			const threadId = found.get(id)?.message.threadId;
			if (threadId === undefined) continue;
			const all =
				threads.get(threadId) ?? inOrder([await this.#log.read(threadId)]).map(({ message }) => message);
			threads.set(threadId, all);
			const those = all.filter((one) => resourceId === undefined || one.resourceId === resourceId);
			const at = those.findIndex((one) => one.id === id);
			if (at >= 0) messages.push(...those.slice(Math.max(0, at - before), at + after + 1));
		}
		return messages;
	}

	/** Change what is told of a thread. */
	async #change(
		threadId: string,
		change: (thread: StorageThreadType) => Partial<StorageThreadType>,
	): Promise<StorageThreadType> {
		const changed = await this.#threads.change(threadId, (thread) => ({
			...thread,
			...change(thread),
			updatedAt: new Date(),
		}));
		if (changed === undefined) throw new NoThreadError(threadId);
		return changed;
	}

	// Resources

	override async getResourceById({
		resourceId,
	}: Asked<"getResourceById">): Promise<StorageResourceType | null> {
		return this.#resources.get(resourceId);
	}

	override async saveResource({ resource }: Asked<"saveResource">): Promise<StorageResourceType> {
		return this.#resources.change(resource.id, () => resource);
	}

	override async updateResource({
		resourceId,
		workingMemory,
		metadata,
	}: Asked<"updateResource">): Promise<StorageResourceType> {
		const now = new Date();
		return this.#resources.change(resourceId, (resource) => ({
			...(resource ?? { id: resourceId, createdAt: now }),
			...(workingMemory !== undefined && { workingMemory }),
			metadata: { ...resource?.metadata, ...metadata },
			updatedAt: now,
		}));
	}

	// Observational memory: without this Mastra would leave out what an agent was told to observe, and say nothing.

	override readonly supportsObservationalMemory = true;

	override getObservationalMemory(): Promise<null> {
		return Promise.resolve(null);
	}

	override clearObservationalMemory(): Promise<void> {
		return Promise.resolve();
	}

	/** Fail: this storage keeps no observations. */
	override initializeObservationalMemory(): Promise<never> {
		const why = "forklore keeps no observational memory: switch `observationalMemory` off";
		return Promise.reject(new Error(why));
	}
}

/** Return the id that a message of a thread has in a clone of the thread. storedId: the id that it was saved with. */
export const clonedId = (newThreadId: string, storedId: string): string => inheritedId(newThreadId, storedId);

/** Mastra takes an empty text for none. */
const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

const byTime = (one: MastraDBMessage, other: MastraDBMessage): number =>
	one.createdAt.getTime() - other.createdAt.getTime();

/** Return the messages of threads by time; those of one time in the order in which they were stored. */
const inOrder = (walks: readonly (Walk | undefined)[]): Shown[] =>
	walks
		.flatMap((walk) => walk?.shown.toReversed() ?? [])
		.sort((one, other) => byTime(one.message, other.message));

/** Return a message with what an update says; content and metadata are merged. */
function merged(
	message: MastraDBMessage,
	update: Asked<"updateMessages">["messages"][number],
): MastraDBMessage {
	const { content, ...rest } = update;
	const told = Object.fromEntries(
		Object.entries(rest).filter(([, value]: [string, unknown]) => value !== undefined),
	);
	const metadata = { ...message.content.metadata, ...content?.metadata };
	const next = { ...message.content, ...content, ...(Object.keys(metadata).length > 0 && { metadata }) };
	return { ...message, ...told, content: next };
}
