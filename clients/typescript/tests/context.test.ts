// An agent's memory, where the stories that both clients tell cannot say it: a list that is changed in its place.

import { expect, inject, test } from "vitest";

import { Forklore, InputError, type Conversation } from "../src/index.ts";
import { KEYS } from "./support/server.ts";

const fl = new Forklore(inject("url"), { token: "contexts", clientKey: KEYS.planner });

async function remembering(...memory: unknown[]): Promise<Conversation> {
	const chat = fl.conversation();
	await chat.turn("user", "Hi", { context: memory });
	return chat;
}

test("a list goes on from what it has written", async () => {
	const chat = await remembering("known");
	const memory = await chat.context.latest();
	for (const content of [["a", "b"], ["c"], ["c"], []]) {
		memory.splice(0, Infinity, ...content);
		await fl.conversation(chat.id).context.sync(memory);
		await fl.conversation(chat.id).turn("ai", "so", { context: memory });
		expect(await chat.context.latest()).toEqual(content);
	}
});

test("two lists of one object are told apart", async () => {
	const chat = await remembering("known");
	const [mine, yours] = [await chat.context.latest(), await chat.context.latest()];
	mine.push("mine");
	yours.push("yours");
	await chat.context.sync(mine);
	await expect(chat.context.sync(yours)).rejects.toMatchObject({ reason: "context_moved" });
	await expect(chat.turn("ai", "no", { context: yours })).rejects.toMatchObject({ reason: "context_moved" });
	expect(await chat.entries({ channel: "history" }).list()).toHaveLength(1);
});

test("two writers that have found no memory are told apart", async () => {
	const chat = fl.conversation();
	await chat.say("user", "Hi");
	const other = fl.conversation(chat.id);
	const [mine, yours] = [await chat.context.latest(), await other.context.latest()];
	await chat.context.sync([...mine, "mine"]);
	await expect(other.context.sync([...yours, "yours"])).rejects.toMatchObject({ reason: "context_moved" });
});

test("what is changed in a list that was read does not change what is known", async () => {
	const chat = await remembering({ deep: ["known"] });
	const [first] = (await chat.context.latest()) as { deep: string[] }[];
	first?.deep.push("not written");
	expect(await chat.context.latest()).toEqual([{ deep: ["known"] }]);
});

test("only what is new is read again, also after another epoch", async () => {
	const chat = await remembering("a");
	const asked: string[] = [];
	const counted = new Forklore(inject("url"), {
		token: "contexts",
		clientKey: KEYS.planner,
		fetch: async (...sent) => {
			asked.push(sent[0] as string);
			return fetch(...sent);
		},
	});
	const { context } = counted.conversation(chat.id);
	expect(await context.latest()).toEqual(["a"]);
	await chat.context.sync(["a", "b"]);
	expect(await context.latest()).toEqual(["a", "b"]);
	await chat.context.sync(["c"]);
	await chat.context.sync(["c", "d"]);
	expect(await context.latest()).toEqual(["c", "d"]);
	expect(asked.map((url) => url.includes("afterCursor"))).toEqual([false, true, true]);
});

test("a child without an entry has no memory to write", async () => {
	const chat = await remembering("a");
	const child = await chat.startChild();
	await expect(child.context.sync(["x"])).rejects.toBeInstanceOf(InputError);
	await child.turn("ai", "Hi", { context: ["x"] });
	await child.context.sync(["x", "y"]);
	expect(await child.context.latest()).toEqual(["x", "y"]);
});
