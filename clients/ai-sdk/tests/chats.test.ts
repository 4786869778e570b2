// Chats of the AI SDK: turns as its own helpers make them, edits, answers anew, tools, and other programs.

import {
	consumeStream,
	convertToModelMessages,
	createUIMessageStreamResponse,
	readUIMessageStream,
	simulateReadableStream,
	streamText,
	tool,
	toUIMessageStream,
	type UIMessage,
	type UIMessageChunk,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, inject, test } from "vitest";
import { z } from "zod";

import { Forklore, textOf, TooLargeError, UnauthorizedError } from "@forklore/client";

import { loadChat, saveTurn, type Chat, type Unsaved } from "../src/index.ts";

let asked = 0;
const fl = new Forklore(inject("url"), {
	token: "chats",
	fetch: async (...sent) => {
		asked++;
		return fetch(...sent);
	},
});
const said = (id: string, role: "user" | "assistant", text: string): UIMessage => ({
	id,
	role,
	parts: [{ type: "text", text }],
});
const shown = ({ messages, alternatives }: Chat): unknown[] =>
	messages.map(({ id, parts }) => [
		parts.map((part) => (part.type === "text" ? part.text : part.type)).join(),
		alternatives[id]?.indexOf(id) ?? "–",
		alternatives[id]?.length ?? 1,
	]);

test("a turn is one request, and the same messages again are none", async () => {
	const id = crypto.randomUUID();
	const chat = await loadChat(fl, id);
	expect(chat).toEqual({ id, messages: [], alternatives: {} });
	const turn = [said("q", "user", "May?"), said("a", "assistant", "Lisbon.")];
	asked = 0;
	await saveTurn(chat, turn);
	expect(asked).toBe(1);
	await saveTurn(chat, turn);
	await saveTurn(chat, [...turn, said("q2", "user", "And then?")]);
	expect(asked).toBe(2);
	const loaded = await loadChat(fl, id);
	expect(loaded.messages).toEqual([...turn, said("q2", "user", "And then?")]);
	asked = 0;
	await saveTurn(loaded, loaded.messages);
	expect(asked).toBe(0);
	expect(textOf(await fl.conversation(id).entryOf("a"))).toBe("Lisbon.");
});

test("an answer anew and an edit are branches, and each can be shown", async () => {
	const id = crypto.randomUUID();
	const question = said("q", "user", "May?");
	const chat = await loadChat(fl, id);
	await saveTurn(chat, [question, said("a1", "assistant", "Lisbon.")]);
	await saveTurn(chat, [question, said("a2", "assistant", "Porto.")]);
	const edited = said("q", "user", "June?"); // useChat keeps the id of what it replaces
	await saveTurn(chat, [edited]);
	await saveTurn(chat, [edited, said("a3", "assistant", "Faro.")]);
	await saveTurn(await loadChat(fl, id), [
		edited,
		said("a3", "assistant", "Faro."),
		said("q4", "user", "Why?"),
	]);

	const current = await loadChat(fl, id);
	expect(shown(current)).toEqual([
		["June?", 1, 2],
		["Faro.", "–", 1],
		["Why?", "–", 1],
	]);
	const before = await loadChat(fl, id, { through: "q" });
	expect(shown(before)).toEqual([
		["May?", 0, 2],
		["Porto.", 1, 2],
	]);
	const first = await loadChat(fl, id, { through: "a1" });
	expect(shown(first)).toEqual([
		["May?", 0, 2],
		["Lisbon.", 0, 2],
	]);
	expect(await loadChat(fl, id, { through: "a3" })).toEqual(current);
	expect(await loadChat(fl, id, { through: "nowhere" })).toEqual(current);
	expect(JSON.parse(JSON.stringify(current))).toEqual(current);
	await saveTurn(current, [...current.messages, said("q6", "user", "When?")]);
	expect(shown(await loadChat(fl, id))).toEqual([...shown(current), ["When?", "–", 1]]);
	await saveTurn(first, [...first.messages, said("q5", "user", "And Sintra?")]);
	expect(shown(await loadChat(fl, id)).at(-1)).toEqual(["And Sintra?", "–", 1]);
});

