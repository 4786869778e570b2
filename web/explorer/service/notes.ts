// The notes on what the open conversation shows. They are read once; the history is there without them.

import { NotFoundError, type AddNote, type Conversation } from "@forklore/client";
import type { Entry, Note } from "../model/types.ts";

export class Notes {
	#all = new Map<string, readonly Note[]>();
	/** What one has added and deleted here: a reading that began before does not know it. */
	readonly #added: Note[] = [];
	readonly #deleted = new Set<string>();

	constructor(
		private readonly talk: Conversation,
		private readonly signal: AbortSignal,
		/** Called when others are to be shown. */
		private readonly changed: () => void,
	) {}

	/** Return the notes on entries, those on one entry oldest first. No pin is among them. */
	on(entries: readonly Pick<Entry, "id">[]): readonly Note[] {
		return entries.flatMap(({ id }) => this.#all.get(id) ?? []).filter(({ pinned }) => !pinned);
	}

	/** The ids of the pinned entries, the oldest first. */
	get pinned(): readonly string[] {
		return [...this.#all.keys()].filter((id) => this.#pinsOn(id).length).sort();
	}

	async pin(entryId: string): Promise<void> {
		this.#added.push(await this.talk.pinEntry(entryId, { signal: this.signal }));
		this.#show(this.#known());
	}

	/** Take the pins of an entry away, whoever has made them. */
	async unpin(entryId: string): Promise<void> {
		for (const pin of this.#pinsOn(entryId)) await this.delete(pin, this.signal);
	}

	#pinsOn(entryId: string): readonly Note[] {
		return (this.#all.get(entryId) ?? []).filter(({ pinned }) => pinned);
	}

	/** Read them, page by page. It never throws: a service may have none. */
	async load(): Promise<void> {
		const found: Note[] = [];
		try {
			for await (const note of this.talk.notes({ signal: this.signal })) found.push(note);
		} catch {
			found.unshift(...this.#known());
		}
		this.#show(found);
	}

	async add(entryId: string, note: AddNote, idempotencyKey: string): Promise<void> {
		this.#added.push(await this.talk.note(entryId, { ...note, idempotencyKey, signal: this.signal }));
		this.#show(this.#known());
	}

	/** Delete a note. One that is not there any more is deleted. */
	async delete(note: Note, signal: AbortSignal): Promise<void> {
		await this.talk.deleteNote(note, { signal }).catch((error: unknown) => {
			if (!(error instanceof NotFoundError)) throw error;
		});
		this.#deleted.add(note.id);
		this.#show(this.#known());
	}

	#known(): Note[] {
		return [...this.#all.values()].flat();
	}

	#show(notes: readonly Note[]): void {
		const each = new Map([...notes, ...this.#added].map((note) => [note.id, note]));
		const left = [...each.values()].filter(({ id }) => !this.#deleted.has(id));
		this.#all = Map.groupBy(left, ({ entryId }) => entryId);
		this.changed();
	}
}
