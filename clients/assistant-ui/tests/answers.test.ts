// Answers that a server writes: pages of the real runtime show them, and store each once.

import type { ChatModelAdapter, ThreadMessage } from "@assistant-ui/core";
import { CompositeContextProvider, LocalThreadRuntimeCore } from "@assistant-ui/core/internal";
import { AssistantMessageStream, AssistantStream, DataStreamDecoder } from "assistant-stream";
import {
	createResumableAssistantStreamResponse,
	createResumableStreamContext,
} from "assistant-stream/resumable";
import { expect, inject, test } from "vitest";

import { Forklore, textOf } from "@forklore/client";
import { AnswerWriter } from "@forklore/client/chat";

import { eventually } from "../../typescript/tests/support/eventually.ts";
import { historyAdapter, resumableStreamStore, stopAnswer, streamId } from "../src/index.ts";
import { textOfParts } from "../src/messages.ts";

const fl = new Forklore(inject("url"), { token: "answers" });
const WORDS = 60;
const counted = Array.from({ length: WORDS }, (_, at) => `${at + 1} `).join("");

/** Answer a question as an application's server does: the answer goes on when the page has gone. */
const answered = async (id: string): Promise<Response> =>
	createResumableAssistantStreamResponse({
		context: createResumableStreamContext({ store: resumableStreamStore(fl), onError: () => undefined }),
		streamId: id,
		async callback(controller) {
			for (let word = 1; word <= WORDS; word++) {
				controller.appendText(`${word} `);
				await new Promise((resolve) => setTimeout(resolve, 40));
			}
		},
	});

/** Open a page on a thread, with the real runtime. */
async function opened(thread: string): Promise<LocalThreadRuntimeCore> {
	const chatModel: ChatModelAdapter = {
		// eslint-disable-next-line @typescript-eslint/no-deprecated -- there are no other names for the place yet
		async *run({ unstable_assistantMessageId: message = "", unstable_parentId: parent = null }) {
			const { body } = await answered(streamId({ thread, parent, message }));
			if (body === null) return;
			const stream = AssistantStream.fromByteStream(body, new DataStreamDecoder());
			for await (const { parts: content } of AssistantMessageStream.fromAssistantStream(stream))
				yield { content };
		},
	};
	const history = historyAdapter(fl, thread, { answers: true });
	const runtime = new LocalThreadRuntimeCore(new CompositeContextProvider(), {
		adapters: { chatModel, history },
	});
	await runtime.__internal_load();
	return runtime;
}

function ask(
	runtime: LocalThreadRuntimeCore,
	text: string,
	parentId = runtime.messages.at(-1)?.id ?? null,
): void {
	const content = [{ type: "text" as const, text }];
	const message = { role: "user" as const, content, attachments: [], metadata: { custom: {} } };
	const said = { ...message, createdAt: new Date(), parentId, sourceId: null, runConfig: {}, startRun: true };
	void runtime.append(said);
}

const shown = ({ messages }: { messages: readonly ThreadMessage[] }): string[] =>
	messages.map(({ content }) => textOfParts(content));
/** Return what is stored of a thread, in all branches. */
const stored = async (remoteId: string): Promise<(string | undefined)[]> =>
	(await fl.conversation(remoteId).tree()).entries.map(textOf);

test("a page that comes in the middle shows the whole answer, and it is stored once, with what follows", async () => {
	const { id } = await fl.create();
	const page = await opened(id);
	ask(page, "Count");
	await eventually(() => {
		expect(shown(page).at(-1)).toMatch(/^1 2 3 4 /);
	});
	const others = [await opened(id), await opened(id)];
	for (const one of [page, ...others]) {
		await eventually(() => {
			expect(shown(one)).toEqual(["Count", counted]);
			expect(one.messages.at(-1)?.status).toMatchObject({ type: "complete" });
		});
	}
	await eventually(async () => {
		expect(await stored(id)).toEqual(["Count", counted]);
	});
	for (const one of others) {
		ask(one, "Again");
		await eventually(() => {
			expect(shown(one)).toEqual(["Count", counted, "Again", counted]);
			expect(one.messages.at(-1)?.status).toMatchObject({ type: "complete" });
		});
	}
	await eventually(async () => {
		expect(await stored(id)).toEqual(["Count", counted, "Again", counted, "Again", counted]);
	});
	expect(shown(await opened(id))).toEqual(["Count", counted, "Again", counted]);
});

test("an answer whose page has gone is there for the next one, also if it was stopped", async () => {
	const { id } = await fl.create();
	const page = await opened(id);
	ask(page, "Count");
	await eventually(() => {
		expect(shown(page).at(-1)).toMatch(/^1 2 3 4 /);
	});
	page.detach();
	await eventually(async () => {
		expect(shown(await opened(id)).length).toBeGreaterThan(0);
	});
	const other = await opened(id);
	expect(await stopAnswer(fl, id)).toBe(true);
	await eventually(() => {
		expect(other.messages.at(-1)?.status?.type).not.toBe("running");
	});
	const [, text = ""] = shown(other);
	expect(counted.startsWith(text)).toBe(true);
	await eventually(async () => {
		expect(await stored(id)).toEqual(["Count", text]);
	});
});

