// Streams of answers that survive their page: the store of `assistant-stream/resumable`, kept as answers in forklore.

import {
	ResumableStreamError,
	type ResumableStreamAcquisition,
	type ResumableStreamLease,
	type ResumableStreamStore,
} from "assistant-stream/resumable";

import { ConflictError, NotFoundError, type AnswerLog, type Forklore } from "@forklore/client";
import {
	answerOf,
	AnswerWriter,
	dropAnswer,
	isEnded,
	newIdOf,
	paused,
	type ChatAnswer,
} from "@forklore/client/chat";

/** A stream that is written in this process. error: why it is not recorded any more. */
interface Writing {
	writer: AnswerWriter;
	decoder: TextDecoder;
	error: unknown;
	isFinal: boolean;
}

/** The last piece of a stream. */
export interface End {
	end: "done" | "error";
	error?: string;
}

const UNTIL_STORED_MS = 500;

/** How streams are kept. conversationOf: the thread of a stream; without it what stands before the first colon. */
export interface StreamStoreOptions {
	conversationOf?: ((streamId: string) => string) | undefined;
}

/** Return the id of the answer that a stream is. n: how often it was deleted, as no id can be used again. */
export const answerIdOf = async (conversationId: string, streamId: string, n = 0): Promise<string> =>
	newIdOf(conversationId, `${streamId} ${n}`);

/**
 * Return a store of streams of text for `createResumableStreamContext`, in the thread's conversation.
 *
 * A stream's id is `${remoteId}:${messageId}`, of the message that it becomes. A thread has one stream at a time. Its
 * history, with `answers`, ends it with that message. It is gone after a day.
 */
export function resumableStreamStore(
	fl: Forklore,
	{ conversationOf = (id) => id.split(":", 1)[0] ?? "" }: StreamStoreOptions = {},
): Required<ResumableStreamStore> {
	const written = new Map<string, Writing>();
	const leases = new Map<string, string>();

	const answerAt = async (streamId: string, n: number): Promise<ChatAnswer> => {
		const conversationId = conversationOf(streamId);
		return { conversationId, id: await answerIdOf(conversationId, streamId, n) };
	};
	/** Return the log of a stream, from a position on; undefined if there is none. */
	const logOf = async (streamId: string): Promise<AnswerLog | undefined> => {
		for (let n = 0; ; n++) {
			const { id: answerId, conversationId } = await answerAt(streamId, n);
			const log = await fl.api.getAnswer({ conversationId, answerId }).catch((error: unknown) => {
				if (error instanceof NotFoundError) return undefined;
				throw error;
			});
			if (log?.state !== "dropped") return log;
		}
	};
	const acquireLease = async (streamId: string): Promise<ResumableStreamAcquisition> => {
		for (let n = 0; ;) {
			const { id, conversationId } = await answerAt(streamId, n);
			try {
				const writing: Partial<Writing> = { decoder: new TextDecoder(), error: undefined, isFinal: false };
				const onError = (error: unknown): void => {
					writing.error = error;
				};
				writing.writer = await AnswerWriter.begin(fl.api, { conversationId, id }, { onError });
				written.set(id, writing as Writing);
				leases.set(streamId, id);
				return { role: "producer", lease: { token: id } };
			} catch (error) {
				const { reason, details } = error instanceof ConflictError ? error : {};
				if (reason === "answer_in_progress" && details?.["answerId"] === id) return { role: "consumer" };
				if (reason === "answer_in_progress" && details?.["state"] === "stopped") {
					await paused(UNTIL_STORED_MS); // a page is about to store it; after 30 s it counts no more
					continue;
				}
				if (reason !== "id_in_use") throw error;
			}
			const { state } = await fl.api.getAnswer({ conversationId, answerId: id });
			if (state !== "dropped") return { role: "consumer" };
			n++;
		}
	};
	/** Return what writes a stream here; undefined if nothing does, or for a lease that is not the last one. */
	const writingOf = (streamId: string, lease?: ResumableStreamLease): Writing | undefined =>
		written.get(lease?.token ?? leases.get(streamId) ?? "");

	return {
		acquireLease,
		async acquire(streamId) {
			return (await acquireLease(streamId)).role;
		},
		async append(streamId, chunk, lease) {
			const writing = writingOf(streamId, lease);
			if (writing?.isFinal)
				throw new ResumableStreamError("finalized", `Stream already finalized: ${streamId}`);
			if (writing?.error !== undefined) throw writing.error as Error;
			if (writing === undefined || writing.writer.signal.aborted)
				throw new ResumableStreamError("missing", `Stream not found, or stopped: ${streamId}`);
			const text = writing.decoder.decode(chunk, { stream: true });
			if (text !== "") writing.writer.write(text);
			return Promise.resolve();
		},
		async finalize(streamId, status, error, lease) {
			const writing = writingOf(streamId, lease);
			if (writing === undefined || writing.isFinal) {
				if ((await logOf(streamId)) === undefined) throw new Error(`Stream not found: ${streamId}`);
				return false;
			}
			const { writer } = writing;
			writing.isFinal = true;
			writer.write({ end: status, ...(error !== undefined && { error }) } satisfies End);
			await writer.close();
			const { conversationId, id: answerId } = writer;
			try {
				await fl.api.stopAnswer({ conversationId, answerId });
			} catch (failed) {
				if (!isEnded(failed)) throw failed;
				return false;
			}
			return true;
		},
		async *read(streamId, cursor, signal) {
			const found = await logOf(streamId);
			if (found === undefined) throw new Error(`Stream not found: ${streamId}`);
			const [position = 1, index = -1] = cursor === "" ? [] : cursor.split(".").map(Number);
			const encoder = new TextEncoder();
			try {
				for await (const { parts, state } of answerOf(fl.api, found, { after: position - 1, signal })) {
					for (const part of parts) {
						for (const [at, piece] of part.content.entries()) {
							if (typeof piece !== "string") {
								const { end, error } = piece as End;
								if (end === "error") throw new Error(error ?? "Stream errored");
							} else if (part.position > position || at > index)
								yield { cursor: `${part.position}.${at}`, chunk: encoder.encode(piece) };
						}
					}
					if (state === "silent") throw new Error(`Nobody writes the stream any more: ${streamId}`);
					if (state !== "open") return;
				}
			} catch (error) {
				if (!signal.aborted) throw error;
			}
		},
		async status(streamId) {
			const log = await logOf(streamId);
			if (log === undefined) return "missing";
			const last = log.parts.at(-1)?.content.at(-1) as Partial<End> | undefined;
			if (log.state === "silent" || last?.end === "error") return "error";
			return log.state === "open" ? "streaming" : "done";
		},
		async delete(streamId) {
			await writingOf(streamId)?.writer.close();
			const log = await logOf(streamId);
			if (log !== undefined) await dropAnswer(fl.api, log);
		},
	};
}
