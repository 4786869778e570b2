// Answers of a conversation: they end with a turn, in a fork, or with nothing.

import { expect, inject, test } from "vitest";

import { ConflictError, Forklore, InputError, textOf } from "../src/index.ts";
import { KEYS } from "./support/server.ts";

const client = () => new Forklore(inject("url"), { token: "answers", clientKey: KEYS.planner });

test("an answer becomes a turn with its memory, and nothing is written behind its end", async () => {
	const fl = client();
	const chat = fl.conversation();
	const asked = await chat.say("user", "Where to?");
	const answer = await chat.answer({ after: asked });
	answer.write("To Por\uD83D");
	answer.write("\uDE00to");
	answer.write([{ type: "image", url: "https://a.example/porto.jpg" }]);
	answer.write("!");
	expect(answer.text).toBe("To Por😀to!");
	const entry = await answer.finish({ context: ["m"], usage: { outputTokens: 3 } });
	expect(entry.content).toEqual([
		{
			role: "AI",
			content: [
				{ type: "text", text: "To Por😀to" },
				{ type: "image", url: "https://a.example/porto.jpg" },
				{ type: "text", text: "!" },
			],
		},
	]);
	expect([answer.entry?.id, entry.usage, await chat.context.latest()]).toEqual([
		entry.id,
		{ outputTokens: 3 },
		["m"],
	]);
	const { state } = await fl.api.getAnswer({ conversationId: chat.id, answerId: answer.id });
	expect(state).toBe("finished");
	expect(() => {
		answer.write("more");
	}).toThrow(InputError);
});

test("a second answer to a question becomes a fork, and may say something else than was written", async () => {
	const fl = client();
	const chat = fl.conversation();
	const asked = await chat.say("user", "Where to?");
	await chat.say("ai", "To Porto.");
	const answer = await chat.answer({ after: asked });
	answer.write("draft");
	const entry = await answer.finish("To Faro.", { fork: true, promote: true });
	expect((await chat.history().list()).map(textOf)).toEqual(["Where to?", "To Porto."]);
	const fork = fl.conversation(entry.conversationId);
	expect((await fork.history().list()).map(textOf)).toEqual(["Where to?", "To Faro."]);
	expect((await fork.details()).isCurrent).toBe(true);
});

test("an answer that is dropped leaves nothing, and another one begins at once", async () => {
	const chat = client().conversation();
	await chat.say("user", "Where to?");
	const failed = await chat.answer();
	failed.write("To P");
	await failed.drop();
	const answer = await chat.answer();
	await expect(chat.answer({ takeOver: false })).rejects.toMatchObject({ reason: "answer_in_progress" });
	answer.write("To Porto.");
	await answer.finish();
	expect((await chat.history().list()).map(textOf)).toEqual(["Where to?", "To Porto."]);
	await expect(failed.finish()).rejects.toBeInstanceOf(ConflictError);
});

test("files and blobs go with a message, and too many are refused before any is sent", async () => {
	const fl = client();
	const chat = fl.conversation();
	const made = await fl.upload(new Blob(["b"]), { name: "b.txt", contentType: "text/plain" });
	const file = new File(["a"], "a.txt", { type: "text/plain" });
	const said = await chat.say("user", "Look:", { files: [file, made, made.id] });
	expect(said.attachments?.map(({ name, size }) => [name, size])).toEqual([
		["a.txt", 1],
		["b.txt", 1],
	]);
	const named = Object.assign(new Blob(["c"]), { name: "c.txt" });
	await chat.turn("user", "And:", { files: [named], context: ["c"] });
	expect((await chat.last())?.attachments?.[0]?.name).toBe("c.txt");
	await expect(chat.say("user", "x", { files: [new Blob(["d"])] })).rejects.toThrow("the file has no name");
	const many = Array.from({ length: 11 }, () => file);
	await expect(chat.say("user", "x", { files: many })).rejects.toThrow("at most 10 files, not 11");
	expect((await chat.history().list()).length).toBe(2);
});