test("the answer to an edited question, and another answer, stand behind that question", async () => {
	const { id } = await fl.create();
	const page = await opened(id);
	ask(page, "May?");
	await eventually(async () => {
		expect(await stored(id)).toEqual(["May?", counted]);
	});
	ask(page, "June?", null);
	await eventually(() => {
		expect(shown(page).at(-1)).toMatch(/^1 2 3 4 /);
	});
	const other = await opened(id);
	for (const one of [page, other]) {
		await eventually(() => {
			expect(shown(one)).toEqual(["June?", counted]);
			expect(one.messages.at(-1)?.status).toMatchObject({ type: "complete" });
		});
	}
	ask(other, "And then?");
	await eventually(() => {
		expect(shown(other)).toEqual(["June?", counted, "And then?", counted]);
		expect(other.messages.at(-1)?.status).toMatchObject({ type: "complete" });
	});
	expect(shown(await opened(id))).toEqual(["June?", counted, "And then?", counted]);
	expect(await stored(id)).toEqual(["May?", counted, "June?", counted, "And then?", counted]);
	const [parentId = null, sourceId = null] = other.messages.slice(-2).map((message) => message.id);
	void other.startRun({ parentId, sourceId, runConfig: {} });
	await eventually(async () => {
		expect(await stored(id)).toEqual(["May?", counted, "June?", counted, "And then?", counted, counted]);
	});
	const last = await opened(id);
	expect(shown(last)).toEqual(["June?", counted, "And then?", counted]);
	expect(last.getBranches(last.messages.at(-1)?.id ?? "")).toHaveLength(2);
});

test("an answer that no server streams is stored by its page, for one request more", async () => {
	const asked: string[] = [];
	const counting = new Forklore(inject("url"), {
		token: "answers",
		fetch: async (url, init) => {
			asked.push(`${init?.method} ${(url as string).replace(/.*v1/, "").replace(/[0-9a-f-]{36}/g, "…")}`);
			return fetch(url, init);
		},
	});
	const history = historyAdapter(counting, crypto.randomUUID(), { answers: true });
	const content = [{ type: "text" as const, text: "May?" }];
	const common = { createdAt: new Date(), content, metadata: { custom: {} } };
	await history.append({ parentId: null, message: { ...common, id: "q", role: "user", attachments: [] } });
	asked.length = 0;
	const metadata = {
		unstable_state: null,
		unstable_annotations: [],
		unstable_data: [],
		steps: [],
		custom: {},
	};
	const status = { type: "complete", reason: "stop" } as const;
	const answer = { ...common, id: "a", role: "assistant", metadata, status } as const;
	await history.append({ parentId: "q", message: answer });
	expect(asked).toEqual(["GET /conversations/…/answers/…", "POST /conversations/…/entries"]);
	asked.length = 0;
	const rated = { ...metadata, submittedFeedback: { type: "positive" as const } };
	await history.update({ parentId: "q", message: { ...answer, metadata: rated } });
	expect(asked).toEqual(["POST /conversations/…/entries"]);
});

test("a stream is begun before its thread, and stored without a page", async () => {
	const thread = crypto.randomUUID();
	const place = { thread, parent: "q", message: "a" };
	const response = answered(streamId(place));
	const history = historyAdapter(fl, thread, { answers: true });
	const content = [{ type: "text" as const, text: "Count" }];
	const message = { id: "q", role: "user" as const, createdAt: new Date(), content, attachments: [] };
	await history.append({ parentId: null, message: { ...message, metadata: { custom: {} } } });
	await (await response).body?.cancel();
	await eventually(async () => {
		expect(await stored(thread)).toEqual(["Count", counted]);
	});
	const { messages, headId } = await history.load();
	expect([headId, messages.map(({ message: { id } }) => id)]).toEqual(["a", ["q", "a"]]);
});

test("a stream takes the place of what another process has left, and of none that is written here", async () => {
	const { id: thread } = await fl.create();
	const { id: parent } = await fl.conversation(thread).say("user", "Count");
	const left = await AnswerWriter.begin(fl.api, { conversationId: thread });
	left.write("1 2 ");
	const store = resumableStreamStore(fl);
	const [first, second] = [
		streamId({ thread, parent, message: "a" }),
		streamId({ thread, parent, message: "b" }),
	];
	expect(await store.acquire(first)).toBe("producer");
	left.write("3 ");
	await left.close();
	expect(left.signal.reason).toMatchObject({ reason: "answer_over" });
	await expect(resumableStreamStore(fl).acquire(second)).rejects.toMatchObject({
		reason: "answer_in_progress",
	});
	await store.append(first, new TextEncoder().encode('0:"One, two."\n'));
	await store.finalize(first, "done");
	expect(await stored(thread)).toEqual(["Count", "One, two."]);
	expect(await resumableStreamStore(fl).acquire(second)).toBe("producer");
	await store.delete(second);
});

test("what another program writes is resumed, though it looks like a stream of assistant-ui", async () => {
	const { id: thread } = await fl.create();
	const chat = fl.conversation(thread);
	await chat.say("user", "May?");
	const writer = await AnswerWriter.begin(fl.api, { conversationId: thread });
	writer.write("Note: bring a coat.");
	const page = await opened(thread);
	await writer.close();
	await eventually(() => {
		expect(shown(page)).toEqual(["May?", "Note: bring a coat."]);
	});
	await chat.say("ai", "Note: bring a coat.", { answerId: writer.id });
	await eventually(() => {
		expect(page.messages.at(-1)?.status).toMatchObject({ type: "complete" });
	});
	ask(page, "And a hat?");
	await eventually(async () => {
		expect(await stored(thread)).toEqual(["May?", "Note: bring a coat.", "And a hat?", counted]);
	});
	expect(shown(await opened(thread))).toHaveLength(4);
});
