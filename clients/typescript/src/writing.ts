// An answer while it is written: pieces into its log, by time.

import { ApiError, ConflictError, InputError, NotFoundError } from "./errors.ts";
import { stringify } from "./json.ts";
import type { AnswerStatus, BeginAnswerArguments, Operations } from "./generated/operations.ts";
import { paused } from "./watching.ts";
import type { Sent } from "./wire.ts";

/**
 * How an answer is written. onError: is told, once, why nothing more is written. What passes, such as a service that
 * is away or a token that has expired, is no reason: what waits is sent when it has passed.
 */
export interface WriterOptions extends Sent {
	onError?: ((error: unknown) => void) | undefined;
}

const PACE_MS = 500;
const HEARTBEAT_MS = 10_000;
const PART_UNITS = 5_000; // of UTF-16: escaped, each has up to 6 of the 32 KB of a part
const PART_PIECES = 1_000;
const FIRST_HALF = /[\uD800-\uDBFF]$/;
const LONE_HALF = /\p{Surrogate}/gu;
const NO_CHARACTER = "\uFFFD";

/**
 * What writes an answer piece by piece. `write` neither waits nor throws, so a model is never slowed down.
 *
 * An append with `answerId: id` ends the answer with its entry.
 */
export class AnswerWriter {
	readonly id: string;
	readonly conversationId: string;
	/** The entry that it follows; null: it begins the history. */
	readonly afterEntryId: string | null;
	/** Aborted when somebody has stopped or ended the answer. */
	readonly signal: AbortSignal;

	readonly #api: Operations;
	readonly #onError: NonNullable<WriterOptions["onError"]>;
	readonly #stopped = new AbortController();
	readonly #closing = new AbortController();
	readonly #work: Promise<void>;
	#waiting: unknown[] = [];
	#half = "";
	/** What is sent. It stays until it has arrived: the service may have it already. */
	#part: unknown[] | undefined;
	#position: number;
	/** Whether the log takes no more, but signs that somebody writes. */
	#isFull = false;

	private constructor(api: Operations, begun: AnswerStatus, onError: WriterOptions["onError"]) {
		this.#api = api;
		this.#onError = onError ?? (() => undefined);
		({ id: this.id, conversationId: this.conversationId, afterEntryId: this.afterEntryId } = begun);
		this.#position = begun.position;
		this.signal = this.#stopped.signal;
		this.#work = this.#writeAll();
	}

	/**
	 * Begin an answer behind an entry. Throws ConflictError with the reason `answer_in_progress` if there is one that
	 * `place` does not let it take over.
	 */
	static async begin(
		api: Operations,
		place: BeginAnswerArguments,
		{ onError, signal }: WriterOptions = {},
	): Promise<AnswerWriter> {
		return new AnswerWriter(api, await api.beginAnswer(place, { signal }), onError);
	}

