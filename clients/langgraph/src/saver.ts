// Checkpoints of LangGraph as entries of a conversation, one for each thread.

import {
	BaseCheckpointSaver,
	compareWritesSortKeys,
	copyCheckpoint,
	getCheckpointId,
	maxChannelVersion,
	WRITES_IDX_MAP,
	writesSortKey,
	type Checkpoint,
	type CheckpointListOptions,
	type CheckpointMetadata,
	type CheckpointPendingWrite,
	type CheckpointTuple,
	type ChannelVersions,
	type PendingWrite,
} from "@langchain/langgraph-checkpoint";

import { NotFoundError, type Forklore, type ListedEntry } from "@forklore/client";

import { messageIn } from "./messages.ts";

type Config = CheckpointTuple["config"];
type Serde = ConstructorParameters<typeof BaseCheckpointSaver>[0];

/** A value as the serializer writes it: its type, and its bytes as text, or as base64 if they are no JSON. */
type Dumped = [type: string, text: string];

/** How a saver is made. prefix: begins the names of the threads. serde: writes values in place of LangGraph's own. */
export interface SaverOptions {
	prefix?: string | undefined;
	serde?: Serde | undefined;
}

/** A checkpoint. values: of the channels that it has changed. */
interface Kept {
	ns: string;
	id: string;
	parent?: string | undefined;
	checkpoint: Dumped;
	metadata: Dumped;
	values: Record<string, Dumped>;
	entryId: string;
}

/** A write of a task. */
interface Write {
	task: string;
	path: string;
	index: number;
	channel: string;
	value: Dumped;
}

/** What an entry says: a checkpoint, or the writes of a task behind one. */
interface Said extends Partial<Omit<Kept, "ns" | "id">> {
	ns: string;
	id: string;
	versions?: ChannelVersions;
	writes?: Write[];
}

/** What was read of a thread. last: the last entry. values: of a channel in a version. */
interface Thread {
	conversationId: string;
	last: string | undefined;
	checkpoints: Map<string, Kept>;
	writes: Map<string, Map<string, Write>>;
	values: Map<string, Dumped>;
}

const TASKS = "__pregel_tasks";
const THREADS_MAX = 100;
const keyOf = (...parts: (string | number)[]): string => JSON.stringify(parts);

/** A checkpointer for `compile`, on a client that it is given. */
export class ForkloreSaver extends BaseCheckpointSaver {
	readonly #fl: Forklore;
	readonly #prefix: string;
	/** What was read, so that only what is new is read again. */
	readonly #known = new Map<string, Thread>();

	constructor(fl: Forklore, { prefix = "langgraph-js", serde }: SaverOptions = {}) {
		super(serde);
		this.#fl = fl;
		this.#prefix = prefix;
	}

	/** Make a thread that shows what another one shows, up to a checkpoint if one is named: a fork, which copies nothing. */
	async fork(threadId: string, newThreadId: string, options: { checkpointId?: string } = {}): Promise<void> {
		const { checkpointId } = options;
		const thread = await this.#read(threadId);
		const kept = [...(thread?.checkpoints.values() ?? [])].find(({ id }) => id === checkpointId);
		if (thread?.last === undefined || (checkpointId !== undefined && kept === undefined))
			throw new Error(`there is no such thread or checkpoint: ${threadId} ${checkpointId ?? ""}`);
		const source = this.#fl.conversation(thread.conversationId);
		await source.fork({ after: kept?.entryId ?? thread.last, name: this.#nameOf(newThreadId) });
	}

	override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
		const { thread_id: threadId, checkpoint_ns: ns = "" } = placeOf(config);
		const id = getCheckpointId(config);
		const thread = threadId === undefined ? undefined : await this.#read(threadId);
		if (thread === undefined || threadId === undefined) return undefined;
		const [kept] = newest(thread).filter((one) => one.ns === ns && (!id || one.id === id));
		return kept && this.#tupleOf(threadId, thread, kept);
	}

	override async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
		const { before, limit = Infinity, filter = {} } = options;
		const { thread_id, checkpoint_ns: ns, checkpoint_id: id } = placeOf(config);
		const end = before && placeOf(before).checkpoint_id;
		let left = limit;
		for (const threadId of thread_id === undefined ? await this.#threadIds() : [thread_id]) {
			const thread = await this.#read(threadId);
			for (const kept of thread ? newest(thread) : []) {
				if (ns !== undefined && kept.ns !== ns) continue;
				if (id !== undefined && kept.id !== id) continue;
				if (end !== undefined && kept.id >= end) continue;
				const metadata = await this.#load<Record<string, unknown>>(kept.metadata);
				if (!Object.entries(filter).every(([name, value]) => metadata[name] === value)) continue;
				if (left-- <= 0) return;
				if (thread) yield this.#tupleOf(threadId, thread, kept);
			}
		}
	}

