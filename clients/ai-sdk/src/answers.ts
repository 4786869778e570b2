// Answers while they are written: recorded from a model's stream, shown again to pages, stopped, and ended.

import {
	parseJsonEventStream,
	readUIMessageStream,
	UI_MESSAGE_STREAM_HEADERS,
	uiMessageChunkSchema,
	type UIMessage,
	type UIMessageChunk,
} from "ai";

import { ConflictError, type Forklore } from "@forklore/client";
import {
	answeringIn,
	answerOf,
	changesInChat,
	ChatFiles,
	ChatStore,
	dropAnswer,
	isEnded,
	isRefused,
	type PlacedAnswer,
} from "@forklore/client/chat";

import { behind, saveTurn, type Chat, type SaveOptions, type Unsaved } from "./chats.ts";
import { chatMessageOf } from "./messages.ts";

/** onError: is told why an answer is not recorded or not ended. What a page gets goes on. */
export interface AnswerOptions {
	onError?: ((error: unknown) => void) | undefined;
}

/** takeOver: ends another answer that is written there, such as that of a server which was restarted. */
export interface BeginOptions extends AnswerOptions {
	takeOver?: boolean | undefined;
}

/** An answer that a model is about to give. */
export interface Answer {
	/** For `abortSignal` of `streamText`: comes when somebody has stopped the answer. */
	readonly signal: AbortSignal;
	/** For `consumeSseStream`: record the stream, so that every page can show it. */
	readonly record: (given: { stream: ReadableStream<string> }) => Promise<void>;
	/** For `onEnd`: store the turn, as `saveTurn` does, and end the answer with it. */
	readonly save: (messages: readonly UIMessage[], options?: SaveOptions) => Promise<void>;
}

