// What Mastra's memory asks of a store: each rule for Mastra's own store in memory, and for forklore.

import { setTimeout as sleep } from "node:timers/promises";

import type { MastraDBMessage, StorageThreadType } from "@mastra/core/memory";
import { InMemoryStore, type MemoryStorage } from "@mastra/core/storage";
import { describe, expect, inject, test } from "vitest";

import { Forklore } from "@forklore/client";

import { ForkloreStore } from "../src/index.ts";

let made = 0;
const START = Date.UTC(2026, 2, 1);

/** Return a thread that nobody has saved. */
function thread(told: Partial<StorageThreadType> = {}): StorageThreadType {
	const at = new Date(START);
	const id = crypto.randomUUID();
	return {
		id,
		resourceId: `r-${id}`,
		title: "Trip",
		createdAt: at,
		updatedAt: at,
		metadata: { kind: "trip" },
		...told,
	};
}

/** Return a message that nobody has saved: each a second after the one before. */
function message(
	{ id: threadId, resourceId }: StorageThreadType,
	text: string,
	told: Partial<MastraDBMessage> = {},
) {
	const createdAt = new Date(START + ++made * 1000);
	const content = { format: 2 as const, content: text, parts: [{ type: "text" as const, text }] };
	return {
		id: crypto.randomUUID(),
		threadId,
		resourceId,
		role: "user" as const,
		type: "text",
		createdAt,
		content,
		...told,
	};
}

const textsOf = ({ messages }: { messages: MastraDBMessage[] }): unknown[] =>
	messages.map((one) => one.content.content);

/** Return a value that is there. */
function sure<T>(value: T | null | undefined): T {
	if (value === null || value === undefined) throw new Error("it is not there");
	return value;
}

const stores = {
	"Mastra's own": () => new InMemoryStore(),
	forklore: () => new ForkloreStore(new Forklore(inject("url"), { token: crypto.randomUUID() })),
};