	/** Store a checkpoint with the values of the channels that it has changed: one request. */
	override async put(
		config: Config,
		checkpoint: Checkpoint,
		metadata: CheckpointMetadata,
		versions: ChannelVersions,
	): Promise<Config> {
		const { thread_id: threadId, checkpoint_ns: ns = "", checkpoint_id: parent } = placeOf(config);
		if (threadId === undefined) throw new Error("to put a checkpoint, its config needs a thread_id");
		const { channel_values: all, ...rest } = copyCheckpoint(checkpoint);
		const changed = Object.keys(versions).filter((channel) => channel in all);
		const values = await Promise.all(
			changed.map(async (channel) => [channel, await this.#dump(all[channel])]),
		);
		const said: Said = {
			ns,
			id: checkpoint.id,
			parent,
			checkpoint: await this.#dump({ ...rest, channel_values: {} }),
			metadata: await this.#dump(metadata),
			values: Object.fromEntries(values) as Record<string, Dumped>,
			versions,
		};
		await this.#append(threadId, said, "messages" in versions ? messageIn(all["messages"]) : undefined);
		return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
	}

	/** Store what a task has written: one request. */
	override async putWrites(config: Config, writes: PendingWrite[], task: string, path = ""): Promise<void> {
		const { thread_id: threadId, checkpoint_ns: ns = "", checkpoint_id: id } = placeOf(config);
		if (threadId === undefined || id === undefined)
			throw new Error("to put writes, their config needs a thread_id and a checkpoint_id");
		const kept = writes.map(async ([channel, value], at) => {
			const index = WRITES_IDX_MAP[channel] ?? at;
			return { task, path, index, channel, value: await this.#dump(value) };
		});
		await this.#append(threadId, { ns, id, writes: await Promise.all(kept) });
	}

	/** Delete a thread. What its forks show of it stays. */
	override async deleteThread(threadId: string): Promise<void> {
		this.#known.delete(threadId);
		await orNone(this.#fl.named(this.#nameOf(threadId)).delete());
		await orNone(this.#fl.deleteName(this.#nameOf(threadId)));
	}

	async #append(threadId: string, said: Said, message?: { role: string; text: string }): Promise<void> {
		const contentType = message ? "history" : "application/vnd.forklore.langgraph+json";
		await this.#fl.named(this.#nameOf(threadId)).append([{ ...message, langgraph: said }], { contentType });
	}

	/** Return a thread as it is now: what is new of it is read. Return undefined without such a thread. */
	async #read(threadId: string): Promise<Thread | undefined> {
		const known = this.#known.get(threadId);
		const named = await orNone(this.#fl.api.lookUpName({ name: this.#nameOf(threadId) }));
		this.#known.delete(threadId);
		if (named === undefined || named.deleted === true) return undefined;
		const { conversationId } = named;
		const thread: Thread = known?.conversationId === conversationId ? known : emptyThread(conversationId);
		const after = thread.last;
		const entries = this.#fl
			.conversation(conversationId)
			.history({ pageEntries: 1000, ...(after && { after }) });
		for await (const entry of entries) take(thread, entry);
		this.#known.set(threadId, thread);
		for (const first of this.#known.keys()) if (this.#known.size > THREADS_MAX) this.#known.delete(first);
		return thread;
	}

	async #tupleOf(threadId: string, thread: Thread, kept: Kept): Promise<CheckpointTuple> {
		const { ns, id, parent } = kept;
		const checkpoint = await this.#load<Checkpoint>(kept.checkpoint);
		for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
			const value = thread.values.get(keyOf(ns, channel, version));
			if (value !== undefined) checkpoint.channel_values[channel] = await this.#load(value);
		}
		if (checkpoint.v < 4 && parent !== undefined) {
			// older ones have the tasks that were sent among the writes
			const sent = writesOf(thread, ns, parent).filter(({ channel }) => channel === TASKS);
			checkpoint.channel_values[TASKS] = await Promise.all(sent.map(({ value }) => this.#load(value)));
			const versions = Object.values(checkpoint.channel_versions);
			checkpoint.channel_versions[TASKS] =
				versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
		}
		const pending = writesOf(thread, ns, id).map(
			async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
				task,
				channel,
				await this.#load(value),
			],
		);
		const place = { thread_id: threadId, checkpoint_ns: ns };
		return {
			config: { configurable: { ...place, checkpoint_id: id } },
			checkpoint,
			metadata: await this.#load<CheckpointMetadata>(kept.metadata),
			pendingWrites: await Promise.all(pending),
			...(parent !== undefined && { parentConfig: { configurable: { ...place, checkpoint_id: parent } } }),
		};
	}

	async #threadIds(): Promise<string[]> {
		const prefix = `${this.#prefix}/`;
		return (await this.#fl.names({ prefix }).list()).map(({ name }) => name.slice(prefix.length));
	}

	async #dump(value: unknown): Promise<Dumped> {
		const [type, bytes] = await this.serde.dumpsTyped(value);
		if (type === "json") return [type, new TextDecoder().decode(bytes)];
		return [type, btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))];
	}

	async #load<T>([type, text]: Dumped): Promise<T> {
		const bytes = type === "json" ? text : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
		return (await this.serde.loadsTyped(type, bytes)) as T;
	}

