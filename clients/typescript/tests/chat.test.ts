// The messages of a chat with all branches, where several write, and answers are lost.

import { expect, inject, test } from "vitest";

import { ChatStore, stopAnswer, type ChatMessage, type ChatTree, type Unsaved } from "../src/chat.ts";
import {
	Forklore,
	InputError,
	NoAnswerError,
	NotFoundError,
	ServerError,
	textOf,
	TooLargeError,
	type Options,
} from "../src/index.ts";
import { KEYS } from "./support/server.ts";

const client = (options: Options = {}): Forklore =>
	new Forklore(inject("url"), { token: "chatter", clientKey: KEYS.planner, ...options });
let asked = 0;
const fl = client({
	fetch: async (...sent) => {
		asked++;
		return fetch(...sent);
	},
});
const opened = (): ChatStore => new ChatStore(fl, fl.conversation().id);
const again = (store: ChatStore): ChatStore => new ChatStore(fl, store.conversationId);
const said = (id: string, text = id, data = {}): ChatMessage => ({ id, role: "user", text, data });
const shape = ({ messages, headId }: ChatTree): unknown => [
	...messages.map(({ id, parentId }) => `${parentId ?? ""}>${id}`),
	headId,
];

test("a message is one entry with its id as key, and its data beside role and text", async () => {
	const store = opened();
	expect(await store.load()).toEqual({ messages: [], headId: null });
	await store.append(null, said("a", "Hello", { parts: [1, { b: null }] }));
	const entry = await fl.conversation(store.conversationId).entryOf("a");
	expect(entry.content).toEqual([{ role: "USER", text: "Hello", parts: [1, { b: null }] }]);
	const { messages, headId } = await again(store).load();
	expect(messages).toEqual([
		{
			id: "a",
			parentId: null,
			role: "user",
			text: "Hello",
			data: { parts: [1, { b: null }] },
			createdAt: entry.createdAt,
		},
	]);
	expect(headId).toBe("a");
	await expect(store.append("a", said("b", "", { role: "ai" }))).rejects.toThrow(InputError);
});

test("messages are pinned and unpinned by their ids, wherever they stand", async () => {
	const store = opened();
	expect(await store.pinned()).toEqual([]);
	await store.append(null, said("a"), said("b"), said("c"));
	await store.append("a", said("d"), said("e")); // beside b
	await store.pin("e");
	await store.pin("c"); // of the other branch
	await store.pin("a");
	await store.pin("a");
	expect(await store.pinned()).toEqual(["a", "e"]);
	const other = again(store);
	expect(await other.pinned()).toEqual(["a", "e"]);
	await other.append("c", said("f")); // its branch is the current one now
	expect(await other.pinned()).toEqual(["a", "c"]);
	const notes = await fl.conversation(store.conversationId).notes().list();
	expect(notes.filter(({ pinned }) => pinned)).toHaveLength(2);

	await other.unpin("e");
	await other.unpin("a");
	await other.unpin("a");
	expect(await other.pinned()).toEqual(["c"]);
	await other.delete("c");
	expect(await other.pinned()).toEqual([]);
	await store.append("e", said("e2"));
	expect(await store.pinned()).toEqual([]);
	await expect(store.pin("none")).rejects.toThrow(NotFoundError);
});

test("a later version of a pinned message is not pinned", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b"));
	await store.pin("b");
	await store.update("a", said("b", "newer"));
	expect(await store.pinned()).toEqual([]);
	await store.pin("b");
	await store.unpin("b");
	expect(await fl.conversation(store.conversationId).notes().list()).toEqual([]);
});

test("many messages at once are one request for 44, and stand behind one another", async () => {
	const store = opened();
	await store.load();
	asked = 0;
	await store.append(null, ...Array.from({ length: 45 }, (_, at) => said(`${at}`)));
	expect(asked).toBe(2);
	const { messages } = await again(store).load();
	expect(messages.map(({ parentId }) => parentId)).toEqual([
		null,
		...Array.from({ length: 44 }, (_, at) => `${at}`),
	]);
});

test("what others write has the id of its entry; what is no message has no place", async () => {
	const chat = fl.conversation();
	const one = await chat.turn("user", "one", { context: ["memory"] });
	await chat.append([{ kind: "step" }], { contentType: "application/json" });
	const two = await chat.say("ai", "two", { key: "two" });
	const store = new ChatStore(fl, chat.id);
	expect(shape(await store.load())).toEqual([`>${one.id}`, `${one.id}>two`, "two"]);
	await store.append("two", said("three"));
	await store.append(one.id, said("other"));
	expect(shape(await store.load())).toEqual([
		`>${one.id}`,
		`${one.id}>two`,
		"two>three",
		`${one.id}>other`,
		"other",
	]);
	expect((await chat.entries({ channel: "history", after: two }).list()).map(textOf)).toEqual(["three"]);
});

