// The list of threads, and what the real runtime of assistant-ui does with a history.

import type { ChatModelAdapter, MessageFormatAdapter, ThreadMessage } from "@assistant-ui/core";
import { CompositeContextProvider, LocalThreadRuntimeCore } from "@assistant-ui/core/internal";
import { expect, inject, onTestFinished, test, vi } from "vitest";

import { Forklore, textOf, TooLargeError, UnauthorizedError } from "@forklore/client";
import type { Unsaved } from "@forklore/client/chat";

import { eventually } from "../../typescript/tests/support/eventually.ts";
import { historyAdapter, threadListAdapter, type HistoryOptions } from "../src/index.ts";
import { textOfParts } from "../src/messages.ts";

const client = (token: string): Forklore => new Forklore(inject("url"), { token });

async function textIn(stream: ReadableStream<unknown>): Promise<string> {
	let text = "";
	for await (const part of stream as ReadableStream<{ type: string; textDelta?: string }>) {
		if (part.type === "text-delta") text += part.textDelta ?? "";
	}
	return text;
}

test("a thread is made once, listed, named, archived, and deleted", async () => {
	const fl = client("lists");
	const threads = threadListAdapter(fl);
	const custom = { kind: "trip" };
	const { remoteId } = await threads.initialize("__LOCAL_1", { custom });
	expect(await threads.initialize("__LOCAL_1", { custom })).toEqual({ remoteId });
	expect(await threads.list()).toEqual({
		threads: [
			{ remoteId, status: "regular", title: undefined, lastMessageAt: expect.any(Date) as Date, custom },
		],
		nextCursor: undefined,
	});
	await threads.rename(remoteId, "Lisbon");
	await threads.updateCustom(remoteId, { kind: "visit" });
	expect(await threads.fetch(remoteId)).toMatchObject({ title: "Lisbon", custom: { kind: "visit" } });
	await threads.updateCustom(remoteId, undefined);
	expect((await threads.fetch(remoteId)).custom).toEqual({});
	await threads.archive(remoteId);
	expect((await threads.list()).threads.map(({ status }) => status)).toEqual(["archived"]);
	await threads.unarchive(remoteId);
	expect((await threads.fetch(remoteId)).status).toBe("regular");
	await threads.delete(remoteId);
	await threads.delete(remoteId);
	expect((await threads.list()).threads).toEqual([]);
	await expect(threads.fetch(remoteId)).rejects.toMatchObject({ name: "NotFoundError" });
});

test("what was used last stands first, with its time", async () => {
	const fl = client("used");
	const threads = threadListAdapter(fl);
	const ids: string[] = [];
	for (const name of ["1", "2"]) ids.push((await threads.initialize(name)).remoteId);
	await fl.conversation(ids[0]).say("user", "Hello");
	const listed = (await threads.list()).threads;
	expect(listed.map(({ remoteId }) => remoteId)).toEqual(ids);
	expect(listed[0]?.lastMessageAt?.getTime()).toBeGreaterThan(Number(listed[1]?.lastMessageAt));
});

test("a list has pages", async () => {
	const threads = threadListAdapter(client("pages"), { pageRows: 2 });
	for (const name of ["1", "2", "3"]) await threads.initialize(name);
	const first = await threads.list();
	const second = await threads.list({ after: first.nextCursor });
	expect([first.threads.length, second.threads.length, second.nextCursor]).toEqual([2, 1, undefined]);
});

test("what is pinned stands first in its own order, and custom pins and unpins", async () => {
	const fl = client("pins");
	const threads = threadListAdapter(fl, { pageRows: 2 });
	const ids: string[] = [];
	for (const name of ["1", "2", "3", "4"]) {
		ids.push((await threads.initialize(name, { custom: { name } })).remoteId);
	}
	const [first, second, third, fourth] = ids as [string, string, string, string];
	const shown = async (): Promise<unknown[]> => {
		const page = await threads.list();
		const rest =
			page.nextCursor === undefined ? [] : (await threads.list({ after: page.nextCursor })).threads;
		return [...page.threads, ...rest].map(({ custom }) => [custom?.["name"], custom?.["pinned"]]);
	};
	await threads.updateCustom(first, { name: "1", pinned: true });
	await threads.updateCustom(second, { name: "2", pinned: true });
	await fl.conversation(third).pin({ after: second }); // elsewhere
	const listed = [
		["2", true],
		["3", true],
		["1", true],
		["4", undefined],
	];
	expect(await shown()).toEqual(listed);
	expect((await fl.conversation(first).details()).metadata).toEqual({ name: "1" });

	await threads.updateCustom(first, { name: "one", pinned: true }); // it stays in its place
	expect(await shown()).toEqual(listed.with(2, ["one", true]));
	expect((await threads.fetch(first)).custom).toEqual({ name: "one", pinned: true });
	await threads.updateCustom(second, { name: "2" });
	await threads.updateCustom(first, { name: "1", pinned: false });
	await threads.archive(third);
	expect(await shown()).toEqual([
		["3", true],
		["4", undefined],
		["2", undefined],
		["1", false],
	]);
	expect((await fl.conversations({ pinned: true, archived: "include" }).list()).map(({ id }) => id)).toEqual([
		third,
	]);
	await threads.delete(third);
	await threads.delete(fourth);
	expect(await shown()).toEqual([
		["2", undefined],
		["1", false],
	]);
});

