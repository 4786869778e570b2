// Answers that a server writes: pages of the real runtime show them, and store each once.

import type { ChatModelAdapter, ThreadMessage } from "@assistant-ui/core";
import { CompositeContextProvider, LocalThreadRuntimeCore } from "@assistant-ui/core/internal";
import { AssistantMessageStream, AssistantStream, DataStreamDecoder } from "assistant-stream";
import {
	createResumableAssistantStreamResponse,
	createResumableStreamContext,
} from "assistant-stream/resumable";
import { expect, inject, test, vi } from "vitest";

import { Forklore, textOf } from "@forklore/client";

import { historyAdapter, resumableStreamStore, stopAnswer } from "../src/index.ts";
import { textOfParts } from "../src/messages.ts";

const fl = new Forklore(inject("url"), { token: "answers" });
const WORDS = 60;
const counted = Array.from({ length: WORDS }, (_, at) => `${at + 1} `).join("");

/** Answer a question as an application's server does: the answer goes on when the page has gone. */
const answered = async (remoteId: string, messageId: string): Promise<Response> =>
	createResumableAssistantStreamResponse({
		context: createResumableStreamContext({ store: resumableStreamStore(fl), onError: () => undefined }),
		streamId: `${remoteId}:${messageId}`,
		async callback(controller) {
			for (let word = 1; word <= WORDS; word++) {
				controller.appendText(`${word} `);
				await new Promise((resolve) => setTimeout(resolve, 40));
			}
		},
	});

/** Open a page on a thread, with the real runtime. */
async function opened(remoteId: string): Promise<LocalThreadRuntimeCore> {
	const chatModel: ChatModelAdapter = {
		// eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other name for the message yet
		async *run({ unstable_assistantMessageId: messageId = "" }) {
			const { body } = await answered(remoteId, messageId);
			if (body === null) return;
			const stream = AssistantStream.fromByteStream(body, new DataStreamDecoder());
			for await (const { parts: content } of AssistantMessageStream.fromAssistantStream(stream))
				yield { content };
		},
	};
	const history = historyAdapter(fl, remoteId, { answers: true });
	const runtime = new LocalThreadRuntimeCore(new CompositeContextProvider(), {
		adapters: { chatModel, history },
	});
	await runtime.__internal_load();
	return runtime;
}

function ask(runtime: LocalThreadRuntimeCore, text: string): void {
	const parentId = runtime.messages.at(-1)?.id ?? null;
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
const waited = async (check: () => unknown): Promise<void> => {
	await vi.waitFor(check, { timeout: 30_000 });
};

test("a page that comes in the middle shows the whole answer, and it is stored once, with what follows", async () => {
	const { id } = await fl.create();
	const page = await opened(id);
	ask(page, "Count");
	await waited(() => {
		expect(shown(page).at(-1)).toMatch(/^1 2 3 4 /);
	});
	const others = [await opened(id), await opened(id)];
	for (const one of [page, ...others]) {
		await waited(() => {
			expect(shown(one)).toEqual(["Count", counted]);
			expect(one.messages.at(-1)?.status).toMatchObject({ type: "complete" });
		});
	}
	await waited(async () => {
		expect(await stored(id)).toEqual(["Count", counted]);
	});
	for (const one of others) {
		ask(one, "Again");
		await waited(() => {
			expect(shown(one)).toEqual(["Count", counted, "Again", counted]);
			expect(one.messages.at(-1)?.status).toMatchObject({ type: "complete" });
		});
	}
	await waited(async () => {
		expect(await stored(id)).toEqual(["Count", counted, "Again", counted, "Again", counted]);
	});
	expect(shown(await opened(id))).toEqual(["Count", counted, "Again", counted]);
});

test("an answer whose page has gone is there for the next one, also if it was stopped", async () => {
	const { id } = await fl.create();
	const page = await opened(id);
	ask(page, "Count");
	await waited(() => {
		expect(shown(page).at(-1)).toMatch(/^1 2 3 4 /);
	});
	page.detach();
	await waited(async () => {
		expect(shown(await opened(id)).length).toBeGreaterThan(0);
	});
	const other = await opened(id);
	expect(await stopAnswer(fl, id)).toBe(true);
	await waited(() => {
		expect(other.messages.at(-1)?.status?.type).not.toBe("running");
	});
	const [, text = ""] = shown(other);
	expect(counted.startsWith(text)).toBe(true);
	await waited(async () => {
		expect(await stored(id)).toEqual(["Count", text]);
	});
});
