// Agents of Mastra on forklore: what a fork costs, who writes at once, and what other processes have done.

import { Agent, type ToolsInput } from "@mastra/core/agent";
import type { MastraDBMessage, StorageThreadType } from "@mastra/core/memory";
import type { MastraModelConfig } from "@mastra/core/llm";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Memory } from "@mastra/memory";
import { MockLanguageModelV4 } from "ai/test";
import { expect, inject, test } from "vitest";
import { z } from "zod";

import { Forklore, textOf } from "@forklore/client";

import { Counting } from "../../typescript/tests/support/counting.ts";
import { FAULTS, proxy, TIMEOUT_MS, type Fault } from "../../typescript/tests/support/proxy.ts";
import { seeded } from "../../typescript/tests/support/random.ts";
import { clonedId, ForkloreMemory, ForkloreStore } from "../src/index.ts";

const START = Date.UTC(2026, 2, 1);
const usage = {
	inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
	outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Return a model that first calls a tool, if one is named, and then says a text. It notes what it is asked. */
function model(text: string, toolName?: string) {
	const prompts: string[] = [];
	const mock = new MockLanguageModelV4({
		doGenerate: ({ prompt }) => {
			prompts.push(JSON.stringify(prompt));
			const isCalled = toolName !== undefined && prompts.length === 1;
			const call = { type: "tool-call" as const, toolCallId: "t1", toolName: toolName ?? "", input: "{}" };
			const unified = isCalled ? ("tool-calls" as const) : ("stop" as const);
			const content = isCalled ? [call] : [{ type: "text" as const, text }];
			return Promise.resolve({ content, finishReason: { unified, raw: undefined }, usage, warnings: [] });
		},
	});
	return { prompts, model: mock as unknown as MastraModelConfig }; // another copy of the same types
}

/** Return an agent that plans. It is made in this place alone: the compiler takes seconds for the types of each. */
function agentOf(memory: Memory, scripted: ReturnType<typeof model>, tools: ToolsInput = {}): Agent {
	return new Agent({ id: "a", name: "a", instructions: "Plan.", model: scripted.model, memory, tools });
}

/** Return a value that is there. */
function sure<T>(value: T | null | undefined): T {
	if (value === null || value === undefined) throw new Error("it is not there");
	return value;
}

function threadOf(resourceId = "ann"): StorageThreadType {
	const at = new Date(START);
	return { id: crypto.randomUUID(), resourceId, title: "Trip", createdAt: at, updatedAt: at, metadata: {} };
}

function messagesOf(
	{ id: threadId, resourceId }: StorageThreadType,
	texts: string[],
	from = 0,
): MastraDBMessage[] {
	return texts.map((text, at) => ({
		id: crypto.randomUUID(),
		threadId,
		resourceId,
		role: at % 2 ? "assistant" : "user",
		createdAt: new Date(START + (from + at) * 1000),
		content: { format: 2, content: text, parts: [{ type: "text", text }] },
	}));
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `message ${at}`);
const textsOf = ({ messages }: { messages: MastraDBMessage[] }): unknown[] =>
	messages.map((one) => one.content.content);
const client = (token: string = crypto.randomUUID()): Forklore => new Forklore(inject("url"), { token });
const later = {
	orderBy: { field: "createdAt", direction: "DESC" },
	perPage: 10,
	includeTotal: false,
} as const;

test("an agent forks a thread of 5,000 messages by one request that writes, as one of ten", async () => {
	const seen: unknown[] = [];
	for (const count of [10, 5000]) {
		const counting = new Counting();
		const storage = new ForkloreStore(counting.fl);
		const memory = new Memory({ storage, options: { messageHistory: { maxTokens: 500 } } });
		const thread = threadOf();
		await memory.saveThread({ thread });
		await memory.saveMessages({ messages: messagesOf(thread, numbered(count)) });
		let forked = { asked: [] as string[], bytes: 0, id: "" };
		const tryAnother = createTool({
			id: "tryAnother",
			description: "Go on in a fork.",
			inputSchema: z.object({}),
			execute: async () => {
				counting.taken();
				const { thread: copy } = await memory.copyThread({ sourceThreadId: thread.id });
				forked = { ...counting.taken(), id: copy.id };
				return { forked: copy.id };
			},
		});
		const planner = model("Forked.", "tryAnother");
		const agent = agentOf(memory, planner, { tryAnother });
		const asked = await agent.generate("Try another way.", {
			memory: { thread: thread.id, resource: "ann" },
		});
		expect(asked.text).toBe("Forked.");
		const heard = [...(planner.prompts[0] ?? "").matchAll(/"message (\d+)"/g)].map(([, at]) => Number(at));
		expect(heard.at(-1)).toBe(count - 1);
		expect(heard.length).toBeLessThan(60); // the last ones alone
		expect(forked.asked.filter((one) => !one.startsWith("GET"))).toEqual(["POST /v1/names"]);
		expect(forked.bytes).toBeLessThan(12_000);
		seen.push(forked.asked);

		const other = model("Porto.");
		const inFork = agentOf(memory, other);
		counting.taken();
		await inFork.generate("And now?", { memory: { thread: forked.id, resource: "ann" } });
		expect(counting.taken().bytes).toBeLessThan(200_000);
		expect(other.prompts[0]?.includes(`"message ${count - 1}"`)).toBe(true);
		expect(other.prompts[0]?.includes("Try another way.")).toBe(false);
		const { messages } = await memory.recall({ threadId: forked.id, perPage: false });
		expect(messages).toHaveLength(count + 2);
		const [question, answer] = textsOf({ messages: messages.slice(-2) });
		expect([messages.at(-2)?.content.parts[0], question, answer]).toMatchObject([
			{ text: "And now?" },
			expect.anything(),
			"Porto.",
		]);
	}
	expect(seen[1]).toEqual(seen[0]);
});

test("an agent that is to observe is told that its observations are not kept", async () => {
	const storage = new ForkloreStore(client());
	const options = { observationalMemory: { model: "openai/none" } };
	const [memory, plain] = [new Memory({ storage, options }), new Memory({ storage })];
	const asked = async (memory: Memory, thread: string) =>
		agentOf(memory, model("Porto.")).generate("And now?", { memory: { thread, resource: "ann" } });
	await expect(asked(memory, "t")).rejects.toThrow("forklore keeps no observational memory");
	expect((await asked(plain, "u")).text).toBe("Porto.");
	const { thread } = await plain.copyThread({ sourceThreadId: "u" });
	await plain.deleteThread("u");
	expect((await plain.recall({ threadId: thread.id })).messages).toHaveLength(2);
});

test("recall in a thread finds nothing that only a clone says, nor the other way round", async () => {
	const memory = new ForkloreMemory(client());
	const thread = threadOf();
	await memory.saveThread({ thread });
	await memory.saveMessages({ messages: messagesOf(thread, ["Which hotel?"]) });
	const { thread: copy } = await memory.copyThread({ sourceThreadId: thread.id });
	await memory.saveMessages({ messages: messagesOf(thread, ["The hotel is Casa do Jardim."], 1) });
	await memory.saveMessages({ messages: messagesOf(copy, ["The hotel is Casa da Ribeira."], 1) });
	const found = async (id: string) =>
		(await (await memory.conversation(id)).recall("hotel")).map(({ entry }) => entry && textOf(entry));
	expect((await found(thread.id)).sort()).toEqual(["The hotel is Casa do Jardim.", "Which hotel?"]);
	expect((await found(copy.id)).sort()).toEqual(["The hotel is Casa da Ribeira.", "Which hotel?"]);
	await expect(memory.conversation("nowhere")).rejects.toThrow("Thread with id nowhere not found");
});

test("working memory of a thread goes along with its clone, and each keeps its own", async () => {
	const options = { workingMemory: { enabled: true, scope: "thread" as const } };
	const memory = new Memory({ storage: new ForkloreStore(client()), options });
	const thread = threadOf();
	await memory.saveThread({ thread });
	await memory.updateWorkingMemory({
		threadId: thread.id,
		resourceId: "ann",
		workingMemory: "# likes trains",
	});
	const { thread: copy } = await memory.cloneThread({ sourceThreadId: thread.id });
	await memory.updateWorkingMemory({ threadId: copy.id, resourceId: "ann", workingMemory: "# likes boats" });
	const of = async (threadId: string) => memory.getWorkingMemory({ threadId, resourceId: "ann" });
	expect([await of(thread.id), await of(copy.id)]).toEqual(["# likes trains", "# likes boats"]);
});

test("updates by several processes at once lose nothing", async () => {
	const token = crypto.randomUUID();
	const stores = [0, 1, 2, 3].map(() => new ForkloreMemory(client(token)));
	const [store] = stores as [ForkloreMemory];
	const thread = threadOf();
	await Promise.all(stores.map((one) => one.saveThread({ thread })));
	expect((await store.listThreads({})).threads).toEqual([thread]);
	const [message] = messagesOf(thread, ["May?"]) as [MastraDBMessage];
	await store.saveMessages({ messages: [message] });
	const keys = stores.flatMap((_, at) => [0, 1, 2].map((times) => `${"abcd"[at]}${times}`));
	const each = async (
		work: (one: ForkloreMemory, metadata: Record<string, boolean>, key: string) => Promise<unknown>,
	) => Promise.all(keys.map((key, at) => work(sure(stores[at % 4]), { [key]: true }, key)));
	await each((one, metadata) => one.updateThread({ id: thread.id, metadata }));
	await each((one) =>
		one.updateThreadMetadata({
			id: thread.id,
			update: ({ metadata }) => ({ count: Number(metadata?.["count"] ?? 0) + 1 }),
		}),
	);
	await each((one, metadata) => one.updateResource({ resourceId: "ann", metadata }));
	await each((one, metadata) =>
		one.updateMessages({
			messages: [{ id: message.id, content: { metadata } as MastraDBMessage["content"] }],
		}),
	);
	await each((one, _, key) => one.saveMessages({ messages: messagesOf(thread, [key], 5) }));
	const all = Object.fromEntries(keys.map((key) => [key, true]));
	expect((await store.getThreadById({ threadId: thread.id }))?.metadata).toEqual({
		...all,
		count: keys.length,
	});
	expect((await store.getResourceById({ resourceId: "ann" }))?.metadata).toEqual(all);
	const { messages } = await store.listMessages({ threadId: thread.id });
	expect(messages[0]?.content.metadata).toEqual(all);
	expect(textsOf({ messages: messages.slice(1) }).sort()).toEqual(keys);
});

test("what another process has stored, changed and made anew is found", async () => {
	const token = crypto.randomUUID();
	const [one, other] = [new ForkloreMemory(client(token)), new ForkloreMemory(client(token))];
	const [first, second] = [threadOf(), threadOf()];
	for (const thread of [first, second]) await one.saveThread({ thread });
	const messages = messagesOf(first, ["0", "1", "2"]);
	await one.saveMessages({ messages });
	const [zero, middle] = messages as [MastraDBMessage, MastraDBMessage];
	expect((await other.listMessagesById({ messageIds: [middle.id] })).messages).toMatchObject([
		{ threadId: first.id },
	]);
	await new ForkloreMemory(client(token)).saveMessages({ messages: [{ ...middle, role: "system" }] });
	await new ForkloreMemory(client(token)).deleteMessages([zero.id]);
	expect((await one.listMessages({ threadId: first.id, ...later })).messages.map(({ role }) => role)).toEqual(
		["user", "system"],
	);
	await other.deleteThread({ threadId: first.id });
	await other.saveThread({ thread: first });
	await one.saveMessages({ messages: [middle] });
	expect(textsOf(await other.listMessages({ threadId: first.id }))).toEqual(["1"]);
	const { thread: copy } = await one.copyThread({ sourceThreadId: first.id });
	const id = clonedId(copy.id, middle.id);
	await other.saveMessages({ messages: [{ ...middle, id, threadId: copy.id, role: "system" }] });
	expect((await one.listMessages({ threadId: copy.id })).messages).toMatchObject([{ id, role: "system" }]);
	await other.deleteThread({ threadId: first.id });
	await expect(one.saveMessages({ messages: [zero] })).rejects.toThrow(
		`Thread with id ${first.id} not found`,
	);
	await one.copyThread({ sourceThreadId: copy.id, newThreadId: first.id });
	expect(textsOf(await other.listMessages({ threadId: first.id }))).toEqual(["1"]);
});

test("of several processes that copy into one new thread, one does", async () => {
	const token = crypto.randomUUID();
	const stores = [0, 1, 2].map(() => new ForkloreMemory(client(token)));
	const threads = [threadOf(), threadOf()];
	for (const thread of threads) await stores[0]?.saveThread({ thread });
	const copies = stores.flatMap((store) =>
		threads.map(async ({ id }) => store.copyThread({ sourceThreadId: id, newThreadId: "new" })),
	);
	const ended = await Promise.allSettled(copies);
	const refused = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
	expect(refused.map(({ message }) => message)).toEqual(Array(5).fill("Thread with id new already exists"));
	expect((await stores[0]?.listThreads({}))?.threads).toHaveLength(3);
});

test("what changes a thread that another process deletes meanwhile says that it is not found", async () => {
	const token = crypto.randomUUID();
	const other = new ForkloreMemory(client(token));
	let id = "";
	const deleting: typeof fetch = async (input, init) => {
		if (init?.method !== "GET") await other.deleteThread({ threadId: id }); // just before it is changed
		return fetch(input, init);
	};
	const one = new ForkloreMemory(new Forklore(inject("url"), { token, fetch: deleting }));
	const changes: ((message: MastraDBMessage) => Promise<unknown>)[] = [
		async ({ id }) => one.updateMessages({ messages: [{ id, role: "system" }] }),
		async ({ id }) => one.deleteMessages([id]),
		async (message) => one.saveMessages({ messages: [{ ...message, id: "new" }] }),
		async () => one.updateThread({ id, title: "Porto" }),
		async () => one.updateThreadResourceId({ threadId: id, resourceId: "bob" }),
		async () => one.copyThread({ sourceThreadId: id }),
	];
	for (const change of changes) {
		const thread = threadOf();
		({ id } = thread);
		await other.saveThread({ thread });
		const [message] = messagesOf(thread, ["May?"]) as [MastraDBMessage];
		await other.saveMessages({ messages: [message] });
		await expect(change(message)).rejects.toThrow(`hread with id ${id} not found`);
	}
});

test("a thread's id may have the mark that ids of copied messages have", async () => {
	const token = crypto.randomUUID();
	const memory = (): ForkloreMemory => new ForkloreMemory(client(token));
	const source = threadOf();
	const [message] = messagesOf(source, ["May?"]) as [MastraDBMessage];
	await memory().saveThread({ thread: source });
	await memory().saveMessages({ messages: [message] });
	const threadId = "a~b";
	await memory().copyThread({ sourceThreadId: source.id, newThreadId: threadId });
	const id = clonedId(threadId, message.id);
	await memory().saveMessages({ messages: [{ ...message, id, threadId, role: "system" }] });
	expect((await memory().listMessages({ threadId })).messages).toMatchObject([{ id, role: "system" }]);
	expect(await memory().updateMessages({ messages: [{ id, role: "user" }] })).toHaveLength(1);
	expect((await memory().listMessages({ threadId })).messages).toMatchObject([{ id, role: "user" }]);
});

test("a resource is what it was when others have written into its conversation", async () => {
	const fl = client();
	const resourceId = "ann";
	await new ForkloreMemory(fl).updateResource({ resourceId, workingMemory: "# Ann" });
	await fl.named("mastra-resource/ann").say("user", "Hello?");
	const memory = new ForkloreMemory(fl);
	expect(await memory.getResourceById({ resourceId })).toMatchObject({ workingMemory: "# Ann" });
	await memory.updateResource({ resourceId, metadata: { plan: "pro" } });
	expect(await memory.getResourceById({ resourceId })).toMatchObject({
		workingMemory: "# Ann",
		metadata: { plan: "pro" },
	});
});

test("a message that a process saves as it is there already is no new entry", async () => {
	const token = crypto.randomUUID();
	const memory = new ForkloreMemory(client(token));
	const thread = threadOf();
	await memory.saveThread({ thread });
	const messages = messagesOf(thread, ["May?", "In May.", "Where?"]);
	await memory.saveMessages({ messages });
	await new ForkloreMemory(client(token)).saveMessages({ messages: messages.slice(0, 1) });
	expect(await (await memory.conversation(thread.id)).history().list()).toHaveLength(1 + messages.length);
});

test("of messages of which one cannot be stored none is", async () => {
	const memory = new ForkloreMemory(client());
	const thread = threadOf();
	await memory.saveThread({ thread });
	const [first, second] = messagesOf(thread, ["May?", "In May."]) as [MastraDBMessage, MastraDBMessage];
	const { threadId: _, ...homeless } = second;
	for (const wrong of [homeless, { ...second, id: "x".repeat(129) }])
		await expect(memory.saveMessages({ messages: [first, wrong] })).rejects.toThrow();
	expect((await memory.listMessages({ threadId: thread.id })).messages).toEqual([]);
});

test("a thread whose deletion was cut off midway is gone, and its id is free", async () => {
	const memory = new ForkloreMemory(client());
	const [one, two, three, source] = [threadOf(), threadOf(), threadOf(), threadOf()];
	for (const thread of [one, two, three, source]) await memory.saveThread({ thread });
	for (const { id } of [one, two, three]) await (await memory.conversation(id)).delete();
	expect(await memory.getThreadById({ threadId: one.id })).toBeNull();
	expect((await memory.listThreads({})).threads).toEqual([source]);
	await memory.saveThread({ thread: one });
	await memory.copyThread({ sourceThreadId: source.id, newThreadId: two.id });
	await memory.deleteThread({ threadId: three.id });
	const { threads } = await memory.listThreads({});
	expect(threads.map(({ id }) => id).sort()).toEqual([one.id, two.id, source.id].sort());
});

test("the last messages are the newest ones, also if older ones were stored later", async () => {
	const memory = new ForkloreMemory(client());
	const thread = threadOf();
	await memory.saveThread({ thread });
	const messages = messagesOf(thread, numbered(100));
	await memory.saveMessages({ messages: [...messages.slice(80), ...messages.slice(0, 80)] });
	const expected = numbered(100).slice(-10).reverse();
	expect(textsOf(await memory.listMessages({ threadId: thread.id, ...later }))).toEqual(expected);
	const { thread: copy } = await memory.copyThread({ sourceThreadId: thread.id });
	await memory.saveMessages({ messages: messagesOf(copy, ["now"], 200) });
	expect(textsOf(await memory.listMessages({ threadId: copy.id, ...later }))).toEqual([
		"now",
		...expected.slice(0, 9),
	]);
});

test("messages of one time come from the end in the reverse of their order", async () => {
	const memory = new ForkloreMemory(client());
	const thread = threadOf();
	await memory.saveThread({ thread });
	await memory.saveMessages({ messages: ["a", "b", "c"].flatMap((text) => messagesOf(thread, [text])) });
	expect(textsOf(await memory.listMessages({ threadId: thread.id }))).toEqual(["a", "b", "c"]);
	expect(textsOf(await memory.listMessages({ threadId: thread.id, ...later, perPage: 2 }))).toEqual([
		"c",
		"b",
	]);
});

test("random steps give what they give with Mastra's own store, also through a connection that fails", async () => {
	const { random, seed } = seeded();
	const token = crypto.randomUUID();
	const faults = Object.keys(FAULTS) as Fault[];
	let isFaulty = false;
	const between = await proxy(inject("url"), () =>
		isFaulty && random.below(8) === 0 ? random.choose(faults) : "none",
	);
	const failing = (): ForkloreMemory =>
		new ForkloreMemory(
			new Forklore(between.url, { token, timeoutMs: TIMEOUT_MS, deadlineMs: 120_000, retries: 30 }),
		);
	const own = sure(await new InMemoryStore().getStore("memory"));
	let stores = [failing(), failing()];
	/** Of each thread and message: what the two stores call it. */
	const threads: [string, string][] = [];
	const ids = new Map<string, string>();
	let at = 0;
	try {
		isFaulty = true;
		for (let step = 0; step < 50; step++) {
			const store = random.choose(stores);
			if (random.below(15) === 0) stores = [failing(), store]; // another process
			const [theirs, ours] = threads.length ? random.choose(threads) : ["", ""];
			const listed = theirs && (await own.listMessages({ threadId: theirs, perPage: false })).messages;
			const some = listed ? listed.filter(() => random.below(3) === 0) : [];
			const called = ({ id }: { id: string }): string => ids.get(id) ?? id;
			const choice = random.below(10);
			if (!theirs || choice === 0) {
				const thread = threadOf();
				for (const each of [own, store]) await each.saveThread({ thread: { ...thread } });
				threads.push([thread.id, thread.id]);
			} else if (choice < 5) {
				const times = Array.from({ length: 1 + random.below(4) }, () => (random.below(9) ? ++at : at - 3.5));
				const said = times
					.map((time) => messagesOf({ ...threadOf(), id: theirs }, [`${step} ${time}`], time))
					.flat();
				await own.saveMessages({ messages: said });
				await store.saveMessages({ messages: said.map((one) => ({ ...one, threadId: ours })) });
			} else if (choice === 5) {
				await own.deleteMessages(some.map(({ id }) => id));
				await store.deleteMessages(some.map(called));
			} else if (choice === 6) {
				const content = {
					content: `new ${step}`,
					metadata: { step },
				} as unknown as MastraDBMessage["content"];
				await own.updateMessages({ messages: some.map(({ id }) => ({ id, content })) });
				await store.updateMessages({ messages: some.map((one) => ({ id: called(one), content })) });
			} else if (choice === 7) {
				const again = some.map((one) => ({ ...one, role: "system" as const }));
				await own.saveMessages({ messages: again });
				await store.saveMessages({
					messages: again.map((one) => ({ ...one, id: called(one), threadId: ours })),
				});
			} else {
				const limit = random.below(2) ? {} : { options: { messageLimit: 1 + random.below(5) } };
				const resource = random.below(3) ? {} : { resourceId: "bob" };
				const cloned = await own.cloneThread({ sourceThreadId: theirs, ...limit, ...resource });
				const copied = await store.cloneThread({ sourceThreadId: ours, ...limit, ...resource });
				threads.push([cloned.thread.id, copied.thread.id]);
				const { messages } = await own.listMessages({ threadId: cloned.thread.id, perPage: false });
				messages.forEach(({ id }, index) => ids.set(id, copied.clonedMessages[index]?.id ?? ""));
			}
			for (const [one, two] of threads.slice(-3)) {
				const told = (message: MastraDBMessage) => [
					called(message),
					message.role,
					message.content,
					message.resourceId,
					message.createdAt,
				];
				const expected = (await own.listMessages({ threadId: one, perPage: false })).messages.map(told);
				const whole = (await store.listMessages({ threadId: two, perPage: false })).messages;
				expect(whole.map(({ id, ...rest }) => told({ ...rest, id }))).toEqual(expected);
				const last = (await store.listMessages({ threadId: two, ...later, perPage: 3 })).messages.reverse();
				expect(last).toEqual(whole.slice(-3));
			}
		}
	} catch (error) {
		throw new Error(`FORKLORE_TEST_SEED=${seed}`, { cause: error });
	} finally {
		isFaulty = false;
		await between.stop();
	}
});

test("calls cost as many requests as the page says", async () => {
	const token = crypto.randomUUID();
	const [first, second] = [new Counting(token), new Counting(token)];
	const [one, other] = [new ForkloreMemory(first.fl), new ForkloreMemory(second.fl)];
	const thread = threadOf();
	const costs: Record<string, number> = {};
	const count = async (name: string, counting: Counting, work: () => Promise<unknown>): Promise<void> => {
		counting.taken();
		await work();
		costs[name] = counting.taken().asked.length;
	};
	await count("saveThread", first, () => one.saveThread({ thread }));
	await count("saveThread again", first, () => one.saveThread({ thread }));
	await count("saveMessages, first", first, () =>
		one.saveMessages({ messages: messagesOf(thread, numbered(44)) }),
	);
	await count("saveMessages", first, () => one.saveMessages({ messages: messagesOf(thread, ["x"], 50) }));
	await count("getThreadById", first, () => one.getThreadById({ threadId: thread.id }));
	await count("getThreadById, other", second, () => other.getThreadById({ threadId: thread.id }));
	await count("listMessages", first, () => one.listMessages({ threadId: thread.id, ...later }));
	await count("listMessages, all", first, () => one.listMessages({ threadId: thread.id }));
	await count("copyThread", first, () => one.copyThread({ sourceThreadId: thread.id }));
	const older = messagesOf(thread, numbered(200), -200);
	await one.saveMessages({ messages: older });
	await count("listMessages, disordered", first, () => one.listMessages({ threadId: thread.id, ...later }));
	await count("copyThread, disordered", first, () => one.copyThread({ sourceThreadId: thread.id }));
	await count("listThreads", second, () => other.listThreads({ filter: { resourceId: "ann" } }));
	await count("updateResource", first, () => one.updateResource({ resourceId: "ann", workingMemory: "x" }));
	expect(costs).toEqual({
		saveThread: 2,
		"saveThread again": 2,
		"saveMessages, first": 2,
		saveMessages: 1,
		getThreadById: 1,
		"getThreadById, other": 2,
		listMessages: 1,
		"listMessages, all": 1,
		copyThread: 3,
		"listMessages, disordered": 2,
		"copyThread, disordered": 4,
		listThreads: 1,
		updateResource: 2,
	});
});