const EVENT = "data: ";
const ENDS = /^data: \{"type":"(?:finish|abort|error)"/m;
const END_WAIT_MS = 1_000;
const STOPPED_MS = 30_000; // then nobody ends it any more
const TEXT_ID = "text";
const PLAIN = `${EVENT}{"type":"start"}\n\n${EVENT}${JSON.stringify({ type: "text-start", id: TEXT_ID })}\n\n`;

const deltaOf = (delta: string): string =>
	`${EVENT}${JSON.stringify({ type: "text-delta", id: TEXT_ID, delta })}\n\n`;

/**
 * Begin the answer behind the last of the messages, when `saveTurn` has stored them.
 *
 * It does not throw. An answer that cannot be recorded, such as while another one is written there, is streamed
 * and saved all the same.
 */
export async function beginAnswer(
	chat: Chat,
	messages: readonly UIMessage[],
	{ onError = () => undefined, takeOver }: BeginOptions = {},
): Promise<Answer> {
	const { store, parentId } = await behind(chat, messages);
	const writer = await store.beginAnswer(parentId, { onError, takeOver }).catch((error: unknown) => {
		onError(error);
		return undefined;
	});
	let hasEnded = (): void => undefined;
	let end: Promise<unknown> | undefined;
	return {
		signal: writer?.signal ?? new AbortController().signal,
		async record({ stream }) {
			end = new Promise<undefined>((resolve) => {
				hasEnded = () => {
					resolve(undefined);
				};
			});
			const reader = stream.getReader();
			try {
				for (let read = await reader.read(); !read.done; read = await reader.read()) {
					writer?.write(read.value);
					if (ENDS.test(read.value)) hasEnded();
				}
			} catch (error) {
				onError(error);
			} finally {
				hasEnded();
			}
		},
		async save(whole, options) {
			await Promise.race([end, new Promise((resolve) => setTimeout(resolve, END_WAIT_MS))]);
			await writer?.close();
			const last = whole.at(-1);
			const isAnswered = last?.role === "assistant" && last.parts.length > 0;
			// The log keeps an answer that could not be stored just now, and a page ends it with that.
			let isOver = !isAnswered;
			const onUnsaved = (unsaved: Unsaved[]): void => {
				isOver ||= unsaved.some(({ message, error }) => message.id === last?.id && isRefused(error));
				options?.onUnsaved?.(unsaved);
			};
			const answerId = isAnswered ? writer?.id : undefined;
			try {
				await saveTurn(chat, whole, { ...options, onUnsaved, answerId });
			} finally {
				if (isOver) await writer?.drop().catch(onError);
			}
		},
	};
}

/**
 * Return the answer that is written in a chat, for `GET /api/chat/[id]/stream`: a replay, and then the rest as it
 * comes. 204 if there is none, or if the chat has gone on since it was begun.
 *
 * If who wrote it is gone, or does not end it after it was stopped, what there is of it is stored as cut off.
 */
export async function resumeAnswer(
	fl: Forklore,
	id: string,
	{ onError = () => undefined }: AnswerOptions = {},
): Promise<Response> {
	const answer = await answeringIn(fl, id);
	if (answer === undefined) return new Response(null, { status: 204 });
	return streamed((signal) => replayed(fl, id, answer, { signal, onError }), onError);
}

/**
 * Return events for an `EventSource`, for `GET /api/chat/[id]/changes`: one at once, and one whenever the chat has
 * changed. `answerId` in its data is the answer that is written just now.
 */
export function watchChat(
	fl: Forklore,
	id: string,
	{ onError = () => undefined }: AnswerOptions = {},
): Response {
	return streamed(async function* (signal) {
		for await (const change of changesInChat(fl, id, { signal }))
			yield `${EVENT}${JSON.stringify(change)}\n\n`;
	}, onError);
}

/** Return a response of server-sent events. make: makes them; its signal comes when the page has gone. */
function streamed(
	make: (signal: AbortSignal) => AsyncGenerator<string, void, undefined>,
	onError: (error: unknown) => void,
): Response {
	const gone = new AbortController();
	const texts = make(gone.signal);
	const encoder = new TextEncoder();
	const stream = new ReadableStream<Uint8Array>({
		async pull(to) {
			try {
				const { done, value } = await texts.next();
				if (done === true) to.close();
				else to.enqueue(encoder.encode(value));
			} catch (error) {
				if (gone.signal.aborted) return;
				onError(error);
				to.error(error);
			}
		},
		cancel(reason) {
			gone.abort(reason);
		},
	});
	return new Response(stream, { headers: UI_MESSAGE_STREAM_HEADERS });
}

/** Yield the stream of an answer as it was recorded, and then as it goes on. */
async function* replayed(
	fl: Forklore,
	chatId: string,
	answer: PlacedAnswer,
	{ signal, onError }: { signal: AbortSignal; onError: (error: unknown) => void },
): AsyncGenerator<string, void, undefined> {
	let text = "";
	let isPlain: boolean | undefined;
	let isLeft = false;
	const patience = new AbortController();
	const giveUp = (): void => {
		patience.abort();
	};
	let timer: ReturnType<typeof setTimeout> | undefined;
	const until = AbortSignal.any([signal, patience.signal]);
	try {
		for await (const { parts, state } of answerOf(fl.api, answer, { signal: until })) {
			const pieces = parts.flatMap(({ content }) => content).map(String);
			let events = "";
			if (isPlain === undefined && pieces[0] !== undefined) {
				isPlain = !pieces[0].startsWith(EVENT); // other programs than `record` write plain texts
				if (isPlain) events = PLAIN;
			}
			events += isPlain ? pieces.map(deltaOf).join("") : pieces.join("");
			text += events;
			if (events !== "") yield events;
			isLeft = state === "silent";
			if (isLeft) break;
			if (state === "stopped") timer ??= setTimeout(giveUp, STOPPED_MS);
		}
	} catch (error) {
		if (!patience.signal.aborted || signal.aborted) throw error;
		isLeft = true;
	} finally {
		clearTimeout(timer);
	}
	if (isLeft) await endFor(fl, chatId, answer, text).catch(onError);
}

/** End an answer that nobody writes any more, with what there is of it: cut off, unless its end is there. */
async function endFor(fl: Forklore, chatId: string, answer: PlacedAnswer, text: string): Promise<void> {
	const store = new ChatStore(fl, chatId, { files: new ChatFiles(fl) });
	const { messages } = await store.load();
	const stream = new Blob([text]).stream();
	const chunks = parseJsonEventStream({ stream, schema: uiMessageChunkSchema }).pipeThrough(
		new TransformStream<{ success: boolean; value?: unknown }, UIMessageChunk>({
			transform(parsed, to) {
				if (parsed.success) to.enqueue(parsed.value as UIMessageChunk);
			},
		}),
	);
	let message: UIMessage | undefined;
	for await (const one of readUIMessageStream({ stream: chunks })) message = one;
	if (message === undefined || message.parts.length === 0 || messages.some(({ id }) => id === message.id)) {
		await dropAnswer(fl.api, answer);
		return;
	}
	const id = message.id || answer.id;
	try {
		await store.endAnswer(answer.parentId, { ...chatMessageOf({ ...message, id }, id), answerId: answer.id });
	} catch (error) {
		const isWritten = error instanceof ConflictError && error.reason === "answer_in_progress";
		if (!isEnded(error) && !isWritten) throw error;
	}
}
