// Where one writes. The tab keeps a text until it arrives. Sent again under the same key, it takes effect once.

import { ApiError, NoAnswerError, type AppendedEntry, type Forklore } from "@forklore/client";
import { newId } from "../../../clients/typescript/src/json.ts";
import { isAborted, isLost, sentenceOf, statusOf, type Attach } from "./connection.ts";
import { Source } from "./source.ts";
import { Uploads, type Kept } from "./uploads.ts";

const GIVE_UP_MS = 90_000; // of no answer
const RETRIES = 3; // of an answer that says that the service has failed: then it is told

/** What is sent, under which key, to which conversation. */
interface Letter {
	key: string;
	conversationId: string;
	body: object;
}

/** What a draft is for: what is sent for a text and files, and who is told of the entry that it became. */
export interface Purpose {
	letterOf(text: string, files: readonly Kept[]): { conversationId: string; body: object };
	/** Nothing is sent as long as this is so. */
	isBusy?: boolean;
	sent(entry: AppendedEntry): void;
}

/** The text of one place. Once it is to be sent, it cannot be changed: it arrives, is sent again, or is freed. */
export class Draft extends Source {
	text: string;
	/** Of what a tool has returned: whether the tool has failed; undefined: as before. */
	isFailed: boolean | undefined;
	readonly files: Uploads;
	held: Letter | undefined;
	told = "";
	isBad = false;
	/** Its conversation is gone: it can be read, and no more. */
	isOver = false;
	isSending = false;
	/** It is sent when its files are there and its place is not busy. */
	waits = false;
	#request = new AbortController();

	/** at: where the tab keeps the text, for one person and server. first: what stands in it at first. */
	constructor(
		private readonly client: Forklore,
		readonly at: string,
		first: string,
		public purpose: Purpose,
		private readonly failed: (error: unknown) => void,
		attach: Attach,
	) {
		super();
		const kept = JSON.parse(sessionStorage.getItem(at) ?? "null") as {
			text: string;
			isFailed?: boolean;
			letter?: Letter;
			files?: Kept[];
		} | null;
		this.text = kept?.text ?? first;
		this.isFailed = kept?.isFailed;
		this.files = new Uploads(attach, kept?.files ?? []);
		this.files.subscribe(() => this.#look());
		if (kept?.letter)
			this.#hold(kept.letter, "This message may not have arrived. Sent again, it takes effect once.");
	}

	write(text: string): void {
		this.text = text;
		this.#save();
		this.changed();
	}

	/** Say whether the tool has failed. */
	mark(isFailed: boolean): void {
		this.isFailed = isFailed;
		this.write(this.text);
	}

	/** It cannot be changed. */
	get isHeld(): boolean {
		return this.held !== undefined || this.waits || this.isOver;
	}

	get isEmpty(): boolean {
		return !this.text.trim() && !this.files.all.length;
	}

	/** Keep the files that have come, and send what waited for them. */
	#look(): void {
		this.#save();
		if (this.waits) return void this.send();
		if (!this.held) this.told = "";
		this.changed();
	}

	/** Return whether nothing is in the way; tell which files are. */
	#isReady(): boolean {
		const isBad = this.files.has("failed");
		const isEarly = this.files.has("waiting") || this.files.has("sending");
		this.waits = !isBad && (isEarly || this.purpose.isBusy === true);
		this.isBad = isBad;
		if (isBad) this.told = "A file was not sent. Try again, or remove it.";
		else this.told = isEarly ? "It is sent when its files are there." : "";
		this.changed();
		return !isBad && !this.waits;
	}

	async send(): Promise<void> {
		if (this.isSending || this.isOver || (!this.held && (this.isEmpty || !this.#isReady()))) return;
		const letter = this.held ?? { key: newId(), ...this.purpose.letterOf(this.text, this.files.kept) };
		this.#request = new AbortController();
		const { signal } = this.#request;
		this.isSending = true;
		this.#hold(letter, "Sending…");
		this.#save();
		try {
			const entry = await this.#post(letter, signal);
			if (this.held === letter) this.clear();
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
		this.waits = false;
		this.held = undefined;
		this.isSending = false;
		this.told = "";
		this.isBad = false;
		this.write(text);
	}

	/** Have nothing any more. */
	clear(): void {
		this.isFailed = undefined;
		this.free("");
		this.files.clear();
	}

	end(): void {
		this.files.end();
		this.#request.abort();
		this.isOver = true;
		this.changed();
	}

	#save(): void {
		sessionStorage.removeItem(this.at);
		try {
			const { held: letter, text, isFailed } = this;
			const files = this.files.kept;
			if (text || files.length)
				sessionStorage.setItem(this.at, JSON.stringify({ letter, text, isFailed, files }));
		} catch {
			// a text that is too long for the tab's store is in the draft alone
		}
	}
}