test("a message behind one that is nowhere is refused, behind one of another page it is stored", async () => {
	const store = opened();
	await store.append(null, said("a"));
	const other = again(store);
	await other.append("a", said("b"));
	await store.append("b", said("c"));
	await expect(store.append("x", said("y"))).rejects.toThrow(NotFoundError);
	await store.append("c", said("d"));
	expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c>d", "d"]);
});

test("two who begin a chat at once begin two branches, and two who go on at once, too", async () => {
	const one = opened();
	const two = again(one);
	await Promise.all([one.load(), two.load()]);
	await one.append(null, said("a"));
	await two.append(null, said("b"));
	expect(shape(await one.load())).toEqual([">a", ">b", "b"]);
	await two.load();
	await one.append("b", said("c"));
	await two.append("b", said("d"));
	await two.append("d", said("e"));
	expect(shape(await one.load())).toEqual([">a", ">b", "b>c", "b>d", "d>e", "e"]);
});

test("a message whose answer was lost is stored once when it is appended again", async () => {
	let isLost = false;
	const losing = client({
		retries: 0,
		fetch: async (...sent) => {
			const answer = await fetch(...sent);
			if (!isLost) return answer;
			isLost = false;
			throw new TypeError("lost");
		},
	});
	const store = new ChatStore(losing, fl.conversation().id);
	await store.append(null, said("a"));
	for (const id of ["b", "c"]) {
		// at the end of a branch, and on a fork
		isLost = true;
		await expect(store.append("a", said(id))).rejects.toThrow(NoAnswerError);
		await store.append("a", said(id));
	}
	isLost = true;
	await expect(store.append("c", said("d"), said("e"))).rejects.toThrow(NoAnswerError);
	await store.append("c", said("d"), said("e")); // of several, each is looked for
	expect(shape(await store.load())).toEqual([">a", "a>b", "a>c", "c>d", "d>e", "e"]);
	await store.append("e", said("f"));
	expect(shape(await store.load())).toEqual([">a", "a>b", "a>c", "c>d", "d>e", "e>f", "f"]);
	const { entries } = await fl.conversation(store.conversationId).tree();
	expect(entries.map(({ key }) => key)).toEqual(["a", "b", "c", "d", "e", "f"]);
});

/** A new chat, where requests that hold one of `refused` are answered with `status`. */
function faulty(status: number): { store: ChatStore; refused: Set<string>; told: string[][] } {
	const refused = new Set<string>();
	const told: string[][] = [];
	const failing = client({
		retries: 0,
		fetch: async (...sent) => {
			asked++;
			const body = sent[1]?.body;
			const isRefused = typeof body === "string" && [...refused].some((id) => body.includes(`"${id}"`));
			return isRefused ? Response.json({ code: "refused" }, { status }) : fetch(...sent);
		},
	});
	const onUnsaved = (unsaved: Unsaved[]): void => {
		told.push(unsaved.map(({ message }) => message.id));
	};
	return { store: new ChatStore(failing, fl.conversation().id, { onUnsaved }), refused, told };
}

test.each([401, 500])("what was answered %i is sent again before what follows it", async (status) => {
	const { store, refused, told } = faulty(status);
	await store.append(null, said("a"));
	refused.add("b");
	await expect(store.append("a", said("b"))).rejects.toMatchObject({ status });
	expect(store.unsaved).toMatchObject([{ message: { id: "b" }, parentId: "a", error: { status } }]);
	refused.clear();
	await store.append("b", said("c"));
	expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c"]);
	expect(told).toEqual([["b"], []]);
});

test.each([401, 429, 503, 507])(
	"while all writes are answered %i, one is tried for all that waits",
	async (status) => {
		const { store, refused } = faulty(status);
		await store.append(null, said("a"));
		refused.add("b");
		await expect(store.append("a", said("b"), said("c"), said("d"))).rejects.toMatchObject({ status });
		asked = 0;
		await expect(store.append("d", said("e"))).rejects.toMatchObject({ status });
		expect(asked).toBe(3); // two to read the chat
		expect(store.unsaved.map(({ message }) => message.id)).toEqual(["b", "c", "d", "e"]);
		refused.clear();
		await store.append("e", said("f"));
		expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c>d", "d>e", "e>f", "f"]);
	},
);

