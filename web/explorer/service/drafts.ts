// Where one writes. The tab keeps a text until it arrives. Sent again under the same key, it takes effect once.

import { ApiError, NoAnswerError, type AppendedEntry, type Forklore } from "@forklore/client";
import { newId } from "../../../clients/typescript/src/json.ts";
import { isAborted, isLost, sentenceOf, statusOf } from "./connection.ts";
import { Source } from "./source.ts";

const GIVE_UP_MS = 90_000; // of no answer
const RETRIES = 3; // of an answer that says that the service has failed: then it is told

/** What is sent, under which key, to which conversation. */
interface Letter {
	key: string;
	conversationId: string;
	body: object;
}

/** What a draft is for: what is sent for a text, and who is told of the entry that it became. */
export interface Purpose {
	letterOf(text: string): { conversationId: string; body: object };
	sent(entry: AppendedEntry): void;
}

/** The text of one place. While it may have arrived, it cannot be changed: it can be sent again, or given up. */
export class Draft extends Source {
	text: string;
	held: Letter | undefined;
	told = "";
	isBad = false;
	/** Its conversation is gone: it can be read, and no more. */
	isOver = false;
	isSending = false;
	#request = new AbortController();

	/** at: where the tab keeps the text, for one person and server. first: what stands in it at first. */
	constructor(
		private readonly client: Forklore,
		readonly at: string,
		first: string,
		public purpose: Purpose,
		private readonly failed: (error: unknown) => void,
	) {
		super();
		const kept = JSON.parse(sessionStorage.getItem(at) ?? "null") as { text: string; letter?: Letter } | null;
		this.text = kept?.text ?? first;
		if (kept?.letter)
			this.#hold(kept.letter, "This message may not have arrived. Sent again, it takes effect once.");
	}

	write(text: string): void {
		this.text = text;
		this.#save();
		this.changed();
	}

	async send(): Promise<void> {
		if (this.isSending || this.isOver || (!this.held && !this.text.trim())) return;
		const letter = this.held ?? { key: newId(), ...this.purpose.letterOf(this.text) };
		this.#request = new AbortController();
		const { signal } = this.#request;
		this.isSending = true;
		this.#hold(letter, "Sending…");
		this.#save();
		try {
			const entry = await this.#post(letter, signal);
			if (this.held === letter) this.free("");
			this.purpose.sent(entry);
		} catch (error) {
			if (isAborted(error)) return;
			// After a lost answer, 401 does not say that nothing arrived.
			if (!isLost(error) && statusOf(error) !== 401) this.free(this.text);
			this.isSending = false;
			const requestId = error instanceof ApiError ? error.requestId : undefined;
			this.told = `${sentenceOf(error)}${requestId ? ` Request ${requestId}` : ""}`;
			this.isBad = true;
			this.changed();
			this.failed(error);
		}
	}

	async #post({ conversationId, body, key }: Letter, signal: AbortSignal): Promise<AppendedEntry> {
		const { api } = this.client.withOptions({ retries: RETRIES });
		const giveUpAt = performance.now() + GIVE_UP_MS;
		for (;;) {
			try {
				const given = { conversationId, ...body } as never;
				return (await api.appendEntry(given, { idempotencyKey: key, signal })) as AppendedEntry;
			} catch (error) {
				if (!(error instanceof NoAnswerError) || performance.now() > giveUpAt) throw error;
			}
		}
	}

	/** Hold a letter that may have arrived. */
	#hold(letter: Letter, words: string): void {
		this.held = letter;
		this.told = words;
		this.isBad = false;
		this.changed();
	}

	/** Hold nothing more, and have this text: what is under way ends. */
	free(text: string): void {
		this.#request.abort();
		this.held = undefined;
		this.isSending = false;
		this.told = "";
		this.isBad = false;
		this.write(text);
	}

	end(): void {
		this.#request.abort();
		this.isOver = true;
		this.changed();
	}

	#save(): void {
		sessionStorage.removeItem(this.at);
		try {
			if (this.text) sessionStorage.setItem(this.at, JSON.stringify({ letter: this.held, text: this.text }));
		} catch {
			// a text that is too long for the tab's store is in the draft alone
		}
	}
}
