// In place of the memory store of `assistant-stream`: each stream in a conversation of its own.

import type { ResumableStreamStore } from "assistant-stream/resumable";
import { inject } from "vitest";

import { Forklore } from "@forklore/client";

import { resumableStreamStore, streamId } from "../../src/index.ts";

export function createInMemoryResumableStreamStore(): Required<ResumableStreamStore> {
	const fl = new Forklore(inject("url"), { token: crypto.randomUUID() });
	const store = resumableStreamStore(fl);
	const made = new Map<string, Promise<string>>();
	/** Return the id of a stream, of whatever name. Without a conversation it is not there. */
	const placed = async (message: string): Promise<string> =>
		streamId({ thread: (await made.get(message)) ?? crypto.randomUUID(), parent: null, message });
	const make = async (message: string): Promise<string> => {
		if (!made.has(message))
			made.set(
				message,
				fl.create().then(({ id }) => id),
			);
		return placed(message);
	};
	return {
		acquire: async (id, options) => store.acquire(await make(id), options),
		acquireLease: async (id, options) => store.acquireLease(await make(id), options),
		append: async (id, ...more) => store.append(await placed(id), ...more),
		finalize: async (id, ...more) => store.finalize(await placed(id), ...more),
		async *read(id, ...more) {
			yield* store.read(await placed(id), ...more);
		},
		status: async (id) => store.status(await placed(id)),
		delete: async (id) => store.delete(await placed(id)),
	};
}
