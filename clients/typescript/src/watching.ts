// What is new, as it comes: by asking again and again, as the service says when.

import type { Answer } from "./answering.ts";
import type { Sent } from "./calls.ts";
import { ApiError, NoAnswerError, ServerError } from "./errors.ts";
import type { AnswerLog, ListedEntry, Operations } from "./operations.ts";

/** A request of a watcher: how long the server may hold it, and how it is sent. */
type Ask<T> = (wait: number, sent: Sent) => Promise<T | undefined>;

const WAIT_S = 20;
const PAGE_ENTRIES = 100;
const PAUSE_MS = 3_000; // where the service does not say
const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * Yield what an answer has got, from the position on: whenever there is more of it, or its state has changed.
 *
 * It ends behind the state in which the answer is over. Throws the reason of `signal`.
 */
export async function* answerOf(
	api: Operations,
	{ conversationId, id: answerId }: Pick<AnswerLog, "conversationId" | "id">,
	{ after = 0, signal }: Sent & { after?: number } = {},
): AsyncGenerator<AnswerLog, void, undefined> {
	const poll = new Poll(signal);
	let state: AnswerLog["state"] = "open";
	for (;;) {
		const log = await poll.ask(async (wait, sent) =>
			api.getAnswer({ conversationId, answerId, after, wait }, sent),
		);
		if (log === undefined) continue;
		if (log.parts.some(({ content }) => content.length > 0) || log.state !== state) yield log;
		if (log.parts.length > 0) poll.forget();
		({ position: after, state } = log);
		if (state === "finished" || state === "dropped") return;
	}
}

/**
 * Yield what is new in a conversation: entries, and with `answers` between them what is new of the answer that is
 * written at its end.
 *
 * after: only what follows this entry; null: all.
 */
export async function* changesOf(
	api: Operations,
	conversationId: string,
	{
		after,
		answers,
		signal,
		...filter
	}: Sent & { after: string | null; answers: boolean; channel?: string | undefined },
): AsyncGenerator<ListedEntry | AnswerLog, void, undefined> {
	const poll = new Poll(signal);
	let seen: { id: string; position: number } | undefined;
	for (;;) {
		const afterCursor = after ?? undefined;
		const page = await poll.ask(async (wait, sent) =>
			api.listEntries({ ...filter, conversationId, limit: PAGE_ENTRIES, afterCursor, wait }, sent),
		);
		if (page === undefined) continue;
		for (const entry of page.data) yield entry;
		after = page.data.at(-1)?.id ?? after;
		if (page.data.length > 0) poll.forget();
		if (page.afterCursor !== null) poll.hurry();
		else if (answers && page.answering?.state === "open") {
			const { answerId: id } = page.answering;
			if (seen?.id !== id) seen = { id, position: 0 };
			for await (const answer of answerOf(api, { conversationId, id }, { after: seen.position, signal })) {
				seen.position = answer.position;
				yield answer;
				if (answer.state !== "open") break; // an entry takes its place, or somebody has to end it
			}
			poll.forget();
		}
	}
}

/** The requests of one watcher. What has failed is asked for again, unless it would fail again. */
class Poll {
	readonly #signal: AbortSignal | undefined;
	#etag: string | undefined;
	#pauseMs = 0;

	constructor(signal: AbortSignal | undefined) {
		this.#signal = signal;
	}

	/** Ask, after the pause that the answer before has asked for; undefined: nothing has changed, or no answer came. */
	async ask<T>(ask: Ask<T>): Promise<T | undefined> {
		await paused(this.#pauseMs, this.#signal);
		const onAnswer = ({ etag, askAgainMs }: Answer): void => {
			this.#etag = etag;
			this.#pauseMs = askAgainMs ?? PAUSE_MS;
		};
		try {
			return await ask(WAIT_S, { signal: this.#signal, ifNoneMatch: this.#etag, onAnswer });
		} catch (error) {
			const mayPass =
				error instanceof NoAnswerError ||
				error instanceof ServerError ||
				(error instanceof ApiError && error.status === 429);
			if (!mayPass) throw error;
			this.#etag = undefined;
			this.#pauseMs = PAUSE_AFTER_FAILURE_MS;
			return undefined;
		}
	}

	/** Make the next answer come in any case: it is another question. */
	forget(): void {
		this.#etag = undefined;
	}

	/** Let the next request come at once. */
	hurry(): void {
		this.#pauseMs = 0;
	}
}

/** Wait. Throws the reason of `signal` when that comes. */
export async function paused(milliseconds: number, signal?: AbortSignal): Promise<void> {
	signal?.throwIfAborted();
	await new Promise<void>((resolve, reject) => {
		const end = (): void => {
			clearTimeout(timer);
			reject(signal?.reason as Error);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", end);
			resolve();
		}, milliseconds);
		signal?.addEventListener("abort", end, { once: true });
	});
}
