// What a page shows of an answer that is written elsewhere.

import type { ChatModelRunResult } from "@assistant-ui/core";
import {
	AssistantMessageStream,
	AssistantStream,
	DataStreamDecoder,
	PlainTextDecoder,
	UIMessageStreamDecoder,
} from "assistant-stream";

import type { AnswerLog } from "@forklore/client";

type Logged = Pick<AnswerLog, "parts" | "state">;

const COMPLETE = { type: "complete", reason: "unknown" } as const;
const CUT_OFF = { type: "incomplete", reason: "cancelled" } as const;

/** Yield what a run of the model has got, from its beginning, whenever it has got more, and last how it has ended. */
export async function* resultsOf(
	logs: AsyncIterable<Logged> | Iterable<Logged>,
): AsyncGenerator<ChatModelRunResult, void, undefined> {
	let status: ChatModelRunResult["status"] = CUT_OFF;
	let isEnded = false;
	const texts = (async function* (): AsyncGenerator<string, void, undefined> {
		for await (const { parts, state } of logs) {
			if (state === "finished" && !isEnded) status = COMPLETE; // by another program
			for (const piece of parts.flatMap(({ content }) => content)) {
				if (typeof piece === "string") {
					yield piece;
					continue;
				}
				const { end, error = null } = piece as { end?: string; error?: string | null };
				if (end === undefined) continue;
				isEnded = true;
				status = end === "done" ? COMPLETE : { type: "incomplete", reason: "error", error };
			}
		}
	})();
	const head = await texts.next();
	if (head.done === true) return;
	const first = head.value;
	const encoder = new TextEncoder();
	let failure: Error | undefined;
	const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>({
		start(to) {
			to.enqueue(encoder.encode(first));
		},
		async pull(to) {
			try {
				const next = await texts.next();
				if (next.done === true) to.close();
				else to.enqueue(encoder.encode(next.value));
			} catch (error) {
				failure = error as Error;
				throw error;
			}
		},
	});
	const stream = AssistantStream.fromByteStream(bytes, decoderOf(first));
	let last: ChatModelRunResult = {};
	try {
		for await (const { parts: content, metadata } of AssistantMessageStream.fromAssistantStream(stream)) {
			last = { content, metadata };
			yield last;
		}
	} catch (error) {
		if (failure !== undefined) throw failure;
		status = { type: "incomplete", reason: "error", error: String(error) }; // it ends within a piece
	}
	yield { ...last, status };
}

/** Return what reads a stream: of the AI SDK, of assistant-ui, or a plain text, which may begin like "Note: …". */
function decoderOf(first: string): DataStreamDecoder | PlainTextDecoder | UIMessageStreamDecoder {
	if (first.startsWith("data: ")) return new UIMessageStreamDecoder();
	return /^(?:[0-9a-z]|aui-[a-z-]+):[[{"]/.test(first) ? new DataStreamDecoder() : new PlainTextDecoder();
}