test("an answer of a model that failed is left out; a tool's result is kept with the question behind it", async () => {
	const id = crypto.randomUUID();
	const chat = await loadChat(fl, id);
	const question = said("q", "user", "May?");
	await saveTurn(chat, [question, { id: "failed", role: "assistant", parts: [] }]);
	expect((await loadChat(fl, id)).messages).toEqual([question]);
	await saveTurn(chat, [question, said("a", "assistant", "Lisbon?")]);
	const talk = [question, said("a", "assistant", "Lisbon."), said("q2", "user", "And then?")];
	await saveTurn(chat, talk);
	expect((await loadChat(fl, id)).messages).toEqual(talk);
});

test("a part that is too large keeps no answer from being stored, in this turn and in those that follow", async () => {
	const id = crypto.randomUUID();
	const photo = said("q", "user", "x".repeat(2_600_000));
	const talk = [photo, said("a", "assistant", "A cat.")];
	const told: unknown[] = [];
	const onUnsaved = (unsaved: Unsaved[]): void => {
		told.push(unsaved.map(({ message, error }) => [message.id, (error as Error).name]));
	};
	const chat = await loadChat(fl, id);
	await expect(saveTurn(chat, [photo], { onUnsaved })).rejects.toThrow(TooLargeError);
	await expect(saveTurn(chat, talk, { onUnsaved })).rejects.toThrow(TooLargeError);
	expect(told).toEqual([[["q", "TooLargeError"]], [["q", "TooLargeError"]]]);
	talk.push(said("q2", "user", "What breed?"));
	const next = await loadChat(fl, id); // the next request of the page
	await expect(saveTurn(next, talk)).rejects.toThrow(TooLargeError);
	talk.push(said("a2", "assistant", "Siamese."));
	await saveTurn(next, talk);
	expect((await loadChat(fl, id)).messages).toEqual(talk.slice(1));
	await expect(saveTurn(chat, [photo, said("b", "assistant", "A dog.")])).rejects.toThrow(TooLargeError);
	expect(shown(await loadChat(fl, id))).toEqual([["A dog.", 1, 2]]);
});

test("what was not stored is stored once with the next turn, also an edit and what an answer went on with", async () => {
	const id = crypto.randomUUID();
	const question = said("q", "user", "May?");
	await saveTurn(await loadChat(fl, id), [question, said("a", "assistant", "Lisbon")]);
	let isOff = false;
	const failing = new Forklore(inject("url"), {
		token: "chats",
		fetch: async (...sent) => (isOff ? new Response("{}", { status: 401 }) : fetch(...sent)),
	});
	const chat = await loadChat(failing, id);
	const going = [question, said("a", "assistant", "Lisbon, by train.")];
	const edited = [said("q", "user", "June?")];
	isOff = true;
	await expect(saveTurn(chat, [...going, said("q2", "user", "Why?")])).rejects.toThrow(UnauthorizedError);
	await expect(saveTurn(chat, edited)).rejects.toThrow(UnauthorizedError);
	isOff = false;
	await saveTurn(chat, [...edited, said("a3", "assistant", "Faro.")]);
	expect(shown(await loadChat(fl, id))).toEqual([
		["June?", 1, 2],
		["Faro.", "–", 1],
	]);
	expect(shown(await loadChat(fl, id, { through: "q" }))).toEqual([
		["May?", 0, 2],
		["Lisbon, by train.", "–", 1],
		["Why?", "–", 1],
	]);
});

