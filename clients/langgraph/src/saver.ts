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

import { ConflictError, NotFoundError, type Forklore, type ListedEntry } from "@forklore/client";

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

/** A checkpoint. values: of the channels that it has changed, in `versions`. shownBy: a conversation that shows it. */
interface Kept {
	ns: string;
	id: string;
	parent?: string | undefined;
	checkpoint: Dumped;
	metadata: Dumped;
	values: Record<string, Dumped>;
	versions: ChannelVersions;
	entryId: string;
	shownBy: string;
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
interface Said extends Partial<Omit<Kept, "ns" | "id" | "entryId" | "shownBy">> {
	ns: string;
	id: string;
	writes?: Write[];
}

/** What the first entry of a branch says: what shows the other ones. of: the thread's name. own: what is no other's. */
interface Left {
	of: string;
	left: string[];
	own: string[];
}

/** What was read of a thread. revision: of its name. last: the last entry. tips: of each namespace the checkpoint that the next one follows. */
interface Thread {
	conversationId: string;
	revision: number;
	last: string | undefined;
	tips: Map<string, string>;
	left: Left | undefined;
	checkpoints: Map<string, Kept>;
	writes: Map<string, Map<string, Write>>;
}

const TASKS = "__pregel_tasks";
const LEFT = "langgraph-left";
const OPAQUE = "application/vnd.forklore.langgraph+json";
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
		const source = this.#fl.conversation(kept?.shownBy ?? thread.conversationId);
		await source.fork({ after: kept?.entryId ?? thread.last, name: this.#nameOf(newThreadId) });
	}

	override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
		const { thread_id: threadId, checkpoint_ns: ns = "" } = placeOf(config);
		const id = getCheckpointId(config);
		const thread = threadId === undefined ? undefined : await this.#read(threadId);
		if (thread === undefined || threadId === undefined) return undefined;
		const kept = thread.checkpoints.get(keyOf(ns, id || (thread.tips.get(ns) ?? "")));
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

	/**
	 * Store a checkpoint with the values of the channels that it has changed: one request.
	 * If it follows another one than the last, it begins a fork of the conversation, to which the thread then leads.
	 */
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
		const entry = entryOf(said, "messages" in versions ? messageIn(all["messages"]) : undefined);
		if (ns !== "" || parent === undefined || !(await this.#branched(threadId, parent, entry)))
			await this.#fl.api.appendEntryByName({ name: this.#nameOf(threadId), entries: [entry] });
		const known = this.#known.get(threadId);
		known?.tips.set(ns, checkpoint.id);
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
		const entry = entryOf({ ns, id, writes: await Promise.all(kept) });
		await this.#fl.api.appendEntryByName({ name: this.#nameOf(threadId), entries: [entry] });
	}

	/** Delete a thread with the branches that it has left. What its forks show of it stays. */
	override async deleteThread(threadId: string): Promise<void> {
		this.#known.delete(threadId);
		const name = this.#nameOf(threadId);
		const named = await orNone(this.#fl.api.lookUpName({ name }));
		if (named === undefined) return;
		const { conversationId } = named;
		const entry = await orNone(this.#fl.api.lookUpEntry({ conversationId, key: LEFT }));
		for (const one of [...ownIn(entry && leftIn(entry), name), conversationId])
			await orNone(this.#fl.conversation(one).delete());
		await orNone(this.#fl.deleteName(name));
	}

	/** Store a checkpoint that follows an older one in a fork after that one. Return false if it follows the last one. */
	async #branched(threadId: string, parent: string, entry: Draft): Promise<boolean> {
		if (this.#known.get(threadId)?.tips.get("") === parent) return false;
		const thread = await this.#read(threadId);
		const kept = thread?.checkpoints.get(keyOf("", parent));
		if (thread === undefined || kept === undefined || thread.tips.get("") === parent) return false;
		const name = this.#nameOf(threadId);
		const { conversationId: here, left } = thread;
		const says = { of: name, left: [...(left?.left ?? []), here], own: [...ownIn(left, name), here] };
		this.#known.delete(threadId);
		try {
			await this.#fl.api.appendEntry({
				conversationId: crypto.randomUUID(),
				forkedAtConversationId: kept.shownBy,
				forkedAtEntryId: kept.entryId,
				forkedAtPosition: "after",
				name: { name, expectRevision: thread.revision },
				entries: [{ key: LEFT, contentType: OPAQUE, content: [{ [LEFT]: says }] }, entry],
			});
		} catch (error) {
			if (!(error instanceof ConflictError && error.reason === "name_moved")) throw error;
			return this.#branched(threadId, parent, entry); // another process has branched
		}
		return true;
	}

	/** Return a thread as it is now: what is new of it is read. Return undefined without such a thread. */
	async #read(threadId: string): Promise<Thread | undefined> {
		const known = this.#known.get(threadId);
		const named = await orNone(this.#fl.api.lookUpName({ name: this.#nameOf(threadId) }));
		this.#known.delete(threadId);
		if (named === undefined || named.deleted === true) return undefined;
		const { conversationId, revision } = named;
		const isKnown = known?.conversationId === conversationId;
		const thread: Thread = isKnown ? { ...known, revision } : emptyThread(conversationId, revision);
		const seen = new Set<string>();
		await this.#take(thread, conversationId, seen);
		const tips = new Map<string, string>();
		for (const left of isKnown ? [] : (thread.left?.left ?? []))
			await orNone(this.#take({ ...thread, last: undefined, tips }, left, seen)); // somebody may have deleted it
		thread.tips = new Map([...tips, ...thread.tips]);
		this.#known.set(threadId, thread);
		for (const first of this.#known.keys()) if (this.#known.size > THREADS_MAX) this.#known.delete(first);
		return thread;
	}

	async #take(thread: Thread, shownBy: string, seen: Set<string>): Promise<void> {
		const after = thread.last !== undefined && { after: thread.last };
		for await (const entry of this.#fl.conversation(shownBy).history({ pageEntries: 1000, ...after })) {
			if (!seen.has(entry.id)) take(thread, entry, shownBy);
			seen.add(entry.id);
		}
	}

	async #tupleOf(threadId: string, thread: Thread, kept: Kept): Promise<CheckpointTuple> {
		const { ns, id, parent } = kept;
		const checkpoint = await this.#load<Checkpoint>(kept.checkpoint);
		for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
			const value = valueOf(thread, kept, channel, version);
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

/** An entry that is to be appended. */
interface Draft {
	contentType: string;
	content: Record<string, unknown>[];
}

const entryOf = (said: Said, message?: { role: string; text: string }): Draft => ({
	contentType: message ? "history" : OPAQUE,
	content: [{ ...message, langgraph: said }],
});

const emptyThread = (conversationId: string, revision: number): Thread => ({
	conversationId,
	revision,
	last: undefined,
	tips: new Map(),
	left: undefined,
	checkpoints: new Map(),
	writes: new Map(),
});

const leftIn = ({ content }: { content: readonly unknown[] }): Left | undefined =>
	(content[0] as Record<string, Left> | undefined)?.[LEFT];

const ownIn = (left: Left | undefined, name: string): string[] => (left?.of === name ? left.own : []);

/** Return what a channel has at a checkpoint: the value of the nearest one before it that gave it this version. */
function valueOf(thread: Thread, kept: Kept, channel: string, version: unknown): Dumped | undefined {
	let at: Kept | undefined = kept;
	for (let left = thread.checkpoints.size; at !== undefined && left > 0; left--) {
		if (at.versions[channel] === version) return at.values[channel];
		at = at.parent === undefined ? undefined : thread.checkpoints.get(keyOf(at.ns, at.parent));
	}
	return undefined;
}

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
function take(thread: Thread, entry: ListedEntry, shownBy: string): void {
	thread.last = entry.id;
	thread.left = leftIn(entry) ?? thread.left;
	const { langgraph: said } = (entry.content[0] ?? {}) as { langgraph?: Said };
	if (said === undefined) return;
	const { ns, id, parent, checkpoint, metadata, values = {}, versions = {}, writes = [] } = said;
	if (checkpoint !== undefined && metadata !== undefined) {
		const place = { entryId: entry.id, shownBy };
		thread.checkpoints.set(keyOf(ns, id), {
			ns,
			id,
			parent,
			checkpoint,
			metadata,
			values,
			versions,
			...place,
		});
		thread.tips.set(ns, id);
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
