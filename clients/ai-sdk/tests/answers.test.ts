// Answers while they are written: shown to other pages, stopped, ended for who is gone, and stored once.

import {
	createUIMessageStreamResponse,
	simulateReadableStream,
	streamText,
	toUIMessageStream,
	type UIMessage,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, inject, test } from "vitest";

import { Forklore } from "@forklore/client";
import { AnswerWriter } from "@forklore/client/chat";

import { eventually } from "../../typescript/tests/support/eventually.ts";
import { beginAnswer, loadChat, resumeAnswer, saveTurn, stopAnswer, type Chat } from "../src/index.ts";

const client = (options: object = {}): Forklore =>
	new Forklore(inject("url"), { token: "answers", ...options });
const fl = client();
const said = (id: string, role: "user" | "assistant", text: string): UIMessage => ({
	id,
	role,
	parts: [{ type: "text", text }],
});
const question = said("q", "user", "May?");
const texts = ({ messages }: Chat): string[] =>
	messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
const counted = (to: number): string => Array.from({ length: to }, (_, at) => ` ${at + 1}`).join("");

/** What a route handler does: a model counts, every few milliseconds. Return the page's stream. */
async function answered(
	by: Forklore,
	id: string,
	{ to = 100, onError }: { to?: number; onError?: (error: unknown) => void } = {},
): Promise<Response> {
	const usage = {
		inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
		outputTokens: { total: 1, text: 1, reasoning: 0 },
	};
	const model = new MockLanguageModelV4({
		doStream: () => {
			const chunks = [
				{ type: "text-start" as const, id: "t" },
				...Array.from({ length: to }, (_, at) => ({
					type: "text-delta" as const,
					id: "t",
					delta: ` ${at + 1}`,
				})),
				{ type: "text-end" as const, id: "t" },
				{ type: "finish" as const, finishReason: { unified: "stop" as const, raw: undefined }, usage },
			];
			return Promise.resolve({ stream: simulateReadableStream({ chunks, chunkDelayInMs: 20 }) });
		},
	});
	const messages = [question];
	const chat = await loadChat(by, id);
	await saveTurn(chat, messages);
	const answer = await beginAnswer(chat, messages, { onError });
	const result = streamText({ model, prompt: "May?", abortSignal: answer.signal });
	const stream = toUIMessageStream({
		stream: result.stream,
		originalMessages: messages,
		generateMessageId: () => crypto.randomUUID(),
		onEnd: ({ messages }) => answer.save(messages).catch(onError),
	});
	return createUIMessageStreamResponse({ stream, consumeSseStream: answer.record });
}

