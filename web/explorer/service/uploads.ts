// The files of a message that is not sent yet. Each goes to the service on its own, some at a time.

import { ApiError } from "@forklore/client";
import { newId } from "../../../clients/typescript/src/json.ts";
import {
	ATTACHMENT_BYTES_MAX,
	ATTACHMENTS_PER_ENTRY_MAX,
} from "../../../clients/typescript/src/generated/operations.ts";
import { counted } from "../model/words.ts";
import { sentenceOf, type Attach } from "./connection.ts";
import { Source } from "./source.ts";

const AT_ONCE = 3;

/** What is kept of a file that the service has. */
export interface Kept {
	id: string;
	name: string;
	size: number;
}

/** A file. part: of its bytes that have gone, from 0 to 1. told: why it is not there. */
export interface Upload {
	/** Its own here, whatever else is added or removed. */
	readonly key: string;
	readonly name: string;
	readonly size: number;
	/** undefined: of an earlier load of the page. */
	readonly file?: File;
	state: "waiting" | "sending" | "failed" | "there";
	part: number;
	told: string;
	/** Of the attachment. */
	id?: string;
}

export class Uploads extends Source {
	all: readonly Upload[] = [];
	/** Why some were not taken. */
	told = "";
	readonly #ended = new Map<Upload, AbortController>();
	#isOver = false;

	constructor(
		private readonly attach: Attach,
		kept: readonly Kept[],
	) {
		super();
		this.all = kept.map((one) => ({ ...one, key: newId(), state: "there", part: 1, told: "" }));
	}

	/** What the service has, each once. */
	get kept(): Kept[] {
		const there = this.all.flatMap(({ id, name, size }) => (id ? [{ id, name, size }] : []));
		return [...new Map(there.map((one) => [one.id, one])).values()];
	}

	has(state: Upload["state"]): boolean {
		return this.all.some((one) => one.state === state);
	}

	readonly take = (files: Iterable<File>): void => {
		const given = [...files];
		const taken = given.slice(0, ATTACHMENTS_PER_ENTRY_MAX - this.all.length);
		const left = given.length - taken.length;
		this.told = left
			? `A message has at most ${ATTACHMENTS_PER_ENTRY_MAX} files: ${counted(left, "file is", "files are")} left out.`
			: "";
		const added = taken.map((file): Upload => {
			const isTooLarge = file.size > ATTACHMENT_BYTES_MAX;
			const told = isTooLarge ? `It has more than ${ATTACHMENT_BYTES_MAX / 1e6} MB.` : "";
			return {
				key: newId(),
				name: file.name,
				size: file.size,
				file,
				state: isTooLarge ? "failed" : "waiting",
				part: 0,
				told,
			};
		});
		this.all = [...this.all, ...added];
		this.#next();
	};

	remove(upload: Upload): void {
		this.all = this.all.filter((one) => one !== upload);
		this.told = "";
		this.#ended.get(upload)?.abort();
		this.#next();
	}

	again(upload: Upload): void {
		upload.state = "waiting";
		this.#next();
	}

	clear(): void {
		for (const upload of this.all) this.remove(upload);
	}

	/** Send no more, and tell nobody. */
	end(): void {
		this.#isOver = true;
		for (const ended of this.#ended.values()) ended.abort();
	}

	#next(): void {
		if (this.#isOver) return;
		const free = AT_ONCE - this.#ended.size;
		const waiting = this.all.filter(({ state }) => state === "waiting");
		for (const upload of waiting.slice(0, Math.max(0, free))) void this.#send(upload);
		this.changed();
	}

	async #send(upload: Upload): Promise<void> {
		const ended = new AbortController();
		this.#ended.set(upload, ended);
		Object.assign(upload, { state: "sending", part: 0, told: "" });
		const sent = (bytes: number) => {
			upload.part = bytes / upload.size;
			this.changed();
		};
		try {
			upload.id = (await this.attach(upload.file!, { sent, signal: ended.signal })).id;
			upload.state = "there";
		} catch (error) {
			upload.state = "failed";
			upload.told = error instanceof ApiError ? sentenceOf(error) : "This file cannot be read.";
		}
		this.#ended.delete(upload);
		this.#next();
	}
}
