// An answer of a conversation: written piece by piece, and then a turn.

import { ConflictError, InputError } from "./errors.ts";
import type { Said } from "./messages.ts";
import type { AppendedEntry } from "./generated/operations.ts";
import { whole, type AnswerWriter } from "./writing.ts";

/** Appends the turn that an answer becomes. */
type End<Options> = (
	said: Said,
	options: Options & { answerId?: string | undefined },
) => Promise<AppendedEntry>;

/**
 * An answer that others can read while it is written. End it: by `finish`, or by `drop` if the model has failed. Without
 * that another one may begin when it has been silent for 30 s.
 */
export class Answer<Options extends object = object> {
	readonly id: string;
	/** Aborted when somebody has stopped or ended the answer. */
	readonly signal: AbortSignal;
	/** The entry that it has become. */
	entry: AppendedEntry | undefined;

	readonly #writer: AnswerWriter;
	readonly #end: End<Options>;
	readonly #written: (string | Record<string, unknown>)[] = [];
	#isClosed = false;

	/** Is called by `Conversation.answer`. */
	constructor(writer: AnswerWriter, end: End<Options>) {
		this.#writer = writer;
		this.#end = end;
		({ id: this.id, signal: this.signal } = writer);
	}

	/** All texts that were written, whether they were sent or not. */
	get text(): string {
		return whole(this.#written.filter((one) => typeof one === "string").join(""));
	}

	/**
	 * Add a text, or parts as of `say`. This does not wait for the service, which may be away.
	 *
	 * Throws InputError when the answer is ended.
	 */
	write(said: Said): void {
		if (this.#isClosed) throw new InputError("an answer is written before it is finished");
		const pieces = typeof said === "string" ? [said] : said;
		this.#written.push(...pieces);
		this.#writer.write(...pieces);
	}

	/**
	 * End the answer, and append it as a turn in the same step; return the entry.
	 *
	 * said: what the entry says, if that is not what was written. If another answer has replaced it, because it was
	 * silent, the turn is appended all the same. Throws ConflictError with `answer_over` if somebody else has ended it.
	 */
	async finish(said: Said, options?: Options): Promise<AppendedEntry>;
	async finish(options?: Options): Promise<AppendedEntry>;
	async finish(first?: Said | Options, second?: Options): Promise<AppendedEntry> {
		const isSaid = typeof first === "string" || Array.isArray(first);
		const said = isSaid ? (first as Said) : this.#said;
		const options = ((isSaid ? second : first) ?? {}) as Options;
		await this.#close();
		try {
			this.entry = await this.#end(said, { ...options, answerId: this.id });
		} catch (error) {
			const isReplaced = error instanceof ConflictError && error.reason === "answer_over";
			if (!isReplaced || error.details["nextAnswerId"] === undefined) throw error;
			this.entry = await this.#end(said, options);
		}
		return this.entry;
	}

	/** End the answer without an entry, unless it has ended. Another one may begin at once. */
	async drop(): Promise<void> {
		this.#isClosed = true;
		await this.#writer.drop();
	}

	async #close(): Promise<void> {
		this.#isClosed = true;
		await this.#writer.close();
	}

	/** What a message with all pieces says: its text, or its parts. */
	get #said(): Said {
		if (this.#written.every((one) => typeof one === "string")) return this.text;
		const parts: Record<string, unknown>[] = [];
		for (const one of this.#written) {
			const last = parts.at(-1);
			if (typeof one !== "string") parts.push(one);
			else if (typeof last?.["text"] === "string" && last["type"] === "text")
				parts[parts.length - 1] = { type: "text", text: last["text"] + one };
			else parts.push({ type: "text", text: one });
		}
		return parts.map((part) =>
			typeof part["text"] === "string" ? { ...part, text: whole(part["text"]) } : part,
		);
	}
}
