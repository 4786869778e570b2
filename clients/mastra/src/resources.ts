// Resources: what an agent remembers of a person in all threads. Each change is an entry with the next number as its key.

import type { StorageResourceType } from "@mastra/core/storage";

import type { Forklore, ListedEntry } from "@forklore/client";

import { orNone, untilNobodyElse } from "./threads.ts";

/** The resources of a client's user. */
export class Resources {
	readonly #fl: Forklore;
	readonly #prefix: string;

	/** prefix: begins the names. */
	constructor(fl: Forklore, prefix: string) {
		this.#fl = fl;
		this.#prefix = prefix;
	}

	async get(resourceId: string): Promise<StorageResourceType | null> {
		return (await this.#read(resourceId)).resource;
	}

	/** Replace a resource by what `change` returns of it. It is asked again if somebody else was faster. */
	async change(
		resourceId: string,
		change: (resource: StorageResourceType | null) => StorageResourceType,
	): Promise<StorageResourceType> {
		return untilNobodyElse("key_in_use", async () => {
			const { resource, changes } = await this.#read(resourceId);
			const next = change(resource);
			const { workingMemory: text = "" } = next;
			const kept = JSON.stringify(next);
			const entry = {
				contentType: "history",
				content: [
					{ role: "SYSTEM", text: text.toWellFormed(), mastra: { resource: kept, changes: changes + 1 } },
				],
				key: String(changes + 1),
			};
			const title = `Memory of ${resourceId}`;
			await this.#fl.api.appendEntryByName({ name: this.#nameOf(resourceId), title, entries: [entry] });
			return resourceIn(kept);
		});
	}

	async #read(resourceId: string): Promise<{ resource: StorageResourceType | null; changes: number }> {
		for await (const { content } of this.#backward(this.#nameOf(resourceId))) {
			const [held] = content as { mastra?: { resource: string; changes: number } }[];
			if (held?.mastra) return { resource: resourceIn(held.mastra.resource), changes: held.mastra.changes };
		}
		return { resource: null, changes: 0 };
	}

	/** Yield entries, the newest first: that one alone, and all if others have written behind the last change. */
	async *#backward(name: string): AsyncGenerator<ListedEntry, void, undefined> {
		const page = await orNone(this.#fl.api.listEntriesByName({ name, tail: true, limit: 1 }));
		yield* page?.data ?? [];
		if (page) yield* this.#fl.named(name).history({ backward: true });
	}

	#nameOf = (resourceId: string): string => `${this.#prefix}-resource/${resourceId}`;
}

function resourceIn(kept: string): StorageResourceType {
	const { createdAt, updatedAt, ...rest } = JSON.parse(kept) as StorageResourceType;
	return { ...rest, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
}
