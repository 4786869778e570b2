// What a page shows of an answer that is written elsewhere.

import type { ChatModelRunResult } from "@assistant-ui/core";
import {
	AssistantMessageStream,
	AssistantStream,
	DataStreamDecoder,
	PlainTextDecoder,
	UIMessageStreamDecoder,
} from "assistant-stream";

import type { Forklore } from "@forklore/client";
import { answerOf, type ChatAnswer } from "@forklore/client/chat";

import type { End } from "./streams.ts";

/** Yield what a run of the model has got, from its beginning, whenever it has got more. Cancelled, it is stopped. */
export async function* resultsOf(
	fl: Forklore,
	answer: ChatAnswer,
	signal: AbortSignal,
): AsyncGenerator<ChatModelRunResult, void, undefined> {
	const { id: answerId, conversationId } = answer;
	const stop = (): void => {
		const { detach = false } = (signal.reason ?? {}) as { detach?: boolean };
		if (!detach) fl.api.stopAnswer({ conversationId, answerId }).catch(() => undefined); // it has ended
	};
	signal.addEventListener("abort", stop, { once: true });
	let status: ChatModelRunResult["status"] = { type: "complete", reason: "unknown" };
	const texts = (async function* (): AsyncGenerator<string, void, undefined> {
		for await (const { parts, state } of answerOf(fl.api, answer, { signal })) {
			for (const piece of parts.flatMap(({ content }) => content)) {
				if (typeof piece === "string") yield piece;
				else if ((piece as End).end === "error")
					status = { type: "incomplete", reason: "error", error: (piece as End).error ?? null };
			}
			if (state === "silent")
				status = { type: "incomplete", reason: "error", error: "nobody writes it any more" };
			if (state !== "open") return;
		}
	})();
	try {
		const head = await texts.next();
		if (head.done === true) return;
		const first = head.value;
		const encoder = new TextEncoder();
		const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>({
			start(to) {
				to.enqueue(encoder.encode(first));
			},
			async pull(to) {
				const next = await texts.next();
				if (next.done === true) to.close();
				else to.enqueue(encoder.encode(next.value));
			},
		});
		const stream = AssistantStream.fromByteStream(bytes, decoderOf(first));
		let last: ChatModelRunResult = {};
		for await (const { parts: content, metadata } of AssistantMessageStream.fromAssistantStream(stream)) {
			last = { content, metadata };
			yield last;
		}
		yield { ...last, status };
	} finally {
		signal.removeEventListener("abort", stop);
	}
}

/** Return what reads a stream: of the AI SDK, of assistant-ui, or a plain text. */
function decoderOf(first: string): DataStreamDecoder | PlainTextDecoder | UIMessageStreamDecoder {
	if (first.startsWith("data: ")) return new UIMessageStreamDecoder();
	return /^\w+:/.test(first) ? new DataStreamDecoder() : new PlainTextDecoder();
}
