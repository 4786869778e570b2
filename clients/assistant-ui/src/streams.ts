// Streams of answers that survive their page: the store of `assistant-stream/resumable`, kept as answers in forklore.

import type { ChatModelRunResult } from "@assistant-ui/core";
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
	ChatFiles,
	ChatStore,
	dropAnswer,
	isEnded,
	newIdOf,
	type ChatAnswer,
} from "@forklore/client/chat";

import { messageOf } from "./messages.ts";
import { resultsOf } from "./results.ts";

/** Where a stream stands. thread: its remote id. parent: the message before it. message: the one that it becomes. */
export interface StreamPlace {
	thread: string;
	parent: string | null;
	message: string;
}

/** A stream that is written in this process. error: why it is not recorded any more. */
interface Writing {
	place: StreamPlace;
	writer: AnswerWriter;
	decoder: TextDecoder;
	error?: unknown;
}

/** The answers that this process writes, by whichever store. */
const alive = new Set<string>();
const QUESTION_WAIT_MS = 10_000;
const QUESTION_PAUSE_MS = 200;
const STOPPED_MS = 3_000; // then nobody ends it any more

/** Return the id of the stream that stands in a place. */
export const streamId = ({ thread, parent, message }: StreamPlace): string =>
	[thread, message, ...(parent === null ? [] : [parent])].map(encodeURIComponent).join(":");

function placeOf(id: string): StreamPlace {
	const [thread = "", message = "", parent = null] = id.split(":").map(decodeURIComponent);
	return { thread, parent, message };
}

const missing = (id: string): ResumableStreamError =>
	new ResumableStreamError("missing", `Stream not found: ${id}`);

/** Return how a stream was ended by who wrote it; undefined if it was not. */
const endIn = ({ parts }: AnswerLog): unknown =>
	(parts.at(-1)?.content.at(-1) as { end?: string } | undefined)?.end;

/** Return the answer that a stream is. Throws NotFoundError without the message before it. */
export async function answerAt(chat: ChatStore, place: StreamPlace): Promise<ChatAnswer> {
	const id = await newIdOf(place.thread, streamId(place));
	return { id, conversationId: await chat.conversationBehind(place.parent) };
}

/** Yield what an answer has got, as `answerOf` does. If nobody writes it any more, end it, and yield what it is then. */
export async function* untilOver(
	fl: Forklore,
	place: StreamPlace,
	answer: ChatAnswer,
	signal: AbortSignal,
): AsyncGenerator<AnswerLog, void, undefined> {
	const { id: answerId, conversationId } = answer;
	const patience = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	let after = 0;
	try {
		const until = AbortSignal.any([signal, patience.signal]);
		for await (const log of answerOf(fl.api, answer, { signal: until })) {
			yield log;
			if (log.state === "finished" || log.state === "dropped") return;
			after = log.position;
			if (log.state === "silent") break;
			if (log.state === "stopped")
				timer ??= setTimeout(() => {
					patience.abort();
				}, STOPPED_MS);
		}
	} catch (error) {
		if (!patience.signal.aborted || signal.aborted) throw error;
	} finally {
		clearTimeout(timer);
	}
	await endStream(fl, place, answer).catch(() => undefined); // who may only read leaves it
	yield await fl.api.getAnswer({ conversationId, answerId, after });
}

/** End an answer with the message that it has become so far, unless somebody else has; drop one without anything. */
export async function endStream(fl: Forklore, place: StreamPlace, answer: ChatAnswer): Promise<void> {
	const { id: answerId, conversationId } = answer;
	let last: ChatModelRunResult | undefined;
	const log = await fl.api.getAnswer({ conversationId, answerId });
	for await (const result of resultsOf([log])) last = result;
	if (last?.content === undefined) {
		await dropAnswer(fl.api, answer);
		return;
	}
	const { content, status, metadata } = last;
	const message = { id: place.message, role: "assistant", createdAt: new Date(), content, status, metadata };
	const item = { parentId: place.parent, message } as Parameters<typeof messageOf>[0];
	try {
		const store = new ChatStore(fl, place.thread, { files: new ChatFiles(fl) });
		await store.endAnswer(place.parent, { ...messageOf(item), answerId });
	} catch (error) {
		if (!isEnded(error)) throw error;
	}
}

/**
 * Return a store of streams of text for `createResumableStreamContext`. What `streamId` returns are their ids.
 *
 * A stream is begun behind its question, for which it waits, and stored as its message when it ends. It can be read
 * for a day. In a branch one is written at a time: one of the same user and client that another process has left is
 * ended for the new one.
 */