describe.each(Object.entries(stores))("%s", (_, make) => {
	const memory = async (): Promise<MemoryStorage> => sure(await make().getStore("memory"));

	async function saved(texts: string[], told: Partial<StorageThreadType> = {}) {
		const store = await memory();
		const one = thread(told);
		await store.saveThread({ thread: one });
		const messages = texts.map((text) => message(one, text));
		await store.saveMessages({ messages });
		return { store, one, messages };
	}

	// Threads

	test("a thread comes back as it was saved", async () => {
		const store = await memory();
		const one = thread({
			metadata: { kind: "trip", deep: { list: [1, 2.5, null, "ü"] } },
			title: "Lisbon ”quoted“ 🎉",
		});
		expect(await store.saveThread({ thread: one })).toEqual(one);
		expect(await store.getThreadById({ threadId: one.id })).toEqual(one);
		expect(await store.getThreadById({ threadId: one.id, resourceId: one.resourceId })).toEqual(one);
		expect(await store.getThreadById({ threadId: one.id, resourceId: "another" })).toBeNull();
		expect(await store.getThreadById({ threadId: "nowhere" })).toBeNull();
	});

	test("what is told of a thread may be anything that JSON can hold", async () => {
		const store = await memory();
		const half = "\uD83D";
		for (const title of [`${"a".repeat(499)}😀`, `cut ${half}`]) {
			const one = thread({ title, metadata: { workingMemory: half, deep: deep(50) } });
			await store.saveThread({ thread: one });
			const updated = await store.updateThread({ id: one.id, metadata: { more: 1 } });
			expect(updated).toMatchObject({ title, metadata: { ...one.metadata, more: 1 } });
			const { threads } = await store.listThreads({ filter: { resourceId: one.resourceId } });
			expect(threads).toContainEqual(updated);
		}
	});

	test("a thread that is saved again is replaced", async () => {
		const store = await memory();
		const one = thread();
		await store.saveThread({ thread: one });
		const { title: _, ...again } = { ...one, metadata: { other: true }, updatedAt: new Date(START + 5) };
		await store.saveThread({ thread: again });
		expect(await store.getThreadById({ threadId: one.id })).toEqual(again);
	});

	test("an update merges metadata, and leaves alone what it does not name", async () => {
		const store = await memory();
		const one = thread();
		await store.saveThread({ thread: one });
		const changed = await store.updateThread({ id: one.id, metadata: { nights: 2 } });
		expect(changed).toMatchObject({ title: "Trip", metadata: { kind: "trip", nights: 2 } });
		await store.updateThread({ id: one.id, title: "Porto" });
		const now = await store.getThreadById({ threadId: one.id });
		expect(now).toMatchObject({
			title: "Porto",
			metadata: { kind: "trip", nights: 2 },
			createdAt: one.createdAt,
		});
		expect(sure(now).updatedAt.getTime()).toBeGreaterThan(START);
		await expect(store.updateThread({ id: "nowhere", title: "x" })).rejects.toThrow(
			"Thread with id nowhere not found",
		);
	});

	test("a deleted thread is gone with its messages, and its id is free", async () => {
		const { store, one } = await saved(["May?"]);
		await store.deleteThread({ threadId: one.id });
		await store.deleteThread({ threadId: one.id });
		expect(await store.getThreadById({ threadId: one.id })).toBeNull();
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual([]);
		await store.saveThread({ thread: one });
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual([]);
		await store.saveMessages({ messages: [message(one, "June?")] });
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual(["June?"]);
	});

	test("threads are listed by resource and metadata, in pages, by either time, in either order", async () => {
		const store = await memory();
		const resourceId = `r-${crypto.randomUUID()}`;
		const threads = [0, 1, 2, 3, 4].map((at) =>
			thread({
				resourceId,
				title: `${at}`,
				createdAt: new Date(START + at),
				updatedAt: new Date(START - at),
				metadata: { even: at % 2 === 0, at },
			}),
		);
		for (const one of [...threads, thread()]) await store.saveThread({ thread: one });
		const titles = async (args: Parameters<MemoryStorage["listThreads"]>[0]) => {
			const page = await store.listThreads(args);
			return [
				page.threads.map(({ title }) => title).join(""),
				page.total,
				page.page,
				page.perPage,
				page.hasMore,
			];
		};
		const filter = { resourceId };
		expect(await titles({ filter })).toEqual(["43210", 5, 0, 100, false]);
		expect(await titles({ filter, page: 1, perPage: 2 })).toEqual(["21", 5, 1, 2, true]);
		expect(await titles({ filter, page: 2, perPage: 2 })).toEqual(["0", 5, 2, 2, false]);
		expect(await titles({ filter, perPage: false })).toEqual(["43210", 5, 0, false, false]);
		const orderBy = { field: "updatedAt", direction: "DESC" } as const;
		expect(await titles({ filter, orderBy })).toEqual(["01234", 5, 0, 100, false]);
		expect(await titles({ filter, orderBy: { direction: "ASC" } })).toEqual(["01234", 5, 0, 100, false]);
		expect(await titles({ filter: { resourceId, metadata: { even: true } } })).toEqual([
			"420",
			3,
			0,
			100,
			false,
		]);
		expect(await titles({ filter: { resourceId, metadata: { even: true, at: 4 } } })).toEqual([
			"4",
			1,
			0,
			100,
			false,
		]);
		expect((await store.listThreads({})).total).toBe(6);
		await expect(store.listThreads({ filter: { metadata: { "a b": 1 } } })).rejects.toThrow();
		await expect(store.listThreads({ page: -1 })).rejects.toThrow();
		await expect(store.listThreads({ perPage: -1 })).rejects.toThrow();
		await expect(store.listThreads({ page: 1, perPage: false })).rejects.toThrow();
	});

	test("a message makes its thread newer", async () => {
		const { store, one } = await saved([]);
		await sleep(5);
		await store.saveMessages({ messages: [message(one, "May?")] });
		const [now] = (await store.listThreads({ filter: { resourceId: one.resourceId } })).threads;
		expect(sure(now).updatedAt.getTime()).toBeGreaterThan(START);
		expect(await store.getThreadById({ threadId: one.id })).toEqual(now);
	});

	test("a message that is updated, moved or deleted makes its threads newer", async () => {
		const { store, one, messages } = await saved(["May?"]);
		const two = thread();
		await store.saveThread({ thread: two });
		const { id } = sure(messages[0]);
		const times = async () =>
			Promise.all(
				[one, two].map(async (each) => sure(await store.getThreadById({ threadId: each.id })).updatedAt),
			);
		const newer = async (work: () => Promise<unknown>) => {
			const before = await times();
			await sleep(5);
			await work();
			return (await times()).map((time, at) => time > sure(before[at]));
		};
		const update = (told: object) => async () => store.updateMessages({ messages: [{ id, ...told }] });
		expect(await newer(update({ role: "assistant" }))).toEqual([true, false]);
		expect(await newer(update({ threadId: two.id }))).toEqual([true, true]);
		expect(await newer(async () => store.deleteMessages([id]))).toEqual([false, true]);
	});

	// Messages

	test("messages come back as they were saved, by time", async () => {
		const { store, one } = await saved([]);
		const call = {
			state: "result" as const,
			toolCallId: "t1",
			toolName: "weather",
			args: { day: 1 },
			result: { sun: true },
		};
		const parts = [
			{ type: "step-start" as const },
			{ type: "text" as const, text: "I look." },
			{ type: "tool-invocation" as const, toolInvocation: call },
			{ type: "text" as const, text: "Sunny." },
		];
		const messages = [
			message(one, "Sun?"),
			message(one, "", { role: "assistant", content: { format: 2, parts, metadata: { model: "m" } } }),
			message(one, '{"a": "JSON in a text"}', { role: "system" }),
			message(one, "half \ud83d of a pair"),
			message(one, "numbers", {
				content: { format: 2, parts: [], metadata: { n: [0.1, 2 ** 60, 1e300, -0.5] } },
			}),
			message(one, "", { content: { format: 2, parts: [], metadata: { deep: deep(80) } } }),
		];
		await store.saveMessages({ messages: [...messages].reverse() });
		expect((await store.listMessages({ threadId: one.id })).messages).toEqual(messages);
		const [first, second] = messages;
		const byId = await store.listMessagesById({ messageIds: [sure(second).id, "nowhere", sure(first).id] });
		expect(byId.messages).toEqual([first, second]);
	});

	test("a message whose text is null comes back with it", async () => {
		const { store, one } = await saved([]);
		const texts = [[], [{ type: "text" as const, text: "in a part" }]];
		const messages = texts.map((parts) => {
			const content = { format: 2, parts, content: null } as unknown as MastraDBMessage["content"];
			return message(one, "", { content });
		});
		await store.saveMessages({ messages });
		expect((await store.listMessages({ threadId: one.id })).messages).toEqual(messages);
	});

	test("many long messages in any script are saved at once", async () => {
		const { store, one } = await saved([]);
		const messages = Array.from({ length: 44 }, () => message(one, "語".repeat(20_000)));
		await store.saveMessages({ messages });
		expect((await store.listMessages({ threadId: one.id, perPage: false })).messages).toEqual(messages);
	});

	test("of messages of which one is wrong none is saved", async () => {
		const { store, one } = await saved([]);
		const wrong = { ...message(one, "wrong"), resourceId: null } as unknown as MastraDBMessage;
		await expect(store.saveMessages({ messages: [message(one, "right"), wrong] })).rejects.toThrow();
		expect((await store.listMessages({ threadId: one.id })).messages).toEqual([]);
	});

	test("a message that is saved again is replaced, in its place", async () => {
		const { store, one, messages } = await saved(["May?", "Lisbon.", "Why?"]);
		const again = {
			...message(one, "Porto."),
			id: sure(messages[1]).id,
			createdAt: sure(messages[1]).createdAt,
		};
		await store.saveMessages({ messages: [again, message(one, "Sun.")] });
		await store.saveMessages({ messages: [again] });
		const page = await store.listMessages({ threadId: one.id });
		expect(textsOf(page)).toEqual(["May?", "Porto.", "Why?", "Sun."]);
		expect(page.total).toBe(4);
	});

	test("a message that is saved in another thread moves there", async () => {
		const { store, one, messages } = await saved(["May?", "Lisbon."]);
		const other = thread();
		await store.saveThread({ thread: other });
		await store.saveMessages({ messages: [{ ...sure(messages[1]), threadId: other.id }] });
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual(["May?"]);
		expect(textsOf(await store.listMessages({ threadId: other.id }))).toEqual(["Lisbon."]);
	});

	test("pages of messages, from both ends", async () => {
		const { store, one } = await saved(["0", "1", "2", "3", "4", "5", "6"]);
		const page = async (args: object) => {
			const got = await store.listMessages({ threadId: one.id, ...args });
			return [textsOf(got).join(""), got.total, got.page, got.perPage, got.hasMore];
		};
		const orderBy = { field: "createdAt", direction: "DESC" };
		expect(await page({})).toEqual(["0123456", 7, 0, 40, false]);
		expect(await page({ perPage: 3 })).toEqual(["012", 7, 0, 3, true]);
		expect(await page({ perPage: 3, page: 2 })).toEqual(["6", 7, 2, 3, false]);
		expect(await page({ perPage: 3, page: 9 })).toEqual(["", 7, 9, 3, false]);
		expect(await page({ perPage: 3, orderBy })).toEqual(["654", 7, 0, 3, true]);
		expect(await page({ perPage: 3, page: 1, orderBy })).toEqual(["321", 7, 1, 3, true]);
		expect(await page({ perPage: false, orderBy })).toEqual(["6543210", 7, 0, false, false]);
		expect(await page({ perPage: 0 })).toEqual(["", 0, 0, 0, false]);
		const bounded = await store.listMessages({
			threadId: one.id,
			perPage: 3,
			page: 1,
			orderBy,
			includeTotal: false,
		} as never);
		expect([textsOf(bounded).join(""), bounded.hasMore]).toEqual(["321", true]);
		await expect(page({ page: -1 })).rejects.toThrow("page must be >= 0");
		await expect(page({ perPage: -1 })).rejects.toThrow();
		await expect(page({ page: Number.MAX_SAFE_INTEGER })).rejects.toThrow("page value too large");
		await expect(store.listMessages({ threadId: " " })).rejects.toThrow(
			"threadId must be a non-empty string",
		);
		await expect(store.listMessages({ threadId: [] })).rejects.toThrow("threadId must be a non-empty string");
	});

	test("messages of a time, of a resource, with metadata, of several threads", async () => {
		const { store, one, messages } = await saved(["0", "1", "2", "3"]);
		const [, second, third] = messages;
		const ofOther = message(one, "other", { resourceId: "other" });
		const marked = message(one, "marked");
		await store.saveMessages({
			messages: [ofOther, { ...marked, content: { ...marked.content, metadata: { star: true } } }],
		});
		const texts = async (args: object) =>
			textsOf(await store.listMessages({ threadId: one.id, ...args })).join("");
		const [start, end] = [sure(second).createdAt, sure(third).createdAt];
		expect(await texts({ filter: { dateRange: { start, end } } })).toBe("12");
		expect(await texts({ filter: { dateRange: { start, end, startExclusive: true } } })).toBe("2");
		expect(await texts({ filter: { dateRange: { start, end, endExclusive: true } } })).toBe("1");
		const orderBy = { field: "createdAt", direction: "DESC" };
		expect(await texts({ filter: { dateRange: { start } }, orderBy, perPage: 10, includeTotal: false })).toBe(
			"markedother321",
		);
		expect(await texts({ resourceId: "other" })).toBe("other");
		expect(await texts({ filter: { metadata: { star: true } } })).toBe("marked");
		const two = thread({ resourceId: one.resourceId });
		await store.saveThread({ thread: two });
		await store.saveMessages({ messages: [message(two, "two")] });
		expect(await texts({ threadId: [one.id, two.id] })).toBe("0123othermarkedtwo");
		const all = await store.listMessagesByResourceId({ resourceId: one.resourceId, perPage: 3, page: 1 });
		expect([textsOf(all).join(""), all.total, all.hasMore]).toEqual(["3markedtwo", 6, false]);
	});

	test("messages with those around them, also of another thread", async () => {
		const { store, one, messages } = await saved(["0", "1", "2", "3", "4", "5"]);
		const two = thread();
		await store.saveThread({ thread: two });
		const others = ["a", "b", "c"].map((text) => message(two, text));
		await store.saveMessages({ messages: others });
		const listed = async (args: object) =>
			textsOf(await store.listMessages({ threadId: one.id, ...args })).join("");
		const include = [{ id: sure(messages[3]).id, withPreviousMessages: 1, withNextMessages: 1 }];
		expect(await listed({ perPage: 0, include })).toBe("234");
		expect(await listed({ perPage: 1, include })).toBe("0234");
		expect(await listed({ perPage: 3, include })).toBe("01234");
		const all = { perPage: 3, include: [{ id: sure(messages[3]).id, withNextMessages: 9 }] };
		const pages = await Promise.all(
			[{ perPage: 3, include }, all].map((args) => store.listMessages({ threadId: one.id, ...args })),
		);
		expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, false]);
		expect(await listed({ perPage: 0, include: [{ id: sure(others[1]).id, withPreviousMessages: 5 }] })).toBe(
			"ab",
		);
		const misplaced = [{ id: sure(others[1]).id, threadId: one.id, withNextMessages: 1 }];
		expect(await listed({ perPage: 0, include: misplaced })).toBe("bc");
		const scoped = { perPage: 0, include: [{ id: sure(others[1]).id }], resourceId: one.resourceId };
		expect(await listed(scoped)).toBe("");
		expect(await listed({ perPage: 0, include: [{ id: "nowhere" }] })).toBe("");
	});

	test("there are more messages unless the page and those around others are all of them", async () => {
		const orderBy = { field: "createdAt" as const, direction: "DESC" as const };
		const seen: unknown[] = [];
		for (const count of [3, 4, 10]) {
			const { store, one, messages } = await saved(Array.from({ length: count }, (_, at) => String(at)));
			const newest = sure(messages.at(-1)).id;
			for (const withPreviousMessages of [2, 3]) {
				const include = [{ id: newest, withPreviousMessages }];
				const asked = { threadId: one.id, perPage: 2, orderBy, include, includeTotal: false };
				const page = await store.listMessages(asked);
				seen.push([count, textsOf(page).join(""), page.hasMore]);
			}
		}
		expect(seen).toEqual([
			[3, "210", false],
			[3, "210", false],
			[4, "321", true],
			[4, "3210", false],
			[10, "987", true],
			[10, "9876", true],
		]);
	});

	test("an update merges content and metadata, and may move a message", async () => {
		const { store, one, messages } = await saved(["May?", "Lisbon."]);
		const { id } = sure(messages[1]);
		const update = async (told: object) => store.updateMessages({ messages: [{ id, ...told }] });
		await update({ content: { metadata: { a: 1 } } });
		const [now] = await update({ role: "assistant", content: { content: "Porto.", metadata: { b: 2 } } });
		expect(now).toMatchObject({
			id,
			role: "assistant",
			content: { content: "Porto.", metadata: { a: 1, b: 2 } },
		});
		expect(sure(now).content.parts).toEqual(sure(messages[1]).content.parts);
		expect((await store.listMessagesById({ messageIds: [id] })).messages).toEqual([now]);
		const two = thread();
		await store.saveThread({ thread: two });
		await update({ threadId: two.id });
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual(["May?"]);
		expect(textsOf(await store.listMessages({ threadId: two.id }))).toEqual(["Porto."]);
		expect(await store.updateMessages({ messages: [{ id: "nowhere" }] })).toEqual([]);
	});

	test("deleted messages are gone, and come back if they are saved again", async () => {
		const { store, one, messages } = await saved(["0", "1", "2", "3"]);
		await store.deleteMessages([sure(messages[1]).id, sure(messages[3]).id, "nowhere"]);
		await store.deleteMessages([]);
		const page = await store.listMessages({ threadId: one.id });
		expect([textsOf(page).join(""), page.total]).toEqual(["02", 2]);
		expect((await store.listMessagesById({ messageIds: [sure(messages[1]).id] })).messages).toEqual([]);
		await store.saveMessages({ messages: [sure(messages[1])] });
		expect(textsOf(await store.listMessages({ threadId: one.id })).join("")).toBe("012");
	});

	// Clones

	test("a clone has the messages under new ids, and both go on alone", async () => {
		const { store, one, messages } = await saved(["May?", "Lisbon."]);
		const {
			thread: copy,
			clonedMessages,
			messageIdMap,
		} = await store.cloneThread({ sourceThreadId: one.id, metadata: { why: "try" } });
		expect(copy).toMatchObject({ title: "Clone of Trip", resourceId: one.resourceId });
		expect(copy.metadata).toMatchObject({
			why: "try",
			clone: { sourceThreadId: one.id, lastMessageId: sure(messages[1]).id },
		});
		expect(
			clonedMessages.map(({ id, threadId, ...rest }) => [
				id === sure(messageIdMap)[sure(messages.find((m) => +m.createdAt === +rest.createdAt)).id],
				threadId,
				rest.content.content,
			]),
		).toEqual([
			[true, copy.id, "May?"],
			[true, copy.id, "Lisbon."],
		]);
		expect(Object.keys(sure(messageIdMap))).toEqual(messages.map(({ id }) => id));
		expect(new Set([...messages, ...clonedMessages].map(({ id }) => id)).size).toBe(4);
		await store.saveMessages({ messages: [message(one, "Why?"), message(copy, "When?")] });
		await store.updateMessages({
			messages: [
				{ id: sure(clonedMessages[1]).id, content: { content: "Porto." } as MastraDBMessage["content"] },
			],
		});
		await store.deleteMessages([sure(messages[0]).id]);
		expect(textsOf(await store.listMessages({ threadId: one.id }))).toEqual(["Lisbon.", "Why?"]);
		expect(textsOf(await store.listMessages({ threadId: copy.id }))).toEqual(["May?", "Porto.", "When?"]);
		const again = await store.cloneThread({
			sourceThreadId: copy.id,
			newThreadId: `again-${copy.id}`,
			title: "Again",
		});
		expect(again.thread).toMatchObject({ id: `again-${copy.id}`, title: "Again" });
		expect(textsOf({ messages: again.clonedMessages })).toEqual(["May?", "Porto.", "When?"]);
		expect(Object.values(sure(again.messageIdMap))).toEqual(again.clonedMessages.map(({ id }) => id));
		expect(Object.keys(sure(again.messageIdMap)).slice(0, 2)).toEqual(clonedMessages.map(({ id }) => id));
		await store.deleteMessages([sure(again.clonedMessages[0]).id]);
		await store.deleteThread({ threadId: one.id });
		await store.deleteThread({ threadId: copy.id });
		expect(textsOf(await store.listMessages({ threadId: again.thread.id }))).toEqual(["Porto.", "When?"]);
	});

	test("a clone of some messages, and for another resource", async () => {
		const { store, one, messages } = await saved(["0", "1", "2", "3", "4"]);
		const texts = async (options: object, resourceId?: string) => {
			const { thread: copy } = await store.copyThread({
				sourceThreadId: one.id,
				options,
				...(resourceId && { resourceId }),
			});
			const got = await store.listMessages({ threadId: copy.id, ...(resourceId && { resourceId }) });
			expect(copy.resourceId).toBe(resourceId ?? one.resourceId);
			return textsOf(got).join("");
		};
		const [, second, , fourth] = messages;
		expect(await texts({ messageLimit: 2 })).toBe("34");
		expect(await texts({ messageLimit: 9 })).toBe("01234");
		expect(
			await texts({ messageFilter: { startDate: sure(second).createdAt, endDate: sure(fourth).createdAt } }),
		).toBe("123");
		expect(await texts({ messageFilter: { messageIds: [sure(fourth).id, sure(second).id] } })).toBe("13");
		expect(
			await texts({ messageFilter: { startDate: sure(second).createdAt }, messageLimit: 1 }, "somebody"),
		).toBe("4");
		expect(await texts({}, "somebody")).toBe("01234");
		await expect(store.copyThread({ sourceThreadId: "nowhere" })).rejects.toThrow(
			"Source thread with id nowhere not found",
		);
		await expect(store.copyThread({ sourceThreadId: one.id, newThreadId: one.id })).rejects.toThrow(
			`Thread with id ${one.id} already exists`,
		);
	});

	test("a thread goes to another resource with its messages", async () => {
		const { store, one } = await saved(["May?"]);
		const moved = await store.updateThreadResourceId({ threadId: one.id, resourceId: "heir" });
		expect(moved).toMatchObject({ id: one.id, resourceId: "heir", createdAt: one.createdAt });
		expect(textsOf(await store.listMessages({ threadId: one.id, resourceId: "heir" }))).toEqual(["May?"]);
		expect((await store.listThreads({ filter: { resourceId: one.resourceId } })).threads).toEqual([]);
		await expect(store.updateThreadResourceId({ threadId: "nowhere", resourceId: "x" })).rejects.toThrow(
			"not found",
		);
	});

	// Resources

	test("a resource keeps what an agent remembers", async () => {
		const store = await memory();
		const resourceId = `r-${crypto.randomUUID()}`;
		expect(await store.getResourceById({ resourceId })).toBeNull();
		await store.updateResource({ resourceId, workingMemory: "# Ann" });
		await store.updateResource({ resourceId, metadata: { plan: "pro" } });
		const now = await store.updateResource({ resourceId, metadata: { seats: 2 } });
		expect(now).toMatchObject({
			id: resourceId,
			workingMemory: "# Ann",
			metadata: { plan: "pro", seats: 2 },
		});
		expect(await store.getResourceById({ resourceId })).toEqual(now);
		const whole = {
			id: resourceId,
			workingMemory: "x".repeat(50_000),
			createdAt: new Date(START),
			updatedAt: new Date(START),
		};
		for (const resource of [whole, { ...whole, workingMemory: "", metadata: {} }]) {
			await store.saveResource({ resource });
			expect(await store.getResourceById({ resourceId })).toEqual(resource);
		}
	});

	test("what is cleared is gone", async () => {
		const { store, one } = await saved(["May?"]);
		await store.updateResource({ resourceId: one.resourceId, workingMemory: "# Ann" });
		await store.dangerouslyClearAll();
		expect((await store.listThreads({})).threads).toEqual([]);
		expect(await store.getResourceById({ resourceId: one.resourceId })).toBeNull();
		expect(await store.getThreadById({ threadId: one.id })).toBeNull();
	});
});

const deep = (levels: number): unknown => (levels === 0 ? "end" : [deep(levels - 1)]);