/** Return the text in a stream. */
async function textIn(response: Response): Promise<string> {
	const events = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: {"));
	const chunks = events.map((event) => JSON.parse(event.slice(6)) as { type: string; delta?: string });
	return chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
}

test("a page that comes in the middle gets the whole answer, which is stored once", async () => {
	const id = crypto.randomUUID();
	expect((await resumeAnswer(fl, id)).status).toBe(204);
	const own = textIn(await answered(fl, id));
	expect((await loadChat(fl, id)).messages).toEqual([question]);
	const others = [await resumeAnswer(fl, id), await resumeAnswer(client(), id)].map(textIn);
	expect(await Promise.all([own, ...others])).toEqual(Array.from({ length: 3 }, () => counted(100)));
	expect(texts(await loadChat(fl, id))).toEqual(["May?", counted(100)]);
	expect((await resumeAnswer(fl, id)).status).toBe(204);
	expect(await fl.conversation(id).entries().list()).toHaveLength(2);
});

test("an answer that a page has left comes to its end, and one that another page stops is stored as cut off", async () => {
	const [left, stopped] = [crypto.randomUUID(), crypto.randomUUID()];
	await (await answered(fl, left)).body?.cancel();
	const own = textIn(await answered(fl, stopped, { to: 1_000 }));
	await eventually(async () => {
		expect(await stopAnswer(client(), stopped)).toBe(true);
	});
	const shown = await textIn(await resumeAnswer(fl, stopped));
	const kept = await loadChat(fl, stopped);
	expect(texts(kept)).toEqual(["May?", await own]);
	expect((await own).startsWith(shown)).toBe(true);
	expect(kept.messages[1]?.parts.at(-1)).toMatchObject({ state: "streaming" });
	expect(await stopAnswer(fl, stopped)).toBe(false);
	await eventually(async () => {
		expect(texts(await loadChat(fl, left))).toEqual(["May?", counted(100)]);
	});
});

test("a store that fails in the middle breaks no page's stream, and the answer is saved when it is back", async () => {
	const id = crypto.randomUUID();
	let isOff = false;
	let lost = 0;
	const errors: unknown[] = [];
	const failing = client({
		retries: 0,
		fetch: async (...sent: Parameters<typeof fetch>) => {
			if (!isOff) return fetch(...sent);
			lost++;
			throw new Error("off");
		},
	});
	const response = await answered(failing, id, { to: 200, onError: (error) => errors.push(error) });
	isOff = true;
	const own = textIn(response);
	await eventually(() => {
		expect(lost).toBeGreaterThan(0);
	});
	isOff = false;
	expect(await own).toBe(counted(200));
	expect(texts(await loadChat(fl, id))).toEqual(["May?", counted(200)]);
	expect([errors, (await resumeAnswer(fl, id)).status]).toEqual([[], 204]);
});

test("a page shows the plain text that another program writes", async () => {
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id });
	writer.write("Lis", "bon.");
	const shown = textIn(await resumeAnswer(fl, chat.id));
	await writer.close();
	await chat.say("ai", "Lisbon.", { answerId: writer.id });
	expect([await shown, texts(await loadChat(fl, chat.id))]).toEqual(["Lisbon.", ["May?", "Lisbon."]]);
});

test("an answer while another one is written is not recorded, and both are stored", async () => {
	const id = crypto.randomUUID();
	const errors: unknown[] = [];
	const first = textIn(await answered(fl, id));
	const second = textIn(await answered(fl, id, { to: 50, onError: (error) => errors.push(error) }));
	expect(await Promise.all([first, second])).toEqual([counted(100), counted(50)]);
	expect(errors).toMatchObject([{ reason: "answer_in_progress" }]);
	const { entries } = await fl.conversation(id).tree();
	expect(entries).toHaveLength(3);
});

test("an answer that was left hides nothing once the chat has gone on, and one without a log is none", async () => {
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id });
	writer.write("Half an ans");
	await writer.close();
	const expired = client({
		fetch: async (...sent: Parameters<typeof fetch>) =>
			/\/answers\/[^/?]+(\?|$)/.test(sent[0] as string)
				? Response.json({ error: { code: "not_found", message: "no such answer" } }, { status: 404 })
				: fetch(...sent),
	});
	expect((await resumeAnswer(expired, chat.id)).status).toBe(204);
	expect(texts(await loadChat(fl, chat.id))).toEqual(["May?"]);
	for (const text of ["Yes.", "June?", "No."]) await chat.say("user", text);
	expect(texts(await loadChat(fl, chat.id))).toEqual(["May?", "Yes.", "June?", "No."]);
	expect((await resumeAnswer(fl, chat.id)).status).toBe(204);
	expect(await stopAnswer(fl, chat.id)).toBe(true);
});

test("an answer whose save fails for a moment stays recorded whole", async () => {
	const id = crypto.randomUUID();
	let isOff = false;
	const errors: unknown[] = [];
	const failing = client({
		retries: 0,
		fetch: async (...sent: Parameters<typeof fetch>) =>
			isOff && (sent[0] as string).endsWith("/entries")
				? Response.json({ error: { code: "unauthorized", message: "expired" } }, { status: 401 })
				: fetch(...sent),
	});
	const response = await answered(failing, id, { onError: (error) => errors.push(error) });
	isOff = true;
	expect(await textIn(response)).toBe(counted(100));
	await eventually(() => {
		expect(errors).toHaveLength(1);
	});
	const [found] = (await fl.conversation(id).forks().list()).map(({ answering }) => answering);
	const { parts } = await fl.api.getAnswer({ conversationId: id, answerId: found?.answerId ?? "" });
	expect(await textIn(new Response(parts.flatMap(({ content }) => content).join("")))).toBe(counted(100));
});