	/**
	 * Write small values, and texts of any length, behind those before. What comes soon goes with them.
	 *
	 * The first half of a surrogate pair at the end of a text waits for the other half. One that has none is U+FFFD.
	 */
	write(...pieces: unknown[]): void {
		if (this.#closing.signal.aborted || this.#isFull) return;
		for (const piece of pieces) {
			if (typeof piece === "string") this.#waiting.push(...slicesOf(this.#withHalf(piece)));
			else {
				this.#endHalf();
				this.#waiting.push(piece);
			}
		}
	}

	/** Send what waits, and nothing more. Then an append can end the answer. */
	async close(): Promise<void> {
		this.#endHalf();
		this.#closing.abort();
		await this.#work;
	}

	/** End the answer without an entry, unless it has ended. */
	async drop(): Promise<void> {
		await this.close();
		await dropAnswer(this.#api, this);
	}

	/** Return a text behind the half that waits. One at its own end waits in its place. */
	#withHalf(piece: string): string {
		const text = this.#half + piece;
		this.#half = FIRST_HALF.exec(text)?.[0] ?? "";
		return whole(text.slice(0, text.length - this.#half.length));
	}

	#endHalf(): void {
		if (this.#half !== "") this.#waiting.push(NO_CHARACTER);
		this.#half = "";
	}

	/** Send what waits, again and again; without anything a sign of life. */
	async #writeAll(): Promise<void> {
		let lastAt = Date.now();
		try {
			for (;;) {
				const isClosing = this.#closing.signal.aborted;
				const content = (this.#part ??= this.#next());
				if (isClosing && content.length === 0) return;
				const isDue = content.length > 0 || Date.now() - lastAt >= HEARTBEAT_MS;
				const hasArrived = isDue && (await this.#send(content, isClosing));
				if (hasArrived) lastAt = Date.now();
				if (hasArrived || !isDue) this.#part = undefined;
				if (!(hasArrived && this.#hasMore())) {
					await paused(PACE_MS, this.#closing.signal).catch(() => undefined);
				}
			}
		} catch (error) {
			this.#closing.abort();
			this.#waiting = [];
			const { reason = "" } = error instanceof ConflictError ? error : {};
			if (["answer_stopped", "answer_over"].includes(reason)) this.#stopped.abort(error);
			else if (!this.#isFull) this.#onError(error);
		}
	}

	/** Send a part, and tell whether it has arrived. Throws if no other part will, or if this is the last try. */
	async #send(content: unknown[], isLast: boolean): Promise<boolean> {
		const { conversationId, id: answerId } = this;
		try {
			const part = { conversationId, answerId, after: this.#position, content };
			this.#position = (await this.#api.appendToAnswer(part)).position;
			return true;
		} catch (error) {
			if (error instanceof ConflictError && error.reason === "answer_full" && content.length > 0) {
				this.#isFull = true;
				this.#waiting = [];
				this.#part = undefined;
				this.#onError(error);
			} else if (isLast || isFinal(error)) throw error;
			return false;
		}
	}

	/** Take the pieces of the next part. */
	#next(): unknown[] {
		return this.#waiting.splice(0, this.#fitting());
	}

	/** Tell whether more waits than fits into a part. */
	#hasMore(): boolean {
		return this.#fitting() < this.#waiting.length;
	}

	/** Return how many of the pieces that wait fit into a part. */
	#fitting(): number {
		let units = 0;
		const end = this.#waiting.findIndex((piece) => (units += stringify(piece).length) > PART_UNITS);
		return Math.min(end < 0 ? Infinity : Math.max(end, 1), PART_PIECES);
	}
}

/** Return a text with U+FFFD in place of each half of a surrogate pair that has no other half. */
export const whole = (text: string): string => text.replace(LONE_HALF, NO_CHARACTER);

/** End an answer without an entry, unless it has ended. */
export async function dropAnswer(
	api: Operations,
	{ conversationId, id: answerId }: Pick<AnswerStatus, "conversationId" | "id">,
): Promise<void> {
	try {
		await api.deleteAnswer({ conversationId, answerId });
	} catch (error) {
		if (!isEnded(error)) throw error;
	}
}

/** Tell whether an answer has ended already, or is gone. */
export const isEnded = (error: unknown): error is ApiError =>
	error instanceof NotFoundError || (error instanceof ConflictError && error.reason === "answer_over");

/** Tell whether the service itself takes no more, now and later, or the part cannot be sent. */
export const isFinal = (error: unknown): boolean => {
	const { code = "", status = 0 } = error instanceof ApiError ? error : {};
	const isRefused = code !== "" && status >= 400 && status < 500 && ![401, 429].includes(status);
	return isRefused || error instanceof InputError;
};

/** Return a text in slices of at most PART_UNITS, none of which ends within a character. */
function slicesOf(text: string): string[] {
	const slices: string[] = [];
	for (let from = 0, to; from < text.length; from = to) {
		to = from + PART_UNITS;
		if (to < text.length && /[\uD800-\uDBFF]/.test(text.charAt(to - 1))) to--;
		slices.push(text.slice(from, to));
	}
	return slices;
}