test("a title is that of the service, from the first text, or what a function makes", async () => {
	const fl = client("titles");
	const threads = threadListAdapter(fl);
	const { remoteId } = await threads.initialize("one");
	expect(await textIn(await threads.generateTitle(remoteId, []))).toBe("");
	const question = asked(`Where to in May? ${"😀".repeat(40)}`);
	await historyAdapter(fl, remoteId).append({ parentId: null, message: question });
	const { title = "" } = await threads.fetch(remoteId);
	expect(Array.from(title)).toHaveLength(40);
	expect(await textIn(await threads.generateTitle(remoteId, [question]))).toBe(title);
	const titled = threadListAdapter(fl, { title: (messages) => Promise.resolve(`${messages.length} said`) });
	expect(await textIn(await titled.generateTitle(remoteId, [asked("a")]))).toBe("1 said");
	expect((await titled.fetch(remoteId)).title).toBe("1 said");
});

const asked = (text: string, image?: string): ThreadMessage => ({
	id: crypto.randomUUID(),
	role: "user",
	createdAt: new Date(),
	content: [{ type: "text", text }, ...(image === undefined ? [] : [{ type: "image" as const, image }])],
	attachments: [],
	metadata: { custom: {} },
});

/** A runtime of assistant-ui, whose model answers each question with a number. */
async function runtimeOf(
	fl: Forklore,
	id: string,
	options?: HistoryOptions,
): Promise<LocalThreadRuntimeCore> {
	let answers = 0;
	const chatModel: ChatModelAdapter = {
		run: () => Promise.resolve({ content: [{ type: "text", text: `answer ${++answers}` }] }),
	};
	const adapters = { chatModel, history: historyAdapter(fl, id, options) };
	const runtime = new LocalThreadRuntimeCore(new CompositeContextProvider(), { adapters });
	await runtime.__internal_load();
	return runtime;
}

const shown = (runtime: LocalThreadRuntimeCore): string[] =>
	runtime.messages.map(({ content }) => textOfParts(content));

test("the real runtime: ask, answer anew, edit, delete, and the same on a second device", async () => {
	const fl = client("runtime");
	const id = crypto.randomUUID();
	const runtime = await runtimeOf(fl, id);
	const say = async (text: string, parentId: string | null): Promise<void> => {
		const { id: _, ...rest } = asked(text);
		await runtime.append({ ...rest, parentId, sourceId: null, runConfig: {}, startRun: true });
		await eventually(() => {
			expect(runtime.messages.at(-1)).toMatchObject({ status: { type: "complete" } });
		});
	};
	await say("May?", null);
	const [question, answer] = runtime.messages;
	await runtime.startRun({ parentId: question?.id ?? null, sourceId: answer?.id ?? null, runConfig: {} });
	await say("June?", null);
	await say("And then?", runtime.messages.at(-1)?.id ?? null);
	expect(shown(runtime)).toEqual(["June?", "answer 3", "And then?", "answer 4"]);

	const device = await runtimeOf(fl, id);
	expect(device.export()).toEqual(runtime.export());
	const [june] = device.messages;
	expect(device.getBranches(june?.id ?? "")).toHaveLength(2);
	device.switchToBranch(question?.id ?? "");
	expect(device.getBranches(answer?.id ?? "")).toHaveLength(2);

	await runtime.deleteMessage(runtime.messages[2]?.id ?? "");
	expect(shown(runtime)).toEqual(["June?", "answer 3", "answer 4"]);
	expect(shown(await runtimeOf(fl, id))).toEqual(["June?", "answer 3", "answer 4"]);
});