test.each([403, 500])(
	"what fails with %i costs two attempts, however much it is, and nothing new",
	async (status) => {
		const { store, refused } = faulty(status);
		await store.append(null, said("a"));
		const waiting = Array.from({ length: 20 }, (_, at) => said(`w${at}`));
		refused.add("w9");
		await expect(store.append("a", ...waiting)).rejects.toMatchObject({ status });
		asked = 0;
		await store.append("w19", said("b"));
		expect(asked).toBe(2 + 1 + 2 + 1); // each after the chat was read anew
		expect(store.unsaved).toHaveLength(20);
		refused.clear();
		await store.append("b", said("c"));
		expect(store.unsaved).toEqual([]);
		expect((await store.load()).messages.map(({ id }) => id)).toHaveLength(23);
	},
);

test("what still cannot be stored is passed over, and comes later as another branch", async () => {
	const { store, refused, told } = faulty(500);
	refused.add("a").add("c");
	await expect(store.append(null, said("a"))).rejects.toThrow(ServerError);
	await store.append("a", said("b"));
	await expect(store.append("b", said("c"))).rejects.toThrow(ServerError);
	await store.append("c", said("d"), said("e"));
	expect(shape(await store.load())).toEqual([">b", "b>d", "d>e", "e"]);
	expect(told.at(-1)).toEqual(["a", "c"]);
	refused.clear();
	refused.add("f");
	await expect(store.append("e", said("f"))).rejects.toThrow(ServerError);
	expect(shape(await store.load())).toEqual([">b", "b>d", "d>e", ">a", "b>c", "e"]);
	expect(told.at(-1)).toEqual(["f"]);
	await store.delete("f");
	refused.clear();
	await store.append("f", said("g"));
	expect(shape(await store.load())).toEqual([">b", "b>d", "d>e", ">a", "b>c", "e>g", "g"]);
	expect(told.at(-1)).toEqual([]);
});

test("while the chat cannot be read, everything waits, and one request is all that is tried", async () => {
	let isOff = false;
	const failing = client({
		retries: 0,
		fetch: async (...sent) => {
			asked++;
			if (isOff) throw new TypeError("off");
			return fetch(...sent);
		},
	});
	const store = new ChatStore(failing, fl.conversation().id);
	await store.append(null, said("a"));
	isOff = true;
	await expect(store.append("a", said("b"))).rejects.toThrow(NoAnswerError);
	for (const [parent, id] of ["bc", "cd", "de"]) {
		asked = 0;
		await expect(store.append(parent ?? "", said(id ?? ""))).rejects.toThrow(NoAnswerError);
		expect(asked).toBe(1);
	}
	isOff = false;
	await store.append("e", said("f"));
	expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c>d", "d>e", "e>f", "f"]);
});

test("a message that is too large is refused alone, once, and a smaller version of it is stored", async () => {
	const store = opened();
	const photo = said("photo", "x".repeat(2_600_000));
	const rest = [said("b"), said("c"), said("d", "y".repeat(2_000_000)), said("e", "z".repeat(2_000_000))];
	await expect(store.append(null, said("a"), photo, ...rest)).rejects.toThrow(TooLargeError);
	expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c>d", "d>e", "e"]);
	asked = 0;
	await store.append("e", said("f"));
	expect(asked).toBe(1);
	await store.append("photo", said("g"));
	await store.update("a", said("photo", "a thumbnail"));
	expect(store.unsaved).toEqual([]);
	expect(shape(await store.load())).toEqual([">a", "a>b", "b>c", "c>d", "d>e", "e>f", "a>g", "a>photo", "g"]);
});

test("what data has of the text, part by part, is stored once and comes back as it was", async () => {
	const store = opened();
	const part = (text: string): object => ({ type: "text", text, state: "done" });
	const parts = [
		part("x".repeat(2_000_000)),
		{ type: "file", url: "data:" },
		part("and y"),
		part("not said"),
	];
	const data = { message: { parts, at: "text" } };
	await store.append(null, said("a", `${"x".repeat(2_000_000)}\n\nand y`, data));
	expect((await again(store).load()).messages[0]?.data).toEqual(data);
	asked = 0;
	await store.append(null, said("a", `${"x".repeat(2_000_000)}\n\nand y`, data));
	expect(asked).toBe(0);
});

test("what follows a message on a branch that was deleted stands behind the nearest one that is left", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b"));
	await store.append("a", said("c"), said("d"));
	const forks = await fl.conversation(store.conversationId).forks().list();
	await fl.conversation(forks.find((one) => one.isCurrent)?.conversationId).delete();
	await store.append("d", said("e"));
	expect(shape(await store.load())).toEqual([">a", "a>b", "a>e", "e"]);
});

test("a message that two pages save at once is stored once", async () => {
	const one = opened();
	await one.append(null, said("a"));
	const two = again(one);
	await two.load();
	await Promise.all([one.append("a", said("b")), two.append("a", said("b"))]);
	const { entries } = await fl.conversation(one.conversationId).tree();
	expect(entries.map(({ key }) => key)).toEqual(["a", "b"]);
});