export function resumableStreamStore(fl: Forklore): Required<ResumableStreamStore> {
	/** By the ids of the answers, which are the tokens of the leases. */
	const written = new Map<string, Writing>();

	/** Return the log of a stream; undefined if there is none. */
	const logOf = async (stream: string): Promise<AnswerLog | undefined> => {
		const place = placeOf(stream);
		try {
			const { id: answerId, conversationId } = await answerAt(new ChatStore(fl, place.thread), place);
			const log = await fl.api.getAnswer({ conversationId, answerId });
			return log.state === "dropped" && endIn(log) === undefined ? undefined : log; // it is deleted
		} catch (error) {
			if (error instanceof NotFoundError) return undefined;
			throw error;
		}
	};
	const writingOf = async (stream: string, lease?: ResumableStreamLease): Promise<Writing | undefined> =>
		written.get(lease?.token ?? (await newIdOf(placeOf(stream).thread, stream)));
	const acquireLease = async (stream: string): Promise<ResumableStreamAcquisition> => {
		const place = placeOf(stream);
		const id = await newIdOf(place.thread, stream);
		const chat = new ChatStore(fl, place.thread);
		let takeOver: false | "own" = false;
		for (const giveUpAt = Date.now() + QUESTION_WAIT_MS; ;) {
			const decoder = new TextDecoder();
			try {
				const onError = (error: unknown): void => {
					const writing = written.get(id);
					if (writing) writing.error = error;
				};
				const writer = await chat.beginAnswer(place.parent, { id, onError, takeOver });
				written.set(id, { place, writer, decoder });
				alive.add(id);
				return { role: "producer", lease: { token: id } };
			} catch (error) {
				const { reason, details } = error instanceof ConflictError ? error : {};
				const there = details?.["answerId"];
				if (reason === "id_in_use" || there === id) return { role: "consumer" };
				if (reason === "answer_in_progress" && takeOver === false && !alive.has(String(there))) {
					takeOver = "own";
					continue;
				}
				const isEarly = error instanceof NotFoundError || details?.["state"] === "stopped";
				if (!isEarly || Date.now() > giveUpAt) throw error;
				await new Promise((resolve) => setTimeout(resolve, QUESTION_PAUSE_MS)); // the page stores the question meanwhile, or a server what was stopped
			}
		}
	};

	return {
		acquireLease,
		async acquire(stream) {
			return (await acquireLease(stream)).role;
		},
		async append(stream, chunk, lease) {
			const writing = await writingOf(stream, lease);
			if (writing === undefined) {
				if ((await logOf(stream)) === undefined) throw missing(stream);
				throw new ResumableStreamError("finalized", `Stream already finalized: ${stream}`);
			}
			if (writing.error !== undefined) throw writing.error as Error;
			if (writing.writer.signal.aborted)
				throw new ResumableStreamError("missing", `Somebody has stopped the stream: ${stream}`);
			const text = writing.decoder.decode(chunk, { stream: true });
			if (text !== "") writing.writer.write(text);
		},
		async finalize(stream, end, error, lease) {
			const writing = await writingOf(stream, lease);
			if (writing === undefined) {
				if ((await logOf(stream)) === undefined) throw missing(stream);
				return false;
			}
			const { place, writer } = writing;
			written.delete(writer.id);
			alive.delete(writer.id);
			writer.write({ end, ...(error !== undefined && { error }) });
			await writer.close();
			await endStream(fl, place, writer);
			return true;
		},
		async *read(stream, cursor, signal) {
			const found = await logOf(stream);
			if (found === undefined) throw missing(stream);
			const [position = 1, index = -1] = cursor === "" ? [] : cursor.split(".").map(Number);
			const encoder = new TextEncoder();
			try {
				for await (const { parts, state } of answerOf(fl.api, found, { after: position - 1, signal })) {
					for (const part of parts) {
						for (const [at, piece] of part.content.entries()) {
							if (typeof piece !== "string") {
								const { end, error } = piece as { end?: string; error?: string };
								if (end === "error") throw new Error(error ?? "Stream errored");
							} else if (part.position > position || at > index)
								yield { cursor: `${part.position}.${at}`, chunk: encoder.encode(piece) };
						}
					}
					if (state === "silent") throw new Error(`Nobody writes the stream any more: ${stream}`);
				}
			} catch (error) {
				if (!signal.aborted) throw error;
			}
		},
		async status(stream) {
			const log = await logOf(stream);
			if (log === undefined) return "missing";
			if (log.state === "silent" || endIn(log) === "error") return "error";
			return log.state === "open" ? "streaming" : "done";
		},
		async delete(stream) {
			const writing = await writingOf(stream);
			if (writing) {
				written.delete(writing.writer.id);
				alive.delete(writing.writer.id);
			}
			await writing?.writer.close();
			const log = await logOf(stream);
			if (log !== undefined) await dropAnswer(fl.api, log);
		},
	};
}