	#nameOf = (threadId: string): string => `${this.#prefix}/${threadId}`;
}

interface Place {
	thread_id?: string;
	checkpoint_ns?: string;
	checkpoint_id?: string;
}

const placeOf = (config: Config): Place => (config.configurable ?? {}) as Place;

const emptyThread = (conversationId: string): Thread => ({
	conversationId,
	last: undefined,
	checkpoints: new Map(),
	writes: new Map(),
	values: new Map(),
});

/** Return the checkpoints of a thread, those of a namespace together, the newest first. */
const newest = ({ checkpoints }: Thread): Kept[] =>
	[...checkpoints.values()].sort((one, other) =>
		one.ns === other.ns ? (one.id < other.id ? 1 : -1) : one.ns < other.ns ? -1 : 1,
	);

/** Return the writes behind a checkpoint, in the order in which LangGraph applies them. */
const writesOf = ({ writes }: Thread, ns: string, id: string): Write[] =>
	[...(writes.get(keyOf(ns, id))?.values() ?? [])].sort((one, other) =>
		compareWritesSortKeys(
			writesSortKey(one.path, one.task, one.index),
			writesSortKey(other.path, other.task, other.index),
		),
	);

/** Take an entry. The first write of a task at an index counts; of those with a special index, the last. */
function take(thread: Thread, { id: entryId, content }: ListedEntry): void {
	thread.last = entryId;
	const { langgraph: said } = (content[0] ?? {}) as { langgraph?: Said };
	if (said === undefined) return;
	const { ns, id, parent, checkpoint, metadata, values = {}, versions = {}, writes = [] } = said;
	if (checkpoint !== undefined && metadata !== undefined)
		thread.checkpoints.set(keyOf(ns, id), { ns, id, parent, checkpoint, metadata, values, entryId });
	for (const [channel, value] of Object.entries(values)) {
		const version = versions[channel];
		if (version !== undefined) thread.values.set(keyOf(ns, channel, version), value);
	}
	const held = thread.writes.get(keyOf(ns, id)) ?? new Map<string, Write>();
	for (const write of writes) {
		const key = keyOf(write.task, write.index);
		if (write.index < 0 || !held.has(key)) held.set(key, write);
	}
	if (writes.length > 0) thread.writes.set(keyOf(ns, id), held);
}

async function orNone<T>(call: Promise<T>): Promise<T | undefined> {
	try {
		return await call;
	} catch (error) {
		if (error instanceof NotFoundError) return undefined;
		throw error;
	}
}