test("a message that a page inserts is stored, and begins a branch with what follows", async () => {
	const id = crypto.randomUUID();
	const [question, answer, next] = [
		said("q", "user", "May?"),
		said("a", "assistant", "Lisbon."),
		said("q2", "user", "Why?"),
	];
	await saveTurn(await loadChat(fl, id), [question, answer]);
	const note = said("n", "user", "By train.");
	const talk = [question, note, answer, next];
	await saveTurn(await loadChat(fl, id), talk);
	const texts = [
		["May?", "–", 1],
		["By train.", 1, 2],
		["Lisbon.", "–", 1],
		["Why?", "–", 1],
	];
	const chat = await loadChat(fl, id);
	expect(shown(chat)).toEqual(texts);
	asked = 0;
	await saveTurn(chat, talk); // the page has the ids of before
	await saveTurn(chat, chat.messages);
	expect(asked).toBe(0);
	expect((await loadChat(fl, id, { through: "a" })).messages).toEqual([question, answer]);
});

test("a message without an id, and a chat of somebody else's making, are refused", async () => {
	const chat = await loadChat(fl, crypto.randomUUID());
	await expect(saveTurn(chat, [said("", "assistant", "Lisbon.")])).rejects.toThrow("each message has an id");
	await expect(saveTurn({ ...chat }, [])).rejects.toThrow("loadChat");
});

test("what other programs write is shown, and what the page sends back of it is not stored again", async () => {
	const conversation = fl.conversation();
	await conversation.say("user", "By hand");
	await conversation.say("ai", "Indeed");
	const chat = await loadChat(fl, conversation.id);
	expect(shown(chat).map((one) => (one as unknown[])[0])).toEqual(["By hand", "Indeed"]);
	await saveTurn(chat, [...chat.messages, said("q", "user", "Next")]);
	expect((await conversation.entries({ channel: "history" }).list()).map(textOf)).toEqual([
		"By hand",
		"Indeed",
		"Next",
	]);
});