test("what was deleted since the chat was read is asked for again", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b"));
	await store.append("a", said("c"));
	const root = fl.conversation(store.conversationId);
	const fork = (await root.forks().list()).find((one) => one.isCurrent);
	const left = new ChatStore(fl, fork?.conversationId ?? "");
	await left.load();
	await root.delete();
	await left.append("a", said("d"));
	expect(shape(await left.load())).toEqual([">a", "a>c", "a>d", "d"]);
});

test("a branch whose source was deleted goes on, and so do the messages that it inherits", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b"));
	await store.append("a", said("c"));
	await fl.conversation(store.conversationId).delete();
	const left = new ChatStore(fl, (await fl.conversations().list({ limit: 1 }))[0]?.id ?? "");
	expect(shape(await left.load())).toEqual([">a", "a>c", "c"]);
	await left.append("a", said("d"));
	await left.append(null, said("e"));
	await left.append("a", said("f"));
	expect(shape(await left.load())).toEqual([">a", "a>c", "a>d", ">e", "a>f", "f"]);
});

test("an update is the message in its place; the same message again is no request", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b", "half"));
	await store.update("a", said("b", "whole"));
	await store.append("b", said("c"));
	await store.update(null, said("a", "late"));
	asked = 0;
	await store.update("a", said("b", "whole"));
	expect(asked).toBe(0);
	const chat = await store.load();
	expect(shape(chat)).toEqual([">a", "a>b", "b>c", "c"]);
	expect(chat.messages.map(({ text }) => text)).toEqual(["late", "whole", "c"]);
	const current = (await fl.conversation(store.conversationId).forks().list()).find((one) => one.isCurrent);
	const shown = await fl.conversation(current?.conversationId).entries({ channel: "history" }).list();
	expect(shown.map(textOf)).toEqual(["a", "whole", "c"]);
});

test("what is deleted is gone, with its versions, and what follows stands behind the message before", async () => {
	const store = opened();
	await store.append(null, said("a"), said("b"), said("c"), said("d"));
	await store.update("b", said("c", "newer"));
	await store.delete("b", "c", "nothing");
	expect(shape(await store.load())).toEqual([">a", "a>d", "d"]);
	asked = 0;
	await store.delete("c");
	expect(asked).toBe(0);
	await store.append("a", said("e"));
	await again(store).update("a", said("c", "late"));
	expect(shape(await store.load())).toEqual([">a", "a>d", "a>e", "e"]);
	const stored = await fl.conversation(store.conversationId).entries().list();
	expect(stored.map(textOf)).toContain("b");
});

test.each([
	["behind its question", "q", false],
	["with an edited question", null, false],
	["only before it was begun", "q", true],
])(
	"an answer that others end leaves the current branch alone if the chat has gone on %s",
	async (_, at, isOld) => {
		const store = opened();
		await store.append(null, said("q"));
		if (isOld) await store.append(at, said("other"));
		const writer = await store.beginAnswer("q");
		const shown = { id: writer.id, conversationId: writer.conversationId, parentId: "q" };
		const page = again(store);
		expect((await page.load()).answering).toEqual(shown);
		await writer.close();
		await stopAnswer(fl, store.conversationId);
		if (!isOld) {
			await again(store).append(at, said("other"));
			expect((await again(store).load()).answering).toBeUndefined();
		}
		await page.endAnswer("q", { ...said("half"), answerId: writer.id });
		expect((await again(store).load()).headId).toBe(isOld ? "half" : "other");
		expect((await again(store).load()).messages.map(({ id }) => id)).toContain("half");
	},
);

test("an answer of another tab is in the way, unless it is to be taken over", async () => {
	const store = opened();
	await store.append(null, said("q"));
	const first = await store.beginAnswer("q");
	await expect(again(store).beginAnswer("q")).rejects.toMatchObject({
		reason: "answer_in_progress",
		details: {
			answerId: first.id,
			userId: expect.any(String) as string,
			since: expect.any(String) as string,
		},
	});
	const another = new ChatStore(client({ clientKey: KEYS.coder }), store.conversationId);
	await expect(another.beginAnswer("q", { takeOver: "own" })).rejects.toMatchObject({
		reason: "answer_in_progress",
	});
	const second = await again(store).beginAnswer("q", { takeOver: "own" });
	first.write("too late");
	await first.close();
	expect(first.signal.reason).toMatchObject({ reason: "answer_over", details: { nextAnswerId: second.id } });
	await second.close();
	await store.append("q", { ...said("a"), answerId: second.id });
	expect(shape(await again(store).load())).toEqual([">q", "q>a", "a"]);
});
