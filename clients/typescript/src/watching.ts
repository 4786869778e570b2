// What is new, as it comes: by asking again and again, as the service says when.

import { ApiError, NoAnswerError, NotFoundError } from "./errors.ts";
import type { AnswerLog, Fork, ListedEntry, Operations } from "./generated/operations.ts";
import { RETRIED } from "./sending.ts";
import type { RawAnswer, Sent } from "./wire.ts";

/** What a watcher knows of an answer. state: undefined before it was told. */
interface Seen extends Pick<AnswerLog, "conversationId" | "id" | "position"> {
	state?: AnswerLog["state"];
}

const WAIT_S = 20;
const WAIT_FOR_PART_S = 1; // meanwhile nobody asks for entries
const WAIT_FOR_SILENCE_S = 2; // what is held is told of a silence at its end
const PAGE_ENTRIES = 100;
const PAGE_ROWS = 200;
const PAUSE_MS = 3_000; // where the service does not say
const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * Yield what an answer has got, from the position on: at first, then whenever there is more of it, or its state has
 * changed.
 *
 * It ends behind the state in which the answer is over. Throws what `watch` throws.
 */
export async function* answerOf(
	api: Operations,
	{ conversationId, id }: Pick<AnswerLog, "conversationId" | "id">,
	{ after = 0, signal }: Sent & { after?: number } = {},
): AsyncGenerator<AnswerLog, void, undefined> {
	const poll = new Poll(signal);
	const seen: Seen = { conversationId, id, position: after };
	while (!isOver(seen)) {
		const log = await lookAt(api, seen, poll, WAIT_FOR_SILENCE_S);
		if (log !== undefined) yield log;
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
	let etag: string | undefined;
	let answer: Seen | undefined;
	let entriesDueAt = 0;
	for (;;) {
		let pauseMs = 0; // until the parts of an answer that has just begun
		if (answer !== undefined) {
			try {
				const log = await lookAt(api, answer, poll, WAIT_FOR_PART_S);
				if (log !== undefined) yield log;
				if (isOver(answer)) answer = undefined;
			} catch (error) {
				if (!(error instanceof NotFoundError)) throw error;
				answer = undefined; // it is gone, or all of the conversation, as the entries tell
			}
			({ pauseMs } = poll);
			if (answer !== undefined && performance.now() < entriesDueAt) continue;
			poll.pauseMs = 0;
		}
		const asked = { ...filter, conversationId, limit: PAGE_ENTRIES, wait: answer === undefined ? WAIT_S : 0 };
		const page = await poll.ask(async (sent) =>
			api.listEntries({ ...asked, afterCursor: after ?? undefined }, { ...sent, ifNoneMatch: etag }),
		);
		if (page !== undefined) {
			for (const entry of page.data) yield entry;
			after = page.afterCursor ?? page.data.at(-1)?.id ?? after;
			etag = page.data.length === 0 ? poll.etag : undefined; // with entries, the next question is another one
			if (page.afterCursor !== null) poll.pauseMs = 0;
			const id = answers ? page.answering?.answerId : undefined;
			// without one, the one that is known has ended meanwhile, as its log tells next
			if (id !== undefined && id !== answer?.id) answer = { conversationId, id, position: 0 };
		}
		if (answer !== undefined) {
			poll.pauseMs = pauseMs;
			entriesDueAt = performance.now() + PAUSE_MS;
		}
	}
}

/** Yield the branches of a fork tree, the oldest 200 of them, none without a tree: at first, then whenever they change. */
export async function* branchChangesOf(
	api: Operations,
	conversationId: string,
	{ signal }: Sent = {},
): AsyncGenerator<Fork[], void, undefined> {
	const poll = new Poll(signal);
	const asked = { conversationId, missing: "empty", limit: PAGE_ROWS, wait: WAIT_S } as const;
	for (;;) {
		const page = await poll.ask(async (sent) => api.listForks(asked, { ...sent, ifNoneMatch: poll.etag }));
		if (page !== undefined) yield page.data;
	}
}

/** Ask once for what an answer has got since. Return it, if there is more of it, or its state is another one. */
async function lookAt(api: Operations, seen: Seen, poll: Poll, wait: number): Promise<AnswerLog | undefined> {
	const { conversationId, id: answerId, position: after, state } = seen;
	const log = await poll.ask(async (sent) => api.getAnswer({ conversationId, answerId, after, wait }, sent));
	if (log === undefined) return undefined;
	({ position: seen.position, state: seen.state } = log);
	return log.state !== state || log.parts.some(({ content }) => content.length > 0) ? log : undefined;
}

const isOver = ({ state }: Seen): boolean => state === "finished" || state === "dropped";

/** The requests of one watcher. Once there was an answer, a service that is away or busy is asked again. */
class Poll {
	/** How long to wait before the next request. */
	pauseMs = 0;
	/** Of the last answer. */
	etag: string | undefined;

	readonly #signal: AbortSignal | undefined;
	#isAnswered = false;

	constructor(signal: AbortSignal | undefined) {
		this.#signal = signal;
	}

	/** Ask, after the pause that the answer before has asked for; undefined: nothing has changed, or no answer came. */
	async ask<T>(ask: (sent: Sent) => Promise<T | undefined>): Promise<T | undefined> {
		await paused(this.pauseMs, this.#signal);
		const onAnswer = ({ etag, askAgainMs }: RawAnswer): void => {
			this.etag = etag;
			this.pauseMs = askAgainMs ?? PAUSE_MS;
		};
		try {
			const found = await ask({ signal: this.#signal, onAnswer });
			this.#isAnswered = true;
			return found;
		} catch (error) {
			const isLost =
				error instanceof NoAnswerError || (error instanceof ApiError && RETRIED.has(error.status ?? 0));
			if (!isLost || !this.#isAnswered) throw error;
			this.pauseMs = PAUSE_AFTER_FAILURE_MS;
			return undefined;
		}
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