type Part = Parameters<typeof simulateReadableStream>[0]["chunks"][number];
const usage = {
	inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
	outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finish = (unified: "stop" | "tool-calls"): Part => ({
	type: "finish",
	finishReason: { unified, raw: undefined },
	usage,
});

test("what the AI SDK streams is stored as it is: parts, a tool's call, approval and output, metadata", async () => {
	const id = crypto.randomUUID();
	const answers: Part[][] = [
		[
			{ type: "reasoning-start", id: "r" },
			{ type: "reasoning-delta", id: "r", delta: "Look it up." },
			{ type: "reasoning-end", id: "r" },
			{ type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Porto"}' },
			finish("tool-calls"),
		],
		[
			{ type: "text-start", id: "t" },
			{ type: "text-delta", id: "t", delta: "Sunny." },
			{ type: "text-end", id: "t" },
			finish("stop"),
		],
	];
	const model = new MockLanguageModelV4({
		doStream: () =>
			Promise.resolve({ stream: simulateReadableStream({ chunks: (answers.shift() ?? []) as never[] }) }),
	});
	const weather = tool({
		description: "The weather",
		inputSchema: z.object({ city: z.string() }),
		execute: ({ city }) => ({ city, degrees: 21.5 }),
	});
	/** Answer as a route handler does; return what the page has then. */
	const answer = async (messages: UIMessage[]): Promise<UIMessage[]> => {
		const chat = await loadChat(fl, id);
		const result = streamText({
			model,
			messages: await convertToModelMessages(messages),
			tools: { weather },
			toolApproval: { weather: "user-approval" },
		});
		const stream = toUIMessageStream({
			stream: result.stream,
			originalMessages: messages,
			generateMessageId: () => crypto.randomUUID(),
			messageMetadata: ({ part }) =>
				part.type === "finish" ? { tokens: part.totalUsage.totalTokens } : undefined,
			onEnd: ({ messages: whole }) => saveTurn(chat, whole, { usage: result.usage }),
		}) as unknown as ReadableStream<UIMessageChunk>;
		const last = messages.at(-1);
		const begun = last?.role === "assistant" ? structuredClone(last) : undefined;
		const shown: UIMessage[] = [];
		for await (const one of readUIMessageStream({ stream, ...(begun && { message: begun }) }))
			shown.push(one);
		return [...(begun ? messages.slice(0, -1) : messages), ...shown.slice(-1)];
	};
	const asking = await answer([said("q", "user", "Weather in Porto?")]);
	expect((await loadChat(fl, id)).messages).toEqual(asking);
	const call = asking[1]?.parts.find((part) => part.type === "tool-weather");
	expect(call).toMatchObject({ state: "approval-requested", input: { city: "Porto" } });

	const approved = structuredClone(asking);
	for (const part of approved[1]?.parts ?? []) {
		const { approval } = part as { approval?: { id: string } };
		if (approval)
			Object.assign(part, { state: "approval-responded", approval: { ...approval, approved: true } });
	}
	const done = await answer(approved);
	const stored = (await loadChat(fl, id)).messages;
	expect(stored).toEqual(done);
	expect(stored).toHaveLength(2);
	expect(stored[1]?.parts.at(-1)).toMatchObject({ type: "text", text: "Sunny." });
	expect(stored[1]?.metadata).toEqual({ tokens: 5 });
	expect(stored[1]?.parts.find((part) => part.type === "tool-weather")).toMatchObject({
		state: "output-available",
		output: { degrees: 21.5 },
	});
	const { entries } = await fl.conversation(id).tree();
	const cost = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0 }; // of each call of the model
	expect(entries.map((one) => one.usage)).toEqual([undefined, cost, cost]);
});

test("an answer whose cost is never told is stored without it", async () => {
	const id = crypto.randomUUID();
	const talk = [said("q", "user", "May?"), said("a", "assistant", "In May.")];
	await saveTurn(await loadChat(fl, id), talk, { usage: new Promise(() => undefined) });
	expect((await loadChat(fl, id)).messages).toEqual(talk);
});

test("an answer that is cut off does not look whole, and one whose reader has gone is stored whole", async () => {
	/** A model that says some words and then fails, if that is asked for. */
	const speaking = (words: string[], fails: boolean): MockLanguageModelV4 => {
		const chunks: Part[] = [
			{ type: "text-start", id: "t" },
			...words.map((delta): Part => ({ type: "text-delta", id: "t", delta })),
			...(fails
				? [{ type: "error", error: new Error("overloaded") } as const]
				: [{ type: "text-end", id: "t" } as const, finish("stop")]),
		];
		return new MockLanguageModelV4({
			doStream: () => Promise.resolve({ stream: simulateReadableStream({ chunks: chunks as never[] }) }),
		});
	};
	const answer = async (id: string, model: MockLanguageModelV4): Promise<Response> => {
		const question = said("q", "user", "May?");
		const chat = await loadChat(fl, id);
		const result = streamText({
			model,
			messages: await convertToModelMessages([question]),
			onError: () => undefined,
		});
		const stream = toUIMessageStream({
			stream: result.stream,
			originalMessages: [question],
			generateMessageId: () => "a",
			onEnd: ({ messages }) => saveTurn(chat, messages, { usage: result.usage }),
		});
		return createUIMessageStreamResponse({ stream, consumeSseStream: consumeStream });
	};
	const [failed, left] = [crypto.randomUUID(), crypto.randomUUID()];
	await (await answer(failed, speaking(["Lisbon, ", "because"], true))).text();
	const [, half] = (await loadChat(fl, failed)).messages;
	expect(half?.parts.at(-1)).toEqual({ type: "text", text: "Lisbon, because", state: "streaming" });
	expect(textOf(await fl.conversation(failed).entryOf("a"))).toBe("Lisbon, because\n\n[…]");

	const reader = (await answer(left, speaking(["Lisbon, ", "by train."], false))).body?.getReader();
	await reader?.read();
	await reader?.cancel();
	await expect
		.poll(async () =>
			textOf(
				await fl
					.conversation(left)
					.entryOf("a")
					.catch(() => undefined),
			),
		)
		.toBe("Lisbon, by train.");
});