test("the real runtime: a drawing that is too large, and a token that had run out, cost no other message", async () => {
	const told: string[][] = [];
	let isOut = false;
	const fl = new Forklore(inject("url"), {
		token: "losing",
		fetch: async (...sent) => (isOut ? new Response("{}", { status: 401 }) : fetch(...sent)),
	});
	const onUnsaved = (unsaved: Unsaved[]): void => {
		told.push(unsaved.map(({ message, error }) => `${message.text}: ${(error as Error).name}`));
	};
	const id = crypto.randomUUID();
	const runtime = await runtimeOf(fl, id, { onUnsaved });
	const say = async (text: string, image?: string): Promise<void> => {
		const { id: _, ...rest } = asked(text, image);
		const parentId = runtime.messages.at(-1)?.id ?? null;
		await runtime.append({ ...rest, parentId, sourceId: null, runConfig: {}, startRun: true });
	};
	const log = vi.spyOn(console, "error").mockImplementation(() => undefined); // where the runtime tells it
	onTestFinished(() => {
		log.mockRestore();
	});
	await say("Hello");
	await expect(say("Which cat?", `data:image/svg+xml;base64,${"A".repeat(4_500_000)}`)).rejects.toThrow(
		TooLargeError,
	);
	await say("And its age?");
	expect(told).toEqual([["Which cat?: TooLargeError"]]);
	isOut = true;
	await expect(say("Why?")).rejects.toThrow(UnauthorizedError);
	isOut = false;
	await say("Really?");
	expect(told.at(-1)).toEqual(["Which cat?: TooLargeError"]);
	const all = shown(runtime);
	expect(all).toHaveLength(10);
	expect(shown(await runtimeOf(fl, id))).toEqual(all.filter((text) => text !== "Which cat?"));
});

test("what was said in a thread that could not be made is stored with what follows it", async () => {
	const fl = client("early");
	let isOff = true;
	const { id } = fl.conversation();
	const initialize = (): Promise<{ remoteId: string }> =>
		isOff ? Promise.reject(new Error("off")) : Promise.resolve({ remoteId: id });
	const told: unknown[] = [];
	const history = historyAdapter(fl, () => ({ getState: () => ({ remoteId: id }), initialize }), {
		onUnsaved: (unsaved, remoteId) => told.push([unsaved.map(({ message }) => message.text), remoteId]),
	});
	const [one, two, three] = [asked("one"), asked("two"), asked("three")];
	await expect(history.append({ parentId: null, message: one })).rejects.toThrow("off");
	await expect(history.append({ parentId: one.id, message: two })).rejects.toThrow("off");
	isOff = false;
	await history.append({ parentId: two.id, message: three });
	expect((await history.load()).messages.map(({ message }) => textOfParts(message.content))).toEqual([
		"one",
		"two",
		"three",
	]);
	expect(told).toEqual([
		[["one"], undefined],
		[["one", "two"], undefined],
		[[], undefined],
	]);
});

interface Part {
	type: string;
	text: string;
}
interface UIMessage {
	id: string;
	role: string;
	parts: Part[];
}
/** As assistant-ui has it for the AI SDK. */
const format: MessageFormatAdapter<UIMessage, Omit<UIMessage, "id"> & Record<string, unknown>> = {
	format: "ai-sdk/v6",
	encode: ({ message: { id: _, ...rest } }) => ({ ...rest }),
	decode: ({ id, parent_id: parentId, content: { role, parts } }) => ({
		parentId,
		message: { id, role, parts },
	}),
	getId: ({ id }) => id,
};

test("messages of another format are kept as they are, and texts of others have a place in it", async () => {
	const fl = client("formats");
	const chat = fl.conversation();
	const thread = {
		getState: () => ({ remoteId: chat.id }),
		initialize: () => Promise.resolve({ remoteId: chat.id }),
	};
	const history = historyAdapter(fl, () => thread).withFormat(format);
	const step = { type: "step-start" } as Part;
	const first = {
		parentId: null,
		message: { id: "a", role: "user", parts: [step, { type: "text", text: "Hi" }] },
	};
	const second = { parentId: "a", message: { id: "b", role: "assistant", parts: [step] } };
	await history.append(first);
	history.pin?.();
	await history.append(second);
	await history.update?.({ ...second, message: { ...second.message, parts: [] } }, "b");
	const said = await chat.say("ai", "by hand");
	expect(textOf(await chat.entryOf("a"))).toBe("Hi");
	const last = { id: said.id, role: "assistant", parts: [{ type: "text", text: "by hand" }] };
	expect((await history.load()).messages).toEqual([
		first,
		{ ...second, message: { ...second.message, parts: [] } },
		{ parentId: "b", message: last },
	]);
	await history.delete?.([second]);
	expect((await history.load()).messages.map(({ parentId }) => parentId)).toEqual([null, "a"]);
	// a runtime with a format of its own shows the texts, and one whose format has none leaves them out
	const plain = await historyAdapter(fl, chat.id).load();
	expect(plain.messages.map(({ message }) => message.content[0])).toEqual([
		{ type: "text", text: "Hi" },
		{ type: "text", text: "by hand" },
	]);
	const other = historyAdapter(fl, chat.id).withFormat({ ...format, format: "other" });
	expect(await other.load()).toEqual({ headId: null, messages: [] });
});

test("a thread that is not made yet has no history, and nothing to delete", async () => {
	const thread = { getState: () => ({}), initialize: () => Promise.reject(new Error("asked")) };
	const history = historyAdapter(client("nobody"), () => thread);
	expect(await history.load()).toEqual({ headId: null, messages: [] });
	await history.delete([{ parentId: null, message: asked("a") }]);
	await expect(history.append({ parentId: null, message: asked("a") })).rejects.toThrow("asked");
});
